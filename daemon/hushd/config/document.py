"""YAML text in, a tree of nodes that know their place out.

The tree is built from PyYAML's events, with scalars typed here by the rules of YAML 1.2:
PyYAML's own loader turns ``on:`` into True and ``22:00`` into 1320, lets the last of two
equal keys win, and follows aliases as far as they go.  The builder keeps its own stack, so
that no depth of nesting ends in a RecursionError, and counts what aliases expand to.
"""

import re
from typing import Literal, NamedTuple, cast

import yaml

from hushd.config.problems import ConfigError, Mark, Problem, Report, Source, shorten

MAX_BYTES = 1 << 20
MAX_NODES = 100_000  # with every alias written out
MAX_DEPTH = 40

Kind = Literal["nothing", "flag", "number", "text", "list", "map"]

_INTEGER = re.compile(r"[-+]?[0-9]{1,40}")
_FLOAT = re.compile(r"[-+]?(?:[0-9]{1,40}(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,4})?")
_CONSTANTS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_TEXT_TAGS = frozenset({None, "!", "tag:yaml.org,2002:str"})
_MAP_TAGS = frozenset({None, "!", "tag:yaml.org,2002:map"})
_LIST_TAGS = frozenset({None, "!", "tag:yaml.org,2002:seq"})


class Node:
    """A value with its place; *raw* is a scalar as it was written."""

    __slots__ = ("at", "entries", "items", "kind", "mark", "raw", "value", "weight")

    def __init__(
        self, kind: Kind, mark: Mark, value: bool | float | str | None = None, raw: str = ""
    ) -> None:
        self.kind = kind
        self.mark = mark
        self.at = mark  # the key that leads here: the place of what is missing
        self.value = value
        self.raw = raw
        self.items: list[Node] = []
        self.entries: dict[str, Entry] = {}
        self.weight = 1  # nodes in it, with every alias written out

    @property
    def scalar(self) -> bool:
        """Say whether it is neither a list nor a mapping."""
        return self.kind not in {"list", "map"}


class Entry(NamedTuple):
    """What stands under one key of a mapping."""

    key: Mark
    node: Node


def scalar(text: str, mark: Mark, *, plain: bool = True) -> Node:
    """Return the node of a scalar: typed when it is *plain*, a text when it is quoted."""
    if plain:
        if text in _CONSTANTS:
            value = _CONSTANTS[text]
            return Node("nothing" if value is None else "flag", mark, value, text)
        if _INTEGER.fullmatch(text):
            return Node("number", mark, int(text), text)
        if _FLOAT.fullmatch(text):
            number = float(text)
            if abs(number) != float("inf"):
                return Node("number", mark, number, text)
    return Node("text", mark, text, text)


def parse(name: str, data: str | bytes, report: Report) -> Node | None:
    """Return the tree of a YAML text, or None for an empty one.

    Duplicate keys go into *report*, so that they are told together with what else is wrong.

    Raises:
        ConfigError: not YAML, not UTF-8, or beyond the limits of this module.
    """
    text = _decode(name, data)
    source = Source(name, text)
    try:
        return _Builder(source, report).build(text)
    except yaml.MarkedYAMLError as exc:
        raise _not_yaml(source, exc) from None
    except yaml.reader.ReaderError as exc:
        before = text[: exc.position]
        start = max(before.rfind(end) for end in "\n\r\x85\u2028\u2029") + 1
        raise _fatal(
            Mark(source, len(Source("", before).lines), len(before) - start + 1),
            f"a character that may not stand here: U+{ord(text[exc.position]):04X}",
            "delete it; in double quotes it may be written as an escape",
        ) from None
    except (yaml.YAMLError, ValueError, OverflowError, IndexError):
        # PyYAML itself stumbles over a few texts and does not say where
        raise _fatal(
            Mark(source, 1, 1), 'not YAML: an escape such as "\\UFFFFFFFF" means no character'
        ) from None


class _Frame:
    """A list or mapping that is still open."""

    __slots__ = ("anchor", "key", "merges", "node")

    def __init__(self, node: Node, anchor: str | None) -> None:
        self.node = node
        self.anchor = anchor
        self.key: Node | None = None  # of a mapping, until its value comes
        self.merges: list[Node] = []


