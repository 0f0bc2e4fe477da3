"""What a template may do: put values into a text, choose between texts, and nothing else.

Jinja2's own sandbox keeps a template from the inside of the program, but not from eating its
time and memory.  Here nothing can be called or remembered, only the labels can be looped over,
and no filter or operator makes much out of little: a template as long as they may be is done
in milliseconds, whatever it says.  The tree is looked at before Jinja2 compiles it, because
compiling already works out what is constant.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache, wraps
from typing import Any

from jinja2 import StrictUndefined, Template, nodes
from jinja2.exceptions import TemplateSyntaxError, UndefinedError
from jinja2.filters import FILTERS
from jinja2.sandbox import ImmutableSandboxedEnvironment

from hushd.config.messages import VARIABLES, Fault, TemplateError
from hushd.config.problems import suggest

LONGEST = 4_000  # characters of a template
DEEPEST = 40  # levels of its tree
UNKNOWN = "unknown"  # what is told for a value that there is not

#: of Jinja2's filters, those that give back about as much as they are given
KEPT = (
    *["abs", "capitalize", "d", "default", "dictsort", "e", "escape", "first", "float", "int"],
    *["join", "last", "length", "list", "lower", "max", "min", "replace", "round", "sort"],
    *["string", "title", "trim", "truncate", "upper", "urlencode", "wordcount"],
)
LOOP = frozenset({"first", "last", "index", "index0", "length"})

#: what is part of the tree, but not of the language
FORBIDDEN: dict[type[nodes.Node], str] = {
    nodes.Call: "nothing can be called in a message",
    nodes.Pow: "** is not for messages",
    nodes.Macro: "macros are not for messages",
    nodes.CallBlock: "macros are not for messages",
    nodes.FilterBlock: "write the filter behind each value",
    nodes.Assign: "nothing can be set in a message",
    nodes.AssignBlock: "nothing can be set in a message",
    nodes.With: "nothing can be set in a message",
    nodes.Include: "a message stands alone",
    nodes.Import: "a message stands alone",
    nodes.FromImport: "a message stands alone",
    nodes.Extends: "a message stands alone",
    nodes.Block: "a message stands alone",
    nodes.ScopedEvalContextModifier: "a message is plain text",
}
_WORD = re.compile(r"\w+")
_GOT = re.compile(r"'([^']+)'$|unexpected '([^']+)'|tag '([^']+)'")


class Sandbox(ImmutableSandboxedEnvironment):
    """Reads names and entries, calculates with numbers, and joins texts."""

    intercepted_binops = frozenset({"*", "%"})

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Calculate: a text that is multiplied, or filled in, could become any length."""
        if not isinstance(left, int | float) or not isinstance(right, int | float):
            raise TemplateError(f"{operator} is for numbers only")
        return super().call_binop(context, operator, left, right)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return an entry; only the counter of a loop has attributes."""
        if isinstance(obj, Mapping):
            return self.getitem(obj, attribute)
        return super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Return an entry, and never an attribute instead."""
        try:
            return obj[argument]
        except (LookupError, TypeError):
            return self.undefined(obj=obj, name=argument)


def faults(text: str, labels: Collection[str]) -> list[Fault]:
    """Return what is wrong with a template whose alerts carry *labels*, in order."""
    if len(text) > LONGEST:
        longer = f"the template has {len(text)} characters"
        return [Fault(longer, f"at most {LONGEST} are allowed", 1, 1)]
    try:
        tree = ENVIRONMENT.parse(text)
        found = [*_Check(text, labels).all(tree)]
        if not found:
            _template(text)
    except TemplateSyntaxError as exc:
        return [_syntax(text, exc)]
    except (RecursionError, MemoryError, SyntaxError):  # of Jinja2, or of Python's own compiler
        return [Fault(*_TOO_DEEP, 1, 1)]
    return sorted(dict.fromkeys(found), key=lambda fault: (fault.line, fault.column))


def render(text: str, variables: Mapping[str, Any], longest: int) -> str:
    """Return the template *text* filled in; no more is written than a bit beyond *longest*.

    Raises:
        TemplateError: it cannot be done.
    """
    written, length = [], 0
    try:
        for piece in _template(text).generate(variables):
            written.append(piece)
            length += len(piece)
            if length > longest:
                break
    except TemplateError:
        raise
    except UndefinedError as exc:
        raise TemplateError(exc.message or "something is not there") from None
    except Exception as exc:  # noqa: BLE001  filters raise what they like
        raise TemplateError(f"{type(exc).__name__}: {exc}"[:200]) from None
    return "".join(written)


