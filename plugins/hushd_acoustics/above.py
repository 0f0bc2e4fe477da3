"""How long, how often and for what share of the time readings were above a limit.

Strictly above, as ``above`` is in a rule.
"""

from collections.abc import Sequence
from itertools import accumulate
from operator import add

from hushd.plugin import Aggregation, weighted_mean


def time_above(limit: float) -> Aggregation[float]:
    """Return the seconds for which readings were above *limit*."""
    return Aggregation(
        empty=float,
        unit=lambda value, seconds: seconds if value > limit else 0.0,
        combine=add,
        finalize=lambda partial: partial,
        absorb=lambda partial, value, seconds: partial + seconds if value > limit else partial,
    )


def count_above(limit: float) -> Aggregation[int]:
    """Return how many readings were above *limit*."""

    def scan(values: Sequence[float]) -> list[int]:
        return list(accumulate(int(value > limit) for value in reversed(values)))

    return Aggregation(
        empty=int,
        unit=lambda value: int(value > limit),
        combine=add,
        finalize=lambda partial: partial,
        absorb=lambda partial, value: partial + 1 if value > limit else partial,
        scan=scan,
    )


def share_above(limit: float) -> Aggregation[tuple[float, float]]:
    """Return the share of the covered time, from 0 to 1, in which readings were above *limit*."""
    return weighted_mean(lambda value: 1.0 if value > limit else 0.0)
