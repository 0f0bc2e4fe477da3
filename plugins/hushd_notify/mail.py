"""Sends notes as mail, over SMTP, to a server that has proved who it is."""

import re
import smtplib
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import suppress
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, getaddresses, localtime, parseaddr
from typing import Any

from hushd.plugin import (
    Context,
    Fault,
    Note,
    NotifierType,
    NotSentError,
    Option,
    RefusedError,
)
from hushd_notify.lines import LONGEST, SECOND, SHORTEST, Line, not_trusted, trust
from hushd_notify.texts import AGAIN, lines, one_line
from hushd_notify.web import CA, ca_faults

PORTS = {"starttls": 587, "tls": 465, "none": 25}
TELLING = 200  # characters of a refusal that go into the error
SUBJECT = 200  # characters; the whole title stands in the text
LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})

_ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])")
_OF_AN_ID = re.compile(r"[^A-Za-z0-9.-]")


class Mail:
    """One server and those who are written to; a conversation of its own for each note."""

    def __init__(self, options: Mapping[str, Any], context: Context) -> None:
        self._host = str(options["host"])
        self._security = str(options["security"])
        self._port = int(options["port"] or PORTS[self._security])
        self._user = options.get("username")
        self._password = options.get("password")
        self._sender = str(options["from"])
        self._receivers = tuple(options["to"])
        self._seconds = options["timeout"] / SECOND
        self._trust = None if self._security == "none" else trust(options.get("ca"))
        self._context = context

    def send(self, note: Note) -> None:
        """Send *note*; it is told when the server has taken it.

        Raises:
            RefusedError: the server said no for good, or is not who it should be.
            NotSentError: nobody was there, or it asks to come back later.
            OSError: there was no answer, or not in time: it may have the mail.
        """
        message = self._message(note)
        with Line(self._seconds) as line:
            try:
                refused = self._deliver(line, message)
            except ssl.SSLCertVerificationError as exc:
                raise RefusedError(not_trusted(exc)) from exc
            except smtplib.SMTPException as exc:
                raise _told(exc) from exc
        if refused:
            self._context.log(
                "mail.receiver_refused",
                notifier=self._context.name,
                receivers=sorted(refused),
                error=str(_told(smtplib.SMTPRecipientsRefused(refused))),
            )

    def close(self) -> None:
        """Do nothing: no connection outlives its note."""

    def _deliver(self, line: Line, message: EmailMessage) -> dict[str, tuple[int, bytes]]:
        """Talk to the server; return which receivers it refused while it took others."""
        server = _Server(
            line, self._host, self._port, None if self._security != "tls" else self._trust
        )
        try:
            server.ehlo_or_helo_if_needed()
            if self._security == "starttls":
                if not server.has_extn("starttls"):
                    raise RefusedError("the server offers no STARTTLS")
                server.starttls(context=self._trust)
                server.ehlo_or_helo_if_needed()
            if self._user is not None:
                server.login(str(self._user), str(self._password))
            refused = server.send_message(message)
            with suppress(smtplib.SMTPException, OSError):  # the mail is the server's by now
                server.quit()
            return refused
        finally:
            server.close()

    def _message(self, note: Note) -> EmailMessage:
        message = EmailMessage(policy=SMTP)
        message["From"] = self._sender
        message["To"] = ", ".join(self._receivers)
        message["Subject"] = _cut(one_line(note.title))
        message["Date"] = format_datetime(localtime())
        message["Message-ID"] = f"<{_OF_AN_ID.sub('-', note.key)}@{_domain(self._sender)}>"
        message["Auto-Submitted"] = "auto-generated"  # so that no holiday notice answers
        message["X-Hushd-Key"] = one_line(note.key)
        if note.again:
            message["X-Hushd-Possible-Duplicate"] = "true"
        told = f"{lines(note.text)}\n{AGAIN}" if note.again else lines(note.text)
        text = f"{one_line(note.title)}\n\n{told}\n\n-- \nhushd, {one_line(self._context.site)}\n"
        message.set_content(text, cte="quoted-printable")
        # at 78 characters a long subject would be put on a line of its own, after a blank
        message.policy = SMTP.clone(max_line_length=998)
        return message


