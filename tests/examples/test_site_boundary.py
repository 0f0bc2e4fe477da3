"""A construction site, by a model of the alert and the hours that clocks in Madrid show."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from playback import by_model, energy, heard, records, seconds, told_of, window

NAME = "site-boundary"
MADRID = ZoneInfo("Europe/Madrid")
BEGIN, END = seconds("2026-03-28T16:30:00Z"), seconds("2026-03-29T06:45:00Z")


def limits(at: float) -> dict:
    """What the permit says: the table, without a schedule."""
    clock = datetime.fromtimestamp(at, MADRID)
    if clock.hour >= 23 or clock.hour < 7:
        allowed = {"warning": (45, 43), "critical": (55, 52)}
    elif clock.hour >= 19 or clock.weekday() == 6:
        allowed = {"warning": (60, 58)}
    else:
        allowed = {"warning": (70, 68), "critical": (80, 77)}
    return {name: ("above", *bounds, 600, 300) for name, bounds in allowed.items()}


MINUTES = [BEGIN + 60 * minute for minute in range(int(END - BEGIN) // 60)]
TURNS = [at for at in MINUTES[1:] if limits(at) != limits(at - 60)]


def test_the_limits_turn_three_times_and_the_night_is_an_hour_short():
    assert [datetime.fromtimestamp(at, MADRID).hour for at in TURNS] == [19, 23, 7]
    assert TURNS[2] - TURNS[1] == 7 * 3600


@pytest.mark.parametrize("point", ["north", "south"])
def test_what_is_too_loud_when(point):
    readings = heard(NAME, f"{point}/noise")

    def level(at: float) -> float | None:
        hour = window(readings, at, 3600)
        return energy(hour) if len(hour) >= 45 else None  # of 60: three quarters

    expected = by_model([*TURNS, *(x.at for x in readings)], level, limits)
    assert told_of(NAME, "site-boundary", point) == expected
    assert len(expected) == (11 if point == "north" else 0)


def test_each_boundary_in_the_words_of_the_people_nearby():
    north = [(r["at"][11:16], r["event"], r["severity"], r["limit"]) for r in records(NAME)]
    # work that may be so loud by day goes on after 19:00: ten minutes later it is too much
    assert north[0] == ("18:10", "raised", "warning", 60)
    # the pump, allowed all evening, is too loud ten minutes after 23:00
    assert north[2] == ("22:10", "raised", "warning", 45)
    # when the night ends the pump is still on: allowed by day, and five minutes later over
    assert north[9] == ("05:05", "cleared", None, 45)
    # at 08:00 on Sunday work begins, as loud as on Saturday
    assert north[10] == ("06:24", "raised", "warning", 60)
