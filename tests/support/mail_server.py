"""A real mail server on the loopback: aiosmtpd, with TLS and passwords as it is told."""

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any, ClassVar

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

PASSWORD = "canary-of-mail"


class Box:
    """Takes mails, or answers as it is told."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.receivers: list[list[str]] = []
        self.encrypted: list[bool] = []
        self.users: list[str] = []
        self.answer = "250 taken"
        self.refused: dict[str, str] = {}  # receiver -> answer
        self.port = 0

    async def handle_RCPT(  # noqa: N802  aiosmtpd's
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address in self.refused:
            return self.refused[address]
        envelope.rcpt_tos.append(address)
        return "250 yes"

    async def handle_DATA(  # noqa: N802  aiosmtpd's
        self, server: SMTP, session: Session, envelope: Envelope
    ) -> str:
        if self.answer.startswith("2"):
            content: Any = envelope.content
            self.mails.append(message_from_bytes(content, policy=policy.default))
            self.receivers.append(list(envelope.rcpt_tos))
            secured: Any = server.transport
            self.encrypted.append(secured.get_extra_info("ssl_object") is not None)
        return self.answer

    def authenticate(
        self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any
    ) -> AuthResult:
        assert isinstance(data, LoginPassword)
        self.users.append(data.login.decode())
        return AuthResult(success=data.password == PASSWORD.encode(), handled=False)


class _Server(SMTP):
    """Remembers its connections: one whose TLS failed is never closed otherwise."""

    transports: ClassVar[list[asyncio.BaseTransport]] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transports.append(transport)
        super().connection_made(transport)


@contextmanager
def mail_server(
    tls: ssl.SSLContext | None = None, *, at_once: bool = False, login: bool = False
) -> Iterator[Box]:
    """Run a server for as long as the context lasts.

    Args:
        tls: What it proves itself with; None: it knows no TLS.
        at_once: Whether TLS begins with the first byte, not by STARTTLS.
        login: Whether it asks for a password, as it does after STARTTLS only.
    """
    box = Box()
    options: dict[str, Any] = {}
    if tls is not None and not at_once:
        options |= {"tls_context": tls, "require_starttls": True}
    if login:
        options |= {"auth_required": True, "authenticator": box.authenticate}
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(
        loop.create_server(
            lambda: _Server(box, hostname="mail.test", loop=loop, **options),
            "127.0.0.1",
            0,
            ssl=tls if at_once else None,
        )
    )
    box.port = server.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield box
    finally:
        asyncio.run_coroutine_threadsafe(_end(server), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _end(server: asyncio.Server) -> None:
    """Close the server and hang up on whoever is still there."""
    server.close()
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    while _Server.transports:
        transport = _Server.transports.pop()
        if isinstance(transport, asyncio.WriteTransport):
            transport.abort()
    await asyncio.sleep(0.01)  # until what is closed is closed
    await asyncio.gather(*tasks, return_exceptions=True)
