"""How a note is written for machines, and how a text is made harmless for a header."""

import json

from hushd.plugin import Note

#: what people read where a note may have been delivered before
AGAIN = "This may have been told before: nobody knows whether it arrived."


def body(note: Note, site: str) -> bytes:
    """Return *note* as a JSON object, in UTF-8.

    A lone surrogate, which a payload may bring in as an escape, goes out as one: UTF-8 has
    no other way to say it, and the note must not fail for it.
    """
    told: dict[str, object] = {
        "kind": note.kind,
        "title": note.title,
        "text": note.text,
        "severity": note.severity,
        "key": note.key,
        "site": site,
        "alert": note.record,
    }
    if note.again:
        told["possible_duplicate"] = True
    return json.dumps(told, ensure_ascii=False, allow_nan=False).encode(errors="backslashreplace")


def one_line(text: str) -> str:
    r"""Return *text* as one printable line that any encoding of Unicode can hold.

    >>> one_line("Room 101:\r\nBcc: everybody\x00")
    'Room 101: Bcc: everybody'
    """
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def lines(text: str) -> str:
    """Return *text* with each line made harmless, the ends of lines kept."""
    return "\n".join(one_line(line) for line in text.splitlines())
