"""Compiled rules: frozen, picklable records of data only; aggregators by name.

Times are integer nanoseconds.  The meaning of each field is that of the configuration
key of the same name; see docs/configuration.md.
"""

import hashlib
from dataclasses import dataclass, field
from typing import Literal

from hushd.core.readings import SECOND, Labels

Severity = Literal["info", "warning", "critical"]
SEVERITIES: tuple[Severity, ...] = ("info", "warning", "critical")
Comparison = Literal["above", "below", "at_least", "at_most", "outside", "inside"]
Bound = float | tuple[float, float]  # a pair for `outside` and `inside`

DAY = 86_400 * SECOND


@dataclass(frozen=True, slots=True)
class Sensor:
    """What the engine must know of a sensor; decoding is not its business."""

    name: str
    labels: tuple[str, ...] = ()  # every label its series carry
    unit: str = ""
    lateness: int = 0
    future: int = 5 * SECOND
    duplicates: Literal["drop", "keep", "last", "max"] = "drop"
    interval: int | None = None  # learned when None
    hold: int | None = None  # 1.5 x interval when None
    expect: tuple[Labels, ...] = ()


@dataclass(frozen=True, slots=True)
class Measure:
    """An aggregator by name, with its argument if it takes one."""

    name: str
    argument: float | None = None

    def __str__(self) -> str:
        """Return it as the configuration writes it."""
        return self.name if self.argument is None else f"{{{self.name}: {self.argument:g}}}"


@dataclass(frozen=True, slots=True)
class Over:
    """The window: a span of time or a number of readings; neither is the last reading."""

    span: int | None = None
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Limit:
    """Raised when the comparison with *limit* holds, cleared when that with *clear* does not."""

    severity: Severity
    comparison: Comparison
    limit: Bound
    clear: Bound | None = None  # the limit itself when None
    wait: int = 0  # `for`
    clear_wait: int = 0  # `clear_for`


@dataclass(frozen=True, slots=True)
class NoData:
    """When silence is told.  *after* None: max(3 x interval, 5 min), once that is known."""

    after: int | None = None
    severity: Severity = "warning"
    level: Literal["keep", "clear"] = "keep"
    notify: tuple[str, ...] | None = None  # the rule's own when None


#: Per severity, the notifiers named there; each hears of that severity and everything worse.
Notify = tuple[tuple[Severity, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """Watch + each + measure + over + limits."""

    name: str
    sensor: str
    each: tuple[str, ...]  # sorted
    measure: Measure
    over: Over
    limits: tuple[Limit, ...]  # mildest severity first
    where: tuple[tuple[str, tuple[str, ...]], ...] = ()  # label -> the values let in; sorted
    about: str = ""
    min_samples: int = 1
    min_coverage: float = 0.5
    no_data: NoData | None = field(default_factory=NoData)  # None: ignore
    notify: Notify = ()

    @property
    def identity(self) -> tuple[object, ...]:
        """What must stay the same for an alert to keep its state over a reload."""
        return (self.name, self.sensor, self.where, self.each, self.measure)


@dataclass(frozen=True, slots=True)
class Rules:
    """All that the engine runs."""

    sensors: tuple[Sensor, ...]
    rules: tuple[Rule, ...]
    series: int = 10_000  # `limits.series`
    alerts_per_rule: int = 10_000
    forget: int = 7 * DAY  # series that nobody expects, silent and ok for that long

    @property
    def fingerprint(self) -> str:
        """Return 16 hex digits that differ when anything differs."""
        return hashlib.blake2b(repr(self).encode(), digest_size=8).hexdigest()
