"""The first thing a newcomer sees: alerts within twenty seconds, and a clean end."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

import pytest

from hushd.cli.broker import broker
from hushd.cli.showing import _address

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


@pytest.mark.parametrize(
    "text", ["", "localhost:mqtt", "localhost:0", "a b", "mqtt://a", "a..b", "a" * 64, "[::1]:"]
)
def test_what_is_no_address_is_wrong_usage(demo, text):
    process = demo("--broker", text)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 2
    assert err == f'hushd demo: --broker "{text}": write HOST or HOST:PORT\n'


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("broker.lan", "broker.lan", 1883),
        ("broker.lan:1884", "broker.lan", 1884),
        ("::1", "::1", 1883),
        ("[::1]", "::1", 1883),
        ("[::1]:1884", "::1", 1884),
    ],
)
def test_addresses(text, host, port):
    assert _address(text)[:2] == (host, port)


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "soon"])
def test_what_is_no_time_is_wrong_usage(demo, seconds):
    process = demo("--seconds", seconds)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 2
    assert "--seconds" in err


@pytest.mark.mosquitto
def test_it_ends_when_nobody_reads_any_more(demo):
    process = demo("--embedded", "mosquitto")
    until(process, "ALERT")
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate(timeout=20)
    assert process.returncode == 0
    assert err == ""


@pytest.mark.mosquitto
def test_it_ends_with_its_terminal(demo):
    process = demo("--embedded", "mosquitto")
    until(process, "ALERT")
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=20)
    assert process.returncode == 0


@pytest.mark.parametrize(
    "which", [pytest.param("mosquitto", marks=pytest.mark.mosquitto), "iotcore"]
)
def test_killed_it_leaves_no_broker_behind(demo, which):
    process = demo("--embedded", which)
    port = int(re.findall(r"127\.0\.0\.1:(\d+)", until(process, "hushd demo"))[0])
    process.kill()
    process.wait(20)

    def gone() -> bool:
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex(("127.0.0.1", port)) != 0

    deadline = monotonic() + 10
    while not gone():
        assert monotonic() < deadline, f"{which} still listens"
        sleep(0.05)


def test_ctrl_c_is_not_lost_while_the_broker_starts(monkeypatch):
    got = []
    monkeypatch.setattr("iotcore.Broker.start", lambda *_: os.kill(os.getpid(), signal.SIGINT))
    monkeypatch.setattr("iotcore.Broker.stop", lambda *_: None)
    before = signal.signal(signal.SIGINT, lambda *_: got.append(1))
    try:
        with broker("iotcore"):
            assert got == [1]
    finally:
        signal.signal(signal.SIGINT, before)
