"""The log: lines for people on a terminal, fields in systemd's journal, JSON elsewhere.

A log must never hold up or end what it reports on.  Lines therefore go through a bounded
queue to a thread of their own; when nobody reads the other end of the pipe they are dropped
and counted, and when it is closed they go nowhere.

structlog is imported when a log is opened, not before: it costs 60 ms and 13 MB, which
``hushd check`` can do without.
"""

import errno
import fcntl
import io
import json
import os
import queue
import re
import select
import socket
import threading
from array import array
from collections.abc import Callable, Mapping, MutableMapping
from typing import IO, Any, Literal, Protocol

LINES = 10_000  # may wait
JOURNAL = "/run/systemd/journal/socket"
SECRET = re.compile("password|token|secret|authorization", re.IGNORECASE)  # in a field's name
RANKS = {"debug": 0, "info": 1, "warning": 2, "error": 3}
PRIORITIES = {"debug": 7, "info": 6, "warning": 4, "error": 3}  # as syslog counts them

Level = Literal["debug", "info", "warning", "error"]
Format = Literal["auto", "console", "json", "journal"]
Rendered = tuple[tuple[Any, ...], dict[str, Any]]  # what a logger is called with


class Log(Protocol):
    """What the runtime asks of a log; structlog's loggers have it."""

    def debug(self, event: str, **fields: Any) -> Any:
        """Note what only a developer wants to know."""

    def info(self, event: str, **fields: Any) -> Any:
        """Note what belongs in an operator's diary."""

    def warning(self, event: str, **fields: Any) -> Any:
        """Note that something is degraded and recovers by itself."""

    def error(self, event: str, **fields: Any) -> Any:
        """Note that a person must act."""

    def bind(self, **fields: Any) -> "Log":
        """Return a log that adds *fields* to every line."""


class Quiet:
    """A log that keeps nothing: for commands whose output is something else."""

    def debug(self, event: str, **fields: Any) -> None:
        """Do nothing."""

    info = warning = error = debug

    def bind(self, **fields: Any) -> "Quiet":
        """Return itself."""
        return self


class Writer:
    """Writes lines, and datagrams for the journal, in a thread; neither blocks nor fails.

    The thread writes to the descriptor itself where there is one: a thread that hangs in
    a buffered ``write`` holds a lock that the interpreter wants at its end.

    Attributes:
        dropped: What could not be written, or had to make way.
    """

    def __init__(self, stream: IO[str]) -> None:
        self.dropped = 0
        self._write = _writing(stream)
        self._post = _Post()
        self._lines: queue.Queue[str | bytes | None] = queue.Queue(LINES)
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    def write(self, line: str | bytes) -> None:
        """Add a text, or a datagram for the journal, to those that wait to be written."""
        try:
            self._lines.put_nowait(line)
        except queue.Full:
            self.dropped += 1

    def close(self, timeout: float = 1.0) -> None:
        """Wait for the waiting lines to be written, but not for long."""
        try:
            self._lines.put(None, timeout=timeout)
        except queue.Full:
            return
        self._thread.join(timeout)

    def _run(self) -> None:
        while (line := self._lines.get()) is not None:
            try:
                if isinstance(line, str):
                    self._write(line)
                else:
                    self._post.send(line)
            except (OSError, ValueError):  # a closed pipe, a full disk: there is no one to tell
                self.dropped += 1
        self._post.close()


class _Post:
    """The way to systemd's journal, in its native protocol."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None

    def send(self, datagram: bytes) -> None:
        """Send one entry; what is too long for a datagram goes as a sealed file."""
        if self._socket is None:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        try:
            self._socket.sendto(datagram, JOURNAL)
        except OSError as exc:
            if exc.errno != errno.EMSGSIZE:
                raise
            self._send_file(datagram)

    def _send_file(self, datagram: bytes) -> None:
        assert self._socket is not None  # noqa: S101  `send` made it
        file = os.memfd_create("hushd-log", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            with io.FileIO(file, "w", closefd=False) as whole:
                rest = memoryview(datagram)
                while rest:
                    rest = rest[whole.write(rest) :]
            seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
            fcntl.fcntl(file, fcntl.F_ADD_SEALS, seals | fcntl.F_SEAL_SEAL)
            right = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", [file]))
            self._socket.sendmsg([], [right], 0, JOURNAL)  # send_fds forgets the address
        finally:
            os.close(file)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()


class Output:
    """What becomes of an event: left out, or rendered for where it goes.

    ``level`` and ``format`` may change while the daemon runs; they hold for every logger.
    """

    def __init__(self, stream: IO[str], level: Level = "info", format: Format = "auto") -> None:  # noqa: A002  the word of the configuration
        from structlog import dev, processors  # noqa: PLC0415  see the module's docstring

        self.writer = Writer(stream)
        self._natural = _natural(stream)
        self._console = dev.ConsoleRenderer(colors=stream.isatty(), pad_event_to=24)
        self._clock = processors.TimeStamper(fmt="%H:%M:%S", utc=False)
        self._stamp = processors.TimeStamper(fmt="iso", utc=True)
        self.change(level, format)

    def change(self, level: Level, format: Format) -> None:  # noqa: A002  likewise
        """Go on with another level or format."""
        self._rank = RANKS[level]
        self._format = self._natural if format == "auto" else format

    def wants(self, logger: Any, name: str, event: MutableMapping[str, Any]) -> Any:
        """Let pass what is worth a line."""
        if RANKS.get(name, RANKS["error"]) < self._rank:
            from structlog import DropEvent  # noqa: PLC0415  see the module's docstring

            raise DropEvent
        return event

    def render(self, logger: Any, name: str, event: MutableMapping[str, Any]) -> Rendered:
        """Return what the writer is to write."""
        for key in event:
            if SECRET.search(key):
                event[key] = "***"
        if self._format == "journal":
            return (entry(event),), {}
        if self._format == "console":
            if "exception" in event:  # its lines stay lines, and look like none of ours
                lines = map(harmless, event["exception"].splitlines())
                event["exception"] = "\n  ".join(lines)
            told = {
                key: event[key] if key == "exception" else harmless(event[key]) for key in event
            }
            event = self._clock(logger, name, told)
            return (f"{self._console(logger, name, event)}\n",), {}
        event = _in_order(self._stamp(logger, name, event))
        return (_escaped(json.dumps(event, default=str, ensure_ascii=False)) + "\n",), {}


def harmless(value: Any) -> Any:
    r"""Return *value* so that it ends no line and a terminal obeys nothing in it.

    What a sensor sends may be in it.

    >>> harmless("attic\x1b[2J\n<0>forged"), harmless(3.5)
    ('attic\\x1b[2J\\n<0>forged', 3.5)
    """
    if not isinstance(value, str) or value.isprintable():
        return value
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in value)


def _escaped(line: str) -> str:
    """Return a line of JSON with what is not printable in it, all of it within texts, escaped."""
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in line)


def _natural(stream: IO[str]) -> Format:
    """Return the format for where *stream* leads.

    ``JOURNAL_STREAM`` is inherited by children whose streams lead elsewhere, so that it is
    there says little; that it names this very stream is what counts.
    """
    if stream.isatty():
        return "console"
    try:
        there = os.fstat(stream.fileno())
    except (OSError, ValueError):  # not a file of the system
        return "json"
    ours = f"{there.st_dev}:{there.st_ino}"
    return "journal" if os.environ.get("JOURNAL_STREAM") == ours else "json"


def _in_order(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line's fields, what every line has first."""
    first = ("timestamp", "level", "event")
    return {**{key: event[key] for key in first if key in event}, **event}


