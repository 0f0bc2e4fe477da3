"""The log and its windows, against recomputing everything from scratch."""

import json
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushd.core.aggregation import Aggregation
from hushd.core.columns import SECOND
from hushd.core.heap_median import HeapMedian
from hushd.core.log import Log
from hushd.core.median_index import MedianIndex
from hushd.core.order_index import OrderIndex
from hushd.core.two_stacks import TwoStacks

#: associative, not commutative: it shows any reading lost, doubled or out of order
WORDS: Aggregation[str] = Aggregation(
    lambda: "", lambda x: f"{x};", lambda a, b: a + b, lambda p: p or None
)
SECONDS: Aggregation[str] = Aggregation(
    lambda: "", lambda x, s: f"{x}*{s};", lambda a, b: a + b, lambda p: p or None
)
TIMED: Aggregation[str] = Aggregation(
    lambda: "", lambda x, at: f"{x}@{at};", lambda a, b: a + b, lambda p: p or None
)
#: the same with accelerators, so that both ways are walked
FAST: Aggregation[str] = Aggregation(
    WORDS.empty,
    WORDS.unit,
    WORDS.combine,
    WORDS.finalize,
    absorb=lambda p, x: f"{p}{x};",
    result=lambda a, b, c: a + b + c or None,
    scan=lambda values: [
        "".join(f"{x};" for x in values[i:]) for i in range(len(values) - 1, -1, -1)
    ],
)


class Moments(NamedTuple):
    n: int = 0
    mean: float = 0.0
    m2: float = 0.0


def _moments(a: Moments, b: Moments) -> Moments:
    if not (a.n and b.n):
        return a if a.n else b
    n = a.n + b.n
    delta = b.mean - a.mean
    return Moments(n, a.mean + delta * b.n / n, a.m2 + b.m2 + delta * delta * a.n * b.n / n)


VARIANCE: Aggregation[Moments] = Aggregation(
    Moments, lambda x: Moments(1, x), _moments, lambda p: p.m2 / (p.n - 1) if p.n > 1 else None
)
SUM: Aggregation[float] = Aggregation(lambda: 0.0, lambda x: x, lambda a, b: a + b, lambda p: p)
COUNT: Aggregation[int] = Aggregation(lambda: 0, lambda _: 1, lambda a, b: a + b, lambda p: p)


class Reading(NamedTuple):
    at: int
    value: Any
    covers: int


@dataclass
class Slow:
    """The log's oracle: a list."""

    readings: list[Reading] = field(default_factory=list)

    def append(self, at: int, value: Any, covers: int = 0, settled: int | None = None) -> None:
        if settled is not None and self.readings:
            self.readings[-1] = self.readings[-1]._replace(covers=settled)
        i = len(self.readings)
        while i and self.readings[i - 1].at > at:
            i -= 1
        self.readings.insert(i, Reading(at, value, covers))

    def live(self, now: int, span: int | None, count: int | None) -> list[Reading]:
        live = [r for r in self.readings if span is None or now - span < r.at]
        return live[max(0, len(live) - count) :] if count is not None else live

    def expected(self, how: Any, now: int, span: int | None, count: int | None) -> Any:
        live = self.live(now, span, count)
        if how in (WORDS, FAST):
            return "".join(f"{r.value};" for r in live) or None
        if how is SECONDS:
            return "".join(f"{r.value}*{r.covers / SECOND};" for r in live) or None
        if how is TIMED:
            return "".join(f"{r.value}@{r.at};" for r in live) or None
        values = sorted(r.value for r in live)
        if not values:
            return None
        return statistics.median(values) if how is order else statistics.median_low(values)


def order() -> OrderIndex:
    return OrderIndex(50.0, load=2, flat=4)


def median() -> MedianIndex:
    return MedianIndex(large=12, spare=2)


WANTS = {SECONDS: "seconds", TIMED: "time"}
HOWS = [WORDS, FAST, SECONDS, TIMED, HeapMedian, median, order]

windows = st.tuples(
    st.one_of(st.none(), st.integers(1, 60)), st.one_of(st.none(), st.integers(1, 30))
).filter(lambda window: window != (None, None))

view_specs = st.tuples(st.sampled_from(HOWS), windows)

