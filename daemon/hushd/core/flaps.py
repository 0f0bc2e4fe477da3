"""Flaps: changes of a level that come too fast for people to follow."""

from collections import deque
from typing import Any

from hushd.core.rules import Flapping


class Flaps:
    """Whether one alert is flapping.

    It is once it has changed more often than `changes` in `within`, and until it has changed
    fewer than half as often.

    >>> flaps = Flaps(Flapping(changes=3, within=100))
    >>> [flaps.note(at) for at in (1, 2, 3, 4, 5)]
    [False, False, False, True, False]
    >>> flaps.due(), flaps.settle(103), flaps.settle(104), flaps.on
    (104, False, True, False)
    """

    __slots__ = ("_least", "_times", "_within", "changes", "on")

    def __init__(self, plan: Flapping) -> None:
        """Start steady."""
        self.changes = plan.changes
        self.on = False
        self._within = plan.within
        self._least = (plan.changes + 1) // 2  # fewer than this is steady
        self._times: deque[int] = deque(maxlen=plan.changes + 1)

    def note(self, at: int) -> bool:
        """Take note of a change; True if it flaps from now on."""
        self._times.append(at)
        began = not self.on and self._recent(at) > self.changes
        self.on = self.on or began
        return began

    def due(self) -> int | None:
        """Return when it will be steady, if nothing changes any more."""
        if not self.on:
            return None
        if len(self._times) < self._least:
            return self._times[-1]
        return self._times[-self._least] + self._within

    def settle(self, at: int) -> bool:
        """Say whether it is steady from *at* on, and was not before."""
        due = self.due()
        if due is None or due > at:
            return False
        self.on = False
        return True

    def save(self) -> list[Any]:
        """Return the state for a snapshot."""
        return [self.on, list(self._times)]

    def load(self, saved: list[Any]) -> None:
        """Take it back; the rule may count otherwise by now."""
        self.on, times = saved
        self._times.extend(times)
        self.on = self.on and bool(times)

    def _recent(self, at: int) -> int:
        return sum(time > at - self._within for time in self._times)