def entry(event: Mapping[str, Any]) -> bytes:
    """Return an event as an entry of the journal, every field a field to search by.

    >>> entry({"event": "alert.changed", "level": "info", "rule": "loud"}).decode().split()[:2]
    ['MESSAGE=alert.changed', 'rule=loud']
    """
    level = str(event.get("level", "info"))
    told = {key: value for key, value in event.items() if key not in {"event", "level"}}
    words = [str(event.get("event", "")), *(f"{key}={_word(told[key])}" for key in told)]
    fields = {
        "MESSAGE": " ".join(words),
        "PRIORITY": str(PRIORITIES.get(level, 3)),
        "SYSLOG_IDENTIFIER": "hushd",
        "HUSHD_EVENT": str(event.get("event", "")),
    }
    fields |= {f"HUSHD_{_name(key)}": _text(value) for key, value in told.items()}
    return b"".join(_field(name, value) for name, value in fields.items())


def _field(name: str, value: str) -> bytes:
    """Return one field; a value of several lines goes with its length, so it forges none."""
    data = value.encode(errors="backslashreplace")
    if b"\n" not in data:
        return f"{name}=".encode() + data + b"\n"
    return f"{name}\n".encode() + len(data).to_bytes(8, "little") + data + b"\n"


def _name(key: str) -> str:
    """Return *key* in the letters that the journal lets a field's name have."""
    return re.sub(r"[^A-Z0-9]", "_", key.upper())[:50]


def _text(value: Any) -> str:
    """Return a field's value; what has parts as JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, default=str, ensure_ascii=False)


def _word(value: Any) -> str:
    """Return a value for the message, quoted where it would not read as one word.

    >>> _word("attic"), _word("the attic"), _word(3.5), _word(None)
    ('attic', '"the attic"', '3.5', 'null')
    """
    if isinstance(value, str) and re.fullmatch(r"[!#-<>-\[\]-~]+", value):
        return value
    return json.dumps(value, default=str)


def _writing(stream: IO[str]) -> Callable[[str], object]:
    """Return what writes a text to *stream*."""
    try:
        raw = io.FileIO(stream.fileno(), "w", closefd=False)
    except (OSError, ValueError):  # not a file of the system
        return stream.write

    def write(text: str) -> None:
        rest = memoryview(text.encode(errors="backslashreplace"))
        while rest:
            if (written := raw.write(rest)) is None:  # somebody made it not block, and it is full
                select.select([], [raw], [])
            else:
                rest = rest[written:]

    return write


def open_log(
    stream: IO[str],
    level: Level = "info",
    format: Format = "auto",  # noqa: A002  the word of the configuration
) -> tuple[Log, Output]:
    """Return a log that writes to *stream*, and its output, whose writer is closed at the end."""
    import structlog  # noqa: PLC0415  see the module's docstring

    output = Output(stream, level, format)
    structlog.configure(
        processors=[
            output.wants,
            structlog.processors.add_log_level,
            structlog.processors.format_exc_info,
            output.render,
        ],
        logger_factory=lambda *_: _Lines(output.writer),
        cache_logger_on_first_use=False,
    )
    log: Log = structlog.get_logger()
    return log, output


def last_words(log: Log) -> Callable[[threading.ExceptHookArgs], None]:
    """Return what reports a thread that died; Python's own way could wait for ever for a reader."""

    def report(died: threading.ExceptHookArgs) -> None:
        log.error(
            "thread.died",
            thread=died.thread.name if died.thread else "",
            error=f"{died.exc_type.__name__}: {died.exc_value}",
            exc_info=died.exc_value,
        )

    return report


class _Lines:
    """What structlog hands rendered lines to."""

    def __init__(self, writer: Writer) -> None:
        self.debug = self.info = self.warning = self.error = writer.write
