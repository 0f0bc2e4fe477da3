"""The engine's rows in the store: its state, its alarms, its shards, and the log of readings.

A reading is first written into the log, one row for each commit.  A shard, which is a
sensor's series that share windows, with these windows, has a row as of some commit: what
the log has of it since is read into it again after a restart.  So that the log does not grow
for ever, the shards that rest on its oldest rows are written anew now and then, and those
rows go.  A shard is written again at most once while the log takes in a tenth of all
readings that windows hold: of each reading that comes, ten are written again at the worst.

The log also has the marks of messages of QoS 1, for the ring that knows repetitions.

`plan` returns statements; it minds nothing that may fail.  Whoever cannot execute them
throws the archive away, opens another and lets it write everything anew.
"""

import hashlib
import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from hushd.core.aggregation import Aggregator
from hushd.core.engine import Engine, Saved
from hushd.core.readings import Labels, Reading
from hushd.core.rules import Rules
from hushd.runtime.database import Database
from hushd.runtime.packing import (
    MARK_SIZE,
    Entry,
    pack_entries,
    pack_marks,
    unpack_entries,
    unpack_marks,
)
from hushd.runtime.redelivery import Mark

FEW = 50_000  # readings that the log may hold however little windows hold: half a second of a start
AT_ONCE = 5_000  # readings in shards that are folded with one commit
SHARE = 10  # the log may hold one in so many of the readings that windows hold
PACE = 2 * SHARE  # readings folded for each that came, at most: twice what it takes on average


