"""`hushd silence`, `silences` and `ack`: what they ask, what they print, their exit codes."""

import json
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from hushd.cli import main
from hushd.runtime import control
from hushd.runtime.control import Control
from hushd.runtime.logs import Quiet
from hushd.runtime.messages import Ask

PAINTERS = {
    "number": 1,
    "rule": "loud",
    "labels": {"room": "101"},
    "begins": "2026-12-01T12:00:00Z",
    "ends": "2026-12-01T14:00:00Z",
    "until": "2026-12-01 15:00",
    "comment": "painters\x1b[2J",
    "holds": [{"rule": "loud", "labels": {"room": "101"}, "severity": "warning"}],
}
ALL = {**PAINTERS, "number": 2, "rule": "", "labels": {}, "comment": "moving", "holds": []}
SHOWN = "1: loud room=101, until 2026-12-01 15:00: painters\N{REPLACEMENT CHARACTER}[2J\n"
HELD = "  holds loud room=101 (warning)\n"


class Stand:
    """Stands in for the daemon behind a real socket; remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Mapping[str, Any]] = []
        self.answer: Mapping[str, Any] = {}

    def ask(self, ask: Ask) -> None:
        self.asked.append(ask.request)
        threading.Thread(target=ask.answer, args=(self.answer,)).start()


@pytest.fixture
def stand(tmp_path, monkeypatch) -> Iterator[Stand]:
    monkeypatch.setattr(control, "places", lambda: [tmp_path])
    stand = Stand()
    door = Control(tmp_path / "hushd.sock", stand.ask, Quiet())
    yield stand
    door.close()


def test_a_silence_is_asked_for_and_shown_with_what_it_holds(stand, capsys):
    stand.answer = {"ok": True, "silence": PAINTERS, "hint": ""}
    command = ["silence", "loud", "--label", "room=101", "--for", "2h", "--comment", "painters"]
    assert main(command) == 0
    assert capsys.readouterr() == (f"silence {SHOWN}{HELD}", "")
    assert stand.asked == [
        {
            "do": "silence",
            "rule": "loud",
            "labels": {"room": "101"},
            "for": "2h",
            "until": None,
            "comment": "painters",
        }
    ]


def test_what_may_be_a_slip_of_the_pen_is_noted(stand, capsys):
    stand.answer = {"ok": True, "silence": ALL, "hint": 'did you mean "101"?'}
    assert main(["silence", "--until", "08:00", "--comment", "x", "--label", "a=b=c"]) == 0
    out, err = capsys.readouterr()
    assert out == "silence 2: everything, until 2026-12-01 15:00: moving\n"
    assert err == 'hushd silence: note: did you mean "101"?\n'
    assert (stand.asked[0]["rule"], stand.asked[0]["labels"]) == ("", {"a": "b=c"})


def test_silences_are_listed(stand, capsys):
    stand.answer = {"ok": True, "silences": [PAINTERS, ALL]}
    assert main(["silences"]) == 0
    assert capsys.readouterr().out == (
        f"{SHOWN}{HELD}2: everything, until 2026-12-01 15:00: moving\n"
    )
    assert main(["silences", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [PAINTERS, ALL]
    stand.answer = {"ok": True, "silences": []}
    assert main(["silences"]) == 0
    assert capsys.readouterr().out == "no silence: people hear of everything\n"


def test_of_much_that_is_held_a_few_are_shown(stand, capsys):
    stand.answer = {"ok": True, "silences": [{**ALL, "holds": PAINTERS["holds"] * 13}]}
    assert main(["silences"]) == 0
    assert capsys.readouterr().out.endswith(f"{HELD * 10}  and 3 more\n")


def test_a_silence_is_ended_by_its_number(stand, capsys):
    stand.answer = {"ok": True, "silence": ALL}
    assert main(["silence", "--end", "2"]) == 0
    assert capsys.readouterr().out.startswith("ended silence 2: everything")
    assert stand.asked == [{"do": "silence-end", "number": 2}]


def test_an_alert_is_acknowledged(stand, capsys):
    stand.answer = {"ok": True, "acknowledged": PAINTERS["holds"]}
    assert main(["ack", "loud", "--label", "room=101", "--comment", "seen"]) == 0
    assert capsys.readouterr().out == "acknowledged loud room=101 (warning)\n"
    assert stand.asked == [
        {"do": "ack", "rule": "loud", "labels": {"room": "101"}, "comment": "seen"}
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["silence", "loud", "--comment", "x"], "needs an end"),
        (["silence", "loud", "--for", "2h"], "needs a reason"),
        (["silence", "--for", "2h", "--until", "08:00", "--comment", "x"], "not allowed with"),
        (["silence", "loud", "--end", "1"], "nothing else"),
        (["silence", "--end", "one"], "invalid int"),
        (["silence", "--label", "room", "--for", "2h", "--comment", "x"], "not as in room=101"),
        (["ack", "loud"], "--comment"),
        (["ack", "--comment", "x"], "RULE"),
    ],
)
def test_wrong_usage_is_2_and_asks_nobody(arguments, said, stand, capsys):
    assert main(arguments) == 2
    assert said in capsys.readouterr().err
    assert stand.asked == []


def test_a_refusal_has_its_code_and_its_reason(stand, capsys):
    stand.answer = {"ok": False, "code": 1, "error": 'there is no rule "lout"\n  hint: loud'}
    assert main(["silence", "lout", "--for", "2h", "--comment", "x"]) == 1
    assert capsys.readouterr().err == 'hushd silence: there is no rule "lout"\n  hint: loud\n'
    assert main(["ack", "lout", "--comment", "x"]) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["silence", "loud", "--for", "2h", "--comment", "x"],
        ["silence", "--end", "1"],
        ["silences"],
        ["ack", "loud", "--comment", "x"],
    ],
)
def test_nobody_there_is_69(arguments, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(control, "places", lambda: [tmp_path])
    assert main(arguments) == 69
    assert f"hushd {arguments[0]}: no daemon runs" in capsys.readouterr().err
