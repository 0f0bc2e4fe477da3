"""A store that fails is loud and costs no alert: it comes back by itself, with everything."""

import contextlib
import json
import os
import runpy
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from kept import Place, ids, never_stopped, windows

from hushd.config.records import Store as Settings
from hushd.core.reconcile import Told
from hushd.runtime import database, storefile
from hushd.runtime.database import Database, Glimpse
from hushd.runtime.ledger import Ledger
from hushd.runtime.logs import Quiet
from hushd.runtime.store import HeldError, Owed
from hushd.runtime.storefile import StoreError, StoreInUseError

STORES = Path(__file__).parent / "stores"
SUPPORT = Path(__file__).parents[1] / "support"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts something")


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Let it be tried again at once."""
    monkeypatch.setattr(storefile, "FIRST", 0.0)


@pytest.fixture
def mounted(tmp_path):
    """Return a function that mounts a folder."""
    folders = []

    def mount(*arguments: str) -> Path:
        folder = tmp_path / f"mounted{len(folders)}"
        folder.mkdir(exist_ok=True)
        if subprocess.run(
            ["mount", *arguments, folder], check=False, capture_output=True
        ).returncode:
            pytest.skip("this machine mounts nothing")
        folders.append(folder)
        return folder

    yield mount
    for folder in reversed(folders):
        subprocess.run(["umount", "-l", folder], check=False, capture_output=True)


def come_back(place, seconds=20.0):
    """Do what the loop does until the store can be written again."""
    until = time.monotonic() + seconds
    while place.ledger.trouble:
        assert time.monotonic() < until, place.ledger.trouble
        place.ledger._file._retry_at = 0.0
        if place.ledger.watch():
            place.ledger.keep("phone", [], {})
        if place.ledger.wait() == 0:
            place.ledger.commit()


def go_on(place, batches=10):
    for _ in range(batches):
        place.step()


def assert_all_is_there(place):
    """What is kept is what an engine has that was never stopped."""
    place.ledger.commit()
    whole, told = never_stopped(place.at, place.seed, place.rooms)
    assert ids(place.told) == ids(told)
    assert windows(place.engine) == windows(whole)
    place.crash()
    assert windows(place.engine) == windows(whole)


# -- what cannot be used at the start ---------------------------------------------------


def spoil(path: Path, how: str) -> None:
    content = path.read_bytes()
    match how:
        case "cut off":
            path.write_bytes(content[: len(content) // 2 & ~4095])
        case "a page of zeros":
            path.write_bytes(content[:8192] + bytes(4096) + content[12288:])
        case "zeros":
            path.write_bytes(bytes(len(content)))
        case "a text":
            path.write_text("version: 1\n" * 1000)
        case "another program's":
            path.unlink()
            raw = sqlite3.connect(path)
            raw.execute("CREATE TABLE contacts (name)")
            raw.close()


@pytest.mark.parametrize(
    "how", ["cut off", "a page of zeros", "zeros", "a text", "another program's"]
)
def test_a_file_that_cannot_be_used_is_set_aside_and_all_begins_anew(tmp_path, how):
    place = Place(tmp_path)
    go_on(place)
    place.ledger.close()
    spoil(tmp_path / "hushd.db", how)
    spoiled = (tmp_path / "hushd.db").read_bytes()
    place.told.clear()
    place.start()
    assert place.left.engine is None
    opened = place.ledger.opened
    assert opened.fresh
    assert opened.why
    assert opened.set_aside.name.startswith("hushd.db.corrupt.2")
    assert opened.set_aside.read_bytes() == spoiled
    assert place.ledger.trouble == ""
    go_on(place)
    assert_all_is_there(place)
    assert place.ledger.opened.set_aside is None  # that was the time before


def test_times_of_another_clock_are_set_aside(tmp_path):
    place = Place(tmp_path)
    go_on(place)
    place.ledger.close()
    stamps = Ledger(tmp_path / "hushd.db", Settings(), Quiet(), clock="stamps")
    assert stamps.opened.fresh
    assert stamps.opened.set_aside.name.startswith("hushd.db.clock-wall.2")
    assert "clock: wall" in stamps.opened.why
    stamps.close()


def test_an_engine_that_cannot_be_had_back_costs_nobody_his_letters(tmp_path):
    place = Place(tmp_path)
    while len(place.told) < 3:
        place.step()
    place.ledger.close()
    raw = sqlite3.connect(tmp_path / "hushd.db")
    raw.execute("UPDATE meta SET value = '{\"version\": 0}' WHERE key = 'state'")
    raw.commit()
    raw.close()
    told = ids(place.told)
    place.start()
    assert place.left.engine is None
    opened = place.ledger.opened
    assert opened.fresh
    assert "version 0" in opened.why
    assert ids(u.transition for u in place.ledger.untold("phone")) == told
    aside = sqlite3.connect(opened.set_aside)
    assert aside.execute("SELECT count(*) FROM alarm").fetchone()[0] > 0
    aside.close()
    place.told.clear()
    go_on(place)
    assert_all_is_there(place)


def test_a_file_of_a_later_version_is_not_touched(tmp_path):
    path = tmp_path / "hushd.db"
    shutil.copy(STORES / "v1.db", path)
    raw = sqlite3.connect(path)
    raw.execute("PRAGMA user_version = 99")
    raw.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="a newer hushd wrote it: version 99"):
        Ledger(path, Settings(), Quiet())
    assert path.read_bytes() == before


@pytest.mark.parametrize("kept", sorted(STORES.glob("v*.db")), ids=lambda kept: kept.stem)
def test_a_kept_file_of_an_earlier_version_is_gone_on_from(tmp_path, kept):
    make = runpy.run_path(str(STORES / "make.py"))
    shutil.copy(kept, tmp_path / "hushd.db")
    ledger, engine = make["opened"](tmp_path / "hushd.db")
    assert not ledger.opened.fresh
    assert [a.state for a in engine.alerts()] == ["firing(warning)", "ok", "ok"]
    assert {a.last for a in engine.alerts()} == {75.5, 59.0}
    waiting, *handed_on = ledger.untold("mail")
    assert (waiting.transition.rule, waiting.transition.event, waiting.unsure) == (
        "loud",
        "raised",
        True,
    )
    ((alert, told),) = ledger.told("phone").items()
    assert (alert, told.level) == (("loud", (("room", "0"),)), "warning")
    if kept.stem != "v1":
        assert told == make["told"](waiting.transition)
        assert [untold.instead for untold in handed_on] == ["pager"]
        assert [mute.comment for mute in ledger.mutes()] == ["painters"]
        assert [ack.comment for ack in ledger.acks()] == ["somebody is on the way"]
    make["live"](ledger, engine, range(make["SECONDS"], make["SECONDS"] + 10))
    ledger.close()


def test_a_second_daemon_hears_that_there_is_a_first(tmp_path):
    place = Place(tmp_path)
    with pytest.raises(StoreInUseError, match=f"process {os.getpid()} has it open"):
        Ledger(tmp_path / "hushd.db", Settings(), Quiet())
    go_on(place)
    assert_all_is_there(place)


# -- what cannot be written at the start --------------------------------------------------


def test_without_a_file_all_goes_on_and_is_kept_once_there_can_be_one(tmp_path):
    path = tmp_path / "hushd.db"
    path.mkdir()
    place = Place(tmp_path)
    assert place.ledger.trouble == f"{path}: it is no file"
    go_on(place)
    assert not place.ledger.watch()
    path.rmdir()
    come_back(place)
    go_on(place)
    assert_all_is_there(place)


def test_who_requires_a_store_does_not_start_without(tmp_path):
    (tmp_path / "hushd.db").mkdir()
    with pytest.raises(StoreError, match=r"it is no file\n  hint: store: \{required: true\}"):
        Ledger(tmp_path / "hushd.db", Settings(required=True), Quiet())
    (tmp_path / "hushd.db").rmdir()
    Ledger(tmp_path / "hushd.db", Settings(required=True), Quiet()).close()


@needs_root
def test_a_disk_that_can_only_be_read_is_said_and_tried_again(tmp_path, mounted):
    state = tmp_path / "state"
    state.mkdir()
    place = Place(state)
    go_on(place)
    place.ledger.close()
    view = mounted("--bind", str(state))
    subprocess.run(["mount", "-o", "remount,ro,bind", view], check=True)
    told, place = place.told, Place(view)
    place.told = told
    assert place.ledger.trouble
    assert place.at == 10  # what is there can be read
    go_on(place, 15)
    assert not place.ledger.watch()
    subprocess.run(["mount", "-o", "remount,rw,bind", view], check=True)
    come_back(place)
    assert_all_is_there(place)
    place.ledger.close()


# -- what could be read at the start, or could not -----------------------------------------


@pytest.fixture
def impatient(monkeypatch):
    """Wait for no lock."""
    monkeypatch.setattr(database, "BUSY_MS", 50)


@pytest.fixture
def unwritable(monkeypatch):
    """Return a function that lets no file be opened for writing, or lets it be again."""
    prepare = Database._prepare

    def switch(to: bool) -> None:
        def refuse(_: Database) -> None:
            raise OSError("Read-only file system")

        monkeypatch.setattr(Database, "_prepare", refuse if to else prepare)

    return switch


def left(place):
    return ids(u.transition for u in place.ledger.untold("phone"))


def again(place):
    """Return the place after a crash, with what it told before."""
    told = place.told
    place.crash()
    place.told = told
    return place


@pytest.mark.parametrize("orderly", [True, False])
def test_what_can_be_read_is_gone_on_from(tmp_path, unwritable, orderly):
    place = Place(tmp_path)
    go_on(place, 60)
    waits = left(place)
    assert waits
    if orderly:
        place.ledger.close()
    unwritable(True)
    again(place)
    assert place.ledger.trouble
    assert (place.at, left(place)) == (60, waits)
    assert windows(place.engine) == windows(never_stopped(60)[0])
    go_on(place, 15)
    unwritable(False)
    come_back(place)
    assert not place.ledger.strange
    go_on(place)
    assert_all_is_there(place)


def test_a_crash_before_it_could_be_written_costs_nothing_that_was(tmp_path, unwritable):
    place = Place(tmp_path)
    go_on(place, 60)
    waits = left(place)
    unwritable(True)
    again(place)
    go_on(place)
    unwritable(False)
    again(place)
    assert (place.at, left(place)) == (60, waits)


def test_an_engine_that_cannot_be_had_back_from_it_is_not_overwritten(
    tmp_path, unwritable, monkeypatch
):
    place = Place(tmp_path)
    go_on(place, 60)
    waits = left(place)
    unwritable(True)
    with monkeypatch.context() as patch:
        patch.setattr("hushd.core.engine.Engine.recover", lambda *_: 1 / 0)
        again(place)
    assert (place.left.engine, place.at, left(place)) == (None, 0, [])
    unwritable(False)
    place.ledger._file._retry_at = 0.0
    assert place.ledger.watch()
    assert place.ledger.strange
    assert left(place) == waits


def test_what_could_not_be_read_is_set_aside_and_what_waits_in_it_is_there_to_be_told(
    tmp_path, impatient
):
    place = Place(tmp_path)
    go_on(place, 60)
    waits = left(place)
    place.ledger.settle("phone", [], (("loud", ()), Told(7, "warning")))
    place.ledger.close()
    tool = sqlite3.connect(tmp_path / "hushd.db", isolation_level=None)
    tool.execute("PRAGMA locking_mode = EXCLUSIVE")
    tool.execute("BEGIN EXCLUSIVE")
    again(place)
    assert (place.left.engine, left(place), place.ledger.told("phone")) == (None, [], {})
    tool.execute("ROLLBACK")
    tool.close()
    place.ledger._file._retry_at = 0.0
    assert place.ledger.watch()
    assert place.ledger.strange
    assert all(untold.unsure for untold in place.ledger.untold("phone"))
    assert left(place) == waits
    assert place.ledger.told("phone") == {("loud", ()): Told(7, "warning")}
    aside = place.ledger.opened.set_aside
    assert aside is not None
    assert aside.name in place.ledger.opened.damage
    raw = sqlite3.connect(aside)
    assert raw.execute("SELECT count(*) FROM shard").fetchone()[0] > 0
    raw.close()
    place.ledger.commit()
    place.ledger._file.fail(OSError("the disk fails"))
    place.ledger._file._retry_at = 0.0
    assert place.ledger.watch()
    assert not place.ledger.strange  # now it is our own


@needs_root
@pytest.mark.parametrize("size", ["1m", "24m"])  # without ballast, and with
def test_a_disk_that_is_full_at_the_start(mounted, size):
    disk = mounted("-t", "tmpfs", "-o", f"size={size}", "tmpfs")
    place = Place(disk)
    go_on(place, 60)
    waits = left(place)
    place.ledger.close()
    filler = fill(disk)
    again(place)
    assert bool(place.ledger.trouble) is (size == "1m")
    assert (place.at, left(place)) == (60, waits)
    go_on(place, 5)
    filler.unlink()
    if place.ledger.trouble:
        come_back(place)
    assert_all_is_there(place)


def test_a_glimpse_waits_for_no_lock_and_makes_no_database(tmp_path, impatient):
    path = tmp_path / "hushd.db"
    made = Database(path)
    with made.transaction():
        made.note("key", "value")
    assert Glimpse(path).meta("key") == "value"
    made.close()
    assert Glimpse(path).meta("key") == "value"
    tool = sqlite3.connect(path, isolation_level=None)
    tool.execute("PRAGMA locking_mode = EXCLUSIVE")
    tool.execute("BEGIN EXCLUSIVE")
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        Glimpse(path)
    tool.close()
    with pytest.raises(sqlite3.OperationalError):
        Glimpse(tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()


# -- what fails while it runs -------------------------------------------------------------


def test_a_file_that_is_taken_away_is_made_again(tmp_path):
    place = Place(tmp_path)
    go_on(place)
    for name in ("hushd.db", "hushd.db-wal", "hushd.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    assert place.ledger.watch()
    assert place.ledger.opened.fresh
    assert "taken away" in place.ledger.trouble
    come_back(place)
    go_on(place)
    assert_all_is_there(place)


def test_another_file_in_its_place_is_written_over(tmp_path):
    other = tmp_path / "other"
    place = Place(other, seed=7)
    go_on(place, 20)
    place.ledger.close()
    place = Place(tmp_path / "state")
    go_on(place)
    (other / "hushd.db").replace(tmp_path / "state" / "hushd.db")
    assert place.ledger.watch()
    come_back(place)
    go_on(place)
    assert_all_is_there(place)


def test_a_file_that_is_damaged_while_it_runs_is_set_aside(tmp_path):
    place = Place(tmp_path)
    go_on(place, 200)
    place.ledger._file.database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    place.ledger._file.database.execute("PRAGMA cache_size = 1")
    with (tmp_path / "hushd.db").open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * ((tmp_path / "hushd.db").stat().st_size - 4096))
    until = place.at + 100
    while not place.ledger.trouble and place.at < until:
        place.step()
    assert "it is damaged" in place.ledger.trouble
    come_back(place)
    assert place.ledger.opened.set_aside is not None
    go_on(place)
    assert_all_is_there(place)


def test_who_is_locked_out_by_another_program_goes_on_and_comes_back(tmp_path, monkeypatch):
    place = Place(tmp_path)
    go_on(place)
    place.ledger._file.database.execute("PRAGMA busy_timeout = 10")
    raw = sqlite3.connect(tmp_path / "hushd.db", isolation_level=None)
    raw.execute("BEGIN IMMEDIATE")
    go_on(place)
    assert "another program keeps it locked" in place.ledger.trouble
    raw.execute("ROLLBACK")
    raw.close()
    come_back(place)
    assert_all_is_there(place)


FULL = """
import json, resource, signal, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from kept import Place
place = Place(Path(sys.argv[2]))
for _ in range(20):
    place.step()
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY))
said = ""
for _ in range(400):
    place.step()
    said = said or place.ledger.trouble
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
place.ledger._file._retry_at = 0.0
back = place.ledger.watch()
place.ledger.commit()
print(json.dumps([said, back, place.ledger.trouble, place.at]))
"""


def test_a_file_that_may_grow_no_more_is_said_and_written_once_it_may(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FULL, SUPPORT, tmp_path], capture_output=True, check=False, text=True
    )
    assert done.returncode == 0, done.stderr
    said, back, trouble, at = json.loads(done.stdout)
    assert "hushd.db: the disk" in said
    assert (back, trouble) == (True, "")
    place = Place(tmp_path)
    assert place.at == at
    whole, _ = never_stopped(at)
    assert windows(place.engine) == windows(whole)


def fill(disk: Path) -> Path:
    """Leave no room on a disk."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    return filler


