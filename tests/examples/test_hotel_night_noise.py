"""A night in a hotel, by a model of the alert and by hand."""

from pathlib import Path

import pytest
from playback import (
    EXAMPLES,
    by_model,
    energy,
    heard,
    hushd,
    records,
    seconds,
    told,
    told_of,
    window,
)

NAME = "hotel-night-noise"
BEGINS, ENDS = seconds("2026-02-13T21:00:00Z"), seconds("2026-02-14T05:00:00Z")  # 22:00, 06:00
LIMITS = {"warning": ("above", 40, 37, 300, 600), "critical": ("above", 50, 45, 60, 600)}


@pytest.mark.parametrize("room", ["101", "102"])
def test_the_night_is_judged_by_what_was_heard_in_it(room):
    readings = heard(NAME, f"{room}/noise", "level")

    def level(at: float) -> float | None:
        night = window(readings, at, min(900, at - BEGINS))
        return energy(night) if len(night) >= 8 else None  # of 15: half full

    looks = [BEGINS, ENDS, *(x.at for x in readings)]
    expected = by_model(looks, level, lambda at: LIMITS if BEGINS <= at < ENDS else {})
    assert told_of(NAME, "night-noise", room) == expected


def test_who_hears_what_in_that_night():
    assert [
        (at[11:16], room, event, level) for at, room, event, level in told(NAME, "night-noise")
    ] == [
        ("00:13", "102", "raised", "warning"),  # talk at 47 dB from 00:05, for 5m
        ("00:19", "102", "escalated", "critical"),  # the party, from 00:17
        ("00:59", "102", "lowered", "warning"),  # it ended at 00:35: 15m of window, clear_for 10m
        ("01:14", "102", "cleared", None),  # the talk ended at 00:55
        ("01:39", "103", "no_data", None),  # 10m after its last word, at 01:29
        ("02:40", "103", "data_back", None),
        ("04:28", "101", "raised", "warning"),  # something hums
        ("05:00", "101", "cleared", None),  # 06:00 in Berlin
    ]
    last = [r for r in records(NAME) if r["rule"] == "night-noise"][-1]
    assert (last["at"], last["reason"]) == ("2026-02-14T05:00:00Z", "schedule")
    assert last["value"] > 40  # it is as loud as before


def test_without_a_fresh_window_the_television_would_have_been_told(tmp_path: Path):
    text = (EXAMPLES / NAME / "hushd.yaml").read_text()
    other = tmp_path / "hushd.yaml"
    other.write_text(text.replace("fresh_window: true", "fresh_window: false"))
    journal = hushd("replay", "-c", str(other), str(EXAMPLES / NAME / "recording.jsonl"))
    assert (
        '"at": "2026-02-13T21:01:00Z", "rule": "night-noise", "labels": {"room": "101"}' in journal
    )
    assert not [r for r in records(NAME) if r["at"] < "2026-02-14"]


def test_the_sensor_that_died_is_told_to_the_reception():
    assert told(NAME, "noise/no-data") == [
        ("2026-02-14T01:39:45Z", "103", "raised", "warning"),
        ("2026-02-14T02:40:45Z", "103", "cleared", None),
    ]
