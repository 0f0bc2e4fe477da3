"""The plug is pulled: what was kept, what is told afterwards, and what is told twice."""

import signal
import sqlite3
from contextlib import closing
from time import sleep

import pytest

pytestmark = pytest.mark.mosquitto

CONFIG = """\
version: 1
mqtt: {{host: 127.0.0.1, port: {port}, client_id: hushd-test}}
store: {{commit_interval: {interval}}}
sensors:
  noise: {{topic: "home/{{room}}/noise"}}
notifiers:
  desk: {{type: webhook, url: "{url}"}}
  evidence: {{type: journal, path: evidence.jsonl}}
rules:
  loud: {{watch: noise, each: [room], measure: mean, over: 4 samples, warning: {{above: 70, clear: 60}}, notify: [desk, evidence]}}
"""


def config(broker, receiver, interval: str = "1s") -> str:
    return CONFIG.format(port=broker.port, url=receiver.url, interval=interval)


def kinds(receiver) -> list[tuple]:
    return [
        (note["kind"], note["alert"]["labels"]["room"], note["alert"]["episode"])
        for note in receiver.notes
        if note["alert"]["rule"] == "loud"
    ]


def waiting(daemon) -> int:
    """Return how many notes are not settled."""
    with closing(sqlite3.connect(daemon.folder / "hushd.db")) as kept:
        found: int = kept.execute("SELECT count(*) FROM outbox").fetchone()[0]
        return found


def test_g1_an_alert_survives_kill_9_and_nobody_is_told_of_it_twice(
    mosquitto, run, receiver, eventually
):
    broker = mosquitto().start()
    daemon = run(config(broker, receiver))
    daemon.wait_for("mqtt.connected")
    broker.publish([("home/attic/noise", "80")] * 4)
    eventually(lambda: kinds(receiver) == [("raised", "attic", 1)])
    eventually(lambda: waiting(daemon) == 0)  # else it would be told again, and say so
    daemon.kill()
    daemon = run(config(broker, receiver))
    daemon.wait_for("mqtt.connected", session="kept")
    broker.publish([("home/attic/noise", "50")] * 3)  # with one of 80: a mean of 57.5
    eventually(lambda: kinds(receiver)[1:] == [("cleared", "attic", 1)])
    assert daemon.stop() == 0
    daemon = run(config(broker, receiver))
    daemon.wait_for("mqtt.connected", session="kept")
    broker.publish([("home/attic/noise", "90")] * 4)
    eventually(lambda: kinds(receiver)[2:] == [("raised", "attic", 2)])


def test_g3_what_was_taken_before_the_kill_is_in_the_window_after_it(
    mosquitto, run, receiver, eventually
):
    broker = mosquitto().start()
    daemon = run(config(broker, receiver, interval="60s"))  # nothing is committed by itself
    daemon.wait_for("mqtt.connected")
    broker.publish([("home/attic/noise", "80")] * 3)
    sleep(0.5)
    daemon.kill()  # with three readings neither kept nor acknowledged
    broker.publish([("home/attic/noise", "80")])
    daemon = run(config(broker, receiver))
    eventually(lambda: kinds(receiver) == [("raised", "attic", 1)])
    assert daemon.stop() == 0
    (line,) = daemon.logged("hushd.stopped")
    assert (line["readings"], line["rejected"]) == (4, 0)


def test_a_note_that_could_not_be_told_before_the_kill_is_told_after_it(
    mosquitto, run, receiver, eventually
):
    broker = mosquitto().start()
    receiver.status = 503
    daemon = run(config(broker, receiver))
    daemon.wait_for("mqtt.connected")
    broker.publish([("home/attic/noise", "80")] * 4)
    eventually(lambda: receiver.refused)
    daemon.kill()
    receiver.status = 200
    run(config(broker, receiver))
    eventually(lambda: kinds(receiver) == [("raised", "attic", 1)])


