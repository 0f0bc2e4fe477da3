"""Odd messages and packets to a running daemon: each is accounted for, and it goes on.

The corpus and what is to come of each part of it: tests/support/bad_inputs.py.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import bad_inputs
import pytest
from bad_inputs import FRAMES, MESSAGES, NOTHING, SENSORS, Bad, lawful
from fake_broker import FakeBroker
from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion

from hushd.runtime import control

CONFIG = """\
version: 1
mqtt: {{host: 127.0.0.1, port: {port}, session_expiry: 0s, status_topic: off}}
notifiers: {{evidence: {{type: journal, path: evidence.jsonl}}, screen: {{type: log}}}}
sensors:
{sensors}
defaults: {{notify: [evidence, screen], no_data: ignore}}
rules:
  plain: {{watch: plain, measure: last, over: 1 samples, warning: {{above: 70}}}}
  full: {{watch: full, measure: last, over: 1 samples, warning: {{above: 40}}}}
"""

#: packets after which the connection may go on, so that a daemon need not wait between them
PASSING = [
    "a SUBACK that nobody waits for",
    "a PUBACK that nobody waits for",
    "a PINGRESP that nobody waits for",
    "a copy of QoS 0",
]


def config(port: int) -> str:
    return CONFIG.format(port=port, sensors=SENSORS)


class Running:
    """A daemon, its numbers, and what must not be in its log."""

    def __init__(self, daemon: Any, folder: Path, eventually: Callable[..., Any]) -> None:
        self.daemon = daemon
        self.eventually = eventually
        self._door = folder / "hushd" / control.name_for(daemon.config)
        daemon.wait_for("mqtt.connected")

    def readings(self) -> tuple[int, Counter[str]]:
        """Return how many were accepted, and what was rejected, by reason."""
        readings = control.ask(self._door, {"do": "status"})["status"]["readings"]
        reasons: Counter[str] = Counter()
        for row in readings["rejected"]["reasons"]:
            reasons[row["reason"]] += row["number"]
        return readings["accepted"], reasons

    def check(self) -> None:
        """See that nothing died on the way."""
        assert self.daemon.stop() == 0
        events = {line["event"] for line in self.daemon.log}
        bad = {"thread.died", "mqtt.thread_died", "mqtt.callback_failed", "mqtt.failed"}
        assert not events & (bad | {"notifier.failed", "notifier.refused"})


def expected(sent: Iterable[Bad]) -> tuple[int, Counter[str]]:
    """Return how many readings are in what was sent, and how many of each reason."""
    words = [bad.outcome for bad in sent]
    reasons = Counter(word for word in words if isinstance(word, str) and word != NOTHING)
    return sum(isinstance(word, float) for word in words), reasons


@pytest.fixture
def publisher() -> Iterator[paho.Client]:
    client = paho.Client(CallbackAPIVersion.VERSION2)
    yield client
    client.disconnect()
    client.loop_stop()


def without_stamps(messages: Iterable[Bad]) -> list[Bad]:
    """Leave out what a daemon in its own time finds too old: the stamps are of one day of 2025."""
    return [bad for bad in messages if bad.topic != b"full/attic" or isinstance(bad.outcome, str)]


@pytest.mark.mosquitto
def test_what_a_broker_lets_pass_is_accounted_for(mosquitto, run, publisher, tmp_path, eventually):
    broker = mosquitto().start()
    running = Running(run(config(broker.port)), tmp_path, eventually)
    sent = without_stamps(bad for bad in MESSAGES if lawful(bad.topic))
    assert len(sent) > 100
    publisher.connect("127.0.0.1", broker.port)
    publisher.loop_start()
    for bad in sent:
        publisher.publish(bad.topic.decode(), bad.payload, qos=1)
    publisher.publish("plain/good", "75", qos=1).wait_for_publish(30)
    accepted, reasons = expected(sent)
    reasons["no_sensor"] = 0  # nobody asked the broker for those
    eventually(lambda: running.readings() == (accepted + 1, +reasons), what=running.readings())
    assert running.daemon.wait_for("alert.changed", labels={"room": "good"})
    running.check()


def test_what_no_broker_would_let_pass_is_accounted_for(run, tmp_path, eventually):
    broker = FakeBroker()
    running = Running(run(config(broker.port)), tmp_path, eventually)
    sent = without_stamps(MESSAGES)
    frames = {frame.name: frame.data for frame in FRAMES}
    for name in PASSING:
        broker.send(frames[name])
    for bad in sent:
        broker.send(bad_inputs.publish(bad.topic, bad.payload))
    broker.send(bad_inputs.publish(b"plain/good", b"75"))
    accepted, reasons = expected(sent)
    accepted += 2  # the good one, and the copy
    eventually(lambda: running.readings() == (accepted, reasons), what=running.readings())
    running.check()
    broker.close()


def test_after_a_packet_that_is_none_the_next_good_message_counts(run, tmp_path, eventually):
    """The rest of them: tests/runtime/test_bad_input.py.  Here the pauses are those of real life."""
    broker = FakeBroker()
    running = Running(run(config(broker.port)), tmp_path, eventually)
    frames = {frame.name: frame.data for frame in FRAMES}
    for times, name in enumerate(["a length of ten bytes", "a topic longer than its packet"], 2):
        broker.send(frames[name])
        running.daemon.wait_for("mqtt.connected", times=times)
        before, _ = running.readings()
        broker.send(bad_inputs.publish(b"plain/good", b"50"))
        eventually(lambda before=before: running.readings()[0] == before + 1)
    running.check()
    broker.close()


@pytest.mark.mosquitto
def test_labels_are_told_as_they_stand_and_forge_nothing(mosquitto, run, tmp_path, eventually):
    broker = mosquitto().start()
    running = Running(run(config(broker.port)), tmp_path, eventually)
    rooms = ["{0.__class__}", "{{7*7}}", "%s%n", "<0>panic", "$(reboot)", "\u202egnp.exe", "a:b=c"]
    broker.publish([(f"plain/{room}", "80") for room in rooms])
    evidence = tmp_path / "evidence.jsonl"
    eventually(lambda: evidence.exists() and evidence.read_text().count("\n") == len(rooms))
    told = [json.loads(line)["labels"]["room"] for line in evidence.read_text().splitlines()]
    assert told == rooms
    titles = [line["title"] for line in running.daemon.wait_for("alert.raised", times=len(rooms))]
    assert [title.split(":")[0] for title in titles] == [
        f"Room {room}".split(":")[0] for room in rooms
    ]
    log = (tmp_path / "log.jsonl").read_text()
    assert all(
        line.startswith('{"timestamp": ') and line.isprintable() for line in log.split("\n")[:-1]
    )
    running.check()
