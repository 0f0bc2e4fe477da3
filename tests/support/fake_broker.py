"""A broker that does what no good broker does: it says and sends what the test wants."""

import socket
import struct
import threading
from contextlib import suppress

CONNECT, SUBSCRIBE, UNSUBSCRIBE, PUBLISH, PUBACK = 0x10, 0x82, 0xA2, 0x30, 0x40
PINGREQ, DISCONNECT = 0xC0, 0xE0


def publish(
    topic: bytes, payload: bytes, packet: int = 0, *, five: bool = True, again: bool = False
) -> bytes:
    """Return a PUBLISH packet; QoS 1 if it has a packet identifier."""
    body = struct.pack("!H", len(topic)) + topic
    if packet:
        body += struct.pack("!H", packet)
    if five:
        body += b"\x00"  # no properties
    body += payload
    assert len(body) < 128
    return bytes([(0x32 if packet else 0x30) | again << 3, len(body)]) + body


class FakeBroker:
    """Speaks just enough MQTT 5 and 3.1.1.

    Args:
        code: What it answers to CONNECT.
        granted: What it answers for each filter.
        five: False: it does not know MQTT 5, and says so as a broker of 3.1.1 would;
            None: it hangs up instead.
        present: Whether it says that it kept the session.
        deaf: It accepts, and then never answers.
        shy: It hangs up on who names this filter.
    """

    def __init__(
        self,
        *,
        code: int = 0,
        granted: int = 1,
        five: bool | None = True,
        present: bool = False,
        deaf: bool = False,
        shy: bytes = b"",
    ) -> None:
        self.seen: list[tuple[int, bytes]] = []
        self.code = code
        self.granted = granted
        self.present = present
        self.puback = 0  # what it answers to PUBLISH
        self._five = five
        self._deaf = deaf
        self._shy = shy
        self._speaks = 5
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        self._peer: socket.socket | None = None
        self._subscribed = threading.Event()
        self._manners = threading.Lock()  # it does not answer and hang up at once
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def kinds(self, kind: int) -> list[bytes]:
        """Return the bodies of all packets of a kind, as they came."""
        return [body for seen, body in self.seen if seen & 0xF0 == kind & 0xF0]

    def send(self, *packets: bytes) -> None:
        """Send packets once the client has subscribed."""
        assert self._subscribed.wait(10)
        assert self._peer is not None
        self._peer.sendall(b"".join(packets))

    def hang_up(self) -> None:
        """End the connection, once the client has subscribed."""
        assert self._subscribed.wait(10)
        assert self._peer is not None
        with self._manners:
            self._subscribed.clear()
            with suppress(OSError):  # the client was first
                self._peer.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End."""
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        if self._peer is not None:
            with suppress(OSError):
                self._peer.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)

    def _serve(self) -> None:
        while True:
            try:
                self._peer, _ = self._server.accept()
            except OSError:
                return
            with self._peer as peer, suppress(OSError):
                while packet := _receive(peer):
                    self.seen.append(packet)
                    if not self._deaf and not self._answer(peer, *packet):
                        break

    def _answer(self, peer: socket.socket, kind: int, body: bytes) -> bool:
        five = self._speaks == 5
        if kind == CONNECT:
            self._speaks = body[6]
            if self._speaks == 5 and not self._five:
                if self._five is False:
                    peer.sendall(bytes([0x20, 2, 0, 1]))
                return False
            flags = int(self.present and not self.code)
            tail = b"\x00" if self._speaks == 5 else b""
            peer.sendall(bytes([0x20, 2 + len(tail), flags, self.code]) + tail)
            return not self.code
        if kind in {SUBSCRIBE, UNSUBSCRIBE}:
            if self._shy and self._shy in body:
                self._subscribed.clear()
                return False
            filters = _filters(body, five=five, options=kind == SUBSCRIBE)
            codes = bytes([self.granted if kind == SUBSCRIBE else 0] * filters)
            answer = body[:2] + (b"\x00" if five else b"")
            answer += codes if five or kind == SUBSCRIBE else b""
            with self._manners:
                peer.sendall(bytes([0x90 if kind == SUBSCRIBE else 0xB0, len(answer)]) + answer)
                self._subscribed.set()
        elif kind == PINGREQ:
            peer.sendall(b"\xd0\x00")
        elif kind & 0xF0 == PUBLISH and kind & 0x06:
            length = struct.unpack_from("!H", body)[0]
            packet = body[2 + length : 4 + length]
            answer = packet + (bytes([self.puback, 0]) if self.puback else b"")
            peer.sendall(bytes([0x40, len(answer)]) + answer)
        return kind != DISCONNECT


def _receive(peer: socket.socket) -> tuple[int, bytes] | None:
    head = peer.recv(1, socket.MSG_WAITALL)
    if not head:
        return None
    length, shift = 0, 0
    while True:
        byte = peer.recv(1, socket.MSG_WAITALL)
        if not byte:
            return None
        length |= (byte[0] & 0x7F) << shift
        shift += 7
        if not byte[0] & 0x80:
            break
    body = peer.recv(length, socket.MSG_WAITALL) if length else b""
    return head[0], body


def _filters(body: bytes, *, five: bool, options: bool) -> int:
    """Return how many filters a SUBSCRIBE or UNSUBSCRIBE names."""
    at, number = 2 + five, 0  # the packet identifier, no properties
    while at < len(body):
        at += 2 + struct.unpack_from("!H", body, at)[0] + options
        number += 1
    return number