def test_g5_a_session_that_the_broker_forgot_is_put_on_record(mosquitto, run, receiver, eventually):
    broker = mosquitto().start()  # it keeps nothing on its disk
    daemon = run(config(broker, receiver) + "internal: {notify: [desk]}\n")
    daemon.wait_for("mqtt.connected")
    broker.stop()
    daemon.wait_for("mqtt.disconnected")
    broker.start()
    daemon.wait_for("readings.lost", which="session")
    eventually(
        lambda: [n["alert"]["labels"] for n in receiver.notes] == [{"gap": "session"}],
        what=str(receiver.notes),
    )
    assert daemon.stop() == 0
    with sqlite3.connect(daemon.folder / "hushd.db") as kept:
        assert len(kept.execute("SELECT * FROM gap").fetchall()) == 1


def test_g6_what_came_without_a_promise_is_kept_from_the_next_commit_on(
    mosquitto, run, receiver, eventually
):
    broker = mosquitto().start()
    daemon = run(config(broker, receiver, interval="200ms"))
    daemon.wait_for("mqtt.connected")
    broker.publish([("home/attic/noise", "80")] * 3, qos=0)
    sleep(2)  # long enough for a commit
    daemon.kill()
    broker.publish([("home/attic/noise", "80")] * 3, qos=0)  # to nobody
    daemon = run(config(broker, receiver, interval="200ms"))
    daemon.wait_for("mqtt.connected", session="kept")
    assert kinds(receiver) == []
    broker.publish([("home/attic/noise", "80")], qos=0)
    eventually(lambda: kinds(receiver) == [("raised", "attic", 1)])


def test_g12_without_a_disk_it_goes_on_says_so_and_keeps_all_of_it_when_there_is_one(
    mosquitto, run, receiver, eventually, tmp_path
):
    broker = mosquitto().start()
    text = config(broker, receiver).replace("store: {", "store: {path: disk/hushd.db, ")
    text += "internal: {notify: [desk]}\n"
    disk = tmp_path / "disk"
    disk.write_text("no folder, so nothing can be in it")
    daemon = run(text)

    def internal() -> list[str]:
        return [
            note["kind"] for note in receiver.notes if note["alert"]["rule"] == "internal/store"
        ]

    eventually(lambda: internal() == ["raised"])
    broker.publish([("home/attic/noise", "80")] * 4)
    eventually(lambda: kinds(receiver) == [("raised", "attic", 1)])
    disk.unlink()
    eventually(lambda: internal() == ["raised", "cleared"], seconds=60)
    daemon.kill()
    daemon = run(text)
    daemon.wait_for("mqtt.connected", session="kept")
    broker.publish([("home/attic/noise", "50")] * 4)
    eventually(lambda: kinds(receiver)[1:] == [("cleared", "attic", 1)])


def test_a_second_daemon_leaves_the_store_to_the_first(mosquitto, run, receiver):
    broker = mosquitto().start()
    first = run(config(broker, receiver))
    first.wait_for("mqtt.connected")
    second = run(config(broker, receiver).replace("hushd-test", "hushd-other"))
    second.child.communicate(timeout=15)
    assert second.child.returncode == 69
    assert second.logged("store.in_use")


def test_what_waits_in_a_store_that_cannot_be_opened_is_told_when_it_can(
    mosquitto, run, receiver, eventually
):
    broker = mosquitto().start()
    receiver.status = 503
    daemon = run(config(broker, receiver))
    daemon.wait_for("mqtt.connected")
    broker.publish([("home/attic/noise", "80")] * 4)
    eventually(lambda: receiver.refused)
    daemon.kill()
    receiver.status = 200
    tool = sqlite3.connect(daemon.folder / "hushd.db", isolation_level=None)
    tool.execute("PRAGMA locking_mode = EXCLUSIVE")
    tool.execute("BEGIN EXCLUSIVE")
    daemon = run(config(broker, receiver) + "internal: {notify: [desk]}\n")
    daemon.wait_for("store.failed")
    daemon.wait_for("mqtt.connected", session="kept")
    assert kinds(receiver) == []
    tool.execute("ROLLBACK")
    tool.close()
    eventually(lambda: kinds(receiver) == [("raised", "attic", 1)])
    (note,) = (note for note in receiver.notes if note["alert"]["rule"] == "loud")
    assert note["possible_duplicate"]
    eventually(
        lambda: any(n["alert"]["labels"] == {"gap": "store"} for n in receiver.notes),
        what=str(receiver.notes),
    )
    (aside,) = daemon.folder.glob("hushd.db.corrupt.*")
    assert daemon.logged("store.set_aside", to=str(aside))