class _Builder:
    """Turns events into nodes."""

    def __init__(self, source: Source, report: Report) -> None:
        self.source = source
        self.report = report
        self.open: list[_Frame] = []
        self.anchors: dict[str, Node] = {}
        self.count = 0
        self.root: Node | None = None

    def build(self, text: str) -> Node | None:
        documents = 0
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.ScalarEvent):
                self.add(self.scalar(event), event.anchor)
            elif isinstance(event, yaml.MappingStartEvent):
                self.start("map", event, _MAP_TAGS)
            elif isinstance(event, yaml.SequenceStartEvent):
                self.start("list", event, _LIST_TAGS)
            elif isinstance(event, yaml.CollectionEndEvent):
                self.end()
            elif isinstance(event, yaml.AliasEvent):
                self.add(self.alias(event), None)
            elif isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise _fatal(
                        self.mark(event),
                        "a second document in one file",
                        'remove the line "---"; put further files into rules.d/',
                    )
        root = self.root
        return None if root is None or (root.kind == "nothing" and not root.raw) else root

    def mark(self, event: yaml.Event) -> Mark:
        start, end = cast("yaml.Mark", event.start_mark), cast("yaml.Mark", event.end_mark)
        if end.line == start.line:
            length = end.column - start.column
        else:
            length = len(self.source.lines[start.line].rstrip()) - start.column
        return Mark(self.source, start.line + 1, start.column + 1, max(length, 1))

    def scalar(self, event: yaml.ScalarEvent) -> Node:
        mark = self.mark(event)
        if event.tag not in _TEXT_TAGS:
            raise self.tag(mark, event.tag)
        return scalar(event.value, mark, plain=event.tag is None and event.style is None)

    def tag(self, mark: Mark, tag: str | None) -> ConfigError:
        short = str(tag).replace("tag:yaml.org,2002:", "!!")
        return _fatal(mark, f'the tag "{shorten(short)}" has no meaning here', "leave it out")

    def start(
        self, kind: Kind, event: yaml.CollectionStartEvent, tags: frozenset[str | None]
    ) -> None:
        mark = self.mark(event)
        if event.tag not in tags:
            raise self.tag(mark, event.tag)
        if len(self.open) >= MAX_DEPTH:
            raise _fatal(mark, f"nested more than {MAX_DEPTH} deep")
        if self.open and self.expects_key():
            raise self.bad_key(mark)
        if event.flow_style is False and kind == "map":
            mark = mark._replace(length=self.rest_of_line(mark))
        if event.anchor is not None:
            self.anchors.pop(event.anchor, None)
        self.open.append(_Frame(Node(kind, mark), event.anchor))

    def rest_of_line(self, mark: Mark) -> int:
        return max(len(self.source.lines[mark.line - 1].rstrip()) - mark.column + 1, 1)

    def expects_key(self) -> bool:
        frame = self.open[-1]
        return frame.node.kind == "map" and frame.key is None

    def bad_key(self, mark: Mark) -> ConfigError:
        return _fatal(
            mark,
            "a key must be a plain word",
            'a text that starts with "{" or "[" needs quotes, as in "{room}/noise"',
        )

    def end(self) -> None:
        frame = self.open.pop()
        for merged in frame.merges:
            self.merge(frame.node, merged)
        self.add(frame.node, frame.anchor)

    def alias(self, event: yaml.AliasEvent) -> Node:
        node = self.anchors.get(str(event.anchor))
        mark = self.mark(event)
        if node is None:
            if any(frame.anchor == event.anchor for frame in self.open):
                raise _fatal(mark, f'"*{event.anchor}" stands inside of what it refers to')
            raise _fatal(
                mark,
                f'nothing is called "&{event.anchor}" before this line',
                'a text that starts with "*" needs quotes',
            )
        self.spend(node.weight, mark)
        return node

    def add(self, node: Node, anchor: str | None) -> None:
        """Put a finished node where it belongs."""
        self.spend(1, node.mark)
        if anchor is not None:
            self.anchors[anchor] = node
        if not self.open:
            self.root = node
            return
        frame = self.open[-1]
        if frame.node.kind == "list":
            frame.node.items.append(node)
            frame.node.weight += node.weight
        elif frame.key is None:
            if not node.scalar or node.kind == "nothing":
                raise self.bad_key(node.mark)
            frame.key = node
        else:
            self.pair(frame, frame.key, node)
            frame.key = None

    def spend(self, nodes: int, mark: Mark) -> None:
        """Count *nodes* against the limit."""
        self.count += nodes
        if self.count > MAX_NODES:
            raise _fatal(mark, f"more than {MAX_NODES} values, counting what each alias stands for")

    def pair(self, frame: _Frame, key: Node, node: Node) -> None:
        """Add a key and its value to a mapping."""
        if key.raw == "<<" and key.kind == "text":
            frame.merges.append(node)
            return
        before = frame.node.entries.get(key.raw)
        if before is not None:
            self.report.error(
                key.mark,
                f'"{shorten(key.raw)}" stands here twice, first on line {before.key.line}',
                "keep one of the two",
            )
            return
        if node.kind == "nothing" and not node.raw:
            node = Node("nothing", key.mark)  # an empty value has no place of its own
        if node.at is node.mark:
            node.at = key.mark
        frame.node.entries[key.raw] = Entry(key.mark, node)
        frame.node.weight += node.weight + 1

    def merge(self, target: Node, merged: Node) -> None:
        """Do what ``<<: *other`` asks for: a key's own value stays, then the first counts."""
        for node in merged.items if merged.kind == "list" else [merged]:
            if node.kind != "map":
                raise _fatal(node.mark, '"<<" takes a mapping, or a list of mappings')
            for name, entry in node.entries.items():
                if name not in target.entries:
                    target.entries[name] = entry
                    target.weight += entry.node.weight + 1
                    self.spend(entry.node.weight + 1, merged.mark)


