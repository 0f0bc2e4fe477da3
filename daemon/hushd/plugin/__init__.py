"""The public API: all that a plugin may import.

To offer an aggregate, a payload format or a way to tell people, implement one of the three
hooks of :mod:`hushd.plugin.hookspecs`; ``docs/plugins.md`` shows how in three steps.
"""

from hushd.core.aggregation import (
    Aggregation,
    Aggregator,
    How,
    IndexFactory,
    Parameter,
    Wants,
    WindowIndex,
)
from hushd.core.heap_median import HeapMedian
from hushd.core.median_index import MedianIndex
from hushd.core.order_index import OrderIndex
from hushd.plugin.catalog import Broken, Catalog, Plugin
from hushd.plugin.hookspecs import hookimpl
from hushd.plugin.loading import load
from hushd.plugin.records import (
    Context,
    Decode,
    Decoder,
    Fault,
    Note,
    Notifier,
    NotifierType,
    NotSentError,
    Option,
    Publish,
    Refused,
    RefusedError,
    Sample,
    Wanted,
)
from hushd.plugin.sums import COUNT, MEAN, SUM, weighted_mean

__all__ = [
    "COUNT",
    "MEAN",
    "SUM",
    "Aggregation",
    "Aggregator",
    "Broken",
    "Catalog",
    "Context",
    "Decode",
    "Decoder",
    "Fault",
    "HeapMedian",
    "How",
    "IndexFactory",
    "MedianIndex",
    "NotSentError",
    "Note",
    "Notifier",
    "NotifierType",
    "Option",
    "OrderIndex",
    "Parameter",
    "Plugin",
    "Publish",
    "Refused",
    "RefusedError",
    "Sample",
    "Wanted",
    "Wants",
    "WindowIndex",
    "hookimpl",
    "load",
    "weighted_mean",
]
