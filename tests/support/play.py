"""Rules in a few words, and engines that play a story: for the tests of the engine."""

from collections.abc import Iterable
from typing import Any

from hushd.core.engine import Engine
from hushd.core.readings import SECOND, Labels, Reading
from hushd.core.rules import (
    During,
    Limit,
    Measure,
    NoData,
    Over,
    Regime,
    Rule,
    Rules,
    Schedule,
    Sensor,
    Span,
)
from hushd.core.transitions import Transition
from hushd.plugin import load

AGGREGATORS = load().aggregators
S = SECOND


def limit(severity: str, comparison: str, bound: Any, clear: Any = None, **waits: float) -> Limit:
    """A limit; `wait` and `clear_wait` in seconds."""
    ns = {name: int(seconds * S) for name, seconds in waits.items()}
    return Limit(severity, comparison, bound, clear, **ns)  # type: ignore[arg-type]  # words from a table


def rule(*limits: Limit, **more: Any) -> Rule:
    """A rule that judges the last reading of each series, unless told otherwise."""
    measure = more.pop("measure", "last")
    argument = more.pop("argument", None)
    span = more.pop("span", None)
    after = more.pop("after", None)
    if "no_data" not in more:
        more["no_data"] = None if after is None else NoData(int(after * S))
    settings = {
        "name": "loud",
        "sensor": "noise",
        "each": ("room",),
        "over": Over(None if span is None else int(span * S), more.pop("count", None)),
        "min_coverage": 0.0,
        "notify": (("warning", ("phone",)),),
        **more,
    }
    return Rule(limits=limits, measure=Measure(measure, argument), **settings)


def rules(*of: Rule, **sensor: Any) -> Rules:
    """Rules over the sensor `noise`, with one label `room`; times in seconds."""
    times = {
        name: int(sensor.pop(name) * S)
        for name in ("lateness", "future", "interval", "hold")
        if sensor.get(name) is not None
    }
    more = {
        name: sensor.pop(name)
        for name in ("series", "alerts_per_rule", "forget", "schedules", "holidays")
        if name in sensor
    }
    noise = Sensor("noise", **{"labels": ("room",), "unit": "dBA", **sensor, **times})
    return Rules((noise,), of, **more)


def between(name: str, start: int, end: int) -> Schedule:
    """A schedule of every day, in UTC; from and to in minutes after midnight."""
    return Schedule(name, (Span(start, end),))


def regime(during: str, *limits: Limit) -> Regime:
    """Limits that count during a schedule, or `otherwise`."""
    return Regime(None if during == "otherwise" else During(during), limits)


def engine(of: Rules) -> Engine:
    """An engine with every installed aggregator."""
    return Engine(of, AGGREGATORS)


def at(seconds: float, value: float, room: str = "attic", arrived: float | None = None) -> Reading:
    """A reading of the sensor `noise`; times in seconds."""
    labels: Labels = (("room", room),)
    came = seconds if arrived is None else arrived
    return Reading("noise", labels, round(seconds * S), value, round(came * S))


def brief(transitions: Iterable[Transition]) -> list[tuple[Any, ...]]:
    """(second, event, severity) of each; the alert of a silent sensor as `no-data`."""
    return [
        (t.at / S, ("no-data " if t.rule.endswith("/no-data") else "") + t.event, t.severity)
        for t in transitions
    ]


def play(
    of: Rules, story: Iterable[Reading | float], until: float | None = None
) -> list[Transition]:
    """Process readings and, at bare seconds, let time pass; return all transitions."""
    playing = engine(of)
    told: list[Transition] = []
    for step in story:
        if isinstance(step, Reading):
            told += playing.process(step)
        else:
            told += playing.advance(round(step * S))
    if until is not None:
        told += playing.advance(round(until * S))
    elif playing.now is not None:
        told += playing.advance(playing.now)
    return told
