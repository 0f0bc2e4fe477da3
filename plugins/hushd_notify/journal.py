"""Keeps every transition as evidence: a file of JSON objects, one a line, only appended to."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hushd.plugin import Context, Note, NotifierType, NotSentError, Option


class Journal:
    """The file, opened for appending; what is written is on the disk when ``send`` returns."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._file = os.open(path, flags, 0o640)
        self._mend = _torn(self._file)

    def send(self, note: Note) -> None:
        """Append the record of *note*.

        A line that a full disk or a power cut left unfinished is ended first, so that it
        spoils no other.

        Raises:
            NotSentError: there is no whole line of it.
            OSError: the disk may not have it.
        """
        record = {**note.record, "possible_duplicate": True} if note.again else note.record
        text = json.dumps(record, ensure_ascii=False, allow_nan=False)
        line = text.encode(errors="backslashreplace") + b"\n"
        if self._mend:
            line = b"\n" + line
        try:
            written = os.write(self._file, line)
        except OSError as exc:
            raise NotSentError(exc.strerror or str(exc)) from exc
        self._mend = written < len(line) and (self._mend or written > 0)
        if written < len(line):
            raise NotSentError(f"only {written} of {len(line)} bytes were written")
        os.fsync(self._file)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def _torn(file: int) -> bool:
    """Say whether the last line has no end."""
    size = os.fstat(file).st_size
    return size > 0 and os.pread(file, 1, size - 1) != b"\n"


def _open(options: Mapping[str, Any], context: Context) -> Journal:  # noqa: ARG001  plugin interface
    return Journal(Path(options["path"]))


JOURNAL = NotifierType(
    "journal",
    "every transition as one JSON object a line, appended to a file",
    _open,
    (Option("path", "the file; relative to the state directory", "path", required=True),),
    every=True,
)
