"""`hushd status` and `hushd reload`: what they say, and their exit codes."""

import json
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hushd.cli import main
from hushd.cli.status import lines
from hushd.runtime import control
from hushd.runtime.control import Control, name_for
from hushd.runtime.logs import Quiet
from hushd.runtime.messages import Ask

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)

FOUND: dict[str, Any] = {
    "version": "0.1.0",
    "state": "degraded",
    "uptime_s": 3725.2,
    "configuration": {
        "path": "/etc/hushd/hushd.yaml",
        "read": "2026-03-01T11:59:00Z",
        "rules": 1,
        "sensors": 1,
        "warnings": ["one"],
        "refused": "hushd.yaml:4:1: error: odd",
    },
    "broker": {
        "host": "broker.lan",
        "port": 1883,
        "connected": False,
        "protocol": "5",
        "since": "2026-03-01T11:59:50Z",
        "reason": "Connection refused",
        "refused": [],
    },
    "store": {
        "path": "/var/lib/hushd/hushd.db",
        "trouble": "the disk is full",
        "gaps": [{"at": "2026-03-01T11:00:00Z", "why": "the broker has dropped 3 messages"}],
    },
    "series": {"number": 2, "limit": 10_000},
    "alerts": {
        "states": {"firing": 1, "ok": 1},
        "silent": 0,
        "listed": [
            {
                "rule": "loud",
                "labels": {"room": "1\x1b[2J"},
                "state": "firing(warning)",
                "severity": "warning",
                "value": 72.34567,
                "limit": 70.0,
                "unit": "dBA",
                "since": "2026-03-01T11:00:00Z",
                "silent": True,
                "incomplete": True,
                "silenced": True,
                "acknowledged": "somebody is on the way",
            }
        ],
        "left_out": 3,
    },
    "silences": [
        {
            "number": 1,
            "rule": "loud",
            "labels": {"room": "101"},
            "until": "2026-12-24 08:00",
            "comment": "painters",
        },
        {
            "number": 4,
            "rule": "",
            "labels": {},
            "until": "2026-03-01 13:00",
            "comment": "moving the broker",
        },
    ],
    "readings": {
        "accepted": 812,
        "rejected": {
            "number": 3,
            "reasons": [
                {"sensor": "noise", "reason": "not_a_number", "number": 2},
                {"sensor": "", "reason": "no_sensor", "number": 1},
            ],
        },
        "waiting": 0,
        "dropped": 0,
    },
    "notifiers": {
        "desk": {
            "type": "webhook",
            "waiting": 3,
            "held": 2,
            "told_at": "2026-03-01T11:00:00Z",
            "failed_at": "2026-03-01T11:59:58Z",
            "error": "HTTP 503",
            "failures": 1,
            "given_up": 0,
        },
        "phone": {
            "type": "log",
            "waiting": 0,
            "held": 0,
            "told_at": None,
            "failed_at": None,
            "error": "",
            "failures": 0,
            "given_up": 0,
        },
    },
    "log": {"dropped": 7},
    "troubles": ["broker broker.lan:1883: Connection refused"],
}

SHOWN = """\
hushd 0.1.0: degraded, up 1h 2m
configuration  /etc/hushd/hushd.yaml, read 1m 0s ago: 1 rule, 1 warning
broker         broker.lan:1883: not connected (Connection refused), for 10s
series         2 of at most 10000
readings       812 taken, 3 rejected, 0 waiting, 0 dropped
  2 not a number (noise)
  1 no sensor
store          /var/lib/hushd/hushd.db: degraded, not durable
  readings are missing, noticed 1h 0m ago: the broker has dropped 3 messages
alerts         1 firing, 1 ok
  firing(warning)  loud room=1\x1b[2J: 72.35 dBA, limit 70, for 1h 0m, sends nothing, readings are missing, silenced, acknowledged: somebody is on the way
  and 3 more
silences       2
  1: loud room=101, until 2026-12-24 08:00: painters
  4: everything, until 2026-03-01 13:00: moving the broker
notifiers
  desk (webhook): told something 1h 0m ago, 3 waiting (2 held back), failed 1 time, last 2s ago: HTTP 503
  phone (log): nothing told yet, 0 waiting
log            7 lines dropped: nobody read them in time
to see to
  broker broker.lan:1883: Connection refused
  hushd.yaml:4:1: error: odd"""


