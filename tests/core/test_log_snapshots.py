"""A log that was stored and restored goes on exactly as if it had not been."""

import json
import random
from math import inf, nan
from struct import pack
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hushd.core import codec
from hushd.core.aggregation import Aggregation
from hushd.core.log import Log
from hushd.core.median_index import MedianIndex
from hushd.core.order_index import OrderIndex


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


VARIANCE = Aggregation(
    Moments, lambda x: Moments(1, x), _moments, lambda p: p.m2 / (p.n - 1) if p.n > 1 else None
)
#: rounding makes this sum depend on how its terms are grouped
SUM = Aggregation(lambda: 0.0, lambda x: x, lambda a, b: a + b, lambda p: p)
WEIGHTED = Aggregation(
    lambda: (0.0, 0.0),
    lambda x, s: (x * s, s),
    lambda a, b: (a[0] + b[0], a[1] + b[1]),
    lambda p: p[0] / p[1] if p[1] else None,
)
SLOPE = Aggregation(
    lambda: None,
    lambda x, at: ((at, x), (at, x)),
    lambda a, b: b if a is None else a if b is None else (a[0], b[1]),
    lambda p: p and (p[1][1] - p[0][1]) / (p[1][0] - p[0][0] + 1),
)
#: a partial that no snapshot knows
SETS = Aggregation(frozenset, lambda x: frozenset([repr(x)]), lambda a, b: a | b, len)

VIEWS: dict[str, Any] = {
    "variance": (VARIANCE, "value", 700, None),
    "variance, short": (VARIANCE, "value", 30, None),
    "sum": (SUM, "value", None, 150),
    "weighted": (WEIGHTED, "seconds", 500, None),
    "slope": (SLOPE, "time", 400, 90),
    "sets": (SETS, "value", 200, None),
    "median": (MedianIndex, "value", 300, None),
    "p90": (lambda: OrderIndex(90.0), "value", None, 77),
}


def _bits(value: Any) -> Any:
    return pack("<d", value) if isinstance(value, float) else value


def _open(chunk: int, slack: int) -> Log:
    log = Log(chunk, slack, covers=True)
    for key, spec in VIEWS.items():
        log.view(*spec, key=key)
    return log


def _stored(log: Log) -> Log:
    return Log.restore(codec.unpack(codec.pack(log.snapshot())), VIEWS)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    chunk=st.sampled_from([1, 4, 16, 128]),
    slack=st.sampled_from([0, 0, 20]),
    ask=st.sampled_from([1.0, 0.3, 0.02]),
)
@example(seed=155026, chunk=1, slack=20, ask=1.0)  # stored while a view was to be made anew
def test_every_later_result_is_the_same_to_the_bit(seed, chunk, slack, ask):
    chance = random.Random(seed)
    one, other = _open(chunk, slack), _open(chunk, slack)
    now = 0
    for _ in range(chance.randrange(50, 900)):
        now += chance.choice([0, 1, 1, 1, 2, 9]) if chance.random() > 0.005 else 350
        value = chance.choice([chance.gauss(50, 20), 1e16, -1e16, chance.random()])
        if chance.random() < 0.01:
            value = chance.choice([nan, inf])
        at = now - chance.randrange(5) if slack and chance.random() < 0.1 else now
        covers, settled = chance.randrange(10**9), chance.choice([None, chance.randrange(10**9)])
        assert one.append(at, value, covers, settled) == other.append(at, value, covers, settled)
        if chance.random() < ask:
            key = chance.choice(list(VIEWS))
            assert _bits(one.views[key].value(now)) == _bits(other.views[key].value(now))
            assert one.views[key].next_change() == other.views[key].next_change()
        if chance.random() < 0.02:
            other = _stored(other)
    for key in VIEWS:
        assert _bits(one.views[key].value(now)) == _bits(other.views[key].value(now))
        assert one.views[key].samples(now) == other.views[key].samples(now)
        assert one.views[key].covered(now) == other.views[key].covered(now)
    assert one.stamps()[-50:] == other.stamps()[-50:]


