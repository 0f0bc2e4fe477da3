"""The work of ``hushd replay``: a recording through the same intake and engine as live."""

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from hushd.config.records import Config
from hushd.core.engine import Engine
from hushd.core.readings import Reading
from hushd.core.transitions import Evaluation, Transition
from hushd.runtime.clocks import RecordedClock, StampClock
from hushd.runtime.intake import NOBODY, Intake
from hushd.runtime.logs import Quiet
from hushd.runtime.messages import Message
from hushd.runtime.recordings import (
    Bad,
    Columns,
    Recording,
    Row,
    UnreadableError,
    ZonelessError,
    messages,
    rows,
    stamp_of,
)

SHOWN = 5  # bad lines that are shown one by one
ZONELESS = (
    '{path}: a time without an offset ("{time}") and nothing says where it was taken\n'
    "  hint: add --tz ZONE, as in --tz Europe/Berlin, or site.timezone to the configuration"
)


class UsageError(Exception):
    """The command line asks for what cannot be done; the message says why."""


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asks for."""

    path: Path
    columns: Columns | None  # None: a .jsonl recording
    zone: tzinfo | None
    until: str | None
    trace: Path | None


def request(args: argparse.Namespace) -> Request:
    """Return what *args* ask for."""
    path: Path = args.recording
    given = {"--sensor": args.sensor, "--time": args.time, "--value": args.value}
    columns = None
    kind = path.suffix.lower()
    if kind == ".csv":
        missing = [option for option, value in given.items() if value is None]
        if missing:
            raise UsageError(f"a .csv recording needs {', '.join(missing)}")
        columns = Columns(
            args.sensor,
            args.time,
            args.value,
            _pairs("--label", args.label),
            _pairs("--label-column", args.label_column),
        )
        for name in columns.labels.keys() & columns.label_columns.keys():
            raise UsageError(f'the label "{name}" is given by --label and by --label-column')
    elif kind != ".jsonl":
        raise UsageError(f"{path}: a recording is a .jsonl or a .csv file{_way_out(path)}")
    elif args.label or args.label_column or any(given.values()):
        raise UsageError("--sensor, --time, --value and labels are for .csv recordings")
    trace = getattr(args, "trace", None)
    return Request(path, columns, _zone(args.tz), args.until, trace)


class Playback:
    """A recording, read and decoded as the daemon would: whoever asks for it judges it."""

    def __init__(self, config: Config, asked: Request) -> None:
        self._config = config
        self._asked = asked
        self._zone = asked.zone or config.site.zone
        self._stamped = config.clock == "stamps"
        self._clock = StampClock() if self._stamped else RecordedClock()
        self._intake = Intake(config.sensors, self._clock, config.limits.payload, Quiet())
        self._bad: Counter[str] = Counter()
        self._lines = 0

    def play(self, feed: Callable[[Reading], object], finish: Callable[[int], object]) -> None:
        """Hand each reading to *feed*, and at the end to *finish* how far the clock runs on.

        Raises:
            UsageError: it cannot be read, or not as asked for.
        """
        try:
            until = None if self._asked.until is None else stamp_of(self._asked.until, self._zone)
        except (ValueError, ZonelessError) as exc:
            raise UsageError(f"--until {self._asked.until}: {_zoneless(exc)}") from None
        self._check_columns()
        newest: int | None = None

        def forward(reading: Reading) -> None:
            nonlocal newest
            newest = reading.arrived if newest is None else max(newest, reading.arrived)
            feed(reading)

        try:
            recording = Recording(self._asked.path)
        except OSError as exc:
            raise UsageError(f"{exc.filename}: {exc.strerror}") from None
        with recording:
            try:
                for _ in _with_progress(recording, self._steps(recording, forward)):
                    pass
            except ZonelessError as exc:
                raise UsageError(ZONELESS.format(path=self._asked.path, time=exc)) from None
            except UnreadableError as exc:
                raise UsageError(f"{self._asked.path}: {exc}") from None
            end = self._clock.now() or newest
            times = [at for at in (end, until) if at is not None]
            if times:
                finish(max(times))
            if until is not None and end is not None and until < end:
                _say(f"--until {self._asked.until} is before the last message: no effect")

    def account(self, engine: Engine | None = None) -> None:
        """Say on standard error what was read and not used, here or by an *engine*."""
        sys.stdout.flush()
        self._say_what_was_rejected(engine)
        if self._lines and self._bad.total() == self._lines:
            raise UsageError(f"{self._asked.path}: not one line could be read")

    def _check_columns(self) -> None:
        columns = self._asked.columns
        if columns is None:
            return
        if columns.sensor not in self._config.sensors:
            known = ", ".join(sorted(self._config.sensors)) or "none"
            raise UsageError(f'--sensor "{columns.sensor}" is not configured; known: {known}')
        given = {*columns.labels, *columns.label_columns}
        for sensor in self._config.rules.sensors:
            if sensor.name != columns.sensor:
                continue
            for name in sorted(given.difference(sensor.labels)):
                known = ", ".join(sensor.labels) or "none"
                raise UsageError(f'sensor "{sensor.name}" has no label "{name}"; known: {known}')
            if not given.issuperset(sensor.labels):
                missing = ", ".join(sorted(set(sensor.labels) - given))
                raise UsageError(
                    f'sensor "{sensor.name}" has labels that the rows lack: {missing}\n'
                    "  hint: add --label NAME=VALUE or --label-column NAME=COLUMN for each"
                )

    def _steps(self, recording: Recording, feed: Callable[[Reading], object]) -> Iterator[None]:
        """Hand on line by line."""
        lines = recording.lines()
        items: Iterator[Message | Row | Bad]
        if self._asked.columns is None:
            items = messages(lines, self._zone)
        else:
            items = rows(lines, self._asked.columns, self._zone)
        for item in items:
            self._lines += 1
            if isinstance(item, Bad):
                self._bad[item.reason] += 1
                if self._bad.total() <= SHOWN:
                    _say(f"{self._asked.path}:{item.line}: not used: {item.reason}")
            else:
                for reading in self._readings(item):
                    feed(reading)
            yield

    def _readings(self, item: Message | Row) -> Sequence[Reading]:
        if isinstance(item, Row):
            return self._intake.row(*item)
        return self._intake.readings(item)

    def _say_what_was_rejected(self, engine: Engine | None) -> None:
        """Account for everything that was read and not used."""
        lines, readings = _count(self._lines, "line"), _count(self._intake.accepted, "reading")
        _say(f"{self._asked.path}: {lines}, {readings}")
        if self._bad:
            _say(f"  lines that could not be read: {self._bad.total()}")
        rejected = self._intake.rejected + (engine.rejected if engine else Counter())
        for (sensor, reason), number in sorted(rejected.items()):
            _say(f"  rejected: {number} {reason}{f' ({sensor})' if sensor != NOBODY else ''}")
        for aggregator, number in sorted(engine.faults.items() if engine else ()):
            source = self._config.catalog.sources.get(aggregator, "unknown")
            _say(f"  no value: {aggregator} raised {_count(number, 'time')} (plugin {source})")


def replay(config: Config, asked: Request) -> None:
    """Print the journal, then say on standard error what was rejected.

    Raises:
        UsageError: the recording cannot be read, or a file not be written.
    """
    engine = Engine(config.rules, config.catalog.aggregators)
    with ExitStack() as stack:
        if asked.trace is not None:
            _protect(asked.trace, (asked.path, config.path))
            try:
                trace = Trace(asked.trace)
            except OSError as exc:
                raise UsageError(f"{exc.filename}: {exc.strerror}") from None
            stack.callback(trace.close)
            engine.trace = trace.write
        playback = Playback(config, asked)
        playback.play(
            lambda reading: _print(engine.process(reading)),
            lambda end: _print(engine.advance(end)),
        )
    playback.account(engine)


def _protect(trace: Path, read: Sequence[Path]) -> None:
    """Complain if the trace would be written over what is read."""
    for path in read:
        if trace.exists() and path.exists() and trace.samefile(path):
            raise UsageError(f"--trace {trace}: it would be written over {path}")


class Trace:
    """The file of ``--trace``; what goes wrong with it says its name."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("w", encoding="utf-8")

    def write(self, evaluation: Evaluation) -> None:
        """Write an evaluation as one line."""
        with self._named():
            print(json.dumps(evaluation.record(), ensure_ascii=False), file=self._file)

    def close(self) -> None:
        """Close the file."""
        with self._named():
            self._file.close()

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except OSError as exc:
            raise OSError(exc.errno, exc.strerror, str(self._path)) from None


