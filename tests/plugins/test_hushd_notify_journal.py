"""The journal: one object a line, appended, whole."""

import json

import pytest

from hushd.plugin import Context, Note, NotSentError
from hushd_notify.journal import JOURNAL

CONTEXT = Context("evidence", "here", print)


def note(n: int) -> Note:
    return Note("raised", "title", "text", "warning", f"k{n}", {"n": n, "room": "Küche"})


def test_each_note_is_a_line(tmp_path):
    path = tmp_path / "deep" / "evidence.jsonl"
    for n in (1, 2):  # opened twice: it goes on where it was
        journal = JOURNAL.open({"path": str(path)}, CONTEXT)
        journal.send(note(n))
        journal.close()
    assert path.read_text() == '{"n": 1, "room": "Küche"}\n{"n": 2, "room": "Küche"}\n'


def test_it_hears_everything():
    assert JOURNAL.every


def test_a_torn_line_is_ended_and_spoils_no_other(tmp_path):
    path = tmp_path / "evidence.jsonl"
    path.write_text('{"n": 1}\n{"n": ')
    journal = JOURNAL.open({"path": str(path)}, CONTEXT)
    journal.send(note(3))
    journal.close()
    assert json.loads(path.read_text().splitlines()[-1])["n"] == 3


def test_a_full_disk_is_told(tmp_path):
    journal = JOURNAL.open({"path": "/dev/full"}, CONTEXT)
    with pytest.raises(NotSentError, match="No space left"):
        journal.send(note(1))
    journal.close()
