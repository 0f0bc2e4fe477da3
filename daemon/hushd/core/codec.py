"""Readings and partials as JSON, exactly: what a snapshot of a log is written in.

Numbers keep every bit (NaN and the infinities too), tuples stay tuples, and a NamedTuple
is known again by an example.  What is none of these has no place in a snapshot.
"""

import base64
import math
import struct
import zlib
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

#: how many numbers are packed at once
_BATCH = 4096


class UnsupportedError(TypeError):
    """A partial of a type that a snapshot does not know."""


def encode(value: Any, like: Any = None) -> Any:
    """Return *value* as JSON knows it; *like* is an example of its shape.

    Raises:
        UnsupportedError: neither number, text, truth, None, list, tuple, nor a NamedTuple of
            the type of *like*.
    """
    kind = type(value)
    if value is None or kind in (bool, int, str):
        return value
    if kind is float:
        if math.isfinite(value):
            return value
        sign = "-" if math.copysign(1, value) < 0 else ""  # a NaN has one too
        return {"float": f"{sign}{abs(value)}"}
    if kind is list:
        return [encode(each) for each in value]
    if kind is tuple or (isinstance(value, tuple) and kind is type(like)):
        return {"tuple": [encode(each, _part(like, i)) for i, each in enumerate(value)]}
    raise UnsupportedError(f"a snapshot cannot hold {kind.__name__}")


def decode(data: Any, like: Any = None) -> Any:
    """Return what :func:`encode` was given, with the same *like*."""
    if isinstance(data, list):
        return [decode(each) for each in data]
    if not isinstance(data, dict):
        return data
    if "float" in data:
        return float(data["float"])
    parts = [decode(each, _part(like, i)) for i, each in enumerate(data["tuple"])]
    return type(like)(*parts) if hasattr(like, "_fields") else tuple(parts)


def pack_numbers(numbers: Iterable[Any], code: str) -> str:
    """Return numbers as compressed text, 8 bytes each before: *code* is "q" or "d"."""
    numbers = list(numbers)
    packed = b"".join(
        struct.pack(f"<{len(part)}{code}", *part)
        for part in (numbers[i : i + _BATCH] for i in range(0, len(numbers), _BATCH))
    )
    return base64.b64encode(zlib.compress(packed, 1)).decode("ascii")


def unpack_numbers(text: str, code: str) -> list[Any]:
    """Return the numbers that :func:`pack_numbers` was given."""
    packed = zlib.decompress(base64.b64decode(text))
    return list(struct.unpack(f"<{len(packed) // 8}{code}", packed))


def pack_stamps(stamps: Sequence[int]) -> str:
    """Return stamps as compressed text: their steps, which are mostly alike."""
    return pack_numbers((b - a for a, b in pairwise([0, *stamps])), "q")


def unpack_stamps(text: str) -> list[int]:
    """Return the stamps that :func:`pack_stamps` was given."""
    stamps, at = [], 0
    for step in unpack_numbers(text, "q"):
        at += step
        stamps.append(at)
    return stamps


def pack_values(values: Sequence[Any]) -> Any:
    """Return readings as compressed text where all are floats, else as a list."""
    if all(type(value) is float for value in values):
        return pack_numbers(values, "d")
    return [encode(value) for value in values]


def unpack_values(data: Any) -> list[Any]:
    """Return the readings that :func:`pack_values` was given."""
    if isinstance(data, str):
        return unpack_numbers(data, "d")
    return [decode(each) for each in data]


def _part(like: Any, i: int) -> Any:
    return like[i] if isinstance(like, tuple) and i < len(like) else None
