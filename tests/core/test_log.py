"""The log and its windows, against recomputing everything from scratch."""

import math
import random
import statistics
from collections import deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushd.core import codec
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
                data = codec.unpack(codec.pack(self.log.snapshot()))
                specs = {
                    key: (how, WANTS.get(how, "value"), span, count)
                    for key, (how, span, count, _) in self.views.items()
                }
                self.log = Log.restore(data, specs)
        if self.ask_always or what == "ask":
            self.now += a if what == "ask" else 0
            self.ask()


@settings(max_examples=1500, deadline=None)
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


@pytest.mark.parametrize(
    ("span", "count"), [(None, None), (0, None), (None, 0), (-5, None), (5, 0), (5, -1)]
)
def test_a_window_needs_a_positive_bound(span, count):
    with pytest.raises(ValueError, match="positive span or count"):
        Log().view(WORDS, span=span, count=count)


def test_what_a_log_cannot_do_is_refused():
    log = Log()
    with pytest.raises(ValueError, match="without covers"):
        log.view(SECONDS, "seconds", span=5)
    with pytest.raises(ValueError, match="takes values only"):
        log.view(MedianIndex, "time", span=5)
    with pytest.raises(ValueError, match="0 covers"):
        log.reweigh([])
    log.view(WORDS, span=5, key="a")
    with pytest.raises(ValueError, match='"a" names another window'):
        log.view(WORDS, span=6, key="a")


def test_the_boundary_of_a_window():
    log = Log()
    view = log.view(WORDS, span=10)
    log.append(100, "a")
    assert (view.value(109), view.samples(109), view.next_change()) == ("a;", 1, 110)
    assert (view.value(110), view.samples(110), view.next_change()) == (None, 0, None)


@pytest.mark.parametrize(
    ("span", "count", "expected"),
    [(10, None, "b;c;d;"), (None, 2, "c;d;"), (10, 2, "c;d;"), (10, 9, "b;c;d;"), (3, 9, "d;")],
)
def test_under_both_bounds_a_window_holds_the_fewer(span, count, expected):
    log = Log(chunk=2)
    view = log.view(WORDS, span=span, count=count)
    for at, value in [(0, "a"), (5, "b"), (5, "c"), (9, "d")]:
        log.append(at, value)
    assert view.value(11) == expected


def test_a_window_by_number_never_changes_by_itself():
    log = Log()
    view = log.view(WORDS, count=2)
    log.append(1, "a")
    assert view.next_change() is None
    assert view.value(10**18) == "a;"


def test_too_late_changes_nothing():
    log = Log(chunk=2, slack=2)
    view = log.view(WORDS, count=9)
    for at in range(10, 60, 10):
        log.append(at, at)
    assert log.append(35, "x")  # among the open ones
    before = view.value(60)
    assert not log.append(15, "y")
    assert (view.value(60), log.newest, len(log)) == (before, 50, 6)
    strict = Log()
    strict.append(5, 1)
    assert not strict.append(4, 2)
    assert strict.append(5, 3)
    assert strict.stamps() == [5, 5]
    assert strict.values() == [1, 3]


def test_what_the_newest_reading_covers_is_learnt_later():
    log = Log(covers=True)
    view = log.view(SECONDS, "seconds", span=100 * SECOND)
    log.append(SECOND, 7, covers=2 * SECOND)
    assert view.value(SECOND) == "7*2.0;"
    log.append(6 * SECOND, 8, covers=2 * SECOND, settled=5 * SECOND)
    assert view.value(6 * SECOND) == "7*5.0;8*2.0;"
    assert view.covered(6 * SECOND) == 7 * SECOND
    log.reweigh([SECOND, 3 * SECOND])
    assert view.value(6 * SECOND) == "7*1.0;8*3.0;"
    assert view.covered(6 * SECOND) == 4 * SECOND


@pytest.mark.parametrize("covers", [1, 999, 1000, 4_000_000_000_000, 1 << 50, -1])
def test_covers_are_exact_however_packed(covers):
    log = Log(chunk=2, covers=True)
    view = log.view(SECONDS, "seconds", count=5)
    for at in range(8):
        log.append(at, at, covers + at % 2)
    assert view.covered(8) == 5 * covers + 3
    assert view.value(8) == "".join(f"{i}*{(covers + i % 2) / SECOND};" for i in range(3, 8))


