"""Pumps and a door, by a model of the alert and by counting."""

import pytest
from playback import by_model, heard, records, seconds, told_of, window

NAME = "machine-band"
BEGINS = seconds("2026-03-09T09:00:00Z")  # the shift: 06:00 in São Paulo
BAND = {
    "warning": ("outside", (0.5, 4.5), (0.7, 4.0), 180, 0),
    "critical": ("above", 7.1, 6.0, 0, 0),
}


@pytest.mark.parametrize(("pump", "changes"), [("p1", 4), ("p2", 2)])
def test_a_pump_that_leaves_its_band_for_three_minutes_is_told(pump, changes):
    readings = heard(NAME, f"{pump}/vibration")

    def rms(at: float) -> float | None:
        values = window(readings, at, 120)
        return (sum(x * x for x in values) / len(values)) ** 0.5 if len(values) >= 2 else None

    looks = [BEGINS, *(x.at for x in readings)]
    expected = by_model(looks, rms, lambda at: BAND if at >= BEGINS else {})
    assert told_of(NAME, "pump-vibration", pump) == expected
    assert len(expected) == changes


def test_too_little_is_told_from_the_first_minute_of_the_shift_on():
    assert told_of(NAME, "pump-vibration", "p2")[0] == ("2026-03-09T09:03:00Z", "raised", "warning")


def test_what_stands_on_the_test_bench_is_not_looked_at():
    assert max(x.value for x in heard(NAME, "p9/vibration")) > 9
    assert not [r for r in records(NAME) if r["labels"]["machine"] == "p9"]


def test_the_slams_of_half_an_hour_are_counted():
    slams = [x for x in heard(NAME, "p1/slam", "peak") if x.value > 85]
    looks = [at for x in slams for at in (x.at, x.at + 1800)]
    limits = {"warning": ("above", 10, 5, 0, 0)}
    expected = by_model(looks, lambda at: len(window(slams, at, 1800)), lambda _: limits)
    assert told_of(NAME, "door-slams", "p1") == expected
    assert [event for _, event, _ in expected] == ["raised", "cleared"]
