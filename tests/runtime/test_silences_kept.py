"""A daemon that is asked for quiet: by its socket's requests, over a restart, with a store."""

import queue
import threading
import time
from typing import Any

import pytest
from waiting import eventually

from hushd.config import read
from hushd.runtime.daemon import Daemon
from hushd.runtime.inbox import Inbox
from hushd.runtime.logs import Quiet
from hushd.runtime.messages import Ask, Message
from hushd.runtime.systemd import Manager

CONFIG = """\
version: 1
mqtt: {host: 127.0.0.1, port: 9}
sensors:
  noise: {topic: "home/{room}/noise"}
notifiers:
  phone: {type: log}
rules:
  loud: {watch: noise, measure: last, warning: {above: 70}, no_data: ignore, notify: [phone]}
"""


class Place:
    """A daemon in a thread, without a broker: messages are put into its inbox."""

    def __init__(self, folder: Any) -> None:
        self.file = folder / "hushd.yaml"
        self.file.write_text(CONFIG)
        self.start()

    def start(self) -> None:
        self.told: list[str] = []
        self.inbox = Inbox(10_000)
        self.daemon = Daemon(
            read(self.file, for_run=True),
            self.inbox,
            Quiet(),
            patience=None,
            say=lambda event, **fields: self.told.append(event),
            reread=None,
            output=None,
            manager=Manager({}),
            lasting=True,
        )
        self.thread = threading.Thread(target=self.daemon.run, args=(None,))
        self.thread.start()

    def stop(self) -> None:
        self.inbox.on_stop(15, None)
        self.thread.join(timeout=20)
        assert not self.thread.is_alive()

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        answers: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self.inbox.ask(Ask({"do": do, **request}, answers.put))
        return answers.get(timeout=20)

    def status(self) -> dict[str, Any]:
        status: dict[str, Any] = self.ask("status")["status"]
        return status

    def send(self, room: str, level: float) -> None:
        topic = f"home/{room}/noise".encode()
        self.inbox.offer(Message(topic, str(level).encode(), time.time_ns(), 1))

    def fires(self) -> bool:
        return bool(self.status()["alerts"]["listed"])


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path / "state"))
    place = Place(tmp_path)
    yield place
    if place.thread.is_alive():
        place.stop()


def test_in_a_silence_nobody_hears_and_at_its_end_how_things_stand(place):
    place.ask("silence", rule="loud", **{"for": "1h", "comment": "a party in both rooms"})
    for room in ("101", "102"):
        place.send(room, 75.0)
    eventually(lambda: len(place.status()["alerts"]["listed"]) == 2)
    place.send("102", 50.0)  # it came and went
    eventually(lambda: len(place.status()["alerts"]["listed"]) == 1)
    place.stop()
    assert place.told == []
    place.start()
    eventually(place.fires)
    assert place.told == []
    assert place.ask("silence-end", number=1)["ok"]
    eventually(lambda: place.told == ["alert.raised"])
    place.send("101", 50.0)
    eventually(lambda: place.told == ["alert.raised", "alert.cleared"])


def test_a_silence_is_over_at_its_time_without_anybody_asking(place):
    began = time.time()
    place.ask("silence", rule="loud", **{"for": "2s", "comment": "a short one"})
    place.send("101", 75.0)
    eventually(lambda: place.told == ["alert.raised"])
    assert time.time() - began >= 2
    eventually(lambda: place.status()["silences"] == [])


def test_who_minds_an_alert_hears_no_reminder_but_that_it_is_over(place):
    place.stop()
    place.file.write_text(CONFIG.replace("no_data: ignore", "no_data: ignore, repeat: 500ms"))
    place.start()
    place.send("101", 75.0)
    eventually(lambda: place.told.count("alert.repeat") >= 2)
    assert place.ask("ack", rule="loud", comment="seen")["ok"]
    time.sleep(0.3)  # one may be on its way just now
    before = list(place.told)
    time.sleep(1.2)
    assert place.told == before
    place.send("101", 50.0)
    eventually(lambda: place.told == [*before, "alert.cleared"])


def test_a_silence_and_an_acknowledgement_outlive_the_process_and_the_alert_is_judged(place):
    asked = {"rule": "loud", "labels": {"room": "101"}}
    number = place.ask("silence", **asked, **{"for": "1h", "comment": "painters"})["silence"]
    assert number["number"] == 1
    place.send("101", 75.0)
    eventually(place.fires)
    assert place.ask("ack", **asked, comment="seen")["ok"]
    place.stop()
    place.start()
    (alert,) = place.status()["alerts"]["listed"]
    assert (alert["silenced"], alert["acknowledged"]) == (True, "seen")
    (silence,) = place.ask("silences")["silences"]
    assert (silence["number"], len(silence["holds"])) == (1, 1)
    assert place.status()["silences"] == [silence]
    place.send("101", 50.0)
    eventually(lambda: not place.fires())
    eventually(lambda: not place.daemon._store.acks())
    assert place.ask("silence-end", number=1)["ok"]
    assert place.status()["silences"] == []
