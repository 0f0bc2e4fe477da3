"""The heap median of the tutorial, the one in production, and the order index."""

import random
import statistics
from bisect import bisect_left, insort
from collections import deque
from math import copysign, inf, isnan, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushd.core.heap_median import SPARE, HeapMedian
from hushd.core.median_index import MedianIndex
from hushd.core.order_index import OrderIndex
from hushd.core.sliding import sliding

MEDIANS = {
    "literal": HeapMedian,
    "production": MedianIndex,
    "small heaps": lambda: MedianIndex(large=8, spare=2),
    "no spare": lambda: HeapMedian(spare=0),
}
every_median = pytest.mark.parametrize("make", MEDIANS.values(), ids=MEDIANS)


@every_median
@pytest.mark.parametrize(
    ("values", "width", "expected"),
    [
        ([47, 19, 61, 29, 83, 37, 19], 3, [47, 29, 61, 37, 37]),
        ([47, 19, 61, 29, 83, 37, 19], 4, [29, 29, 37, 29]),  # the lower of the middle two
        ([1e20, 1], 1, [1e20, 1]),
        ([3, 3, 3, 3], 2, [3, 3, 3]),
        ([inf, -inf, 5.0], 2, [-inf, -inf]),
        ([1.0, nan, 2.0, 3.0], 2, [nan, nan, 2.0]),  # it recovers
        ([nan, nan, 7.0], 1, [nan, nan, 7.0]),
    ],
)
def test_the_worked_examples(make, values, width, expected):
    assert sliding(values, width, make()) == pytest.approx(expected, nan_ok=True)


@every_median
def test_empty_again_after_an_outlier(make):
    median = make()
    assert median.value() is None
    for i, value in enumerate([1e20, 1]):
        median.add(i, value)
    assert median.value() == 1
    median.remove(0, 1e20)
    assert median.value() == 1
    median.remove(1, 1)
    assert (median.value(), len(median), median.records) == (None, 0, 0)


@every_median
@pytest.mark.parametrize("again", [5, 4])
def test_ids_strictly_increase(make, again):
    median = make()
    median.add(5, 1.0)
    with pytest.raises(ValueError, match="ids strictly increase"):
        median.add(again, 2.0)
    median.remove(5, 1.0)
    with pytest.raises(ValueError, match="ids strictly increase"):
        median.add(again, 2.0)  # nor may an id that has left come again


def test_the_literal_median_knows_who_is_live():
    median = HeapMedian()
    median.add(1, 10)
    with pytest.raises(KeyError):
        median.remove(2)
    median.remove(1)
    with pytest.raises(KeyError):
        median.remove(1)


@every_median
def test_no_result_is_minus_zero(make):
    if make is MEDIANS["literal"] or make is MEDIANS["no spare"]:
        return  # the literal one returns what it was given
    median = make()
    median.add(0, -0.0)
    assert copysign(1, median.value()) == 1
    median.add(1, 0.0)
    median.remove(0, -0.0)
    assert copysign(1, median.value()) == 1


readings = st.one_of(
    st.integers(0, 5), st.sampled_from([-0.0, 0.0, inf, -inf, nan, 1e20]), st.floats(-9, 9)
)


@every_median
@settings(deadline=None)
@given(
    data=st.data(), fifo=st.booleans(), plan=st.lists(st.one_of(readings, st.none()), max_size=90)
)
def test_medians_agree_with_a_sorted_list(make, data, fifo, plan):
    median, order, live = make(), OrderIndex(50, 90, load=2, flat=3), {}
    for i, value in enumerate(plan):
        if value is not None:
            median.add(3 * i, value)
            order.add(3 * i, value)
            live[3 * i] = value
        elif live:
            gone = min(live) if fifo else data.draw(st.sampled_from(sorted(live)))
            median.remove(gone, live[gone])
            order.remove(gone, live[gone])
            del live[gone]
        values = sorted(live.values())
        assert len(median) == len(order) == len(values)
        if any(isnan(x) for x in values):
            assert isnan(median.value())
            assert isnan(order.lower(50))
            assert isnan(order.value())
        elif values:
            assert median.value() == order.lower(50) == statistics.median_low(values)
            assert order.lower(90) == values[int(90 * (len(values) - 1) / 100)]
        else:
            assert median.value() is order.value() is order.lower(90) is None