@needs_root
def test_a_disk_that_is_full_is_said_and_all_is_written_once_there_is_room(mounted):
    disk = mounted("-t", "tmpfs", "-o", "size=1m", "tmpfs")
    place = Place(disk)
    go_on(place)
    filler = fill(disk)
    go_on(place, 100)
    assert place.ledger.trouble == f"{disk / 'hushd.db'}: the disk is full"
    filler.unlink()
    come_back(place)
    go_on(place)
    assert_all_is_there(place)


@needs_root
def test_the_ballast_goes_before_anything_else_does(mounted):
    disk = mounted("-t", "tmpfs", "-o", "size=24m", "tmpfs")
    place = Place(disk)
    ballast = disk / "hushd.db.ballast"
    assert ballast.exists()
    go_on(place)
    fill(disk)
    go_on(place, 50)
    assert place.ledger.trouble == ""
    assert not ballast.exists()
    assert_all_is_there(place)


def test_while_nothing_can_be_kept_workers_are_told_so_and_nothing_piles_up(tmp_path):
    (tmp_path / "hushd.db").mkdir()
    place = Place(tmp_path)
    while not place.told:
        assert place.step() in ([], [0])
    assert place.ledger.untold("phone") == []
    assert place.ledger.keep("phone", [Owed(place.told[0], 1)], {}) == [0]
    place.ledger.settle("phone", [5])
    go_on(place, 3000)
    assert len(place.ledger._readings) == 0
    assert len(place.ledger._marks) <= 100
    assert len(place.ledger._missed) <= 1000


