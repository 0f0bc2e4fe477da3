"""The first thing a newcomer sees: alerts within twenty seconds, and a clean end."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest

HUSHD = Path(sys.executable).parent / "hushd"


def children(pid: int) -> list[str]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [child for task in tasks for child in task.read_text().split()]


@pytest.fixture
def demo() -> Iterator:
    """Return a function that starts the demo."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [HUSHD, "demo", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONUTF8": "1"},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def until(process: subprocess.Popen[str], pattern: str) -> str:
    """Return all lines up to the first that matches."""
    assert process.stdout is not None
    seen = ""
    for line in process.stdout:
        seen += line
        if re.search(pattern, line):
            return seen
    raise AssertionError(f"it ended:\n{seen}")


@pytest.mark.parametrize(
    "broker", [pytest.param("mosquitto", marks=pytest.mark.mosquitto), "iotcore"]
)
def test_an_alert_within_twenty_seconds_and_a_clean_end(demo, broker):
    began = monotonic()
    process = demo("--embedded", broker)
    seen = until(process, "ALERT")
    assert monotonic() - began < 20
    assert f"({broker} at 127.0.0.1:" in seen
    assert "House 7: noise over 5s is " in seen
    assert "dBA, limit 65 (warning)" in seen
    (child,) = children(process.pid)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 0
    assert err == ""
    assert "That was the demo." in out
    assert not Path(f"/proc/{child}").exists()


@pytest.mark.mosquitto
def test_the_party_ends_and_so_does_the_demo_by_itself(demo):
    process = demo("--embedded", "mosquitto", "--seconds", "25")
    out, err = process.communicate(timeout=40)
    assert process.returncode == 0
    assert err == ""
    marks = re.findall(r"^\d\d:\d\d:\d\d  (ALERT|WORSE|BETTER|OK)", out, re.MULTILINE)
    assert marks[0] == "ALERT"
    assert "WORSE" in marks
    assert "OK" in marks
    assert "all well again" in out


@pytest.mark.mosquitto
def test_with_a_broker_of_theirs(demo, mosquitto):
    broker = mosquitto().start()
    process = demo("--broker", f"127.0.0.1:{broker.port}")
    until(process, "ALERT")
    assert children(process.pid) == []
    process.terminate()
    process.communicate(timeout=20)
    assert process.returncode == 0


def test_what_is_no_address_is_wrong_usage(demo):
    process = demo("--broker", "localhost:mqtt")
    _, err = process.communicate(timeout=20)
    assert process.returncode == 2
    assert err == 'hushd demo: --broker "localhost:mqtt": write HOST or HOST:PORT\n'
