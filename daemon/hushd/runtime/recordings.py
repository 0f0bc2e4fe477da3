"""Recordings of messages (``.jsonl``) and of readings (``.csv``), read line by line.

A line that cannot be read costs that line: it is yielded as ``Bad`` with its number, to be
counted and reported, and the rest is read.
"""

import base64
import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, tzinfo
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from hushd.core.readings import Labels, labels_of
from hushd.core.times import parse_stamp
from hushd.runtime.messages import Message

_COMMA = re.compile(r"[-+]?[0-9]+,[0-9]+")


class Row(NamedTuple):
    """A reading out of a table; *value* None: its cell was empty."""

    sensor: str
    labels: Labels
    at: int
    value: float | None


class Bad(NamedTuple):
    """A line that cannot be read."""

    line: int
    reason: str


class ZonelessError(Exception):
    """A time says neither its offset nor is there a zone to read it in."""


class UnreadableError(Exception):
    """The recording as a whole cannot be read; the message says why."""


@dataclass(frozen=True, slots=True)
class Columns:
    """What the columns of a table mean."""

    sensor: str
    time: str
    value: str
    labels: Mapping[str, str]  # the same for every row
    label_columns: Mapping[str, str]  # label -> column


class Recording:
    """A file that counts how far it was read; a context manager that closes it."""

    def __init__(self, path: Path) -> None:
        self.size = path.stat().st_size
        self.read = 0  # bytes
        self._file = path.open("rb")

    def __enter__(self) -> Self:
        """Return it."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file."""
        self._file.close()

    def lines(self) -> Iterator[bytes]:
        """Yield the lines, with their ends, without a byte order mark."""
        for number, line in enumerate(self._file):
            self.read += len(line)
            yield line.removeprefix(b"\xef\xbb\xbf") if number == 0 else line


def messages(lines: Iterable[bytes], zone: tzinfo | None) -> Iterator[Message | Bad]:
    """Yield the messages of a ``.jsonl`` recording, one a line; empty lines are left out.

    Raises:
        ZonelessError: a time without an offset, and *zone* is None.
    """
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield _message(json.loads(line, parse_float=Decimal), zone)
        except (ValueError, TypeError, RecursionError) as exc:
            yield Bad(number, _why(exc))


def rows(lines: Iterable[bytes], columns: Columns, zone: tzinfo | None) -> Iterator[Row | Bad]:
    """Yield the readings of a ``.csv`` recording, one a row; blanks around headings are not theirs.

    Raises:
        UnreadableError: there is no such column.
        ZonelessError: a time without an offset, and *zone* is None.
    """
    table = csv.reader(line.decode("utf-8", "replace") for line in lines)
    header = _header(table)
    wanted = [columns.time, columns.value, *columns.label_columns.values()]
    for name in wanted:
        if header.count(name.strip()) != 1:
            known = ", ".join(f'"{_shown(heading)}"' for heading in header)
            many = "more than one" if name.strip() in header else "no"
            raise UnreadableError(
                f'{many} column "{name}"; there are: {known or "none"}{_separator(header)}'
            )
    at, value, *others = (header.index(name.strip()) for name in wanted)
    varying = list(zip(columns.label_columns, others, strict=True))
    fixed = dict(columns.labels)
    labels = labels_of(fixed)
    while True:
        try:
            cells = next(table)
        except StopIteration:
            return
        except csv.Error as exc:
            yield Bad(table.line_num, _why(exc))
            continue
        if not cells:
            continue
        try:
            if "".join(
                cells[len(header) :]
            ).strip():  # else a number with a decimal comma is cut in two
                raise IndexError
            stamp = _stamp(cells[at].strip(), zone)
            if varying:
                labels = labels_of(fixed | {label: cells[i].strip() for label, i in varying})
            yield Row(columns.sensor, labels, stamp, _number(cells[value].strip()))
        except IndexError:
            yield Bad(table.line_num, f"{len(cells)} cells where the heading has {len(header)}")
        except ValueError as exc:
            yield Bad(table.line_num, _why(exc))