@pytest.mark.parametrize("value", [1 << 60, True, "text", -0.0, 1.5])
def test_readings_keep_their_type(value):
    log = Log(chunk=2)
    view = log.view(WORDS, count=4)
    for at in range(6):
        log.append(at, value)
    assert view.value(6) == f"{value};" * 4


class Touchy:
    """An aggregation that raises on one reading, in one of its parts."""

    def __init__(self, part: str) -> None:
        self.part = part
        self.how = Aggregation(lambda: "", self.unit, self.combine, self.finalize)

    def unit(self, x: Any, *_: Any) -> str:
        if self.part == "unit" and x == "bad":
            raise ZeroDivisionError
        return f"{x};"

    def combine(self, a: str, b: str) -> str:
        if self.part == "combine" and "bad" in a + b:
            raise ZeroDivisionError
        return a + b

    def finalize(self, p: str) -> str:
        if self.part == "finalize" and "bad" in p:
            raise ZeroDivisionError
        return p


@pytest.mark.parametrize("ask_always", [True, False])
@pytest.mark.parametrize("chunk", [1, 2, 3, 8])
@pytest.mark.parametrize("part", ["unit", "combine", "finalize"])
def test_an_aggregation_that_raises_costs_only_the_windows_that_hold_the_reading(
    part, chunk, ask_always
):
    log = Log(chunk)
    view = log.view(Touchy(part).how, span=5)
    healthy = log.view(WORDS, span=5)
    for at in range(40):
        value = "bad" if at == 17 else at
        assert log.append(at, value)
        live = ["bad" if i == 17 else i for i in range(max(0, at - 4), at + 1)]
        if ask_always or at in (19, 23, 39):
            assert healthy.value(at) == "".join(f"{x};" for x in live)
            assert view.samples(at) == len(live)
            if "bad" in live:
                with pytest.raises(ZeroDivisionError):
                    view.value(at)
            else:
                assert view.value(at) == healthy.value(at)
    assert len(log) <= 5 + 2 * chunk


@pytest.mark.parametrize("wants", ["value", "seconds", "time"])
@pytest.mark.parametrize("slack", [0, 3])
def test_a_view_added_late_over_a_bad_reading_recovers_when_that_leaves(wants, slack):
    log = Log(chunk=4, slack=slack, covers=True)
    early = log.view(Touchy("unit").how, wants, count=3)
    for at in range(9):
        log.append(at, "bad" if at in (2, 7) else at, 5)
    late = log.view(Touchy("unit").how, wants, count=3)
    for view in (early, late):
        with pytest.raises(ZeroDivisionError):
            view.value(9)
        assert view.samples(9) == 3
    for at in (9, 10):
        log.append(at, at, 5)
    assert early.value(10) == late.value(10) == "8;9;10;"


def test_an_index_that_refuses_a_late_reading_is_made_anew():
    class Index(HeapMedian):
        __slots__ = ()

        def add(self, event_id: int, value: Any) -> None:
            if value == "bad":
                raise ZeroDivisionError
            super().add(event_id, value)

    log = Log(chunk=4, slack=4)
    view = log.view(Index, span=5)
    for at in range(8):
        log.append(at, at)
    assert view.value(7) == 5
    assert log.append(6, "bad")
    with pytest.raises(ZeroDivisionError):
        view.value(10)
    assert view.value(11) == 7


def test_an_index_that_raises_is_made_anew():
    class Index(MedianIndex):
        __slots__ = ()

        def add(self, event_id: int, value: Any) -> None:
            if value == "bad":
                raise ZeroDivisionError
            super().add(event_id, value)

        fill = None

    del Index.fill
    log = Log(chunk=4)
    view = log.view(Index, span=5)
    for at in range(30):
        log.append(at, "bad" if at == 11 else float(at))
        if at < 11:
            assert view.value(at) == statistics.median_low(range(max(0, at - 4), at + 1))
        elif at == 20:
            assert view.value(at) == 18.0


