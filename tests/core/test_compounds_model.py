"""A slow model of rules with several conditions, second by second, against the engine.

It keeps every reading, makes each window's value of them from scratch, asks each condition,
joins the answers by the tables, and runs the delays: nothing of the engine is used but what
the rules are written in.
"""

import operator
from collections.abc import Callable
from statistics import median_low
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st
from play import S, engine
from yard import heard, joined, leaf, look, yard

from hushd.core.rules import Input, Leaf, Rule

START = 1000
AFTER = 40

VALUES: dict[str, Callable[[Any], Any]] = {
    "last": lambda values: values[-1] if values else None,
    "max": lambda values: max(values, default=None),
    "median": lambda values: median_low(values) if values else None,
    "range": lambda values: max(values) - min(values) if values else None,
    "count": len,
}
HOLDS: dict[str, Callable[[Any, Any], bool]] = {
    "above": operator.gt,
    "below": operator.lt,
    "at_least": operator.ge,
    "at_most": operator.le,
}


class Said(NamedTuple):
    value: float | None
    sure: str  # nothing, least, all


class Model:
    """One rule in one zone; `steps` are (second, sensor, value)."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.readings: list[tuple[int, str, float]] = []
        self.on = [False] * len(rule.leaves)
        self.quiet: dict[str, int] = {}
        self.silent: set[str] = set()
        self.stale = False
        self.state, self.since = "off", 0
        self.told: list[tuple[int, str]] = []

    def run(self, steps: list[tuple[int, str, float]], until: int) -> list[tuple[int, str]]:
        if not steps:
            return []
        self.start = steps[0][0]
        self.quiet = dict.fromkeys(self.rule.sensors, self.start)
        for second in range(self.start, until + 1):
            for step in steps:
                if step[0] == second:
                    self.readings.append(step)
                    self.quiet[step[1]] = second
                    self.silent.discard(step[1])
                    self.judge(second)
            for sensor, quiet in self.quiet.items():
                if second == quiet + AFTER and sensor not in self.silent:
                    self.silent.add(sensor)
                    self.judge(second)
            self.judge(second)
            self.expire(second)
        return self.told

    def judge(self, now: int) -> None:
        answers = [self.ask(i, now) for i in range(len(self.rule.leaves))]
        if self.rule.join == "all":
            joined = False if False in answers else None if None in answers else True
        else:
            joined = True if True in answers else None if None in answers else False
        for i, answer in enumerate(answers):
            if answer is not None:
                self.on[i] = answer
        stale = joined is None and bool(self.silent)
        if stale != self.stale:
            self.stale = stale
            self.told.append((now, "no_data" if stale else "data_back"))
            if stale and self.state == "pending":
                self.state = "off"
            if stale and self.state == "clearing":
                self.state = "on"
        if joined is None:
            return
        [limit] = self.rule.limits
        if joined and self.state == "off":
            self.state, self.since = "pending", now
            if not limit.wait:
                self.go_on(now)
        elif joined and self.state == "clearing":
            self.state = "on"
        elif not joined and self.state == "pending":
            self.state = "off"
        elif not joined and self.state == "on":
            self.state, self.since = "clearing", now
            if not limit.clear_wait:
                self.go_off(now)

    def expire(self, now: int) -> None:
        [limit] = self.rule.limits
        if self.state == "pending" and now >= self.since + limit.wait // S:
            self.go_on(now)
        elif self.state == "clearing" and now >= self.since + limit.clear_wait // S:
            self.go_off(now)

    def go_on(self, now: int) -> None:
        self.state = "on"
        self.told.append((now, "raised"))

    def go_off(self, now: int) -> None:
        self.state = "off"
        self.told.append((now, "cleared"))

    def ask(self, number: int, now: int) -> bool | None:
        of: Leaf = self.rule.leaves[number]
        said = self.look(of.input, now)
        if of.less is not None:
            other = self.look(of.less, now)
            if said.sure == "nothing" or other.sure != "all":
                return None
            said = Said(said.value - other.value, said.sure)
        if said.sure == "nothing":
            return None
        limit = of.limit
        bound = limit.limit if not self.on[number] or limit.clear is None else limit.clear
        holds = HOLDS[limit.comparison](said.value, bound)
        if said.sure == "least" and not (holds and limit.comparison in ("above", "at_least")):
            return None
        return holds

    def look(self, window: Input, now: int) -> Said:
        if window.sensor in self.silent:
            return Said(None, "nothing")
        span = AFTER if window.over.span is None else window.over.span // S
        values = [
            v for at, sensor, v in self.readings if sensor == window.sensor and at > now - span
        ]
        wanted = window.over.count or (1 if window.over.span is None else 0)
        if wanted:
            values = values[-wanted:]
        value = VALUES[window.measure.name](values)
        if window.measure.name == "count" and not wanted:
            return Said(value, "all" if now >= self.start + span else "least")
        if value is None or len(values) < max(wanted, window.min_samples):
            return Said(value, "nothing")
        return Said(value, "all")


leaves = st.sampled_from(
    [
        leaf("above", 5.0, 3.0),
        leaf("above", 5.0, 4.0, sensor="vibration"),
        leaf("at_least", 6.0, measure="max", span=30, min_samples=2),
        leaf("below", 3.0, 5.0, sensor="vibration", measure="median", count=3),
        leaf("at_most", 2.0, measure="range", span=25),
        leaf("above", 2.0, 1.0, sensor="vibration", measure="count", span=20),
        leaf("below", 2.0, measure="count", span=35),
        leaf("above", 1.0, measure="max", span=20, less=look("vibration", "max", span=30)),
        leaf("above", 0.0, measure="count", span=50, less=look("vibration", "count", span=50)),
    ]
)
compounds = st.builds(
    lambda how, of, wait, clear_wait: joined(
        how, *of, wait=wait, clear_wait=clear_wait, after=AFTER
    ),
    st.sampled_from(["all", "any"]),
    st.lists(leaves, min_size=2, max_size=3),
    st.sampled_from([0, 0, 7, 15]),
    st.sampled_from([0, 0, 6, 20]),
)
stories = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 2, 3, 5, 5, 10, 20, 45]),
        st.sampled_from(["noise", "vibration"]),
        st.integers(1, 8).map(float),
    ),
    max_size=40,
)


@settings(max_examples=200, deadline=None)
@given(compounds, stories)
def test_the_engine_says_what_the_slow_model_says(rule: Rule, story: Any) -> None:
    steps, now = [], START
    for wait, sensor, value in story:
        now += wait
        steps.append((now, sensor, value))
    if steps and {sensor for _, sensor, _ in steps if sensor not in rule.sensors}:
        steps = [step for step in steps if step[1] in rule.sensors]
    until = now + 200
    playing = engine(yard(rule, duplicates="keep"))
    told = [t for step in steps for t in playing.process(heard(*step))]
    told += playing.advance(until * S)
    found = [(t.at // S, t.event) for t in told if t.rule == rule.name]
    assert found == Model(rule).run(steps, until)


def test_the_model_finds_something_to_say() -> None:
    """Else it would agree with anything."""
    rule = joined("all", leaf("above", 5.0), leaf("above", 5.0, sensor="vibration"), after=AFTER)
    steps = [(1000, "noise", 6.0), (1001, "vibration", 6.0), (1002, "noise", 1.0)]
    assert Model(rule).run(steps, 1100) == [
        (1001, "raised"),
        (1002, "cleared"),
        (1042, "no_data"),
    ]
