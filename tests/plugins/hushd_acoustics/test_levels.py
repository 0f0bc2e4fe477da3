"""Levels of sound: the worked numbers of standards and text books."""

from math import inf, nan

import pytest

from hushd.core.log import Log
from hushd.core.readings import SECOND
from hushd.plugin import load
from hushd_acoustics.leq import LEQ, energy, level

AGGREGATORS = load().aggregators


def measure(name, readings, argument=None):
    """Return the aggregate of (level, seconds) pairs by the production window."""
    aggregator = AGGREGATORS[name]
    log = Log(covers=True)
    view = log.view(aggregator.build(argument), aggregator.wants, count=len(readings) or 1)
    at = 0
    for value, seconds in readings:
        at += round(seconds * SECOND)
        log.append(at, float(value), round(seconds * SECOND))
    return view.value(at)


@pytest.mark.parametrize(
    ("readings", "leq"),
    [
        ([(60, 1), (80, 1)], 77.03),  # not 70
        ([(50, 59 * 60), (90, 60)], 72.24),  # 59 minutes of 50 and one of 90
        ([(50, 1)] * 59 + [(90, 1)], 72.24),
        ([(50, 3600), (50, 1), (50, 0.125)], 50.0),  # however long each is
        ([(40, 0.0), (60, 1)], 60.0),  # of no duration: does not count
        ([(-38.4, 1), (-38.4, 1)], -38.4),  # dB below full scale
    ],
)
def test_leq_is_the_mean_of_energies_over_time(readings, leq):
    assert measure("leq", readings) == pytest.approx(leq, abs=0.005)


def test_a_mean_of_levels_is_not_a_level_and_says_so():
    assert measure("mean", [(60, 1), (80, 1)]) == 70
    wrong = {name for name, aggregator in AGGREGATORS.items() if not aggregator.energy}
    assert wrong == {"mean", "sum", "rms", "time_mean"}


@pytest.mark.parametrize(
    ("readings", "leq"),
    [
        ([(5_000.0, 1.0), (50.0, 1.0)], inf),  # 10**500 is no float; it must not raise
        ([(5_000.0, 0.0), (50.0, 1.0)], 50.0),  # nor become inf * 0
        ([(-inf, 1.0)], None),  # no energy at all is no level
        ([(-9_999.0, 1.0)], None),
        ([(50.0, 0.0)], None),  # no time is covered
        ([(nan, 1.0), (50.0, 1.0)], nan),
    ],
)
def test_leq_at_the_edges(readings, leq):
    partial = LEQ.empty()
    for reading in readings:
        partial = LEQ.combine(partial, LEQ.unit(*reading))
    assert LEQ.finalize(partial) == (leq if leq is None else pytest.approx(leq, nan_ok=True))


def test_energy_and_level_undo_each_other():
    for tenths in range(-1_000, 2_000):
        assert level(energy(tenths / 10)) == pytest.approx(tenths / 10, abs=1e-9)


@pytest.mark.parametrize(
    ("n", "exceeded"),
    [
        (10, 90.1),  # loud
        (50, 50.5),
        (90, 10.9),  # the background
        (0, 100.0),
        (100, 1.0),
    ],
)
def test_ln_is_the_level_exceeded_n_percent_of_the_time(n, exceeded):
    assert measure("ln", [(value, 1) for value in range(1, 101)], n) == pytest.approx(exceeded)
    assert measure("percentile", [(v, 1) for v in range(1, 101)], 100 - n) == pytest.approx(
        exceeded
    )


@pytest.mark.parametrize(
    ("values", "p", "expected"),
    [
        ((1, 2, 3), 5, 1.1),  # few readings give a number too
        ((1, 2, 3), 95, 2.9),
        (range(1, 1001), 99, 990.01),
        (range(1, 1001), 99.9, 999.001),
    ],
)
def test_percentiles_are_interpolated(values, p, expected):
    assert measure("percentile", [(value, 1) for value in values], p) == pytest.approx(expected)


READINGS = [(54, 10), (55, 20), (56, 30), (70, 0.5)]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("time_above", 30.5),  # strictly above, as in a rule
        ("count_above", 2),
        ("share_above", 30.5 / 60.5),
    ],
)
def test_above_a_limit(name, value):
    assert measure(name, READINGS, 55) == pytest.approx(value)
    assert measure(name, READINGS, 100) == 0  # nothing above is a number, not "no value"


def test_nothing_heard_is_no_share_but_no_seconds_and_no_count():
    assert [AGGREGATORS[n].empty for n in ("time_above", "count_above", "share_above")] == [
        0,
        0,
        None,
    ]
