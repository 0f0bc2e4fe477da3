"""What one notifier has yet to tell: pure bookkeeping, without threads or clocks."""

from collections import deque
from typing import NamedTuple

from hushd.core.reconcile import Kind, Told, reconcile, unreachable, wanted
from hushd.core.rules import Severity
from hushd.core.transitions import Event, Transition
from hushd.runtime.store import Alert

WAITING = 100_000  # transitions; beyond that the oldest are given up and counted


class Errand(NamedTuple):
    """Something to tell now, and what the notifier knows once it was told."""

    transition: Transition
    kind: Kind | Event
    severity: Severity | None
    alert: Alert
    told: Told
    since: float = 0.0  # when it was added


class Waiting(NamedTuple):
    """A transition that was not told yet, and when it was added."""

    transition: Transition
    since: float


class Errands:
    """The transitions that one notifier has not been told of, oldest first.

    While it can be reached, it hears of each in turn.  Once a delivery has failed, only
    how things stand now is told for each alert, however often that changed meanwhile.
    With *every*, as for a journal, each transition is told, in order, whatever happens.
    """

    def __init__(self, notifier: str, told: dict[Alert, Told], *, every: bool) -> None:
        self.given_up = 0
        self._notifier = notifier
        self._told = told
        self._every = every
        self._waiting: deque[Waiting] = deque()

    def __len__(self) -> int:
        """Return how many transitions wait."""
        return len(self._waiting)

    def follow(self, *, every: bool) -> None:
        """Tell every transition from now on, or only what is news."""
        self._every = every

    def knows_of(self, alert: Alert) -> bool:
        """Say whether the notifier was told of *alert*, and not that all is well again."""
        told = self._told.get(alert)
        return told is not None and told.level is not None

    def add(self, transition: Transition, now: float = 0.0) -> None:
        """Add what has just happened; *now* is the errand's ``since``."""
        if len(self._waiting) >= WAITING:
            self._waiting.popleft()
            self.given_up += 1
        self._waiting.append(Waiting(transition, now))

    def next(self) -> Errand | None:
        """Return what to tell now, or None; drops what needs no telling.

        The errand stays until it is ``done``.
        """
        while self._waiting:
            transition, since = self._waiting[0]
            alert = (transition.rule, transition.labels)
            if self._every:
                event, severity = transition.event, transition.severity
                return Errand(transition, event, severity, alert, Told(), since)
            told = self._told.get(alert, Told())
            want = wanted(transition.notify, self._notifier, transition.severity)
            kind = reconcile(told, transition.episode, want)
            if kind is not None:
                severity = want if want is not None else told.level
                return Errand(
                    transition, kind, severity, alert, Told(transition.episode, want, None), since
                )
            self._waiting.popleft()
        return None

    def done(self, errand: Errand) -> None:
        """Take note that *errand* was told."""
        self._drop(errand)
        if not self._every:
            if errand.told.level is None:
                self._told.pop(errand.alert, None)  # what is well and known needs no memory
            else:
                self._told[errand.alert] = errand.told

    def give_up(self, errand: Errand) -> None:
        """Take note that *errand* is never told; what the notifier knows stays as it was."""
        self._drop(errand)
        self.given_up += 1
        told = self._told.get(errand.alert)
        if told is not None:
            self._told[errand.alert] = told._replace(missed=None)

    def _drop(self, errand: Errand) -> None:
        if self._waiting and self._waiting[0].transition is errand.transition:
            self._waiting.popleft()

    def failed(self, last: Errand | None = None) -> None:
        """Take note that a delivery failed: keep the newest of each alert, and what it missed.

        Args:
            last: What is told after all others.
        """
        if self._every:
            return
        newest: dict[Alert, Waiting] = {}
        for waiting in self._waiting:
            transition = waiting.transition
            alert = (transition.rule, transition.labels)
            want = wanted(transition.notify, self._notifier, transition.severity)
            told = self._told.get(alert, Told())
            missed = unreachable(told, transition.episode, want)
            if missed is not told:
                self._told[alert] = missed
            newest.pop(alert, None)
            newest[alert] = waiting
        if last is not None and last.alert in newest:
            newest[last.alert] = newest.pop(last.alert)
        self._waiting = deque(newest.values())
