"""The wall clock of a real daemon is set, by libfaketime, while messages come through a real broker.

A second daemon hears the same messages, and nobody touches its clock: what both decide must
be the same.
"""

import json
import re
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import sleep
from typing import Any

import pytest

pytestmark = pytest.mark.mosquitto

CONFIG = """\
version: 1
mqtt: {{host: 127.0.0.1, port: {port}, client_id: {name}}}
sensors:
  noise: {{topic: "home/{{room}}/noise", interval: 1s}}
notifiers:
  evidence: {{type: journal, path: evidence.jsonl}}
internal: {{notify: [evidence]}}
defaults: {{notify: [evidence], no_data: {{after: 2m}}}}
rules:
  brief: {{watch: noise, measure: last, for: 3s, clear_for: 3s, warning: {{above: 70}}}}
  long: {{watch: noise, measure: last, for: 5m, warning: {{above: 70}}}}
  peak: {{watch: noise, measure: max, over: 30m, min_coverage: 0, warning: {{above: 90}}}}
"""

WITHOUT_BATTERY = datetime(2019, 2, 9, 3, 4, 5, tzinfo=UTC)
RIGHT = datetime(2027, 3, 1, 12, 0, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
SLOW = timedelta(seconds=30)  # how far a machine may lag behind; no step is so small

#: libfaketime 0.9.10 makes nonsense of a clock_nanosleep() until a time of the steady clock,
#: which is what time.sleep() calls; select() it leaves alone
SITE = """\
import select
import time

time.sleep = lambda seconds: select.select((), (), (), seconds)
"""


class Hands:
    """Set the wall clock of the processes that are started with ``environment``."""

    def __init__(self, folder: Path) -> None:
        if shutil.which("faketime") is None:
            pytest.fail("faketime is missing: apt-get install faketime", pytrace=False)
        said = subprocess.run(
            ["faketime", "-m", "-f", "+0", "env"], capture_output=True, text=True, check=True
        )
        library = re.search(r"^LD_PRELOAD=(.+)$", said.stdout, re.MULTILINE)
        assert library
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(SITE)
        self._offset = folder / "offset"
        self.environment = {
            "LD_PRELOAD": library[1],
            "FAKETIME_TIMESTAMP_FILE": str(self._offset),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "PYTHONPATH": str(folder),
        }

    def set(self, at: datetime) -> None:
        """Set it at once; it goes on from there."""
        seconds = (at - datetime.now(UTC)).total_seconds()
        new = self._offset.with_suffix(".new")
        new.write_text(f"{seconds:+.3f}\n")
        new.replace(self._offset)


class Street:
    """Two daemons that hear the same."""

    def __init__(self, broker, control, stepped) -> None:
        self.broker, self.control, self.stepped = broker, control, stepped

    def hear(self, value: float) -> None:
        self.broker.publish([("home/attic/noise", str(value))])

    def until(self, value: float, rule: str, event: str) -> None:
        """Let the sensor say *value* until both have decided that."""
        for _ in range(600):
            self.hear(value)
            if all(
                (line["rule"], line["event"]) == (rule, event)
                for daemon in (self.control, self.stepped)
                for line in decided(daemon)[-1:] or [{"rule": "", "event": ""}]
            ):
                return
            sleep(0.1)
        pytest.fail(f"no {event} of {rule} in {decided(self.control)}, {decided(self.stepped)}")


def journal(daemon) -> list[dict[str, Any]]:
    path = daemon.folder / "evidence.jsonl"
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def decided(daemon) -> list[dict[str, Any]]:
    """What was decided of the sensor; a daemon in doubt of its clock says that, too."""
    return [line for line in journal(daemon) if not line["rule"].startswith("internal/")]


def when(line: dict[str, Any], key: str) -> datetime:
    return datetime.fromisoformat(line[key])


@pytest.fixture
def hands(tmp_path) -> Hands:
    return Hands(tmp_path / "hands")


@pytest.fixture
def street(mosquitto, run, tmp_path, hands) -> Street:
    hands.set(WITHOUT_BATTERY)
    broker = mosquitto().start()
    control = run(CONFIG.format(port=broker.port, name="control"), tmp_path / "control")
    stepped = run(
        CONFIG.format(port=broker.port, name="stepped"), tmp_path / "stepped", **hands.environment
    )
    for daemon in (control, stepped):
        daemon.wait_for("mqtt.connected")
    return Street(broker, control, stepped)


def test_g10_a_clock_that_is_set_neither_makes_nor_ends_an_alert(street, hands):
    street.until(95, "peak", "raised")
    hands.set(RIGHT)  # `brief` and `long` are pending, and eight years pass
    street.until(95, "brief", "raised")
    street.hear(50)
    hands.set(RIGHT - HOUR)  # `brief` is clearing
    street.until(50, "brief", "cleared")
    control, stepped = decided(street.control), decided(street.stepped)

    facts = ["rule", "labels", "event", "severity", "was", "reason", "episode", "value", "peak"]
    assert [[line[x] for x in facts] for line in stepped] == [
        [line[x] for x in facts] for line in control
    ]
    # no more than that: the window still holds the peak, `long` waits for its five minutes,
    # and the silence of eight years was none
    assert [(line["rule"], line["event"]) for line in stepped] == [
        ("peak", "raised"),
        ("brief", "raised"),
        ("brief", "cleared"),
    ]
    lasted = [[when(x, "at") - when(x, "started") for x in told] for told in (control, stepped)]
    assert all(abs(a - b) < SLOW for a, b in zip(*lasted, strict=True)), lasted


def test_g10_people_hear_that_the_clock_was_wrong_and_are_told_by_the_right_one(
    street, hands, eventually
):
    def clock(daemon) -> list[str]:
        return [line["event"] for line in journal(daemon) if line["rule"] == "internal/clock"]

    street.until(95, "brief", "raised")
    eventually(lambda: clock(street.stepped) == ["raised"])
    hands.set(RIGHT)
    eventually(lambda: clock(street.stepped) == ["raised", "cleared"])
    street.until(50, "brief", "cleared")
    raised, cleared = (line for line in decided(street.stepped) if line["rule"] == "brief")
    assert abs(when(raised, "at") - WITHOUT_BATTERY) < SLOW
    assert abs(when(cleared, "at") - RIGHT) < SLOW
    assert abs(when(cleared, "started") - RIGHT) < SLOW  # seconds ago, as anybody would say
    [stepped] = street.stepped.logged("clock.stepped")
    assert abs(stepped["by_s"] - (RIGHT - WITHOUT_BATTERY).total_seconds()) < SLOW.seconds
    assert not clock(street.control)
    assert not street.control.logged("clock.stepped")
