"""A reload changes what was changed, and nothing else; one that cannot be changes nothing."""

import json
import queue
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hushd.config import read
from hushd.runtime.daemon import Daemon
from hushd.runtime.inbox import Inbox
from hushd.runtime.logs import Quiet
from hushd.runtime.messages import Ask, Message
from hushd.runtime.systemd import Manager

HEAD = """\
version: 1
mqtt: {host: 127.0.0.1, port: 9}
"""
SENSORS = """\
sensors:
  heat: "home/{room}/heat"
  noise: "home/{room}/noise"
"""
NOTIFIERS = """\
notifiers:
  evidence: {type: journal, path: "%s/evidence.jsonl"}
  other: {type: journal, path: "%s/other.jsonl"}
"""
WINDOW = "measure: min, over: 3 samples, min_samples: 3, no_data: ignore"
HOT = f"  hot: {{watch: heat, {WINDOW}, warning: {{above: 30}}, notify: [evidence]}}\n"
LOUD = f"  loud: {{watch: noise, {WINDOW}, warning: {{above: 70}}, notify: [evidence]}}\n"
RULES = f"rules:\n{HOT}{LOUD}"


class Diary(Quiet):
    def __init__(self) -> None:
        self.lines: list[tuple[str, dict[str, Any]]] = []

    def note(self, event: str, **fields: Any) -> None:
        self.lines.append((event, fields))

    debug = info = warning = error = note

    def bind(self, **fields: Any) -> "Diary":
        return self

    def of(self, event: str) -> list[dict[str, Any]]:
        return [fields for name, fields in self.lines if name == event]


class Told(Manager):
    """A service manager that writes down what it is told."""

    def __init__(self) -> None:
        super().__init__({})
        self.words: list[str] = []

    def _tell(self, *lines: str) -> None:
        self.words += [line for line in lines if not line.startswith(("STATUS", "MONOTONIC"))]