def test_what_was_told_meanwhile_is_not_told_again_without_a_word(tmp_path):
    place = Place(tmp_path)
    while len(place.told) < 2:
        place.step()
    told = ids(place.told)
    place.ledger._file.fail(OSError("the disk fails"))
    place.step()
    place.ledger._file._retry_at = 0.0
    assert place.ledger.watch()
    place.crash()  # before anybody said what was told meanwhile
    found = place.ledger.untold("phone")
    assert ids(u.transition for u in found) == told
    assert all(u.unsure for u in found)


def test_rows_of_an_earlier_file_are_not_given_to_others(tmp_path):
    place = Place(tmp_path)
    while len(place.told) < 3:
        place.step()
    (old,) = place.ledger.commit((), [("phone", place.told[0])])
    for name in ("hushd.db", "hushd.db-wal", "hushd.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    assert place.ledger.watch()
    (new,) = place.ledger.keep("phone", [Owed(place.told[0], 1)], {})
    assert new > old


# -- hold ---------------------------------------------------------------------------------


def test_whoever_holds_is_told_nothing_until_it_is_kept(tmp_path):
    (tmp_path / "hushd.db").mkdir()
    place = Place(tmp_path, on_error="hold")

    def until_it_is_held():
        while True:
            place.step()

    with pytest.raises(HeldError, match="it is no file"):
        until_it_is_held()
    assert place.ledger.wait() is None  # there is no sense in trying before it is watched
    held = place.told.copy()
    with pytest.raises(HeldError):
        place.ledger.commit(held, [("phone", transition) for transition in held])
    (tmp_path / "hushd.db").rmdir()
    place.ledger._file._retry_at = 0.0
    assert place.ledger.watch()
    assert place.ledger.wait() == 0
    rows = place.ledger.commit(held, [("phone", transition) for transition in held])
    assert rows == list(range(1, len(held) + 1))
    assert place.ledger.trouble == ""
    place.crash()
    assert ids(u.transition for u in place.ledger.untold("phone")) == ids(held)


# -- coming back --------------------------------------------------------------------------


def test_the_pauses_grow_until_it_comes_back(tmp_path, monkeypatch):
    monkeypatch.setattr(storefile, "FIRST", 1.0)
    (tmp_path / "hushd.db").mkdir()
    place = Place(tmp_path)
    pauses = []
    for _ in range(8):
        pauses.append(round(place.ledger._file._retry_at - time.monotonic()))
        assert not place.ledger.watch()  # it is not time yet
        place.ledger._file._retry_at = 0.0
        assert not place.ledger.watch()
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]
    (tmp_path / "hushd.db").rmdir()
    come_back(place)
    place.ledger._file.fail(OSError("again"))
    assert round(place.ledger._file._retry_at - time.monotonic()) == 1


