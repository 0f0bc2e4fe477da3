"""The SQLite file of the store: opened, checked, brought up to date, or set aside.

One connection writes, in a write-ahead log that is synchronised at every commit: what was
committed survives a power cut.  (SQLite's default of ``synchronous=NORMAL`` in such a log
does not promise that.)  A checkpoint after every 100 pages keeps the log so short that it
is written in place, which costs a flash card a third of what a growing log does.
"""

import contextlib
import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

APPLICATION = 0x68757368  # "hush", in the file's header: it is ours

#: Each brings a file from one version of the tables to the next; the first makes them.
SCRIPTS = (
    """
    CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
    CREATE TABLE series (id INTEGER PRIMARY KEY, sensor TEXT, labels TEXT, shard TEXT);
    CREATE TABLE log (seq INTEGER PRIMARY KEY, readings BLOB, marks BLOB);
    CREATE TABLE shard (id INTEGER PRIMARY KEY, name TEXT, seq INTEGER, data BLOB);
    CREATE TABLE alarm (number INTEGER PRIMARY KEY, data TEXT);
    CREATE TABLE journal (id INTEGER PRIMARY KEY, at INTEGER, data TEXT);
    CREATE TABLE outbox (
        id INTEGER PRIMARY KEY,
        notifier TEXT,
        journal INTEGER,  -- what happened
        since INTEGER,
        attempts INTEGER,
        sending INTEGER,  -- 1 while an attempt is made
        unsure INTEGER  -- 1 once one may have succeeded unnoticed
    );
    CREATE TABLE told (
        notifier TEXT,
        rule TEXT,
        labels TEXT,
        episode INTEGER,
        level TEXT,
        missed INTEGER,
        PRIMARY KEY (notifier, rule, labels)
    ) WITHOUT ROWID;
    CREATE TABLE dead (id INTEGER PRIMARY KEY, at INTEGER, notifier TEXT, data TEXT, error TEXT);
    CREATE TABLE gap (id INTEGER PRIMARY KEY, at INTEGER, wall INTEGER, why TEXT);
    """,
    """
    ALTER TABLE told ADD COLUMN at INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE told ADD COLUMN repeats INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE told ADD COLUMN worst TEXT;
    ALTER TABLE told ADD COLUMN cleared INTEGER;
    ALTER TABLE told ADD COLUMN last TEXT;  -- what happened, as in the journal
    ALTER TABLE outbox ADD COLUMN instead TEXT NOT NULL DEFAULT '';  -- of this notifier
    CREATE TABLE mutes (
        number INTEGER PRIMARY KEY,
        rule TEXT,
        labels TEXT,
        begins INTEGER,
        ends INTEGER,
        comment TEXT
    );
    CREATE TABLE acks (
        rule TEXT,
        labels TEXT,
        episode INTEGER,
        at INTEGER,
        comment TEXT,
        PRIMARY KEY (rule, labels)
    ) WITHOUT ROWID;
    """,
)
VERSION = len(SCRIPTS)
BUSY_MS = 2000  # somebody may be looking at the file with a tool
SET_ASIDE = 3  # files that are kept for a person to look at; older ones go
SIDES = ("", "-wal", "-shm")  # a database is up to three files

#: what SQLite's codes mean for who has to put it right
REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "it can only be read",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
    sqlite3.SQLITE_IOERR: "the disk fails",
    sqlite3.SQLITE_BUSY: "another program keeps it locked",
    sqlite3.SQLITE_CORRUPT: "it is damaged",
    sqlite3.SQLITE_NOTADB: "it is no database",
}


class SpoiledError(Exception):
    """The file is no store that can be read; the text says why."""


class NewerError(Exception):
    """The file was written by a later version; it is left as it is."""


