"""The sums that plugins build on: what rounding lost is kept, and infinities stay apart."""

from math import inf, isnan, nan

import pytest

from hushd.core.aggregation import recompute
from hushd.plugin import COUNT, MEAN, SUM, weighted_mean


@pytest.mark.parametrize(
    ("values", "total"),
    [
        ((0.1, 1e17, -1e17), 0.1),
        ((1e100, 1.0, -1e100), 1.0),
        ((0.1,) * 10, 1.0),
        ((-0.0,), 0.0),
        ((), None),
        ((inf, 1.0), inf),
        ((1.0, -inf), -inf),
        ((inf, -inf), nan),
        ((nan, 1.0), nan),
        ((1.7e308, 1.7e308), inf),
    ],
)
def test_a_sum_is_the_same_by_each_way(values, total):
    ways = [
        recompute(SUM, values),
        SUM.finalize(SUM.scan(values)[-1]) if values else None,
        SUM.result(SUM.empty(), SUM.scan(values)[-1] if values else SUM.empty(), SUM.empty()),
        SUM.result(*[(SUM.scan(values[i::3]) or [SUM.empty()])[-1] for i in range(3)]),
    ]
    for way in ways:
        assert (
            way == pytest.approx(total, abs=1e-15, nan_ok=True)
            if total is not None
            else way is None
        )


def test_an_infinity_does_not_turn_the_compensation_into_nan():
    partial = SUM.absorb(SUM.absorb(SUM.empty(), inf), 1.0)
    assert SUM.finalize(partial) == inf
    assert SUM.finalize(SUM.combine(partial, SUM.unit(2.0))) == inf
    assert isnan(SUM.finalize(SUM.combine(partial, SUM.unit(-inf))))


def test_a_mean_can_be_built_on():
    squares = MEAN.of(lambda value: value * value)
    assert recompute(squares, [3.0, 4.0]) == 12.5
    assert recompute(squares.then(lambda mean: -mean), [3.0, 4.0]) == -12.5
    assert recompute(squares.then(lambda mean: -mean), []) is None
    assert recompute(COUNT, [5.0, nan]) == 2


def test_a_weighted_mean_leaves_out_what_has_no_duration():
    mean = weighted_mean(float)
    unit, combine, finalize = mean.unit, mean.combine, mean.finalize
    assert finalize(combine(unit(inf, 0.0), unit(5.0, 2.0))) == 5.0
    assert finalize(unit(5.0, 0.0)) is None
    assert finalize(mean.absorb(mean.absorb(mean.empty(), inf, 0.0), 7.0, 1.0)) == 7.0
    assert [finalize(p) for p in mean.scan([1.0, inf], [1.0, 0.0])] == [None, 1.0]
