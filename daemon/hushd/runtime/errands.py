"""What one notifier has yet to tell: pure bookkeeping, without threads, clocks or disks.

Each transition that waits has a row in the store's outbox.  What is decided here about rows
is handed out as deeds, for somebody to have the store keep it.
"""

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from hushd.core.reconcile import Kind, Told, reconcile, unreachable, wanted
from hushd.core.rules import Severity
from hushd.core.transitions import Event, Transition
from hushd.runtime.store import NOWHERE, Alert

WAITING = 100_000  # transitions; beyond that the oldest are given up and counted
TOO_MANY = "too much was waiting"


@dataclass(slots=True, eq=False)
class Waiting:
    """A transition that was not told yet."""

    transition: Transition
    since: float = 0.0  # when it was added
    row: int = NOWHERE  # in the outbox
    unsure: bool = False  # an attempt may have succeeded unnoticed

    @property
    def alert(self) -> Alert:
        """Return what it is about."""
        return (self.transition.rule, self.transition.labels)


class Errand(NamedTuple):
    """Something to tell now, and what the notifier knows once it was told."""

    waiting: Waiting
    kind: Kind | Event
    severity: Severity | None
    told: Told

    @property
    def transition(self) -> Transition:
        """Return what happened."""
        return self.waiting.transition


class Settled(NamedTuple):
    """Rows that are done with, and what the notifier knows of their alert, if that is news."""

    rows: tuple[int, ...]
    news: tuple[Alert, Told] | None = None


class Buried(NamedTuple):
    """What is never told, and why."""

    waiting: Waiting
    error: str


Deed = Settled | Buried