class Database:
    """One open file.

    Attributes:
        fresh: Whether there was nothing in it.
    """

    def __init__(self, path: Path) -> None:
        """Open it, or make it; bring it up to date.

        Raises:
            SpoiledError: it is damaged, or not ours.
            NewerError: it is of a later version.
            sqlite3.Error, OSError: it cannot be written here and now.
        """
        self.path = path
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make(path)
        self._connection = sqlite3.connect(
            path, timeout=BUSY_MS / 1000, isolation_level=None, check_same_thread=False
        )
        self.execute = self._connection.execute
        try:
            self._prepare()
        except sqlite3.DatabaseError as exc:
            self._connection.close()
            if spoils(exc):
                raise SpoiledError(reason(exc)) from exc
            raise
        except BaseException:
            self._connection.close()
            raise
        self._identity = _identity(path)

    def _prepare(self) -> None:
        ask = self.execute
        for pragma in (
            "synchronous = FULL",
            "wal_autocheckpoint = 100",
            "journal_size_limit = 1048576",  # what one large commit needed is given back
            "temp_store = MEMORY",
        ):
            ask(f"PRAGMA {pragma}")
        version = self._check()
        (mode,) = ask("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise OSError(f"it cannot have a write-ahead log ({mode}): is it on a network drive?")
        migrate(self._connection, version)
        with self.transaction():
            pass  # shows whether it may be written at all

    def _check(self) -> int:
        """Make sure that it is a sound file of ours; return the version of its tables."""
        ask = self.execute
        (version,) = ask("PRAGMA user_version").fetchone()
        (application,) = ask("PRAGMA application_id").fetchone()
        (tables,) = ask("SELECT count(*) FROM sqlite_master").fetchone()
        self.fresh = not tables
        if tables and application != APPLICATION:
            raise SpoiledError("it is a database of another program")
        if version > VERSION:
            raise NewerError(f"version {version} of the tables; this hushd knows {VERSION}")
        (found,) = ask("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise SpoiledError(f"it is damaged: {found}"[:300])
        return int(version)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Let all that is written inside be there afterwards, on the disk, or nothing of it."""
        self.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):  # some errors have ended it already
                self.execute("ROLLBACK")
            raise

    def meta(self, key: str) -> Any:
        """Return what is noted under *key*, or None."""
        found = self.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if found is None else found[0]

    def note(self, key: str, value: Any) -> None:
        """Note *value* under *key*."""
        self.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def forget(self, key: str) -> None:
        """Note nothing under *key* any more."""
        self.execute("DELETE FROM meta WHERE key = ?", (key,))

    @property
    def there(self) -> bool:
        """Say whether the file is still the one that its path leads to."""
        try:
            return _identity(self.path) == self._identity
        except OSError:
            return False

    def copy(self, target: Path) -> None:
        """Write a copy, consistent and without gaps, into *target*, which must not exist.

        Raises:
            sqlite3.Error, OSError: it cannot be written.
        """
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        try:
            self.execute("VACUUM INTO ?", (str(target),))
            synchronise(target)
            synchronise(target.parent)
        except BaseException:
            target.unlink(missing_ok=True)
            raise

    def close(self, *, tidy: bool = True) -> None:
        """Let go of the file; *tidy*: with all of it in one piece."""
        if tidy:
            with contextlib.suppress(sqlite3.Error):
                self.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()


class Glimpse(Database):
    """What is in a file that cannot be written, in memory: nobody keeps what changes here."""

    def __init__(self, path: Path) -> None:
        """Read it, with what its write-ahead log holds.

        Raises:
            SpoiledError: it is damaged, or not ours.
            NewerError: it is of a later version.
            sqlite3.Error, OSError: it cannot be read here and now.
        """
        self.path = path
        self._connection = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False
        )
        self.execute = self._connection.execute
        try:
            try:
                self._read("mode=ro")
            except sqlite3.Error as exc:
                # a file that was closed in order has no log, and there may be no room for one
                log = path.with_name(f"{path.name}-wal")
                if _code(exc) == sqlite3.SQLITE_BUSY or (log.exists() and log.stat().st_size):
                    raise
                self._read("mode=ro&immutable=1")
            migrate(self._connection, self._check())
        except BaseException:
            self._connection.close()
            raise
        self._identity = _identity(path)

    def _read(self, how: str) -> None:
        source = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?{how}",
            uri=True,
            isolation_level=None,
            timeout=BUSY_MS / 1000,
        )
        with contextlib.closing(source):
            source.execute("BEGIN")
            source.execute("SELECT count(*) FROM sqlite_master")  # where it is locked: a copy waits
            source.backup(self._connection)


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Bring the tables from *version* to `VERSION`, one whole step after the other.

    Raises:
        sqlite3.Error: the file is as it was after the last whole step.
    """
    for number, script in enumerate(SCRIPTS[version:], version + 1):
        marks = f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {number};"
        try:
            connection.executescript(f"BEGIN IMMEDIATE; {script}; {marks} COMMIT;")
        except sqlite3.Error:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise


def set_aside(path: Path, why: str) -> Path:
    """Rename a database with all its files, so that a person may look at it; return its name.

    Args:
        path: The database.
        why: One word for its new name.

    Raises:
        OSError: it cannot be renamed.
    """
    aside = name_aside(path, why)
    for side in SIDES:
        with contextlib.suppress(FileNotFoundError):
            path.with_name(f"{path.name}{side}").rename(aside.with_name(f"{aside.name}{side}"))
    synchronise(path.parent)
    return aside


def mark_copy(target: Path) -> None:
    """Note in a copy that life went on after it was made: what waits may have been told.

    Raises:
        sqlite3.Error: it cannot be written.
    """
    with contextlib.closing(sqlite3.connect(target, isolation_level=None)) as copy:
        copy.executescript(
            "BEGIN; UPDATE outbox SET unsure = 1;"
            " INSERT OR REPLACE INTO meta VALUES ('copied', 1); COMMIT;"
        )


def name_aside(path: Path, why: str) -> Path:
    """Return the name of a file that is set aside now; of those before it, the oldest go.

    Args:
        path: The database.
        why: One word for its new name.
    """
    before = path.parent.glob(f"{path.name}.{why}.*Z*")
    whole = sorted((old for old in before if not old.name.endswith(SIDES[1:])), key=_age)
    for old in whole[: max(0, len(whole) - SET_ASIDE + 1)]:
        for side in SIDES:
            with contextlib.suppress(OSError):
                old.with_name(f"{old.name}{side}").unlink()
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    names = (f"{path.name}.{why}.{stamp}{more}" for more in ("", *(f".{n}" for n in range(2, 100))))
    return next(
        found
        for found in map(path.with_name, names)
        if not any(found.with_name(f"{found.name}{side}").exists() for side in SIDES)
    )


def spoils(exc: Exception) -> bool:
    """Say whether an error means that the file itself is bad."""
    return _code(exc) in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def is_full(exc: Exception) -> bool:
    """Say whether an error means that there is no room."""
    shared = getattr(exc, "sqlite_errorcode", None) == sqlite3.SQLITE_IOERR_SHMSIZE
    return shared or _code(exc) == sqlite3.SQLITE_FULL  # the file to be shared is the first


def reason(exc: Exception) -> str:
    """Return what an error means, for who has to put it right."""
    said = exc.strerror or str(exc) if isinstance(exc, OSError) else str(exc)
    if is_full(exc):
        return REASONS[sqlite3.SQLITE_FULL]
    return REASONS.get(_code(exc), said or type(exc).__name__)


def plain(text: str) -> str:
    """Return *text* as SQLite takes it: what is no text is shown as such."""
    return text.encode("utf-8", "replace").decode()


def synchronise(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk.

    Raises:
        OSError: they may not be.
    """
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _make(path: Path) -> None:
    """Let there be a file that nobody else may read; those beside it take its mode over."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            raise OSError("it is no file") from None
        if mode & 0o077:
            path.chmod(0o600)
    else:
        synchronise(path.parent)


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _age(path: Path) -> float:
    with contextlib.suppress(OSError):
        return path.stat().st_ctime
    return 0.0


def _code(exc: Exception) -> int:
    """Return SQLite's code of an error, without what it adds for developers; -1 of others."""
    code = getattr(exc, "sqlite_errorcode", None)
    return code & 0xFF if isinstance(code, int) else -1
