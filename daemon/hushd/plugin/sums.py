"""Aggregations that add up: to use as they are, or to build on with ``of`` and ``then``.

Sums of values are compensated: beside the rounded total a partial carries what rounding
lost (Knuth's TwoSum), so ``0.1 + 1e17 - 1e17`` is 0.1.  Nothing is ever subtracted when
a reading leaves, so an infinity or a NaN leaves no trace either.  Partials are plain
tuples, not named ones: they are made once per reading, and a named one costs five times
as much.
"""

from collections.abc import Callable, Sequence
from math import fsum
from operator import add
from typing import Any

from hushd.core.aggregation import Aggregation

Total = tuple[int, float, float]  # readings, rounded total, what rounding lost
Weighted = tuple[float, float]  # seconds, total of value x seconds

COUNT: Aggregation[int] = Aggregation(
    empty=int,
    unit=lambda _value: 1,
    combine=add,
    finalize=int,
    absorb=lambda partial, _value: partial + 1,
    scan=lambda values: list(range(1, len(values) + 1)),
)


def _combine(a: Total, b: Total) -> Total:
    """Return the total of both.

    Source:
        Knuth, The Art of Computer Programming 2, 4.2.2, theorem B (TwoSum).
    """
    _, older, _ = a
    _, younger, _ = b
    total = older + younger
    if total - total != 0.0:  # infinite or NaN: inf - inf would make the compensation NaN
        return a[0] + b[0], total, 0.0
    part = total - older
    return a[0] + b[0], total, a[2] + b[2] + (older - (total - part)) + (younger - part)


def _absorb(partial: Total, value: float) -> Total:
    n, older, lost = partial
    total = older + value
    if total - total != 0.0:
        return n + 1, total, 0.0
    part = total - older
    return n + 1, total, lost + (older - (total - part)) + (value - part)


def _scan(values: Sequence[float]) -> list[Total]:
    partials = []
    total = lost = 0.0
    for n, value in enumerate(reversed(values), 1):
        younger, total = total, value + total
        if total - total != 0.0:
            lost = 0.0
        else:
            part = total - value
            lost += (value - (total - part)) + (younger - part)
        partials.append((n, total, lost))
    return partials


def _sum(front: Total, middle: Total, back: Total) -> float | None:
    """Return the sum over three neighbours, added up exactly and rounded once."""
    n, older, older_lost = front
    m, total, lost = middle
    k, younger, younger_lost = back
    if not (n or m or k):
        return None
    try:
        return fsum((older, older_lost, total, lost, younger, younger_lost))
    except (OverflowError, ValueError):  # too big, or inf - inf
        return older + total + younger


def _mean(front: Total, middle: Total, back: Total) -> float | None:
    total = _sum(front, middle, back)
    return None if total is None else total / (front[0] + middle[0] + back[0])


def _total(finalize: Callable[[Total], Any], result: Callable[..., Any]) -> Aggregation[Total]:
    return Aggregation(
        empty=lambda: (0, 0.0, 0.0),
        unit=lambda value: (1, value, 0.0),
        combine=_combine,
        finalize=finalize,
        absorb=_absorb,
        scan=_scan,
        result=result,
    )


SUM = _total(lambda partial: partial[1] + partial[2] if partial[0] else None, _sum)

MEAN = _total(lambda partial: (partial[1] + partial[2]) / partial[0] if partial[0] else None, _mean)


def weighted_mean(change: Callable[[float], float]) -> Aggregation[Weighted]:
    """Return the mean of ``change(value)``, each reading weighing the seconds it stands for.

    For an :class:`Aggregator` with ``wants="seconds"``.  None when no time is covered.
    The sum is not compensated: its error is below ``n * 2**-53`` of the sum of magnitudes,
    under a millionth of a decibel for a day of 10 readings a second.

    >>> mean = weighted_mean(float)
    >>> mean.finalize(mean.combine(mean.unit(50.0, 59.0), mean.unit(90.0, 1.0)))
    50.666666666666664
    """

    def unit(value: float, seconds: float) -> Weighted:
        # without the test an infinite value of no duration would be NaN
        return (seconds, change(value) * seconds) if seconds > 0.0 else (0.0, 0.0)

    def combine(a: Weighted, b: Weighted) -> Weighted:
        return a[0] + b[0], a[1] + b[1]

    def absorb(partial: Weighted, value: float, seconds: float) -> Weighted:
        if seconds > 0.0:
            return partial[0] + seconds, partial[1] + change(value) * seconds
        return partial

    def scan(values: Sequence[float], weights: Sequence[float]) -> list[Weighted]:
        partials = []
        covered = total = 0.0
        for value, seconds in zip(reversed(values), reversed(weights), strict=True):
            if seconds > 0.0:
                covered += seconds
                total += change(value) * seconds
            partials.append((covered, total))
        return partials

    def finalize(partial: Weighted) -> float | None:
        covered, total = partial
        return total / covered if covered > 0.0 else None

    def result(front: Weighted, middle: Weighted, back: Weighted) -> float | None:
        covered = front[0] + middle[0] + back[0]
        return (front[1] + middle[1] + back[1]) / covered if covered > 0.0 else None

    return Aggregation(lambda: (0.0, 0.0), unit, combine, finalize, absorb, result, scan)
