"""`hushd backup`: a copy of all that is kept, of one instant, while the daemon goes on."""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from hushd.cli import main
from hushd.config.records import Store
from hushd.core.rules import Rules
from hushd.runtime.control import Control
from hushd.runtime.ledger import Ledger
from hushd.runtime.logs import Quiet
from hushd.runtime.messages import Ask

Answer = Callable[[Mapping[str, Any]], Mapping[str, Any]]


@pytest.fixture
def at(tmp_path, capsys):
    """Return a function that runs ``hushd backup`` against a daemon with such an answer."""
    doors = []

    def backup(answer: Answer, *arguments: object) -> tuple[int, str]:
        path = tmp_path / f"{len(doors)}.sock"

        def ask(question: Ask) -> None:
            threading.Thread(target=lambda: question.answer(answer(question.request))).start()

        doors.append(Control(path, ask, Quiet()))
        code = main(["backup", *map(str, arguments), "--socket", str(path)])
        out, err = capsys.readouterr()
        return code, out + err

    yield backup
    for door in doors:
        door.close()


def daemon(ledger: Ledger) -> Answer:
    """Answer as the daemon does."""

    def answer(request: Mapping[str, Any]) -> Mapping[str, Any]:
        assert request == {"do": "backup"}
        copy = ledger.path.with_name(f"{ledger.path.name}.copy-1790000000000000000")
        ledger.backup(copy)
        return {"ok": True, "file": str(copy)}

    return answer


def test_the_copy_can_be_started_from_and_nothing_else_is_left_behind(tmp_path, at):
    state, target = tmp_path / "state", tmp_path / "mine.db"
    ledger = Ledger(state / "hushd.db", Store(), Quiet())
    ledger.commit(troubles=b"[]")
    before = sorted(path.name for path in state.iterdir())
    code, said = at(daemon(ledger), target)
    assert (code, said) == (0, f"{target}: {target.stat().st_size:,} bytes\n")
    assert target.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in state.iterdir()) == before
    ledger.commit(troubles=b"[1]")  # it goes on
    ledger.close()
    copy = Ledger(target, Store(), Quiet())
    assert copy.recover(Rules((), ()), {}).troubles == b"[]"
    copy.close()


def test_a_file_that_is_there_stays(tmp_path, at):
    target = tmp_path / "mine.db"
    target.write_text("precious")
    code, said = at(lambda _: pytest.fail("nobody is asked then"), target)
    assert (code, said) == (1, f"hushd backup: {target}: there is such a file, it stays\n")
    assert target.read_text() == "precious"


def test_a_daemon_that_keeps_nothing_says_so_and_no_file_is_made(tmp_path, at):
    target = tmp_path / "mine.db"
    refusal = {"ok": False, "code": 1, "error": "this hushd keeps nothing"}
    assert at(lambda _: refusal, target) == (1, "hushd backup: this hushd keeps nothing\n")
    assert not target.exists()


def test_where_nobody_answers_no_file_is_made(tmp_path, capsys):
    target = tmp_path / "mine.db"
    assert main(["backup", str(target), "--socket", str(tmp_path / "nobody.sock")]) == 69
    assert "no daemon listens" in capsys.readouterr().err
    assert not target.exists()


@pytest.mark.parametrize("name", ["passwd", "hushd.db", "hushd.db.copy-", "hushd.db.copy-x"])
def test_what_is_no_copy_of_a_store_is_neither_read_nor_removed(tmp_path, at, name):
    other, target = tmp_path / name, tmp_path / "mine.db"
    other.write_text("precious")
    code, said = at(lambda _: {"ok": True, "file": str(other)}, target)
    assert code == 69
    assert "that is no copy of a store" in said
    assert other.read_text() == "precious"
    assert not target.exists()


def test_a_link_with_the_name_of_a_copy_is_not_followed(tmp_path, at):
    secret, target = tmp_path / "secret", tmp_path / "mine.db"
    secret.write_text("precious")
    link: Path = tmp_path / "hushd.db.copy-1"
    link.symlink_to(secret)
    code, _ = at(lambda _: {"ok": True, "file": str(link)}, target)
    assert code == 69
    assert secret.read_text() == "precious"
    assert not target.exists()
