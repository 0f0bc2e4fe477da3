"""What one notifier has yet to tell: pure bookkeeping, without threads, clocks or disks.

Each transition that waits has a row in the store's outbox.  What is decided here about rows
is handed out as deeds, for somebody to have the store keep it.
"""

from collections.abc import Iterable, Iterator, Mapping

from hushd.core.readings import SECOND
from hushd.core.reconcile import (
    Habit,
    Kind,
    Told,
    cooling,
    heard,
    rank,
    reconcile,
    unreachable,
    wanted,
)
from hushd.core.rules import Manner, Severity
from hushd.runtime.backlog import Backlog
from hushd.runtime.deeds import Buried, Deed, Errand, Item, Settled, Waiting
from hushd.runtime.desk import Desk
from hushd.runtime.pacing import Pace
from hushd.runtime.reminders import Reminders
from hushd.runtime.store import Alert

__all__ = ["Buried", "Deed", "Errand", "Errands", "Item", "Settled", "Waiting"]

WAITING = 100_000  # transitions; beyond that the oldest are given up and counted
TOO_MANY = "too much was waiting"
TOGETHER = 1000  # transitions in one message of what tells each

SELDOM = 3600 * SECOND  # how often to look at what has no end in sight

PLAIN = Manner()


class Errands:
    """The transitions that one notifier has not been told of, oldest first.

    While it can be reached, it hears of each in turn.  Once a delivery has failed, or when
    several go into one message, only how things stand now is told for each alert, however often
    that changed meanwhile.  What is held back is parked, the newest of each alert; so is what
    comes too soon after all was well.
    What was overtaken after it may have been delivered is a doubt: the notifier may know one
    thing or the other, and is told how things stand unless it knows that either way.
    A manner that wants *every* transition, as for a journal, is told each, in order, whatever
    happens; nothing holds them back but the notifier's own quiet hours.

    Times are in ns and come from the caller; they never go back.
    """

    def __init__(
        self,
        notifier: str,
        told: Mapping[Alert, Told],
        waiting: Iterable[Waiting] = (),
        *,
        manner: Manner = PLAIN,
        habits: Mapping[str, Habit] | None = None,
        desk: Desk | None = None,
    ) -> None:
        self.given_up = 0
        self._notifier = notifier
        self._manner = manner
        self._desk = Desk() if desk is None else desk
        self._reminders = Reminders(manner, habits or {}, self._desk)
        self._pace = Pace(manner)
        self._books = Backlog(told)
        self._version: int | None = self._desk.version
        self._reminders.inherit(told)
        self._arrange()
        for one in waiting:
            self.add(one)

    def __len__(self) -> int:
        """Return how many transitions wait, held back or not."""
        return len(self._books)

    @property
    def held(self) -> int:
        """Return how many of them are held back."""
        return len(self._books.parked)

    @property
    def waiting(self) -> list[Waiting]:
        """Return what waits: what is held back, then the rest in the order in which it is told."""
        return self._books.waiting

    @property
    def open(self) -> list[Waiting]:
        """Return all that has a row: what waits, and before it the doubts of its alert."""
        return self._books.open

    @property
    def told(self) -> dict[Alert, Told]:
        """Return what the notifier knows."""
        return dict(self._books.told)

    def follow(self, manner: Manner, habits: Mapping[str, Habit]) -> None:
        """Go by another manner, and by other habits."""
        self._manner = manner
        self._pace.follow(manner)
        self._reminders.follow(manner, habits)
        self._arrange()
        self._version = None  # all that is held back is looked at

    def hurry(self, *, hurry: bool = True) -> None:
        """Let nothing wait for more to come: the end is near, or it is not after all."""
        self._pace.hurry = hurry

    def knows_of(self, alert: Alert) -> bool:
        """Say whether the notifier knows of *alert*, or may before it hears what comes now."""
        if self._manner.every:
            return False
        return self._books.busy(alert) or self._books.known(alert).level is not None

    def add(self, waiting: Waiting) -> None:
        """Add what has just happened."""
        books, alert = self._books, waiting.alert
        if len(books.queue) >= WAITING:
            self.given_up += 1
            books.bury(next(iter(books.queue)), TOO_MANY)
        told, transition = books.known(alert), waiting.transition
        if waiting.instead and transition.severity is None and told.level is None:
            # the other never heard the end: here it is heard at least that there was something
            books.miss(alert, told._replace(missed=transition.episode))
        books.add(waiting)
        self._pace.blocked = None

    def adopt(self, told: Mapping[Alert, Told], waiting: Iterable[Waiting]) -> None:
        """Take on what another process has left, unless something is known of the alert since."""
        known = self._books.adopt(told)
        for one in waiting:
            if self._manner.every or one.alert not in known:
                self.add(one)
        self._arrange()

    # -- what to tell ------------------------------------------------------------------

    def next(self, now: int) -> Errand | None:
        """Return what to tell now, or None; drops what needs no telling.

        The errand stays until it is ``done``.
        """
        self._pace.blocked = None
        self.look(now)
        if self._manner.every:
            return self._next_of_every(now)
        first = self._first(now)
        if first is None:
            self._pace.rest()
        elif not self._pace.gathers(now) and (errand := self._allowed(first, now)) is not None:
            return errand
        item = self._reminders.refresh(now, self._books.told)
        return None if item is None else Errand((item,))

    def deadline(self, now: int) -> int | None:
        """Return when ``next`` may have something though nothing is added; None: never."""
        books, blocked = self._books, self._pace.blocked
        found = [books.look_at, blocked]
        if not self._manner.every:
            found.append(self._reminders.deadline())
        if (blocked is None and books.queue) or self._version != self._desk.version:
            found.append(now)
        return min((at for at in found if at is not None), default=None)

    def look(self, now: int) -> None:
        """Look what is held back no more, and what is too soon no more.

        Best as soon as the desk has changed: what then is news may be none when it can be told.
        """
        books, version = self._books, self._desk.version
        if version != self._version:
            self._version = version
            self._arrange()
            books.release(now, everything=True, each=self._manner.every)
        elif books.look_at is not None and books.look_at <= now:
            books.release(now)
        self._reminders.look(now)
        for alert in self._reminders.cooled(now):
            books.learn(alert, books.known(alert)._replace(cleared=None))
            self._reminders.learn(alert, books.told.get(alert))

    def _first(self, now: int) -> Item | None:
        while self._books.queue:
            item = self._judge(next(iter(self._books.queue)), now)
            if item is not None:
                return item
        return next(self._repeats(now), None)

    def _repeats(self, now: int) -> Iterator[Item]:
        return self._reminders.repeats(now, self._books.told, self._books.busy)

    def _allowed(self, first: Item, now: int) -> Errand | None:
        """Return the next message, in which *first* is, as far as the rate allows it."""
        items = [first]
        if self._pace.merges:
            items = self._all(now)
        elif first.waiting.digest and self._pace.joins:
            items = [item for item in self._all(now) if item.waiting.digest]
        if not items:
            return None
        errand = Errand(tuple(items))
        if self._pace.allows(errand, now):
            return errand
        self._pace.throttled = True
        items = self._all(now)
        joined = [items] if self._pace.joins and items else [[item] for item in items]
        errands = (Errand(tuple(together)) for together in joined)
        return next((errand for errand in errands if self._pace.allows(errand, now)), None)

    def _all(self, now: int) -> list[Item]:
        """Return all there is to tell, one item for each alert."""
        self._condense(now)
        waiting = list(self._books.queue)
        found = [item for one in waiting if (item := self._judge(one, now)) is not None]
        return [*found, *self._repeats(now)]

    def _judge(self, waiting: Waiting, now: int) -> Item | None:
        """Return what to say of *waiting*; if that is nothing, or not now, it leaves the queue."""
        alert, transition = waiting.alert, waiting.transition
        books = self._books
        books.overtake(waiting)
        want, known = self._wanted(waiting), books.known(alert)
        kind: Kind | None = None
        told = known
        for told in self._possible(alert):
            kind = reconcile(told, transition.episode, want, flapping=transition.flapping)
            if kind is not None:
                break
        if kind is None:
            books.pass_over(waiting)
            self._reminders.arrange(alert, books.told.get(alert))
            return None
        if kind == "flapping":
            want = want or told.level
        hold = self._desk.hold(self._manner, alert, want, now)
        if hold is not None:
            if hold.quiet and self._manner.quiet_summary:
                waiting.digest = True
                self._miss(waiting, now)
            books.park(waiting, hold.until)
            return None
        too_soon = cooling(known, want, now, self._reminders.habit(alert).cooldown)
        if kind in {"raised", "flapping"} and too_soon is not None:
            books.park(waiting, too_soon)
            return None
        if kind == "cleared" and not self._manner.clears and known.missed is not None:
            kind = "missed"  # of that one it is told at least that it was
        severity = want if want is not None else told.level
        item = Item(waiting, kind, severity, heard(known, kind, transition.episode, want, now))
        if kind == "cleared" and not self._manner.clears:
            self._finish(item, now)
            return None
        return item

    def _next_of_every(self, now: int) -> Errand | None:
        books = self._books
        while books.queue:
            waiting = next(iter(books.queue))
            if waiting.transition.event != "cleared" or self._manner.clears:
                break
            books.pass_over(waiting)
        else:
            self._pace.rest()
            return None
        hold = self._desk.quiet(self._manner, waiting.transition.severity, now)
        if hold is not None:
            self._pace.blocked = now + SELDOM if hold.until is None else hold.until
            return None
        if self._pace.gathers(now):
            return None
        together = TOGETHER if self._manner.batch else 1
        errand = Errand(
            tuple(
                Item(one, one.transition.event, one.transition.severity, Told())
                for one, _ in zip(books.queue, range(together), strict=False)
                if one.transition.event != "cleared" or self._manner.clears
            )
        )
        return errand if self._pace.allows(errand, now) else None

    # -- what came of it ---------------------------------------------------------------

    def done(self, errand: Errand, now: int) -> None:
        """Take note that *errand* was told."""
        self._pace.told(errand, now)
        for item in errand.items:
            self._finish(item, now)

    def give_up(self, errand: Errand, error: str) -> None:
        """Take note that *errand* is never told; what the notifier knows stays as it was."""
        for item in errand.items:
            alert = item.waiting.alert
            self.given_up += 1
            self._books.give_up(item.waiting, error)
            self._reminders.learn(alert, self._books.told.get(alert))

    def failed(self, now: int, last: Errand | None = None) -> None:
        """Take note that a delivery failed: keep the newest of each alert, and what it missed.

        Args:
            now: The time.
            last: What is told after all others.
        """
        if self._manner.every:
            return
        self.look(now)
        for waiting in self._books.queue:
            self._miss(waiting, now)
        self._condense(now)
        queue = self._books.queue
        moved = set() if last is None else {item.waiting.alert for item in last.items}
        for waiting in [one for one in queue if one.alert in moved]:
            queue.move_to_end(waiting)

    def deeds(self) -> list[Deed]:
        """Hand out what the store is to keep of all this, in this order."""
        return self._books.deeds()

    def kept(self, rows: Iterable[int]) -> None:
        """Take note that all is in the store anew: what is open, each in its row."""
        self._books.kept(rows)

    # -- what it comes to --------------------------------------------------------------

    def _wanted(self, waiting: Waiting) -> Severity | None:
        transition = waiting.transition
        names = {self._notifier, waiting.instead} - {""}
        levels = [wanted(transition.notify, name, transition.severity) for name in names]
        return max(levels, key=rank)

    def _possible(self, alert: Alert) -> list[Told]:
        """Return what the notifier knows of *alert*, and what it knows if doubts arrived."""
        told = self._books.known(alert)
        return [
            told,
            *(
                Told(doubt.transition.episode, self._wanted(doubt), told.missed)
                for doubt in self._books.doubts(alert)
            ),
        ]

    def _finish(self, item: Item, now: int) -> None:
        """Let go of what was told, or need not be, and know what it says."""
        books, alert = self._books, item.waiting.alert
        if item.counts and self._manner.every:
            books.settle(item.waiting, None)
            return
        if item.counts:
            level, episode = item.told.level, item.transition.episode
            told = heard(books.known(alert), item.kind, episode, level, now)
            if level is not None and self._reminders.matters(alert):
                told = told._replace(last=item.transition)
            if level is None and not self._reminders.habit(alert).cooldown:
                told = Told(told.episode)
            books.settle(item.waiting, told)
        self._reminders.learn(alert, books.told.get(alert), now)

    def _condense(self, now: int) -> None:
        """Keep the newest of each alert in the queue, and what it missed."""
        for alert, overtaken in self._books.condense().items():
            for one in overtaken:
                self._miss(one, now)
            self._books.set_aside(alert, overtaken)

    def _miss(self, waiting: Waiting, now: int) -> None:
        """Remember an episode that was not told, unless it is held back from people anyway."""
        alert, want = waiting.alert, self._wanted(waiting)
        told = self._books.known(alert)
        missed = unreachable(told, waiting.transition.episode, want)
        if missed is told or waiting.transition.flapping:
            return
        hold = self._desk.hold(self._manner, alert, want, now)
        if hold is not None and not (hold.quiet and self._manner.quiet_summary):
            return
        if cooling(told, want, now, self._reminders.habit(alert).cooldown) is None:
            self._books.miss(alert, missed)

    def _arrange(self) -> None:
        for alert, told in self._books.told.items():
            self._reminders.arrange(alert, told)
