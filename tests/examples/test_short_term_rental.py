"""A flat by the harbour, by a model of the alert and by hand."""

import pytest
from playback import by_model, energy, heard, records, seconds, told, window

NAME = "short-term-rental"
NIGHT = seconds("2026-02-14T22:00:00Z"), seconds("2026-02-15T08:00:00Z")
QUIET = {
    "ask-kindly": {"info": ("above", 50, 47, 300, 600)},
    "it-lasts": {"warning": ("above", 50, 47, 1800, 600), "critical": ("above", 65, 60, 600, 600)},
}
DAY = {
    "ask-kindly": {"info": ("above", 65, 60, 600, 600)},
    "it-lasts": {"warning": ("above", 65, 60, 3600, 600)},
}


@pytest.mark.parametrize("rule", ["ask-kindly", "it-lasts"])
def test_what_is_too_loud_when(rule):
    readings = heard(NAME, "noise")

    def level(at: float) -> float | None:
        values = window(readings, at, 300)
        return energy(values) if len(values) >= 3 else None  # of five: half full

    looks = [*NIGHT, *(x.at for x in readings)]
    expected = by_model(
        looks, level, lambda at: (QUIET if NIGHT[0] <= at < NIGHT[1] else DAY)[rule]
    )
    seen = [(at, event, severity) for at, _, event, severity in told(NAME, rule)]
    assert [x for x in seen if x[1] not in ("no_data", "data_back")] == expected


def test_the_guest_is_asked_three_times_and_the_owner_hears_of_two():
    assert [(r["at"][11:16], r["rule"], r["event"], r["severity"]) for r in records(NAME)] == [
        # dinner, at 61 dB until 21:50: nothing.  A long talk from 22:40 on
        ("22:45", "ask-kindly", "raised", "info"),
        ("23:10", "it-lasts", "raised", "warning"),  # the owner sleeps
        ("23:39", "ask-kindly", "cleared", None),
        ("23:39", "it-lasts", "cleared", None),
        # a party from 00:30 on
        ("00:35", "ask-kindly", "raised", "info"),
        ("00:41", "it-lasts", "raised", "critical"),  # the owner is woken
        ("01:06", "ask-kindly", "cleared", None),
        ("01:06", "it-lasts", "cleared", None),
        # somebody needs the plug: silent since 04:59
        ("05:29", "it-lasts", "no_data", None),
        ("05:29", "noise/no-data", "raised", "warning"),
        ("06:30", "it-lasts", "data_back", None),
        ("06:30", "noise/no-data", "cleared", None),
        # the radio from 07:45 on; at 08:00 the day begins and allows it
        ("07:50", "ask-kindly", "raised", "info"),
        ("08:10", "ask-kindly", "cleared", None),
    ]