def test_who_was_taken_out_while_something_waited_hears_of_it_when_he_is_back(
    mosquitto, run, receiver, eventually
):
    broker = mosquitto().start()
    receiver.status = 503
    text = config(broker, receiver)
    daemon = run(text)
    daemon.wait_for("mqtt.connected")
    broker.publish([("home/attic/noise", "80")] * 4)
    eventually(lambda: receiver.refused)
    without = [line for line in text.splitlines() if "webhook" not in line]
    daemon.config.write_text("\n".join(without).replace("[desk, evidence]", "[evidence]"))
    daemon.child.send_signal(signal.SIGHUP)
    daemon.wait_for("notifier.left_untold", notifier="desk")
    receiver.status = 200
    daemon.config.write_text(text)
    daemon.child.send_signal(signal.SIGHUP)
    eventually(lambda: kinds(receiver) == [("raised", "attic", 1)])


def test_alerts_only_keeps_the_alerts_and_says_that_windows_have_gaps(
    mosquitto, run, receiver, eventually
):
    broker = mosquitto().start()
    text = config(broker, receiver).replace("store: {", "store: {profile: alerts-only, ")
    daemon = run(text)
    daemon.wait_for("mqtt.connected")
    broker.publish([("home/attic/noise", "80")] * 4)
    eventually(lambda: kinds(receiver) == [("raised", "attic", 1)])
    daemon.kill()
    daemon = run(text)
    daemon.wait_for("mqtt.connected", session="kept")
    broker.publish([("home/attic/noise", "50")] * 3)
    eventually(lambda: kinds(receiver)[1:] == [("cleared", "attic", 1)])
    raised, cleared = (note["alert"] for note in receiver.notes)
    assert "incomplete" not in raised
    assert cleared["incomplete"] is True


DEADLY = """\
import os
from hushd.plugin import Decoder, Sample, hookimpl
def build(wanted):
    def decode(payload):
        if payload == b"die":
            os._exit(9)
        return [Sample(float(payload))]
    return decode
@hookimpl
def hushd_decoders():
    return [Decoder("deadly", "a number, unless it is too much for it", build)]
"""


def test_a_message_that_ends_the_process_does_not_do_so_for_ever(
    mosquitto, run, receiver, eventually, tmp_path
):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "deadly.py").write_text(DEADLY)
    broker = mosquitto().start()
    text = config(broker, receiver).replace('noise"}', 'noise", value: deadly}')
    text += "plugins: {directory: plugins}\ninternal: {notify: [desk]}\n"
    daemon = run(text)
    daemon.wait_for("mqtt.connected")
    broker.publish([("home/attic/noise", level) for level in ("80", "80", "80", "die", "80")])
    for _ in range(4):
        daemon.child.communicate(timeout=20)
        assert daemon.child.returncode == 9
        daemon = run(text)
    eventually(lambda: kinds(receiver) == [("raised", "attic", 1)])
    eventually(lambda: any(n["alert"]["labels"] == {"gap": "message"} for n in receiver.notes))
    assert daemon.stop() == 0
    (line,) = daemon.logged("message.rejected", reason="deadly")
    assert line["topic"] == "home/attic/noise"
    with sqlite3.connect(daemon.folder / "hushd.db") as kept:
        assert kept.execute("SELECT * FROM meta WHERE key = 'in_hand'").fetchall() == []
