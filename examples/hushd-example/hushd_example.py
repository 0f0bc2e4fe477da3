"""The crest factor: the highest peak over the root mean square."""

from math import sqrt

from hushd.plugin import Aggregation, Aggregator, hookimpl

CREST = Aggregation(
    empty=lambda: (0, 0.0, 0.0),  # readings, highest peak, sum of squares
    unit=lambda value: (1, abs(value), value * value),
    combine=lambda a, b: (a[0] + b[0], max(a[1], b[1]), a[2] + b[2]),
    finalize=lambda p: p[1] / sqrt(p[2] / p[0]) if p[2] else None,
)


@hookimpl
def hushd_aggregators():
    yield Aggregator("crest", CREST, "highest peak over root mean square", unit="")
