"""Messages taken out of the stream by the chunk: a socket that stands between paho and the wire.

paho reads a packet in three system calls and builds several objects for each message; that is
most of what receiving costs.  Here a chunk of 64 KiB is read at once and cut into packets.
Messages of QoS 0 and 1 are ours; every other packet, and whatever is not well formed, goes on
to paho byte by byte, which knows what to make of it.

That paho can be given such a socket is an inside of it.  So ``sound`` tries it out at start,
and if it fails messages come through paho's own callback, slower but just as well.
"""

import socket
import struct
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

CHUNK = 65_536


class Packet(NamedTuple):
    """A message as it came."""

    topic: bytes
    payload: bytes
    qos: int
    retain: bool
    packet: int
    again: bool


class Framer:
    """Cuts a stream into packets.

    A message longer than *longest* bytes is cut off there and the rest of it thrown away, so
    that nobody can fill the memory; its payload is too long to be read in any case.

    Args:
        five: Whether the stream is MQTT 5, where messages have properties.
        longest: How long a packet may be, in bytes.
    """

    def __init__(self, *, five: bool, longest: int) -> None:
        self.control = bytearray()  # for paho
        self._five = five
        self._longest = longest
        self._rest = b""  # the beginning of a packet
        self._skip = 0  # bytes of a message that is too long
        self._lost = False  # not well formed: paho gets everything from here on

    def feed(self, data: bytes) -> list[Packet]:
        """Return the messages that *data* completes; other packets are added to ``control``."""
        if self._lost:
            self.control += data
            return []
        if self._skip:
            skipped = min(self._skip, len(data))
            self._skip -= skipped
            data = data[skipped:]
        if self._rest:
            data = self._rest + data
        found: list[Packet] = []
        at, end = 0, len(data)
        while end - at >= 2:
            kind, length, head = data[at], data[at + 1], at + 2
            if length & 0x80:
                try:
                    length, head = _varint(data, at + 1)
                except IndexError:
                    break  # the length goes on in the next chunk
                except ValueError:
                    self._give_up(data, at)
                    at = end
                    break
            stop = head + length
            message = kind & 0xF0 == 0x30 and kind & 0x04 == 0  # QoS 0 or 1
            if stop > end:
                if stop - at <= self._longest or end - at < self._longest:
                    break  # the rest comes with the next chunk
                packet = self._message(data, kind, head, end) if message else None
                if packet is None:
                    self._give_up(data, at)
                else:
                    found.append(packet)
                    self._skip = stop - end
                at = end
                break
            packet = self._message(data, kind, head, stop) if message else None
            if packet is None:
                self.control += data[at:stop]
            else:
                found.append(packet)
            at = stop
        self._rest = data[at:]
        return found

    def _give_up(self, data: bytes, at: int) -> None:
        self._lost = True
        self.control += data[at:]

    def _message(self, data: bytes, kind: int, head: int, stop: int) -> Packet | None:
        """Return the message from *head* to *stop*; None if it is not well formed."""
        at = head + 2
        if at > stop:
            return None
        at += data[head] << 8 | data[head + 1]
        if at > stop:
            return None
        topic, packet = data[head + 2 : at], 0
        qos = kind >> 1 & 1
        if qos:
            if at + 2 > stop:
                return None
            packet = data[at] << 8 | data[at + 1]
            at += 2
        if self._five:
            try:
                length, at = _varint(data, at)
            except (IndexError, ValueError):
                return None
            at += length
            if at > stop:
                return None
        return Packet(topic, data[at:stop], qos, bool(kind & 1), packet, bool(kind & 8))


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of one to four bytes, and where it ends.

    Raises:
        IndexError: it goes on behind the end.
        ValueError: it is longer than four bytes.
    """
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return number, at
        shift += 7
        if shift > 21:
            raise ValueError("a length of more than four bytes")


class Sieve:
    """A socket for paho that shows it no messages.

    ``fill`` reads; ``recv``, which paho calls, returns what was left for it.
    """

    def __init__(self, sock: Any, framer: Framer) -> None:
        self._sock = sock
        self._framer = framer
        self._ended = False
        self._error: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)

    @property
    def waiting(self) -> bool:
        """Say whether there is something for paho to read."""
        return bool(self._framer.control) or self._ended or self._error is not None

    def fill(self) -> list[Packet]:
        """Read a chunk; return the messages in it."""
        try:
            data = self._sock.recv(CHUNK)
        except BlockingIOError:
            return []
        except OSError as exc:  # SSLWantReadError among them: paho knows which is which
            self._error = exc
            return []
        if not data:
            self._ended = True
            return []
        return self._framer.feed(data)

    def recv(self, size: int) -> bytes:
        """Return what was left for paho."""
        control = self._framer.control
        if control:
            out = bytes(control[:size])
            del control[:size]
            return out
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        if self._ended:
            return b""
        raise BlockingIOError


class BulkClient(paho.Client):
    """paho's client with a sieve in front of its socket.

    Attributes:
        framer: Makes what cuts the stream of a new connection.
    """

    framer: Callable[[], Framer]

    def _create_socket(self) -> Any:
        return Sieve(super()._create_socket(), self.framer())

    def heard(self) -> None:
        """Tell paho that the other side lives: it does not see the messages."""
        with self._msgtime_mutex:
            self._last_bytes_received = time.monotonic()


def sound() -> bool:
    """Say whether this paho works with a sieve: a short talk over a pair of sockets."""
    try:
        return _talk()
    except Exception:  # noqa: BLE001  whatever it is, it does not
        return False


def _talk() -> bool:
    ours, theirs = socket.socketpair()
    with ours, theirs:

        class Trial(BulkClient):
            def _create_socket_connection(self) -> Any:
                return ours

        said: list[str] = []
        client = Trial(
            CallbackAPIVersion.VERSION2,
            client_id="trial",
            protocol=MQTTProtocolVersion.MQTTv5,
            manual_ack=True,
            reconnect_on_failure=False,
        )
        client.framer = lambda: Framer(five=True, longest=1000)
        client.on_connect = lambda *_: said.append("connected")
        client.on_disconnect = lambda *_: said.append("disconnected")
        client.on_message = lambda *_: said.append("a message, which it should not see")
        client.connect("trial")
        sieve: Any = client.socket()
        message = struct.pack("!BBH1sHB1s", 0x3A, 7, 1, b"a", 7, 0, b"b")
        theirs.sendall(b"\x20\x03\x00\x00\x00" + message + b"\xd0\x00" + message[:3])
        found = sieve.fill()
        while sieve.waiting:
            client.loop_read()
        theirs.sendall(message[3:])
        found += sieve.fill()
        client.heard()
        theirs.shutdown(socket.SHUT_WR)
        sieve.fill()
        if sieve.waiting:
            client.loop_read()
        expected = [Packet(b"a", b"b", 1, False, 7, True)] * 2
        return found == expected and said == ["connected", "disconnected"]
