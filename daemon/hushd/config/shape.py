"""The words in which the configuration language is described.

A shape says what may stand under a key.  One description does everything: it reads a node
and says what is wrong with it, it makes the JSON Schema for editors, and it makes the
table of keys in the documentation.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from hushd.config.document import Node, scalar
from hushd.config.problems import Mark, Report, Source, shorten, suggest
from hushd.core.times import DURATION_HINT, DURATION_PATTERN, duration

Json = dict[str, Any]

#: Stands for a value that has been complained about; whoever meets it stays silent.
BAD: Final[Any] = type("Bad", (), {"__repr__": lambda _: "BAD"})()

_NOWHERE = Mark(Source("default", ""), 0, 0)
_LATER = "take it out for now: it is refused, not ignored, so that nobody relies on it"


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

    def parts(self) -> Iterator["Table"]:
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
            report.error(node.mark, f"expected {self.name}, not {what}", *_some(self.hint))
        elif node.kind == "nothing":
            report.error(node.mark, "the value is missing", *_some(self.hint))
        else:
            try:
                return self.take(node)
            except ValueError as exc:
                report.error(node.mark, f'cannot read "{shorten(node.raw)}"', str(exc))
        return BAD

    def of(self, text: str) -> Any:
        """Return the value that the configuration would write as *text*."""
        return self.take(scalar(text, _NOWHERE))


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
        self.hint = f"write {_joined(choices, 'or')}"

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


class Many(Shape):
    """A list; read as a tuple of (place, value)."""

    def __init__(self, shape: Shape, words: str, least: int = 0, example: str = "") -> None:
        self.shape = shape
        self.words = words
        self.least = least
        self.example = example

    def read(self, node: Node, report: Report) -> Any:
        hint = _some(self.example and f"write {self.example}")
        if node.kind != "list":
            what = "a mapping" if node.kind == "map" else f'"{shorten(node.raw)}"'
            report.error(
                node.mark,
                "the value is missing"
                if node.kind == "nothing"
                else f"expected a list, not {what}",
                *hint,
            )
            return BAD
        if len(node.items) < self.least:
            report.error(node.mark, "the list is too short", *hint)
            return BAD
        values = tuple((item.mark, self.shape.read(item, report)) for item in node.items)
        return BAD if any(value is BAD for _, value in values) else values

    def schema(self) -> Json:
        out: Json = {"type": "array", "items": self.shape.schema()}
        if self.least:
            out["minItems"] = self.least
        return out

    def parts(self) -> Iterator["Table"]:
        return self.shape.parts()


class Pair(Shape):
    """Two numbers, the lower one first."""

    words = "`[low, high]`"

    def __init__(self, shape: Scalar) -> None:
        self.shape = shape

    def read(self, node: Node, report: Report) -> Any:
        if node.kind != "list" or len(node.items) != 2:
            report.error(node.mark, "expected two numbers", "write [low, high], such as [20, 130]")
            return BAD
        low, high = (self.shape.read(item, report) for item in node.items)
        if low is BAD or high is BAD:
            return BAD
        if low > high:
            report.error(node.mark, "the first number is greater than the second", "swap them")
            return BAD
        return low, high

    def schema(self) -> Json:
        items = self.shape.schema()
        return {"type": "array", "items": items, "minItems": 2, "maxItems": 2}


class Entries(Shape):
    """A mapping whose keys are the user's; read as ``{name: (place, value)}``."""

    def __init__(
        self,
        key: Scalar,
        shape: Shape,
        words: str,
        least: int = 0,
        example: str = "",
        most: int | None = None,
    ) -> None:
        self.key = key
        self.shape = shape
        self.words = words
        self.least = least
        self.example = example
        self.most = most

    def read(self, node: Node, report: Report) -> Any:
        if node.kind != "map":
            what = "a list" if node.kind == "list" else f'"{shorten(node.raw)}"'
            report.error(
                node.mark,
                "nothing stands under this key"
                if node.kind == "nothing"
                else f"expected a mapping, not {what}",
                *_some(self.example and f"write {self.example}"),
            )
            return BAD
        if len(node.entries) < self.least or (self.most and len(node.entries) > self.most):
            count = len(node.entries)
            message = f"expected {_count(self.most)}, not {count or 'none'}"
            report.error(node.mark, message, *_some(self.example and f"write {self.example}"))
            return BAD
        out = {}
        for name, entry in node.entries.items():
            try:
                self.key.take(scalar(name, entry.key, plain=False))
            except ValueError as exc:
                what = "unknown key" if isinstance(self.key, Word) else "cannot use as a name:"
                report.error(entry.key, f'{what} "{shorten(name)}"', str(exc))
                continue
            out[name] = (entry.key, self.shape.read(entry.node, report))
        return out

    def schema(self) -> Json:
        out: Json = {
            "type": "object",
            "propertyNames": self.key.schema(),
            "additionalProperties": self.shape.schema(),
        }
        if self.least:
            out["minProperties"] = self.least
        if self.most:
            out["maxProperties"] = self.most
        return out

    def parts(self) -> Iterator["Table"]:
        return self.shape.parts()


