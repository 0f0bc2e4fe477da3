"""Every aggregator that is installed obeys the laws; ours also equal the textbook."""

import statistics
from fractions import Fraction
from math import floor, fsum, inf, isclose, isnan, log10, nan, sqrt
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushd.core.aggregation import Aggregation
from hushd.core.log import Log
from hushd.core.sliding import sliding
from hushd.core.two_stacks import TwoStacks
from hushd.plugin import load
from hushd.plugin.testing import check_aggregator

CATALOG = load()
SECOND = 10**9
START = 1_742_601_600 * SECOND


def percentile(values, p):
    ordered = sorted(map(Fraction, values))
    place = Fraction(p) * (len(ordered) - 1) / 100
    below = ordered[floor(place)]
    above = ordered[min(floor(place) + 1, len(ordered) - 1)]
    return float(below + (above - below) * (place - floor(place)))


def leq(values, seconds):
    energies = [weight * 10 ** (value / 10) for value, weight in zip(values, seconds, strict=True)]
    return 10 * log10(fsum(energies) / fsum(seconds)) if fsum(seconds) else None


def time_mean(values, seconds):
    if not fsum(seconds):
        return None
    return fsum(v * w for v, w in zip(values, seconds, strict=True)) / fsum(seconds)


def time_above(values, seconds):
    return fsum(w for v, w in zip(values, seconds, strict=True) if v > 60)


def share_above(values, seconds):
    return time_above(values, seconds) / fsum(seconds) if fsum(seconds) else None


def rate(values, times):
    elapsed = Fraction(times[-1] - times[0], SECOND)
    return float((Fraction(values[-1]) - Fraction(values[0])) / elapsed) if elapsed else None


def slope(values, times):
    xs = [Fraction(at, SECOND) for at in times]
    ys = [Fraction(value) for value in values]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - mean_x) ** 2 for x in xs)
    shared = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True))
    return float(shared / spread) if spread else None


#: name -> argument, and the number from scratch: the definition, in exact arithmetic or fsum
TEXTBOOK = {
    "count": (None, lambda values, _: len(values)),
    "sum": (None, lambda values, _: fsum(values)),
    "mean": (None, lambda values, _: fsum(values) / len(values)),
    "min": (None, lambda values, _: min(values)),
    "max": (None, lambda values, _: max(values)),
    "range": (None, lambda values, _: max(values) - min(values)),
    "first": (None, lambda values, _: values[0]),
    "last": (None, lambda values, _: values[-1]),
    "rate": (None, rate),
    "slope": (None, slope),
    "variance": (None, lambda v, _: statistics.variance(v) if len(v) > 1 else None),
    "stddev": (None, lambda v, _: sqrt(statistics.variance(v)) if len(v) > 1 else None),
    "rms": (None, lambda values, _: sqrt(fsum(x * x for x in values) / len(values))),
    "median": (None, lambda values, _: statistics.median_low(values)),
    "percentile": (95, lambda values, _: percentile(values, 95)),
    "ln": (10, lambda values, _: percentile(values, 90)),
    "leq": (None, leq),
    "time_mean": (None, time_mean),
    "time_above": (60, time_above),
    "count_above": (60, lambda values, _: sum(value > 60 for value in values)),
    "share_above": (60, share_above),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", sorted(CATALOG.aggregators))
def test_it_obeys_the_laws(name, seed):
    check_aggregator(CATALOG.aggregators[name], seed=seed)


def test_every_one_of_ours_has_its_textbook_definition_here():
    ours = {name for name in CATALOG.aggregators if "(hushd " in CATALOG.sources[name]}
    assert ours == TEXTBOOK.keys()


def test_the_docs_have_each_of_ours_as_it_is():
    page = Path(__file__).parents[2] / "docs" / "aggregators.md"
    rows = {
        name.strip(" `"): [cell.strip() for cell in cells]
        for line in page.read_text(encoding="utf-8").splitlines()
        if line.startswith("| `") and line.count("|") == 7
        for name, *cells in [line.strip("|").split("|")]
    }
    assert rows == {
        name: [
            aggregator.summary,
            aggregator.unit.format(unit="dBA"),
            "-" if aggregator.empty is None else f"{aggregator.empty}",
            "by time" if aggregator.wants == "seconds" else "each alike",
            "yes" if aggregator.energy else "no",
        ]
        for name, aggregator in CATALOG.aggregators.items()
        if name in TEXTBOOK
    }


def stream(random, n):
    """Levels with many equal ones, at uneven times with many equal ones, and durations."""
    value, at = 60.0, START
    for _ in range(n):
        value = min(110.0, max(20.0, value + random.choice((-7.5, -0.1, 0.0, 0.0, 0.1, 7.5))))
        at += random.choice((0, 125, 1000, 1000, 1000, 7000, 60_000)) * 1_000_000
        yield at, round(value, 1), random.choice((0, 125, 1000, 60_000)) * 1_000_000


@pytest.mark.parametrize("name", sorted(TEXTBOOK))
@pytest.mark.parametrize(
    ("span", "count"), [(None, 1), (None, 2), (None, 37), (30 * SECOND, None), (900 * SECOND, None)]
)
def test_its_window_holds_what_the_textbook_says(name, span, count):
    aggregator = CATALOG.aggregators[name]
    argument, truth = TEXTBOOK[name]
    log = Log(chunk=8, covers=True)
    window = log.view(aggregator.build(argument), aggregator.wants, span, count)
    readings = []
    for at, value, covers in stream(Random(f"{name}{span}{count}"), 300):
        readings.append((at, value, covers))
        log.append(at, value, covers)
        live = readings[-count:] if count else [r for r in readings if r[0] > at - span]
        values = [value for _, value, _ in live]
        extras = [
            covers / SECOND if aggregator.wants == "seconds" else at for at, _, covers in live
        ]
        expected = truth(values, extras)
        found = window.value(at)
        assert found == expected or isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9), live


