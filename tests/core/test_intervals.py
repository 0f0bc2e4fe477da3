"""How often a sensor speaks, from how it spoke."""

from statistics import median_low

from hypothesis import given
from hypothesis import strategies as st

from hushd.core.intervals import ENOUGH, GAPS, Interval


def test_three_gaps_are_enough_and_equal_stamps_are_none():
    interval = Interval()
    for gap in (10, 0, 20):
        interval.learn(gap)
        assert interval.now is None
    interval.learn(30)
    assert interval.now == 20


def test_what_is_configured_is_not_learned():
    interval = Interval(7)
    for gap in (10, 20, 30, 40):
        interval.learn(gap)
    assert interval.now == 7


@given(st.lists(st.integers(1, 9), min_size=ENOUGH, max_size=60), st.integers(0, 60))
def test_it_is_the_lower_median_of_the_last_twenty(gaps, cut):
    interval = Interval()
    for i, gap in enumerate(gaps, 1):
        interval.learn(gap)
        if i >= ENOUGH:
            assert interval.now == median_low(gaps[max(0, i - GAPS) : i])
        if i == cut:
            interval = Interval(None, interval.gaps)