class Either(Shape):
    """One shape or another, told apart by whether a scalar, a list or a mapping stands there."""

    def __init__(
        self,
        one: Shape | None = None,  # a scalar
        several: Shape | None = None,  # a list
        named: Shape | None = None,  # a mapping
        example: str = "",
        short: str = "",  # the key of the mapping that a scalar stands for
    ) -> None:
        self.one = one
        self.several = several
        self.named = named
        self.example = example
        self.short = short
        self.words = ", or ".join(shape.words for shape in self.shapes())

    def shapes(self) -> list[Shape]:
        """Return those that there are."""
        return [shape for shape in (self.one, self.several, self.named) if shape is not None]

    def read(self, node: Node, report: Report) -> Any:
        shape = {"list": self.several, "map": self.named}.get(node.kind, self.one)
        if node.kind == "nothing":
            report.error(node.mark, "the value is missing", *_some(self.example))
            return BAD
        if shape is None:
            what = {"list": "a list", "map": "a mapping"}.get(node.kind, f'"{shorten(node.raw)}"')
            report.error(node.mark, f"{what} does not fit here", *_some(self.example))
            return BAD
        value = shape.read(node, report)
        if self.short and shape is self.one and isinstance(self.named, Table) and value is not BAD:
            section = Section(self.named, node.at)
            section.put(self.short, node.at, node.mark, value)
            return section
        return value

    def schema(self) -> Json:
        return {"anyOf": [shape.schema() for shape in self.shapes()]}

    def parts(self) -> Iterator["Table"]:
        for shape in self.shapes():
            yield from shape.parts()


@dataclass(eq=False, repr=False)
class Key:
    """One key: what may stand there, what it is for, and what counts when it is left out."""

    shape: Shape
    doc: str
    default: str | None = None  # as the configuration would write it
    required: bool = False
    otherwise: str = ""  # for people, where the default is no fixed value

    def initial(self) -> Any:
        """Return the value of the default."""
        if self.default is None or not isinstance(self.shape, Scalar):
            return None
        return self.shape.of(self.default)


class Section:
    """A mapping that has been read against its table."""

    __slots__ = ("_given", "_table", "keys", "mark", "meant")

    def __init__(self, table: "Table", mark: Mark) -> None:
        self._table = table
        self._given: dict[str, tuple[Mark, Any]] = {}  # key -> (place of the value, value)
        self.keys: dict[str, Mark] = {}  # key -> where it is written
        self.mark = mark  # the key that leads here
        self.meant: set[str] = set()  # keys that are there, but misspelt

    def put(self, key: str, at: Mark, place: Mark, value: Any) -> None:
        """Keep a value that was given."""
        self.keys[key] = at
        self._given[key] = (place, value)

    def __contains__(self, key: str) -> bool:
        return key in self._given

    def __getitem__(self, key: str) -> Any:
        """Return the value, else the default; None for one that is wrong."""
        given = self._given.get(key)
        if given is None:
            return self._table.initials[key]
        return None if given[1] is BAD else given[1]

    def ok(self, *keys: str) -> bool:
        """Say whether none of *keys* has been complained about, or is missing against the rules."""
        return all(
            self._given[key][1] is not BAD
            if key in self._given
            else not self._table.keys[key].required
            for key in keys
        )

    def place(self, key: str) -> Mark:
        """Return where the value stands, else where it should."""
        return self._given[key][0] if key in self._given else self.mark


