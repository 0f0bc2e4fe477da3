"""The words in which the configuration language is described: what one value may be.

A shape says what may stand under a key.  One description does everything: it reads a node
and says what is wrong with it, it makes the JSON Schema for editors, and it makes the
table of keys in the documentation.  Lists and mappings are in :mod:`hushd.config.shape`,
mappings with known keys in :mod:`hushd.config.table`.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from hushd.config.document import Node, scalar
from hushd.config.problems import Mark, Report, Source, shorten, suggest
from hushd.core.times import DURATION_HINT, DURATION_PATTERN, duration

Json = dict[str, Any]

#: Stands for a value that has been complained about; whoever meets it stays silent.
BAD: Final[Any] = type("Bad", (), {"__repr__": lambda _: "BAD"})()

NOWHERE = Mark(Source("default", ""), 0, 0)


class Shape:
    """What may stand under a key."""

    words = ""  # for the documentation: "duration", "list of names"
    closed = False  # may a secret stand there?

    def read(self, node: Node, report: Report) -> Any:
        """Return the value of *node*, or BAD with the reason in *report*."""
        raise NotImplementedError

    def schema(self) -> Json:
        """Return the JSON Schema, which refers to tables by name."""
        raise NotImplementedError

    def parts(self) -> Iterator[Any]:
        """Return the tables inside, for the documentation."""
        return iter(())


class Scalar(Shape):
    """A shape for one text, number or flag."""

    name = "a text"  # as in "expected ..."
    hint = ""

    def take(self, node: Node) -> Any:
        """Return the value of a scalar.

        Raises:
            ValueError: it is none; the message is the hint.
        """
        raise NotImplementedError

    def read(self, node: Node, report: Report) -> Any:
        if not node.scalar:
            what = "a list" if node.kind == "list" else "a mapping"
            report.error(node.mark, f"expected {self.name}, not {what}", *some(self.hint))
        elif node.kind == "nothing":
            report.error(node.mark, "the value is missing", *some(self.hint))
        else:
            try:
                return self.take(node)
            except ValueError as exc:
                report.error(node.mark, f'cannot read "{shorten(node.raw)}"', str(exc))
        return BAD

    def of(self, text: str) -> Any:
        """Return the value that the configuration would write as *text*."""
        return self.take(scalar(text, NOWHERE))


class Text(Scalar):
    """Any text, or one that fits a pattern."""

    def __init__(self, words: str = "text", pattern: str = "", hint: str = "") -> None:
        self.words = words
        self.pattern = pattern
        self.hint = hint

    def take(self, node: Node) -> str:
        if node.kind != "text":
            raise ValueError(f"write a text: put '{node.raw}' into quotes")
        text = str(node.value)
        if not text.strip():
            raise ValueError(self.hint or "write some text, or leave the key out")
        if self.pattern and not re.fullmatch(self.pattern, text):
            raise ValueError(self.hint)
        return text

    def schema(self) -> Json:
        return {"type": "string", "pattern": f"^({self.pattern})$" if self.pattern else r"\S"}


class Word(Scalar):
    """One of a few words."""

    def __init__(self, choices: tuple[str, ...]) -> None:
        self.choices = choices
        self.words = " or ".join(f"`{choice}`" for choice in choices)
        self.hint = f"write {joined(choices, 'or')}"

    def take(self, node: Node) -> str:
        if node.kind == "text" and node.value in self.choices:
            return str(node.value)
        raise ValueError(suggest(node.raw, self.choices)[0].replace("known:", "one of:"))

    def schema(self) -> Json:
        return {"enum": list(self.choices)}


class Flag(Scalar):
    """``true`` or ``false``; ``yes``, ``on`` and their like are texts."""

    words = "`true` or `false`"
    name = "true or false"
    hint = "write true or false"

    def take(self, node: Node) -> bool:
        if node.kind != "flag":
            raise ValueError(self.hint)
        return bool(node.value)

    def schema(self) -> Json:
        return {"type": "boolean"}


class Number(Scalar):
    """A number between two bounds, both inclusive."""

    def __init__(
        self, low: float | None = None, high: float | None = None, *, whole: bool = False
    ) -> None:
        self.low = low
        self.high = high
        self.whole = whole
        kind = "whole number" if whole else "number"
        self.name = f"a {kind}"
        self.words = kind if low is None else f"{kind}, {low:.0f} or more"
        self.hint = f"write a {self.words}"
        if low is not None and high is not None:
            self.words = f"{low:.0f}" if low == high else f"{kind}, {low:.0f} to {high:.0f}"
            self.hint = f"write {self.words}" if low == high else f"write a {self.words}"

    def take(self, node: Node) -> Any:
        value = node.value
        if node.kind != "number" or not isinstance(value, int | float):
            quoted = node.kind == "text" and scalar(node.raw, node.mark).kind == "number"
            raise ValueError(f"{self.hint}{', without quotes' if quoted else ''}")
        if self.whole and value != int(value):
            raise ValueError(self.hint)
        if (self.low is not None and value < self.low) or (
            self.high is not None and value > self.high
        ):
            raise ValueError(self.hint)
        return int(value) if self.whole else float(value)

    def schema(self) -> Json:
        out: Json = {"type": "integer" if self.whole else "number"}
        if self.low is not None:
            out["minimum"] = self.low
        if self.high is not None:
            out["maximum"] = self.high
        return out


class Span(Scalar):
    """A duration; nanoseconds in the core."""

    words = "duration"
    name = "a duration"
    hint = DURATION_HINT

    def __init__(self, *, zero: bool = False) -> None:
        self.zero = zero  # is 0s meaningful?

    def take(self, node: Node) -> int:
        ns = duration(node.raw)
        if not (ns or self.zero):
            raise ValueError("write a duration of more than nothing")
        return ns

    def schema(self) -> Json:
        return {"$ref": "#/$defs/duration" if self.zero else "#/$defs/positive_duration"}


#: what the schemas of durations refer to
DURATIONS: Json = {
    "duration": {"type": "string", "pattern": f"^(?=.){DURATION_PATTERN}$"},
    "positive_duration": {"type": "string", "pattern": f"^(?=.*[1-9]){DURATION_PATTERN}$"},
}


class Window(Scalar):
    """A span of time, or a number of readings: ``15m``, ``20 samples``."""

    words = "duration or `N samples`"
    name = "a window"
    hint = 'write a duration or a number of readings: "15m", "20 samples"'

    def take(self, node: Node) -> tuple[int | None, int | None]:
        match = re.fullmatch(r"([1-9][0-9]{0,5}) samples?", node.raw)
        if match:
            return None, int(match[1])
        if "sample" in node.raw.lower():
            raise ValueError('write a number from 1 to 999999: "20 samples"')
        ns = duration(node.raw)
        if not ns:
            raise ValueError("a window of no length holds nothing; write more, or leave it out")
        return ns, None

    def schema(self) -> Json:
        return {
            "type": "string",
            "pattern": f"^((?=.*[1-9]){DURATION_PATTERN}|[1-9][0-9]{{0,5}} samples?)$",
        }


class Size(Scalar):
    """A number of bytes: ``64KiB``."""

    words = "size"
    name = "a size"
    hint = 'write a number and a unit: "512B", "64KiB", "1MiB"'

    def __init__(self, low: int, high: int) -> None:
        self.low = low
        self.high = high

    def take(self, node: Node) -> int:
        match = re.fullmatch(r"([0-9]{1,9})(B|KiB|MiB)", node.raw)
        if not match:
            raise ValueError(self.hint)
        size = int(match[1]) << {"B": 0, "KiB": 10, "MiB": 20}[match[2]]
        if not self.low <= size <= self.high:
            raise ValueError(f"write a size from {self.low}B to {self.high >> 20}MiB")
        return size

    def schema(self) -> Json:
        return {"type": "string", "pattern": "^[0-9]{1,9}(B|KiB|MiB)$"}


class Level(Scalar):
    """A limit: a number, or a duration where the measure is one (seconds)."""

    words = "number, or duration where the measure is one"
    name = "a number"
    hint = "write a number, such as 40 or 37.5"

    def take(self, node: Node) -> "float | Seconds":
        if node.kind == "number" and isinstance(node.value, int | float):
            return float(node.value)
        try:
            return Seconds(duration(node.raw) / 1e9)
        except ValueError:
            raise ValueError(self.hint) from None

    def schema(self) -> Json:
        return {"anyOf": [{"type": "number"}, Span(zero=True).schema()]}


class Seconds(float):
    """A limit that was written as a duration."""

    __slots__ = ()


class Label(Scalar):
    """The value of a label: compared as text, as it is written."""

    words = "text or number"
    name = "a text"
    hint = "write the value as it stands in the topic"

    def take(self, node: Node) -> str:
        return str(node.value) if node.kind == "text" else node.raw

    def schema(self) -> Json:
        return {"type": ["string", "number", "boolean"]}


def some(hint: str) -> tuple[str, ...]:
    """Return the hints of a problem: *hint*, if there is one."""
    return (hint,) if hint else ()


def joined(words: Sequence[str], by: str) -> str:
    """Return ``a, b or c``."""
    *most, last = words
    return f"{', '.join(most)} {by} {last}" if most else last
