"""Posts notes as JSON to an HTTP server.

A redirect is not followed: it would carry an alert, and perhaps a token, to where nobody
decided to send it.  Each note has an ``Idempotency-Key``; when a note is sent again because
an answer was lost, the key is the same, ``X-Possible-Duplicate`` says so, and the receiver
can tell.
"""

import http.client
import re
import ssl
import time
from collections.abc import Iterator, Mapping
from email.utils import mktime_tz, parsedate_tz
from typing import Any
from urllib.parse import SplitResult, urlsplit

from hushd.plugin import (
    Context,
    Fault,
    Note,
    NotifierType,
    NotSentError,
    Option,
    RefusedError,
)
from hushd_notify.lines import LONGEST, SECOND, SHORTEST, Line, networks, not_trusted, trust
from hushd_notify.texts import body, one_line

ANSWER = 64 * 1024  # bytes of an answer that are read, to leave the connection in order
TELLING = 200  # characters of a refusal that go into the error
#: statuses of the 4xx that may be another one soon: timeout, too early, too many requests
PASSING = frozenset({408, 425, 429})
#: statuses with which a go-between says that whom it asked gave no answer: it may have the note
UNKNOWN = frozenset({502, 504, *range(520, 530)})
#: statuses whose ``Retry-After`` is heeded
BUSY = frozenset({429, 503})

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\x20-\x7e\xa0-\xff]*")
_URL = re.compile(r"[\x21-\x7e]+")


class Webhook:
    """One address; a connection of its own for each note."""

    def __init__(self, options: Mapping[str, Any], context: Context) -> None:
        for fault in _faults(options):
            raise RefusedError(f"{fault.option}: {fault.message}")
        self._url = urlsplit(str(options["url"]))
        self._site = context.site
        self._seconds = options["timeout"] / SECOND
        self._denied = networks(options.get("deny_networks") or ())
        self._trust = trust(options.get("ca")) if self._url.scheme == "https" else None
        self._headers = {
            "Content-Type": "application/json; charset=utf-8",
            "User-Agent": "hushd",
            **(options.get("headers") or {}),
        }
        if options.get("token"):
            self._headers["Authorization"] = f"Bearer {options['token']}"

    def send(self, note: Note) -> None:
        """Post *note*.

        Raises:
            RefusedError: the answer was a redirect, or a 4xx that will be the same tomorrow,
                or the server is not who it should be.
            NotSentError: nobody was there, or the answer was that it was not taken.
            OSError: there was no answer, or not in time: it may have it.
        """
        target = self._url.path or "/"
        if self._url.query:
            target += f"?{self._url.query}"
        headers = self._headers | {"Idempotency-Key": note.key}
        if note.again:
            headers["X-Possible-Duplicate"] = "true"
        with Line(self._seconds, self._denied) as line:
            connection = self._connection()
            try:
                connection.sock = self._dial(line)
                line.begin()
                connection.request("POST", target, body(note, self._site), headers)
                answer = connection.getresponse()
                text = _read(answer)
                line.check()
            except http.client.HTTPException as exc:
                raise OSError(f"not an answer of an HTTP server: {type(exc).__name__}") from exc
            finally:
                connection.close()
        if 200 <= answer.status < 300:
            return
        said = one_line(text.decode(errors="replace"))[:TELLING]
        error = f"{answer.status} {one_line(answer.reason)}: {said}".rstrip(": ")
        if 300 <= answer.status < 500 and answer.status not in PASSING:
            raise RefusedError(error)
        if answer.status in UNKNOWN:
            raise OSError(error)
        asked = answer.headers.get("Retry-After", "") if answer.status in BUSY else ""
        raise NotSentError(error, retry_after=seconds_of(asked, time.time()))

    def close(self) -> None:
        """Do nothing: no connection outlives its note."""

    def _connection(self) -> http.client.HTTPConnection:
        host = self._url.hostname or ""
        if self._trust is not None:
            return http.client.HTTPSConnection(host, self._url.port, context=self._trust)
        return http.client.HTTPConnection(host, self._url.port)

    def _dial(self, line: Line) -> Any:
        """Return a connection to the server, which over TLS has proved who it is."""
        host = self._url.hostname or ""
        if self._trust is None:
            return line.dial(host, self._url.port or 80)
        end = line.dial(host, self._url.port or 443)
        try:
            return self._trust.wrap_socket(end, server_hostname=host)
        except ssl.SSLCertVerificationError as exc:
            end.close()
            raise RefusedError(not_trusted(exc)) from exc
        except BaseException:
            end.close()
            raise