def shown(value: object) -> object:
    """Return *value* as it stands in a message where no filter says how.

    >>> shown(45.0), shown(44.8321), shown(None), shown(timedelta(minutes=125))
    ('45', '44.8321', 'unknown', '2 h 5 min')
    """
    match value:
        case None:
            return UNKNOWN
        case bool():
            return "yes" if value else "no"
        case float():
            return number(value)
        case datetime():
            return f"{date(value)} {time(value)}"
        case timedelta():
            return duration(value)
    return value


def number(value: float) -> str:
    """Return a number without the tail that binary fractions have.

    >>> number(0.1 + 0.2), number(1204.0), number(0.00042)
    ('0.3', '1204', '0.00042')
    """
    if value and abs(value) < 0.001:
        return f"{value:.3g}"
    return f"{value:.4f}".rstrip("0").rstrip(".")


def time(moment: datetime | None) -> str:
    """Return hour and minute, in the time zone of the site."""
    if moment is None:
        return UNKNOWN
    return f"{moment:%H:%M}" + (" UTC" if moment.tzinfo is UTC else "")


def date(moment: datetime | None) -> str:
    """Return the day, in the time zone of the site."""
    return UNKNOWN if moment is None else f"{moment:%Y-%m-%d}"


def duration(length: timedelta | float | None) -> str:
    """Return a length of time, or a number of seconds, in its two largest units.

    >>> duration(7500), duration(timedelta(seconds=40)), duration(90061), duration(0)
    ('2 h 5 min', '40 s', '1 d 1 h', '0 s')
    """
    if length is None:
        return UNKNOWN
    seconds = round(length.total_seconds() if isinstance(length, timedelta) else length)
    sign, seconds = ("-" if seconds < 0 else ""), abs(seconds)
    parts: list[str] = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        count, seconds = divmod(seconds, size)
        if count or parts:
            parts.append(f"{count} {unit}")
    return sign + (" ".join(part for part in parts[:2] if part[:2] != "0 ") or "0 s")


def rounded(value: float | None, precision: int = 0, method: str = "common") -> float | None:
    """Round as Jinja2 does; what there is not, stays so."""
    if value is None:
        return None
    if not 0 <= precision <= 10:
        raise TemplateError("round takes 0 to 10 decimals")
    result: float = FILTERS["round"](value, precision, method)
    return result


def _bounded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a filter of Jinja2's that neither takes nor gives long texts."""

    @wraps(function)
    def bounded(*arguments: Any, **options: Any) -> Any:
        for value in (*arguments, *options.values()):
            _measure(name, value)
        result = function(*arguments, **options)
        _measure(name, result)
        return result

    return bounded


def _measure(name: str, value: object) -> None:
    if isinstance(value, str) and len(value) > LONGEST:
        raise TemplateError(f"more than {LONGEST} characters for the filter {name}")


def _environment() -> Sandbox:
    made = Sandbox(undefined=StrictUndefined, autoescape=False, finalize=shown)
    made.globals.clear()
    made.filters = {name: _bounded(name, made.filters[name]) for name in KEPT}
    made.filters |= {"time": time, "date": date, "duration": duration, "round": rounded}
    return made


ENVIRONMENT = _environment()


@lru_cache(maxsize=1_000)
def _template(text: str) -> Template:
    return ENVIRONMENT.from_string(text)


