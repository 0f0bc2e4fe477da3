"""Brokers come late, go away, and say no; the daemon holds on and says what is wrong."""

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

pytestmark = pytest.mark.mosquitto

REPO = Path(__file__).resolve().parents[2]

CONFIG = """\
version: 1
mqtt: {{host: 127.0.0.1, port: {port}{more}}}
sensors:
  noise: {{topic: "home/{{room}}/noise"}}
notifiers:
  evidence: {{type: journal, path: evidence.jsonl}}
  hook: {{type: webhook, url: "{url}"}}
rules:
  loud: {{watch: noise, measure: last, warning: {{above: 70}}, notify: [evidence, hook]}}
"""


def config(broker, receiver, more: str = "") -> str:
    return CONFIG.format(port=broker.port, url=receiver.url, more=more)


@pytest.fixture
def installed(mosquitto, tmp_path) -> Callable[[bool], Any]:
    """Return a function that makes a broker set up as Debian does it, with our settings or without."""

    def make(ours: bool) -> Any:
        broker = mosquitto()
        folder, log = tmp_path / "conf.d", tmp_path / "mosquitto.log"
        folder.mkdir()
        if ours:
            shutil.copy(REPO / "config/mosquitto/hushd.conf", folder)
        own = f"listener {broker.port} 127.0.0.1\nallow_anonymous true\n"
        (folder / "local.conf").write_text(own)
        broker._config.write_text(
            ("user root\n" if os.geteuid() == 0 else "")
            + f"persistence true\npersistence_location {tmp_path}/\n"
            + f"log_dest file {log}\ninclude_dir {folder}\n"
        )
        return broker

    return make


def titles(receiver) -> list[str]:
    return [note["title"] for note in receiver.notes]


def test_a_broker_that_comes_late_is_waited_for(mosquitto, receiver, run, eventually):
    broker = mosquitto()
    daemon = run(config(broker, receiver))
    daemon.wait_for("mqtt.unreachable")
    broker.start()
    daemon.wait_for("mqtt.connected")
    broker.publish([("home/attic/noise", "75")])
    eventually(lambda: titles(receiver) == ["Room attic: noise is 75, limit 70 (warning)"])
    assert daemon.stop() == 0


def test_a_broker_that_goes_away_heals(mosquitto, receiver, run, eventually):
    broker = mosquitto().start()
    daemon = run(config(broker, receiver))
    daemon.wait_for("mqtt.connected")
    broker.publish([("home/attic/noise", "75")])
    eventually(lambda: len(receiver.notes) == 1)
    broker.stop()
    daemon.wait_for("mqtt.disconnected")
    broker.start()
    daemon.wait_for("mqtt.connected", times=2)
    broker.publish([("home/attic/noise", "65")])
    eventually(lambda: len(receiver.notes) == 2)
    assert [note["kind"] for note in receiver.notes] == ["raised", "cleared"]
    assert daemon.stop() == 0


@pytest.mark.parametrize(("ours", "kept"), [(True, 3000), (False, 1000)])
def test_our_settings_of_mosquitto_keep_what_is_sent_while_hushd_is_away(
    ours, kept, installed, receiver, run, eventually, tmp_path
):
    broker = installed(ours).start()
    daemon = run(config(broker, receiver))
    daemon.wait_for("mqtt.connected", session="new")
    assert daemon.stop() == 0
    broker.publish([("home/attic/noise", "50")] * 3000)
    broker.stop()
    broker.start()
    daemon = run(config(broker, receiver))
    daemon.wait_for("mqtt.connected", session="kept")
    broker.publish([("home/attic/noise", "75")])
    daemon.wait_for("alert.changed")
    assert daemon.stop() == 0
    assert daemon.logged("hushd.stopped", readings=kept + 1, rejected=0)
    said = (tmp_path / "mosquitto.log").read_text()
    assert "running" in said
    assert not [line for line in said.splitlines() if "Error" in line or "Warning" in line]