def test_views_come_and_go_with_a_restore():
    log = Log(chunk=4)
    log.view(SUM, count=10, key="kept")
    log.view(SUM, count=20, key="dropped")
    log.view(SUM, count=3)  # without a key it is not stored
    for at in range(30):
        log.append(at, float(at))
    again = Log.restore(
        log.snapshot(),
        {"kept": (SUM, "value", None, 10), "new": (VARIANCE, "value", None, 5)},
    )
    assert list(again.views) == ["kept", "new"]
    assert again.views["kept"].value(30) == sum(range(20, 30))
    assert again.views["new"].value(30) == 2.5
    assert again.view(SUM, count=10, key="kept") is again.views["kept"]
    assert again.view(SUM, count=8, key="later").value(30) == sum(range(22, 30))


def test_a_view_whose_bounds_changed_is_made_anew():
    log = Log(chunk=4)
    log.view(SUM, count=10, key="a")
    for at in range(30):
        log.append(at, float(at))
    again = Log.restore(log.snapshot(), {"a": (SUM, "value", None, 6)})
    assert again.views["a"].value(30) == sum(range(24, 30))


def test_an_empty_log_is_restored():
    log = Log.restore(codec.unpack(codec.pack(Log(8, 3, covers=True).snapshot())), VIEWS)
    assert log.newest is None
    assert len(log) == 0
    assert log.views["sum"].value(5) == 0.0


@pytest.mark.parametrize(
    ("value", "like"),
    [
        (None, None),
        (True, None),
        (1 << 200, None),
        (-0.0, None),
        (0.1 + 0.2, None),
        (inf, None),
        (-inf, None),
        ("text", None),
        ([1, [2.5, "x"], ()], None),
        ((1, (2.0, None)), ()),
        (Moments(3, 1.5, inf), Moments()),
        ((Moments(1), 5), (Moments(), 0)),
    ],
)
def test_partials_are_kept_exactly(value, like):
    again = codec.decode(json.loads(json.dumps(codec.encode(value, like), allow_nan=False)), like)
    assert again == value
    assert type(again) is type(value)
    assert repr(again) == repr(value)


@pytest.mark.parametrize("value", [{1}, {"a": 1}, Moments(), 1j, b"x", [object()]])
def test_what_is_not_known_is_refused(value):
    with pytest.raises(codec.UnsupportedError, match="a snapshot cannot hold"):
        codec.encode(value)


@pytest.mark.parametrize("values", [[], [1.5, nan, -inf], [1, 2.5, "x", None], [1.0] * 9000])
def test_columns_are_kept_exactly(values):
    again = codec.unpack_values(codec.unpack(codec.pack(codec.pack_values(values))))
    assert [_bits(x) for x in again] == [_bits(x) for x in values]
    stamps = [0, 0, 5, 10**18, -3]
    assert codec.unpack_steps(codec.pack_steps(stamps)) == stamps


@pytest.mark.parametrize(("chunk", "span", "before"), [(8, None, 6), (2, 1, 2)])
def test_a_window_that_was_never_asked_is_restored_as_it_stood(chunk, span, before):
    words = Aggregation(str, lambda x: f"{x};", lambda a, b: a + b, lambda p: p or None)
    count = 1 if span else 2
    log = Log(chunk)
    log.view(words, span=span, count=count, key="a")
    for i in range(before):
        log.append(i, i)
    log = Log.restore(log.snapshot(), {"a": (words, "value", span, count)})
    for i in range(before, before + 3):
        log.append(i, i)
    expected = "".join(f"{i};" for i in range(before + 3 - count, before + 3))
    assert log.views["a"].value(before + 2) == expected


@pytest.mark.parametrize("kept", [0, 1, 2, 7, 8, 9, 40])
def test_the_columns_come_back_chunk_by_chunk(kept):
    log = Log(4, slack=3, covers=True)
    log.view(SUM, span=10**6, key="a")
    for i in range(kept):
        log.append(i, float(i), covers=i)
    again = Log.restore(log.snapshot(), {"a": (SUM, "value", 10**6, None)})
    assert again.snapshot() == log.snapshot()
    assert again.views["a"].covered(kept) == log.views["a"].covered(kept) == sum(range(kept))
