"""The readings of one log, in columns: stamps, values and what each reading covers.

Readings are numbered from 0 in the order of their stamps; that number is their *position*.
The newest are *open*, in plain lists; older ones are sealed in chunks of equal size and
packed without loss, so 18 to 20 bytes hold a reading.  Chunks before every reader's head
are given back, a few at a time.
"""

import operator
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Protocol

from hushd.core.aggregation import Wants

#: chunks given back at once: freeing a long window in one go would be a pause
RECLAIM = 16

#: before every possible stamp
BEFORE = -(1 << 63)

SECOND = 10**9

_MICROSECOND = 1000
_MILLISECOND = 1_000_000
_LAST = operator.attrgetter("last")


class Reader(Protocol):
    """Who reads a log: nothing from the position ``head`` on may be given back."""

    @property
    def head(self) -> int:
        """The position of the oldest reading it may still want."""


class Chunk:
    """A fixed number of consecutive readings, sealed."""

    __slots__ = ("_covered", "_scale", "before", "ids", "last", "stamps", "through", "values")

    def __init__(self, stamps: list[int], values: list[Any]) -> None:
        """Pack the columns; the other two come where they are kept."""
        self.stamps = array("q", stamps)
        self.values = pack(values)
        self.last = stamps[-1]
        self.before = 0  # nanoseconds covered by all readings before this chunk
        self.through = 0  # and by these, too
        self.ids: array[int] | None = None
        self._covered: array[int] | None = None  # before each reading, from `before` on
        self._scale = 1

    def cover(self, before: list[int], through: int) -> None:
        """Keep how much all readings before each of these covered, and in the end."""
        self.before = before[0]
        self.through = through
        self._covered, self._scale = pack_times([each - before[0] for each in before])

    def covered_before(self, offset: int) -> int:
        """Return the nanoseconds covered by all readings before that at *offset*."""
        packed = self._covered
        return self.before + packed[offset] * self._scale if packed is not None else 0

    @property
    def covers(self) -> list[int]:
        """What each reading covers, in nanoseconds."""
        packed, scale = self._covered, self._scale
        if packed is None:
            return []
        edges = [*(each * scale for each in packed), self.through - self.before]
        return list(map(operator.sub, edges[1:], edges))


def pack(values: list[Any]) -> "array[float] | list[Any]":
    """Return *values* in 8 bytes each if every one is exactly a float, else as they are."""
    return array("d", values) if set(map(type, values)) == {float} else values


