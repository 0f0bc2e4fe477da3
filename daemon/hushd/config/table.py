"""Mappings with known keys: one description of each key, from which all else is made."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hushd.config.document import Node, scalar
from hushd.config.problems import Mark, Report, shorten, suggest
from hushd.config.scalars import BAD, NOWHERE, Json, Scalar, Shape, joined, some

_LATER = "take it out for now: it is refused, not ignored, so that nobody relies on it"


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
                places = sorted(
                    (section.keys[name] for name in clash), key=lambda at: (at.line, at.column)
                )
                names = [f'"{name}"' for name in clash]
                report.error(places[-1], f"{joined(names, 'and')} exclude each other", "keep one")
        for choices in filter(None, (self.one_of, self.some_of)):
            if clean and not any(name in section for name in choices):
                names = [f'"{name}"' for name in choices]
                message = f"{joined(names, 'or')} is missing"
                report.error(section.mark, message, *some(self.example and f"as in {self.example}"))
        for name, others in self.needs.items():
            if clean and name in section and not any(other in section for other in others):
                needed = joined([f'"{other}"' for other in others], "or")
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
        node = scalar(key.default, NOWHERE)
        out["default"] = node.value
    return out


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
            report.error(node.mark, "the value is missing", *some(self.example))
            return BAD
        if shape is None:
            what = {"list": "a list", "map": "a mapping"}.get(node.kind, f'"{shorten(node.raw)}"')
            report.error(node.mark, f"{what} does not fit here", *some(self.example))
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
