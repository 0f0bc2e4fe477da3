"""The store that lasts: one SQLite file, written by one connection.

One transaction holds what came in, the state of the engine after it, what was decided and
who is to hear of it.  The loop acknowledges and tells only after that.  Workers keep in
transactions of their own what they are about to tell and what was told.

A store that fails must not silence the alerts: unless the configuration says ``hold``, all
goes on in memory, says that it does, and is written anew once the disk lets it.
"""

import contextlib
import json
import sqlite3
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from hushd.config.records import Store as Settings
from hushd.core.aggregation import Aggregator
from hushd.core.engine import Engine
from hushd.core.mutes import Ack, Mute
from hushd.core.readings import SECOND, Reading
from hushd.core.reconcile import Told
from hushd.core.rules import Rules
from hushd.core.transitions import Transition
from hushd.runtime import database
from hushd.runtime.archive import Archive, Statement
from hushd.runtime.database import Database
from hushd.runtime.logs import Log
from hushd.runtime.messages import Message
from hushd.runtime.outbox import Outbox
from hushd.runtime.redelivery import Mark, mark
from hushd.runtime.store import NOWHERE, Alert, HeldError, Letter, Owed, Untold
from hushd.runtime.storefile import Opened, StoreError, StoreFile
from hushd.runtime.wishes import Wishes

READINGS = 500  # that wait for a commit; then it is due at once
SELDOM = 60.0  # seconds; how often is kept what no reading and no alert asks for: the time
LATELY = 1000  # transitions and gaps that are remembered while nothing can be kept
GAPS = 1000  # that the file remembers
CHEAP = 100_000  # readings in shards that are folded at the end, for a fast start

T = TypeVar("T")


class Gap(NamedTuple):
    """Readings that are missing."""

    at: int  # before this engine time
    wall: int  # when it was noticed; wall clock, ns
    why: str


class Recovered(NamedTuple):
    """What the last process left behind."""

    engine: Engine | None = None
    clock: Mapping[str, Any] | None = None  # what the clocks said at the last commit
    packets: Sequence[Mark] = ()  # of the newest messages, oldest first
    troubles: bytes | None = None
    gaps: Sequence[Gap] = ()  # oldest first
    in_hand: bytes | None = None  # what was being judged when the process ended


