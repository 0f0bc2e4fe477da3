"""Aggregates of sound levels, and of how long or how often a limit is passed."""

from collections.abc import Iterator

from hushd.plugin import Aggregator, Parameter, hookimpl, weighted_mean
from hushd_acoustics.above import count_above, share_above, time_above
from hushd_acoustics.exceeded import exceeded
from hushd_acoustics.leq import LEQ

LIMIT = "the sensor's unit"


@hookimpl
def hushd_aggregators() -> Iterator[Aggregator]:
    """Offer the aggregates of this plugin."""
    yield Aggregator(
        "leq",
        LEQ,
        "the energy mean of levels over time",
        wants="seconds",
        phrase="the energy average of {window}",
    )
    yield Aggregator(
        "time_mean",
        weighted_mean(float),
        "the arithmetic mean over time",
        wants="seconds",
        energy=False,
        phrase="the average over time of {window}",
    )
    yield Aggregator(
        "ln",
        exceeded,
        "the level exceeded n % of the time; L90 is the background",
        parameter=Parameter("n", 0, 100, "%"),
        phrase="the level exceeded {x} % of {window}",
    )
    yield Aggregator(
        "time_above",
        time_above,
        "how long the readings were above x",
        unit="s",
        empty=0,
        parameter=Parameter("x", unit=LIMIT),
        wants="seconds",
        always=True,
        phrase="the time above {x} {unit} in {window}",
    )
    yield Aggregator(
        "count_above",
        count_above,
        "how many readings were above x",
        unit="",
        empty=0,
        parameter=Parameter("x", unit=LIMIT),
        always=True,
        phrase="the number of readings above {x} {unit} in {window}",
    )
    yield Aggregator(
        "share_above",
        share_above,
        "the share of the time above x, from 0 to 1",
        unit="",
        parameter=Parameter("x", unit=LIMIT),
        wants="seconds",
        phrase="the share, from 0 to 1, of the time above {x} {unit} in {window}",
    )
