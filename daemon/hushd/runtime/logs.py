"""The log: lines for people on a terminal, JSON elsewhere, to standard error.

A log must never hold up or end what it reports on.  Lines therefore go through a bounded
queue to a thread of their own; when nobody reads the other end of the pipe they are dropped
and counted, and when it is closed they go nowhere.

structlog is imported when a log is opened, not before: it costs 60 ms and 13 MB, which
``hushd check`` can do without.
"""

import io
import queue
import threading
from collections.abc import Callable, MutableMapping
from typing import IO, Any, Protocol, TextIO, cast

LINES = 10_000  # may wait


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
    """A file for a logger to write to that neither blocks nor fails.

    Its thread writes to the descriptor itself where there is one: a thread that hangs in
    a buffered ``write`` holds a lock that the interpreter wants at its end.
    """

    def __init__(self, stream: IO[str]) -> None:
        self.dropped = 0
        self._write = _writing(stream)
        self._lines: queue.Queue[str | None] = queue.Queue(LINES)
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    def write(self, text: str) -> None:
        """Add a line to those that wait to be written."""
        try:
            self._lines.put_nowait(text)
        except queue.Full:
            self.dropped += 1

    def flush(self) -> None:
        """Do nothing: the thread writes as soon as it can."""

    def close(self, timeout: float = 1.0) -> None:
        """Wait for the waiting lines to be written, but not for long."""
        try:
            self._lines.put(None, timeout=timeout)
        except queue.Full:
            return
        self._thread.join(timeout)

    def _run(self) -> None:
        while (text := self._lines.get()) is not None:
            try:
                self._write(text)
            except (OSError, ValueError):  # a closed pipe, a full disk: there is no one to tell
                self.dropped += 1


def _in_order(logger: Any, name: str, event: MutableMapping[str, Any]) -> dict[str, Any]:  # noqa: ARG001  structlog's interface
    """Return a line's fields, what every line has first."""
    first = ("timestamp", "level", "event")
    return {**{key: event[key] for key in first if key in event}, **event}


def _writing(stream: IO[str]) -> Callable[[str], object]:
    """Return what writes a text to *stream*."""
    try:
        raw = io.FileIO(stream.fileno(), "w", closefd=False)
    except (OSError, ValueError):  # not a file of the system
        return stream.write
    return lambda text: raw.write(text.encode(errors="backslashreplace"))


def open_log(stream: IO[str]) -> tuple[Log, Writer]:
    """Return a log that writes to *stream*, and the writer to close at the end."""
    import structlog  # noqa: PLC0415  see the module's docstring

    writer = Writer(stream)
    terminal = stream.isatty()
    renderer: Any = (
        structlog.dev.ConsoleRenderer(pad_event_to=24)
        if terminal
        else structlog.processors.JSONRenderer(default=str, ensure_ascii=False)
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(
                fmt="%H:%M:%S" if terminal else "iso", utc=not terminal
            ),
            structlog.processors.format_exc_info,
            _in_order,
            renderer,
        ],
        logger_factory=structlog.WriteLoggerFactory(file=cast("TextIO", writer)),
        cache_logger_on_first_use=False,
    )
    log: Log = structlog.get_logger()
    return log, writer