def _print(transitions: list[Transition]) -> None:
    for transition in transitions:
        print(json.dumps(transition.record(), ensure_ascii=False))


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _way_out(path: Path) -> str:
    """Return a hint for who brings something else than a recording."""
    if path.suffix.lower() in {".gz", ".bz2", ".xz", ".zst", ".zip"}:
        return "\n  hint: unpack it first"
    if str(path) in {"-", "/dev/stdin"}:
        return "\n  hint: standard input is not read; save it as a file first"
    return ""


def _zoneless(exc: Exception) -> str:
    return "write its offset, or add --tz ZONE" if isinstance(exc, ZonelessError) else str(exc)


def _pairs(option: str, texts: Sequence[str]) -> dict[str, str]:
    """Return ``name=value`` texts as a dictionary."""
    pairs = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not (name and sign):
            raise UsageError(f"{option} {text}: write NAME=VALUE")
        if name in pairs:
            raise UsageError(f'{option} gives the label "{name}" twice')
        pairs[name] = value
    return pairs


def _zone(name: str | None) -> tzinfo | None:
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(
            f'--tz "{name}" is not a time zone; write one as in Europe/Berlin'
        ) from None


def _with_progress(recording: Recording, steps: Iterator[None]) -> Iterator[None]:
    """Yield from *steps*, drawing how far the recording is read if a person is watching."""
    if not sys.stderr.isatty() or not recording.size:
        yield from steps
        return
    drawn = 0.0
    width = max(min(40, (os.get_terminal_size(sys.stderr.fileno()).columns or 80) - 8), 0)
    for step in steps:
        now = time.monotonic()
        if now - drawn >= 0.1:
            drawn = now
            done = recording.read / recording.size
            bar = "#" * round(done * width)
            # back to its start: what is printed meanwhile is not written behind it
            print(f"\r[{bar:<{width}}] {done:4.0%}\r", end="", file=sys.stderr, flush=True)
        yield step
    print(f"\r{'':<{width + 7}}\r", end="", file=sys.stderr, flush=True)
