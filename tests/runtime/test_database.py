"""The file: made for nobody else, checked when opened, brought up to date, set aside."""

import sqlite3
from pathlib import Path

import pytest

from hushd.runtime import database
from hushd.runtime.database import Database, NewerError, SpoiledError, set_aside

STORES = Path(__file__).parent / "stores"
PAGE = 4096


@pytest.fixture
def path(tmp_path):
    return tmp_path / "hushd.db"


def test_a_new_file_is_for_its_owner_alone_and_says_whose_it_is(path):
    found = Database(path)
    assert found.fresh
    assert found.execute("PRAGMA user_version").fetchone() == (database.VERSION,)
    assert found.execute("PRAGMA application_id").fetchone() == (database.APPLICATION,)
    found.note("key", "value")  # now there is a write-ahead log beside it
    modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    assert modes == dict.fromkeys(("hushd.db", "hushd.db-wal", "hushd.db-shm"), 0o600)
    found.close()
    assert [file.name for file in path.parent.iterdir()] == ["hushd.db"]


def test_a_file_that_others_might_read_is_closed_to_them(path):
    Database(path).close()
    path.chmod(0o644)
    Database(path).close()
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("pragma", "value"), [("journal_mode", "wal"), ("synchronous", 2), ("wal_autocheckpoint", 100)]
)
def test_what_is_committed_survives_a_power_cut_because(path, pragma, value):
    found = Database(path)
    assert found.execute(f"PRAGMA {pragma}").fetchone() == (value,)
    found.close()


def test_what_was_noted_is_there_again(path):
    found = Database(path)
    with found.transaction():
        found.note("key", b"value")
    found.close()
    again = Database(path)
    assert not again.fresh
    assert again.meta("key") == b"value"
    assert again.meta("another") is None
    again.close()


def test_of_a_transaction_that_fails_nothing_is_kept(path):
    found = Database(path)

    def halfway():
        with found.transaction():
            found.note("key", "value")
            found.execute("no such thing")

    with pytest.raises(sqlite3.OperationalError):
        halfway()
    assert found.meta("key") is None
    with found.transaction():
        found.note("key", "another")  # it goes on
    assert found.meta("key") == "another"
    found.close()


def test_a_file_that_is_taken_away_or_replaced_is_noticed(path):
    found = Database(path)
    assert found.there
    path.rename(path.with_name("elsewhere"))
    assert not found.there
    path.write_bytes(b"")
    assert not found.there
    found.close(tidy=False)


# -- earlier versions ------------------------------------------------------------------


def test_an_empty_file_is_one_in_which_nothing_was_written_yet(path):
    path.write_bytes(b"")
    found = Database(path)
    assert found.fresh
    found.close()


@pytest.mark.parametrize("kept", sorted(STORES.glob("v*.db")), ids=lambda kept: kept.stem)
def test_a_file_of_an_earlier_version_is_brought_up_to_date_with_all_that_is_in_it(kept, path):
    path.write_bytes(kept.read_bytes())
    found = Database(path)
    assert not found.fresh
    assert found.execute("PRAGMA user_version").fetchone() == (database.VERSION,)
    made = Database(path.with_name("new.db"))
    tables = "SELECT name, sql FROM sqlite_master ORDER BY name"
    assert found.execute(tables).fetchall() == made.execute(tables).fetchall()
    assert found.execute("SELECT count(*) FROM journal").fetchone() > (0,)
    found.close()
    made.close()


def test_there_is_a_kept_file_of_every_version():
    assert {kept.stem for kept in STORES.glob("v*.db")} == {
        f"v{number}" for number in range(1, database.VERSION + 1)
    }


def test_each_script_is_one_step_that_is_done_or_not(path, monkeypatch):
    Database(path).close()
    scripts = (*database.SCRIPTS, "CREATE TABLE more (x)", "CREATE TABLE last (x); nonsense")
    monkeypatch.setattr(database, "SCRIPTS", scripts)
    monkeypatch.setattr(database, "VERSION", len(scripts))
    with pytest.raises(sqlite3.OperationalError, match="nonsense"):
        Database(path)
    raw = sqlite3.connect(path)
    assert raw.execute("PRAGMA user_version").fetchone() == (len(scripts) - 1,)
    tables = {name for (name,) in raw.execute("SELECT name FROM sqlite_master")}
    assert "more" in tables
    assert "last" not in tables
    raw.close()