class Statement(NamedTuple):
    """What to execute."""

    sql: str
    values: tuple[Any, ...] = ()

    @classmethod
    def note(cls, key: str, value: Any) -> "Statement":
        """Return what notes *value* under *key*."""
        return cls("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


@dataclass(slots=True)
class _Series:
    number: int
    shard: str
    last: int = 0  # the newest row of the log that has a reading of it


class _Row(NamedTuple):
    """A row of the log."""

    seq: int
    held: int  # readings, or marks


class Archive:
    """Knows which rows there are, and which are needed.

    Args:
        database: Where they are.
        ring: How many of the newest marks are kept.
        windows: Whether readings and windows are kept; else only alerts that are not ok are, with
            their windows as they were when the alert last changed.
    """

    def __init__(self, database: Database, ring: int, *, windows: bool = True) -> None:
        self._meta = database.meta
        self._execute = execute = database.execute
        self._ring_size = ring
        self._windows = windows
        self._seq = execute("SELECT coalesce(max(seq), 0) FROM log").fetchone()[0]
        self._folded = max(0, int(self._meta("folded") or 0))
        self._seq = max(self._seq, self._folded)
        self._series: dict[tuple[str, Labels], _Series] = {}
        self._numbers = 0
        self._shards: dict[str, int] = {}  # -> its row
        self._last_shard = 0  # of these rows
        self._gone: dict[str, int] = {}  # shards that are no more -> last row of the log with them
        self._resting: dict[str, int] = {}  # shard -> the first row of the log that it needs
        self._rows: deque[_Row] = deque()  # of the log, with readings that a shard needs
        self._logged = 0  # readings in these
        self._ring = deque(  # of the log, with marks
            _Row(*row)
            for row in execute(
                "SELECT seq, length(marks) / ? FROM log WHERE marks IS NOT NULL ORDER BY seq",
                (MARK_SIZE,),
            )
        )
        self._marked = sum(row.held for row in self._ring)  # marks in these
        self._trimmed = 0  # up to here the log has no rows
        self._limit = FEW

    # -- after a restart ---------------------------------------------------------------

    def recover(self, rules: Rules, aggregators: Mapping[str, Aggregator]) -> Engine | None:
        """Return the engine as it was at the last commit; None: there was none.

        Raises:
            Exception: it cannot be had back, whatever the reason is.
        """
        state = self._meta("state")
        if state is None:
            return None
        self._number_series()
        data, since = [], {}
        for number, name, seq, packed in self._execute("SELECT id, name, seq, data FROM shard"):
            self._shards[name] = number
            self._last_shard = max(self._last_shard, number)
            since[name] = seq
            if packed:
                data.append(packed)
            else:
                self._gone[name] = seq
        alarms = [json.loads(row) for (row,) in self._execute("SELECT data FROM alarm")]
        readings = self._replay(since)
        engine = Engine.recover(
            rules, aggregators, Saved(json.loads(state), data, alarms, readings)
        )
        for _ in readings:  # whatever the engine did not want, we want to have seen
            pass
        return engine

    def follows(self, rules: Rules) -> bool:
        """Say whether what is kept was written under these very rules."""
        return bool(self._meta("rules") == self._kind(rules))

    def marks(self) -> list[Mark]:
        """Return the marks of the newest messages, oldest first."""
        rows = self._execute("SELECT marks FROM log WHERE marks IS NOT NULL ORDER BY seq")
        found = [mark for (packed,) in rows for mark in unpack_marks(packed)]
        return found[-self._ring_size :]

    def forget_marks(self) -> None:
        """Delete all marks."""
        self._execute("UPDATE log SET marks = NULL WHERE marks IS NOT NULL")
        self._ring.clear()
        self._marked = 0

    def _number_series(self) -> None:
        for number, sensor, labels, shard in self._execute("SELECT * FROM series ORDER BY id"):
            pairs = tuple((name, value) for name, value in json.loads(labels))
            self._series[sensor, pairs] = _Series(number, shard)
            self._numbers = number

    def _replay(self, since: Mapping[str, int]) -> Iterator[Reading]:
        """Yield the readings that came after their shard was written; take note of all."""
        by_number = {known.number: (key, known) for key, known in self._series.items()}
        rows = self._execute(
            "SELECT seq, readings FROM log WHERE seq > ? AND readings IS NOT NULL ORDER BY seq",
            (self._folded,),
        )
        for seq, packed in rows:
            count = 0
            for number, at, value, arrived in unpack_entries(packed):
                count += 1
                (sensor, labels), known = by_number[number]
                known.last = seq
                if seq > since.get(known.shard, 0):
                    self._resting.setdefault(known.shard, seq)
                    yield Reading(sensor, labels, at, value, arrived)
            self._rows.append(_Row(seq, count))
            self._logged += count

    # -- with every commit -------------------------------------------------------------

    def plan(
        self,
        engine: Engine,
        readings: Sequence[Reading],
        marks: Sequence[Mark],
        *,
        everything: bool = False,
        fold: int | None = None,
    ) -> list[Statement]:
        """Return what is to be executed, as one, so that the engine can be had back as it is.

        Args:
            engine: It has judged these readings.
            readings: Since the last time.
            marks: Of the messages since then.
            everything: All is written anew; nothing of what there was counts any more.
            fold: Fold shards with so many readings even if the log is short.
        """
        changes = engine.changes(everything=everything)
        out: list[Statement] = []
        logged: list[Entry] = []
        if everything:
            out += self._forget()
        elif self._windows:
            logged = [self._entry(engine, reading, out) for reading in readings]
        self._log(logged, marks if self._windows else (), out)
        for name in changes.shards if self._windows else self._shards_of(engine, changes.alarms):
            self._save(engine, name, out)
        if fold is not None:
            self._fold(engine, fold, 0, out)
        elif self._logged > self._limit:
            self._limit = max(FEW, sum(map(engine.weight, engine.shards())) // SHARE)
            self._fold(engine, max(AT_ONCE, PACE * len(readings)), self._limit, out)
        self._trim(engine, out)
        out += [Statement("DELETE FROM alarm WHERE number = ?", (n,)) for n in changes.gone]
        out += [
            Statement("INSERT OR REPLACE INTO alarm VALUES (?, ?)", (row["number"], _json(row)))
            for row in changes.alarms
        ]
        out.append(Statement.note("state", _json(changes.state)))
        if everything:
            out.append(Statement.note("rules", self._kind(engine.rules)))
            out.append(Statement.note("folded", self._folded))
        return out

    def _shards_of(self, engine: Engine, alarms: Iterable[Mapping[str, Any]]) -> Iterable[str]:
        """Return the shards that must be there so that these alarms can be had back."""
        found: dict[str, None] = {}
        for row in alarms:
            pooled = (
                json.loads(row["pool"]) if "pool" in row else (row["sensor"], None, row["labels"])
            )
            name = engine.shard_of(pooled[0], tuple((key, value) for key, value in pooled[2]))
            if name in self._shards or row["level"] is not None or _is_waiting(row):
                found[name] = None
        return found

    def _forget(self) -> list[Statement]:
        """Begin anew, with the marks and no readings."""
        self._series.clear()
        self._shards.clear()
        self._last_shard = 0
        self._gone.clear()
        self._resting.clear()
        self._rows.clear()
        self._logged = self._numbers = 0
        self._folded = self._seq
        return [Statement(f"DELETE FROM {table}") for table in ("series", "shard", "alarm")]  # noqa: S608  ours

    def _entry(self, engine: Engine, reading: Reading, out: list[Statement]) -> Entry:
        """Return what the log holds of a reading."""
        key = reading.sensor, reading.labels
        known = self._series.get(key)
        if known is None:
            self._numbers += 1
            known = self._series[key] = _Series(self._numbers, engine.shard_of(*key))
            row = (known.number, reading.sensor, _json(reading.labels), known.shard)
            out.append(Statement("INSERT INTO series VALUES (?, ?, ?, ?)", row))
        known.last = self._seq + 1
        self._resting.setdefault(known.shard, self._seq + 1)
        return Entry(known.number, reading.at, reading.value, reading.arrived)

    def _log(self, entries: Sequence[Entry], marks: Sequence[Mark], out: list[Statement]) -> None:
        if not (entries or marks):
            return
        self._seq += 1
        if entries:
            self._rows.append(_Row(self._seq, len(entries)))
            self._logged += len(entries)
        if marks:
            self._ring.append(_Row(self._seq, len(marks)))
            self._marked += len(marks)
        packed = pack_entries(entries) if entries else None
        row = (self._seq, packed, pack_marks(marks) if marks else None)
        out.append(Statement("INSERT INTO log VALUES (?, ?, ?)", row))

    def _save(self, engine: Engine, name: str, out: list[Statement]) -> None:
        """Write a shard as it is now; one that is no more leaves word of when it went."""
        data = engine.save_shard(name)
        number = self._shards.get(name)
        if number is None:
            if not data and name not in self._resting:
                return
            self._last_shard += 1
            number = self._shards[name] = self._last_shard
        self._resting.pop(name, None)
        self._gone.pop(name, None)
        if not data:
            self._gone[name] = self._seq
        row = (number, name, self._seq, data)
        out.append(Statement("INSERT OR REPLACE INTO shard VALUES (?, ?, ?, ?)", row))

    def _fold(self, engine: Engine, budget: int, limit: int, out: list[Statement]) -> None:
        """Write the shards that rest on the oldest rows, until the log is short or it is enough."""
        while self._logged > limit and self._resting and budget > 0:
            name = next(iter(self._resting))
            budget -= max(engine.weight(name), 1)
            self._save(engine, name, out)
            self._pass_over()

    def _pass_over(self) -> None:
        """Take leave of rows with readings that no shard needs any more."""
        first = next(iter(self._resting.values()), self._seq + 1)
        while self._rows and self._rows[0].seq < first:
            self._logged -= self._rows.popleft().held
        self._folded = max(self._folded, first - 1)

    def _trim(self, engine: Engine, out: list[Statement]) -> None:
        """Delete what nothing needs any more."""
        before = self._folded
        self._pass_over()
        while self._ring and self._marked - self._ring[0].held >= self._ring_size:
            self._marked -= self._ring.popleft().held
        until = min(self._folded, self._ring[0].seq - 1 if self._ring else self._seq)
        if until > self._trimmed:
            self._trimmed = until
            out.append(Statement("DELETE FROM log WHERE seq <= ?", (until,)))
        if self._folded == before:
            return
        out.append(Statement.note("folded", self._folded))
        for name in [name for name, seq in self._gone.items() if seq <= self._folded]:
            del self._gone[name]
            out.append(Statement("DELETE FROM shard WHERE id = ?", (self._shards.pop(name),)))
        if len(self._series) > 2 * engine.series + 1000:  # most are forgotten by the engine
            for key in [k for k, known in self._series.items() if known.last <= self._folded]:
                row = (self._series.pop(key).number,)
                out.append(Statement("DELETE FROM series WHERE id = ?", row))

    def _kind(self, rules: Rules) -> str:
        """Return what differs where what is kept means something else."""
        digest = hashlib.blake2b(repr(rules).encode("utf-8", "replace"), digest_size=16).hexdigest()
        return f"{digest} {'with' if self._windows else 'without'} windows"


def _is_waiting(row: Mapping[str, Any]) -> bool:
    """Say whether an alarm is about to be raised or cleared."""
    return any(state for state, _ in row.get("latches", {}).values())


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
