"""How often a sensor speaks: configured, or learned from its last gaps."""

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterable

GAPS = 20  # the median of so many
ENOUGH = 3  # gaps before anything is said


class Interval:
    """The usual gap between the readings of one series, in nanoseconds."""

    __slots__ = ("_fixed", "_gaps", "_sorted", "now")

    def __init__(self, fixed: int | None = None, gaps: Iterable[int] = ()) -> None:
        """Start with what the configuration says, or with gaps seen before."""
        self._fixed = fixed
        self._gaps: deque[int] = deque()
        self._sorted: list[int] = []
        self.now: int | None = fixed  # None: not known yet
        for gap in gaps:
            self.learn(gap)

    def learn(self, gap: int) -> None:
        """Take in the *gap* before the newest reading; equal stamps are not a gap."""
        if self._fixed is not None or gap <= 0:
            return
        gaps, ordered = self._gaps, self._sorted
        if len(gaps) == GAPS:
            oldest = gaps.popleft()
            gaps.append(gap)
            if oldest == gap:
                return
            del ordered[bisect_left(ordered, oldest)]
        else:
            gaps.append(gap)
        insort(ordered, gap)
        if len(ordered) >= ENOUGH:
            self.now = ordered[(len(ordered) - 1) // 2]

    @property
    def gaps(self) -> list[int]:
        """Return what was learned, oldest first, to start from again."""
        return list(self._gaps)
