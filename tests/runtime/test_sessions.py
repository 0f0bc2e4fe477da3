"""The name of the session, what is remembered of it, and which filters cover which."""

import os
from pathlib import Path

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


def memory(path, owner: str = "h at a:1883") -> Memory:
    return Memory(path, owner, Diary())


@pytest.fixture
def path(tmp_path):
    return tmp_path / "memory.json"


# -- the filters ---------------------------------------------------------------------------


def test_filters_are_remembered_for_their_session_only(path):
    memory(path).keep(["b", "a/#"])
    assert memory(path).filters == {"a/#", "b"}
    assert memory(path, "h at b:1883").filters == frozenset()


def test_a_session_that_the_broker_forgot_holds_no_filters(path):
    memory(path).keep(["a"])
    assert not memory(path).greeted(present=False)
    assert memory(path).filters == frozenset()


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"session": "h"}', '{"session": "h", "filters": 5}'])  # fmt: skip
def test_a_memory_that_cannot_be_read_is_none(path, text):
    path.write_text(text)
    one = memory(path, "h")
    assert one.filters == frozenset()
    assert one.greeted(present=False)


def test_a_memory_that_cannot_be_written_is_said_once_and_does_no_harm(tmp_path):
    diary = Diary()
    one = Memory(tmp_path / "none" / "memory.json", "h", diary)
    one.keep(["a"])
    one.keep(["b"])
    assert one.filters == {"b"}
    assert len(diary.all("mqtt.session_not_noted")) == 1


def test_nothing_is_written_when_nothing_changes(path):
    one = memory(path)
    one.keep(["a"])
    os.utime(path, (1, 1))
    one.keep(["a"])
    one.greeted(present=True)
    assert path.stat().st_mtime == 1


# -- the session ---------------------------------------------------------------------------


def test_the_first_session_is_not_a_lost_one_and_any_other_is(path):
    one = memory(path)
    assert one.greeted(present=False)
    assert one.greeted(present=True)
    assert not one.greeted(present=False)
    one.recorded()
    assert one.greeted(present=True)


def test_a_session_lost_while_we_were_down_is_noticed_though_it_held_nothing(path):
    memory(path).greeted(present=False)
    assert not memory(path).greeted(present=False)


def test_a_lost_session_is_told_again_by_the_next_process_until_it_is_recorded(path):
    memory(path).greeted(present=False)
    assert not memory(path).greeted(present=False)  # and it ended before that was in the store
    one = memory(path)
    assert not one.greeted(present=True)
    assert one.greeted(present=True)  # the loop knows
    one.recorded()
    assert memory(path).greeted(present=True)


def test_whoever_asks_for_no_session_loses_none(path):
    one = memory(path)
    one.greeted(present=False)
    one.keep(["a"])
    one.forget()
    assert memory(path).filters == frozenset()
    assert memory(path).greeted(present=False)


def test_a_memory_of_an_earlier_version_knows_of_its_session(path):
    path.write_text('{"session": "h at a:1883", "filters": ["a"]}')
    assert memory(path).filters == {"a"}
    assert not memory(path).greeted(present=False)


# -- what the broker has dropped -------------------------------------------------------------


@pytest.mark.parametrize(
    ("counted", "more"),
    [
        ([5], [0]),  # that was before our time
        ([0, 0, 3, 3, 10], [0, 0, 3, 0, 7]),
        ([100, 0, 4], [0, 0, 4]),  # the broker was started anew
        ([100, 4], [0, 4]),  # and has dropped some since
    ],
)
def test_only_what_is_dropped_in_our_time_counts(counted, more, path):
    one = memory(path)
    assert [one.count(number) for number in counted] == more


def test_what_is_dropped_while_we_are_down_is_noticed_on_return(path):
    memory(path).count(100)
    assert memory(path).count(107) == 7


def test_what_is_dropped_is_told_again_by_the_next_process_until_all_of_it_is_recorded(path):
    one = memory(path)
    assert [one.count(number) for number in (100, 107, 110)] == [0, 7, 3]
    one.recorded()
    one = memory(path)
    assert one.count(110) == 10
    one.recorded()
    assert memory(path).count(111) == 1


def test_news_of_another_broker_is_none_of_ours(path):
    one = memory(path)
    one.recorded()
    assert not path.exists()


# -- a crash at any moment -----------------------------------------------------------------


def test_a_crash_leaves_the_old_file_or_the_new_one(path, monkeypatch):
    one = memory(path)
    one.keep(["old"])
    synced: list[str] = []
    monkeypatch.setattr(
        os, "fsync", lambda file: synced.append(str(Path(f"/proc/self/fd/{file}").readlink()))
    )
    monkeypatch.setattr("pathlib.Path.replace", lambda *paths: synced.append("replaced"))
    one.keep(["new"])
    # what takes its place is on the disk before it does, and that it does, after
    assert synced == [f"{path}.new", "replaced", str(path.parent)]
    assert memory(path).filters == {"old"}


# -- filters that cover others -----------------------------------------------------------------


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