def _header(table: Iterator[list[str]]) -> list[str]:
    """Return the headings: the first row that is not empty."""
    try:
        for cells in table:
            if any(cell.strip() for cell in cells):
                return [cell.strip() for cell in cells]
    except csv.Error as exc:
        raise UnreadableError(_why(exc)) from None
    return []


def _separator(header: list[str]) -> str:
    """Return a hint for a table whose cells are not separated by commas."""
    for sign, name in ((";", '";"'), ("\t", "tabs")):
        if len(header) == 1 and sign in header[0]:
            return f"\n  hint: its cells are separated by {name}; save it with commas"
    return ""


def stamp_of(value: object, zone: tzinfo | None) -> int:
    """Return the time that *value* means, text or number of any unit.

    Raises:
        ValueError: it is no time.
        ZonelessError: it has no offset, and *zone* is None.
    """
    try:
        return parse_stamp(value, zone)
    except ValueError:
        if zone is None:
            parse_stamp(value, UTC)  # raises if the zone was not what it lacked
            raise ZonelessError(str(value)) from None
        raise


def _stamp(value: object, zone: tzinfo | None) -> int:
    """Return the time that *value* means; the complaint shows what stood there."""
    if isinstance(value, Decimal):  # 1.7672256e9 is a number like any other
        value = format(value, "f") if abs(value.adjusted()) < 20 else str(value)
    try:
        return stamp_of(value, zone)
    except ValueError as exc:
        raise ValueError(f'"{_shown(str(value))}" {exc}') from None


def _message(record: Any, zone: tzinfo | None) -> Message:
    if not isinstance(record, dict):
        raise TypeError("not a JSON object")
    for key in ("at", "topic"):
        if key not in record:
            raise ValueError(f'no "{key}"')
    topic = record["topic"]
    if not isinstance(topic, str):
        raise TypeError('"topic" is not text')
    at = record["at"]
    retain, qos = record.get("retain", False), record.get("qos", 0)
    if not isinstance(retain, bool) or type(qos) is not int or not 0 <= qos <= 2:
        raise ValueError('"retain" is true or false, "qos" is 0, 1 or 2')
    return Message(
        topic.encode("utf-8", "surrogateescape"),
        _payload(record),
        _stamp(at, zone),
        qos=qos,
        retain=retain,
    )


def _payload(record: Mapping[str, Any]) -> bytes:
    if ("payload" in record) == ("payload_base64" in record):
        raise ValueError('write one of "payload" and "payload_base64"')
    text = record.get("payload", record.get("payload_base64"))
    if not isinstance(text, str):
        raise TypeError("the payload is not text")
    if "payload" in record:
        return text.encode()
    return base64.b64decode(text, validate=True)


def _number(text: str) -> float | None:
    """Return the number, None of an empty cell; not what only Python takes for a number."""
    if not text:
        return None
    try:
        if text.isascii() and "_" not in text:
            return float(text)
    except ValueError:
        pass
    comma = ": write it with a decimal point" if _COMMA.fullmatch(text) else ""
    raise ValueError(f'"{_shown(text)}" is not a number{comma}')


def _shown(text: str) -> str:
    """Return the start of *text*, with nothing that a terminal would obey."""
    start = text[:40]
    return start if start.isprintable() else ascii(start)[1:-1]


def _why(exc: BaseException) -> str:
    """Return the reason in the words of a person."""
    match exc:
        case json.JSONDecodeError():
            return f"not JSON: {exc}"
        case UnicodeError():
            return "not UTF-8"
        case RecursionError():
            return "nested too deep"
        case csv.Error() if "new-line" in str(exc):
            return "a line ends in a carriage return alone; save the file with other line ends"
    return str(exc) or type(exc).__name__
