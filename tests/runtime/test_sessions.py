"""The name of the session, what is remembered of it, and which filters cover which."""

import os

import pytest
from waiting import Diary

from hushd.config.records import Mqtt
from hushd.runtime import sessions
from hushd.runtime.sessions import Memory, client_id, covers


def test_w31_a_kept_session_has_a_name_that_stays(monkeypatch, tmp_path):
    machine = tmp_path / "machine-id"
    machine.write_text("3d1219c7c4c5404aaa1f6d2a48adfda4\n")
    monkeypatch.setattr(sessions, "MACHINE", (tmp_path / "none", machine))
    name = client_id(Mqtt(), "Hotel Adler")
    assert name == client_id(Mqtt(), "Hotel Adler") == "hushd-74bdc1615621"
    assert name != client_id(Mqtt(), "Hotel Krone")
    machine.write_text("another\n")
    assert name != client_id(Mqtt(), "Hotel Adler")
    assert client_id(Mqtt(client_id="mine"), "Hotel Adler") == "mine"


def test_w31_without_a_machine_id_the_host_name_serves(monkeypatch):
    monkeypatch.setattr(sessions, "MACHINE", ())
    monkeypatch.setattr("socket.gethostname", lambda: "attic")
    assert client_id(Mqtt(), "a") == client_id(Mqtt(), "a")


def test_filters_are_remembered_for_their_session_only(tmp_path):
    path = tmp_path / "memory.json"
    Memory(path, "h at a:1883", Diary()).keep(["b", "a/#"])
    assert Memory(path, "h at a:1883", Diary()).filters == {"a/#", "b"}
    assert Memory(path, "h at b:1883", Diary()).filters == frozenset()


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"session": "h"}', '{"session": "h", "filters": 5}'])  # fmt: skip
def test_a_memory_that_cannot_be_read_is_none(tmp_path, text):
    path = tmp_path / "memory.json"
    path.write_text(text)
    assert Memory(path, "h", Diary()).filters == frozenset()


def test_a_memory_that_cannot_be_written_is_said_and_does_no_harm(tmp_path):
    diary = Diary()
    memory = Memory(tmp_path / "none" / "memory.json", "h", diary)
    memory.keep(["a"])
    assert memory.filters == {"a"}
    assert diary.wait_for("mqtt.session_not_noted")


def test_nothing_is_written_when_nothing_changes(tmp_path):
    path = tmp_path / "memory.json"
    memory = Memory(path, "h", Diary())
    memory.keep(["a"])
    os.utime(path, (1, 1))
    memory.keep(["a"])
    assert path.stat().st_mtime == 1


@pytest.mark.parametrize(
    ("wide", "narrow", "covered"),
    [
        ("#", "a/b", True),
        ("#", "$SYS/a", False),  # what begins with $ is not for wildcards
        ("+/a", "$SYS/a", False),
        ("a/#", "a", True),
        ("a/#", "a/+/c", True),
        ("a/+", "a/b", True),
        ("a/+", "a/+", True),
        ("a/b", "a/+", False),
        ("a/+", "a/#", False),
        ("a/+", "a", False),
        ("a/+", "a/b/c", False),
        ("a/+/c", "a/b/+", False),  # they overlap, but neither covers the other
    ],
)
def test_covers(wide, narrow, covered):
    assert covers(wide, narrow) is covered
