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
class Days:
    """Which dates: weekdays (0 is Monday) and holidays, less those that are excepted."""

    weekdays: tuple[int, ...] = (0, 1, 2, 3, 4, 5, 6)
    holidays: bool = False
    but: tuple[int, ...] = ()  # weekdays
    but_holidays: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """From one civil time to another, on some days; one that crosses midnight is its first day's."""

    start: int = 0  # minutes after midnight
    end: int = 1440  # likewise; at or before *start*: on the next day
    days: Days = Days()
    zone: str = "UTC"


@dataclass(frozen=True, slots=True)
class Schedule:
    """When something is so: whenever one of the spans is."""

    name: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class During:
    """A schedule by name, or all the time but that."""

    schedule: str
    inverted: bool = False

    def __str__(self) -> str:
        """Return it as the configuration writes it."""
        return f"not {self.schedule}" if self.inverted else self.schedule


@dataclass(frozen=True, slots=True)
class Regime:
    """The limits that count during a schedule; the first of a rule's that is on counts alone."""

    during: During | None  # None: otherwise
    limits: tuple[Limit, ...]  # mildest severity first


@dataclass(frozen=True, slots=True)
class Input:
    """A window that a rule looks at beside, or instead of, its own."""

    sensor: str
    measure: Measure
    over: Over
    where: tuple[tuple[str, tuple[str, ...]], ...] = ()
    min_samples: int = 1
    min_coverage: float = 0.5


@dataclass(frozen=True, slots=True)
class Leaf:
    """One condition of several: a window, less another where there is one, and its limit."""

    input: Input
    limit: Limit  # its severity and delays do not count: those are the rule's
    less: Input | None = None  # `relative_to`


@dataclass(frozen=True, slots=True)
class Flapping:
    """Too many changes of level: people hear that, and then nothing until it is over."""

    changes: int
    within: int


@dataclass(frozen=True, slots=True)
class Rate:
    """At most so many messages in so long."""

    number: int
    span: int


@dataclass(frozen=True, slots=True)
class Manner:
    """How one notifier wants to be told, whatever its type."""

    every: bool = False  # each transition in order, not only what is news
    quiet: During | None = None  # when it wants to hear nothing
    quiet_except: Severity | None = None  # but that, and worse
    quiet_summary: bool = False  # and afterwards what came and went meanwhile
    clears: bool = True  # wants to hear that something is over
    rate: Rate | None = None
    batch: int = 0  # how long to wait for more, to tell it in one message
    give_up_after: int = DAY
    fallback: str | None = None  # the notifier that is told once this one was given up
    refresh: int = 0  # how often the other side must be told again what is still on; 0: never


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
    """Watch + each + measure + over + limits; one of several conditions has `leaves` instead."""

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
    during: During | None = None  # None: always
    fresh_window: bool = False
    regimes: tuple[Regime, ...] = ()  # instead of `limits`, which then is empty
    relative_to: Input | None = None
    join: Literal["", "all", "any"] = ""  # how `leaves` make one condition
    leaves: tuple[Leaf, ...] = ()  # instead of sensor, where, measure and over
    repeat: tuple[int, ...] = ()  # pauses; the last goes on; none: never
    cooldown: int = 0
    flapping: Flapping | None = None
    mute_while: tuple[str, ...] = ()

    @property
    def choices(self) -> tuple[Regime, ...]:
        """The limits by schedule; of a rule that has none, those that always count."""
        return self.regimes or (Regime(None, self.limits),)

    @property
    def inputs(self) -> tuple[Input, ...]:
        """All windows that it looks at."""
        if self.leaves:
            pairs = ((leaf.input, leaf.less) for leaf in self.leaves)
            return tuple(found for pair in pairs for found in pair if found is not None)
        own = Input(
            self.sensor, self.measure, self.over, self.where, self.min_samples, self.min_coverage
        )
        return (own,) if self.relative_to is None else (own, self.relative_to)

    @property
    def sensors(self) -> tuple[str, ...]:
        """All sensors that it looks at, each once."""
        return tuple(dict.fromkeys(found.sensor for found in self.inputs))

    @property
    def identity(self) -> tuple[object, ...]:
        """What must stay the same for an alert to keep its state over a reload."""
        own = (self.name, self.sensor, self.where, self.each, self.measure)
        if not (self.leaves or self.relative_to):
            return own
        others = ((x.sensor, x.where, x.measure) for x in self.inputs)
        return (*own, self.join, *others)


@dataclass(frozen=True, slots=True)
class Rules:
    """All that the engine runs."""

    sensors: tuple[Sensor, ...]
    rules: tuple[Rule, ...]
    series: int = 10_000  # `limits.series`
    alerts_per_rule: int = 10_000
    forget: int = 7 * DAY  # series that nobody expects, silent and ok for that long
    schedules: tuple[Schedule, ...] = ()
    holidays: tuple[str, ...] = ()  # ISO dates

    @property
    def calendar(self) -> str:
        """Return 16 hex digits that differ when any schedule or holiday differs."""
        return _digest((self.schedules, self.holidays))

    @property
    def fingerprint(self) -> str:
        """Return 16 hex digits that differ when anything differs."""
        return _digest(self)


def _digest(thing: object) -> str:
    return hashlib.blake2b(repr(thing).encode(), digest_size=8).hexdigest()
