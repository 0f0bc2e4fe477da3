"""The words that a rule has for its messages: templates, checked when they are read.

A template is text with values in double braces, in the language of Jinja2, which is imported
only where there is one.  What it may say is in :mod:`hushd.config.sandbox`.
"""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from hushd.config.problems import Mark

#: what a template may name beside the labels
VARIABLES = (
    *["rule", "severity", "state", "value", "unit", "limit", "clear", "over", "measure"],
    *["since", "lasted", "peak", "samples", "coverage", "episode", "site", "node", "about"],
    *["link", "late", "event_id", "labels"],
)
TITLE, BODY = 200, 4_000  # characters of a title and of a text; the rest is cut off


class Fault(NamedTuple):
    """What is wrong with a template; line and column count from 1 within its text."""

    message: str  # lower case, no full stop
    hint: str
    line: int
    column: int
    length: int = 1


class TemplateError(Exception):
    """A template cannot be filled in with the values that there are."""


def faults(text: str, labels: Collection[str]) -> list[Fault]:
    """Return what is wrong with a template whose alerts carry *labels*.

    >>> [fault[:4] for fault in faults("noise in {{ rom }}", ["room"])]
    [('unknown variable "rom"', 'did you mean "room"?', 1, 13)]
    """
    from hushd.config import sandbox  # noqa: PLC0415  Jinja2 is large, and few need it

    return sandbox.faults(text, labels)


def place(mark: Mark, text: str, fault: Fault) -> Mark:
    """Return where a fault is in the file, for a template *text* that is written at *mark*.

    How a text is quoted and indented is not known any more: its line is looked for.  A line
    that is written with escapes, or folded, is not found; then it is the template as a whole.
    """
    lines = text.split("\n")
    line = lines[fault.line - 1] if fault.line <= len(lines) else ""
    for number, source in enumerate(mark.source.lines[mark.line - 1 :], mark.line):
        start = source.find(line, mark.column - 1 if number == mark.line else 0)
        if line and start >= 0:
            return Mark(mark.source, number, start + fault.column, fault.length)
        if number - mark.line > len(lines):
            break
    return mark


class Templates:
    """The templates of one rule, by what they are for; each is made ready when first needed."""

    def __init__(self, message: Mapping[str, str]) -> None:
        """Take templates that have no faults."""
        self._texts = dict(message)

    def __contains__(self, part: str) -> bool:
        """Say whether there is one for *part*."""
        return part in self._texts

    def render(self, part: str, variables: Mapping[str, Any]) -> str:
        """Return the text for *part*: a title as one line, and nothing longer than it may be.

        Args:
            part: title, raise, clear, repeat or no_data.
            variables: By name; labels by their own names, too.

        Raises:
            TemplateError: it cannot be done; says why in a few words.
        """
        from hushd.config import sandbox  # noqa: PLC0415  as above

        longest = TITLE if part == "title" else BODY
        text = sandbox.render(self._texts[part], variables, longest)
        if part == "title":
            text = " ".join(text.split())
        return text.strip() if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"