def test_a_file_of_a_later_version_is_left_as_it_is(path):
    Database(path).close()
    raw = sqlite3.connect(path)
    raw.execute(f"PRAGMA user_version = {database.VERSION + 1}")
    raw.close()
    before = path.read_bytes()
    with pytest.raises(NewerError, match=f"version {database.VERSION + 1}"):
        Database(path)
    assert path.read_bytes() == before


# -- what cannot be used ---------------------------------------------------------------


def a_store(path):
    """Write a file of a few dozen pages, and return its bytes."""
    found = Database(path)
    with found.transaction():
        for number in range(60):
            row = (number, str(number), number, bytes([number]) * 3000)
            found.execute("INSERT INTO shard VALUES (?, ?, ?, ?)", row)
    found.close()
    return path.read_bytes()


def opened(path):
    """Return what can be read of a file, or why it cannot be used."""
    try:
        found = Database(path)
    except SpoiledError as exc:
        return str(exc)
    try:
        return found.execute("SELECT count(*), sum(length(data)) FROM shard").fetchone()
    finally:
        found.close()


def test_a_file_that_was_cut_off_anywhere_is_not_taken_for_whole(path):
    whole = a_store(path)
    assert opened(path) == (60, 180_000)
    for length in range(PAGE, len(whole), PAGE):
        path.write_bytes(whole[:length])
        assert isinstance(opened(path), str), length


def test_a_file_with_a_page_of_zeros_is_not_taken_for_whole(path):
    whole = a_store(path)
    for start in range(0, len(whole), PAGE):
        path.write_bytes(whole[:start] + bytes(PAGE) + whole[start + PAGE :])
        assert isinstance(opened(path), str), start


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"version: 1\nsensors: {}\n" * 100, "it is no database"),
        (b"short", "it is no database"),
        (bytes(8192), "it is no database"),
        (b"SQLite format 3\0" + bytes(5000), "it is no database"),
    ],
    ids=["a text", "a short text", "zeros", "only the beginning"],
)
def test_what_is_no_database_is_said_to_be_none(path, content, why):
    path.write_bytes(content)
    assert opened(path) == why
    assert path.read_bytes() == content  # nothing was done to it


def test_the_database_of_another_program_is_not_ours(path):
    raw = sqlite3.connect(path)
    raw.execute("CREATE TABLE contacts (name)")
    raw.close()
    assert opened(path) == "it is a database of another program"


def test_a_folder_in_its_place_is_no_file(path):
    path.mkdir()
    mode = path.stat().st_mode
    with pytest.raises(OSError, match="it is no file"):
        Database(path)
    assert path.stat().st_mode == mode


def test_what_is_set_aside_can_be_looked_at_with_all_that_was_in_it(path):
    found = Database(path)
    with found.transaction():
        found.note("key", "value")  # still in the write-ahead log
    aside = set_aside(path, "corrupt")
    assert aside.name.startswith("hushd.db.corrupt.2")
    assert not path.exists()
    raw = sqlite3.connect(aside)
    assert raw.execute("SELECT value FROM meta").fetchone() == ("value",)
    raw.close()
    found.close(tidy=False)


def test_of_what_is_set_aside_again_and_again_the_newest_stay(path):
    for number in range(6):
        path.write_text(str(number))
        path.with_name("hushd.db-wal").write_text(str(number))
        set_aside(path, "corrupt")
    left = sorted(file.read_text() for file in path.parent.glob("*Z*") if "wal" not in file.name)
    assert left == ["3", "4", "5"]
    assert len(list(path.parent.iterdir())) == 6


# -- a copy ----------------------------------------------------------------------------


def test_a_copy_is_whole_and_for_its_owner_alone(path):
    found = Database(path)
    with found.transaction():
        found.note("key", "value")
    target = path.with_name("copy.db")
    found.copy(target)
    assert target.stat().st_mode & 0o777 == 0o600
    copy = Database(target)
    assert copy.meta("key") == "value"
    copy.close()
    found.close()


def test_a_copy_replaces_nothing(path):
    found = Database(path)
    target = path.with_name("precious.txt")
    target.write_text("precious")
    with pytest.raises(FileExistsError):
        found.copy(target)
    assert target.read_text() == "precious"
    found.close()
