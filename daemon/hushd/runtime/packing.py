"""Readings and marks of messages as bytes: what one row of the store's log holds.

A row is written with every commit, so it has to be small rather than clever: columns of
little-endian numbers, stamps as steps from one to the next, and all of it compressed where
that makes it smaller.  Every number comes back with every bit.
"""

import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from hushd.runtime.redelivery import Mark

#: what the first byte of packed readings says
COMPRESSED, WIDE, DELAYED = 1, 2, 4

_MARK = struct.Struct("<HI")
MARK_SIZE = _MARK.size


class Entry(NamedTuple):
    """A reading of the series with that number."""

    series: int
    at: int
    value: float
    arrived: int


def pack_entries(entries: Sequence[Entry]) -> bytes:
    """Return readings as bytes: about 12 each, when they come 20 at a time.

    >>> list(unpack_entries(pack_entries([Entry(7, 10**18, 21.5, 10**18)])))
    [Entry(series=7, at=1000000000000000000, value=21.5, arrived=1000000000000000000)]
    """
    count = len(entries)
    series, stamps, values, arrivals = zip(*entries, strict=True) if count else ((), (), (), ())
    flags, code = 0, "H"
    if count and max(series) >= 1 << 16:
        flags, code = WIDE, "I"
    steps = [after - before for before, after in pairwise((0, *stamps))]
    body = struct.pack(f"<{count}{code}{count}q{count}d", *series, *steps, *values)
    if arrivals != stamps:
        flags |= DELAYED
        delays = [came - at for came, at in zip(arrivals, stamps, strict=True)]
        body += struct.pack(f"<{count}q", *delays)
    shorter = zlib.compress(body, 1)
    if len(shorter) < len(body):
        flags, body = flags | COMPRESSED, shorter
    return bytes([flags]) + body


def unpack_entries(data: bytes) -> Iterator[Entry]:
    """Return what :func:`pack_entries` was given.

    Raises:
        ValueError: these are no such bytes.
    """
    try:
        flags, body = data[0], data[1:]
        if flags & COMPRESSED:
            body = zlib.decompress(body)
        code, width = ("I", 20) if flags & WIDE else ("H", 18)
        delayed = bool(flags & DELAYED)
        count = len(body) // (width + 8 * delayed)
        form = f"<{count}{code}{count}q{count}d" + (f"{count}q" if delayed else "")
        numbers = struct.unpack(form, body)
    except (IndexError, struct.error, zlib.error) as exc:
        raise ValueError(f"no packed readings: {exc}") from exc
    series, steps, values = numbers[:count], numbers[count : 2 * count], numbers[2 * count :]
    stamps = list(accumulate(steps))
    if delayed:
        arrivals = [at + late for at, late in zip(stamps, values[count:], strict=True)]
        return map(Entry, series, stamps, values, arrivals)
    return map(Entry, series, stamps, values, stamps)


def pack_marks(marks: Iterable[Mark]) -> bytes:
    """Return marks of messages as bytes, 6 each.

    >>> unpack_marks(pack_marks([Mark(3, 0xDEADBEEF)]))
    [Mark(packet=3, fingerprint=3735928559)]
    """
    return b"".join(_MARK.pack(*mark) for mark in marks)


def unpack_marks(data: bytes) -> list[Mark]:
    """Return what :func:`pack_marks` was given.

    Raises:
        ValueError: these are no such bytes.
    """
    try:
        return [Mark(*pair) for pair in _MARK.iter_unpack(data)]
    except struct.error as exc:
        raise ValueError(f"no packed marks: {exc}") from exc
