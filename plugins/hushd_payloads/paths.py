r"""Paths into a JSON document: ``params."temperature:0".tC``, ``data[*].sensors[id=53].value``.

| step          | goes to                                                     |
|---------------|-------------------------------------------------------------|
| ``name``      | the field of an object                                      |
| ``"a.b:0"``   | the field whose name has dots, brackets or quotes (``\"``)   |
| ``[0] [-1]``  | the element of a list, from its start or its end            |
| ``[*]``       | every element of a list                                     |
| ``[id=53]``   | every element of a list whose field ``id`` is 53 or "53"    |
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

MISSING: Any = object()

_STEP = re.compile(
    r"""
      \[ (?: (?P<index>-?\d{1,9}) | (?P<every>\*) | (?P<field>[^\[\]="]+)=(?P<equal>[^\[\]]*) ) \]
    | "(?P<quoted>(?:[^"\\]|\\.)*)"
    | (?P<name>[^.\[\]"]+)
    """,
    re.VERBOSE | re.ASCII,
)


class Each(NamedTuple):
    """A step to every element of a list, or those whose *field* reads *equal*."""

    field: str | None = None
    equal: str = ""

    def of(self, node: object) -> Iterator[Any]:
        """Yield the elements of *node* that are meant."""
        if isinstance(node, list):
            for element in node:
                if self.field is None or self._meant(element):
                    yield element

    def _meant(self, element: object) -> bool:
        if not isinstance(element, dict) or self.field not in element:
            return False
        found = element[self.field]
        return type(found) in {str, int, float} and str(found) == self.equal


Step = str | int | Each
Path = tuple[Step, ...]


def parse(text: str) -> Path:
    """Return the steps of a path; no text is the whole document.

    >>> parse('params."temperature:0".tC'), parse("data[-1].v"), parse("")
    (('params', 'temperature:0', 'tC'), ('data', -1, 'v'), ())

    Raises:
        ValueError: the text is no path; says where it stops being one.
    """
    steps: list[Step] = []
    at = 0
    while at < len(text):
        if steps and text[at] == ".":
            at += 1
            if text[at : at + 1] == "[":
                raise ValueError(f'write "{text[: at - 1]}{text[at:]}", without the dot')
        elif steps and text[at] != "[":
            raise ValueError(f'a dot is missing before "{text[at:]}"')
        match = _STEP.match(text, at)
        if match is None:
            raise ValueError(
                f'cannot read "{text[at:]}" of the path "{text}"; write it like '
                'a.b, a."b.c", a[0] or a[*].b'
            )
        name = match["name"]
        if name is not None and name != name.strip():
            raise ValueError(f'leave the blank beside "{name.strip()}" out, or put it into quotes')
        steps.append(_step(match))
        at = match.end()
        if at == len(text) - 1 and text[at] == ".":
            raise ValueError(f'the path "{text}" ends in a dot')
    return tuple(steps)


def _step(match: re.Match[str]) -> Step:
    if match["index"]:
        return int(match["index"])
    if match["every"]:
        return Each()
    if match["field"]:
        return Each(match["field"].strip(), match["equal"].strip().strip('"'))
    if match["quoted"] is not None:
        return re.sub(r"\\(.)", r"\1", match["quoted"])
    return match["name"]


def dig(node: Any, path: tuple[str | int, ...]) -> Any:
    """Return what is at *path* in *node*, or MISSING.

    >>> dig({"a": [1, {"b": 2}]}, ("a", -1, "b")), dig({"a": 1}, ("a", "b")) is MISSING
    (2, True)
    """
    for step in path:
        if isinstance(step, str):
            node = node.get(step, MISSING) if isinstance(node, dict) else MISSING
        elif isinstance(node, list) and -len(node) <= step < len(node):
            node = node[step]
        else:
            return MISSING
    return node
