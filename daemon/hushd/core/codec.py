"""Readings, partials and whole documents as bytes, exactly: what a snapshot is written in.

A document is what JSON knows, with bytes in it wherever columns of numbers are.  Numbers
keep every bit (NaN and the infinities too), tuples of partials stay tuples, and a NamedTuple
is known again by an example.  What is none of these has no place in a snapshot.
"""

import json
import math
import operator
import struct
import zlib
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

#: of zlib: more takes longer and saves little
_EFFORT = 1
_LENGTH = struct.Struct("<I")


class UnsupportedError(TypeError):
    """A partial of a type that a snapshot does not know."""


def pack(document: Any) -> bytes:
    """Return a *document* in which there may be bytes: one JSON text, then the bytes, compressed."""
    blobs: list[bytes] = []

    def place(blob: Any) -> dict[str, int]:
        if not isinstance(blob, bytes):
            raise UnsupportedError(f"a snapshot cannot hold {type(blob).__name__}")
        blobs.append(blob)
        return {"bytes": len(blob)}

    text = json.dumps(document, separators=(",", ":"), allow_nan=False, default=place).encode()
    return zlib.compress(b"".join([_LENGTH.pack(len(text)), text, *blobs]), _EFFORT)


def unpack(data: bytes) -> Any:
    """Return the document that :func:`pack` was given, tuples as lists.

    Raises:
        ValueError: this is no document, or not a whole one.
    """
    try:
        plain = zlib.decompress(data)
        (length,) = _LENGTH.unpack_from(plain)
    except (zlib.error, struct.error) as exc:
        raise ValueError(f"not a snapshot: {exc}") from exc
    at = _LENGTH.size + length

    def take(found: dict[str, Any]) -> Any:
        nonlocal at  # they come in the order in which they were placed
        if "bytes" not in found:
            return found
        begin, at = at, at + found["bytes"]
        return plain[begin:at]

    return json.loads(plain[_LENGTH.size : _LENGTH.size + length], object_hook=take)


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


def pack_numbers(numbers: Sequence[Any], code: str) -> bytes:
    """Return numbers in 8 bytes each: *code* is "q" or "d"."""
    return struct.pack(f"<{len(numbers)}{code}", *numbers)


def unpack_numbers(data: bytes, code: str) -> list[Any]:
    """Return the numbers that :func:`pack_numbers` was given."""
    return list(struct.unpack(f"<{len(data) // 8}{code}", data))


def pack_steps(numbers: Sequence[int]) -> bytes:
    """Return integers as their steps, which are mostly alike and so take little room."""
    return pack_numbers(list(map(operator.sub, numbers, [0, *numbers[:-1]])), "q")


def unpack_steps(data: bytes) -> list[int]:
    """Return the integers that :func:`pack_steps` was given."""
    return list(accumulate(unpack_numbers(data, "q")))


def pack_values(values: Sequence[Any]) -> Any:
    """Return readings as bytes where all are floats, else as a list."""
    if set(map(type, values)) <= {float}:
        return pack_numbers(values, "d")
    return [encode(value) for value in values]


def unpack_values(data: Any) -> list[Any]:
    """Return the readings that :func:`pack_values` was given."""
    if isinstance(data, bytes):
        return unpack_numbers(data, "d")
    return [decode(each) for each in data]


def _part(like: Any, i: int) -> Any:
    return like[i] if isinstance(like, tuple) and i < len(like) else None