def _decode(name: str, data: str | bytes) -> str:
    """Return the text of *data*, without a byte order mark."""
    if len(data) > MAX_BYTES:
        raise _fatal(Mark(Source(name), 0, 0), "the file is larger than 1 MiB")
    if isinstance(data, str):
        return data.removeprefix("\ufeff")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        before = data[: exc.start].decode("utf-8-sig", errors="replace")
        source = Source(name, data.decode("utf-8-sig", errors="replace"))
        line = before.count("\n") + 1
        column = len(before) - (before.rfind("\n") + 1) + 1
        raise _fatal(
            Mark(source, line, column),
            f"not UTF-8: byte 0x{data[exc.start]:02x}",
            "save the file as UTF-8",
        ) from None


def _fatal(mark: Mark, message: str, *hints: str) -> ConfigError:
    """Return the error of a text that cannot be read any further."""
    return ConfigError([Problem("error", mark, message, hints)])


#: what PyYAML says -> what we say
_PLAINER = (
    (
        "found character '\\t' that cannot start any token",
        "a tab where a blank belongs",
        "indent with spaces",
    ),
    (
        "mapping values are not allowed here",
        "a second colon, or a line that is indented too far",
        'put a text that holds ": " into quotes; give keys of one mapping the same indentation',
    ),
    (
        "expected <block end>, but found '<scalar>'",
        "a text goes on after it has ended",
        'a text that starts with "{", "[" or a quote goes into quotes as a whole',
    ),
    (
        "expected <block end>, but found '<block mapping start>'",
        "this key is indented differently from those above it",
        "give keys of one mapping the same indentation",
    ),
    (
        "expected <block end>, but found '?'",
        "a key among list items",
        "indent the list under its key",
    ),
    (
        "expected <block end>, but found '-'",
        "a list item among keys",
        "indent the list under its key",
    ),
    (
        "could not find expected ':'",
        "a key without a colon",
        'write it as "key: value"',
    ),
    (
        "found unexpected end of stream",
        "a quote is opened and never closed",
        "add the closing quote",
    ),
    (
        "expected ',' or ']'",
        "a list that is not closed",
        'put "," between its items and "]" at its end',
    ),
    (
        "expected ',' or '}'",
        "a mapping that is not closed",
        'put "," between its entries and "}" at its end',
    ),
    (
        "expected the node content",
        "a value is missing",
        "write it in quotes if it begins with a special character",
    ),
    (
        "that cannot start any token",
        "a text may not start with this character",
        "write the text in quotes",
    ),
    (
        "found unknown escape character",
        "an unknown escape after a backslash",
        "write the text in single quotes: there a backslash is only a backslash",
    ),
)


def _not_yaml(source: Source, exc: yaml.MarkedYAMLError) -> ConfigError:
    """Return PyYAML's complaint in the words of a person."""
    where = exc.problem_mark or exc.context_mark
    text = exc.problem or exc.context or "unreadable"
    if exc.context_mark and text.startswith(
        ("found unexpected end", "could not find expected ':'")
    ):
        where = exc.context_mark  # where it began, not where it was given up
    line, column = (where.line + 1, where.column + 1) if where else (1, 1)
    written = [i for i, held in enumerate(source.lines, 1) if held.strip() and i <= line]
    if written and written[-1] != line:  # an empty line shows nothing: point at what it ended
        line = written[-1]
        column = len(source.lines[line - 1].rstrip())
    mark = Mark(source, line, max(column, 1))
    for said, message, hint in _PLAINER:
        if said in text:
            return _fatal(mark, message, hint)
    return _fatal(mark, f"not YAML: {shorten(text, 100)}")