class Place:
    """A daemon in a thread, without a broker: messages are put into its inbox."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "hushd.yaml"
        self.write()
        self.diary, self.manager, self.inbox = Diary(), Told(), Inbox(10_000)
        self.daemon = Daemon(
            read(self.file, for_run=True),
            self.inbox,
            self.diary,
            patience=None,
            say=None,
            reread=lambda: read(self.file, for_run=True),
            output=None,
            manager=self.manager,
        )
        self.thread = threading.Thread(target=self.daemon.run, args=(None,))

    def write(self, rules: str = RULES, sensors: str = SENSORS, notifiers: str = NOTIFIERS) -> None:
        text = HEAD + sensors + notifiers.replace("%s", str(self.folder)) + rules
        self.file.write_text(text)

    def send(self, topic: str, *levels: float) -> None:
        for level in levels:
            payload = str(level).encode()
            self.inbox.offer(Message(topic.encode(), payload, time.time_ns(), 1))

    def ask(self, do: str) -> dict[str, Any]:
        answers: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self.inbox.ask(Ask({"do": do}, answers.put))
        return answers.get(timeout=20)

    def status(self) -> dict[str, Any]:
        status: dict[str, Any] = self.ask("status")["status"]
        assert json.loads(json.dumps(status)) == status
        return status

    def told(self, name: str = "evidence") -> list[tuple[str, str, str]]:
        path = self.folder / f"{name}.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        records = [json.loads(line) for line in lines]
        return [
            (record["rule"], record["event"], record["reason"])
            for record in records
            if not record["rule"].startswith("internal/")
        ]

    def troubles(self) -> list[str]:
        """Return what became of the trouble with the configuration."""
        lines = (self.folder / "evidence.jsonl").read_text().splitlines()
        return [r["event"] for r in map(json.loads, lines) if r["rule"] == "internal/config"]


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    place.thread.start()
    yield place
    place.inbox.on_stop(15, None)
    place.thread.join(15)
    assert not place.thread.is_alive()


def eventually(condition: Callable[[], Any]) -> None:
    until = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < until, "it did not come about"
        time.sleep(0.005)


def test_w60_a_changed_threshold_costs_no_window(place):
    place.send("home/attic/heat", 40, 41)
    place.send("home/attic/noise", 80, 81)
    place.write(RULES.replace("above: 70", "above: 75"))
    answer = place.ask("reload")
    assert answer["ok"]
    assert "nobody is told" in answer["warnings"][0]
    assert place.told() == []
    place.send("home/attic/heat", 42)  # the third: the two before the reload count
    place.send("home/attic/noise", 82)  # also of the rule that changed: its window did not
    eventually(lambda: len(place.told()) == 2)
    assert place.told() == [("hot", "raised", "value"), ("loud", "raised", "value")]
    assert place.status()["readings"]["accepted"] == 6


def test_w58_what_is_not_sound_changes_nothing(place):
    place.send("home/attic/noise", 80, 81)
    place.write(RULES.replace("above: 70", "abve: 70"))
    answer = place.ask("reload")
    assert answer["ok"] is False
    assert answer["code"] == 78
    assert 'did you mean "above"' in answer["error"]
    assert place.diary.of("config.refused")[0]["problems"] == answer["error"]
    place.send("home/attic/noise", 82)
    eventually(lambda: place.told() == [("loud", "raised", "value")])
    status = place.status()
    assert status["configuration"]["refused"] == answer["error"]
    assert any("not sound" in trouble for trouble in status["troubles"])
    eventually(lambda: place.troubles() == ["raised"])
    place.write()
    assert place.ask("reload")["ok"]
    assert place.status()["configuration"]["refused"] == ""
    eventually(lambda: place.troubles() == ["raised", "cleared"])


def test_w58_by_signal_it_is_the_same_and_said_in_the_log(place):
    place.file.write_text("version: [")
    place.inbox.on_reload(1, None)
    eventually(lambda: place.diary.of("config.refused"))
    place.send("home/attic/noise", 80, 81, 82)
    eventually(lambda: place.told() == [("loud", "raised", "value")])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda file: file.unlink(), "cannot read the file"),
        (lambda file: file.write_text(""), "empty"),
        (lambda file: file.write_bytes(b"\xff\xfe\x00"), "error"),
        (lambda file: file.write_text("clock: stamps\n" + file.read_text()), "clock"),
        (lambda file: file.write_text("store: {path: b.db}\n" + file.read_text()), "cannot move"),
    ],
)
def test_w58_nor_does_a_file_that_is_no_configuration_or_cannot_be_taken_over(change, said, place):
    change(place.file)
    answer = place.ask("reload")
    assert answer["code"] == 78
    assert said in answer["error"]
    place.send("home/attic/noise", 80, 81, 82)
    eventually(lambda: place.told() == [("loud", "raised", "value")])


def test_a_mistake_of_ours_in_a_reload_does_not_end_the_daemon(place, monkeypatch):
    def fail(*_: Any) -> None:
        raise RuntimeError("odd")

    with monkeypatch.context() as patch:
        patch.setattr("hushd.runtime.daemon.Engine.restore", fail)
        assert place.ask("reload") == {"ok": False, "code": 78, "error": "RuntimeError: odd"}
    place.send("home/attic/noise", 80, 81, 82)
    eventually(lambda: place.told() == [("loud", "raised", "value")])


def test_an_alert_whose_rule_is_gone_ends_and_is_told_so(place):
    place.send("home/attic/noise", 80, 81, 82)
    eventually(lambda: len(place.told()) == 1)
    place.write(f"rules:\n{HOT}")
    assert place.ask("reload")["ok"]
    eventually(lambda: place.told()[1:] == [("loud", "cleared", "rule_removed")])


def test_also_when_the_notifier_goes_with_it(place):
    place.send("home/attic/noise", 80, 81, 82)
    eventually(lambda: len(place.told()) == 1)
    only = NOTIFIERS.splitlines(keepends=True)
    place.write(f"rules:\n{HOT}".replace("evidence", "other"), notifiers=only[0] + only[2])
    assert place.ask("reload")["ok"]
    eventually(lambda: place.told()[1:] == [("loud", "cleared", "rule_removed")])
    assert list(place.status()["notifiers"]) == ["other"]
    place.send("home/attic/heat", 40, 41, 42)
    eventually(lambda: place.told("other") == [("hot", "raised", "value")])


def test_a_limit_that_moved_is_judged_at_once(place):
    place.send("home/attic/noise", 65, 66, 67)
    assert place.status()["alerts"]["states"] == {"ok": 1}
    place.write(RULES.replace("above: 70", "above: 60"))
    assert place.ask("reload")["ok"]
    eventually(lambda: place.told() == [("loud", "raised", "value")])


def test_an_alert_that_is_on_stays_on_and_is_not_told_again(place):
    place.send("home/attic/noise", 80, 81, 82)
    eventually(lambda: len(place.told()) == 1)
    before = place.status()["alerts"]["listed"]
    place.write(RULES.replace("above: 30", "above: 35"))
    assert place.ask("reload")["ok"]
    assert place.status()["alerts"]["listed"] == before
    place.send("home/attic/noise", 60)
    eventually(lambda: place.told()[1:] == [("loud", "cleared", "value")])


def test_a_new_sensor_is_read(place):
    place.send("home/attic/dust", 5)
    dust = f"  dusty: {{watch: dust, {WINDOW}, warning: {{above: 1}}, notify: [evidence]}}\n"
    place.write(RULES + dust, SENSORS + '  dust: "home/{room}/dust"\n')
    assert place.ask("reload")["ok"]
    place.send("home/attic/dust", 5, 6, 7)
    eventually(lambda: place.told() == [("dusty", "raised", "value")])
    rejected = place.status()["readings"]["rejected"]  # of before the reload: still counted
    assert rejected["reasons"] == [{"sensor": "", "reason": "no_sensor", "number": 1}]


def test_what_comes_during_reloads_is_not_lost(place):
    sending = threading.Thread(target=place.send, args=("home/attic/noise", *range(1000)))
    sending.start()
    for n in range(5):
        place.write(RULES.replace("above: 30", f"above: {31 + n}"))
        assert place.ask("reload")["ok"]
    sending.join()
    assert place.status()["readings"]["accepted"] == 1000


def test_systemd_hears_of_the_reload_and_of_its_end(place):
    eventually(lambda: place.manager.words[:1] == ["READY=1"])
    place.ask("reload")
    place.file.write_text("")
    place.ask("reload")
    words = [word for word in place.manager.words if word != "WATCHDOG=1"]
    assert words == ["READY=1", "RELOADING=1", "READY=1", "RELOADING=1", "READY=1"]


def test_what_it_cannot_it_says(place):
    assert place.ask("dance") == {"ok": False, "code": 2, "error": 'this hushd cannot "dance"'}


def test_the_status_says_how_it_stands(place):
    place.send("home/attic/noise", 80, 81, 82)
    place.send("home/attic/heat", 20)
    place.send("home/attic/noise", "odd")
    eventually(lambda: len(place.told()) == 1)
    status = place.status()
    assert status["state"] == "degraded"  # there is no broker
    assert status["broker"]["port"] == 9
    assert not status["broker"]["connected"]
    assert status["configuration"]["path"] == str(place.file)
    assert status["series"] == {"number": 2, "limit": 10_000}
    assert status["alerts"]["states"] == {"firing": 1, "warming": 1}
    (alert,) = status["alerts"]["listed"]
    assert alert["rule"] == "loud"
    assert alert["labels"] == {"room": "attic"}
    assert alert["value"] == 80
    assert alert["since"].endswith("Z")
    assert status["readings"]["rejected"] == {
        "number": 1,
        "reasons": [{"sensor": "noise", "reason": "not_a_number", "number": 1}],
    }
    eventually(lambda: place.status()["notifiers"]["evidence"]["told_at"])
