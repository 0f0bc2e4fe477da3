"""Six configurations, from the shortest to one with everything, tell what one reads in them.

They are read from their files, secrets from the environment; messages go through the decoders
into the engine, and what is expected is worked out from the text of each, by hand.
"""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from shutil import copy
from zoneinfo import ZoneInfo

import pytest

from hushd.config import Config, read, render
from hushd.core.engine import Engine
from hushd.core.readings import SECOND
from hushd.core.transitions import rfc3339
from hushd.runtime.clocks import RecordedClock
from hushd.runtime.intake import Intake
from hushd.runtime.logs import Quiet
from hushd.runtime.messages import Message

HERE = Path(__file__).parent / "config/examples"
NAMES = sorted(path.name for path in HERE.glob("*.yaml"))
THEIRS = Path(__file__).parents[2] / "shared/oracle/ex"

#: when, in seconds since 1970, of what topic, what
Told = tuple[float, str, str]


@pytest.fixture(autouse=True)
def _secrets(monkeypatch):
    for name in ("NTFY", "RECEPTION", "MANAGER", "TEACHER", "OFFICE", "MAINT"):
        monkeypatch.setenv(f"{name}_URL", "ntfy://example.org/there")
    monkeypatch.setenv("COUNCIL_MAIL", "mailto://somebody:secret@example.org")


def configured(name: str, folder: Path) -> Config:
    """The configuration of a file, as somebody runs it who has the siren that it starts."""
    path = folder / "hushd.yaml"
    copy(HERE / name, path)
    if "type: command" in path.read_text():
        siren = folder / "siren"
        siren.write_text("#!/bin/sh\n")
        siren.chmod(0o755)
        text = path.read_text().replace("/usr/local/bin/siren", str(siren))
        path.write_text(text.replace("version: 1\n", "version: 1\nallow_exec: true\n"))
    return read(path, for_run=True)


class Playing:
    """An engine with a configuration, that hears messages and lets time pass."""

    def __init__(self, config: Config) -> None:
        self.engine = Engine(config.rules, config.catalog.aggregators)
        self.intake = Intake(config.sensors, RecordedClock(), 65536, Quiet())
        self.journal = []

    def hear(self, story: Iterable[Told]) -> list[tuple]:
        """(at, rule, value of the last label, event, severity) of what changes meanwhile."""
        begin = len(self.journal)
        for when, topic, text in sorted(story):
            message = Message(topic.encode(), text.encode(), round(when * SECOND))
            for reading in self.intake.readings(message):
                self.journal += self.engine.process(reading)
        return self.since(begin)

    def wait(self, until: float) -> list[tuple]:
        begin = len(self.journal)
        self.journal += self.engine.advance(round(until * SECOND))
        return self.since(begin)

    def since(self, begin: int) -> list[tuple]:
        return [
            (rfc3339(t.at)[11:-1], t.rule, t.labels[-1][1] if t.labels else "", t.event, t.severity)
            for t in self.journal[begin:]
        ]

    def states(self, rule: str) -> list[str]:
        return [alert.state for alert in self.engine.alerts() if alert.rule == rule]


def seconds(text: str, zone: str = "UTC") -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


def steady(topic: str, start: float, end: float, every: float, value: object) -> Iterator[Told]:
    """The same number from *start* on, until before *end*; whatever is no number as JSON."""
    text = str(value) if isinstance(value, float | int) else json.dumps(value)
    while start < end:
        yield start, topic, text
        start += every


@pytest.mark.skipif(not THEIRS.is_dir(), reason="the original files are not beside the repository")
def test_they_are_those_of_the_language():
    assert {path.name: path.read_text() for path in THEIRS.glob("*.yaml")} == {
        name: (HERE / name).read_text() for name in NAMES
    }


@pytest.mark.parametrize("name", NAMES)
def test_they_load_without_a_warning(name, tmp_path):
    config = configured(name, tmp_path)
    assert render(config.warnings) == ""
    assert config.rules.rules


def test_minimal(tmp_path):
    playing, start = Playing(configured("1-minimal.yaml", tmp_path)), seconds("2026-02-07T20:00")
    attic = "home/attic/noise"
    told = playing.hear(
        [
            *steady(attic, start, start + 600, 10, 50),
            *steady(attic, start + 600, start + 900, 10, 80),
            *steady(attic, start + 900, start + 1500, 10, 50),
        ]
    )
    # of 30 readings, 3 at 80 dB have the energy of 70.03 dB, 2 that of 68.3 dB
    assert told == [
        ("20:10:20", "too-loud", "attic", "raised", "warning"),
        ("20:19:30", "too-loud", "attic", "cleared", None),  # the last two: 20:14:40 and :50
    ]


