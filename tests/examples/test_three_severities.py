"""Three severities, by hand."""

from playback import told

NAME = "three-severities"


def at(clock: str) -> str:
    return f"2026-02-07T{clock}Z"


def test_it_grows_louder_falls_quiet_step_by_step_and_dies():
    # 37 dB, at 22:05 60, at 22:10 75, at 22:12 48, at 22:16 37, silent from 22:20:10 to 22:26.
    # The window holds six readings.  k of them at 60 dB give 52.4, 55.3, 57.0 ... dB.
    assert told(NAME, "disturbance") == [
        (at("22:05:00"), "101", "raised", "info"),  # one at 60
        (at("22:06:10"), "101", "escalated", "warning"),  # two at 60, 22:05:10; for 1m
        # room 102: 60 dB for half a minute.  Above 55 from 22:08:13 on, and no more so at
        # 22:09:13, just when it would have been told: never a warning
        (at("22:08:03"), "102", "raised", "info"),
        (at("22:09:23"), "102", "cleared", None),
        (at("22:10:10"), "101", "escalated", "critical"),  # two at 75 give 70.5
        # from 22:12:50 on only 48 dB: below the clear levels of critical and of warning
        (at("22:13:50"), "101", "lowered", "warning"),  # clear_for 1m
        (at("22:14:50"), "101", "lowered", "info"),  # clear_for 2m
        (at("22:16:40"), "101", "cleared", None),  # one at 48, five at 37: 41.7
        (at("22:23:00"), "101", "no_data", None),  # 3m after 22:20:00
        (at("22:26:00"), "101", "data_back", None),
    ]


def test_the_sensor_that_died_is_told_once_for_all_its_rules():
    assert told(NAME, "noise/no-data") == [
        (at("22:23:00"), "101", "raised", "warning"),
        (at("22:26:00"), "101", "cleared", None),
    ]
