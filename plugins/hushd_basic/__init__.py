"""The everyday aggregates: how many, how much, how high, how fast."""

from collections.abc import Iterator

from hushd.plugin import COUNT, MEAN, SUM, Aggregator, hookimpl
from hushd_basic.ends import FIRST, LAST
from hushd_basic.extremes import MAX, MIN, RANGE
from hushd_basic.trend import RATE, SLOPE


@hookimpl
def hushd_aggregators() -> Iterator[Aggregator]:
    """Offer the aggregates of this plugin."""
    yield Aggregator(
        "count",
        COUNT,
        "how many readings",
        unit="",
        empty=0,
        always=True,
        phrase="the number of readings in {window}",
    )
    yield Aggregator("sum", SUM, "the sum", energy=False, phrase="the sum of {window}")
    yield Aggregator(
        "mean", MEAN, "the arithmetic mean", energy=False, phrase="the average of {window}"
    )
    yield Aggregator("min", MIN, "the lowest reading", phrase="the lowest reading of {window}")
    yield Aggregator("max", MAX, "the highest reading", phrase="the highest reading of {window}")
    yield Aggregator(
        "range", RANGE, "highest less lowest", phrase="the range, highest less lowest, of {window}"
    )
    yield Aggregator("first", FIRST, "the oldest reading", phrase="the oldest reading of {window}")
    yield Aggregator("last", LAST, "the newest reading", phrase="the newest reading of {window}")
    yield Aggregator(
        "rate",
        RATE,
        "last less first, per second between them",
        unit="{unit}/s",
        wants="time",
        phrase="the change per second, from first to last, of {window}",
    )
    yield Aggregator(
        "slope",
        SLOPE,
        "the least-squares trend per second",
        unit="{unit}/s",
        wants="time",
        phrase="the trend per second of {window}",
    )