@every_median
@given(st.lists(readings, max_size=40), st.integers(0, 40))
def test_filling_is_adding(make, values, width):
    filled, added = make(), make()
    if not hasattr(filled, "fill"):
        return
    filled.fill(list(range(len(values))), values)
    for i, value in enumerate(values):
        added.add(i, value)
    for i, value in enumerate(values[:width]):
        for median in (filled, added):
            median.remove(i, value)
    filled.add(99, 1.0)
    added.add(99, 1.0)
    assert filled.value() == pytest.approx(added.value(), nan_ok=True)


CHANCE = random.Random(7)

STREAMS = {
    "rising": lambda i: i,
    "falling": lambda i: -i,
    "sawtooth": lambda i: i % 3000,
    "random": lambda _: CHANCE.random(),
}


def _stay_small(make, stream, width, events):
    median, window = make(), deque()
    peak = 0
    for i in range(events):
        value = stream(i)
        median.add(i, value)
        window.append(value)
        assert median.records <= 2 * len(window) + SPARE
        if len(window) > width:
            median.remove(i - width, window.popleft())
        peak = max(peak, median.records)
    assert peak <= 2 * (width + 1) + SPARE
    assert median.value() == statistics.median_low(window)


@pytest.mark.parametrize("make", [HeapMedian, MedianIndex])
@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)
def test_records_stay_within_twice_the_window(make, stream):
    _stay_small(make, stream, 1000, 300_000)


@pytest.mark.long
@pytest.mark.parametrize("make", [HeapMedian, MedianIndex])
@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)
def test_records_stay_within_twice_the_window_for_ten_million_readings(make, stream):
    _stay_small(make, stream, 1000, 10_000_000)


def test_nothing_is_remembered_of_ids_that_left_out_of_turn():
    median, chance = MedianIndex(spare=8), random.Random(3)
    live: dict[int, float] = {}
    for i in range(20_000):
        live[2 * i] = chance.random()
        median.add(2 * i, live[2 * i])
        if len(live) > 50:
            gone = chance.choice(list(live))
            median.remove(gone, live.pop(gone))
        assert median.records <= 2 * len(live) + 8
        assert len(median._gone) <= median.records
    assert median.value() == statistics.median_low(live.values())


def test_a_large_window_changes_to_the_order_index_and_back():
    median, chance = MedianIndex(large=200), random.Random(5)
    values = [chance.random() for _ in range(1000)]
    for i, value in enumerate(values):
        median.add(i, value)
        assert median.value() == statistics.median_low(values[: i + 1])
    assert len(median) == median.records == 1000  # nothing stale
    for i, value in enumerate(values):
        median.remove(i, value)
        assert median.value() == (statistics.median_low(values[i + 1 :]) if i < 999 else None)
    median.add(2000, 4.0)
    assert median.value() == 4.0


@pytest.mark.parametrize(
    ("percent", "expected"),
    [(0, 10), (10, 14), (25, 20), (50, 30), (90, 46), (95, 48), (100, 50)],
)
def test_percentile_interpolates_between_neighbours(percent, expected):
    index = OrderIndex(percent)
    for i, value in enumerate([50, 10, 40, 20, 30]):
        index.add(i, value)
    assert index.value() == pytest.approx(expected)


def test_percentile_is_what_the_standard_library_says():
    chance = random.Random(11)
    values = [chance.gauss(50, 10) for _ in range(997)]
    index = OrderIndex(90.0)
    index.fill(list(range(997)), values)
    cuts = statistics.quantiles(values, n=100, method="inclusive")
    for percent in range(1, 100):
        assert index.percentile(percent) == pytest.approx(cuts[percent - 1])


def test_order_index_refuses_what_it_does_not_hold():
    index = OrderIndex(load=2, flat=4)
    for value in (1.0, 2.0, nan):
        with pytest.raises(KeyError):
            index.remove(0, value)
    for i in range(9):
        index.add(i, float(i))
    for value in (8.5, -1.0, 99.0):
        with pytest.raises(KeyError):
            index.remove(0, value)


@pytest.mark.parametrize(("load", "flat"), [(4, 8), (16, 64), (512, 2048)])
def test_order_index_slides_like_a_sorted_list(load, flat):
    chance = random.Random(load)
    index, ordered, window = OrderIndex(10, 50, 90, load=load, flat=flat), [], deque()
    for i in range(6000):
        width = 3000 if i < 4000 else 40  # it grows, slides, and shrinks
        value = round(chance.gauss(i / 100, 10), 1)
        index.add(i, value)
        insort(ordered, value)
        window.append(value)
        while len(window) > width:
            gone = window.popleft()
            index.remove(0, gone)
            del ordered[bisect_left(ordered, gone)]
        for percent in (10, 50, 90, 33):
            assert index.lower(percent) == ordered[int(percent * (len(ordered) - 1) / 100)]