def test_night_noise(tmp_path):
    """18.5 minutes before ten are quiet, 20 from 21:58 loud, then the sensor is dead for ten."""
    playing = Playing(configured("2-night-noise.yaml", tmp_path))
    start, room = seconds("2026-03-28T21:55", "Europe/Berlin"), "hotel/1/101/noise"
    quiet, dead, back = start + 190, start + 1400, start + 2000  # 21:58:10, 22:18:20, 22:28:20
    feed = sorted(
        [
            *steady(room, start, quiet, 10, {"level": 30}),
            *steady(room, quiet, dead, 10, {"level": 55}),
            *steady(room, back, start + 4010, 10, {"level": 30}),
        ]
    )
    shown = {}
    for clock in ("21:59", "22:07", "22:08", "22:09"):
        now = seconds(f"2026-03-28T{clock}", "Europe/Berlin")
        playing.hear(x for x in feed if x[0] <= now)
        feed = [x for x in feed if x[0] > now]
        playing.wait(now)
        shown[clock] = playing.states("night-noise")[0]
    assert shown == {
        "21:59": "inactive",
        "22:07": "warming",  # the window is fresh, and half full at 22:07:30
        "22:08": "pending",
        "22:09": "firing(critical)",
    }
    playing.hear(feed)
    told = [each for each in playing.since(0) if each[2] == "101"]
    assert [each[1:] for each in told if each[0] < "21:10"] == [
        ("night-noise", "101", "raised", "critical")
    ]
    assert [each for each in told if each[0] > "21:10"] == [
        ("21:28:10", "night-noise", "101", "no_data", "critical"),  # last heard at 21:18:10
        ("21:28:10", "noise/no-data", "101", "raised", "warning"),
        ("21:28:20", "night-noise", "101", "data_back", "critical"),
        ("21:28:20", "noise/no-data", "101", "cleared", None),
        # from 21:35:40 on the window is half full again, of 30 dB; clear_for: 10m
        ("21:45:40", "night-noise", "101", "cleared", None),
    ]
    # room 102 is expected, and has never said a word
    assert [x for x in playing.since(0) if x[2] == "102"] == [
        ("21:05:00", "night-noise", "102", "no_data", None),
        ("21:05:00", "noise/no-data", "102", "raised", "warning"),
    ]


def test_day_evening_night(tmp_path):
    playing = Playing(configured("3-day-evening-night.yaml", tmp_path))
    start, gate = seconds("2026-03-03T21:00", "Europe/Madrid"), "site/gate/leq1s"
    at_23, at_half = start + 7200, start + 9000
    told = playing.hear(
        [
            *steady(gate, start, at_half, 30, 50),
            *steady(gate, at_half, start + 11 * 3600, 30, 60),  # until 08:00
        ]
    )
    assert told == [
        ("22:00:00", "site-boundary", "gate", "raised", "warning"),  # 50 dB are too much at 23:00
        # of 120 readings, 29 at 60 dB and 91 at 50 have the energy of 55.02 dB
        ("22:44:00", "site-boundary", "gate", "escalated", "critical"),
        # 07:00: by day 60 dB are allowed; clear_for: 5m
        ("06:05:00", "site-boundary", "gate", "cleared", None),
    ]
    assert at_23 == seconds("2026-03-03T22:00")


@pytest.mark.parametrize(("day", "raised"), [("2026-12-24", 0), ("2026-12-25", 1)])
def test_a_holiday_has_the_limits_of_a_day_of_rest(day, raised, tmp_path):
    playing = Playing(configured("3-day-evening-night.yaml", tmp_path))
    start = seconds(f"{day}T09:00", "Europe/Madrid")
    told = playing.hear(steady("site/gate/leq1s", start, start + 2 * 3600, 30, 65))
    assert len(told) == raised


def test_combined(tmp_path):
    playing = Playing(configured("4-combined.yaml", tmp_path))
    start = seconds("2026-02-10T17:00")  # a Tuesday, in working hours until 18:00
    east, shake, west = "yard/east/noise", "yard/east/ppv", "yard/west/ppv"

    def during(begin: float, end: float, topic: str, loud: float, quiet: float) -> Iterator[Told]:
        """Loud from minute *begin* until *end*; quiet before and after, until 20:00."""
        for minute in range(180):
            value = loud if begin <= minute < end else quiet
            yield start + 60 * minute, topic, str(value)

    told = playing.hear(
        [
            *(x for x in during(10, 20, east, 80, 40)),
            *(x for x in during(10, 20, shake, 9, 0.1)),
            *(x for x in during(30, 40, west, 9, 0.1)),
        ]
    )
    assert told == []  # working hours, and another zone

    playing = Playing(configured("4-combined.yaml", tmp_path))
    told = playing.hear(
        [
            *during(90, 100, east, 80, 40),  # 18:30 to 18:40
            *during(95, 97, shake, 9, 0.1),  # 18:35 and 18:36
            *during(130, 150, west, 9, 0.1),  # alone
        ]
    )
    # at 18:35 both; 10 minutes after 18:36 the shaking is out of the window
    assert told == [
        ("18:37:00", "piling-nuisance", "east", "raised", "critical"),  # for: 2m
        ("18:56:00", "piling-nuisance", "east", "cleared", None),  # 18:46, clear_for: 10m
    ]
    assert [x for x in playing.wait(start + 180 * 60 + 600) if x[1] == "gateway-offline"] == [
        ("20:04:00", "gateway-offline", "", "raised", "critical")  # 5m after the last at 19:59
    ]


