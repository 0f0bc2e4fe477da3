"""Rate and slope are per second, whatever the size of the stamps."""

import pytest

from hushd_basic.trend import RATE, SLOPE

SECOND = 10**9
EPOCH = 1_742_681_728 * SECOND


def measure(how, readings):
    partial = how.empty()
    for value, at in readings:
        partial = how.combine(partial, how.unit(value, at))
    return how.finalize(partial)


@pytest.mark.parametrize("start", [0, EPOCH, 4_000_000_000 * SECOND])
@pytest.mark.parametrize("step", [125_000_000, SECOND, 3_600 * SECOND])
def test_a_straight_line_has_its_slope_to_many_digits(start, step):
    line = [(20.0 + 0.25 * (i * step / SECOND), start + i * step) for i in range(100)]
    assert measure(SLOPE, line) == pytest.approx(0.25, rel=1e-12)
    assert measure(RATE, line) == pytest.approx(0.25, rel=1e-12)


def test_one_nanosecond_apart_is_still_apart():
    assert measure(RATE, [(1.0, EPOCH), (2.0, EPOCH + 1)]) == pytest.approx(1e9)
    assert measure(SLOPE, [(1.0, EPOCH), (2.0, EPOCH + 1)]) == pytest.approx(1e9)


def test_an_outlier_bends_the_slope_and_only_the_last_reading_the_rate():
    readings = [(0.0, EPOCH), (10.0, EPOCH + SECOND), (0.0, EPOCH + 2 * SECOND)]
    assert measure(RATE, readings) == 0
    assert measure(SLOPE, readings) == 0
    readings[1] = (10.0, EPOCH)
    assert measure(RATE, readings) == 0
    assert measure(SLOPE, readings) == pytest.approx(-2.5)


@pytest.mark.parametrize("how", [RATE, SLOPE])
def test_one_reading_or_one_instant_has_no_trend(how):
    assert measure(how, []) is None
    assert measure(how, [(5.0, EPOCH)]) is None
    assert measure(how, [(5.0, EPOCH), (6.0, EPOCH)]) is None


def test_the_origin_stays_exact():
    n, origin, *rest = SLOPE.combine(SLOPE.unit(5.0, EPOCH + 1), SLOPE.unit(5.0, EPOCH + 4))
    assert (n, origin) == (2, EPOCH + 1)
    assert rest[0] == 1.5e-9
