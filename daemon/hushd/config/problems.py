"""What is wrong with a configuration: where, what, and the way out; all of it at once."""

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
#: what stands before a secret, and the secret
_SECRETS = (
    r"""((?:pas+w\w*|token|secret|authorization|cookie|api[-_]?key|\bx-[\w-]+)["']?\s*:\s+"""
    r"""(?=[^{*&\s]))[^,}]+"""
    r"""|(\b(?!(?:https?|mqtts?|tcp|ssl|wss?|file)://)[a-z][a-z0-9+.-]*://)[^\s"',}]+"""
    r"""|(\b[\w.+-]+:(?!//))[^\s"'@,}]+(?=@)"""
    r"""|(://)[^/\s"'@]*(?=@)|(://[^/\s"']+/)[^\s"',}]+"""
)
_WIDEST = 160  # characters of a source line that are shown


class Source:
    """A text with a name, kept to quote from."""

    __slots__ = ("_hidden", "lines", "name")

    def __init__(self, name: str, text: str = "") -> None:
        """Keep the lines of *text*, split as YAML splits them."""
        self.name = name
        self.lines = _BREAK.split(text)
        self._hidden: list[Mark] = []

    def hide(self, mark: "Mark") -> None:
        """Let nobody see what stands at *mark*: it may be a secret."""
        self._hidden.append(mark)

    def shown(self, line: int) -> str:
        """Return a line, with stars for what is hidden there."""
        text = self.lines[line - 1]
        for mark in self._hidden:
            if mark.line == line:
                start, end = mark.column - 1, mark.column - 1 + mark.length
                text = text[:start] + "*" * len(text[start:end]) + text[end:]
        return text


class Mark(NamedTuple):
    """A place in a source: line and column count from 1; *length* stays within the line."""

    source: Source
    line: int
    column: int
    length: int = 1

    def __str__(self) -> str:
        """Return it as compilers write it; line 0 is the file as a whole."""
        if not self.line:
            return self.source.name
        return f"{self.source.name}:{self.line}:{self.column}"


class Problem(NamedTuple):
    """One mistake, or one thing to think about."""

    severity: Literal["error", "warning"]
    mark: Mark
    message: str  # lower case, no full stop
    hints: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        """Return the name of the file."""
        return self.mark.source.name

    @property
    def line(self) -> int:
        """Return the line, from 1."""
        return self.mark.line

    @property
    def column(self) -> int:
        """Return the column, from 1."""
        return self.mark.column

    def __str__(self) -> str:
        """Return the lines that people see."""
        lines = [f"{_printable(str(self.mark))}: {self.severity}: {_printable(self.message)}"]
        lines += _quote(self.mark)
        lines += [f"  hint: {_printable(hint)}" for hint in self.hints]
        return "\n".join(lines)


class ConfigError(Exception):
    """The configuration cannot be used; it holds every problem found, in file order."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        """Sort *problems* by their place."""
        super().__init__()
        self.problems = in_order(problems)

    def __str__(self) -> str:
        """Return all problems, a blank line between two."""
        return render(self.problems)


class Report:
    """Where the parts of the reader put what they find."""

    def __init__(self) -> None:
        """Start without problems."""
        self.problems: list[Problem] = []

    def error(self, mark: Mark, message: str, *hints: str) -> None:
        """Add a mistake."""
        self.problems.append(Problem("error", mark, message, hints))

    def warn(self, mark: Mark, message: str, *hints: str) -> None:
        """Add something to think about."""
        self.problems.append(Problem("warning", mark, message, hints))

    @property
    def wrong(self) -> bool:
        """Say whether there is an error among the problems."""
        return any(problem.severity == "error" for problem in self.problems)

    def stop_if_wrong(self) -> None:
        """Raise ConfigError if there is an error among the problems."""
        if self.wrong:
            raise ConfigError(self.problems)


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return *problems* by place, each once.

    An aliased node is read once for each use, but its mistake is one.
    """
    seen: dict[tuple[object, ...], Problem] = {}
    for problem in problems:
        seen.setdefault((*problem.mark[1:], problem.file, problem.message), problem)
    return tuple(sorted(seen.values(), key=lambda p: (p.file, p.line, p.column, p.severity)))


def render(problems: Iterable[Problem]) -> str:
    """Return *problems* as text, a blank line between two."""
    return "\n\n".join(map(str, problems))


def suggest(word: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return the hint for an unknown *word*: the nearest *known* one, else all of them."""
    from difflib import get_close_matches  # noqa: PLC0415  only for mistakes

    names = {name.lower(): name for name in sorted(known)}
    near = get_close_matches(word.lower()[:80], names, 1)
    if near:
        return (f'did you mean "{names[near[0]]}"?',)
    return (f"known: {', '.join(names.values())}",) if names else ()


def shorten(text: str, limit: int = 60) -> str:
    """Return *text* for use inside a message."""
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def _quote(mark: Mark) -> list[str]:
    """Return the line of *mark* and the carets under it, or nothing if there is no such line."""
    if not 1 <= mark.line <= len(mark.source.lines):
        return []
    text = mark.source.shown(mark.line)
    if not text.strip():
        return []
    start, column = 0, max(mark.column - 1, 0)
    if column > _WIDEST - 40:
        start = column - 40
    shown = _printable(_masked(text)[start : start + _WIDEST]).rstrip()
    column -= start
    length = max(1, min(mark.length, len(shown) - column))
    return [f"{mark.line:>5} | {shown}", f"      | {' ' * column}{'^' * length}"]


def _masked(text: str) -> str:
    """Return *text* with stars for what may be a secret: the daemon's log has more readers."""

    def stars(match: re.Match[str]) -> str:
        before = match[match.lastindex or 0]
        return before + "*" * (len(match[0]) - len(before))

    return re.sub(_SECRETS, stars, text, flags=re.IGNORECASE)


def _printable(text: str) -> str:
    """Return *text* with one blank for a tab, and nothing that a terminal would obey."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else " " if c == "\t" else "\N{REPLACEMENT CHARACTER}" for c in text
    )
