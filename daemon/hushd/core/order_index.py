"""Readings in order of size: any percentile of a window, several at little more cost.

A sorted list in blocks.  A reading leaves by its *value*, since equal values are
interchangeable: nothing is marked, nothing stale is kept, and the worst single operation
moves one block.  A small window is one block, which is the plain sorted list.
"""

from bisect import bisect_left, bisect_right, insort
from math import nan
from typing import Any

#: a list this long still beats any structure over it
FLAT = 2048

#: how long blocks are made; they split at twice this and merge below half
LOAD = 256


class OrderIndex:
    """The readings of a window in order, with a cursor at each percentile it is made for.

    >>> index = OrderIndex(90.0, 50.0)
    >>> for event_id, value in enumerate([30.0, 10.0, 20.0]):
    ...     index.add(event_id, value)
    >>> index.value(), index.percentile(50), index.lower(90)
    (28.0, 20.0, 20.0)
    """

    __slots__ = (
        "_before",
        "_block",
        "_blocks",
        "_flat",
        "_large",
        "_load",
        "_maxes",
        "_nans",
        "_only",
        "_percents",
        "_size",
        "_small",
        "_which",
    )

    def __init__(self, *percents: float, load: int = LOAD, flat: int = FLAT) -> None:
        """Start empty, ready for *percents*; ``value()`` is the first of them (else 50)."""
        self._percents = percents or (50.0,)
        self._which = {percent: which for which, percent in enumerate(self._percents)}
        self._load = load
        self._small = max(1, load // 2)
        self._large = 2 * load
        self._flat = flat
        self._nans = 0
        self._restart([])

    def __len__(self) -> int:
        """Return the number of readings, NaN included."""
        only = self._only
        return (self._size if only is None else len(only)) + self._nans

    def add(self, event_id: int, value: Any) -> None:
        """Add a reading."""
        if not (value > 0 or value < 0):  # one comparison for most readings
            if value != value:
                self._nans += 1
                return
            value = abs(value)  # no -0.0, so that which zero leaves does not matter
        only = self._only
        if only is not None:
            insort(only, value)
            if len(only) > self._flat:
                self._restart(only)
            return
        self._size += 1
        maxes = self._maxes
        i = bisect_right(maxes, value)
        if i == len(maxes):
            i -= 1
            maxes[i] = value
        block = self._blocks[i]
        insort(block, value)
        which = 0
        for cursor in self._block:
            if cursor > i:
                self._before[which] += 1
            which += 1  # noqa: SIM113  enumerate costs more than it says
        if len(block) > self._large:
            self._split(i)

    def remove(self, event_id: int, value: Any) -> None:
        """Remove a reading by its value.

        Raises:
            KeyError: no reading has this value.
        """
        only = self._only
        if only is not None:
            j = bisect_left(only, value)
            if j < len(only) and only[j] == value:
                del only[j]
            else:
                self._remove_nan(value)
            return
        i = bisect_left(self._maxes, value)
        blocks = self._blocks
        block = blocks[i] if i < len(blocks) else blocks[-1]
        j = bisect_left(block, value)
        if j == len(block) or block[j] != value:
            self._remove_nan(value)
            return
        del block[j]
        self._size -= 1
        which = 0
        for cursor in self._block:
            if cursor > i:
                self._before[which] -= 1
            which += 1  # noqa: SIM113  enumerate costs more than it says
        if len(block) < self._small:
            self._merge(i)
        elif j == len(block):
            self._maxes[i] = block[-1]

    def _remove_nan(self, value: Any) -> None:
        if value == value or not self._nans:
            raise KeyError(value)
        self._nans -= 1

    def fill(self, event_ids: list[int], values: list[Any]) -> None:
        """Add many readings to an empty index: one sort."""
        numbers = [abs(value) if value == 0 else value for value in values if value == value]
        self._nans = len(values) - len(numbers)
        numbers.sort()
        self._restart(numbers)

    def value(self) -> Any:
        """Return the first percentile; NaN while a NaN is here, None when empty."""
        return self.percentile(self._percents[0])

    def percentile(self, percent: float) -> Any:
        """Return the percentile, interpolated linearly between its two neighbours.

        Source:
            Hyndman & Fan, "Sample quantiles in statistical packages", The American
            Statistician 50(4), 1996, pp. 361-365: definition 7.
        """
        only = self._only
        size = self._size if only is None else len(only)
        if self._nans or not size:
            return nan if self._nans else None
        place = percent * (size - 1) / 100
        rank = int(place)
        below, above = self._pair(percent, rank)
        if rank == place or below == above:
            return below
        return below + (above - below) * (place - rank)

    def lower(self, percent: float) -> Any:
        """Return the percentile as a reading: where two are as near, the smaller."""
        only = self._only
        size = self._size if only is None else len(only)
        if self._nans or not size:
            return nan if self._nans else None
        rank = int(percent * (size - 1) / 100)
        if only is not None:
            return only[rank]
        i, j = self._find(percent, rank)
        return self._blocks[i][j]

    def _pair(self, percent: float, rank: int) -> tuple[Any, Any]:
        """Return the readings of *rank* and the next."""
        blocks = self._blocks
        i, j = self._find(percent, rank) if self._only is None else (0, rank)
        below = blocks[i][j]
        if j + 1 < len(blocks[i]):
            return below, blocks[i][j + 1]
        return below, blocks[i + 1][0] if i + 1 < len(blocks) else below

    def _find(self, percent: float, rank: int) -> tuple[int, int]:
        """Return the block of *rank* and the place in it, walking there from the cursor."""
        blocks = self._blocks
        which = self._which.get(percent)
        i, before = (0, 0) if which is None else (self._block[which], self._before[which])
        while rank < before:
            i -= 1
            before -= len(blocks[i])
        while rank >= before + len(blocks[i]):
            before += len(blocks[i])
            i += 1
        if which is not None:
            self._block[which] = i
            self._before[which] = before
        return i, rank - before

    def _restart(self, ordered: list[Any]) -> None:
        """Lay *ordered* out anew: flat, or in blocks with a list of their greatest."""
        load = self._load
        self._size = len(ordered)  # kept up to date only where there are blocks
        self._only: list[Any] | None = ordered if len(ordered) <= self._flat else None
        if self._only is not None:
            self._blocks = [ordered]
            self._maxes: list[Any] = []
        else:
            self._blocks = [ordered[i : i + load] for i in range(0, len(ordered), load)]
            self._maxes = [block[-1] for block in self._blocks]
        self._rewind()

    def _rewind(self) -> None:
        """Put every cursor at the first block."""
        self._block = [0] * len(self._percents)
        self._before = [0] * len(self._percents)

    def _split(self, i: int) -> None:
        block, load = self._blocks[i], self._load
        self._blocks.insert(i + 1, block[load:])
        del block[load:]
        self._maxes.insert(i, block[-1])
        for which, cursor in enumerate(self._block):
            if cursor > i:
                self._block[which] += 1

    def _merge(self, i: int) -> None:
        """Join the small block *i* with a neighbour; split again where that is too long."""
        blocks, maxes = self._blocks, self._maxes
        if self._size <= self._flat // 4:
            self._restart([value for block in blocks for value in block])
            return
        i = min(i, len(blocks) - 2)
        left = len(blocks[i])
        blocks[i].extend(blocks.pop(i + 1))
        del maxes[i]
        maxes[i] = blocks[i][-1]
        for which, cursor in enumerate(self._block):
            if cursor == i + 1:
                self._before[which] -= left
            if cursor > i:
                self._block[which] -= 1
        if len(blocks[i]) > self._large:
            self._split(i)
