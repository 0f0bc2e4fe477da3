"""A connection to the broker that is held on to, in a thread of its own.

paho speaks the protocol; connecting, waiting and beginning anew are ours.  For paho's own
thread ends when anything in it raises, while ``is_connected()`` goes on saying True; its
pause between attempts starts from one second again whenever the broker lets us in, only to
throw us out; and it does not say why it cannot connect.  Each connection gets a new
``paho.Client``, so nothing of an old one can get in the way, and only this thread touches it.
"""

import functools
import random
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from hushd.config.records import Mqtt
from hushd.runtime import tls
from hushd.runtime.framing import BulkClient, Framer, Packet, Sieve
from hushd.runtime.logs import Log
from hushd.runtime.rivals import Rivals

TICK = 1000  # milliseconds between looks at keepalive and at what else is due
BRIEF = 50  # milliseconds; while the broker has to answer by a deadline
AT_ONCE = 64  # packets read before the other duties are looked at
TAKEN_OVER = 0x8E  # MQTT 5: Session taken over
NO_SUCH_VERSION = "Unsupported protocol version"

HINTS = {
    "Bad user name or password": "check mqtt.username and mqtt.password",
    "Not authorized": "check mqtt.username and mqtt.password, and the broker's access list",
    "Client identifier not valid": "set mqtt.client_id",
    "Banned": "the broker has locked this client out; see its log",
    "Keep alive timeout": "the broker heard nothing of us: is the network or this machine too slow?",
}
#: what the broker says when it is not our fault, and passes
PASSING = {"Server unavailable", "Server busy", "Connection rate exceeded", "Quota exceeded"}


class Pauses(NamedTuple):
    """How long to wait, in seconds."""

    first: float = 1.0  # before the second attempt; doubled for each further one
    longest: float = 30.0
    greeting: float = 10.0  # for the broker to answer our CONNECT
    leave: float = 1.0  # for the broker to take our farewell
    lasting: float = 5.0  # what lives longer was no failure
    complaint: float = 60.0  # before the same thing is said again
    refused: float = 60.0  # before a refused subscription is asked for again


@dataclass(frozen=True, slots=True)
class Will:
    """What the broker says, retained, when we are gone without a word."""

    topic: str
    payload: bytes


class Link(NamedTuple):
    """How the connection stands."""

    connected: bool = False
    protocol: str = ""  # "5" or "3.1.1"; of the last connection
    since: float = 0.0  # wall clock, seconds: when that began
    reason: str = "not reached yet"  # why it is not connected


class Party(Protocol):
    """Who uses a connection.  All methods are called by its thread, and may raise."""

    def dress(self, client: paho.Client) -> None:
        """Set the callbacks of a new client."""

    def greeted(self, client: paho.Client, *, present: bool) -> None:
        """Begin: the broker let us in; *present* says whether it kept our session."""

    def messages(self, packets: list[Packet]) -> None:
        """Take messages that came together; not called if the connection was made without *bulk*."""

    def turn(self, client: paho.Client) -> bytes:
        """Do what is due; return bytes of whole packets to be sent beside paho's own."""

    def parted(self, reason: str) -> None:
        """Take note that a connection ended, or that none could be made."""