def test_views_of_one_aggregation_share_its_work():
    units = 0

    def unit(x):
        nonlocal units
        units += 1
        return x

    how = Aggregation(lambda: 0, unit, lambda a, b: a + b, lambda p: p)
    log = Log(chunk=100)
    views = [log.view(how, span=span) for span in (10**6, 10**7, 10**8)]
    for at in range(1000):
        log.append(at, 1)
    assert [view.value(1000) for view in views] == [1000] * 3
    assert units == 1000


def test_releasing_the_longest_window_gives_its_readings_back():
    log = Log(chunk=4)
    long, short = log.view(WORDS, count=1000), log.view(WORDS, count=3)
    for at in range(500):
        log.append(at, at)
    assert len(log) == 500
    log.release(long)
    for at in range(500, 700):
        log.append(at, at)
        short.value(at)
    assert len(log) <= 3 + 2 * 4
    log.release(short)
    for at in range(700, 720):
        log.append(at, at)
    assert len(log) <= 2 * 4


SUM: Aggregation[float] = Aggregation(lambda: 0.0, lambda x: x, lambda a, b: a + b, lambda p: p)
MAX: Aggregation[float] = Aggregation(
    lambda: -math.inf,
    lambda x: x,
    lambda a, b: a if a >= b else b if b > a else math.nan,
    lambda p: p,
)


def _variance(a: tuple[int, float, float], b: tuple[int, float, float]) -> Any:
    if not (a[0] and b[0]):
        return a if a[0] else b
    n, delta = a[0] + b[0], b[1] - a[1]
    return n, a[1] + delta * b[0] / n, a[2] + b[2] + delta * delta * a[0] * b[0] / n


VARIANCE: Aggregation[tuple[int, float, float]] = Aggregation(
    lambda: (0, 0.0, 0.0),
    lambda x: (1, x, 0.0),
    _variance,
    lambda p: p[2] / (p[0] - 1) if p[0] > 1 else None,
)

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize("chunk", [1, 2, 3, 128])
@pytest.mark.parametrize(
    ("how", "width", "values", "expected"),
    [
        (MAX, 3, [5, NAN, 7, 1, 2, 3, 4], [NAN, NAN, 7, 3, 4]),
        (SUM, 2, [NAN, 1.0, 2.0, 3.0], [NAN, 3, 5]),
        (SUM, 2, [INF, 1.0, -INF, 3.0, 4.0], [INF, -INF, -INF, 7]),
        (SUM, 2, [INF, -INF, 1.0, 2.0], [NAN, -INF, 3]),
        (SUM, 2, [0.1, 1e17, 0.1, 0.2, 0.3], [1e17, 1e17, 0.1 + 0.2, 0.5]),
        (VARIANCE, 3, [1e9, 1.0, 2.0, 3.0, 4.0, 5.0], [1, 1, 1]),
        (VARIANCE, 3, [1e16, 1.0, 2.0, 3.0, 4.0, 5.0], [1, 1, 1]),
        (SUM, 2, [2**53, 1, 0], [2**53 + 1, 1]),  # integers stay integers
        (MedianIndex, 3, [1.0, NAN, 2.0, 3.0, 4.0, 5.0], [NAN, NAN, 3, 4]),
        (lambda: OrderIndex(50), 2, [1e20, 1.0, 2.0, NAN, 4.0, 6.0], [1.5, NAN, NAN, 5]),
    ],
)
def test_a_bad_reading_spoils_only_the_windows_that_hold_it(how, width, values, expected, chunk):
    log = Log(chunk)
    view = log.view(how, count=width)
    results = []
    for at, value in enumerate(values):
        log.append(at, value)
        results.append(view.value(at))
    assert results[-len(expected) :] == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("slack", [0, 4])
@pytest.mark.parametrize("chunk", [1, 4, 128])
def test_a_log_agrees_with_the_literal_two_stacks(chunk, slack):
    chance = random.Random(chunk)
    log, literal, stamps = Log(chunk, slack), TwoStacks(WORDS), deque()
    view = log.view(WORDS, span=50)
    at = 0
    for _ in range(2000):
        at += chance.choice([0, 1, 1, 2, 60 if chance.random() < 0.02 else 3])
        value = chance.randrange(10)
        log.append(at, value)
        literal.push(value)
        stamps.append(at)
        while stamps[0] <= at - 50:
            stamps.popleft()
            literal.pop()
        assert view.value(at) == literal.value()
