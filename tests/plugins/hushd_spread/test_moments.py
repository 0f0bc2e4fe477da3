"""The sample variance, where sums of squares fail."""

from math import sqrt

import pytest

from hushd.core.aggregation import recompute
from hushd_spread import RMS, STDDEV
from hushd_spread.moments import VARIANCE


@pytest.mark.parametrize(
    ("values", "variance"),
    [
        ((1e9, 1e9 + 1, 1e9 + 2), 1.0),  # sums of squares give 0 or 128
        ((1e15, 1e15 + 1, 1e15 + 2), 1.0),
        ((5.0, 5.0, 5.0), 0.0),
        ((1.0, 2.0, 3.0, 4.0), 5 / 3),
        ((0.1,) * 10, 0.0),
        ((5.0,), None),  # one reading says nothing about the spread
        ((), None),
    ],
)
def test_variance(values, variance):
    assert recompute(VARIANCE, values) == pytest.approx(variance, abs=1e-15)
    deviation = None if variance is None else sqrt(variance)
    assert recompute(STDDEV, values) == pytest.approx(deviation, abs=1e-15)


def test_variance_is_never_negative():
    for n in range(2, 50):
        assert recompute(VARIANCE, [0.1] * n) >= 0
        assert VARIANCE.finalize(VARIANCE.scan([1e8 + 0.1] * n)[-1]) >= 0


def test_root_mean_square():
    assert recompute(RMS, [3.0, -4.0]) == pytest.approx(sqrt(12.5))
    assert recompute(RMS, [-5.0]) == 5.0
    assert recompute(RMS, []) is None
