"""Silences, reminders and stand-ins of a real daemon, with its plug pulled in between."""

import os
import subprocess
import sys
from pathlib import Path
from time import sleep

import pytest

pytestmark = pytest.mark.mosquitto

HUSHD = Path(sys.executable).parent / "hushd"
CONFIG = """\
version: 1
mqtt: {{host: 127.0.0.1, port: {port}, client_id: hushd-test}}
sensors:
  noise: {{topic: "home/{{room}}/noise"}}
  link: {{topic: "home/{{gate}}/link"}}
notifiers:
  desk: {{type: webhook, url: "{url}"}}
rules:
  loud:
    watch: noise
    each: [room]
    measure: last
    warning: {{above: 70}}
    repeat: 1s
    mute_while: [gateway]
    notify: [desk]
  gateway: {{watch: link, each: [], measure: last, critical: {{below: 1}}, notify: []}}
"""


def ask(daemon, *words: str) -> str:
    done = subprocess.run(
        [HUSHD, *words, "-c", daemon.config],
        env=os.environ | {"XDG_RUNTIME_DIR": str(daemon.folder)},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def kinds(receiver) -> list[tuple[str, str]]:
    return [(note["kind"], note["alert"]["labels"]["room"]) for note in receiver.notes]


def test_a_silence_holds_through_kill_9_and_is_over_when_somebody_says_so(
    mosquitto, run, receiver, eventually
):
    broker = mosquitto().start()
    config = CONFIG.format(port=broker.port, url=receiver.url)
    daemon = run(config)
    daemon.wait_for("mqtt.connected")
    broker.publish([("home/attic/noise", "80")])
    eventually(lambda: kinds(receiver)[:1] == [("raised", "attic")])
    ask(daemon, "ack", "loud", "--label", "room=attic", "--comment", "on my way")
    ask(daemon, "silence", "loud", "--for", "1h", "--comment", "painters")
    broker.publish([("home/hall/noise", "80"), ("home/cellar/noise", "80")])
    broker.publish([("home/cellar/noise", "50")])
    eventually(lambda: len(daemon.logged("alert.changed")) == 4)
    before = len(receiver.notes)
    daemon.kill()
    daemon = run(config)
    daemon.wait_for("mqtt.connected", session="kept")
    sleep(1.5)  # longer than it takes to be reminded
    assert len(receiver.notes) == before
    ask(daemon, "silence", "--end", "1")
    eventually(lambda: ("repeat", "hall") in kinds(receiver)[before:])
    after = kinds(receiver)[before:]
    assert after[0] == ("raised", "hall")
    assert {room for _, room in after} == {"hall"}  # the attic is minded, the cellar was silenced


def test_what_another_alert_explains_waits_for_its_end(mosquitto, run, receiver, eventually):
    broker = mosquitto().start()
    daemon = run(CONFIG.format(port=broker.port, url=receiver.url))
    daemon.wait_for("mqtt.connected")
    broker.publish([("home/gate/link", "0"), ("home/attic/noise", "80")])
    eventually(lambda: len(daemon.logged("alert.changed")) == 2)
    daemon.kill()
    daemon = run(CONFIG.format(port=broker.port, url=receiver.url))
    daemon.wait_for("mqtt.connected", session="kept")
    sleep(0.5)
    assert receiver.notes == []
    broker.publish([("home/gate/link", "1")])
    eventually(lambda: ("repeat", "attic") in kinds(receiver))
    assert kinds(receiver)[0] == ("raised", "attic")