@pytest.mark.parametrize("name", sorted(TEXTBOOK))
def test_of_no_readings_only_counts_and_durations_have_a_value(name):
    aggregator = CATALOG.aggregators[name]
    zero = {"count", "count_above", "time_above"}
    assert aggregator.empty == (0 if name in zero else None)
    assert aggregator.always == (name in zero)
    how = aggregator.build(TEXTBOOK[name][0])
    found = how.finalize(how.empty()) if isinstance(how, Aggregation) else how().value()
    assert found == aggregator.empty


def window(name):
    aggregator = CATALOG.aggregators[name]
    how = aggregator.build(TEXTBOOK[name][0])
    return TwoStacks(how) if isinstance(how, Aggregation) else how()


def by_log(name, values, width):
    log = Log(chunk=2)
    view = log.view(CATALOG.aggregators[name].build(TEXTBOOK[name][0]), count=width)
    results = []
    for at, value in enumerate(values):
        log.append(at, value)
        results.append(view.value(at))
    return results[width - 1 :]


def same(found, expected):
    return [("nan" if isnan(x) else x) for x in found] == [
        ("nan" if isnan(x) else x) for x in expected
    ]


# The cases of docs/aggregators.md: what peers get wrong, some of them for ever.
@pytest.mark.parametrize(
    ("name", "width", "values", "expected"),
    [
        ("max", 3, [5, nan, 7, 1, 2, 3, 4], [nan, nan, 7, 3, 4]),
        ("min", 3, [5, nan, 7, 1, 2, 3, 4], [nan, nan, 1, 1, 2]),
        ("range", 3, [5, nan, 7, 1, 2, 3, 4], [nan, nan, 6, 2, 2]),
        ("sum", 2, [1.0, nan, 2.0, 3.0, 4.0], [nan, nan, 5, 7]),
        ("sum", 2, [1.0, inf, 2.0, 3.0, 4.0], [inf, inf, 5, 7]),
        ("sum", 2, [inf, -inf, 2.0, 3.0], [nan, -inf, 5]),
        ("mean", 2, [1.0, inf, 2.0, 4.0], [inf, inf, 3]),
        ("sum", 2, [0.1, 1e17, 0.1, 0.2, 0.3], [1e17, 1e17, fsum([0.1, 0.2]), 0.5]),
        ("sum", 3, [0.1, 1e17, -1e17, 0.2], [0.1, 0.2]),  # within one window
        ("variance", 3, [1e9, 1, 2, 3, 4, 5], [None, 1, 1, 1]),
        ("variance", 3, [1e16, 1, 2, 3, 4, 5], [None, 1, 1, 1]),
        ("variance", 3, [1e9, 1e9 + 1, 1e9 + 2], [1]),  # sums of squares give 0 or 128
        ("variance", 2, [nan, 1, 3], [nan, 2]),
        ("median", 3, [5, nan, 7, 1, 2, 3, 4], [nan, nan, 2, 2, 3]),
        ("percentile", 3, [5, nan, 7, 1, 2, 3, 4], [nan, nan, 6.5, 2.9, 3.9]),
        ("count", 2, [nan, 1, 2], [2, 2]),
    ],
)
@pytest.mark.parametrize(
    "slide", [by_log, lambda n, values, width: sliding(values, width, window(n))]
)
def test_nothing_that_left_the_window_leaves_a_trace(slide, name, width, values, expected):
    found = slide(name, [float(value) for value in values], width)
    if expected[0] is None:  # while the outlier is inside
        found, expected = found[1:], expected[1:]
    assert same(
        [round(x, 12) if abs(x) < 100 else x for x in found],
        [round(x, 12) if abs(x) < 100 else x for x in expected],
    )


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.floats(-1e15, 1e15), min_size=1, max_size=60),
    st.integers(1, 20),
    st.sampled_from(["sum", "mean"]),
)
def test_sums_are_as_good_as_exact(values, width, name):
    width = min(width, len(values))
    for start, found in enumerate(by_log(name, values, width)):
        live = values[start : start + width]
        exact = sum(map(Fraction, live)) / (len(live) if name == "mean" else 1)
        bound = Fraction(1, 2**52) * abs(exact) + Fraction(1, 2**96) * sum(
            map(abs, map(Fraction, live))
        )
        assert abs(Fraction(found) - exact) <= bound


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0, 140), min_size=2, max_size=40), st.floats(-1e9, 1e9))
def test_variance_does_not_care_where_zero_is(values, offset):
    moved = [value + offset for value in values]
    found = by_log("variance", moved, len(moved))[0]
    assert isclose(found, statistics.variance(moved), rel_tol=1e-6, abs_tol=1e-6)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([0.0, -0.0, 1.5, 40.0, -7.0]), min_size=1, max_size=60))
def test_by_rank_is_exact(values):
    width = max(1, len(values) // 3)
    for name in ("median", "percentile", "ln"):
        truth = TEXTBOOK[name][1]
        for start, found in enumerate(by_log(name, values, width)):
            assert isclose(found, truth(values[start : start + width], None), abs_tol=1e-12)
