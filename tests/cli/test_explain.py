"""``hushd explain`` as a command: what it prints, of a daemon that runs, and exit codes."""

import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from explaining import CONFIG

from hushd.cli import main
from hushd.runtime import control
from hushd.runtime.control import Control, name_for
from hushd.runtime.logs import Quiet
from hushd.runtime.messages import Ask

TWO = """\
  loud:
    about: Nobody should have to read a configuration to learn what happens at night.
    watch: noise
    each: [room]
    measure: leq
    over: 15m
    during: night
    warning: {above: 40, clear: 37}
  hot: {watch: heat, measure: last, warning: {above: 30, clear: 25}, notify: [lamp]}
"""
PRINTED = """\
loud: watches noise
  Nobody should have to read a configuration to learn what
  happens at night.
  For each room, from 22:00 to 06:00 (Europe/Berlin; next:
  today 22:00), the energy average of the last 15 min:
  warning raised above 40 dBA, cleared at 37 or less.
  Silence of the sensor means nothing.
  Told to desk.

notifiers
  desk (log): told at any time.

schedules
  night (Europe/Berlin): off now, on today 22:00, off
  tomorrow 06:00, on tomorrow 22:00.
"""


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A folder with ``hushd.yaml``, and no daemon that could be found."""
    monkeypatch.setattr(control, "places", lambda: [tmp_path / "run"])
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hushd.yaml").write_text(CONFIG + TWO)
    return tmp_path


def test_it_prints_the_rules_that_are_named_and_whoever_hears_of_them(folder, capsys):
    assert main(["explain", "loud", "-c", "hushd.yaml", "--at", "2026-12-23T12:00"]) == 0
    assert capsys.readouterr() == (PRINTED, "")


def test_it_prints_all_rules_and_that_no_daemon_runs(folder, capsys):
    assert main(["explain", "-c", "hushd.yaml"]) == 0
    out = capsys.readouterr().out
    assert re.findall(r"^(\w+): watches", out, re.MULTILINE) == ["loud", "hot"]
    last = " ".join(out.rpartition("\n\n")[2].split())
    assert last.startswith("What the rules match now is not known: no daemon listens at ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["lodu", "-c", "hushd.yaml"], 'no rule "lodu"\n  hint: did you mean "loud"?'),
        (["-c", "hushd.yaml", "--at", "tonight"], "cannot read --at tonight: "),
        ([], "no daemon runs"),
    ],
)
def test_what_it_cannot_explain_is_wrong_usage(arguments, said, folder, capsys):
    assert main(["explain", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert "hint: " in err or "--at" in err


def test_a_configuration_that_is_not_sound_is_78(folder, capsys):
    (folder / "hushd.yaml").write_text("version: 2\n")
    assert main(["explain", "-c", "hushd.yaml"]) == 78
    assert "error" in capsys.readouterr().err


def test_without_rules_there_is_nothing_to_explain(folder, capsys):
    (folder / "hushd.yaml").write_text("version: 1\nsensors: {}\nnotifiers: {}\nrules: {}\n")
    assert main(["explain", "-c", "hushd.yaml"]) == 0
    assert capsys.readouterr().out == "there are no rules\n"


KNOWN = {
    "loud": {
        "number": 7,
        "series": [
            {"sensor": "noise", "labels": {"floor": "1", "room": "101"}},
            {"sensor": "noise", "labels": {"floor": "1", "room": "1\x1b[2J"}},
        ],
        "states": {"firing(critical)": 1, "ok": 3, "pending": 1, "warming": 2},
        "alerts": [
            {"labels": {"room": "101"}, "state": "firing(critical)"},
            {"labels": {"room": "102"}, "state": "pending"},
        ],
    }
}
MATCHES = (
    "Matches now: 7 topics (floor 1, room 101; floor 1, room 1\N{REPLACEMENT CHARACTER}[2J;"
    " and 5 more). Its alerts: 1 critical (room 101), 3 ok, 1 about to be raised (room 102),"
    " 2 not judged yet."
)


@pytest.fixture
def answering(folder) -> Iterator[list[str]]:
    """A daemon's socket that knows one of the rules; holds what it was asked."""
    asked: list[str] = []
    status = {"configuration": {"path": str(folder / "hushd.yaml")}}
    answers: dict[str, dict[str, Any]] = {"series": {"rules": KNOWN}, "status": {"status": status}}

    def answer(ask: Ask) -> None:
        asked.append(ask.request["do"])
        found = {"ok": True, **answers[ask.request["do"]]}
        threading.Thread(target=ask.answer, args=(found,)).start()

    door = Control(folder / "run" / name_for(folder / "hushd.yaml"), answer, Quiet())
    yield asked
    door.close()


def test_a_daemon_says_what_each_rule_matches(answering, capsys):
    assert main(["explain", "-c", "hushd.yaml"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert MATCHES in out  # and what a label holds is not obeyed
    assert "Told to lamp. The running daemon does not have this rule: hushd reload." in out
    assert "not known" not in out


def test_without_a_configuration_it_explains_that_of_the_daemon(answering, capsys):
    assert main(["explain", "loud"]) == 0
    assert MATCHES in " ".join(capsys.readouterr().out.split())
    assert answering == ["status", "series"]


def test_another_time_is_no_matter_of_the_daemon(answering, capsys):
    assert main(["explain", "-c", "hushd.yaml", "--at", "2026-12-23T12:00:00Z"]) == 0
    assert "Matches now" not in capsys.readouterr().out
    assert answering == []


EXAMPLES = Path(__file__).parents[1] / "config/examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_each_example_of_the_language_can_be_explained(path, folder, capsys):
    # whoever explains it need not have the siren that it starts
    text = path.read_text().replace("/usr/local/bin/siren", shutil.which("true") or "")
    text = text.replace("version: 1\n", "version: 1\nallow_exec: true\n")
    (folder / "hushd.yaml").write_text(text)
    assert main(["explain", "-c", "hushd.yaml", "--at", "2026-12-23T12:00"]) == 0
    out = capsys.readouterr().out
    rules = re.findall(r"^  ([\w-]+):$", text.partition("\nrules:\n")[2], re.MULTILINE)
    assert re.findall(r"^([\w-]+): watches", out, re.MULTILINE) == rules != []
    assert max(map(len, out.splitlines())) <= 60
    assert not re.search(r"\bNone\b|\{|\}|  \S+  ", out)