class Errands:
    """The transitions that one notifier has not been told of, oldest first.

    While it can be reached, it hears of each in turn.  Once a delivery has failed, only
    how things stand now is told for each alert, however often that changed meanwhile.
    What was overtaken after it may have been delivered is a doubt: the notifier may know one
    thing or the other, and is told how things stand unless it knows that either way.
    With *every*, as for a journal, each transition is told, in order, whatever happens.
    """

    def __init__(
        self,
        notifier: str,
        told: dict[Alert, Told],
        waiting: Iterable[Waiting] = (),
        *,
        every: bool,
    ) -> None:
        self.given_up = 0
        self._notifier = notifier
        self._told = dict(told)
        self._every = every
        self._waiting: deque[Waiting] = deque()
        self._doubts: dict[Alert, list[Waiting]] = {}
        self._alerts: Counter[Alert] = Counter()  # how often each is among what waits
        self._unkept: set[Alert] = set()  # what was missed of them is not in the store
        self._spent: list[int] = []  # rows of what needs no telling
        self._deeds: list[Deed] = []
        for one in waiting:
            self.add(one)

    def __len__(self) -> int:
        """Return how many transitions wait."""
        return len(self._waiting)

    @property
    def waiting(self) -> list[Waiting]:
        """Return what waits, in the order in which it is told."""
        return list(self._waiting)

    @property
    def open(self) -> list[Waiting]:
        """Return all that has a row: what waits, and before it the doubts of its alert."""
        first = {waiting.alert: waiting for waiting in reversed(self._waiting)}
        return [
            one
            for waiting in self._waiting
            for one in (
                *(self._doubts.get(waiting.alert, ()) if first[waiting.alert] is waiting else ()),
                waiting,
            )
        ]

    @property
    def told(self) -> dict[Alert, Told]:
        """Return what the notifier knows."""
        return dict(self._told)

    def follow(self, *, every: bool) -> None:
        """Tell every transition from now on, or only what is news."""
        self._every = every

    def knows_of(self, alert: Alert) -> bool:
        """Say whether the notifier knows of *alert*, or may before it hears what comes now."""
        if self._every:
            return False
        told = self._told.get(alert)
        return alert in self._alerts or (told is not None and told.level is not None)

    def add(self, waiting: Waiting) -> None:
        """Add what has just happened."""
        if len(self._waiting) >= WAITING:
            self._bury(self._waiting[0], TOO_MANY)
        self._waiting.append(waiting)
        self._alerts[waiting.alert] += 1

    def adopt(self, told: dict[Alert, Told], waiting: Iterable[Waiting]) -> None:
        """Take on what another process has left, unless something is known of the alert since."""
        known = self._told.keys() | self._alerts.keys()
        self._told = {alert: told[alert] for alert in told.keys() - known} | self._told
        for one in waiting:
            if self._every or one.alert not in known:
                self.add(one)

    def next(self) -> Errand | None:
        """Return what to tell now, or None; drops what needs no telling.

        The errand stays until it is ``done``.
        """
        while self._waiting:
            waiting = self._waiting[0]
            transition = waiting.transition
            if self._every:
                return Errand(waiting, transition.event, transition.severity, Told())
            want = self._wanted(waiting)
            for told in self._possible(waiting.alert):
                kind = reconcile(told, transition.episode, want)
                if kind is not None:
                    severity = want if want is not None else told.level
                    return Errand(waiting, kind, severity, Told(transition.episode, want, None))
            self._drop(waiting)
            self._spend([waiting, *self._doubts.pop(waiting.alert, ())], waiting.alert)
        return None

    def done(self, errand: Errand) -> None:
        """Take note that *errand* was told."""
        waiting = errand.waiting
        self._drop(waiting)
        news = None if self._every else (waiting.alert, errand.told)
        if news is not None:
            self._learn(*news)
        doubts = self._doubts.pop(waiting.alert, ())
        self._deeds.append(Settled(_rows([waiting, *doubts]), news))

    def give_up(self, errand: Errand, error: str) -> None:
        """Take note that *errand* is never told; what the notifier knows stays as it was."""
        self._bury(errand.waiting, error)
        alert = errand.waiting.alert
        self._spend(self._doubts.pop(alert, []), alert)
        told = self._told.get(alert)
        if told is not None and told.missed is not None:
            told = told._replace(missed=None)
            self._learn(alert, told)
            self._deeds.append(Settled((), (alert, told)))

    def failed(self, last: Errand | None = None) -> None:
        """Take note that a delivery failed: keep the newest of each alert, and what it missed.

        Args:
            last: What is told after all others.
        """
        if self._every:
            return
        newest: dict[Alert, Waiting] = {}
        older: dict[Alert, list[Waiting]] = {}
        for waiting in self._waiting:
            alert = waiting.alert
            told = self._told.get(alert, Told())
            missed = unreachable(told, waiting.transition.episode, self._wanted(waiting))
            if missed is not told:
                self._told[alert] = missed
                self._unkept.add(alert)
            if alert in newest:
                older.setdefault(alert, []).append(newest.pop(alert))
            newest[alert] = waiting
        if last is not None and last.waiting.alert in newest:
            newest[last.waiting.alert] = newest.pop(last.waiting.alert)
        self._waiting = deque(newest.values())
        self._alerts = Counter(newest.keys())
        for alert, overtaken in older.items():
            self._doubts.setdefault(alert, []).extend(one for one in overtaken if one.unsure)
            self._spend([one for one in overtaken if not one.unsure], alert)

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

    def _wanted(self, waiting: Waiting) -> Severity | None:
        transition = waiting.transition
        return wanted(transition.notify, self._notifier, transition.severity)

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

    def _learn(self, alert: Alert, told: Told) -> None:
        self._unkept.discard(alert)
        if told.level is None and told.missed is None:
            self._told.pop(alert, None)  # what is well and known needs no memory
        else:
            self._told[alert] = told

    def _bury(self, waiting: Waiting, error: str) -> None:
        self._drop(waiting)
        self.given_up += 1
        self._deeds.append(Buried(waiting, error))

    def _drop(self, waiting: Waiting) -> None:
        if self._waiting and self._waiting[0] is waiting:
            self._waiting.popleft()
            self._alerts[waiting.alert] -= 1
            if not self._alerts[waiting.alert]:
                del self._alerts[waiting.alert]


def _rows(waiting: Iterable[Waiting]) -> tuple[int, ...]:
    return tuple(one.row for one in waiting if one.row != NOWHERE)