class _Check:
    """Looks at the tree of one template."""

    def __init__(self, text: str, labels: Collection[str]) -> None:
        self.lines = text.split("\n")
        self.labels = sorted(labels)

    def all(self, tree: nodes.Node) -> Iterator[Fault]:
        """Yield what is wrong."""
        yield from self.node(tree, frozenset(VARIABLES) | set(self.labels), 0, looping=False)

    def node(
        self, node: nodes.Node, known: frozenset[str], depth: int, *, looping: bool
    ) -> Iterator[Fault]:
        if depth > DEEPEST:
            yield self.at(node, "", *_TOO_DEEP)
            return
        if type(node) in FORBIDDEN:
            yield self.at(node, "", "this is not for messages", FORBIDDEN[type(node)])
            return
        match node:
            case nodes.Name(ctx="load", name=name) if name not in known:
                yield self.at(node, name, f'unknown variable "{name}"', *suggest(name, known))
            case nodes.Filter(name=name) if name not in ENVIRONMENT.filters:
                yield self.at(node, name, *self.filter(name))
            case nodes.Test(name=name) if name not in ENVIRONMENT.tests:
                hints = suggest(name, ENVIRONMENT.tests)
                yield self.at(node, name, f'unknown test "{name}"', *hints)
            case nodes.Getattr() | nodes.Getitem():
                yield from self.entry(node)
            case nodes.For():
                yield from self.loop(node, looping=looping)
                known |= {found.name for found in node.target.find_all(nodes.Name)} | {"loop"}
                known |= {node.target.name} if isinstance(node.target, nodes.Name) else set()
                looping = True
        for child in node.iter_child_nodes():
            yield from self.node(child, known, depth + 1, looping=looping)

    def filter(self, name: str) -> tuple[str, ...]:
        if name in FILTERS:
            return f'the filter "{name}" is not for messages', suggest("", ENVIRONMENT.filters)[0]
        return f'unknown filter "{name}"', *suggest(name, ENVIRONMENT.filters)

    def entry(self, node: nodes.Getattr | nodes.Getitem) -> Iterator[Fault]:
        """Look at ``labels.room``, ``labels["room"]``, ``loop.last`` and ``room[0]``."""
        owner = node.node.name if isinstance(node.node, nodes.Name) else ""
        if isinstance(node, nodes.Getattr):
            name = node.attr
        elif isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
            name = node.arg.value
        else:
            return
        if owner == "labels" and name not in self.labels:
            yield self.at(node, name, f'unknown label "{name}"', *suggest(name, self.labels))
        elif owner == "loop" and name not in LOOP:
            yield self.at(node, name, f'a loop has no "{name}"', *suggest(name, LOOP))
        elif owner not in {"labels", "loop"}:
            yield self.at(node, name, f'nothing has a "{name}" here', "only labels has names in it")

    def loop(self, node: nodes.For, *, looping: bool) -> Iterator[Fault]:
        over = node.iter
        while isinstance(over, nodes.Filter) and over.name in {"dictsort", "sort", "list"}:
            over = over.node or node
        if looping or node.recursive:
            yield self.at(node, "for", "a loop in a loop is not for messages", _LOOPS)
        elif not (isinstance(over, nodes.Name) and over.name == "labels"):
            yield self.at(node, "for", "only the labels can be looped over", _LOOPS)

    def at(self, node: nodes.Node, word: str, message: str, *hints: str) -> Fault:
        """Return a fault; Jinja2 knows the line, and the word is looked for in it."""
        return _fault(self.lines, node.lineno, word, message, hints[0] if hints else "")


_TOO_DEEP = ("this is nested too deeply", "write it more simply")
_LOOPS = "as in {% for name in labels %}{{ name }} {{ labels[name] }} {% endfor %}"


def _fault(lines: list[str], number: int, word: str, message: str, hint: str) -> Fault:
    """Return a fault at *word*, as far as it is found within braces; else at the first brace."""
    number = min(max(number, 1), len(lines))
    line = lines[number - 1]
    opened = max(line.find("{"), 0) if number == 1 or "{" in line else 0
    if word:
        for match in _WORD.finditer(line, opened):
            if match[0] == word:
                return Fault(message, hint, number, match.start() + 1, len(word))
        start = line.find(word, opened)
        if start >= 0:
            return Fault(message, hint, number, start + 1, len(word))
    return Fault(message, hint, number, opened + 1)


def _syntax(text: str, exc: TemplateSyntaxError) -> Fault:
    """Return what Jinja2 says of a text that is no template."""
    said = (exc.message or "this is no template").rstrip(".")
    got = _GOT.search(said)
    word = next((part for part in got.groups() if part), "") if got else ""
    message = f"this is no template: {said[:1].lower()}{said[1:]}"
    return _fault(text.split("\n"), exc.lineno, word, message, _HINTS)


_HINTS = 'a value is written as in "{{ value | round(1) }} {{ unit }}"'
