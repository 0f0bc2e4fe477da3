"""What the installed plugins offer, and what did not load and why."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Literal, NamedTuple

from hushd.core.aggregation import Aggregator
from hushd.plugin.records import Decoder, NotifierType

Kind = Literal["aggregator", "decoder", "notifier"]
Record = Aggregator | Decoder | NotifierType
State = Literal["loaded", "disabled", "broken"]


class Broken(NamedTuple):
    """A plugin, or one record of it, that cannot be used."""

    label: str  # "rms (hushd-rms 0.3)"
    reason: str  # "ModuleNotFoundError: No module named 'numpy'"


class Plugin(NamedTuple):
    """A row of ``hushd plugins``."""

    label: str
    where: str  # the module, or the path of a drop-in file
    state: State  # broken: it offers nothing
    offers: tuple[str, ...] = ()  # "aggregator rms", in the plugin's order


@dataclass(frozen=True, slots=True)
class Catalog:
    """The records that a configuration may name, by kind and name."""

    aggregators: Mapping[str, Aggregator] = field(default_factory=dict)
    decoders: Mapping[str, Decoder] = field(default_factory=dict)
    notifiers: Mapping[str, NotifierType] = field(default_factory=dict)
    #: name of a record -> label of its plugin; where two kinds share a name, both labels
    sources: Mapping[str, str] = field(default_factory=dict)
    broken: tuple[Broken, ...] = ()
    plugins: tuple[Plugin, ...] = ()

    def named(self, kind: Kind) -> Mapping[str, Record]:
        """Return the records of one *kind* by name."""
        shelves: dict[Kind, Mapping[str, Record]] = {
            "aggregator": self.aggregators,
            "decoder": self.decoders,
            "notifier": self.notifiers,
        }
        return shelves[kind]

    def hint(self, kind: Kind, name: str) -> list[str]:
        """Return the ways out, one a line, for a *name* that is not in the catalog.

        >>> Catalog(aggregators={"median": None, "mean": None}).hint("aggregator", "medain")
        ['did you mean "median"?']
        >>> rms = Broken("rms (hushd-rms 0.3)", "ModuleNotFoundError: No module named 'numpy'")
        >>> for line in Catalog(aggregators={"min": None}, broken=(rms,)).hint("aggregator", "rms"):
        ...     print(line)
        known: min
        plugin rms (hushd-rms 0.3) did not load: ModuleNotFoundError: No module named 'numpy'
        """
        known = sorted(self.named(kind))
        close = get_close_matches(name, known, n=1)
        if close:
            hints = [f'did you mean "{close[0]}"?']
        else:
            hints = [f"known: {', '.join(known)}" if known else f"no plugin offers any {kind}"]
        return hints + [
            f"plugin {label} did not load: {reason}"
            for label, reason in self.broken
            if not close or name in label
        ]
