"""The sliding median by two heaps and lazy deletion, word for word as the tutorial has it.

The smaller half of the readings lives in a max-heap, the larger half in a min-heap, so the
median is on top.  A heap cannot give up a record from its middle: what leaves is only
marked, by its event's identity, and thrown away when it comes to the top.  Records that
never come to the top would pile up without bound (even on random data), so a heap that is
mostly stale is rebuilt.

This is the reference; :class:`~hushd.core.median_index.MedianIndex` is its fast relative.
"""

from heapq import heapify, heappop, heappush
from math import nan
from typing import Any

#: stale records that are not worth a rebuild
SPARE = 64


class HeapMedian:
    """The lower median of readings that come in order and leave in any.

    >>> median = HeapMedian()
    >>> for event_id, value in enumerate([1e20, 1]):
    ...     median.add(event_id, value)
    >>> median.remove(0)
    >>> median.value()
    1
    """

    __slots__ = ("_high", "_last", "_live", "_low", "_nans", "_side", "_spare")

    def __init__(self, spare: int = SPARE) -> None:
        """Start empty; keep at most twice the live records and *spare* more."""
        self._spare = spare
        self._low: list[tuple[Any, int]] = []  # (-value, -id): the greatest on top
        self._high: list[tuple[Any, int]] = []  # (value, id): the smallest on top
        self._live = {"low": 0, "high": 0}
        self._side: dict[int, str] = {}  # live id -> the heap it is in
        self._nans: set[int] = set()  # live ids that have no place in any order
        self._last: int | None = None

    def __len__(self) -> int:
        """Return the number of live readings, NaN included."""
        return len(self._side) + len(self._nans)

    @property
    def records(self) -> int:
        """How many records the heaps hold, live and stale: at most 2 live + spare."""
        return len(self._low) + len(self._high)

    def add(self, event_id: int, value: Any) -> None:
        """Add a reading; ids strictly increase.

        Raises:
            ValueError: *event_id* is not greater than every id before it.
        """
        if self._last is not None and event_id <= self._last:
            raise ValueError(f"event id {event_id} after {self._last}: ids strictly increase")
        self._last = event_id
        if value != value:
            self._nans.add(event_id)
        elif not self._live["low"] or value < -self._low[0][0]:
            self._put("low", event_id, value)
        else:
            self._put("high", event_id, value)
        self._balance()

    def remove(self, event_id: int, value: Any = None) -> None:
        """Remove a live reading, not necessarily the oldest.

        Raises:
            KeyError: no live reading has this id.
        """
        if event_id in self._nans:
            self._nans.remove(event_id)
            return
        self._live[self._side.pop(event_id)] -= 1
        self._prune()
        self._balance()
        self._compact()

    def value(self) -> Any:
        """Return the lower median; NaN while a NaN is live, None when empty."""
        if self._nans:
            return nan
        return -self._low[0][0] if self._low else None

    def _put(self, side: str, event_id: int, value: Any) -> None:
        if side == "low":
            heappush(self._low, (-value, -event_id))
        else:
            heappush(self._high, (value, event_id))
        self._side[event_id] = side
        self._live[side] += 1

    def _balance(self) -> None:
        """Let the lower half have as many readings as the upper, or one more."""
        if self._live["low"] > self._live["high"] + 1:
            value, event_id = heappop(self._low)
            self._live["low"] -= 1
            self._put("high", -event_id, -value)
        elif self._live["low"] < self._live["high"]:
            value, event_id = heappop(self._high)
            self._live["high"] -= 1
            self._put("low", event_id, value)
        self._prune()

    def _prune(self) -> None:
        """Throw away stale records until the top of each heap is live."""
        low, high, side = self._low, self._high, self._side
        if not self._live["low"]:
            low.clear()
        while low and side.get(-low[0][1]) != "low":
            heappop(low)
        if not self._live["high"]:
            high.clear()
        while high and side.get(high[0][1]) != "high":
            heappop(high)

    def _compact(self) -> None:
        """Rebuild each heap in which the stale records outnumber the live by spare / 2."""
        side = self._side
        if len(self._low) > 2 * self._live["low"] + self._spare / 2:
            self._low = [record for record in self._low if side.get(-record[1]) == "low"]
            heapify(self._low)
        if len(self._high) > 2 * self._live["high"] + self._spare / 2:
            self._high = [record for record in self._high if side.get(record[1]) == "high"]
            heapify(self._high)
