"""The store's file and what may befall it: held by others, damaged, full, taken away.

It is opened, it fails, and it is opened again when the time has come.  What cannot be used
is never deleted but set aside, with a date, for a person to look at.
"""

import contextlib
import sqlite3
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

from hushd.runtime import database
from hushd.runtime.ballast import Ballast
from hushd.runtime.database import Database, Glimpse, NewerError, SpoiledError
from hushd.runtime.locking import InUseError, Lock
from hushd.runtime.logs import Log

FIRST, LONGEST = 1.0, 60.0  # seconds between attempts to come back
SELDOM = 60.0  # seconds between looks at whether there is room for the ballast

LEFT_S = 600.0  # seconds after which nobody will take a copy away any more

#: What is of the engine, and not of those who are told.
ENGINE_TABLES = ("series", "shard", "alarm", "log")

T = TypeVar("T")


class StoreError(Exception):
    """There can be no store, and the daemon is not to run without; the text is for people."""


class StoreInUseError(StoreError):
    """Another process has the store."""


class Opened(NamedTuple):
    """What was found."""

    fresh: bool  # nothing: all begins anew
    set_aside: Path | None = None  # what could not be used, under its new name
    why: str = ""  # it could not

    @property
    def damage(self) -> str:
        """What befell the file, for people; "" where all is well."""
        aside = "" if self.set_aside is None else f"; it was set aside as {self.set_aside.name}"
        return f"{self.why}{aside}"


