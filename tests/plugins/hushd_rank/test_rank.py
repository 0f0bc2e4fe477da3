"""By rank: the lower median, and percentiles as NumPy and Excel have them."""

from statistics import median_low

import pytest

from hushd.core.log import Log
from hushd.plugin import MedianIndex, OrderIndex, load
from hushd_rank import percentile


@pytest.mark.parametrize(
    ("values", "median"),
    [
        ([3], 3),
        ([1, 2], 1),  # of two, the lower: always a reading that there was
        ([5, 1, 4], 4),
        ([1, 2, 3, 4], 2),
        ([47, 47, 19, 47], 47),
    ],
)
def test_median_is_a_reading(values, median):
    index = MedianIndex()
    for event_id, value in enumerate(values):
        index.add(event_id, value)
    assert index.value() == median


@pytest.mark.parametrize("p", [0, 0.1, 5, 25, 50, 75, 99.9, 100])
def test_percentile_is_r7(p):
    index = percentile(p)()
    for event_id in range(1, 1001):
        index.add(event_id, float(event_id))
    assert index.value() == pytest.approx(1 + p / 100 * 999)


def test_a_percentile_of_old_readings_is_forgotten():
    log = Log()
    view = log.view(load().aggregators["percentile"].build(95), span=300)
    for at in range(100):
        log.append(at, 90.0)
    log.append(1_000, 40.0)
    log.append(1_001, 42.0)
    assert view.value(1_001) == pytest.approx(41.9)  # the rows from long before have no say


def test_each_window_gets_an_index_of_its_own():
    factory = load().aggregators["percentile"].build(95)
    one, other = factory(), factory()
    one.add(0, 5.0)
    assert isinstance(one, OrderIndex)
    assert other.value() is None


def test_the_median_goes_on_where_the_heaps_hand_over_to_the_order_index():
    index = load().aggregators["median"].build()()
    values = [float(i * 7_919 % 20_011) for i in range(17_500)]
    for event_id, value in enumerate(values):
        index.add(event_id, value)
    for event_id in range(2_000):
        index.remove(event_id, values[event_id])
    assert index.value() == median_low(values[2_000:])
