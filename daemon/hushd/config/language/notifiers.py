"""Keys of notifiers: those that all have, and those of each plugin."""

from collections.abc import Iterator, Mapping
from typing import Any

from hushd.config.document import Node
from hushd.config.language.words import NAME, PATH, SECRET, Often, Spell
from hushd.config.problems import Report, shorten, suggest
from hushd.config.scalars import BAD, Flag, Json, Number, Scalar, Shape, Span, Text, Word
from hushd.config.shape import Entries, Many
from hushd.config.table import Either, Key, Table
from hushd.core.rules import SEVERITIES
from hushd.core.times import format_duration
from hushd.plugin.catalog import Catalog
from hushd.plugin.records import NotifierType, Option

#: what every notifier may be asked, whatever its type
MANNER: Mapping[str, Key] = {
    "quiet": Key(
        Spell(), "when it is told nothing; afterwards it hears what then differs", otherwise="never"
    ),
    "quiet_except": Key(
        Word(SEVERITIES), "this, and worse, is told during `quiet`, too", otherwise="nothing"
    ),
    "quiet_summary": Key(
        Flag(), "whether it hears, after `quiet`, what came and went meanwhile", "false"
    ),
    "clears": Key(Flag(), "whether it hears that something is over", "true"),
    "rate_limit": Key(
        Often(),
        "at most so many messages in so long, `20 per 1h`; what is over it waits and is joined",
        otherwise="none",
    ),
    "batch": Key(Span(zero=True), "how long to wait for more, to tell it all in one message", "0s"),
    "delivery": Key(
        Word(("latest", "every")),
        "`latest`: what somebody must know; `every`: each transition, in order",
        otherwise="`latest`; `every` for types that keep records",
    ),
    "give_up_after": Key(Span(), "how long a message that does not get through is tried", "1d"),
    "fallback": Key(NAME, "the notifier that is told what was given up here", otherwise="none"),
}

_TEXT_OR_SECRET = Either(one=Text(), named=SECRET, example=f"write a text, or {SECRET.example}")

_OPTION_SHAPES: Mapping[str, Shape] = {
    "text": Text(),
    "url": Either(one=Text("URL"), named=SECRET, example=f"write a URL, or {SECRET.example}"),
    "path": PATH,
    "file": PATH,
    "secret": SECRET,
    "duration": Span(),
    "boolean": Flag(),
    "texts": Many(Text(), "list of texts", example="a list of texts"),
    "map": Entries(Text("name"), _TEXT_OR_SECRET, "mapping of name to text, or [secret](#secret)"),
}


def option_key(option: Option) -> Key:
    """Return the key of the language that a plugin's option is."""
    if option.choices:
        shape: Shape = Word(option.choices)
    elif option.kind == "integer":
        shape = Number(option.low, option.high, whole=True)
    else:
        shape = _OPTION_SHAPES[option.kind]
    default, otherwise = _written(option), option.otherwise
    try:
        if default is not None and isinstance(shape, Scalar):
            shape.of(default)
    except ValueError:  # a plugin may have a default that the language has no words for
        default, otherwise = None, otherwise or str(option.default)
    return Key(shape, option.summary, default, option.required, otherwise)


def _written(option: Option) -> str | None:
    """Return an option's default as the configuration would write it, if it could."""
    match option.default:
        case None:
            return None
        case bool(flag):
            return str(flag).lower()
        case int(length) if option.kind == "duration":
            return format_duration(length)
        case str() | int():
            return str(option.default)
    return None


class Notifier(Shape):
    """``type`` and the keys of the plugin of that name."""

    words = "`type` and the keys of that plugin"

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def read(self, node: Node, report: Report) -> Any:
        if node.kind != "map":
            report.error(node.mark, "expected a notifier", "write {type: log}")
            return BAD
        kind = node.entries.get("type")
        if kind is None:
            near = [name for name in node.entries if suggest(name, ["type"])[0].startswith("did")]
            mark = node.entries[near[0]].key if near else node.at
            hint = 'did you mean "type"?' if near else f"known: {self._known()}"
            report.error(mark, '"type" is missing', hint)
            return BAD
        name = _TYPE.shape.read(kind.node, report)
        if name is BAD:
            return BAD
        record = self._catalog.notifiers.get(name)
        if record is None:
            hints = self._catalog.hint("notifier", name)
            report.error(kind.node.mark, f'unknown type of notifier "{shorten(name)}"', *hints)
            return BAD
        return self._table(record).read(node, report)

    def schema(self) -> Json:
        if not self._catalog.notifiers:
            return _ANY_TYPE.schema()
        return {"anyOf": [table.schema() for table in self.parts()]}

    def parts(self) -> Iterator[Table]:
        if not self._catalog.notifiers:
            yield _ANY_TYPE
        for record in self._catalog.notifiers.values():
            yield self._table(record)

    def _known(self) -> str:
        return ", ".join(sorted(self._catalog.notifiers)) or "none: no plugin offers any"

    def _table(self, record: NotifierType) -> Table:
        keys = {option.name: option_key(option) for option in record.options}
        kind = Key(Word((record.name,)), _TYPE.doc, required=True)
        # an option that a plugin calls as one of ours is the plugin's
        return Table(f"notifier {record.name}", {"type": kind, **MANNER, **keys})


_TYPE = Key(Text("name"), "the plugin that tells; `hushd plugins` lists them", required=True)
_ANY_TYPE = Table("notifier", {"type": _TYPE, **MANNER}, open=True)
