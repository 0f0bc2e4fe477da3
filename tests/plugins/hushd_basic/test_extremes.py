"""Where a NaN is, the order of combining must not matter: max() would not do."""

from itertools import permutations, product
from math import inf, isnan, nan

import pytest

from hushd_basic.extremes import MAX, MIN, RANGE


@pytest.mark.parametrize("how", [MAX, MIN, RANGE])
def test_any_order_and_any_cut_gives_nan_where_one_is(how):
    for values in permutations([1.0, 2.0, nan]):
        a, b, c = map(how.unit, values)
        assert isnan(how.finalize(how.combine(how.combine(a, b), c)))
        assert isnan(how.finalize(how.combine(a, how.combine(b, c))))


@pytest.mark.parametrize(("how", "pick"), [(MAX, max), (MIN, min)])
def test_the_fused_result_is_right_for_every_pattern_of_three(how, pick):
    for parts in product([-1.0, 0.0, 5.0, nan, how.empty()], repeat=3):
        found = how.result(*parts)
        present = [part for part in parts if part != how.empty()]
        if any(map(isnan, parts)):
            assert isnan(found)
        else:
            assert found == (pick(present) if present else None)


def test_no_readings_have_no_extremes():
    assert [how.finalize(how.empty()) for how in (MAX, MIN, RANGE)] == [None] * 3
    assert RANGE.finalize(RANGE.unit(5.0)) == 0.0


def test_a_range_beyond_all_floats_is_infinite():
    assert RANGE.finalize(RANGE.combine(RANGE.unit(-1.7e308), RANGE.unit(1.7e308))) == inf
