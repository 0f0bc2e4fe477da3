"""What `hushd status` is told of alerts."""

from play import engine
from yard import heard, joined, leaf, yard

from hushd.runtime import status

BOTH = joined("all", leaf("above", 65.0), leaf("above", 5.0, sensor="vibration"), wait=60)


def test_several_conditions_are_shown_each_in_its_own_words():
    playing = engine(yard(BOTH))
    playing.process(heard(0, "noise", 70.0))
    playing.process(heard(1, "vibration", 6.5))
    (shown,) = status.alerts(playing)["listed"]
    assert (shown["state"], shown["value"], shown["limit"]) == ("pending", None, None)
    assert shown["conditions"] == [
        "noise is 70 dBA (limit 65)",
        "vibration is 6.5 mm/s (limit 5)",
    ]