def test_a_wrong_password_is_said_and_shown_nowhere(mosquitto, receiver, run, tmp_path):
    passwords = tmp_path / "passwords"
    passwords.write_text("")
    passwords.chmod(0o600)
    broker = mosquitto("allow_anonymous false", f"password_file {passwords}").start()
    more = ", username: hushd, password: {env: HUSHD_TEST_PASSWORD}"
    daemon = run(config(broker, receiver, more), HUSHD_TEST_PASSWORD="canary-7")
    (line, *_) = daemon.wait_for("mqtt.refused")
    assert "mqtt.password" in line["hint"]
    assert daemon.stop() == 0
    assert "canary-7" not in str(daemon.log)


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order(signum, mosquitto, receiver, run):
    broker = mosquitto().start()
    daemon = run(config(broker, receiver))
    daemon.wait_for("mqtt.connected")
    began = monotonic()
    assert daemon.stop(signum) == 0
    assert monotonic() - began < 5
    assert [line["event"] for line in daemon.log][-2:] == ["hushd.stop_requested", "hushd.stopped"]
    assert not any(line["level"] == "error" for line in daemon.log)


def test_a_second_signal_ends_it_at_once(mosquitto, receiver, run, eventually):
    receiver.status = 503
    broker = mosquitto().start()
    daemon = run(config(broker, receiver))
    daemon.wait_for("mqtt.connected")
    receiver.shutdown()  # it still listens, but never answers
    broker.publish([("home/attic/noise", "75")])
    daemon.wait_for("alert.changed")
    daemon.child.send_signal(signal.SIGTERM)
    daemon.wait_for("hushd.stop_requested")
    assert daemon.stop(signal.SIGINT) == 128 + signal.SIGINT


def test_without_a_broker_it_ends_too(mosquitto, receiver, run):
    daemon = run(config(mosquitto(), receiver))
    daemon.wait_for("mqtt.unreachable")
    began = monotonic()
    assert daemon.stop() == 0
    assert monotonic() - began < 5


def test_a_notifier_that_fails_stops_no_other_and_hears_how_it_stands(
    mosquitto, receiver, run, eventually, tmp_path
):
    receiver.status = 500
    broker = mosquitto().start()
    daemon = run(config(broker, receiver))
    daemon.wait_for("mqtt.connected")
    broker.publish([("home/attic/noise", str(level)) for level in (75, 65, 80)])
    journal = tmp_path / "evidence.jsonl"
    eventually(lambda: journal.exists() and len(journal.read_text().splitlines()) == 3)
    daemon.wait_for("notifier.failed", notifier="hook")
    assert receiver.notes == []
    receiver.status = 200
    eventually(lambda: len(receiver.notes) == 1)
    assert receiver.notes[0]["kind"] == "raised"
    assert receiver.notes[0]["alert"]["value"] == 80
    assert daemon.stop() == 0


def test_retained_messages_are_not_readings(mosquitto, receiver, run, eventually):
    broker = mosquitto().start()
    broker.publish([("home/attic/noise", "75")], retain=True)
    daemon = run(config(broker, receiver))
    daemon.wait_for("mqtt.connected")
    broker.publish([("home/cellar/noise", "71")])
    eventually(lambda: len(receiver.notes) == 1)
    assert receiver.notes[0]["alert"]["labels"] == {"room": "cellar"}
    assert daemon.stop() == 0
    assert daemon.logged("hushd.stopped", readings=1, rejected=1)


def test_what_nobody_can_read_is_counted_and_the_rest_is_read(mosquitto, receiver, run, eventually):
    broker = mosquitto().start()
    daemon = run(config(broker, receiver))
    daemon.wait_for("mqtt.connected")
    odd = ["nan", "-inf", "", "unavailable", '{"a": 1}', "1_0", "9" * 70_000]
    broker.publish([("home/attic/noise", payload) for payload in [*odd, "75"]])
    eventually(lambda: len(receiver.notes) == 1)
    assert daemon.stop() == 0
    assert daemon.logged("hushd.stopped", readings=1, rejected=len(odd))
    assert daemon.logged("message.rejected", reason="payload_too_long")
