"""Places: how the rules of a sensor pool its readings."""

import json
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from hushd.core.readings import Labels
from hushd.core.rules import Input, Measure, Over, Rule, Rules, Sensor
from hushd.core.times import format_duration

Where = tuple[tuple[str, tuple[str, ...]], ...]


class Place(NamedTuple):
    """Where readings of a sensor are pooled alike, and the rules that do so."""

    sensor: Sensor
    where: Where
    each: tuple[str, ...]
    fresh: tuple[str, ...]  # schedules at whose turns earlier readings are forgotten
    plans: tuple[Rule, ...]

    def lets_in(self, labels: Mapping[str, str]) -> bool:
        """Say whether a series with these labels counts here."""
        return all(labels.get(name) in values for name, values in self.where)

    def pool_of(self, labels: Mapping[str, str]) -> tuple[str, Labels] | None:
        """Return the pool's key and labels; None where a label of `each` is missing."""
        if not all(name in labels for name in self.each):
            return None
        pooled = tuple((name, labels[name]) for name in self.each)
        return pool_key(self.sensor.name, self.where, pooled, self.fresh), pooled

    def windows(self) -> Iterator[tuple[Measure, Over]]:
        """Return what the rules ask of each pool."""
        for plan in self.plans:
            for found in plan.inputs:
                if (found.sensor, found.where) == (self.sensor.name, self.where):
                    yield found.measure, window_of(plan, found)


def pool_key(sensor: str, where: Where, pooled: Labels, fresh: tuple[str, ...]) -> str:
    """Return what tells a pool from all others."""
    return json.dumps([sensor, where, pooled, *([fresh] if fresh else [])])


def places(sensor: Sensor, rules: Rules) -> tuple[Place, ...]:
    """Return the ways in which rules pool the readings of *sensor*."""
    found: dict[tuple[Where, tuple[str, ...], tuple[str, ...]], list[Rule]] = {}
    for rule in rules.rules:
        wheres = dict.fromkeys(x.where for x in rule.inputs if x.sensor == sensor.name)
        for where in wheres:
            key = (where, tuple(sorted(rule.each)), turns(rule))
            found.setdefault(key, []).append(rule)
    return tuple(Place(sensor, *key, tuple(plans)) for key, plans in found.items())


def turns(rule: Rule) -> tuple[str, ...]:
    """Return the schedules at whose turns the rule wants its window to start anew."""
    if not rule.fresh_window:
        return ()
    return tuple(
        "" if x is None else str(x) for x in (rule.during, *(r.during for r in rule.regimes))
    )


def window_of(plan: Rule, found: Input) -> Over:
    """Return the window behind one that a rule looks at.

    Nothing written is the last reading alone; readings of a count window grow too old only
    where the rule says how long a silence is too long.
    """
    if found.over.span is not None:
        return found.over
    written = None if plan.no_data is None else plan.no_data.after
    return Over(span=written, count=found.over.count or 1)


def over_text(over: Over) -> str:
    """Return the window as the configuration writes it."""
    if over.span is not None:
        return format_duration(over.span)
    return "" if over.count is None else f"{over.count} samples"