def test_people_see_it_all_at_a_glance():
    assert list(lines(FOUND, NOW)) == SHOWN.splitlines()


class Stand:
    """Stands in for the daemon behind a real socket."""

    def __init__(self, path: Path, answers: Mapping[str, Mapping[str, Any]]) -> None:
        self.answers = answers
        self.door = Control(path, self.ask, Quiet())

    def ask(self, ask: Ask) -> None:
        answer = self.answers[ask.request["do"]]
        threading.Thread(target=ask.answer, args=(answer,)).start()


@pytest.fixture
def stand(tmp_path, monkeypatch) -> Iterator[Any]:
    """Return a function that makes a daemon answer, by the name of its configuration."""
    # others may run on this machine, in the places where they are looked for
    monkeypatch.setattr(control, "places", lambda: [tmp_path / "run"])
    monkeypatch.chdir(tmp_path)
    doors: list[Control] = []

    def make(config: str, **answers: Mapping[str, Any]) -> None:
        stand = Stand(tmp_path / "run" / name_for(Path(config)), answers)
        doors.append(stand.door)

    yield make
    for door in doors:
        door.close()


def test_the_only_daemon_is_meant_where_none_is_named(stand, capsys):
    stand("a.yaml", status={"ok": True, "status": FOUND})
    assert main(["status"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("hushd 0.1.0: degraded")
    assert "\x1b" not in out  # a label is not obeyed


def test_json_is_all_of_it(stand, capsys):
    stand("a.yaml", status={"ok": True, "status": FOUND})
    assert main(["status", "--json", "-c", "a.yaml"]) == 0
    assert json.loads(capsys.readouterr().out) == FOUND


def test_several_are_told_apart_by_their_configuration(stand, capsys):
    stand("a.yaml", status={"ok": True, "status": {**FOUND, "version": "A"}})
    stand("b.yaml", status={"ok": True, "status": {**FOUND, "version": "B"}})
    assert main(["status"]) == 69
    err = capsys.readouterr().err
    assert "several daemons run" in err
    assert err.count(".sock") == 2
    assert main(["status", "-c", "b.yaml"]) == 0
    assert capsys.readouterr().out.startswith("hushd B")


@pytest.mark.parametrize("command", ["status", "reload"])
@pytest.mark.parametrize("where", [[], ["-c", "hushd.yaml"], ["--socket", "no.sock"]])
def test_nobody_there_is_69_and_says_what_to_do(command, where, stand, capsys):
    assert main([command, *where]) == 69
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"hushd {command}: no daemon ")
    assert "hint: hushd run" in err


def test_a_reload_that_went_well_says_so_and_shows_the_warnings(stand, capsys):
    stand("a.yaml", reload={"ok": True, "warnings": ["a.yaml:1:1: warning: odd"]})
    assert main(["reload"]) == 0
    assert capsys.readouterr() == (
        "the configuration was read again and is in force\n",
        "a.yaml:1:1: warning: odd\n",
    )


@pytest.mark.parametrize(
    ("answer", "code", "err"),
    [
        (
            {"ok": False, "code": 78, "error": "a.yaml:1:1: error: odd"},
            78,
            "a.yaml:1:1: error: odd\n",
        ),
        ({"ok": False, "code": 69, "error": "busy"}, 69, "hushd reload: busy\n"),
        ({"ok": False}, 1, "hushd reload: no reason given\n"),
    ],
)
def test_a_reload_that_did_not_says_why(answer, code, err, stand, capsys):
    stand("a.yaml", reload=answer)
    assert main(["reload"]) == code
    assert capsys.readouterr().err == err
