"""A loud room, by brute force."""

import pytest
from playback import energy, heard, records, stamp, window

NAME = "loud-room"


def test_the_party_is_told_when_its_energy_is_too_much_and_the_door_is_not():
    expected, loud, peak = [], False, 0.0
    kitchen = heard(NAME, "kitchen/noise")
    for at, *_ in kitchen:
        value = energy(window(kitchen, at, 300))
        if (value > 70) != loud:
            loud = value > 70
            expected.append((stamp(at), "raised" if loud else "cleared", pytest.approx(value)))
        peak = max(peak, value)
    seen = records(NAME)
    assert [r["labels"] for r in seen] == [{"room": "kitchen"}] * 2
    assert [(r["at"], r["event"], r["value"]) for r in seen] == expected
    assert seen[-1]["peak"] == pytest.approx(peak)