def pack_times(times: list[int]) -> "tuple[array[int], int]":
    """Return rising *times* and the nanoseconds of their unit.

    In 4 bytes each where micro- or milliseconds are exact and fit, else in 8 bytes.
    """
    for unit in (_MICROSECOND, _MILLISECOND):
        if times[0] >= 0 and times[-1] < unit << 32 and not any(each % unit for each in times):
            return array("I", [each // unit for each in times]), unit
    return array("q", times), 1


class Columns:
    """All readings that some reader may still want."""

    __slots__ = (
        "before",
        "chunks",
        "covered",
        "covers",
        "dropped",
        "floor",
        "ids",
        "keeps_covers",
        "more",
        "newest",
        "readers",
        "sealed",
        "size",
        "stamps",
        "surplus",
        "values",
    )

    def __init__(self, size: int, *, keeps_covers: bool) -> None:
        """Start empty; seal *size* readings at a time."""
        self.size = size
        self.keeps_covers = keeps_covers
        self.more = keeps_covers  # there are columns beside stamps and values
        self.readers: Sequence[Reader] = ()
        self.chunks: list[Chunk] = []
        self.dropped = 0  # chunks given back
        self.surplus = False  # there may be more to give back
        self.sealed = 0  # position of the first open reading
        self.newest = BEFORE
        self.floor = BEFORE  # the newest sealed stamp: nothing can be placed before it
        self.covered = 0  # nanoseconds covered by all readings there ever were
        self.stamps: list[int] = []
        self.values: list[Any] = []
        self.covers: list[int] = []
        self.before: list[int] = []  # nanoseconds covered before each open reading
        self.ids: list[int] | None = None  # order of arrival, where it is not that of stamps

    @property
    def total(self) -> int:
        """The position after the newest reading: how many there ever were."""
        return self.sealed + len(self.stamps)

    @property
    def first(self) -> int:
        """The position of the oldest reading kept."""
        return self.dropped * self.size

    def insert(self, index: int, at: int, value: Any, covers: int) -> None:
        """Add a reading at *index* among the open ones."""
        self.stamps.insert(index, at)
        self.values.insert(index, value)
        if self.keeps_covers:
            reached = self.before[index] if index < len(self.before) else self.covered
            self.covers.insert(index, covers)
            self.before[index:] = [reached, *(each + covers for each in self.before[index:])]
            self.covered += covers
        if self.ids is not None:
            self.ids.insert(index, self.total - 1)
        self.newest = self.stamps[-1]

    def settle(self, covers: int) -> None:
        """Correct what the newest reading covers."""
        if self.covers:
            self.covered += covers - self.covers[-1]
            self.covers[-1] = covers

    def seal(self) -> None:
        """Make a chunk of the oldest open readings."""
        size = self.size
        chunk = Chunk(self.stamps[:size], self.values[:size])
        if self.keeps_covers:
            left = self.before[size:]
            chunk.cover(self.before[:size], left[0] if left else self.covered)
            self.before = left
            self.covers = self.covers[size:]
        if self.ids is not None:
            chunk.ids = array("q", self.ids[:size])
            self.ids = self.ids[size:]
        self.stamps = self.stamps[size:]  # new lists: a view may still read the old ones
        self.values = self.values[size:]
        self.chunks.append(chunk)
        self.floor = chunk.last
        self.sealed += size

    def reclaim(self) -> None:
        """Give back the oldest chunks that no reader wants."""
        wanted = min((reader.head for reader in self.readers), default=self.sealed)
        spent = min(min(wanted, self.sealed) // self.size - self.dropped, RECLAIM)
        if spent > 0:
            del self.chunks[:spent]
            self.dropped += spent
        self.surplus = spent == RECLAIM

    def after(self, stamp: int, start: int) -> int:
        """Return the first position, not before *start*, whose stamp is later than *stamp*."""
        if start < self.sealed:
            size, chunks = self.size, self.chunks
            i, offset = divmod(start, size)
            i -= self.dropped
            if chunks[i].last <= stamp:
                i = bisect_right(chunks, stamp, i + 1, key=_LAST)
                offset = 0
            if i < len(chunks):
                return (i + self.dropped) * size + bisect_right(chunks[i].stamps, stamp, offset)
            start = self.sealed
        return self.sealed + bisect_right(self.stamps, stamp, start - self.sealed)

    def stamp(self, position: int) -> int:
        """Return the stamp of the reading at *position*."""
        if position >= self.sealed:
            return self.stamps[position - self.sealed]
        i, offset = divmod(position, self.size)
        return self.chunks[i - self.dropped].stamps[offset]

    def read(self, column: str, start: int, end: int) -> Sequence[Any]:
        """Return a column from position *start* up to *end*."""
        sealed = self.sealed
        if start >= sealed:
            open_part: list[Any] = getattr(self, column)[start - sealed : end - sealed]
            return open_part
        size, parts = self.size, []
        stop = min(end, sealed)
        while start < stop:
            i, offset = divmod(start, size)
            part = getattr(self.chunks[i - self.dropped], column)[offset : offset + end - start]
            parts.append(part)
            start += len(part)
        if end > sealed:
            parts.append(getattr(self, column)[: end - sealed])
        if len(parts) == 1:
            only: Sequence[Any] = parts[0]
            return only
        return [each for part in parts for each in part]

    def extras(self, wants: Wants, start: int, end: int) -> Sequence[Any]:
        """Return what ``unit`` is given beside the values from *start* up to *end*."""
        if wants == "time":
            return self.read("stamps", start, end)
        return [each / SECOND for each in self.read("covers", start, end)]

    def covered_from(self, position: int) -> int:
        """Return the nanoseconds covered by the readings from *position* on."""
        sealed = self.sealed
        if position >= sealed:
            position -= sealed
            return self.covered - self.before[position] if position < len(self.before) else 0
        i, offset = divmod(position, self.size)
        return self.covered - self.chunks[i - self.dropped].covered_before(offset)

    def reweigh(self, covers: Sequence[int]) -> None:
        """Replace what every reading that is kept covers."""
        size, before = self.size, list(accumulate(covers, initial=0))
        for i, chunk in enumerate(self.chunks):
            chunk.cover(before[i * size : (i + 1) * size], before[(i + 1) * size])
        open_from = len(self.chunks) * size
        self.covers = list(covers[open_from:])
        self.covered = before.pop()
        self.before = before[open_from:]

    def number(self) -> None:
        """Begin to keep the order of arrival; what is there came in order."""
        if self.ids is None:
            for i, chunk in enumerate(self.chunks, self.dropped):
                chunk.ids = array("q", range(i * self.size, (i + 1) * self.size))
            self.ids = list(range(self.sealed, self.total))
            self.more = True
