"""How fast the readings change: between the two ends, and over all of them."""

from typing import NamedTuple

from hushd.plugin import Aggregation

SECOND = 1_000_000_000  # times are integer nanoseconds since the epoch


class Ends(NamedTuple):
    """The oldest and the newest reading with their times."""

    began: int
    first: float
    ended: int
    last: float


def _rate(ends: Ends | None) -> float | None:
    if ends is None or ends.ended == ends.began:
        return None
    return (ends.last - ends.first) / ((ends.ended - ends.began) / SECOND)


def _join(a: Ends | None, b: Ends | None) -> Ends | None:
    if a is None or b is None:
        return a if b is None else b
    return Ends(a.began, a.first, b.ended, b.last)


#: None below two readings, and where all share one instant.
RATE: Aggregation[Ends | None] = Aggregation(
    empty=lambda: None,
    unit=lambda value, at: Ends(at, value, at, value),
    combine=_join,
    finalize=_rate,
    absorb=lambda ends, value, at: (
        Ends(at, value, at, value) if ends is None else Ends(ends.began, ends.first, at, value)
    ),
)


class Line(NamedTuple):
    """What a least-squares line must know of its readings.

    Seconds are counted from *origin*, an exact time of the same set, so that a stamp
    since the epoch (19 digits) never meets a float (16 digits).
    """

    n: int = 0
    origin: int = 0  # ns since the epoch
    time: float = 0.0  # mean, seconds after origin
    value: float = 0.0  # mean, reading's unit
    spread: float = 0.0  # sum of squared deviations of time
    shared: float = 0.0  # sum of products of both deviations


def _merge(a: Line, b: Line) -> Line:
    """Return the line of both; never subtracts two large sums.

    Source:
        Chan, Golub & LeVeque, "Algorithms for computing the sample variance", The
        American Statistician 37(3), 1983, pp. 242-247, with the product of two deviations
        in place of the square of one.
    """
    if not (a.n and b.n):
        return a if a.n else b
    n = a.n + b.n
    later = (b.origin - a.origin) / SECOND + b.time - a.time
    higher = b.value - a.value
    weight = a.n * b.n / n
    return Line(
        n,
        a.origin,
        a.time + later * b.n / n,
        a.value + higher * b.n / n,
        a.spread + b.spread + later * later * weight,
        a.shared + b.shared + later * higher * weight,
    )


#: None below two readings, and where all share one instant.
SLOPE: Aggregation[Line] = Aggregation(
    empty=Line,
    unit=lambda value, at: Line(1, at, 0.0, value),
    combine=_merge,
    finalize=lambda line: line.shared / line.spread if line.spread > 0.0 else None,
)