class Connection:
    """Reaches a broker and holds on to it until stopped; ``start`` returns at once.

    Args:
        mqtt: Where, as whom, and how often to probe.
        client_id: The name of the session.
        party: Who uses it.
        log: Where to say what is wrong.
        expiry: How long the broker keeps the session, in seconds; 0 begins anew each time.
        receive: How many unacknowledged messages we take; MQTT 5 only.
        packet: The longest packet we take, in bytes; MQTT 5 only.
        will: What the broker says when we are gone without a word.
        bulk: Whether messages are taken out of the stream by the chunk, past paho.
        pauses: How long to wait.
    """

    def __init__(
        self,
        mqtt: Mqtt,
        client_id: str,
        party: Party,
        log: Log,
        *,
        expiry: int = 0,
        receive: int = 65_535,
        packet: int = 0,
        will: Will | None = None,
        bulk: bool = False,
        pauses: Pauses | None = None,
    ) -> None:
        self.failures = 0  # things that nobody foresaw; stays 0
        self.link = Link()
        self._mqtt = mqtt
        self._client_id = client_id
        self._party = party
        self._log = log
        self._expiry = expiry
        self._receive = receive
        self._packet = packet
        self._will = will
        self._bulk = bulk
        self._pauses = pauses or Pauses()
        self._stopping = threading.Event()
        # wakes the thread out of its poll
        self._bell: socket.socket | None = None
        self._rope: socket.socket | None = None
        self._thread: threading.Thread | None = None
        self._client: paho.Client | None = None
        self._rivals = Rivals()
        self._tries = 0  # in a row that came to nothing
        self._v5 = True  # is tried next
        self._refused_v5 = False  # the broker said that it does not know MQTT 5
        self._speaks_v5 = False  # the broker has let us in with MQTT 5
        self._fallen = False  # said that it is 3.1.1
        self._complained: dict[str, float] = {}
        # of the connection that is, or of the last one
        self._unsent = bytearray()  # what the party had to send
        self._cut = False  # the last packet of it is half sent
        self._answered = False  # the broker said yes or no
        self._greeted_at = 0.0  # it said yes
        self._by_peer = False  # it ended the connection
        self._told = False  # it said that somebody else took over
        self._reason = ""
        self.progress = 0  # grows with every message read

    @property
    def alive(self) -> bool:
        """Say whether the thread runs."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def stopping(self) -> bool:
        """Say whether an end has been asked for."""
        return self._stopping.is_set()

    def start(self) -> None:
        """Begin to connect, in the background."""
        if self._bell is None:
            self._bell, self._rope = socket.socketpair()
            self._bell.setblocking(False)
            self._rope.setblocking(False)
        thread = threading.Thread(target=self._run, name=f"mqtt {self._client_id}", daemon=True)
        thread.start()
        self._thread = thread  # now: one that is not started yet would look like a dead one

    def watch(self) -> None:
        """Begin anew if the thread has died; called by the loop now and then."""
        if self._thread is None or self.stopping or self._thread.is_alive():
            return
        self.failures += 1
        self._log.error("mqtt.thread_died", hint="connecting anew")
        self._ended("the network thread ended")
        self._hang_up()
        self.start()

    def wake(self) -> None:
        """Let the thread look at once at what its party has to send."""
        if self._rope is not None:
            with suppress(OSError):  # full: it will wake anyway; or closed: it has ended
                self._rope.send(b"!")

    def stop(self, seconds: float = 2.0) -> None:
        """Take leave of the broker, but do not wait long for one that does not answer."""
        self._stopping.set()
        self.wake()
        if self._thread is not None:
            self._thread.join(seconds)

    def complain(self, event: str, *, act: bool = False, **fields: str) -> None:
        """Log what is wrong, the same thing not more than once a minute."""
        now = time.monotonic()
        text = f"{event} {sorted(fields.items())}"
        if now - self._complained.get(text, -1e9) < self._pauses.complaint:
            return
        if len(self._complained) >= 100:
            self._complained.clear()
        self._complained[text] = now
        (self._log.error if act else self._log.warning)(event, **fields)

    def _run(self) -> None:
        while not self.stopping:
            self._stopping.wait(self._attempt())
        for end in (self._bell, self._rope):
            if end is not None:
                end.close()

    def _attempt(self) -> float:
        """Connect and stay connected as long as may be; return how long to wait then."""
        self._answered, self._greeted_at, self._by_peer, self._told = False, 0.0, False, False
        self._reason, self._cut = "", False
        self._unsent.clear()
        try:
            self._hold()
        except ssl.SSLError as exc:
            reason, hint = tls.explain(exc)
            self._reason = f"TLS: {reason}"
            if not self._greeted_at:
                self.complain("mqtt.tls_failed", act=True, reason=reason, hint=hint)
        except OSError as exc:
            self._reason = _words(exc)
            self._by_peer = self._greeted_at > 0 and not isinstance(exc, TimeoutError)
            if not self._greeted_at and not self.stopping:
                self.complain(
                    "mqtt.unreachable",
                    reason=self._reason,
                    hint=tls.NO_TLS
                    if self._mqtt.tls is not None and isinstance(exc, ConnectionResetError)
                    else "is the broker running? it is tried again",
                )
        except Exception as exc:  # noqa: BLE001  whatever it is, it must not end the thread
            self.failures += 1
            self._reason = f"{type(exc).__name__}: {exc}"
            self._log.error("mqtt.failed", error=self._reason, hint="connecting anew")
        finally:
            self._hang_up()
        return self._pause()

    def _pause(self) -> float:
        """Take note of how a connection ended; return how long to wait before the next."""
        now = time.monotonic()
        lived = now - self._greeted_at if self._greeted_at else 0.0
        if self._greeted_at and not self.stopping:
            self._log.warning("mqtt.disconnected", reason=self._reason, lived_s=round(lived, 1))
        elif self._by_peer and not self._answered:
            self.complain(
                "mqtt.unreachable",
                reason="it hung up without an answer",
                hint="is this its port, and is mqtt.tls right?",
            )
        self._ended(self._reason)
        if self._greeted_at:
            known = self._rivals.found
            away = self._rivals.ended(now, lived, told=self._told, by_peer=self._by_peer)
            if away is not None:
                if not known:
                    self._log.error(
                        "mqtt.client_id_taken",
                        client_id=self._client_id,
                        hint="somebody else uses it, too: give each its own mqtt.client_id; "
                        "until then we keep away, longer each time",
                    )
                return away * random.uniform(1.0, 1.5)  # noqa: S311  not a secret
            if lived > self._pauses.lasting:
                self._tries = 0
            self._v5 = not self._refused_v5
        elif self._reason == NO_SUCH_VERSION and self._v5:
            self._v5, self._refused_v5 = False, True
            return 0.0
        elif self._by_peer and not (self._answered or self._refused_v5 or self._speaks_v5):
            self._v5 = not self._v5  # it may not know MQTT 5, and not even how to say so
        pause: float = min(self._pauses.first * 2**self._tries, self._pauses.longest)
        self._tries = min(self._tries + 1, 30)
        return pause * random.uniform(0.75, 1.25)  # noqa: S311  not a secret

    def _ended(self, reason: str) -> None:
        before = self.link
        since = before.since if before.since and not before.connected else time.time()
        self.link = Link(protocol=before.protocol, since=since, reason=reason)
        try:
            self._party.parted(reason)
        except Exception as exc:  # noqa: BLE001  it must not end the thread
            self.failures += 1
            self._log.error("mqtt.failed", error=f"{type(exc).__name__}: {exc}")

    def _hang_up(self) -> None:
        """Close what is left of a connection, without a word."""
        client, self._client = self._client, None
        if client is not None and (sock := client.socket()) is not None:
            sock.close()

    def _hold(self) -> None:
        """Connect, then read and write until the connection ends."""
        self._client = client = self._make()
        self._dial(client)
        sock: Any = client.socket()
        deadline = time.monotonic() + self._pauses.greeting
        decrypted: Callable[[], int] = getattr(sock, "pending", lambda: 0)
        poll = select.poll()
        bell = self._bell
        assert bell is not None  # noqa: S101  made in start
        poll.register(bell, select.POLLIN)
        poll.register(sock, select.POLLIN | select.POLLOUT)
        writing, leaving = True, False
        while True:
            tick = TICK if self._greeted_at and not leaving else BRIEF
            ready = dict(poll.poll(0 if decrypted() else tick))
            if bell.fileno() in ready:
                bell.recv(4096)
            if ready.get(sock.fileno(), 0) & ~select.POLLOUT or decrypted():
                self._read(client)
                if client.socket() is None:
                    return
            if self.stopping and not leaving:
                if not self._greeted_at:
                    return
                leaving, deadline = True, time.monotonic() + self._pauses.leave
            if self._greeted_at:
                self._unsent += self._party.turn(client)
            if leaving and not self._unsent and not client.want_write():
                client.disconnect()
            self._write(client, sock)
            client.loop_misc()
            if client.socket() is None:
                return
            if (leaving or not self._greeted_at) and time.monotonic() > deadline:
                raise TimeoutError("it does not answer")
            if writing != (client.want_write() or bool(self._unsent)):
                writing = not writing
                poll.modify(sock, select.POLLIN | (select.POLLOUT if writing else 0))

    def _read(self, client: paho.Client) -> None:
        """Read a chunk, or packets as long as they are messages; not for ever."""
        sieve = client.socket()
        if isinstance(sieve, Sieve) and isinstance(client, BulkClient):
            packets = sieve.fill()
            while sieve.waiting and client.socket() is not None:
                client.loop_read()  # first: messages may come right behind the CONNACK
            if packets:
                client.heard()
                self._party.messages(packets)
            return
        for _ in range(AT_ONCE):
            before = self.progress
            client.loop_read()
            if self.progress == before or client.socket() is None:
                return

    def _write(self, client: paho.Client, sock: Any) -> None:
        """Send what waits: paho's packets and the party's, but never one inside another."""
        if not self._cut and client.want_write():
            client.loop_write()
        if self._unsent and (self._cut or not client.want_write()) and client.socket() is not None:
            try:
                sent = sock.send(self._unsent)
            except BlockingIOError:
                return
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                self._cut = True  # OpenSSL has begun with it and takes nothing else before
                return
            del self._unsent[:sent]
            self._cut = bool(self._unsent)

    def _make(self) -> paho.Client:
        """Return a client that has nothing of the last one."""
        fives: dict[str, Any] = {"protocol": MQTTProtocolVersion.MQTTv5}
        threes = {"protocol": MQTTProtocolVersion.MQTTv311, "clean_session": not self._expiry}
        kind = BulkClient if self._bulk else paho.Client
        client = kind(
            CallbackAPIVersion.VERSION2,
            client_id=self._client_id,
            manual_ack=True,
            reconnect_on_failure=False,
            **(fives if self._v5 else threes),
        )
        if isinstance(client, BulkClient):
            client.framer = functools.partial(Framer, five=self._v5, longest=self._packet)
        mqtt = self._mqtt
        if mqtt.username is not None:
            password = mqtt.password
            client.username_pw_set(mqtt.username, None if password is None else password.reveal())
        if mqtt.tls is not None:
            client.tls_set_context(tls.context(mqtt.tls))
            if mqtt.tls.insecure:
                client.tls_insecure_set(True)
        if self._will is not None:
            client.will_set(self._will.topic, self._will.payload, qos=1, retain=True)
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.on_socket_open = _no_delay
        client.on_socket_register_write = _later
        self._party.dress(client)
        return client

    def _dial(self, client: paho.Client) -> None:
        """Look the name up, connect, shake hands; each may take its time, in this thread."""
        where = self._mqtt.host, self._mqtt.port, max(1, self._mqtt.keepalive // 10**9)
        if not self._v5:
            client.connect(*where)
            return
        wishes = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]  # paho's
        wishes.ReceiveMaximum = min(max(1, self._receive), 65_535)
        if self._expiry:
            wishes.SessionExpiryInterval = min(self._expiry, 0xFFFF_FFFF)
        if self._packet:
            wishes.MaximumPacketSize = self._packet
        client.connect(*where, clean_start=not self._expiry, properties=wishes)

    def _on_connect(
        self,
        client: paho.Client,
        userdata: Any,
        flags: paho.ConnectFlags,
        reason: ReasonCode,
        properties: Properties | None,
    ) -> None:
        self._answered = True
        if reason.is_failure:
            self._reason = str(reason)
            if not (self._v5 and self._reason == NO_SUCH_VERSION):
                self.complain(
                    "mqtt.refused",
                    act=self._reason not in PASSING,
                    reason=self._reason,
                    hint=HINTS.get(self._reason, "see the broker's log"),
                )
            return
        protocol = "5" if self._v5 else "3.1.1"
        self._speaks_v5 |= self._v5
        if not self._v5 and not self._fallen:
            self._fallen = True
            self._log.warning(
                "mqtt.fell_back",
                protocol=protocol,
                hint="the broker does not speak MQTT 5: it chooses how much it sends unasked",
            )
        self._greeted_at = time.monotonic()
        self._complained.clear()
        self.link = Link(connected=True, protocol=protocol, since=time.time(), reason="")
        self._party.greeted(client, present=flags.session_present)

    def _on_disconnect(
        self,
        client: paho.Client,
        userdata: Any,
        flags: paho.DisconnectFlags,
        reason: ReasonCode,
        properties: Properties | None,
    ) -> None:
        told = flags.is_disconnect_packet_from_server
        self._told = told and reason.value == TAKEN_OVER
        self._by_peer = told or str(reason) not in {"Keep alive timeout", "Normal disconnection"}
        if not self._reason:  # else it was refused, and said why
            unsaid = "the broker closed the connection" if self._by_peer else str(reason)
            self._reason = str(reason) if told else unsaid


def _no_delay(client: paho.Client, userdata: Any, sock: Any) -> None:  # noqa: ARG001  paho's interface
    """Send small packets at once: with Nagle's algorithm they wait for 20 or 40 ms."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _later(client: paho.Client, userdata: Any, sock: Any) -> None:
    """Keep paho from writing by itself: only the loop in ``_hold`` writes."""


def _words(exc: OSError) -> str:
    """Return what an error of the system says, without its number."""
    return (exc.strerror or str(exc) or type(exc).__name__).lower()