def test_the_trouble_lasts_until_all_is_written(tmp_path):
    place = Place(tmp_path)
    go_on(place)
    place.ledger._file.fail(OSError("the disk fails"))
    place.ledger._start_over()
    place.ledger._file._retry_at = 0.0
    assert place.ledger.watch()
    assert place.ledger.trouble

    def unforeseen(*_):
        raise RuntimeError("nobody has thought of this")

    before, place.ledger._write = place.ledger._write, unforeseen
    place.step()
    assert "nobody has thought of this" in place.ledger.trouble
    place.ledger._write = before
    come_back(place)
    assert_all_is_there(place)


# -- a copy, and back ---------------------------------------------------------------------


def test_who_goes_on_from_a_copy_knows_that_life_had_gone_on(tmp_path):
    place = Place(tmp_path / "state")
    go_on(place, 60)
    waits = left(place)
    place.ledger.backup(tmp_path / "copy.db")
    assert not any(untold.unsure for untold in place.ledger.untold("phone"))
    go_on(place, 20)
    place.stop()
    assert (place.at, place.ledger.opened.damage) == (80, "")
    place.ledger.close()
    shutil.copy(tmp_path / "copy.db", tmp_path / "state" / "hushd.db")
    again(place)
    assert (place.at, left(place)) == (60, waits)
    assert all(untold.unsure for untold in place.ledger.untold("phone"))
    assert "it is a copy" in place.ledger.opened.damage
    again(place)  # before anybody heard of it
    assert "it is a copy" in place.ledger.opened.damage
    place.ledger.gap(0, place.ledger.opened.damage)
    place.ledger.commit()
    again(place)
    assert place.ledger.opened.damage == ""
    place.ledger.close()
