"""The main thread: takes what came in, feeds the engine, hands on what it decided.

Decided things are committed first, then the messages are acknowledged to the broker,
then people are told.  Between messages it sleeps until the engine has something to do.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hushd.core.engine import Engine
from hushd.core.readings import SECOND, Reading
from hushd.core.transitions import Transition
from hushd.runtime.clocks import Clock
from hushd.runtime.delivery import Delivery
from hushd.runtime.inbox import Inbox
from hushd.runtime.intake import Intake
from hushd.runtime.logs import Log
from hushd.runtime.messages import Ask, Connected, Disconnected, Event, Message, Reload, Stop
from hushd.runtime.store import Store

NAP = 1.0  # seconds between looks at the workers and the source
SMALL = 8  # messages; after a batch of fewer the loop waits a little for more to come
COALESCE = 0.002  # seconds; measured in mqtt.md: a third of the CPU at 10,000 messages/s
REPORT = 60.0  # seconds between reports of what the engine rejected


class Loop:
    """Ties the parts together; ``run`` returns when a signal asked for the end."""

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
        reload: Callable[[], object] = lambda: None,
        answer: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda _: {},
        upkeep: Callable[[], Sequence[Transition]] = list,
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
        self._reload = reload
        self._answer = answer
        self._upkeep = upkeep
        self._observe = observe
        self._watched = 0.0
        self._reported = time.monotonic()
        self._known: Counter[tuple[str, str]] = Counter()
        self._dropped = 0

    def run(self) -> None:
        """Work until told to stop, then say what was left to say."""
        self._connection(connected=False)  # until the source says otherwise
        while True:
            event = self._inbox.take(self._patience())
            if isinstance(event, Stop):
                self._log.info("hushd.stop_requested", signal=event.signum)
                break
            self._handle(event)
            self._look_around()
            if self._observe is not None:
                self._observe(self._engine)
        now = self._clock.now()
        if now is None and self._intake.accepted:
            now = self._engine.now
        if now is not None:
            self._keep((), self._engine.advance(now))
        self._report()

    def change(self, engine: Engine, intake: Intake) -> None:
        """Go on with another engine and intake; what ends with the old rules is told at once."""
        self._engine = engine
        self._intake = intake
        self._advance()

    def _handle(self, event: Event | None) -> None:
        match event:
            case list():
                self._take(event)
            case Connected():
                self._connection(connected=True)
            case Disconnected():
                self._connection(connected=False)
            case Reload():
                self._reload()
            case Ask():
                event.answer(self._answer(event.request))
            case _:
                self._advance()

    def _take(self, batch: list[Message]) -> None:
        """Judge a batch of messages."""
        readings: list[Reading] = []
        transitions: list[Transition] = []
        for message in batch:
            for reading in self._intake.readings(message):
                readings.append(reading)
                transitions += self._engine.process(reading)
        now = self._clock.now()
        if now is not None:
            transitions += self._engine.advance(now)
        self._keep(readings, transitions)
        self._acknowledge(batch)
        if len(batch) < SMALL:
            time.sleep(COALESCE)

    def _advance(self) -> None:
        """Let time pass, where it passes by itself."""
        now = self._clock.now()
        if now is not None:
            self._keep((), self._engine.advance(now))

    def _connection(self, *, connected: bool) -> None:
        """Tell the engine; a lost connection is not each sensor's fault.

        Not when time passes by stamps alone: then silence cannot be told from an outage,
        and the run would no longer equal its replay.
        """
        now = self._clock.now()
        if now is not None:
            change = self._engine.connected if connected else self._engine.disconnected
            self._keep((), change(now))

    def _keep(self, readings: Sequence[Reading], transitions: Sequence[Transition]) -> None:
        """Commit, then tell."""
        letters = self._delivery.letters(transitions)
        rows: Sequence[int] = ()
        if readings or transitions:
            self._store.add(readings, ())
            rows = self._store.commit(transitions, letters)
        if not transitions:
            return
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

    def _patience(self) -> float:
        """Return how long to sleep if nothing comes."""
        now, due = self._clock.now(), self._engine.deadline()
        if now is None or due is None:
            return NAP
        return min(max((due - now) / SECOND, 0.0), NAP)

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
            self._keep((), self._upkeep())
        if now - self._reported >= REPORT:
            self._reported = now
            self._report()

    def _report(self) -> None:
        """Log what the engine rejected and the inbox dropped since the last report."""
        rejected = Counter(self._engine.rejected)
        for (sensor, reason), number in sorted((rejected - self._known).items()):
            self._log.warning("readings.rejected", sensor=sensor, reason=reason, number=number)
        self._known = rejected
        if self._inbox.dropped > self._dropped:
            self._log.error("messages.dropped", number=self._inbox.dropped - self._dropped)
            self._dropped = self._inbox.dropped