class Ledger:
    """A `Store` in a file.

    A start is `recover`, then `mind` with the engine from there or a new one.  After a
    failure it is `watch` that returns True, `keep` for each notifier, and a commit.
    """

    def __init__(
        self,
        path: Path,
        settings: Settings,
        log: Log,
        *,
        clock: str = "wall",
        inbox: int = 10_000,
        stamp: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        """Open the file; where that fails, go on without, and try again when watched.

        Args:
            path: The file.
            settings: How to keep it; where the file is, *path* says.
            log: Where to report.
            clock: Where engine time comes from; times by another clock mean nothing.
            inbox: How many messages may wait.
            stamp: Says, at every commit, what time it is by all clocks.

        Raises:
            StoreInUseError: another process has it.
            StoreError: it is of a later version; or there can be none, and it is required.
        """
        self._settings = settings
        self._inbox = inbox
        self._stamp = stamp
        self._file = StoreFile(path, clock, log)
        self._glimpse: Database | None = None  # of a file that could not be written at the start
        self._log = log
        self._mutex = threading.RLock()
        self._closed = False
        self._outbox: Outbox | None = None
        self._engine: Engine | None = None
        self._recovered: Engine | None = None
        self._anew = True  # nothing that is in the file of an engine counts
        self._readings: list[Reading] = []
        self._marks: deque[Mark] = deque(maxlen=2 * inbox)
        self._messages = 0  # of QoS 1, to be acknowledged
        self._passing: set[str] = set()  # what the file says until the next commit
        self._gaps: deque[Gap] = deque(maxlen=LATELY)
        self._missed: deque[Transition] = deque(maxlen=LATELY)  # by the journal
        self._troubles: bytes | None = None
        self._wishes = Wishes()
        self._wished = False  # something that is not in the file
        self._pending_since: float | None = None
        self._written = time.monotonic()
        self._written_now: int | None = None  # engine time then
        try:
            self._begin()
        except StoreError:
            self._file.close()
            raise
        except (sqlite3.Error, OSError) as exc:
            self._file.fail(exc)
            if settings.required:
                self.close()
                hint = "store: {required: true} says that hushd is not to run without"
                raise StoreError(f"{self.trouble}\n  hint: {hint}") from exc
            self._read_only()

    def _begin(self) -> None:
        """Open the file, and see what is in it."""
        found = self._file.open()
        self._glimpse = None
        self._look_into(found)
        if self._file.strange:
            self._wishes.adopt(found)
        self._anew = True
        self._readings.clear()

    def _read_only(self) -> None:
        """See what is in a file that cannot be written: what was told is not to be told anew."""
        found = self._file.glimpse()
        if found is not None:
            self._look_into(found)
            self._wishes.adopt(found)
            self._glimpse = found

    def _look_into(self, found: Database) -> None:
        first = 1 if self._outbox is None else self._outbox.next
        self._outbox = Outbox(found, first)
        self._archive = Archive(found, 2 * self._inbox, windows=self._keeps_windows)

    # -- how it fares ------------------------------------------------------------------

    @property
    def trouble(self) -> str:
        """Why what comes in is not kept, for people; "" while all is well."""
        return self._file.trouble

    @property
    def opened(self) -> Opened:
        """What was found in the file when it was last opened."""
        return self._file.opened

    @property
    def strange(self) -> bool:
        """Whether what was found then is not known here: others wait in it, too."""
        return self._file.strange

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self._file.path

    @property
    def _keeps_windows(self) -> bool:
        return self._settings.profile == "durable"

    # -- called by the loop ------------------------------------------------------------

    def recover(self, rules: Rules, aggregators: Mapping[str, Aggregator]) -> Recovered:
        """Return what the last process left; to be called once, before anything else.

        An engine that cannot be had back is forgotten, after a copy was set aside, and
        `opened` says so; what waits to be told, and what was told, stays.
        """
        with self._mutex:
            found = self._file.database
            if found is None or self._outbox is None:
                return self._recover_glimpse(rules, aggregators)
            try:
                in_hand = found.meta("in_hand")
                self._file.transact(self._wake)
                try:
                    return self._read(found, rules, aggregators)._replace(in_hand=in_hand)
                except sqlite3.Error:
                    raise
                except Exception as exc:  # noqa: BLE001  whatever it is, the daemon must start
                    why = f"what was kept cannot be used: {type(exc).__name__}: {exc}"
                    self._file.begin_anew(why[:300])
                    self._archive = Archive(found, 2 * self._inbox, windows=self._keeps_windows)
            except (sqlite3.Error, OSError) as exc:
                self._file.fail(exc)
                self._read_only()
                return self._recover_glimpse(rules, aggregators)
            return Recovered(in_hand=in_hand)

    def bury_orphans(self, names: Collection[str], before: int) -> None:
        """Give up, and log, what waits for notifiers that there are not any more.

        Args:
            names: Those that there are.
            before: Wall time in ns; what waits since then may still have its notifier back.
        """
        none = Counter[str]()
        orphans = self._do(lambda outbox: outbox.bury_orphans(names, before), none)
        for name, number in sorted(orphans.items()):
            hint = f"no notifier is called {name} any more"
            self._log.warning("notifier.given_up", notifier=name, transitions=number, hint=hint)

    def _wake(self) -> None:
        """Take note that the last process has ended."""
        if self._outbox is not None and self._file.database is not None:
            self._outbox.wake()
            self._file.database.forget("in_hand")

    def _recover_glimpse(self, rules: Rules, aggregators: Mapping[str, Aggregator]) -> Recovered:
        """Return what is in a file that cannot be written; one day all is written anew."""
        glimpse = self._glimpse
        if glimpse is None:
            return Recovered()
        try:
            Outbox(glimpse).wake()
            left = self._read(glimpse, rules, aggregators)
        except Exception as exc:  # noqa: BLE001  whatever it is, the daemon must start
            self._log.error("store.ignored", error=f"{type(exc).__name__}: {exc}"[:300])
            self._glimpse = None  # the file is looked into again when it can be written
            return Recovered()
        self._anew = True
        return left

    def _read(
        self, found: Database, rules: Rules, aggregators: Mapping[str, Aggregator]
    ) -> Recovered:
        engine = self._archive.recover(rules, aggregators)
        clock = found.meta("clock")
        gaps = found.execute("SELECT at, wall, why FROM gap ORDER BY id")
        left = Recovered(
            engine,
            None if clock is None else json.loads(clock),
            self._archive.marks(),
            found.meta("troubles"),
            [Gap(*row) for row in gaps],
        )
        if engine is not None:
            self._anew = not self._archive.follows(rules)
            self._recovered = engine
        self._troubles = left.troubles
        self._file.saw(found)
        if self.opened.why:
            self._passing.add("copied")
        return left

    def mind(self, engine: Engine) -> None:
        """Keep the state of this engine from now on.

        All of it is written anew, unless it is the one that `recover` returned, and its rules
        are those that it had before.
        """
        with self._mutex:
            if engine is not self._recovered:
                self._start_over()
            self._engine, self._recovered = engine, None

    def change(self, settings: Settings, inbox: int) -> None:
        """Go on with other settings; another path counts from the next start on."""
        with self._mutex:
            self._settings, self._inbox = settings, inbox
            self._marks = deque(self._marks, maxlen=2 * inbox)
            if self._file.database is not None:
                self._archive = Archive(self._file.database, 2 * inbox, windows=self._keeps_windows)
            self._start_over()

    def _start_over(self) -> None:
        self._anew = True
        self._readings.clear()  # they are in the windows, which are written

    def add(self, readings: Sequence[Reading], batch: Sequence[Message]) -> None:
        """Take note of messages, and of the readings made of them, for the next commit."""
        with self._mutex:
            marks = [mark(message) for message in batch if message.qos]
            self._messages += len(marks)
            if self._keeps_windows:
                self._marks.extend(marks)
                if not self._anew:
                    self._readings += readings
            if (marks or readings) and self._pending_since is None:
                self._pending_since = time.monotonic()

    def wait(self) -> float | None:
        """Return in how many seconds a commit is due; None: there is nothing to commit."""
        with self._mutex:
            if self._file.database is None:
                held = self._settings.on_error == "hold"
                return None if held or self._pending_since is None else 0.0
            if self._anew and self._engine is not None:
                return 0.0
            if self._is_old():
                return 0.0
            if self._pending_since is None:
                return None
            if (
                not self._keeps_windows
                or len(self._readings) >= READINGS
                or self._messages >= max(self._inbox // 2, 1)
            ):
                return 0.0
            passed = time.monotonic() - self._pending_since
            return max(0.0, self._settings.commit_interval / SECOND - passed)

    def commit(
        self,
        transitions: Sequence[Transition] = (),
        letters: Sequence[Letter] = (),
        troubles: bytes | None = None,
    ) -> list[int]:
        """Keep what was added, the state of the engine, and what was decided, as one.

        Raises:
            HeldError: it fails, and everything is to wait until it does not.
        """
        with self._mutex:
            news = self._has_news() or bool(transitions or letters)
            if troubles not in {None, self._troubles}:
                self._troubles, news = troubles, True
            rows = [NOWHERE] * len(letters)
            if self._file.database is not None and news:
                try:
                    rows = self._write(transitions, letters)
                except Exception as exc:  # noqa: BLE001  alerts go on, whatever the store has
                    self._file.fail(exc)
                    self._start_over()
                else:
                    self._file.mended()
                    self._gaps.clear()
                    self._missed.clear()
                    self._marks.clear()
                    self._wished = False
            if self._file.database is None:
                if self._settings.on_error == "hold":
                    raise HeldError(self.trouble)
                self._missed.extend(transitions)
            self._pending_since = None
            self._messages = 0
            return rows

    def _has_news(self) -> bool:
        """Say whether there is something to write beside what is handed over."""
        if self._gaps or self._passing or self._wished or (self._anew and self._engine is not None):
            return True
        if self._keeps_windows and (self._readings or self._marks):
            return True
        return self._is_old()

    def _is_old(self) -> bool:
        """Say whether time has gone on for so long that a restart would take it for an absence."""
        if self._engine is None or time.monotonic() - self._written < SELDOM:
            return False
        return self._engine.now != self._written_now

    def _write(
        self,
        transitions: Sequence[Transition],
        letters: Sequence[Letter],
        fold: int | None = None,
    ) -> list[int]:
        """Write all there is to write; what is pending is pending no more.

        Raises:
            Exception: nothing of it is written, and the archive knows no more what is.
        """
        outbox, found = self._outbox, self._file.database
        if outbox is None or found is None:
            raise OSError(self.trouble)
        engine, statements = self._engine, list[Statement]()
        if engine is not None:
            statements = self._archive.plan(
                engine, self._readings, self._marks, everything=self._anew, fold=fold
            )
        statements.append(Statement.note("clock", json.dumps(dict(self._stamp()))))
        if self._troubles is not None:
            statements.append(Statement.note("troubles", self._troubles))
        statements += [Statement("DELETE FROM meta WHERE key = ?", (key,)) for key in self._passing]
        statements += [
            Statement("INSERT INTO gap (at, wall, why) VALUES (?, ?, ?)", gap) for gap in self._gaps
        ]
        if self._gaps:
            statements.append(
                Statement("DELETE FROM gap WHERE id <= (SELECT max(id) FROM gap) - ?", (GAPS,))
            )

        def execute() -> list[int]:
            for sql, values in statements:
                found.execute(sql, values)
            if self._wished:
                self._wishes.write(found)
            return outbox.write([*self._missed, *transitions], letters)

        rows = self._file.transact(execute)
        self._passing.clear()
        self._anew = self._anew and engine is None
        self._readings.clear()
        self._written = time.monotonic()
        self._written_now = None if engine is None else engine.now
        return rows

    def gap(self, at: int, why: str) -> None:
        """Take note, for the next commit, that readings are missing before *at* (engine time)."""
        with self._mutex:
            self._gaps.append(Gap(at, time.time_ns(), database.plain(why)))
            if self._pending_since is None:
                self._pending_since = time.monotonic()

    def session_lost(self) -> None:
        """Know no repetitions any more: in a new session, identifiers begin anew."""
        with self._mutex:
            self._marks.clear()
            self._do(lambda _outbox: self._archive.forget_marks(), None)

    def in_hand(self, messages: bytes) -> None:
        """Keep until the next commit what is judged now: should the process end, it is known why.

        *messages* are what `Suspects` make of them.
        """
        with self._mutex:
            found = self._file.database
            if found is not None:
                self._passing.add("in_hand")
                self._do(lambda _: found.note("in_hand", messages), None)

    def watch(self) -> bool:
        """Try to come back from a failure; True if there is a file again.

        Then `keep` is due for every notifier, and after that a commit, which writes all there
        is to know of the engine.  Only when that went well is the trouble over: a process
        that ends in between has told too much, but nothing too little.  Is the file `strange`,
        a copy of it was set aside, and what waits in it is to be told.
        """
        with self._mutex:
            if self._closed or not self._file.missing():
                return False
            try:
                self._begin()
                if self._outbox is not None:
                    self._file.transact(self._outbox.doubt)
                if self._file.strange and self._file.database is not None:
                    self._file.begin_anew("it is not the file that hushd began with")
                    self._look_into(self._file.database)
                self._wished = True
            except (sqlite3.Error, OSError, StoreError) as exc:
                self._file.fail(exc)
                return False
            return True

    def backup(self, target: Path) -> None:
        """Write a copy of all that is kept into *target*, which must not exist yet.

        Raises:
            OSError: it cannot be written, or nothing is kept at the moment.
        """
        with self._mutex:
            self._file.copy(target)

    def abandon(self) -> None:
        """Write nothing of the engine any more: it was interrupted, and what it decided is lost.

        Its alerts would be on the next time, and nobody told.  From the last commit on, the
        broker sends all of it again.
        """
        with self._mutex:
            self._engine = None
            self._gaps.clear()

    def close(self) -> None:
        """Let go of everything, in a state that opens fast."""
        with self._mutex:
            if not self._closed and self._file.database is not None and self._engine is not None:
                with contextlib.suppress(Exception):  # what counts was committed before
                    self._write((), (), fold=CHEAP)
            self._closed = True
            self._file.close()

    # -- called by the workers ---------------------------------------------------------

    def told(self, notifier: str) -> dict[Alert, Told]:
        """Return what *notifier* was told before anybody here worked for it."""
        return self._ask(lambda outbox: outbox.told(notifier), {})

    def untold(self, notifier: str) -> list[Untold]:
        """Return what waits for *notifier*, whom nobody here works for yet, oldest first."""
        return self._ask(lambda outbox: outbox.untold(notifier), [])

    def claim(self, row: int) -> None:
        """Keep that this is about to be sent: should the process end now, that is not sure."""
        if row != NOWHERE:
            self._do(lambda outbox: outbox.claim(row), None)

    def settle(
        self, notifier: str, rows: Sequence[int], news: tuple[Alert, Told] | None = None
    ) -> None:
        """Keep that these rows are done with, and what *notifier* now knows of an alert."""
        kept = [row for row in rows if row != NOWHERE]
        if kept or news is not None:
            self._do(lambda outbox: outbox.settle(notifier, kept, news), None)

    def postpone(self, row: int, *, unsure: bool) -> None:
        """Keep that an attempt failed; *unsure*: it may have arrived all the same."""
        if row != NOWHERE:
            self._do(lambda outbox: outbox.postpone(row, unsure=unsure), None)

    def bury(self, row: int, error: str, fallback: str = "") -> int:
        """Keep that this is never told, and why; return the row for *fallback*, if any."""
        if row == NOWHERE:
            return NOWHERE
        why = database.plain(error)
        return self._do(lambda outbox: outbox.bury(row, why, fallback), NOWHERE)

    def keep(
        self,
        notifier: str,
        letters: Sequence[Owed],
        told: dict[Alert, Told],
    ) -> list[int]:
        """Keep all that waits for *notifier* and all it knows, in place of what was there."""
        nowhere = [NOWHERE] * len(letters)
        return self._do(lambda outbox: outbox.keep(notifier, letters, told), nowhere)

    # -- what people asked for ---------------------------------------------------------

    def mutes(self) -> list[Mute]:
        """Return the silences, in the order of their numbers."""
        with self._mutex:
            return self._wishes.mutes()

    def keep_mute(self, mute: Mute) -> None:
        """Keep a silence; while the file fails, until the next commit that does not."""
        with self._mutex:
            self._wishes.keep_mute(mute)
            self._wish()

    def drop_mute(self, number: int) -> None:
        """Forget a silence that has ended."""
        with self._mutex:
            if self._wishes.drop_mute(number):
                self._wish()

    def acks(self) -> list[Ack]:
        """Return who minds what."""
        with self._mutex:
            return self._wishes.acks()

    def keep_ack(self, ack: Ack) -> None:
        """Keep that somebody minds an alert."""
        with self._mutex:
            self._wishes.keep_ack(ack)
            self._wish()

    def drop_acks(self, alerts: Sequence[Alert]) -> None:
        """Forget who minded these alerts: their episodes are over."""
        with self._mutex:
            if self._wishes.drop_acks(alerts):
                self._wish()

    def _wish(self) -> None:
        """Write what people asked for, if that can be done."""
        found = self._file.database
        self._wished = True
        if found is None:
            return

        def write(_: Outbox) -> bool:
            self._wishes.write(found)
            return True

        self._wished = not self._do(write, instead=False)

    def _ask(self, question: Callable[[Outbox], T], instead: T) -> T:
        """Return the answer, from what could be read if nothing can be written."""
        with self._mutex:
            if self._glimpse is not None and self._outbox is not None:
                return question(self._outbox)
            return self._do(question, instead)

    def _do(self, action: Callable[[Outbox], T], instead: T) -> T:
        """Return what *action* does in a transaction of its own; *instead* where that fails."""
        with self._mutex:
            outbox = self._outbox
            if outbox is None or self._file.database is None:
                return instead
            try:
                return self._file.transact(lambda: action(outbox))
            except (sqlite3.Error, OSError) as exc:
                self._file.fail(exc)
                self._start_over()
                return instead
