"""The everyday aggregates: how many, how much, how high, how fast."""

from collections.abc import Iterator

from hushd.plugin import COUNT, MEAN, SUM, Aggregator, hookimpl
from hushd_basic.ends import FIRST, LAST
from hushd_basic.extremes import MAX, MIN, RANGE
from hushd_basic.trend import RATE, SLOPE


@hookimpl
def hushd_aggregators() -> Iterator[Aggregator]:
    """Offer the aggregates of this plugin."""
    yield Aggregator("count", COUNT, "how many readings", unit="", empty=0, always=True)
    yield Aggregator("sum", SUM, "the sum", energy=False)
    yield Aggregator("mean", MEAN, "the arithmetic mean", energy=False)
    yield Aggregator("min", MIN, "the lowest reading")
    yield Aggregator("max", MAX, "the highest reading")
    yield Aggregator("range", RANGE, "highest less lowest")
    yield Aggregator("first", FIRST, "the oldest reading")
    yield Aggregator("last", LAST, "the newest reading")
    yield Aggregator(
        "rate", RATE, "last less first, per second between them", unit="{unit}/s", wants="time"
    )
    yield Aggregator(
        "slope", SLOPE, "the least-squares trend per second", unit="{unit}/s", wants="time"
    )
