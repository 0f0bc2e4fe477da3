"""The three hooks by which a plugin offers what it has.

Each is called once, at start-up, and returns records; pluggy is never on the hot path.
"""

from collections.abc import Iterable

from pluggy import HookimplMarker, HookspecMarker

from hushd.core.aggregation import Aggregator
from hushd.plugin.records import Decoder, NotifierType

PROJECT = "hushd"

hookspec = HookspecMarker(PROJECT)
hookimpl = HookimplMarker(PROJECT)


@hookspec
def hushd_aggregators() -> Iterable[Aggregator]:
    """Offer aggregates that rules may name as ``measure``.

    Called once, at start-up.  Names must be unique across all plugins.

    >>> from hushd.plugin import Aggregation, Aggregator, hookimpl
    >>> newest = Aggregation(lambda: None, float, lambda a, b: a if b is None else b, lambda p: p)
    >>> @hookimpl
    ... def hushd_aggregators():
    ...     yield Aggregator("newest", newest, "the newest reading")
    >>> [aggregator.name for aggregator in hushd_aggregators()]
    ['newest']
    """
    return ()


@hookspec
def hushd_decoders() -> Iterable[Decoder]:
    """Offer payload formats that sensors may name as ``value``.

    Called once, at start-up.  Names must be unique across all plugins.

    >>> from hushd.plugin import Decoder, Sample, hookimpl
    >>> def first_byte(wanted):
    ...     return lambda payload: [Sample(float(byte)) for byte in payload[:1]]
    >>> @hookimpl
    ... def hushd_decoders():
    ...     yield Decoder("first_byte", "the first byte as a number", first_byte)
    >>> [decoder.name for decoder in hushd_decoders()]
    ['first_byte']
    """
    return ()


@hookspec
def hushd_notifiers() -> Iterable[NotifierType]:
    """Offer ways to tell people that notifiers may name as ``type``.

    Called once, at start-up.  Names must be unique across all plugins.

    >>> from hushd.plugin import NotifierType, hookimpl
    >>> class Printer:
    ...     def send(self, note):
    ...         print(note.title)
    ...     def close(self):
    ...         pass
    >>> @hookimpl
    ... def hushd_notifiers():
    ...     yield NotifierType("print", "to standard output", lambda options, context: Printer())
    >>> [notifier.name for notifier in hushd_notifiers()]
    ['print']
    """
    return ()
