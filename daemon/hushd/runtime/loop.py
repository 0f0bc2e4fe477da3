"""The main thread: takes what came in, feeds the engine, hands on what it decided.

Decided things are committed first, then the messages are acknowledged to the broker,
then people are told.  Readings alone wait for the next commit, and their messages for its
end; what somebody must hear of is committed at once.  Between messages it sleeps until the
engine or the store has something to do.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from hushd.core import internal
from hushd.core.engine import Engine
from hushd.core.readings import SECOND, Reading
from hushd.core.transitions import Transition
from hushd.runtime.clocks import (
    Clock,
    Forgotten,
    News,
    Slept,
    Stalled,
    Stepped,
    Trusted,
    dated,
)
from hushd.runtime.delivery import Delivery
from hushd.runtime.inbox import Inbox
from hushd.runtime.intake import Intake
from hushd.runtime.logs import Log
from hushd.runtime.messages import (
    Ask,
    Connected,
    Disconnected,
    Dropped,
    Event,
    Message,
    Reload,
    Stop,
)
from hushd.runtime.redelivery import Ring
from hushd.runtime.store import HeldError, Store
from hushd.runtime.suspects import Suspects

NAP = 1.0  # seconds between looks at the workers and the source
SMALL = 8  # messages; after a batch of fewer the loop waits a little for more to come
COALESCE = 0.002  # seconds; measured in mqtt.md: a third of the CPU at 10,000 messages/s
RING = 10_000  # messages on their way that are known when they come again, where nobody says
GRACE = 60 * SECOND  # after a sleep, before silence counts: others have to wake up, too
REPORT = 60.0  # seconds between reports of what the engine rejected


class Loop:
    """Ties the parts together; ``run`` returns when a signal asked for the end.

    Args:
        inbox: Where everything arrives.
        intake: Makes readings of messages.
        clock: Where engine time comes from.
        engine: Judges.
        store: Keeps what came in and what was decided, before anybody hears of it.
        delivery: Tells people.
        ring: Knows the messages that the broker sends again.
        suspects: Knows on which of them processes have ended.
        acknowledge: Lets the broker forget messages.
        watch: Looks after the other threads, once in a while.
        log: Where to report.
        reload: Reads the configuration again.
        answer: Answers the control socket.
        upkeep: Returns what changed of hushd's own troubles.
        troubles: Returns their state, to be kept.
        mishap: Is told of readings that are missing: which way, and why.
        recorded: Is told when the store has that on record.
        observe: Is shown the engine whenever the loop has come by.
    """

    def __init__(
        self,
        *,
        inbox: Inbox,
        intake: Intake,
        clock: Clock,
        engine: Engine,
        store: Store,
        delivery: Delivery,
        acknowledge: Callable[[Sequence[Message]], None],
        watch: Callable[[], None],
        log: Log,
        ring: Ring | None = None,
        suspects: Suspects | None = None,
        reload: Callable[[], object] = lambda: None,
        answer: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda _: {},
        upkeep: Callable[[], Sequence[Transition]] = list,
        troubles: Callable[[], bytes | None] = lambda: None,
        mishap: Callable[[str, str], None] = lambda _which, _why: None,
        recorded: Callable[[], None] = lambda: None,
        observe: Callable[[Engine], None] | None = None,
    ) -> None:
        self._inbox = inbox
        self._intake = intake
        self._clock = clock
        self._engine = engine
        self._store = store
        self._delivery = delivery
        self._acknowledge = acknowledge
        self._watch = watch
        self._log = log
        self._ring = ring or Ring(RING)
        self._suspects = suspects or Suspects()
        self._reload = reload
        self._answer = answer
        self._upkeep = upkeep
        self._troubles = troubles
        self._mishap = mishap
        self._recorded = recorded
        self._observe = observe
        self._taken: list[Message] = []  # to be acknowledged after the next commit
        self._decided: list[Transition] = []  # to be told after it
        self._shown: tuple[int, bool] | None = None  # what the engine knows of wall time
        self._watched = 0.0
        self._reported = time.monotonic()
        self._known: Counter[tuple[str, str]] = Counter()
        self._dropped = 0

    def run(self, owed: Sequence[Transition] = ()) -> None:
        """Work until told to stop, then say what was left to say.

        Args:
            owed: What changed with the restart, before anything came in.
        """
        self._decide(owed)
        self._follow_clock()
        self._connection(connected=False)  # until the source says otherwise
        while True:
            event = self._inbox.take(self._patience())
            if isinstance(event, Stop):
                self._log.info("hushd.stop_requested", signal=event.signum)
                break
            for news in self._clock.look():  # first: nothing was heard while nobody listened
                self._hear(news)
            self._follow_clock()
            self._handle(event)
            self._look_around()
            if self._observe is not None:
                self._observe(self._engine)
        now = self._clock.now()
        if now is None and self._intake.accepted:
            now = self._engine.now
        if now is not None:
            self._decide(self._engine.advance(now))
        self._commit()
        self._report()

    def change(self, engine: Engine, intake: Intake) -> None:
        """Go on with another engine and intake; what ends with the old rules is told at once."""
        self._engine = engine
        self._intake = intake
        self._shown = None
        self._follow_clock()
        self._advance()

    def _handle(self, event: Event | None) -> None:
        match event:
            case list():
                self._take(event)
            case Connected():
                if not event.kept:
                    self._lose("session", "the broker has kept nothing while hushd was away")
                self._connection(connected=True)
            case Disconnected():
                self._connection(connected=False)
            case Dropped():
                self._lose("queue", f"the broker has dropped {event.number} messages")
            case Reload():
                self._reload()
            case Ask():
                event.answer(self._answer(event.request))
            case _:
                self._advance()

    def _take(self, batch: list[Message]) -> None:
        """Judge a batch of messages, and those alone that may end the process."""
        for part in self._suspects.parts(batch):
            self._judge(part)
            if part is not batch:
                self._commit()
        if len(batch) < SMALL:
            time.sleep(COALESCE)

    def _judge(self, batch: list[Message]) -> None:
        engine = self._engine
        readings: list[Reading] = []
        transitions: list[Transition] = []
        for message in self._sifted(batch):
            for reading in self._intake.readings(message):
                transitions += engine.process(reading)
                if engine.took:
                    readings.append(reading)
        now = self._clock.now()
        if now is not None:
            transitions += engine.advance(now)
        self._store.add(readings, batch)
        self._taken += [message for message in batch if message.qos]
        self._decide(transitions)

    def _sifted(self, batch: list[Message]) -> list[Message]:
        """Return the messages that were not here before; the broker may send some again.

        Of these, those that are new here may be why the last process ended.
        """
        if not any(message.qos for message in batch):
            return batch
        fresh, again = [], []
        for message in batch:
            if message.again and self._ring.knows(message):
                self._intake.turn_away(message, "redelivered")
                continue
            self._ring.note(message)
            if self._suspects.condemns(message):
                self._intake.turn_away(message, "deadly")
                self._miss(
                    "message", "a message on which hushd ended again and again was left unread"
                )
                continue
            fresh.append(message)
            if message.again:
                again.append(message)
        if again:
            self._store.in_hand(self._suspects.note(again))
        return fresh

    def _advance(self) -> None:
        """Let time pass, where it passes by itself."""
        now = self._clock.now()
        self._decide(() if now is None else self._engine.advance(now))

    def _connection(self, *, connected: bool) -> None:
        """Tell the engine; a lost connection is not each sensor's fault.

        Not when time passes by stamps alone: then silence cannot be told from an outage,
        and the run would no longer equal its replay.
        """
        now = self._clock.now()
        if now is not None:
            change = self._engine.connected if connected else self._engine.disconnected
            self._decide(change(now))

    def _miss(self, which: str, why: str) -> int:
        """Put on record that readings are missing; return the time."""
        now = self._clock.now()
        if now is None:
            now = self._engine.now or 0
        self._log.error("readings.lost", which=which, why=why)
        self._store.gap(now, why)
        self._mishap(which, why)
        return now

    def _lose(self, which: str, why: str) -> None:
        """Put on record that readings are missing, whatever the broker has kept of them."""
        now = self._miss(which, why)
        if which == "session":  # in a new one, packet identifiers begin anew
            self._ring.clear()
            self._store.session_lost()
        self._decided += self._dated(self._engine.lost(now))
        if self._commit():
            self._recorded()

    def _resume(self) -> None:
        """Go on after a while in which nothing could be heard: no delay has run in it."""
        now = self._clock.now()
        if now is not None:
            shift, trusted = self._shown = self._wall_time()
            self._decide(
                self._engine.resumed(now, gap=False, grace=GRACE, shift=shift, trusted=trusted)
            )

    def _follow_clock(self) -> None:
        """Tell the engine how wall time stands to its own: schedules go by that."""
        shown = self._wall_time()
        if shown != self._shown and (now := self._clock.now()) is not None:
            self._shown = shift, trusted = shown
            self._decide(self._engine.set_clock(now, shift=shift, trusted=trusted))

    def _wall_time(self) -> tuple[int, bool]:
        """Return wall time less engine time, and whether it is to be believed."""
        return self._clock.civil(0), not self._clock.why

    def _decide(self, transitions: Sequence[Transition]) -> None:
        """Commit at once if somebody is to hear of something, else when it is time."""
        if transitions:
            self._decided += self._dated(transitions)
        wait = self._store.wait()
        if self._decided or (wait is not None and wait <= 0):
            self._commit()

    def _dated(self, transitions: Iterable[Transition]) -> list[Transition]:
        return [dated(transition, self._clock) for transition in transitions]

    def _commit(self) -> bool:
        """Commit, then acknowledge, then tell; False: all of it has to wait."""
        transitions, letters = self._decided, self._delivery.letters(self._decided)
        ours = any(transition.rule.startswith(internal.PREFIX) for transition in transitions)
        try:
            rows = self._store.commit(transitions, letters, self._troubles() if ours else None)
        except HeldError:
            return False
        self._decided = []
        if self._taken:
            self._acknowledge(self._taken)
            self._taken = []
        for transition in transitions:
            self._log.info(
                "alert.changed",
                change=transition.event,
                rule=transition.rule,
                labels=dict(transition.labels),
                severity=transition.severity,
                value=transition.value,
                limit=transition.limit,
                episode=transition.episode,
            )
        self._delivery.tell(letters, rows)
        return True

    def _patience(self) -> float:
        """Return how long to sleep if nothing comes."""
        wait = self._store.wait()
        longest = NAP if wait is None else min(max(wait, 0.0), NAP)
        now, due = self._clock.now(), self._engine.deadline()
        if now is None or due is None:
            return longest
        return min(max((due - now) / SECOND, 0.0), longest)

    def _look_around(self) -> None:
        """Look after the other threads, once in a while.

        From here, and only from here, systemd hears that the daemon gets on: a loop that
        is stuck does not come by.
        """
        now = time.monotonic()
        if now - self._watched >= NAP:
            self._watched = now
            self._delivery.watch()
            self._watch()
            self._decide(self._upkeep())
        if now - self._reported >= REPORT:
            self._reported = now
            self._report()

    def _hear(self, news: News) -> None:
        """Take in what the clock has to say."""
        match news:
            case Slept():
                self._log.warning("clock.slept", for_s=round(news.span / SECOND, 1))
                self._resume()
            case Stalled():
                self._log.warning("clock.stalled", for_s=round(news.span / SECOND, 1))
                self._resume()
            case Stepped():
                self._log.warning("clock.stepped", by_s=round(news.by / SECOND, 1))
            case Trusted(trusted=True):
                self._log.info("clock.trusted")
            case Trusted():
                self._log.warning("clock.not_trusted", why=news.why)
            case Forgotten():
                self._log.warning("clock.forgotten", why=news.why)

    def _report(self) -> None:
        """Log what the engine rejected and the inbox dropped since the last report."""
        rejected = Counter(self._engine.rejected)
        for (sensor, reason), number in sorted((rejected - self._known).items()):
            self._log.warning("readings.rejected", sensor=sensor, reason=reason, number=number)
        self._known = rejected
        if self._inbox.dropped > self._dropped:
            self._log.error("messages.dropped", number=self._inbox.dropped - self._dropped)
            self._dropped = self._inbox.dropped
