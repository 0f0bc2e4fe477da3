"""Connections that end at a moment, whatever the other side does.

A timeout of a socket starts anew with every byte: a server that drips one in time holds a
client for hours.  A :class:`Line` is therefore cut from outside when its time is up.
"""

import socket
import ssl
import time
from collections.abc import Iterable
from contextlib import suppress
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from threading import Event, Timer
from types import TracebackType
from typing import Self

from hushd.plugin import NotSentError, RefusedError

Networks = tuple[IPv4Network | IPv6Network, ...]

SECOND = 10**9  # ns
SHORTEST, LONGEST = SECOND // 10, 50 * SECOND  # a worker is replaced after a minute


class Line:
    """One conversation; what is dialled in it must be over after *seconds* in all.

    No address in one of the *denied* networks is dialled, whatever name led to it.

    Used as a context: before `begin`, whatever fails is a ``NotSentError``; after it, where the
    time was up, a ``TimeoutError``.
    """

    def __init__(self, seconds: float, denied: Networks = ()) -> None:
        self._seconds = seconds
        self._denied = denied
        self._until = time.monotonic() + seconds
        self._begun = False
        self._cut = Event()
        self._timer: Timer | None = None
        self._handle: socket.socket | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._handle is not None:
            self._handle.close()
        if isinstance(exc, OSError) and not self._begun and not isinstance(exc, NotSentError):
            raise NotSentError(self._overdue if self._cut.is_set() else _why(exc)) from exc
        if isinstance(exc, Exception) and not isinstance(exc, TimeoutError):
            self.check()

    def dial(self, host: str, port: int) -> socket.socket:
        """Return a connection; each of the host's addresses is tried in what time is left.

        Raises:
            RefusedError: all of them are in networks that are denied.
            OSError: there is none.
        """
        failure: Exception | None = None
        for family, kind, protocol, _, address in socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM
        ):
            if denied := within(str(address[0]), self._denied):
                why = f"{host} is at {address[0]}, in the denied network {denied}"
                failure = failure or RefusedError(why)
                continue
            end = socket.socket(family, kind, protocol)
            try:
                end.settimeout(self._left())
                end.connect(address)
            except OSError as exc:
                end.close()
                failure = exc
                continue
            self._watch(end)
            return end
        raise failure or OSError(f"{host} has no address")

    def begin(self) -> None:
        """Take note that from now on the other side may take what it hears for the note."""
        self._begun = True

    def check(self) -> None:
        """Say whether the line was cut, where that looks like an ordinary end.

        Raises:
            TimeoutError: it was.
        """
        if self._cut.is_set():
            raise TimeoutError(self._overdue)

    @property
    def _overdue(self) -> str:
        return f"not done after {self._seconds:g} s"

    def _left(self) -> float:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError(self._overdue)
        return left

    def _watch(self, end: socket.socket) -> None:
        """Cut the connection when the time is up.

        A second descriptor does it: the first one changes hands when TLS begins.
        """
        self._handle = end.dup()
        self._timer = Timer(self._left(), self._end)
        self._timer.daemon = True
        self._timer.start()

    def _end(self) -> None:
        self._cut.set()
        if self._handle is not None:
            with suppress(OSError):
                self._handle.shutdown(socket.SHUT_RDWR)


def _why(exc: OSError) -> str:
    """Return what *exc* says, without its number."""
    return exc.strerror or str(exc) or type(exc).__name__


def networks(texts: Iterable[str]) -> Networks:
    """Return the networks that *texts* are.

    >>> [str(network) for network in networks(["169.254.0.0/16", "fd00::/8", "10.0.0.1"])]
    ['169.254.0.0/16', 'fd00::/8', '10.0.0.1/32']

    Raises:
        ValueError: one of them is none.
    """
    return tuple(ip_network(text) for text in texts)


def within(address: str, denied: Networks) -> str:
    """Return which of the *denied* networks the address is in, however it is written.

    >>> within("::ffff:169.254.169.254", networks(["169.254.0.0/16"]))
    '169.254.0.0/16'
    """
    found = ip_address(address.partition("%")[0])
    mapped = getattr(found, "ipv4_mapped", None) or found
    return next((str(network) for network in denied if mapped in network), "")


def trust(ca: str | None) -> ssl.SSLContext:
    """Return what verifies a server: by the file *ca*, else as the system does.

    Raises:
        OSError: the file holds no certificate.
    """
    return ssl.create_default_context(cafile=ca)


def not_trusted(exc: ssl.SSLCertVerificationError) -> str:
    """Return why a certificate was refused, in a few words."""
    return f"the server's certificate is not trusted: {exc.verify_message or exc.reason}"
