"""Who hears of what."""

from yard import joined, leaf, look

from hushd.runtime.routing import followed_by

BOTH = joined("all", leaf("above", 65.0), leaf("above", 5.0, sensor="vibration"), name="piling")


def test_a_journal_follows_the_silence_of_every_sensor_that_its_rules_look_at():
    silent = {"noise/no-data", "vibration/no-data"}
    assert followed_by("foreman", [BOTH]) == {"piling"} | silent
    relative = joined("all", leaf("above", 5.0, less=look("vibration")), name="relative")
    assert followed_by("foreman", [relative]) == {"relative"} | silent
    assert followed_by("somebody", [BOTH]) == frozenset()
