"""What one notifier knows and what waits for it, with the rows of that in the store's outbox."""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hushd.core.reconcile import Told
from hushd.runtime.deeds import Buried, Deed, Settled, Waiting
from hushd.runtime.store import NOWHERE, Alert


class Parked(NamedTuple):
    """The newest of an alert, while it is held back."""

    waiting: Waiting
    until: int | None  # None: until something else changes


class Backlog:
    """Keeps the books: whatever is added is told, overtaken, or never told, and its row settled.

    What is overtaken after it may have been delivered is a doubt, and keeps its row until its
    alert is told of.

    Attributes:
        told: What the notifier knows.
        queue: What is to be told, in this order.
        parked: What is held back: the newest of each alert.
        look_at: No parked one is over before that.
    """

    def __init__(self, told: Mapping[Alert, Told]) -> None:
        self.told = dict(told)
        self.queue: OrderedDict[Waiting, None] = OrderedDict()
        self.parked: dict[Alert, Parked] = {}
        self.look_at: int | None = None
        self._queued: Counter[Alert] = Counter()
        self._doubts: dict[Alert, list[Waiting]] = {}
        self._unkept: set[Alert] = set()  # what was missed of them is not in the store
        self._spent: list[int] = []  # rows of what needs no telling
        self._deeds: list[Deed] = []

    def __len__(self) -> int:
        """Return how many wait, held back or not."""
        return len(self.queue) + len(self.parked)

    @property
    def waiting(self) -> list[Waiting]:
        """Return what waits: what is held back, then the rest in the order in which it is told."""
        return [*(parked.waiting for parked in self.parked.values()), *self.queue]

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

    def busy(self, alert: Alert) -> bool:
        """Say whether something waits that is about it."""
        return alert in self._queued or alert in self.parked

    def known(self, alert: Alert) -> Told:
        """Return what the notifier knows of it."""
        return self.told.get(alert, Told())

    def doubts(self, alert: Alert) -> list[Waiting]:
        """Return what the notifier may have heard of it, newest first."""
        return self._doubts.get(alert, [])[::-1]

    # -- what comes and goes -----------------------------------------------------------

    def add(self, waiting: Waiting) -> None:
        """Add what has just happened."""
        self.queue[waiting] = None
        self._queued[waiting.alert] += 1

    def drop(self, waiting: Waiting) -> None:
        """Take out of the queue what is there."""
        if waiting not in self.queue:
            return
        del self.queue[waiting]
        self._queued[waiting.alert] -= 1
        if not self._queued[waiting.alert]:
            del self._queued[waiting.alert]

    def condense(self) -> dict[Alert, list[Waiting]]:
        """Keep the newest of each alert in the queue; return the others, to be `set_aside`."""
        newest: dict[Alert, Waiting] = {}
        older: dict[Alert, list[Waiting]] = {}
        for waiting in self.queue:
            alert = waiting.alert
            if alert in newest:
                older.setdefault(alert, []).append(newest.pop(alert))
            newest[alert] = waiting
        self.queue = OrderedDict.fromkeys(newest.values())
        self._queued = Counter(newest.keys())
        return older

    def park(self, waiting: Waiting, until: int | None) -> None:
        """Hold back what is in the queue."""
        self.drop(waiting)
        self.parked[waiting.alert] = Parked(waiting, until)
        if until is not None:
            self.look_at = until if self.look_at is None else min(self.look_at, until)

    def release(self, now: int, *, everything: bool = False, each: bool = False) -> None:
        """Put what is held back no more before all else; it counts as new.

        Args:
            now: The time.
            everything: Whether all of it is looked at anew.
            each: Whether it is told though there was something newer of the same alert before
                it was held back no more.
        """
        over = [
            alert
            for alert, parked in self.parked.items()
            if everything or (parked.until is not None and parked.until <= now)
        ]
        for alert in reversed(over):
            waiting, until = self.parked.pop(alert)
            if alert in self._queued and not each:
                newer = next(one for one in self.queue if one.alert == alert)
                if until is None or newer.since <= until:
                    self.set_aside(alert, [waiting])
                    continue
            waiting.since = now
            self.add(waiting)
            self.queue.move_to_end(waiting, last=False)
        left = (parked.until for parked in self.parked.values())
        self.look_at = min((until for until in left if until is not None), default=None)

    def overtake(self, waiting: Waiting) -> None:
        """Let go of what was parked of the same alert: *waiting* is newer."""
        parked = self.parked.pop(waiting.alert, None)
        if parked is not None:
            self.set_aside(waiting.alert, [parked.waiting])

    def set_aside(self, alert: Alert, overtaken: list[Waiting]) -> None:
        """Let go of what is told no more, because something newer is, but for what is in doubt."""
        doubts = [one for one in overtaken if one.unsure]
        if doubts:
            self._doubts.setdefault(alert, []).extend(doubts)
        self._spend([one for one in overtaken if not one.unsure], alert)

    def pass_over(self, waiting: Waiting) -> None:
        """Let go of what need not be told."""
        self.drop(waiting)
        self._spend([waiting, *self._doubts.pop(waiting.alert, ())], waiting.alert)

    def settle(self, waiting: Waiting, news: Told | None) -> None:
        """Let go of what was told; *news* is what is known then."""
        self.drop(waiting)
        if news is None:
            self._deeds.append(Settled(_rows([waiting])))
            return
        alert = waiting.alert
        self._learn(alert, news)
        doubts = self._doubts.pop(alert, ())
        self._deeds.append(Settled(_rows([waiting, *doubts]), (alert, news)))

    def bury(self, waiting: Waiting, error: str) -> None:
        """Let go of what is never told, and of nothing that was in doubt before it."""
        self.drop(waiting)
        self._deeds.append(Buried(waiting, error))

    def give_up(self, waiting: Waiting, error: str) -> None:
        """Let go of what is never told, and of what was missed before it."""
        self.bury(waiting, error)
        alert = waiting.alert
        self._spend(self._doubts.pop(alert, []), alert)
        known = self.told.get(alert)
        if known is not None and known.missed is not None:
            self.learn(alert, known._replace(missed=None))

    # -- what is known -----------------------------------------------------------------

    def learn(self, alert: Alert, told: Told) -> None:
        """Know *told*, and have it kept."""
        self._learn(alert, told)
        self._deeds.append(Settled((), (alert, told)))

    def miss(self, alert: Alert, told: Told) -> None:
        """Know that an episode was missed; kept when the row goes that says it still."""
        self.told[alert] = told
        self._unkept.add(alert)

    def adopt(self, told: Mapping[Alert, Told]) -> set[Alert]:
        """Take on what is known of alerts of which nothing was; return those of which it was."""
        known = {*self.told, *self._queued, *self.parked}
        self.told = {alert: told[alert] for alert in told.keys() - known} | self.told
        return known

    def _learn(self, alert: Alert, told: Told) -> None:
        self._unkept.discard(alert)
        if (told.level, told.missed, told.cleared) == (None, None, None):
            self.told.pop(alert, None)  # what is well and known needs no memory
        else:
            self.told[alert] = told

    # -- what the store is to keep -----------------------------------------------------

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

    def _spend(self, superfluous: list[Waiting], alert: Alert) -> None:
        """Let go of rows; what they would say of the past after a restart goes into told."""
        if not superfluous:
            return
        rows = _rows(superfluous)
        if alert in self._unkept:
            self._unkept.discard(alert)
            self._deeds.append(Settled(rows, (alert, self.told[alert])))
        else:
            self._spent += rows


def _rows(waiting: Iterable[Waiting]) -> tuple[int, ...]:
    return tuple(one.row for one in waiting if one.row != NOWHERE)
