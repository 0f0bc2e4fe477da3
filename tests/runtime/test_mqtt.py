"""The MQTT source against a broker that does what no good broker does."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from time import monotonic, sleep
from typing import Any

import pytest

from hushd.config.records import Mqtt
from hushd.runtime.inbox import Inbox
from hushd.runtime.logs import Quiet
from hushd.runtime.messages import Connected, Disconnected, Event, Message
from hushd.runtime.mqtt import MqttSource

CONNECT, SUBSCRIBE, PUBACK = 0x10, 0x82, 0x40


def publish(topic: bytes, payload: bytes, packet: int = 0) -> bytes:
    """Return a PUBLISH packet; QoS 1 if it has a packet identifier."""
    body = struct.pack("!H", len(topic)) + topic
    if packet:
        body += struct.pack("!H", packet)
    body += payload
    assert len(body) < 128
    return bytes([0x32 if packet else 0x30, len(body)]) + body


class Broker:
    """Speaks just enough MQTT 3.1.1; sends what the test gives it."""

    def __init__(self, code: int = 0, granted: int = 1) -> None:
        self.seen: list[tuple[int, bytes]] = []
        self._code = code
        self._granted = granted
        self._server = socket.create_server(("127.0.0.1", 0))
        self._peer: socket.socket | None = None
        self._subscribed = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        port: int = self._server.getsockname()[1]
        return port

    def send(self, *packets: bytes) -> None:
        assert self._subscribed.wait(10)
        assert self._peer is not None
        self._peer.sendall(b"".join(packets))

    def hang_up(self) -> None:
        assert self._subscribed.wait(10)
        assert self._peer is not None
        self._subscribed.clear()
        self._peer.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._thread.join(5)

    def _serve(self) -> None:
        while True:
            try:
                self._peer, _ = self._server.accept()
            except OSError:
                return
            with self._peer as peer:
                while packet := self._receive(peer):
                    self._answer(peer, *packet)

    def _receive(self, peer: socket.socket) -> tuple[int, bytes] | None:
        try:
            head = peer.recv(2, socket.MSG_WAITALL)
            return (head[0], peer.recv(head[1], socket.MSG_WAITALL)) if len(head) == 2 else None
        except OSError:
            return None

    def _answer(self, peer: socket.socket, kind: int, body: bytes) -> None:
        self.seen.append((kind, body))
        if kind == CONNECT:
            peer.sendall(bytes([0x20, 2, 0, self._code]))
        elif kind == SUBSCRIBE:
            peer.sendall(bytes([0x90, 3]) + body[:2] + bytes([self._granted]))
            self._subscribed.set()


class Diary(Quiet):
    def __init__(self) -> None:
        self.lines: list[tuple[str, dict[str, Any]]] = []

    def bind(self, **fields: Any) -> "Diary":
        return self

    def warning(self, event: str, **fields: Any) -> None:
        self.lines.append((event, fields))

    error = warning

    def has(self, event: str) -> dict[str, Any] | None:
        return next((fields for name, fields in self.lines if name == event), None)


def eventually(condition: Callable[[], Any]) -> Any:
    until = monotonic() + 10
    while not (found := condition()):
        assert monotonic() < until, "it did not come about"
        sleep(0.005)
    return found


@pytest.fixture
def connect() -> Iterator[Callable[..., tuple[Broker, MqttSource, Inbox, Diary]]]:
    """Return a function that connects a source to a broker with the given answers."""
    started: list[tuple[Broker, MqttSource]] = []

    def make(*, code: int = 0, granted: int = 1) -> tuple[Broker, MqttSource, Inbox, Diary]:
        broker, inbox, diary = Broker(code, granted), Inbox(100), Diary()
        mqtt = Mqtt("127.0.0.1", broker.port)
        source = MqttSource(mqtt, ["home/+/noise", "home/+/noise"], inbox, diary)
        started.append((broker, source))
        return broker, source, inbox, diary

    yield make
    for broker, source in started:
        source.stop()
        broker.close()


def taken(inbox: Inbox, number: int) -> list[Message]:
    found: list[Message] = []
    until = monotonic() + 10
    while len(found) < number and monotonic() < until:
        event = inbox.take(1)
        found += event if isinstance(event, list) else []
    return found


def test_one_subscription_for_each_filter_at_qos_1(connect):
    broker, *_ = connect()
    eventually(lambda: broker.seen[-1:] and broker.seen[-1][0] == SUBSCRIBE)
    assert broker.seen[-1][1][2:] == b"\x00\x0chome/+/noise\x01"


def test_a_topic_that_is_not_utf8_survives_and_stops_nothing(connect):
    broker, source, inbox, _ = connect()
    broker.send(publish(b"home/\xff/noise", b"1"), publish(b"home/a/noise", b"2"))
    assert [(m.topic, m.payload) for m in taken(inbox, 2)] == [
        (b"home/\xff/noise", b"1"),
        (b"home/a/noise", b"2"),
    ]
    assert source.failures == 0


def test_messages_are_acknowledged_when_the_loop_says_so(connect):
    broker, source, inbox, _ = connect()
    broker.send(publish(b"home/a/noise", b"1", packet=7), publish(b"home/a/noise", b"2"))
    batch = taken(inbox, 2)
    assert [(m.qos, m.packet) for m in batch] == [(1, 7), (0, 0)]
    assert PUBACK not in [kind for kind, _ in broker.seen]
    source.acknowledge(batch)
    eventually(lambda: broker.seen[-1] == (PUBACK, b"\x00\x07"))


def test_a_message_of_a_lost_connection_is_not_acknowledged_on_the_next(connect):
    broker, source, inbox, _ = connect()
    broker.send(publish(b"home/a/noise", b"1", packet=7))
    batch = taken(inbox, 1)
    broker.hang_up()
    broker.send(publish(b"home/a/noise", b"2", packet=8))
    batch += taken(inbox, 1)
    source.acknowledge(batch)
    eventually(lambda: broker.seen[-1][0] == PUBACK)
    assert [body for kind, body in broker.seen if kind == PUBACK] == [b"\x00\x08"]


def test_the_loop_hears_of_the_connection(connect):
    broker, _, inbox, diary = connect()
    heard: list[Event | None] = [inbox.take(10)]
    broker.hang_up()
    heard += [inbox.take(10), inbox.take(10)]
    assert heard[0] == heard[2] == Connected()
    assert isinstance(heard[1], Disconnected)
    assert diary.has("mqtt.disconnected")


def test_a_refused_subscription_is_said(connect):
    *_, diary = connect(granted=0x80)
    fields = eventually(lambda: diary.has("mqtt.subscription_refused"))
    assert fields["filter"] == "home/+/noise"


@pytest.mark.parametrize(
    ("code", "hint"), [(4, "mqtt.password"), (5, "access list"), (2, "mqtt.client_id")]
)
def test_a_refusal_comes_with_the_way_out(connect, code, hint):
    *_, diary = connect(code=code)
    assert hint in eventually(lambda: diary.has("mqtt.refused"))["hint"]


def test_the_same_complaint_is_made_once_a_minute():
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    diary = Diary()
    source = MqttSource(Mqtt("127.0.0.1", port), ["a"], Inbox(10), diary)
    sleep(2.2)  # at least two attempts
    source.stop()
    assert [event for event, _ in diary.lines] == ["mqtt.unreachable"]


def test_a_network_thread_that_died_is_replaced(connect, monkeypatch):
    broker, source, inbox, diary = connect()
    assert inbox.take(10) == Connected()
    # what ends paho's thread cannot be named in advance, or it would have been dealt with
    monkeypatch.setattr(threading, "excepthook", lambda args: None)

    def explode(*args: object) -> None:
        raise RuntimeError("unforeseen")

    source._client.on_message = explode
    broker.send(publish(b"home/a/noise", b"1"))
    eventually(lambda: not source._thread_lives())
    source.watch()
    assert diary.has("mqtt.thread_died")
    assert isinstance(inbox.take(10), Disconnected)
    assert inbox.take(10) == Connected()
    broker.send(publish(b"home/a/noise", b"2"))
    assert [m.payload for m in taken(inbox, 1)] == [b"2"]
