"""Read numbers, their time and their labels out of JSON, with the standard library alone.

The scanner is called without its wrapping (``json.loads`` of 125 bytes takes 3.2 us, of
which the scanner 1.7).  Whatever the bytes are, the answer is samples or reasons.
"""

import re
from collections.abc import Callable, Iterator
from json import JSONDecoder
from typing import Any, NamedTuple

from hushd.plugin import Decode, Refused, Sample, Wanted
from hushd_payloads.number import number, seen
from hushd_payloads.paths import MISSING, Each, Path, dig, parse

_BLANKS = "\ufeff \t\r\n"  # some senders start with a byte order mark
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_LABEL = 200  # characters; longer is no name of anything

#: scan(text, start) -> (document, end); StopIteration where no document starts
_scan: Callable[[str, int], tuple[Any, int]] = JSONDecoder().scan_once  # type: ignore[attr-defined]  # typeshed leaves it out

Plain = tuple[str | int, ...]


class Place(NamedTuple):
    """Where a time or a label is, seen from the reading it belongs to."""

    lists: int  # how many of the lists that the value walks it shares
    path: Plain  # from the element of the last of them


def build(wanted: Wanted) -> Decode:
    """Return the decoder of numbers at a path in JSON.

    >>> decode = build(Wanted("sensors[*].dB"))
    >>> for answer in decode(b'{"sensors": [{"dB": 61}, {"dB": "62.5"}, {"dB": null}, {}]}'):
    ...     print(answer)
    Sample(value=61.0, at=None, labels=())
    Sample(value=62.5, at=None, labels=())
    Refused(reason='null_value', detail='')

    Raises:
        ValueError: a path cannot be read, or a time or label is in another list.
    """
    path = parse(wanted.value)
    lists, tail = _split(path)
    if wanted.time is not None and wanted.stamp is None:
        raise ValueError("a time is asked for, but nothing that reads it")
    time = None if wanted.time is None else _place(path, wanted.time)
    labels = [(name, _place(path, where)) for name, where in wanted.labels]
    stamp = wanted.stamp
    plain = time is None and not labels

    def sample(found: object, bound: tuple[Any, ...]) -> Sample | Refused:
        value = numeric(found)
        if isinstance(value, Refused):
            return value
        if plain:
            return Sample(value)
        at = None
        if time is not None and stamp is not None:
            read = _time(dig(bound[time.lists], time.path), stamp)
            if isinstance(read, Refused):
                return read
            at = read
        named = []
        for name, place in labels:
            text = _label(dig(bound[place.lists], place.path))
            if text is None:
                return Refused("no_label", name)
            if len(text) > _LABEL or _CONTROL.search(text):
                return Refused("bad_label", seen(f"{name}: {text}"))
            named.append((name, text))
        return Sample(value, at, tuple(named))

    def decode(payload: bytes) -> list[Sample | Refused]:
        document = read(payload)
        if isinstance(document, Refused):
            return [document]
        if not lists:  # nearly every sensor
            found = dig(document, tail)
            return [] if found is MISSING else [sample(found, (document,))]
        return [
            sample(found, bound)
            for found, bound in _leaves(document, lists, tail, (document,))
            if found is not MISSING
        ]

    return decode


def read(payload: bytes) -> Any:
    """Return the document, or a :class:`Refused`: bad_utf8, empty, bad_json or too_deep."""
    try:
        text = payload.decode().lstrip(_BLANKS)
        document, end = _scan(text, 0)
    except UnicodeDecodeError:
        return Refused("bad_utf8", seen(payload[:40].decode(errors="backslashreplace")))
    except RecursionError:
        return Refused("too_deep")
    except (ValueError, StopIteration):
        return Refused("bad_json", seen(text)) if text else Refused("empty")
    if end != len(text) and text[end:].strip(_BLANKS):
        return Refused("bad_json", seen(text[end:]))
    return document


def numeric(found: object) -> float | Refused:
    """Return a JSON value as a finite number; a text counts if it is one.

    >>> numeric(63), numeric("63.2"), numeric(True).reason, numeric(None).reason
    (63.0, 63.2, 'not_a_number', 'null_value')
    """
    if type(found) is float or type(found) is int:
        try:
            value = float(found)
        except OverflowError:
            return Refused("not_finite", "an integer beyond 1e308")
        return value if value - value == 0.0 else Refused("not_finite", str(value))
    if isinstance(found, str):
        return number(found)
    if found is None:
        return Refused("null_value")
    names = {bool: "true or false", list: "a list"}
    return Refused("not_a_number", names.get(type(found), "an object"))


def _split(path: Path) -> tuple[list[tuple[Plain, Each]], Plain]:
    """Return the lists that a path walks, each with the way to it, and the way from the last."""
    lists: list[tuple[Plain, Each]] = []
    way: list[str | int] = []
    for step in path:
        if isinstance(step, Each):
            lists.append((tuple(way), step))
            way = []
        else:
            way.append(step)
    return lists, tuple(way)


def _place(value: Path, text: str) -> Place:
    """Return where *text* is, seen from the readings at *value*."""
    path = parse(text)
    shared = 0
    while shared < min(len(value), len(path)) and value[shared] == path[shared]:
        shared += 1
    ends = [i for i in range(shared) if isinstance(path[i], Each)]
    rest = path[ends[-1] + 1 :] if ends else path
    plain = tuple(step for step in rest if not isinstance(step, Each))
    if len(plain) != len(rest):
        raise ValueError(f'"{text}" walks a list that the value does not: which element is meant?')
    return Place(len(ends), plain)


def _leaves(
    node: Any, lists: list[tuple[Plain, Each]], tail: Plain, bound: tuple[Any, ...]
) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Yield what is at the end of the path, with the elements walked through, outermost first."""
    if not lists:
        yield dig(node, tail), bound
        return
    way, each = lists[0]
    for element in each.of(dig(node, way)):
        yield from _leaves(element, lists[1:], tail, (*bound, element))


def _time(found: object, stamp: Callable[[object], int]) -> int | Refused:
    if found is MISSING or found is None:
        return Refused("no_time")
    if type(found) not in {str, int, float}:
        return Refused("bad_time")
    try:
        return stamp(found)
    except ValueError as exc:
        return Refused("bad_time", seen(str(exc)))


def _label(found: object) -> str | None:
    """Return the text of a label: a text or a number as it is written, true or false."""
    if isinstance(found, bool):
        return "true" if found else "false"
    if isinstance(found, str | int | float):
        return str(found) or None
    return None