def test_air_and_a_count_window(tmp_path):
    playing = Playing(configured("5-air-and-count-window.yaml", tmp_path))
    start, room = seconds("2026-02-09T08:00"), "school/204/co2"
    levels = [800] * 10 + [1200] * 10 + [1600] * 12 + [850] * 10
    told = playing.hear((start + 60 * i, room, str(x)) for i, x in enumerate(levels))
    # the lower median of ten is that of the sixth loud one, and of the fifth quiet one
    assert told == [
        ("08:15:00", "stale-air", "204", "raised", "info"),
        ("08:30:00", "stale-air", "204", "escalated", "warning"),  # 08:25, for: 5m
        ("08:36:00", "stale-air", "204", "cleared", None),
    ]


def test_flapping(tmp_path):
    playing = Playing(configured("5-air-and-count-window.yaml", tmp_path))
    start, room = seconds("2026-02-09T08:00"), "school/017/co2"
    levels = [800] * 10 + ([1200] * 7 + [800] * 7) * 4 + [800] * 75
    told = playing.hear((start + 60 * i, room, str(x)) for i, x in enumerate(levels))
    changes = [x[0] for x in told if x[3] in ("raised", "cleared")]
    # sixth of seven loud ones: 08:15, fifth of seven quiet ones: 08:21; and again each 14 minutes
    assert changes == [
        *("08:15:00", "08:21:00", "08:29:00", "08:35:00"),
        *("08:43:00", "08:49:00", "08:57:00", "09:03:00"),
    ]
    # the seventh within an hour is more than six; from 09:57 on 09:03 is one, fewer than three
    assert [x for x in told if x[3] in ("flapping", "steady")] == [
        ("08:57:00", "stale-air", "017", "flapping", "info"),
        ("09:49:00", "stale-air", "017", "steady", None),
    ]


def test_fine_dust(tmp_path):
    playing = Playing(configured("5-air-and-count-window.yaml", tmp_path))
    start, room = seconds("2026-02-09T08:00"), "school/204/pm25"
    levels = [10] * 60 + [40] * 10 + [10] * 80
    told = playing.hear((start + 60 * i, room, str(x)) for i, x in enumerate(levels))
    # of 60 readings, the percentile 95 is 40 if four are, and 11.5 if three are
    assert told == [
        ("09:03:00", "fine-dust", "204", "raised", "warning"),
        # three are left of the ten at 10:07; clear_for: 15m, and at 10:22 it is over
        ("10:21:00", "fine-dust", "204", "cleared", None),
    ]


def test_machine_band(tmp_path):
    playing = Playing(configured("6-machine-band-and-events.yaml", tmp_path))
    start = seconds("2026-03-09T05:30", "America/Sao_Paulo")  # a Monday; 08:30 in UTC

    def pump(name: str, *levels: tuple[float, float]) -> Iterator[Told]:
        """(minutes, level), one after the other, each 10 s."""
        when = start
        for minutes, level in levels:
            topic = f"plant/{name}/vibration"
            yield from steady(topic, when, when + 60 * minutes, 10, level)
            when += 60 * minutes

    told = playing.hear(
        [
            *pump("p1", (40, 0.1), (20, 2)),  # stands still until 06:10
            *pump("p2", (40, 2), (10, 9), (10, 2)),  # grinds from 06:10 to 06:20
            *pump("p4", (40, 2), (20, 9)),  # is not looked at
        ]
    )
    assert [x for x in told if x[2] == "p1"] == [
        ("09:03:00", "pump-vibration-band", "p1", "raised", "warning"),  # the shift, for: 3m
        # the root of the mean square of twelve, two of them at 2 and ten at 0.1: 0.82
        ("09:10:10", "pump-vibration-band", "p1", "cleared", None),
    ]
    assert [x for x in told if x[2] == "p2"] == [
        # of twelve, eight at 9 give 7.4; seven 7.0
        ("09:11:10", "pump-vibration-band", "p2", "raised", "critical"),
        # five left give 6.01, four 5.4; two 4.1, one 3.0
        ("09:21:10", "pump-vibration-band", "p2", "lowered", "warning"),
        ("09:21:40", "pump-vibration-band", "p2", "cleared", None),
    ]
    assert not [x for x in told if x[2] == "p4"]


def test_door_slams(tmp_path):
    playing = Playing(configured("6-machine-band-and-events.yaml", tmp_path))
    start, door = seconds("2026-03-09T12:00"), "plant/p1/slam"
    told = playing.hear(steady(door, start, start + 20 * 60, 60, {"peak": 90}))
    told += playing.hear(steady(door, start + 20 * 60, start + 25 * 60, 60, {"peak": 80}))
    told += playing.wait(start + 3 * 3600)
    assert told == [
        ("12:10:00", "door-slams", "p1", "raised", "warning"),  # the eleventh
        # of those until 12:19, five are left half an hour after that of 12:14
        ("12:44:00", "door-slams", "p1", "cleared", None),
    ]