steps = st.one_of(
    st.tuples(st.just("append"), st.integers(0, 3), st.integers(0, 9)),
    st.tuples(st.just("append"), st.integers(0, 3), st.integers(0, 9)),
    st.tuples(st.just("append"), st.integers(0, 3), st.integers(0, 9)),
    st.tuples(st.just("many"), st.integers(1, 40), st.integers(0, 2)),
    st.tuples(st.just("late"), st.integers(1, 30), st.integers(0, 9)),
    st.tuples(st.just("wait"), st.integers(1, 90), st.just(0)),
    st.tuples(st.just("ask"), st.integers(0, 5), st.just(0)),
    st.tuples(st.just("add"), view_specs, st.just(0)),
    st.tuples(st.just("release"), st.integers(0, 9), st.just(0)),
    st.tuples(st.just("reweigh"), st.integers(1, 9), st.just(0)),
    st.tuples(st.just("restore"), st.just(0), st.just(0)),
)


class Play:
    """A log and its oracle living through the same steps."""

    def __init__(self, chunk: int, slack: int, ask_always: bool) -> None:
        self.log = Log(chunk, slack, covers=True)
        self.slow = Slow()
        self.views: dict[str, tuple[Any, Any, Any]] = {}
        self.slack = slack
        self.ask_always = ask_always
        self.now = 0
        self.named = 0

    def add(self, spec: Any) -> None:
        how, (span, count) = spec
        key = f"view {self.named}"
        self.named += 1
        self.log.view(how, WANTS.get(how, "value"), span, count, key=key)
        # a late view reaches as far back as the log does
        self.views[key] = (how, span, count, len(self.slow.readings) - len(self.log))

    def append(self, at: int, value: int, settled: int | None = None) -> None:
        covers = (value + 1) * (SECOND // 7)
        kept = len(self.log)
        if self.log.append(at, value, covers, settled):
            self.slow.append(at, value, covers, settled)
        else:
            assert at < self.now
            assert len(self.log) == kept
        assert self.slack or at >= (self.log.newest or 0) or len(self.log) == kept

    def ask(self) -> None:
        for key, (how, span, count, since) in self.views.items():
            view = self.log.views[key]
            live = self.slow.live(self.now, span, count)
            hidden = max(0, since - (len(self.slow.readings) - len(live)))
            if hidden:
                continue  # what was given back before the view was made is gone
            assert view.value(self.now) == self.slow.expected(how, self.now, span, count)
            assert view.samples(self.now) == len(live)
            assert view.covered(self.now) == sum(r.covers for r in live)
            due = None if span is None or not live else live[0].at + span
            assert view.next_change() == due

    def step(self, what: str, a: Any, b: int) -> None:
        match what:
            case "append":
                self.now += a
                self.append(self.now, b, settled=b * 1000 if a else None)
            case "many":
                for i in range(a):
                    self.now += b
                    self.append(self.now, i)
            case "late":
                self.append(self.now - a, b)
            case "wait":
                self.now += a
            case "add":
                self.add(a)
            case "release" if self.views:
                key = list(self.views)[a % len(self.views)]
                self.log.release(self.log.views[key])
                del self.views[key]
            case "reweigh":
                covers = [a * SECOND + i for i in range(len(self.log))]
                self.log.reweigh(covers)
                gone = len(self.slow.readings) - len(covers)
                self.slow.readings[gone:] = [
                    r._replace(covers=c)
                    for r, c in zip(self.slow.readings[gone:], covers, strict=True)
                ]
            case "restore":
                data = json.loads(json.dumps(self.log.snapshot(), allow_nan=False))
                specs = {
                    key: (how, WANTS.get(how, "value"), span, count)
                    for key, (how, span, count, _) in self.views.items()
                }
                self.log = Log.restore(data, specs)
        if self.ask_always or what == "ask":
            self.now += a if what == "ask" else 0
            self.ask()


@settings(max_examples=400, deadline=None)
@given(
    chunk=st.sampled_from([1, 2, 3, 4, 8, 32]),
    slack=st.sampled_from([0, 0, 5, 40]),
    ask_always=st.booleans(),
    views=st.lists(view_specs, min_size=1, max_size=4),
    plan=st.lists(steps, max_size=60),
)
def test_every_window_agrees_with_recomputing(chunk, slack, ask_always, views, plan):
    play = Play(chunk, slack, ask_always)
    for spec in views:
        play.add(spec)
    for step in plan:
        play.step(*step)
    play.ask()
