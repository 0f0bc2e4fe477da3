"""One request over HTTP, over by a moment, and what its answer means for a note.

A redirect is not followed: it would carry an alert, and perhaps a token, to where nobody
decided to send it.
"""

import http.client
import re
import ssl
import time
from collections.abc import Iterator, Mapping
from email.utils import mktime_tz, parsedate_tz
from typing import Any
from urllib.parse import SplitResult, urlsplit

from hushd.plugin import Fault, NotSentError, Option, RefusedError
from hushd_notify.lines import (
    LONGEST,
    SECOND,
    SHORTEST,
    Line,
    Networks,
    not_trusted,
    trust,
)
from hushd_notify.texts import one_line

ANSWER = 64 * 1024  # bytes of an answer that are read, to leave the connection in order
TELLING = 200  # characters of a refusal that go into the error
#: statuses of the 4xx that may be another one soon: timeout, too early, too many requests
PASSING = frozenset({408, 425, 429})
#: statuses with which a go-between says that whom it asked gave no answer: it may have the note
UNKNOWN = frozenset({502, 504, *range(520, 530)})
#: statuses whose ``Retry-After`` is heeded
BUSY = frozenset({429, 503})

_URL = re.compile(r"[\x21-\x7e]+")


class Server:
    """One server; a connection of its own for each request."""

    def __init__(
        self, url: str, headers: Mapping[str, str], *, ca: str | None, denied: Networks = ()
    ) -> None:
        self.url = urlsplit(url)
        self._headers = {"User-Agent": "hushd", **headers}
        self._denied = denied
        self._trust = trust(ca) if self.url.scheme == "https" else None

    def ask(
        self,
        method: str,
        target: str,
        payload: bytes | None = None,
        *,
        seconds: float,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        """Return what the server answers, at most `ANSWER` bytes of it, where it says yes.

        Raises:
            RefusedError: the answer was a redirect, or a 4xx that will be the same tomorrow,
                or the server is not who it should be.
            NotSentError: nobody was there, or the answer was that it was not taken.
            OSError: there was no answer, or not in time: it may have it.
        """
        with Line(seconds, self._denied) as line:
            connection = self._connection()
            try:
                connection.sock = self._dial(line)
                line.begin()
                connection.request(method, target, payload, {**self._headers, **(headers or {})})
                answer = connection.getresponse()
                text = _read(answer)
                line.check()
            except http.client.HTTPException as exc:
                raise OSError(f"not an answer of an HTTP server: {type(exc).__name__}") from exc
            finally:
                connection.close()
        if 200 <= answer.status < 300:
            return text
        said = one_line(text.decode(errors="replace"))[:TELLING]
        error = f"{answer.status} {one_line(answer.reason)}: {said}".rstrip(": ")
        if 300 <= answer.status < 500 and answer.status not in PASSING:
            raise RefusedError(error)
        if answer.status in UNKNOWN:
            raise OSError(error)
        asked = answer.headers.get("Retry-After", "") if answer.status in BUSY else ""
        raise NotSentError(error, retry_after=seconds_of(asked, time.time()))

    def _connection(self) -> http.client.HTTPConnection:
        host = self.url.hostname or ""
        if self._trust is not None:
            return http.client.HTTPSConnection(host, self.url.port, context=self._trust)
        return http.client.HTTPConnection(host, self.url.port)

    def _dial(self, line: Line) -> Any:
        """Return a connection to the server, which over TLS has proved who it is."""
        host = self.url.hostname or ""
        if self._trust is None:
            return line.dial(host, self.url.port or 80)
        end = line.dial(host, self.url.port or 443)
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


def url_faults(option: str, url: str) -> Iterator[Fault]:
    """Find why *url* is not the address of an HTTP server; it is not quoted, as it may be secret."""
    beginning = 'write a URL that begins with "http://" or "https://"'
    if not _URL.fullmatch(url):
        hint = "write other letters percent-encoded, as in %20 for a blank"
        yield Fault(option, "the URL holds blanks or letters beyond ASCII", hint)
        return
    try:
        parts: SplitResult = urlsplit(url)
        port = parts.port
    except ValueError:
        yield Fault(option, "the URL cannot be read", beginning)
        return
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0:
        yield Fault(option, "this is not the address of an HTTP server", beginning)


def token_faults(token: object) -> Iterator[Fault]:
    """Find out whether a header can carry *token*."""
    if token is not None and not _URL.fullmatch(str(token)):
        yield Fault("token", "the token holds blanks or what no header can carry")


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
