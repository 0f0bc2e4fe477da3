"""How far the readings spread."""

from collections.abc import Iterator
from math import sqrt

from hushd.plugin import MEAN, Aggregator, hookimpl
from hushd_spread.moments import VARIANCE

STDDEV = VARIANCE.then(sqrt)
RMS = MEAN.of(lambda value: value * value).then(sqrt)


@hookimpl
def hushd_aggregators() -> Iterator[Aggregator]:
    """Offer the aggregates of this plugin."""
    yield Aggregator(
        "variance",
        VARIANCE,
        "the sample variance",
        unit="{unit}²",
        phrase="the variance of {window}",
    )
    yield Aggregator(
        "stddev",
        STDDEV,
        "the sample standard deviation",
        phrase="the standard deviation of {window}",
    )
    yield Aggregator(
        "rms",
        RMS,
        "the root mean square",
        energy=False,
        phrase="the effective value (RMS) of {window}",
    )
