"""Aggregates by rank: the reading in the middle, and any percentile.

They are not associative, so no two-stack core can slide them; the order of the window is
kept in an index of the core.
"""

from collections.abc import Iterator
from functools import partial

from hushd.plugin import Aggregator, IndexFactory, MedianIndex, OrderIndex, Parameter, hookimpl


def percentile(p: float) -> IndexFactory:
    """Return an index of the percentile *p*, interpolated (R7, as NumPy and Excel have it)."""
    return partial(OrderIndex, p)


@hookimpl
def hushd_aggregators() -> Iterator[Aggregator]:
    """Offer the aggregates of this plugin."""
    yield Aggregator(
        "median",
        MedianIndex,
        "the reading in the middle; of two, the lower",
        phrase="the median of {window}",
    )
    yield Aggregator(
        "percentile",
        percentile,
        "p % of the readings are at or below it, interpolated",
        parameter=Parameter("p", 0, 100, "%"),
        phrase="the value that {x} % of the readings in {window} stay at or below",
    )