@dataclass(eq=False, repr=False)
class Table(Shape):
    """A mapping with known keys."""

    name: str
    keys: Mapping[str, Key]
    #: keys of later versions, which the design names already
    later: tuple[str, ...] = ()
    #: those of them that make other keys superfluous
    instead: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()  # exactly one of these must be there
    some_of: tuple[str, ...] = ()  # at least one of these
    apart: tuple[tuple[str, str], ...] = ()  # not both of these
    #: keys that mean nothing without one of some others
    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    open: bool = False  # may hold keys that somebody else knows
    #: where a known key of another table belongs
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    example: str = ""
    initials: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.words = f"[{self.name}](#{self.name.replace(' ', '-')})"
        self.initials.update((name, key.initial()) for name, key in self.keys.items())

    def read(self, node: Node, report: Report) -> Any:
        if node.kind != "map":
            what = {"list": "a list", "nothing": "nothing"}.get(node.kind, f"a {node.kind}")
            hint = f"write {self.example}" if self.example else f"known: {', '.join(self.keys)}"
            report.error(node.mark, f"expected a mapping, not {what}", hint)
            return BAD
        section = Section(self, node.at)
        for name, entry in node.entries.items():
            key = self.keys.get(name)
            if key is None:
                meant = self.refuse(name, entry.key, report)
                section.meant.add(meant)
                if meant in self.keys and self.keys[meant].shape.closed:
                    _hide(entry.node)
            else:
                value = key.shape.read(entry.node, report)
                section.put(name, entry.key, entry.node.mark, value)
        if not any(name in self.instead for name in node.entries):
            for name, key in self.keys.items():
                if key.required and name not in section and name not in section.meant:
                    report.error(node.at, f'"{name}" is missing', f"add {name}: {key.doc}")
        self.choose(node, section, report)
        return section

    def refuse(self, name: str, mark: Mark, report: Report) -> str:
        """Complain of a key that is not known here; return the known one it is taken for."""
        if name in self.later:
            report.error(mark, f'this version does not know "{name}" yet', _LATER)
            return ""
        if name in self.elsewhere:
            report.error(mark, f'"{shorten(name)}" does not belong here', self.elsewhere[name])
            return ""
        hints = suggest(name, [*self.keys, *self.later])
        if not (hints and hints[0].startswith("did")):
            hints = suggest(name, self.keys)  # what would be refused as well is no way out
        report.error(mark, f'unknown key "{shorten(name)}"', *hints)
        return hints[0].removeprefix('did you mean "').removesuffix('"?') if hints else ""

    def choose(self, node: Node, section: Section, report: Report) -> None:
        """Complain when a choice among keys is not made, or made twice."""
        # what is misspelt or not known yet has been complained about, and may be the one
        clean = all(name in self.keys for name in node.entries)
        there = [name for name in self.one_of if name in section]
        clashes = [tuple(there), *self.apart]
        for clash in clashes:
            if len(clash) > 1 and all(name in section for name in clash):
                places = sorted(section.keys[name] for name in clash)
                names = [f'"{name}"' for name in clash]
                report.error(places[-1], f"{_joined(names, 'and')} exclude each other", "keep one")
        for choices in filter(None, (self.one_of, self.some_of)):
            if clean and not any(name in section for name in choices):
                names = [f'"{name}"' for name in choices]
                message = f"{_joined(names, 'or')} is missing"
                report.error(
                    section.mark, message, *_some(self.example and f"as in {self.example}")
                )
        for name, others in self.needs.items():
            if clean and name in section and not any(other in section for other in others):
                needed = _joined([f'"{other}"' for other in others], "or")
                report.error(
                    section.keys[name],
                    f'"{name}" needs {needed}',
                    f"add {others[0]}: {self.keys[others[0]].doc}",
                )

    def schema(self) -> Json:
        return {"$ref": f"#/$defs/{self.name.replace(' ', '_')}"}

    def definition(self) -> Json:
        """Return the schema that :meth:`schema` refers to."""
        out: Json = {"type": "object", "additionalProperties": self.open}
        conditions: list[Json] = []
        required = [name for name, key in self.keys.items() if key.required]
        if required and self.instead:
            choices = [required, *([name] for name in self.instead)]
            conditions.append({"anyOf": [{"required": choice} for choice in choices]})
        elif required:
            out["required"] = required
        out["properties"] = {name: _described(key) for name, key in self.keys.items()}
        if self.one_of:
            conditions.append({"oneOf": [{"required": [name]} for name in self.one_of]})
        if self.some_of:
            conditions.append({"anyOf": [{"required": [name]} for name in self.some_of]})
        conditions += [{"not": {"required": list(pair)}} for pair in self.apart]
        if self.needs:
            out["dependentSchemas"] = {
                name: {"anyOf": [{"required": [other]} for other in others]}
                for name, others in self.needs.items()
            }
        if conditions:
            out["allOf"] = conditions
        return out

    def parts(self) -> Iterator["Table"]:
        yield self
        for key in self.keys.values():
            yield from key.shape.parts()


class Closed(Table):
    """A table that names where a secret is kept; who writes the secret itself sees it nowhere."""

    closed = True

    def read(self, node: Node, report: Report) -> Any:
        found = Report()
        section = super().read(node, found)
        for name, entry in node.entries.items():
            if name not in self.keys or not section.ok(name):
                _hide(entry.node)
        if section is BAD:
            _hide(node)
        for problem in found.problems:
            message = problem.message
            if message.startswith("cannot read"):
                message = "cannot read this"
            report.problems.append(problem._replace(message=message))
        return section


def _hide(node: Node) -> None:
    """Hide all values in *node* from those who see what is wrong with it."""
    if node.scalar:
        node.mark.source.hide(node.mark)
    for inner in (*node.items, *(entry.node for entry in node.entries.values())):
        _hide(inner)


def _described(key: Key) -> Json:
    """Return the schema of a key with what an editor shows about it."""
    out: Json = {"description": key.doc, **key.shape.schema()}
    if key.default is not None:
        node = scalar(key.default, _NOWHERE)
        out["default"] = node.value
    return out


def _some(hint: str) -> tuple[str, ...]:
    return (hint,) if hint else ()


def _joined(words: Sequence[str], by: str) -> str:
    """Return ``a, b or c``."""
    *most, last = words
    return f"{', '.join(most)} {by} {last}" if most else last


def _count(most: int | None) -> str:
    return "one entry" if most == 1 else "at least one entry"
