"""The sample variance, by merging moments.

Two sums of squares are never subtracted: ``sum(x*x) - n*mean**2`` of 1e9, 1e9+1, 1e9+2 is
anything but 2.  Nor is a reading taken out again: what leaves leaves no residue.

Moments are plain tuples, not named ones: they are made once per reading, and a named one
costs five times as much.
"""

from collections.abc import Sequence

from hushd.plugin import Aggregation

Moments = tuple[int, float, float]  # readings, mean, sum of squared deviations from it

ENOUGH = 2  # readings: one alone says nothing about the spread


def _combine(a: Moments, b: Moments) -> Moments:
    """Return the moments of two disjoint sets of readings taken together.

    Source:
        Chan, Golub & LeVeque, "Algorithms for computing the sample variance",
        The American Statistician 37(3), 1983, pp. 242-247.
    """
    older, mean, squares = a
    younger, other_mean, other_squares = b
    if not younger:
        return a
    if not older:
        return b
    n = older + younger
    delta = other_mean - mean
    return (
        n,
        mean + delta * younger / n,
        squares + other_squares + delta * delta * older * younger / n,
    )


def _absorb(partial: Moments, value: float) -> Moments:
    n, mean, squares = partial
    if not n:
        return 1, value, 0.0
    n += 1
    delta = value - mean
    mean += delta / n
    return n, mean, squares + delta * (value - mean)


def _scan(values: Sequence[float]) -> list[Moments]:
    partials = []
    mean, squares = (values[-1], 0.0) if values else (0.0, 0.0)
    for n, value in enumerate(reversed(values), 1):
        delta = value - mean
        mean += delta / n
        squares += delta * (value - mean)
        partials.append((n, mean, squares))
    return partials


def _variance(partial: Moments) -> float | None:
    n, _, squares = partial
    return None if n < ENOUGH else squares / (n - 1)


def _result(front: Moments, middle: Moments, back: Moments) -> float | None:
    n, mean, squares = front
    if not n:
        return _variance(_combine(middle, back))
    younger, other_mean, other_squares = middle
    if younger:
        delta = other_mean - mean
        both = n + younger
        mean += delta * younger / both
        squares += other_squares + delta * delta * n * younger / both
        n = both
    younger, other_mean, other_squares = back
    if younger:
        delta = other_mean - mean
        both = n + younger
        squares += other_squares + delta * delta * n * younger / both
        n = both
    return None if n < ENOUGH else squares / (n - 1)


VARIANCE: Aggregation[Moments] = Aggregation(
    empty=lambda: (0, 0.0, 0.0),
    unit=lambda value: (1, value, 0.0),
    combine=_combine,
    finalize=_variance,
    absorb=_absorb,
    scan=_scan,
    result=_result,
)
