"""How fast the readings change: between the two ends, and over all of them.

Partials are plain tuples: they are made once per reading, and a named one costs five
times as much.
"""

from hushd.plugin import Aggregation

SECOND = 1_000_000_000  # times are integer nanoseconds since the epoch

#: time and value of the oldest reading, time and value of the newest
Ends = tuple[int, float, int, float]


def _rate(ends: Ends | None) -> float | None:
    if ends is None:
        return None
    began, first, ended, last = ends
    return (last - first) / ((ended - began) / SECOND) if ended > began else None


def _join(a: Ends | None, b: Ends | None) -> Ends | None:
    if a is None or b is None:
        return a if b is None else b
    return a[0], a[1], b[2], b[3]


#: None below two readings, and where all share one instant.
RATE: Aggregation[Ends | None] = Aggregation(
    empty=lambda: None,
    unit=lambda value, at: (at, value, at, value),
    combine=_join,
    finalize=_rate,
    absorb=lambda ends, value, at: (
        (at, value, at, value) if ends is None else (ends[0], ends[1], at, value)
    ),
)


#: What a least-squares line must know of its readings: how many, an origin (ns since the
#: epoch, a time of one of them), mean time (seconds after the origin) and value, sum of
#: squared deviations of time, sum of products of both deviations.  The origin is exact, so
#: that a stamp since the epoch (19 digits) never meets a float (16 digits).
Line = tuple[int, int, float, float, float, float]


def _merge(a: Line, b: Line) -> Line:
    """Return the line of both; never subtracts two large sums.

    Source:
        Chan, Golub & LeVeque, "Algorithms for computing the sample variance", The
        American Statistician 37(3), 1983, pp. 242-247, with the product of two deviations
        in place of the square of one.
    """
    older, origin, time, value, spread, shared = a
    younger, other_origin, other_time, other_value, other_spread, other_shared = b
    if not younger:
        return a
    if not older:
        return b
    n = older + younger
    later = (other_origin - origin) / SECOND + other_time - time
    higher = other_value - value
    share = younger / n
    weight = later * older * share
    return (
        n,
        origin,
        time + later * share,
        value + higher * share,
        spread + other_spread + later * weight,
        shared + other_shared + higher * weight,
    )


def _slope(line: Line) -> float | None:
    spread, shared = line[4:]
    return shared / spread if spread > 0.0 else None


#: None below two readings, and where all share one instant.
SLOPE: Aggregation[Line] = Aggregation(
    empty=lambda: (0, 0, 0.0, 0.0, 0.0, 0.0),
    unit=lambda value, at: (1, at, 0.0, value, 0.0, 0.0),
    combine=_merge,
    finalize=_slope,
)
