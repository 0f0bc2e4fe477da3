"""Tells people through Apprise, which knows some hundred services.

Apprise is optional, large, and runs what it does in threads of its own that hold up the end
of the process.  So each note is sent by a child process (:mod:`hushd_notify.sending`), which
is ended when its time is up and leaves no memory behind.  The URL, a secret, is on its
standard input.
"""

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any

from hushd.plugin import Context, Fault, Note, NotifierType, Option, RefusedError
from hushd_notify.children import environment, run
from hushd_notify.command import how, last_line
from hushd_notify.lines import LONGEST, SECOND
from hushd_notify.texts import AGAIN, lines, one_line

MISSING = "Apprise is not installed"
INSTALL = "pip install 'hushd[apprise]'"

#: severity -> what Apprise calls it
KINDS = {"info": "info", "warning": "warning", "critical": "failure"}
_MARKS = re.compile(r"[\\`*_\[\]<>#|~&]")  # what means something within a line
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
WELL = frozenset({"cleared", "data_back", "missed"})


class Services:
    """One URL of Apprise's."""

    def __init__(self, options: Mapping[str, Any], context: Context) -> None:
        self._url = str(options["url"])
        self._seconds = options["timeout"] / SECOND
        self._format = options.get("format") or "text"

    def send(self, note: Note) -> None:
        """Send *note*.

        Raises:
            RefusedError: Apprise is not there, does not know the URL, or was refused for good.
            NotSentError: the child that sends could not be started.
            OSError: it failed, or not in time; it, or one of several receivers, may have been
                told all the same.
        """
        told = f"{lines(note.text)}\nReference: {one_line(note.key)}"
        told = f"{told}\n{AGAIN}" if note.again else told
        given = {
            "url": self._url,
            "title": one_line(note.title),
            "body": marked(told, note.record, self._format),
            "format": self._format,
            "type": "success" if note.kind in WELL else KINDS.get(note.severity or "", "info"),
            "seconds": self._seconds,
        }
        ended = run(
            [sys.executable, "-P", "-m", "hushd_notify.sending"],
            json.dumps(given).encode(),
            self._seconds,
            environment({name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}),
        )
        try:
            outcome = json.loads(ended.output.splitlines()[-1])
            state, said = str(outcome["state"]), one_line(str(outcome["said"]))
        except (ValueError, LookupError, TypeError):
            raise OSError(f"{how(ended.code)}: {last_line(ended.output)}") from None
        if state == "refused":
            raise RefusedError(said)
        if state != "told":
            raise OSError(said)

    def close(self) -> None:
        """Do nothing: no child outlives its note."""


def marked(text: str, record: Mapping[str, Any], language: str) -> str:
    r"""Return *text* with its lines kept by Markdown or HTML, and names as they stand.

    The words are ours, or of whoever writes the configuration; the values of labels are
    whatever stands in a topic.

    >>> marked("Room _a_: **loud**", {"labels": {"room": "_a_"}}, "markdown")
    'Room \\_a\\_: **loud**'
    >>> marked("Room <a>: <b>loud</b>", {"labels": {"room": "<a>"}}, "html")
    'Room &lt;a&gt;: <b>loud</b>'
    """
    if language == "text":
        return text
    tame, end = (_tame, "  \n") if language == "markdown" else (_entity, "<br>\n")
    values = {str(value) for value in record.get("labels", {}).values()}
    strange = sorted((value for value in values if _MARKS.search(value)), key=len, reverse=True)
    if strange:
        found = re.compile("|".join(map(re.escape, strange)))
        text = found.sub(lambda match: _MARKS.sub(tame, match[0]), text)
    return text.replace("\n", end)


def _tame(mark: re.Match[str]) -> str:
    """Return a mark as Markdown and HTML show it, and nothing more."""
    return _ENTITIES.get(mark[0], f"\\{mark[0]}")


def _entity(mark: re.Match[str]) -> str:
    """Return a mark as HTML shows it."""
    return _ENTITIES.get(mark[0], mark[0])


def _faults(options: Mapping[str, Any]) -> Iterator[Fault]:
    if find_spec("apprise") is None:
        yield Fault("type", MISSING, INSTALL)
    url = options.get("url")
    if url is not None and not str(url).partition("://")[1]:
        yield Fault(
            "url", "this is not a URL of Apprise's", 'write one, such as "ntfy://ntfy.sh/topic"'
        )


APPRISE = NotifierType(
    "apprise",
    "any service that Apprise knows: ntfy, Telegram, Signal, Matrix, Pushover and others",
    Services,
    (
        Option("url", "the service, as Apprise writes it", "url", required=True),
        Option(
            "format",
            "what the text of a message is; `markdown` and `html` are for words of your own",
            "text",
            default="text",
            choices=("text", "markdown", "html"),
        ),
        Option(
            "timeout",
            "how long a delivery may take in all; some services are made to wait 6 s",
            "duration",
            default=30 * SECOND,
            low=5 * SECOND,
            high=LONGEST,
        ),
    ),
    check=_faults,
)
