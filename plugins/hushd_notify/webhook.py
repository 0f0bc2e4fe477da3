"""Posts notes as JSON to an HTTP server.

Each note has an ``Idempotency-Key``; when a note is sent again because an answer was lost,
the key is the same, ``X-Possible-Duplicate`` says so, and the receiver can tell.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from hushd.plugin import Context, Fault, Note, NotifierType, Option, RefusedError
from hushd_notify.lines import SECOND, networks
from hushd_notify.texts import body, one_line
from hushd_notify.web import CA, TIMEOUT, Server, ca_faults, token_faults, url_faults

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\x20-\x7e\xa0-\xff]*")


class Webhook:
    """One address."""

    def __init__(self, options: Mapping[str, Any], context: Context) -> None:
        for fault in _faults(options):
            raise RefusedError(f"{fault.option}: {fault.message}")
        self._site = context.site
        self._seconds = options["timeout"] / SECOND
        headers = {
            "Content-Type": "application/json; charset=utf-8",
            **(options.get("headers") or {}),
        }
        if options.get("token"):
            headers["Authorization"] = f"Bearer {options['token']}"
        self._server = Server(
            str(options["url"]),
            headers,
            ca=options.get("ca"),
            denied=networks(options.get("deny_networks") or ()),
        )

    def send(self, note: Note) -> None:
        """Post *note*; what it raises is what `Server.ask` does."""
        url = self._server.url
        target = (url.path or "/") + (f"?{url.query}" if url.query else "")
        headers = {"Idempotency-Key": note.key}
        if note.again:
            headers["X-Possible-Duplicate"] = "true"
        self._server.ask(
            "POST", target, body(note, self._site), seconds=self._seconds, headers=headers
        )

    def close(self) -> None:
        """Do nothing: no connection outlives its note."""


def _faults(options: Mapping[str, Any]) -> Iterator[Fault]:
    """Find what no server could be asked with; what is secret is not quoted."""
    if options.get("url") is not None:
        yield from _of_url(str(options["url"]))
    for name, value in (options.get("headers") or {}).items():
        if not _TOKEN.fullmatch(name):
            yield Fault("headers", f'cannot use "{one_line(name)}" as the name of a header')
        elif value is not None and not _VALUE.fullmatch(str(value)):
            message = f"the value of {name} holds what no header can carry"
            yield Fault("headers", message, "leave out line breaks and letters beyond Latin-1")
    yield from token_faults(options.get("token"))
    if options.get("ca") is not None:
        yield from ca_faults(str(options["ca"]))
    try:
        networks(options.get("deny_networks") or ())
    except ValueError as exc:
        yield Fault("deny_networks", one_line(str(exc)), "write networks, as in 169.254.0.0/16")


def _of_url(url: str) -> Iterator[Fault]:
    """Find why *url* is not the address of an HTTP server, or is more than that."""
    found = list(url_faults("url", url))
    yield from found
    if not found and "@" in urlsplit(url).netloc:
        hint = "write token: {credential: NAME}, or headers: {Authorization: {credential: NAME}}"
        yield Fault("url", "a user name or password does not belong into a URL", hint)


WEBHOOK = NotifierType(
    "webhook",
    "a JSON object posted to an HTTP server",
    Webhook,
    (
        Option("url", "where to post to, http or https", "url", required=True),
        Option("token", "sent as `Authorization: Bearer ...`", "secret", otherwise="none"),
        Option("headers", "more headers", "map", otherwise="none"),
        Option(
            "deny_networks",
            "networks that are not posted to, whatever name leads there, as in `169.254.0.0/16`",
            "texts",
            otherwise="none",
        ),
        CA,
        TIMEOUT,
    ),
    check=_faults,
)
