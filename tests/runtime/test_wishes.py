"""What people asked for: kept through crashes, and through a disk that fails."""

import sqlite3

import pytest
from kept import Place
from memory_store import Disk, MemoryStore

from hushd.core.mutes import Ack, Mute
from hushd.runtime import database, storefile
from hushd.runtime.store import VolatileStore
from hushd.runtime.wishes import Wishes

ROOM = (("room", "101"),)
PAINTERS = Mute(1, "", ROOM, 5, 9, "painters \N{EM DASH} until nine")
PARTY = Mute(2, "loud", (), 5, 7, "a party")
MINDED = Ack("loud", ROOM, 3, 6, "somebody is on the way")


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(storefile, "FIRST", 0.0)
    monkeypatch.setattr(database, "BUSY_MS", 50)
    return Place(tmp_path)


@pytest.fixture(params=["a file", "memory", "nothing"])
def reopened(request, tmp_path):
    """Return a function that returns the store as it is now, and after a restart, if it lasts."""
    if request.param == "a file":
        place = Place(tmp_path)

        def again():
            place.crash()
            return place.ledger

        return place.ledger, again
    if request.param == "memory":
        disk = Disk()
        return MemoryStore(disk, lambda: 0), lambda: MemoryStore(disk, lambda: 0)
    store = VolatileStore()
    return store, lambda: store


def test_a_silence_and_an_acknowledgement_are_there_until_they_are_dropped(reopened):
    store, again = reopened
    store.keep_mute(PARTY)
    store.keep_mute(PAINTERS)
    store.keep_ack(MINDED)
    store = again()
    assert store.mutes() == [PAINTERS, PARTY]
    assert store.acks() == [MINDED]
    store.drop_mute(1)
    store.drop_mute(7)
    store.drop_acks([("loud", ()), ("quiet", ROOM)])
    store = again()
    assert store.mutes() == [PARTY]
    assert store.acks() == [MINDED]
    store.drop_acks([("loud", ROOM)])
    store = again()
    assert store.acks() == []


def test_who_minds_an_alert_anew_minds_it_once(reopened):
    store, again = reopened
    store.keep_ack(MINDED)
    store.keep_ack(MINDED._replace(episode=4))
    store = again()
    assert store.acks() == [MINDED._replace(episode=4)]


def test_a_comment_may_be_any_text(place):
    place.ledger.keep_mute(PAINTERS._replace(comment="\udcff"))
    place.crash()
    assert place.ledger.mutes() == [PAINTERS._replace(comment="?")]


def break_off(place):
    """Let the file fail; return what lets it be had again."""
    tool = sqlite3.connect(place.folder / "hushd.db", isolation_level=None)
    tool.execute("BEGIN IMMEDIATE")
    place.ledger.claim(1)
    assert "locked" in place.ledger.trouble
    return tool


def mend(place, tool):
    tool.close()
    place.ledger._file._retry_at = 0.0
    assert place.ledger.watch()
    place.ledger.commit()
    assert not place.ledger.trouble


def test_what_is_asked_while_the_disk_fails_counts_at_once_and_is_written_later(place):
    place.ledger.keep_mute(PAINTERS)
    place.ledger.keep_ack(MINDED)
    tool = break_off(place)
    place.ledger.drop_mute(1)
    place.ledger.keep_mute(PARTY)
    place.ledger.drop_acks([("loud", ROOM)])
    assert (place.ledger.mutes(), place.ledger.acks()) == ([PARTY], [])
    mend(place, tool)
    place.crash()
    assert (place.ledger.mutes(), place.ledger.acks()) == ([PARTY], [])


def test_what_was_asked_is_in_the_file_that_comes_after_one_that_was_taken_away(place):
    place.ledger.keep_mute(PAINTERS)
    (place.folder / "hushd.db").unlink()
    assert place.ledger.watch()
    place.ledger.commit()
    place.crash()
    assert place.ledger.mutes() == [PAINTERS]


def test_what_another_process_was_asked_is_taken_on_once_its_file_can_be_read(place):
    place.ledger.keep_mute(PAINTERS)
    place.ledger.keep_mute(PARTY)
    place.ledger.keep_ack(MINDED)
    place.ledger.close()
    tool = sqlite3.connect(place.folder / "hushd.db", isolation_level=None)
    tool.execute("PRAGMA locking_mode = EXCLUSIVE")
    tool.execute("BEGIN EXCLUSIVE")
    place.start()
    assert place.ledger.mutes() == []
    here = Mute(1, "smoke", (), 1, 2, "welding")
    place.ledger.keep_mute(here)
    place.ledger.keep_mute(PARTY._replace(number=3))
    mend(place, tool)
    place.crash()
    kept = [here, PARTY._replace(number=3), PAINTERS._replace(number=4)]
    assert place.ledger.mutes() == kept
    assert place.ledger.acks() == [MINDED]


def test_nothing_that_is_dropped_was_there():
    wishes = Wishes()
    assert not wishes.drop_mute(1)
    assert not wishes.drop_acks([("loud", ())])
