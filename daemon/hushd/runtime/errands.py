"""What one notifier has yet to tell: pure bookkeeping, without threads, clocks or disks.

Each transition that waits has a row in the store's outbox.  What is decided here about rows
is handed out as deeds, for somebody to have the store keep it.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

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
from hushd.runtime.buckets import Bucket
from hushd.runtime.deeds import Buried, Deed, Errand, Item, Settled, Waiting
from hushd.runtime.desk import Desk
from hushd.runtime.reminders import Reminders
from hushd.runtime.store import NOWHERE, Alert

__all__ = ["Buried", "Deed", "Errand", "Errands", "Item", "Settled", "Waiting"]

WAITING = 100_000  # transitions; beyond that the oldest are given up and counted
TOO_MANY = "too much was waiting"
TOGETHER = 1000  # transitions in one message of what tells each

SELDOM = 3600 * SECOND  # how often to look at what has no end in sight

PLAIN = Manner()


class Parked(NamedTuple):
    """The newest of an alert, while it is held back."""

    waiting: Waiting
    until: int | None


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
        self.hurry = False  # it is about to end: nothing waits for more to come
        self._notifier = notifier
        self._manner = manner
        self._desk = Desk() if desk is None else desk
        self._reminders = Reminders(manner, habits or {}, self._desk)
        self._bucket = Bucket(manner.rate)
        self._told = dict(told)
        self._queue: OrderedDict[Waiting, None] = OrderedDict()
        self._alerts: Counter[Alert] = Counter()  # how often each is in the queue
        self._parked: dict[Alert, Parked] = {}
        self._look_at: int | None = None  # when what is parked is next to be looked at
        self._version = self._desk.version
        self._blocked: int | None = None  # until when the queue has to wait as a whole
        self._batch_since: int | None = None
        self._throttled = False  # there was more to tell than the rate allows
        self._doubts: dict[Alert, list[Waiting]] = {}
        self._unkept: set[Alert] = set()  # what was missed of them is not in the store
        self._spent: list[int] = []  # rows of what needs no telling
        self._deeds: list[Deed] = []
        self._reminders.inherit(self._told)
        self._arrange()
        for one in waiting:
            self.add(one)

    def __len__(self) -> int:
        """Return how many transitions wait, held back or not."""
        return len(self._queue) + len(self._parked)

    @property
    def held(self) -> int:
        """Return how many of them are held back."""
        return len(self._parked)

    @property
    def waiting(self) -> list[Waiting]:
        """Return what waits: what is held back, then the rest in the order in which it is told."""
        return [*(parked.waiting for parked in self._parked.values()), *self._queue]

    @property
    def open(self) -> list[Waiting]:
        """Return all that has a row: what waits, and before it the doubts of its alert."""
        seen: set[Alert] = set()
        found: list[Waiting] = []
        for waiting in self.waiting:
            if waiting.alert not in seen:
                found += self._doubts.get(waiting.alert, ())
                seen.add(waiting.alert)
            found.append(waiting)
        return found

    @property
    def told(self) -> dict[Alert, Told]:
        """Return what the notifier knows."""
        return dict(self._told)

    def follow(self, manner: Manner, habits: Mapping[str, Habit]) -> None:
        """Go by another manner, and by other habits."""
        if manner.rate != self._manner.rate:
            self._bucket = Bucket(manner.rate)
        self._manner = manner
        self._reminders.follow(manner, habits)
        self._arrange()
        self._unpark(list(self._parked))
        self._blocked = None

    def knows_of(self, alert: Alert) -> bool:
        """Say whether the notifier knows of *alert*, or may before it hears what comes now."""
        if self._manner.every:
            return False
        told = self._told.get(alert)
        return self._busy(alert) or (told is not None and told.level is not None)

    def add(self, waiting: Waiting) -> None:
        """Add what has just happened."""
        if len(self._queue) >= WAITING:
            self._bury(next(iter(self._queue)), TOO_MANY)
        alert, told = waiting.alert, self._told.get(waiting.alert, Told())
        if waiting.instead and waiting.transition.severity is None and told.level is None:
            # the other never heard the end: here it is heard at least that there was something
            self._told[alert] = told._replace(missed=waiting.transition.episode)
            self._unkept.add(alert)
        self._queue[waiting] = None
        self._alerts[alert] += 1
        self._blocked = None

    def adopt(self, told: Mapping[Alert, Told], waiting: Iterable[Waiting]) -> None:
        """Take on what another process has left, unless something is known of the alert since."""
        known = self._told.keys() | self._alerts.keys() | self._parked.keys()
        self._told = {alert: told[alert] for alert in told.keys() - known} | self._told
        for one in waiting:
            if self._manner.every or one.alert not in known:
                self.add(one)
        self._arrange()

    # -- what to tell ------------------------------------------------------------------

    def next(self, now: int) -> Errand | None:
        """Return what to tell now, or None; drops what needs no telling.

        The errand stays until it is ``done``.
        """
        self._blocked = None
        if self._manner.every:
            self._version = self._desk.version
            return self._next_of_every(now)
        self._look_around(now)
        first = self._first(now)
        if first is None:
            self._batch_since, self._throttled = None, False
        else:
            items = self._due(first, now)
            errand = self._admitted(items, now) if items else None
            if errand is not None:
                return errand
        item = self._reminders.refresh(now, self._told)
        return None if item is None else Errand((item,))

    def deadline(self, now: int) -> int | None:
        """Return when ``next`` may have something though nothing is added; None: never."""
        found = [self._reminders.deadline(), self._look_at, self._blocked]
        if (self._blocked is None and self._queue) or self._version != self._desk.version:
            found.append(now)
        return min((at for at in found if at is not None), default=None)

    def _look_around(self, now: int) -> None:
        """Look what is held back no more, and what is too soon no more."""
        version = self._desk.version
        if version != self._version:
            self._version = version
            self._arrange()
            self._unpark(list(self._parked), now)
        elif self._look_at is not None and self._look_at <= now:
            over = [
                alert
                for alert, parked in self._parked.items()
                if parked.until is not None and parked.until <= now
            ]
            self._unpark(over, now)
        self._reminders.look(now)
        for alert in self._reminders.cooled(now):
            self._learn(alert, self._told[alert]._replace(cleared=None))
            self._deeds.append(Settled((), (alert, self._told.get(alert, Told()))))

    def _first(self, now: int) -> Item | None:
        while self._queue:
            item = self._judge(next(iter(self._queue)), now)
            if item is not None:
                return item
        return next(self._reminders.repeats(now, self._told, self._busy), None)

    def _due(self, first: Item, now: int) -> list[Item]:
        """Return what goes into the next message; nothing while it waits for more."""
        if not self._joins:
            return [first]
        if self._manner.batch and self._gathers(now):
            return []
        if self._manner.batch or self._throttled:
            return self._all(now)
        if first.waiting.digest:
            return [item for item in self._all(now) if item.waiting.digest]
        return [first]

    @property
    def _joins(self) -> bool:
        """Say whether one message may tell of several alerts: a machine takes each by itself."""
        return not self._manner.refresh

    def _gathers(self, now: int) -> bool:
        """Say whether a message waits for more to go into it."""
        if self._batch_since is None:
            self._batch_since = now
        ends = self._batch_since + self._manner.batch
        if self.hurry or ends <= now:
            return False
        self._blocked = ends
        return True

    def _all(self, now: int) -> list[Item]:
        """Return all there is to tell, one item for each alert."""
        self._condense(now)
        found = [item for waiting in list(self._queue) if (item := self._judge(waiting, now))]
        return [*found, *self._reminders.repeats(now, self._told, self._busy)]

    def _admitted(self, items: list[Item], now: int) -> Errand | None:
        """Return these items as a message, or what of all the rate allows now."""
        errand = Errand(tuple(items))
        if self._bucket.ready(now, critical=errand.critical) <= now:
            return errand
        self._throttled = True
        items = self._all(now)
        candidates = [Errand((item,)) for item in items]
        if self._joins and items:
            candidates = [Errand(tuple(items))]
        for errand in candidates:
            ready = self._bucket.ready(now, critical=errand.critical)
            if ready <= now:
                return errand
            self._blocked = min(ready, self._blocked or ready)
        return None

    def _judge(self, waiting: Waiting, now: int) -> Item | None:
        """Return what to say of *waiting*; if that is nothing, or not now, it leaves the queue."""
        alert, transition = waiting.alert, waiting.transition
        self._overtake(waiting)
        want, known = self._wanted(waiting), self._told.get(alert, Told())
        kind: Kind | None = None
        told = known
        for told in self._possible(alert):
            kind = reconcile(told, transition.episode, want, flapping=transition.flapping)
            if kind is not None:
                break
        if kind is None:
            self._pass_over(waiting)
            return None
        if kind == "flapping":
            want = want or told.level
        hold = self._desk.hold(self._manner, alert, want, now)
        if hold is not None:
            if hold.quiet and self._manner.quiet_summary:
                waiting.digest = True
                self._miss(waiting, now)
            self._park(waiting, hold.until)
            return None
        too_soon = cooling(known, want, now, self._reminders.habit(alert).cooldown)
        if kind in {"raised", "flapping"} and too_soon is not None:
            self._park(waiting, too_soon)
            return None
        severity = want if want is not None else told.level
        item = Item(waiting, kind, severity, heard(known, kind, transition.episode, want, now))
        if kind == "cleared" and not self._manner.clears:
            self._finish(item, now)
            return None
        return item

    def _next_of_every(self, now: int) -> Errand | None:
        while self._queue:
            waiting = next(iter(self._queue))
            if waiting.transition.event != "cleared" or self._manner.clears:
                break
            self._drop(waiting)
            self._spend([waiting], waiting.alert)
        else:
            self._batch_since = None
            return None
        hold = self._desk.quiet(self._manner, waiting.transition.severity, now)
        if hold is not None:
            self._blocked = now + SELDOM if hold.until is None else hold.until
            return None
        if self._manner.batch and self._gathers(now):
            return None
        together = TOGETHER if self._manner.batch else 1
        errand = Errand(
            tuple(
                Item(one, one.transition.event, one.transition.severity, Told())
                for one, _ in zip(self._queue, range(together), strict=False)
                if one.transition.event != "cleared" or self._manner.clears
            )
        )
        ready = self._bucket.ready(now, critical=errand.critical)
        if ready <= now:
            return errand
        self._blocked = ready
        return None

    # -- what came of it ---------------------------------------------------------------

    def done(self, errand: Errand, now: int) -> None:
        """Take note that *errand* was told."""
        if errand.first.counts:
            self._bucket.take(now, critical=errand.critical)
            self._batch_since = None
        for item in errand.items:
            self._finish(item, now)

    def give_up(self, errand: Errand, error: str) -> None:
        """Take note that *errand* is never told; what the notifier knows stays as it was."""
        for item in errand.items:
            self._bury(item.waiting, error)
            alert = item.waiting.alert
            self._spend(self._doubts.pop(alert, []), alert)
            told = self._told.get(alert)
            if told is not None and told.missed is not None:
                self._learn(alert, told._replace(missed=None))
                self._deeds.append(Settled((), (alert, told._replace(missed=None))))
            else:
                self._reminders.learn(alert, told)

    def failed(self, now: int, last: Errand | None = None) -> None:
        """Take note that a delivery failed: keep the newest of each alert, and what it missed.

        Args:
            now: The time.
            last: What is told after all others.
        """
        if self._manner.every:
            return
        for waiting in self._queue:
            self._miss(waiting, now)
        self._condense(now)
        moved = set() if last is None else {item.waiting.alert for item in last.items}
        for waiting in [one for one in self._queue if one.alert in moved]:
            self._queue.move_to_end(waiting)

    def deeds(self) -> list[Deed]:
        """Hand out what the store is to keep of all this, in this order."""
        deeds, self._deeds = self._deeds, []
        if self._spent:
            deeds.append(Settled(tuple(self._spent)))
            self._spent = []
        return deeds

    def kept(self, rows: Iterable[int]) -> None:
        """Take note that all is in the store anew: what is open, each in its row."""
        for waiting, row in zip(self.open, rows, strict=True):
            waiting.row = row
        self._unkept.clear()
        self._spent.clear()
        self._deeds = [deed for deed in self._deeds if isinstance(deed, Buried)]

    # -- the books ---------------------------------------------------------------------

    def _busy(self, alert: Alert) -> bool:
        """Say whether something waits that is about it."""
        return alert in self._alerts or alert in self._parked

    def _wanted(self, waiting: Waiting) -> Severity | None:
        transition = waiting.transition
        names = {self._notifier, waiting.instead} - {""}
        levels = [wanted(transition.notify, name, transition.severity) for name in names]
        return max(levels, key=rank)

    def _possible(self, alert: Alert) -> list[Told]:
        """Return what the notifier knows of *alert*, and what it knows if doubts arrived."""
        told = self._told.get(alert, Told())
        return [
            told,
            *(
                Told(doubt.transition.episode, self._wanted(doubt), told.missed)
                for doubt in reversed(self._doubts.get(alert, []))
            ),
        ]

    def _finish(self, item: Item, now: int) -> None:
        """Let go of what was told, or need not be, and know what it says."""
        waiting = item.waiting
        alert = waiting.alert
        if not item.counts:
            self._reminders.learn(alert, self._told.get(alert), now)
            return
        self._drop(waiting)
        if self._manner.every:
            self._deeds.append(Settled(_rows([waiting])))
            return
        level, episode = item.told.level, item.transition.episode
        known = self._told.get(alert, Told())
        told = heard(known, item.kind, episode, level, now)
        if level is not None and self._reminders.matters(alert):
            told = told._replace(last=item.transition)
        if level is None and not self._reminders.habit(alert).cooldown:
            told = Told(told.episode)
        self._learn(alert, told, now)
        doubts = self._doubts.pop(alert, ())
        self._deeds.append(Settled(_rows([waiting, *doubts]), (alert, told)))

    def _condense(self, now: int) -> None:
        """Keep the newest of each alert in the queue."""
        newest: dict[Alert, Waiting] = {}
        older: dict[Alert, list[Waiting]] = {}
        for waiting in self._queue:
            alert = waiting.alert
            if alert in newest:
                older.setdefault(alert, []).append(newest.pop(alert))
            newest[alert] = waiting
        self._queue = OrderedDict.fromkeys(newest.values())
        self._alerts = Counter(newest.keys())
        for alert, overtaken in older.items():
            for one in overtaken:
                self._miss(one, now)
            self._set_aside(alert, overtaken)

    def _miss(self, waiting: Waiting, now: int) -> None:
        """Remember an episode that was not told, unless it is held back from people anyway."""
        alert, want = waiting.alert, self._wanted(waiting)
        told = self._told.get(alert, Told())
        missed = unreachable(told, waiting.transition.episode, want)
        if missed is told or waiting.transition.flapping:
            return
        hold = self._desk.hold(self._manner, alert, want, now)
        if hold is not None and not (hold.quiet and self._manner.quiet_summary):
            return
        if cooling(told, want, now, self._reminders.habit(alert).cooldown) is None:
            self._told[alert] = missed
            self._unkept.add(alert)

    def _park(self, waiting: Waiting, until: int | None) -> None:
        self._drop(waiting)
        self._parked[waiting.alert] = Parked(waiting, until)
        self._plan()

    def _unpark(self, alerts: Iterable[Alert], now: int | None = None) -> None:
        """Look again at what was held back, before all else."""
        for alert in reversed([*alerts]):
            waiting = self._parked.pop(alert).waiting
            if now is not None:
                waiting.since = now
            self._queue[waiting] = None
            self._queue.move_to_end(waiting, last=False)
            self._alerts[alert] += 1
        self._plan()

    def _plan(self) -> None:
        found = (parked.until for parked in self._parked.values())
        self._look_at = min((until for until in found if until is not None), default=None)

    def _overtake(self, waiting: Waiting) -> None:
        """Let go of what was parked of the same alert: *waiting* is newer."""
        parked = self._parked.pop(waiting.alert, None)
        if parked is not None:
            waiting.digest = waiting.digest or parked.waiting.digest
            self._set_aside(waiting.alert, [parked.waiting])
            self._plan()

    def _set_aside(self, alert: Alert, overtaken: list[Waiting]) -> None:
        doubts = [one for one in overtaken if one.unsure]
        if doubts:
            self._doubts.setdefault(alert, []).extend(doubts)
        self._spend([one for one in overtaken if not one.unsure], alert)

    def _pass_over(self, waiting: Waiting) -> None:
        """Let go of what is known already."""
        alert = waiting.alert
        self._drop(waiting)
        self._spend([waiting, *self._doubts.pop(alert, ())], alert)
        self._reminders.arrange(alert, self._told.get(alert))

    def _spend(self, superfluous: list[Waiting], alert: Alert) -> None:
        """Let go of rows; what they would say of the past after a restart goes into told."""
        if not superfluous:
            return
        rows = _rows(superfluous)
        if alert in self._unkept:
            self._unkept.discard(alert)
            self._deeds.append(Settled(rows, (alert, self._told[alert])))
        else:
            self._spent += rows

    def _learn(self, alert: Alert, told: Told, now: int | None = None) -> None:
        self._unkept.discard(alert)
        if (told.level, told.missed, told.cleared) == (None, None, None):
            self._told.pop(alert, None)  # what is well and known needs no memory
        else:
            self._told[alert] = told
        self._reminders.learn(alert, self._told.get(alert), now)

    def _arrange(self) -> None:
        for alert, told in self._told.items():
            self._reminders.arrange(alert, told)

    def _bury(self, waiting: Waiting, error: str) -> None:
        self._drop(waiting)
        self.given_up += 1
        self._deeds.append(Buried(waiting, error))

    def _drop(self, waiting: Waiting) -> None:
        if waiting not in self._queue:
            return
        del self._queue[waiting]
        self._alerts[waiting.alert] -= 1
        if not self._alerts[waiting.alert]:
            del self._alerts[waiting.alert]


def _rows(waiting: Iterable[Waiting]) -> tuple[int, ...]:
    return tuple(one.row for one in waiting if one.row != NOWHERE)
