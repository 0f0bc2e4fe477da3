"""Starts a program for each note: an argument list, no shell.

The note is on its standard input and in a few variables, never among the arguments: what a
sensor says must not become an option.
"""

import os
import signal
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hushd.plugin import (
    Context,
    Fault,
    Note,
    NotifierType,
    NotSentError,
    Option,
    RefusedError,
)
from hushd_notify.children import environment, run
from hushd_notify.lines import SECOND
from hushd_notify.texts import body, one_line
from hushd_notify.web import TIMEOUT

TELLING = 200  # characters of its last line that go into the error
_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class Command:
    """One program with its arguments."""

    def __init__(self, options: Mapping[str, Any], context: Context) -> None:
        self._argv = tuple(options["command"])
        self._seconds = options["timeout"] / SECOND
        self._more = dict(options.get("environment") or {})
        self._context = context

    def send(self, note: Note) -> None:
        """Run the program.

        Raises:
            RefusedError: the program is not there, or others may change it.
            NotSentError: it could not be started, or said by its exit code that it failed.
            OSError: it was ended by a signal, or did not end in time.
        """
        why = distrust(self._argv[0])
        if why:
            raise RefusedError(why)
        told = {
            "HUSHD_KIND": note.kind,
            "HUSHD_SEVERITY": note.severity or "",
            "HUSHD_TITLE": one_line(note.title),
            "HUSHD_KEY": note.key,
            "HUSHD_SITE": one_line(self._context.site),
            "HUSHD_NOTIFIER": self._context.name,
        }
        if note.again:
            told["HUSHD_POSSIBLE_DUPLICATE"] = "true"
        given = body(note, self._context.site) + b"\n"
        ended = run(self._argv, given, self._seconds, environment(self._more | told))
        if ended.code:
            error = f"{how(ended.code)}: {last_line(ended.output)}".rstrip(": ")
            raise NotSentError(error) if ended.code > 0 else OSError(error)

    def close(self) -> None:
        """Do nothing: no program outlives its note."""


def how(code: int) -> str:
    """Return how a program ended.

    >>> how(3), how(-9)
    ('exit code 3', 'ended by SIGKILL')
    """
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"ended by signal {-code}"


def last_line(output: bytes) -> str:
    """Return the last line that says anything."""
    said = [one_line(line) for line in output.decode(errors="replace").splitlines()]
    return next((line for line in reversed(said) if line), "")[:TELLING]


def distrust(program: str) -> str:
    """Return why *program* is not started; empty: only root and we could have written it."""
    path = Path(program)
    try:
        real = path.resolve(strict=True)
        for place in (real, *real.parents, *path.parents):
            status = place.stat()
            shared = status.st_mode & _OTHERS and not status.st_mode & stat.S_ISVTX
            if status.st_uid not in {0, os.geteuid()}:
                return f"{place} belongs to user {status.st_uid}; it must be root's or the daemon's"
            if shared or (place == real and status.st_mode & _OTHERS):
                return f"{place} is writable by others; chmod go-w it"
    except OSError as exc:
        return f"there is no program {program}: {exc.strerror}"
    if not real.is_file() or not os.access(real, os.X_OK):
        return f"{program} is not a program that may be started"
    return ""


def _faults(options: Mapping[str, Any]) -> Iterator[Fault]:
    argv = options["command"]
    if not argv:
        yield Fault("command", "the list is empty", "write [/path/to/program, argument]")
    elif not argv[0].startswith("/"):
        hint = "write its whole path: there is no shell that would look for it"
        yield Fault("command", f'"{one_line(argv[0])}" is not an absolute path', hint)
    elif any("\0" in argument for argument in argv):
        yield Fault("command", "an argument cannot hold the character U+0000")
    elif why := distrust(argv[0]):
        yield Fault("command", why)
    for name, value in (options.get("environment") or {}).items():
        if "=" in name or "\0" in name or (value is not None and "\0" in value):
            yield Fault("environment", f'cannot set a variable "{one_line(name)}" to this')
        elif name.startswith(("HUSHD_", "NOTIFY_SOCKET", "WATCHDOG_")):
            yield Fault("environment", f"{name} is not yours to set")


COMMAND = NotifierType(
    "command",
    "a program of yours, with the note on its standard input",
    Command,
    (
        Option(
            "command",
            "the program, by its whole path, and its arguments; no shell, nothing is filled in",
            "texts",
            required=True,
        ),
        Option("environment", "more variables for it", "map", otherwise="none"),
        TIMEOUT,
    ),
    check=_faults,
    executes=True,
)