class _Server(smtplib.SMTP):
    """A client that dials as it is told, with TLS from the first byte where *trust* is given."""

    def __init__(self, line: Line, host: str, port: int, trust: ssl.SSLContext | None) -> None:
        self._line = line
        self._context = trust
        # the name it greets with is looked up in the DNS where none is given
        super().__init__(host, port, local_hostname=_greeting())

    def data(self, msg: Any) -> tuple[int, bytes]:
        """Hand over the mail itself; up to here the server could not have taken it."""
        self._line.begin()
        return super().data(msg)

    def _get_socket(self, host: str, port: int, timeout: object) -> socket.socket:
        end = self._line.dial(host, port)
        if self._context is None:
            return end
        try:
            return self._context.wrap_socket(end, server_hostname=host)
        except BaseException:
            end.close()
            raise


def _cut(text: str) -> str:
    return text if len(text) <= SUBJECT else f"{text[: SUBJECT - 1]}…"


def _greeting() -> str:
    """Return how we name ourselves to a server."""
    name = socket.gethostname()
    return name if re.fullmatch(r"[A-Za-z0-9.-]+", name) else "[127.0.0.1]"


def _told(exc: smtplib.SMTPException) -> Exception:
    """Return what a server's refusal means: come back later, or do not."""
    if isinstance(exc, smtplib.SMTPRecipientsRefused):
        answers = [(code, text, f"{who}: ") for who, (code, text) in exc.recipients.items()]
    elif isinstance(exc, smtplib.SMTPResponseException):
        said = exc.smtp_error
        answers = [(exc.smtp_code, said if isinstance(said, bytes) else said.encode(), "")]
    else:
        missing = isinstance(exc, smtplib.SMTPNotSupportedError)
        error = one_line(str(exc))[:TELLING]
        return RefusedError(error) if missing else OSError(f"{type(exc).__name__}: {error}")
    error = "; ".join(
        f"{who}{code} {one_line(text.decode(errors='replace'))[:TELLING]}"
        for code, text, who in answers
    )
    if all(code >= 500 for code, _, _ in answers):
        return RefusedError(error)
    # no answer at all, as smtplib has it, is -1
    return NotSentError(error) if all(code >= 400 for code, _, _ in answers) else OSError(error)


def _domain(address: str) -> str:
    return parseaddr(address)[1].rpartition("@")[2]


def _is_address(text: str) -> bool:
    """Say whether *text* is one address, perhaps with a name before it."""
    bare = [address for _, address in getaddresses([text])]
    return len(bare) == 1 and _ADDRESS.fullmatch(bare[0]) is not None and one_line(text) == text


def _faults(options: Mapping[str, Any]) -> Iterator[Fault]:
    if not options["to"]:
        yield Fault("to", "the list is empty", "write a list of addresses, such as [a@example.org]")
    for option, addresses in (("from", (options["from"],)), ("to", options["to"])):
        for address in addresses:
            if not _is_address(address):
                hint = "write one as in hushd@example.org, or Hotel Adler <hushd@example.org>"
                yield Fault(option, f'"{one_line(address)}" is not an address of mail', hint)
    if (options.get("username") is None) != (options.get("password", "") is None):
        option = "username" if options.get("username") is not None else "password"
        yield Fault(option, "username and password go together", "write both, or neither")
    if options["security"] == "none":
        if options.get("username") is not None and options["host"] not in LOCAL:
            hint = "write security: starttls or tls"
            yield Fault("security", "the password would travel for everybody to read", hint)
        if options.get("ca") is not None:
            yield Fault("ca", "without TLS there is no certificate to check")
    elif options.get("ca") is not None:
        yield from ca_faults(str(options["ca"]))


EMAIL = NotifierType(
    "email",
    "a plain mail by SMTP, with verified TLS",
    Mail,
    (
        Option("host", "the mail server", "text", required=True),
        Option(
            "port",
            "its port",
            "integer",
            low=1,
            high=65_535,
            otherwise="587, or 465 for `tls`, 25 for `none`",
        ),
        Option(
            "security",
            "`starttls`: encrypted after a greeting; `tls`: from the first byte; `none`: not at all",
            "text",
            default="starttls",
            choices=tuple(PORTS),
        ),
        CA,
        Option("username", "who logs in", "text", otherwise="nobody"),
        Option("password", "where the password is kept", "secret", otherwise="none"),
        Option("from", "the sender's address", "text", required=True),
        Option("to", "the receivers' addresses", "texts", required=True),
        Option(
            "timeout",
            "how long a delivery may take in all",
            "duration",
            default=30 * SECOND,
            low=SHORTEST,
            high=LONGEST,
        ),
    ),
    check=_faults,
)
