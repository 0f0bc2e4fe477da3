"""The median of a window in production: heaps while it is small, an order index beyond.

The heaps are those of :mod:`hushd.core.heap_median`, made for readings that leave in the
order they came: an id below the oldest live one is stale, and which heap a leaving reading
is in follows from comparing it with the top.  So there is no table of ids.  What leaves
out of turn (sensors whose clocks differ share a window) is remembered only until its record
is thrown away.

Rebuilding a heap pauses for as long as it has records: about a millisecond at ``LARGE``
readings.  Beyond it, the order index never pauses.
"""

from heapq import heapify, heappop, heappush, heappushpop
from math import nan
from typing import Any

from hushd.core.order_index import OrderIndex

#: readings beyond which rebuilding a heap would be a pause one notices
LARGE = 16_384

#: stale records that are not worth a rebuild
SPARE = 64


class MedianIndex:
    """The lower median: a :class:`~hushd.core.aggregation.WindowIndex`."""

    __slots__ = (
        "_gone",
        "_high",
        "_highs",
        "_large",
        "_last",
        "_low",
        "_lows",
        "_nans",
        "_oldest",
        "_order",
        "_spare",
    )

    def __init__(self, large: int = LARGE, spare: int = SPARE) -> None:
        """Start empty; change to the order index beyond *large* readings."""
        self._large = large
        self._spare = spare / 2
        self._clear()

    def _clear(self) -> None:
        self._low: list[tuple[Any, int]] = []  # (-value, -id): the greatest on top
        self._high: list[tuple[Any, int]] = []  # (value, id): the smallest on top
        self._lows = self._highs = 0  # live records of each
        self._gone: set[int] = set()  # stale ids, of those not below the oldest
        self._oldest = self._last = -1
        self._nans = 0
        self._order: OrderIndex | None = None

    def __len__(self) -> int:
        """Return the number of live readings, NaN included."""
        if self._order is not None:
            return len(self._order)
        return self._lows + self._highs + self._nans

    @property
    def records(self) -> int:
        """How many records are held, live and stale: at most 2 live + spare."""
        if self._order is not None:
            return len(self._order)
        return len(self._low) + len(self._high)

    def add(self, event_id: int, value: Any) -> None:
        """Add a reading; ids strictly increase, and are not negative.

        Raises:
            ValueError: *event_id* is not greater than every id before it.
        """
        if event_id <= self._last:
            raise ValueError(f"event id {event_id} after {self._last}: ids strictly increase")
        self._last = event_id
        if self._order is not None:
            self._order.add(event_id, value)
            return
        if not self._lows:
            if not self._nans:
                self._oldest = event_id
                self._gone.clear()
            if value != value:
                self._nans += 1
                return
            self._low.append((-value if value else -abs(value), -event_id))
            self._lows = 1
            return
        if value == 0:
            value = abs(value)  # no -0.0, so that the result does not depend on the order
        elif value != value:
            self._nans += 1
            return
        low, high = self._low, self._high
        if self._lows > self._highs:  # the upper half grows
            if value >= -low[0][0]:
                heappush(high, (value, event_id))
            else:
                top, top_id = heappushpop(low, (-value, -event_id))
                heappush(high, (-top, -top_id))
                self._prune_low()
            self._highs += 1
            if self._highs + self._lows > self._large:
                self._outgrow()
        else:  # the lower half grows
            if value < high[0][0]:
                heappush(low, (-value, -event_id))
            else:
                top, top_id = heappushpop(high, (value, event_id))
                heappush(low, (-top, -top_id))
                self._prune_high()
            self._lows += 1

    def remove(self, event_id: int, value: Any) -> None:
        """Remove a live reading; cheapest oldest first."""
        if self._order is not None:
            self._order.remove(event_id, value)
            if not len(self._order):
                self._order = None
            return
        if value != value:
            self._nans -= 1
            if event_id == self._oldest:
                self._oldest += 1
            return
        if not self._lows:
            raise KeyError(event_id)
        if event_id == self._oldest:
            self._oldest += 1
            while self._oldest in self._gone:
                self._gone.remove(self._oldest)
                self._oldest += 1
        else:
            self._gone.add(event_id)
        top, top_id = self._low[0]
        if value < -top or (value == -top and event_id <= -top_id):
            self._lows -= 1
            if event_id == -top_id:
                self._prune_low()
            if self._lows < self._highs:
                top, top_id = heappop(self._high)
                heappush(self._low, (-top, -top_id))
                self._lows += 1
                self._highs -= 1
                self._prune_high()
        else:
            self._highs -= 1
            if self._high[0][1] == event_id:
                self._prune_high()
            if self._lows > self._highs + 1:
                heappop(self._low)
                heappush(self._high, (-top, -top_id))
                self._lows -= 1
                self._highs += 1
                self._prune_low()
        self._compact()

    def fill(self, event_ids: list[int], values: list[Any]) -> None:
        """Add many readings to an empty index: one sort."""
        self._clear()
        if not event_ids:
            return
        self._oldest, self._last = event_ids[0], event_ids[-1]
        if len(values) > self._large:
            self._order = OrderIndex()
            self._order.fill(event_ids, values)
            return
        records = sorted(
            (abs(value) if value == 0 else value, event_id)
            for event_id, value in zip(event_ids, values, strict=True)
            if value == value
        )
        self._nans = len(values) - len(records)
        self._highs = len(records) // 2
        self._lows = len(records) - self._highs
        self._low = [(-value, -event_id) for value, event_id in reversed(records[: self._lows])]
        self._high = records[self._lows :]

    def value(self) -> Any:
        """Return the lower median; NaN while a NaN is live, None when empty."""
        if self._order is not None:
            return self._order.lower(50.0)
        if self._nans:
            return nan
        return -self._low[0][0] if self._lows else None

    def _prune_low(self) -> None:
        """Throw away records that left, until the top of the lower half is live."""
        low, oldest, gone = self._low, self._oldest, self._gone
        if not self._lows:
            low.clear()
            gone.clear()  # the upper half is empty too
        while low and (-low[0][1] < oldest or -low[0][1] in gone):
            gone.discard(-heappop(low)[1])

    def _prune_high(self) -> None:
        high, oldest, gone = self._high, self._oldest, self._gone
        if not self._highs:
            high.clear()
            self._forget()
        while high and (high[0][1] < oldest or high[0][1] in gone):
            gone.discard(heappop(high)[1])

    def _compact(self) -> None:
        """Rebuild each heap in which the stale records outnumber the live by spare / 2."""
        oldest, gone = self._oldest, self._gone
        if len(self._low) > 2 * self._lows + self._spare:
            self._low = [r for r in self._low if -r[1] >= oldest and -r[1] not in gone]
            heapify(self._low)
            self._forget()
        if len(self._high) > 2 * self._highs + self._spare:
            self._high = [r for r in self._high if r[1] >= oldest and r[1] not in gone]
            heapify(self._high)
            self._forget()

    def _forget(self) -> None:
        """Keep of the ids that left out of turn only those with a record left."""
        if self._gone:
            held = {-record[1] for record in self._low}
            held.update(record[1] for record in self._high)
            self._gone &= held

    def _outgrow(self) -> None:
        """Hand everything to an order index, until the window is empty again."""
        oldest, gone = self._oldest, self._gone
        values = [-r[0] for r in self._low if -r[1] >= oldest and -r[1] not in gone]
        values += [r[0] for r in self._high if r[1] >= oldest and r[1] not in gone]
        values += [nan] * self._nans
        self.fill(list(range(self._last + 1 - len(values), self._last + 1)), values)
