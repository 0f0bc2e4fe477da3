"""Posts notes as JSON to an HTTP server.

A redirect is not followed: it would carry an alert, and perhaps a token, to where nobody
decided to send it.  Each note has an ``Idempotency-Key``; when a note is sent again because
an answer was lost, the key is the same, and the receiver can tell.
"""

import http.client
import json
import ssl
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, urlsplit

from hushd.plugin import Context, Note, NotifierType, Option

ANSWER = 64 * 1024  # bytes of an answer that are read, to leave the connection in order
TELLING = 200  # characters of a refusal that go into the error


class RefusedError(Exception):
    """The server answered, but not with a success."""


class Webhook:
    """One address; a connection of its own for each note."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._url = _checked(str(options["url"]))
        self._timeout = float(options["timeout"]) / 10**9  # durations are ns
        self._headers = {
            "Content-Type": "application/json; charset=utf-8",
            "User-Agent": "hushd",
            **{str(name): str(value) for name, value in (options.get("headers") or {}).items()},
        }
        if options.get("token"):
            self._headers["Authorization"] = f"Bearer {options['token']}"

    def send(self, note: Note) -> None:
        """Post *note*.

        Raises:
            RefusedError: the answer was not 2xx.
            OSError: there was no answer, or not in time.
        """
        body = {
            "kind": note.kind,
            "title": note.title,
            "text": note.text,
            "severity": note.severity,
            "key": note.key,
            "alert": note.record,
        }
        data = json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
        target = self._url.path or "/"
        if self._url.query:
            target += f"?{self._url.query}"
        deadline = time.monotonic() + self._timeout
        connection = self._connection()
        try:
            connection.request("POST", target, data, self._headers | {"Idempotency-Key": note.key})
            answer = connection.getresponse()
            text = self._read(answer, deadline)
        except http.client.HTTPException as exc:
            raise OSError(f"not an answer: {type(exc).__name__}: {exc}") from exc
        finally:
            connection.close()
        if not 200 <= answer.status < 300:
            said = text.decode(errors="replace")[:TELLING].strip()
            raise RefusedError(f"{answer.status} {answer.reason}: {said}".rstrip(": "))

    def close(self) -> None:
        """Do nothing: no connection outlives its note."""

    def _read(self, answer: http.client.HTTPResponse, deadline: float) -> bytes:
        """Return what the answer says, as far as it is of interest."""
        text = b""
        while len(text) < ANSWER:
            part = answer.read1(ANSWER - len(text))
            if not part:
                break
            text += part
            if time.monotonic() > deadline:
                raise TimeoutError("the answer did not end in time")
        return text

    def _connection(self) -> http.client.HTTPConnection:
        host = self._url.hostname or ""
        if self._url.scheme == "https":
            return http.client.HTTPSConnection(
                host, self._url.port, timeout=self._timeout, context=ssl.create_default_context()
            )
        return http.client.HTTPConnection(host, self._url.port, timeout=self._timeout)


def _checked(url: str) -> SplitResult:
    """Return *url* in its parts.

    Raises:
        ValueError: it is not an address of an HTTP server.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError('write a URL that begins with "http://" or "https://"')
    if parts.username is not None:
        raise ValueError("put the secret into `token` or `headers`, not into the URL")
    return parts


def _open(options: Mapping[str, Any], context: Context) -> Webhook:  # noqa: ARG001  plugin interface
    return Webhook(options)


WEBHOOK = NotifierType(
    "webhook",
    "a JSON object posted to an HTTP server",
    _open,
    (
        Option("url", "where to post to, http or https", "url", required=True),
        Option("timeout", "how long to wait for the server", "duration", default=10 * 10**9),
        Option("token", "sent as `Authorization: Bearer ...`", "secret"),
        Option("headers", "more headers", "map"),
    ),
)
