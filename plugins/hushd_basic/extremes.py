"""The highest and the lowest reading, and the distance between them.

The built-in ``max`` is not associative where a NaN is: ``max(1, nan)`` is 1 and
``max(nan, 1)`` is NaN, so the answer would depend on how the window was cut into parts.
Here a NaN in the window makes the result NaN, until it leaves.

Infinity stands for "no reading yet": readings are finite.
"""

from collections.abc import Sequence
from math import inf, nan

from hushd.plugin import Aggregation

Span = tuple[float, float]  # lowest, highest


def _higher(a: float, b: float) -> float:
    if a >= b:
        return a
    return b if b > a else nan


def _lower(a: float, b: float) -> float:
    if a <= b:
        return a
    return b if b < a else nan


def _finite_highest(partial: float) -> float | None:
    return None if partial == -inf else partial


def _finite_lowest(partial: float) -> float | None:
    return None if partial == inf else partial


def _highest(front: float, middle: float, back: float) -> float | None:
    if front >= middle:
        highest = front
    elif middle > front:
        highest = middle
    else:
        return nan
    if back > highest:
        return back
    return _finite_highest(highest) if highest >= back else nan


def _lowest(front: float, middle: float, back: float) -> float | None:
    if front <= middle:
        lowest = front
    elif middle < front:
        lowest = middle
    else:
        return nan
    if back < lowest:
        return back
    return _finite_lowest(lowest) if lowest <= back else nan


def _scan_max(values: Sequence[float]) -> list[float]:
    highest = -inf
    partials = []
    for value in reversed(values):
        if not highest >= value:
            highest = value if value > highest else nan
        partials.append(highest)
    return partials


def _scan_min(values: Sequence[float]) -> list[float]:
    lowest = inf
    partials = []
    for value in reversed(values):
        if not lowest <= value:
            lowest = value if value < lowest else nan
        partials.append(lowest)
    return partials


MAX: Aggregation[float] = Aggregation(
    empty=lambda: -inf,
    unit=lambda value: value,
    combine=_higher,
    finalize=_finite_highest,
    absorb=_higher,
    scan=_scan_max,
    result=_highest,
)

MIN: Aggregation[float] = Aggregation(
    empty=lambda: inf,
    unit=lambda value: value,
    combine=_lower,
    finalize=_finite_lowest,
    absorb=_lower,
    scan=_scan_min,
    result=_lowest,
)


def _distance(partial: Span) -> float | None:
    lowest, highest = partial
    return None if lowest == inf else highest - lowest


RANGE: Aggregation[Span] = Aggregation(
    empty=lambda: (inf, -inf),
    unit=lambda value: (value, value),
    combine=lambda a, b: (_lower(a[0], b[0]), _higher(a[1], b[1])),
    finalize=_distance,
    absorb=lambda partial, value: (_lower(partial[0], value), _higher(partial[1], value)),
    scan=lambda values: list(zip(_scan_min(values), _scan_max(values), strict=True)),
)