class StoreFile:
    """A database that comes and goes.

    Args:
        path: Where it is.
        clock: Where engine time comes from; times by another clock mean nothing.
        log: Where to report.

    Attributes:
        database: None while there is none.
        trouble: Why there is none, or why it is not complete; "" while all is well.
        opened: What was found when it was last opened.
        strange: Whether there was something in it then that this process does not know.
    """

    def __init__(self, path: Path, clock: str, log: Log) -> None:
        self.path = path.absolute()
        self.database: Database | None = None
        self.trouble = ""
        self.opened = Opened(fresh=True)
        self.strange = False
        self._run = uuid.uuid4().hex
        self._seen: set[str] = set()  # what processes wrote it last, when all in it was known
        self._clock = clock
        self._log = log.bind(path=str(self.path))
        self._ballast = Ballast(self._beside("ballast"))
        self._lock: Lock | None = None
        self._spoiled = False
        self._pause, self._retry_at = FIRST, 0.0
        self._looked_at = 0.0

    def open(self) -> Database:
        """Open it; what cannot be used is set aside, and there is a fresh one.

        Raises:
            StoreInUseError: another process has it.
            StoreError: a later version wrote it; it stays as it is.
            sqlite3.Error, OSError: it cannot be written here and now.
        """
        self.opened = Opened(fresh=False)
        try:
            if self._lock is None:
                self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._lock = Lock(self._beside("lock"))
                self._tidy_up(0)
            found = self._with_room(self._sound)
        except InUseError as exc:
            raise StoreInUseError(
                f"{self.path}: {exc} has it open\n"
                "  hint: a second hushd on this machine needs a store of its own: store: {path: ...}"
            ) from exc
        except NewerError as exc:
            raise StoreError(
                f"{self.path}: a newer hushd wrote it: {exc}\n"
                "  hint: install that version, or move the file away and begin anew"
            ) from exc
        self.opened = self.opened._replace(fresh=found.fresh)
        self.database = found
        self._ballast.take_on()
        return found

    def _sound(self) -> Database:
        if self._spoiled and self.path.exists():
            self._set_aside("corrupt", self.trouble)
        try:
            found = Database(self.path)
        except SpoiledError as exc:
            self._set_aside("corrupt", str(exc))
            found = Database(self.path)
        self._spoiled = False
        kind = found.meta("kind")
        if kind not in {None, self._clock}:
            found.close()
            self._set_aside(f"clock-{kind}", f"its times are those of clock: {kind}")
            found = Database(self.path)
        run = found.meta("run") or ""
        with found.transaction():
            found.note("kind", self._clock)
            found.note("run", self._run)
        self.strange = not found.fresh and run not in self._seen
        return found

    def glimpse(self) -> Database | None:
        """Return what is in a file that cannot be written, as far as it can be read."""
        try:
            found = Glimpse(self.path)
        except (sqlite3.Error, OSError, SpoiledError, NewerError):
            return None
        if found.fresh or found.meta("kind") != self._clock:
            found.close(tidy=False)
            return None
        return found

    def saw(self, found: Database) -> None:
        """Take note that all in it is known."""
        if found.meta("copied") is not None:
            why = "it is a copy: what came after that was made is missing"
            self.opened = self.opened._replace(why=why)
        self._seen.add(found.meta("run") or "")

    def _set_aside(self, word: str, why: str) -> None:
        aside = database.set_aside(self.path, word)
        self.opened = Opened(fresh=True, set_aside=aside, why=why)
        self._log.error("store.set_aside", why=why, to=str(aside))

    def transact(self, action: Callable[[], T]) -> T:
        """Return what *action* does, all of which is on the disk then.

        On a full disk the ballast goes, and it is done once more.

        Raises:
            sqlite3.Error, OSError: nothing of it is.
        """
        if self.database is None:
            raise OSError(self.trouble)
        found = self.database

        def act() -> T:
            with found.transaction():
                return action()

        return self._with_room(act)

    def _with_room(self, act: Callable[[], T]) -> T:
        """Return what *act* does; should the disk be full, the ballast goes and it acts again."""
        try:
            return act()
        except sqlite3.Error as exc:
            if not (database.is_full(exc) and self._ballast.drop()):
                raise
        self._log.error("store.ballast_dropped", hint="the room that was put by is used up")
        return act()

    def begin_anew(self, why: str) -> None:
        """Forget the engine, which cannot be had back, but not who is to be told of what.

        Raises:
            sqlite3.Error, OSError: that cannot be written.
        """
        if self.database is None:
            return
        aside: Path | None = None
        with contextlib.suppress(sqlite3.Error, OSError):  # there may be no room for a copy
            name = database.name_aside(self.path, "corrupt")
            self.database.copy(name)
            aside = name
        execute = self.database.execute

        def forget() -> None:
            for table in ENGINE_TABLES:
                execute(f"DELETE FROM {table}")  # noqa: S608  a name of ours
            execute("DELETE FROM meta WHERE key NOT IN ('kind', 'run')")

        self.transact(forget)
        self.opened = Opened(fresh=True, set_aside=aside, why=why)
        self._log.error("store.set_aside", why=why, to=str(aside))

    def fail(self, exc: Exception) -> None:
        """Take note that it failed, and let go of it for a while."""
        before, self.trouble = self.trouble, f"{self.path}: {database.reason(exc)}"
        self._spoiled = self._spoiled or database.spoils(exc)
        if self.database is not None:
            self.database.close(tidy=False)
            self.database = None
        self._retry_at = time.monotonic() + self._pause
        self._pause = min(2 * self._pause, LONGEST)
        if self.trouble != before:
            self._log.error(
                "store.failed", error=database.reason(exc), detail=f"{type(exc).__name__}: {exc}"
            )

    def mended(self) -> None:
        """Take note that all there is to keep has been written."""
        self._seen.add(self._run)
        self._pause = FIRST
        if self.trouble:
            self.trouble = ""
            self._log.info("store.recovered")

    def missing(self) -> bool:
        """Say whether it is time to open it again; looks after it while it is there."""
        now = time.monotonic()
        if self.database is None:
            return now >= self._retry_at
        if not self.database.there:
            self.fail(FileNotFoundError("the file was taken away"))
            return True
        if now - self._looked_at >= SELDOM:
            self._looked_at = now
            self._ballast.take_on()
        return False

    def copy(self, target: Path) -> None:
        """Write a copy into *target*, which must not exist yet.

        Raises:
            OSError: it cannot be written, or there is nothing to copy.
        """
        if self.database is None:
            raise OSError(self.trouble)
        self._tidy_up(LEFT_S)
        try:
            self.database.copy(target)
            database.mark_copy(target)
        except (sqlite3.Error, OSError) as exc:
            raise OSError(f"{target}: {database.reason(exc)}") from exc

    def _tidy_up(self, seconds: float) -> None:
        """Delete copies that nobody has taken away for so long."""
        for copy in self.path.parent.glob(f"{self.path.name}.copy-*"):
            with contextlib.suppress(OSError):
                if time.time() - copy.stat().st_mtime >= seconds:
                    copy.unlink()

    def close(self) -> None:
        """Let go of it, in one piece."""
        if self.database is not None:
            self.database.close()
            self.database = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _beside(self, word: str) -> Path:
        return self.path.with_name(f"{self.path.name}.{word}")