def seconds_of(text: str, now: float) -> float:
    """Return for how long ``Retry-After`` asks not to be asked; 0 where it cannot be read.

    >>> seconds_of("120", 0.0), seconds_of("Thu, 01 Jan 1970 00:01:00 GMT", 15.0)
    (120.0, 45.0)
    """
    if re.fullmatch(r"\s*[0-9]{1,9}\s*", text):
        return float(text)
    try:
        moment = parsedate_tz(text)
        return max(0.0, mktime_tz(moment) - now) if moment is not None else 0.0
    except (ValueError, OverflowError, IndexError, TypeError):
        return 0.0


def _read(answer: http.client.HTTPResponse) -> bytes:
    """Return what the answer says, as far as it is of interest."""
    text = b""
    while len(text) < ANSWER:
        part = answer.read1(ANSWER - len(text))
        if not part:
            break
        text += part
    return text


def _faults(options: Mapping[str, Any]) -> Iterator[Fault]:
    """Find what no server could be asked with; what is secret is not quoted."""
    url = options.get("url")
    if url is not None and (fault := _of_url(str(url))):
        yield fault
    for name, value in (options.get("headers") or {}).items():
        if not _TOKEN.fullmatch(name):
            yield Fault("headers", f'cannot use "{one_line(name)}" as the name of a header')
        elif value is not None and not _VALUE.fullmatch(str(value)):
            message = f"the value of {name} holds what no header can carry"
            yield Fault("headers", message, "leave out line breaks and letters beyond Latin-1")
    token = options.get("token")
    if token is not None and not _URL.fullmatch(str(token)):
        yield Fault("token", "the token holds blanks or what no header can carry")
    if options.get("ca") is not None:
        yield from ca_faults(str(options["ca"]))
    try:
        networks(options.get("deny_networks") or ())
    except ValueError as exc:
        yield Fault("deny_networks", one_line(str(exc)), "write networks, as in 169.254.0.0/16")


def _of_url(url: str) -> Fault | None:
    """Return why *url* is not the address of an HTTP server."""
    beginning = 'write a URL that begins with "http://" or "https://"'
    if not _URL.fullmatch(url):
        hint = "write other letters percent-encoded, as in %20 for a blank"
        return Fault("url", "the URL holds blanks or letters beyond ASCII", hint)
    try:
        parts: SplitResult = urlsplit(url)
        port = parts.port
    except ValueError:
        return Fault("url", "the URL cannot be read", beginning)
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0:
        return Fault("url", "this is not the address of an HTTP server", beginning)
    if "@" in parts.netloc:
        hint = "write token: {credential: NAME}, or headers: {Authorization: {credential: NAME}}"
        return Fault("url", "a user name or password does not belong into a URL", hint)
    return None


def ca_faults(path: str) -> Iterator[Fault]:
    """Find out whether *path* holds certificates to trust."""
    try:
        trust(path)
    except OSError as exc:
        why = exc.strerror if not isinstance(exc, ssl.SSLError) else "no certificate in it"
        yield Fault("ca", f"cannot read certificates from the file: {why}", "a file in PEM format")


TIMEOUT = Option(
    "timeout",
    "how long a delivery may take in all",
    "duration",
    default=10 * SECOND,
    low=SHORTEST,
    high=LONGEST,
)
CA = Option(
    "ca",
    "the certificates to trust, in PEM format; relative to the configuration file",
    "file",
    otherwise="those of the system",
)

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
