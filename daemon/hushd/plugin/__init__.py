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
from hushd.plugin.catalog import Broken, Catalog, Plugin
from hushd.plugin.hookspecs import hookimpl
from hushd.plugin.loading import load
from hushd.plugin.records import (
    Context,
    Decode,
    Decoder,
    Note,
    Notifier,
    NotifierType,
    Option,
    Refused,
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
    "How",
    "IndexFactory",
    "Note",
    "Notifier",
    "NotifierType",
    "Option",
    "Parameter",
    "Plugin",
    "Refused",
    "Sample",
    "Wanted",
    "Wants",
    "WindowIndex",
    "hookimpl",
    "load",
    "weighted_mean",
]
