"""The MQTT source against a broker that does what no good broker does."""

import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import pytest
from fake_broker import CONNECT, DISCONNECT, PUBACK, SUBSCRIBE, UNSUBSCRIBE, FakeBroker, publish
from waiting import Diary, eventually

from hushd.config.records import Mqtt
from hushd.runtime import framing
from hushd.runtime.connection import Pauses, Will
from hushd.runtime.inbox import Inbox
from hushd.runtime.messages import Connected, Disconnected, Dropped, Event, Message
from hushd.runtime.mqtt import MqttSource
from hushd.runtime.overflow import COUNTER
from hushd.runtime.sessions import Memory

REPO = Path(__file__).resolve().parents[2]
QUICK = Pauses(first=0.02, longest=0.1, greeting=5, refused=0.05)


class Scene(NamedTuple):
    broker: FakeBroker
    source: MqttSource
    inbox: Inbox
    diary: Diary


@pytest.fixture(params=["bulk", "plain"])
def ingest(request) -> str:
    return str(request.param)


@pytest.fixture
def connect(ingest) -> Iterator[Callable[..., Scene]]:
    """Return a function that connects a source to a broker with the given manners."""
    with ExitStack() as stack:

        def make(
            filters: tuple[str, ...] = ("home/+/noise", "home/+/noise"),
            pauses: Pauses = QUICK,
            memory: Memory | None = None,
            will: Will | None = None,
            expiry: int = 86_400 * 10**9,
            **manners: Any,
        ) -> Scene:
            broker, inbox, diary = FakeBroker(**manners), Inbox(100), Diary()
            stack.callback(broker.close)
            source = MqttSource(
                Mqtt(
                    "127.0.0.1",
                    broker.port,
                    keepalive=5 * 10**9,
                    session_expiry=expiry,
                    ingest=ingest,
                ),
                filters,
                inbox,
                diary,
                client_id="h",
                memory=memory,
                will=will,
                waiting=100,
                pauses=pauses,
            )
            stack.callback(source.stop)
            source.start()
            return Scene(broker, source, inbox, diary)

        yield make


def taken(inbox: Inbox, number: int) -> list[Message]:
    found: list[Message] = []
    until = monotonic() + 10
    while len(found) < number and monotonic() < until:
        event = inbox.take(1)
        found += event if isinstance(event, list) else []
    return found


def asked(broker: FakeBroker) -> list[bytes]:
    """Return the subscriptions to what sensors read."""
    return [body for body in broker.kinds(SUBSCRIBE) if COUNTER.encode() not in body]


# -- what is asked of the broker -----------------------------------------------------------


def test_it_asks_for_a_kept_session_and_for_no_more_than_it_can_hold(connect):
    broker, *_ = connect()
    (body,) = eventually(lambda: broker.kinds(CONNECT))
    assert body[:8] == b"\x00\x04MQTT\x05\x00"  # version 5, and not a clean start
    assert b"\x11" + (86_400).to_bytes(4, "big") in body  # session expiry: a day
    assert b"\x21\x00\x64" in body  # receive maximum: what the inbox holds, 100
    assert b"\x27" + (65_536 * 2 + 1024).to_bytes(4, "big") in body  # maximum packet size


def test_one_subscription_for_each_filter_at_qos_1(connect):
    broker, *_ = connect()
    (body,) = eventually(lambda: asked(broker))
    # at most QoS 1; retained messages for a new subscription only
    assert body[3:] == b"\x00\x0chome/+/noise\x11"


def test_a_filter_that_another_covers_is_not_asked_for(connect):
    broker, *_ = connect(("home/#", "home/+/noise", "yard"))
    (body,) = eventually(lambda: asked(broker))
    assert body[3:] == b"\x00\x06home/#\x11\x00\x04yard\x11"


def test_the_broker_is_told_what_to_say_of_us(connect):
    broker, *_ = connect(will=Will("hushd/h/status", b"offline"))
    (body,) = eventually(lambda: broker.kinds(CONNECT))
    assert b"\x00\x0ehushd/h/status\x00\x07offline" in body
    assert body[7] & 0x3C == 0x2C  # a will, at QoS 1, retained


# -- MQTT 3.1.1 -------------------------------------------------------------------------------


@pytest.mark.parametrize("five", [False, None], ids=["says so", "hangs up"])
def test_a_broker_that_does_not_know_mqtt_5_is_spoken_to_in_3_1_1(five, connect):
    broker, source, inbox, diary = connect(five=five)
    broker.send(publish(b"home/a/noise", b"1", packet=7, five=False))
    batch = taken(inbox, 1)
    source.acknowledge(batch)
    eventually(lambda: broker.kinds(PUBACK) == [b"\x00\x07"])
    assert source.link.protocol == "3.1.1"
    broker.hang_up()
    diary.wait_for("mqtt.connected", times=2)
    assert len(diary.all("mqtt.fell_back")) == 1  # said once
    assert not broker.kinds(CONNECT)[-1][7] & 2  # not a clean session


def test_in_3_1_1_a_kept_session_is_not_subscribed_again(connect, tmp_path):
    # the broker would send again all that it retained
    memory = Memory(tmp_path / "memory", "h", Diary())
    memory.keep(["home/+/noise"])
    broker, _, _, diary = connect(memory=memory, five=False, present=True)
    diary.wait_for("mqtt.connected")
    assert asked(broker) == []


# -- messages ------------------------------------------------------------------------------


def test_a_topic_that_is_not_utf8_survives_and_stops_nothing(connect):
    broker, source, inbox, _ = connect()
    broker.send(publish(b"home/\xff/noise", b"1"), publish(b"home/a/noise", b"2"))
    assert [(m.topic, m.payload) for m in taken(inbox, 2)] == [
        (b"home/\xff/noise", b"1"),
        (b"home/a/noise", b"2"),
    ]
    assert source.failures == 0


def test_w33_what_a_callback_raises_costs_one_message(connect, monkeypatch):
    broker, source, inbox, diary = connect()
    offer_all = inbox.offer_all

    def picky(messages: list[Message]) -> None:
        if messages[0].payload == b"13":
            raise RuntimeError("thirteen")
        offer_all(messages)

    monkeypatch.setattr(inbox, "offer_all", picky)
    broker.send(publish(b"home/a/noise", b"13"))
    diary.wait_for("mqtt.callback_failed")
    broker.send(publish(b"home/a/noise", b"14"))
    assert [m.payload for m in taken(inbox, 1)] == [b"14"]
    assert source.failures == 1
    assert "thirteen" in diary.wait_for("mqtt.callback_failed")["error"]
    assert len(broker.kinds(CONNECT)) == 1  # and not the connection


@pytest.mark.parametrize("five", [True, False], ids=["5", "3.1.1"])
def test_what_the_broker_has_sent_before_is_marked(connect, five):
    broker, _, inbox, _ = connect(five=five)
    broker.send(
        publish(b"home/a/noise", b"1", packet=7, five=five),
        publish(b"home/a/noise", b"2", packet=8, five=five, again=True),
        publish(b"home/a/noise", b"3", five=five),
    )
    assert [(m.packet, m.again) for m in taken(inbox, 3)] == [(7, False), (8, True), (0, False)]


def test_messages_are_acknowledged_when_the_loop_says_so(connect):
    broker, source, inbox, _ = connect()
    broker.send(publish(b"home/a/noise", b"1", packet=7), publish(b"home/a/noise", b"2"))
    batch = taken(inbox, 2)
    assert [(m.qos, m.packet) for m in batch] == [(1, 7), (0, 0)]
    assert broker.kinds(PUBACK) == []
    source.acknowledge(batch)
    eventually(lambda: broker.kinds(PUBACK) == [b"\x00\x07"])


def test_what_was_judged_is_acknowledged_before_the_farewell(connect):
    broker, source, inbox, _ = connect()
    broker.send(publish(b"home/a/noise", b"1", packet=7))
    source.acknowledge(taken(inbox, 1))
    source.stop()
    eventually(lambda: [kind for kind, _ in broker.seen][-2:] == [PUBACK, DISCONNECT])


def test_a_message_of_a_lost_connection_is_not_acknowledged_on_the_next(connect):
    broker, source, inbox, _ = connect()
    broker.send(publish(b"home/a/noise", b"1", packet=7))
    batch = taken(inbox, 1)
    broker.hang_up()
    broker.send(publish(b"home/a/noise", b"2", packet=8))
    batch += taken(inbox, 1)
    source.acknowledge(batch)
    eventually(lambda: broker.kinds(PUBACK) == [b"\x00\x08"])


def test_a_copy_on_the_same_connection_is_not_acknowledged_twice(connect):
    # the second acknowledgement would meet what comes next under the identifier
    broker, source, inbox, _ = connect(five=False)
    message = publish(b"home/a/noise", b"1", packet=7, five=False)
    copy = publish(b"home/a/noise", b"1", packet=7, five=False, again=True)
    broker.send(message, copy, publish(b"home/a/noise", b"2", packet=7, five=False))
    first, second, third = taken(inbox, 3)
    source.acknowledge([second])
    source.acknowledge([first])
    eventually(lambda: broker.kinds(PUBACK) == [b"\x00\x07"])
    source.acknowledge([third])
    eventually(lambda: broker.kinds(PUBACK) == [b"\x00\x07"] * 2)


def test_a_copy_on_the_next_connection_is_acknowledged(connect):
    broker, source, inbox, _ = connect(present=True)
    broker.send(publish(b"home/a/noise", b"1", packet=7))
    batch = taken(inbox, 1)
    broker.hang_up()
    broker.send(publish(b"home/a/noise", b"1", packet=7, again=True))
    batch += taken(inbox, 1)
    source.acknowledge(batch)
    eventually(lambda: broker.kinds(PUBACK) == [b"\x00\x07"])


# -- the connection ------------------------------------------------------------------------


def test_nothing_is_announced_after_the_farewell(connect):
    broker, source, inbox, _ = connect()
    inbox.resize(1)
    # the thread waits for room in the inbox, longer than the farewell waits for the thread
    broker.send(*(publish(b"home/a/noise", b"1", packet=n) for n in (1, 2, 3)))
    eventually(lambda: inbox.waiting == 1)
    source.stop()
    inbox.announce(Connected())  # another source is there
    inbox.close()
    eventually(lambda: not source.alive)
    news = []
    while (event := inbox.take(0)) is not None:
        news += [] if isinstance(event, list) else [type(event)]
    assert news[-2:] == [Disconnected, Connected]


def test_over_tls_nothing_gets_in_front_of_what_was_begun(connect):
    """OpenSSL keeps a record that did not go out, and takes nothing else before it."""
    connection = connect().source._connection
    connection.stop()
    said: list[str] = []

    class Busy:
        full = True

        def send(self, data: bytearray) -> int:
            if self.full:
                raise ssl.SSLWantWriteError
            said.append("ours")
            return len(data)

    class Client:
        def want_write(self) -> bool:
            return not self.idle

        idle = True

        def loop_write(self) -> None:
            said.append("paho's")

        def socket(self) -> Busy:
            return busy

    busy, client = Busy(), Client()
    connection._unsent += b"@\x02\x00\x07"
    connection._write(client, busy)
    client.idle = busy.full = False
    connection._write(client, busy)
    connection._write(client, busy)
    assert said == ["ours", "paho's"]


def test_the_loop_hears_of_the_connection(connect):
    broker, _, inbox, diary = connect()
    heard: list[Event | None] = [inbox.take(10)]
    broker.hang_up()
    heard += [inbox.take(10), inbox.take(10)]
    assert (heard[0], heard[2]) == (Connected(), Connected(kept=False))
    assert isinstance(heard[1], Disconnected)
    assert diary.wait_for("mqtt.disconnected")["reason"] == "the broker closed the connection"


@pytest.mark.parametrize(
    ("code", "hint"),
    [(0x86, "mqtt.password"), (0x87, "access list"), (0x85, "mqtt.client_id"), (0x97, "broker's")],
)
def test_a_refusal_comes_with_the_way_out(connect, code, hint):
    *_, diary = connect(code=code)
    assert hint in diary.wait_for("mqtt.refused")["hint"]


def test_after_a_refusal_it_is_tried_again(connect):
    broker, _, inbox, diary = connect(code=0x86)
    eventually(lambda: len(broker.kinds(CONNECT)) >= 3)
    assert len(diary.all("mqtt.refused")) == 1  # the same complaint not more than once a minute
    broker.code = 0
    assert inbox.take(10) == Connected()


def test_who_is_not_there_is_complained_of_once_a_minute_and_tried_again():
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    diary, inbox = Diary(), Inbox(10)
    source = MqttSource(Mqtt("127.0.0.1", port), ["a"], inbox, diary, client_id="h", pauses=QUICK)
    source.start()
    eventually(lambda: source._connection._tries >= 4)
    source.stop()
    assert [event for event, _ in diary.lines] == ["mqtt.unreachable"]
    assert inbox.take(0) is None  # it was never there, so it was not lost either


def test_who_never_answers_is_given_up_and_tried_again(connect):
    broker, _, _, diary = connect(deaf=True, pauses=QUICK._replace(greeting=0.1))
    eventually(lambda: len(broker.kinds(CONNECT)) >= 2)
    assert diary.wait_for("mqtt.unreachable")["reason"] == "it does not answer"


def test_who_has_spoken_mqtt_5_and_hangs_up_is_only_restarting(connect):
    broker, source, *_ = connect()
    eventually(lambda: source.link.connected)
    broker._five = None  # as a port that a container's host holds open while the broker is away
    broker.hang_up()
    eventually(lambda: len(broker.kinds(CONNECT)) >= 4)
    broker._five = True
    eventually(lambda: source.link.connected)
    assert source.link.protocol == "5"
    assert {body[6] for body in broker.kinds(CONNECT)} == {5}


def test_who_hangs_up_without_a_word_is_asked_about_port_and_tls(connect):
    *_, diary = connect(five=None)
    assert "mqtt.tls" in diary.wait_for("mqtt.unreachable")["hint"]


def test_pauses_grow_and_are_not_quite_regular():
    source = MqttSource(Mqtt(), [], Inbox(10), Diary(), client_id="h")
    pauses = [source._connection._pause() for _ in range(12)]
    for n, pause in enumerate(pauses):
        assert 0.75 * min(2**n, 30) <= pause <= 1.25 * min(2**n, 30)
    assert len({pause / min(2**n, 30) for n, pause in enumerate(pauses)}) > 1


def test_a_name_server_that_hangs_holds_up_only_its_own_thread(monkeypatch):
    gate = threading.Event()

    def hang(*args: object, **more: object) -> None:
        gate.wait(20)
        raise OSError("no name server")

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    source = MqttSource(Mqtt("broker.lan"), ["a"], Inbox(10), Diary(), client_id="h")
    began = monotonic()
    source.start()
    source.watch()
    source.acknowledge([Message(b"a", b"1", 0, 1, False, 1, 0)])
    assert monotonic() - began < 1
    monkeypatch.setattr("hushd.runtime.connection.Connection.stop.__defaults__", (0.1,))
    source.stop()
    assert monotonic() - began < 3
    gate.set()
    source._connection._thread.join(5)


@pytest.mark.parametrize("host", ["bad..host", "a" * 64 + ".lan"])
def test_a_name_that_is_none_ends_no_thread(host):
    # the configuration refuses it; paho's own thread would end
    source = MqttSource(Mqtt(host), ["a"], Inbox(10), Diary(), client_id="h", pauses=QUICK)
    source.start()
    eventually(lambda: source._connection._tries >= 3)
    assert source.alive
    source.stop()


def test_a_name_server_that_comes_back_is_asked_again(connect, monkeypatch):
    look_up, asked = socket.getaddrinfo, 0

    def fail_twice(*args: Any, **more: Any) -> Any:
        nonlocal asked
        asked += 1
        if asked <= 2:
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return look_up(*args, **more)

    monkeypatch.setattr(socket, "getaddrinfo", fail_twice)
    _, _, inbox, diary = connect()
    assert inbox.take(10) == Connected()
    assert "temporary failure" in diary.all("mqtt.unreachable")[0]["reason"]


def test_nothing_of_ours_forks():
    # a child would have no network thread, and believe that it is connected
    for path in (REPO / "daemon").rglob("*.py"):
        assert not re.search(r"\bfork\(|\bmultiprocessing\b|preexec_fn", path.read_text()), path


def test_w40_what_paho_cannot_cope_with_costs_one_connection(connect, monkeypatch):
    broker, source, inbox, diary = connect(present=True)
    assert inbox.take(10) == Connected()

    def explode(*args: object) -> None:
        monkeypatch.undo()
        raise RuntimeError("unforeseen")

    monkeypatch.setattr(source, "messages", explode)
    source._connection._client.on_message = explode
    broker.send(publish(b"home/a/noise", b"1"))
    assert "unforeseen" in diary.wait_for("mqtt.failed")["error"]
    assert isinstance(inbox.take(10), Disconnected)
    assert inbox.take(10) == Connected()
    broker.send(publish(b"home/a/noise", b"2"))
    assert [m.payload for m in taken(inbox, 1)] == [b"2"]
    assert source._connection.alive


def test_w40_a_network_thread_that_died_all_the_same_is_replaced(connect, monkeypatch):
    broker, source, inbox, diary = connect(present=True)
    assert inbox.take(10) == Connected()
    monkeypatch.setattr(threading, "excepthook", lambda args: None)
    messages = source.messages

    def die(*args: object) -> None:
        source.messages = messages
        raise SystemExit  # not an Exception: nothing of ours catches it

    source.messages = die
    source._connection._client.on_message = die
    broker.send(publish(b"home/a/noise", b"1"))
    eventually(lambda: not source._connection.alive)
    source.watch()
    assert diary.wait_for("mqtt.thread_died")
    assert isinstance(inbox.take(10), Disconnected)
    assert inbox.take(10) == Connected()
    broker.send(publish(b"home/a/noise", b"2"))
    assert [m.payload for m in taken(inbox, 1)] == [b"2"]


@pytest.mark.parametrize(
    "junk",
    [
        b"\x30\xff\xff\xff\x7f",  # announces 256 MB
        b"\x30\xff\xff\xff\xff\xff",  # a length that does not end
        b"\x32\x02\x00\x09",  # a topic longer than its packet
        b"\xf0\x00\x00",  # AUTH, which nobody began
        b"\x00\x00",  # no such packet
    ],
)
def test_packets_that_are_none_end_no_thread(connect, junk):
    broker, source, inbox, _ = connect()
    broker.send(junk)
    broker.hang_up()
    broker.send(publish(b"home/a/noise", b"2"))
    assert [m.payload for m in taken(inbox, 1)] == [b"2"]
    assert source._connection.alive


# -- subscriptions and sessions ----------------------------------------------------------------


def test_a_refused_subscription_is_said_once_and_asked_for_again(connect):
    broker, source, _, diary = connect(granted=0x87)
    fields = diary.wait_for("mqtt.subscription_refused")
    assert (fields["filter"], fields["reason"]) == ("home/+/noise", "Not authorized")
    assert source.refused == ["home/+/noise"]
    source._connection.wake()
    eventually(lambda: (source._connection.wake(), len(asked(broker)) >= 3)[1])
    assert len(diary.all("mqtt.subscription_refused")) == 1
    broker.granted = 1
    eventually(lambda: (source._connection.wake(), source.refused == [])[1])
    assert diary.all("mqtt.subscription_granted") == [{"filter": "home/+/noise"}]


def test_a_subscription_at_qos_0_is_said_to_lose(connect):
    *_, diary = connect(granted=0)
    assert "lost" in diary.wait_for("mqtt.qos_lowered")["hint"]


def test_w30_what_a_kept_session_holds_and_nobody_wants_is_unsubscribed(connect, tmp_path):
    path = tmp_path / "memory.json"
    Memory(path, "h", Diary()).keep(["a/#"])
    broker, _, _, diary = connect(("b/#",), memory=Memory(path, "h", Diary()), present=True)
    diary.wait_for("mqtt.connected")
    assert [body[3:] for body in broker.kinds(UNSUBSCRIBE)] == [b"\x00\x03a/#"]
    assert [body[3:] for body in asked(broker)] == [b"\x00\x03b/#\x11"]
    assert Memory(path, "h", Diary()).filters == {"b/#"}


def test_w30_filters_change_while_it_runs(connect, tmp_path):
    path = tmp_path / "memory.json"
    broker, source, _, diary = connect(("a/#", "c"), memory=Memory(path, "h", Diary()))
    diary.wait_for("mqtt.connected")
    source.change(["b/#", "c"])
    eventually(lambda: Memory(path, "h", Diary()).filters == {"b/#", "c"})
    assert [body[3:] for body in broker.kinds(UNSUBSCRIBE)] == [b"\x00\x03a/#"]
    assert asked(broker)[1][3:] == b"\x00\x03b/#\x11"
    assert len(broker.kinds(CONNECT)) == 1


def test_a_refused_filter_is_not_remembered_as_held(connect, tmp_path):
    path = tmp_path / "memory.json"
    *_, diary = connect(memory=Memory(path, "h", Diary()), granted=0x87)
    diary.wait_for("mqtt.subscription_refused")
    eventually(lambda: Memory(path, "h", Diary()).filters == frozenset())


def test_g5_a_session_that_the_broker_forgot_is_said_and_told(connect, tmp_path):
    memory = Memory(tmp_path / "memory", "h", Diary())
    memory.keep(["home/+/noise"])
    _, _, inbox, diary = connect(memory=memory, present=False)
    assert "gone" in diary.wait_for("mqtt.session_lost")["hint"]
    assert inbox.take(10) == Connected(kept=False)


def test_a_loss_that_did_not_reach_the_store_is_told_again_after_a_restart(connect, tmp_path):
    path = tmp_path / "memory"
    Memory(path, "h", Diary()).keep(["home/+/noise"])
    _, source, inbox, _ = connect(memory=Memory(path, "h", Diary()), present=False)
    assert inbox.take(10) == Connected(kept=False)
    source.stop()  # as the end of a process before the commit
    _, source, inbox, _ = connect(memory=Memory(path, "h", Diary()), present=True)
    assert inbox.take(10) == Connected(kept=False)
    source.recorded()
    source.stop()
    _, _, inbox, _ = connect(memory=Memory(path, "h", Diary()), present=True)
    assert inbox.take(10) == Connected()


def test_the_first_session_is_not_a_lost_one(connect):
    _, _, inbox, diary = connect()
    diary.wait_for("mqtt.connected")
    assert diary.all("mqtt.session_lost") == []
    assert inbox.take(10) == Connected()


def test_without_a_session_none_is_lost(connect):
    broker, _, inbox, diary = connect(expiry=0)
    assert inbox.take(10) == Connected()
    broker.hang_up()
    assert isinstance(inbox.take(10), Disconnected)
    assert inbox.take(10) == Connected()
    assert diary.all("mqtt.session_lost") == []


# -- what the broker has dropped -----------------------------------------------------------


def counted(number: int) -> bytes:
    return publish(COUNTER.encode(), b"%d" % number)


def test_what_the_broker_drops_is_told_and_is_no_message(connect):
    broker, _, inbox, _ = connect()
    broker.send(counted(5), counted(5), counted(12), publish(b"home/a/noise", b"1"))
    news = [inbox.take(10) for _ in range(3)]
    assert news[:2] == [Connected(), Dropped(7)]
    assert [m.payload for m in news[2]] == [b"1"]


def test_what_the_broker_drops_is_asked_for_on_each_return_as_it_stands(connect):
    broker, *_ = connect(present=True)

    def wishes() -> list[bytes]:
        return [body for body in broker.kinds(SUBSCRIBE) if COUNTER.encode() in body]

    eventually(wishes)
    broker.hang_up()
    for body in eventually(lambda: len(wishes()) == 2 and wishes()):
        assert body[-1] == 0  # QoS 0; what the broker keeps is wanted


@pytest.mark.parametrize("payload", [b"", b"many", b"-1", b"1.5", b"9" * 400])
def test_a_count_that_is_none_is_not_heeded(connect, payload):
    broker, source, inbox, _ = connect()
    broker.send(publish(COUNTER.encode(), payload) if len(payload) < 50 else b"", counted(1))
    broker.send(counted(2))
    assert [inbox.take(10), inbox.take(10)] == [Connected(), Dropped(1)]
    assert source.failures == 0


def test_a_user_who_may_not_read_the_count_hears_nothing_of_it(connect):
    broker, source, _, diary = connect(granted=0x87)
    diary.wait_for("mqtt.connected")
    eventually(lambda: source._overflow._packet is None and len(broker.kinds(SUBSCRIBE)) >= 2)
    assert source.refused == ["home/+/noise"]
    assert [fields["filter"] for fields in diary.all("mqtt.subscription_refused")] == source.refused


def test_a_sensor_may_read_the_count_too(connect):
    broker, _, inbox, diary = connect(("$SYS/broker/#",))
    diary.wait_for("mqtt.connected")
    broker.send(counted(5))
    assert [m.payload for m in taken(inbox, 1)] == [b"5"]
    broker.send(counted(6))
    assert inbox.take(10) == Dropped(1)
    assert [m.payload for m in taken(inbox, 1)] == [b"6"]
    assert not [body for body in broker.kinds(SUBSCRIBE) if COUNTER.encode() in body]


def test_a_broker_that_hangs_up_on_who_asks_for_the_count_is_not_asked_for_ever(connect):
    broker, source, inbox, diary = connect(shy=COUNTER.encode(), present=True)
    diary.wait_for("mqtt.connected", times=3)
    broker.send(publish(b"home/a/noise", b"1", packet=7))
    source.acknowledge(taken(inbox, 1))
    eventually(lambda: broker.kinds(PUBACK))
    assert len(broker.kinds(CONNECT)) == 3
    assert len(broker.kinds(SUBSCRIBE)) - len(asked(broker)) == 2


# -- by the chunk, or one by one --------------------------------------------------------------


@pytest.mark.parametrize(("ingest", "level"), [("auto", "warning"), ("bulk", "error")])
def test_a_paho_that_cannot_be_read_by_the_chunk_is_read_one_by_one(
    connect, ingest, level, monkeypatch
):
    monkeypatch.setattr("paho.mqtt.client.Client._create_socket", None)
    assert not framing.sound()
    monkeypatch.undo()
    monkeypatch.setattr(framing, "sound", lambda: False)
    broker, _, inbox, diary = connect()
    broker.send(publish(b"home/a/noise", b"1"))
    assert [m.payload for m in taken(inbox, 1)] == [b"1"]
    assert diary.wait_for("mqtt.ingest_plain")


def test_a_message_that_is_too_long_is_cut_off_and_the_next_one_read(connect, ingest):
    broker, _, inbox, _ = connect(five=False)  # which does not know of a longest packet
    body = b"\x00\x0chome/a/noise" + b"9" * 1_000_000
    assert len(body) == 1_000_014
    broker.send(b"\x30\xce\x84\x3d" + body, publish(b"home/a/noise", b"1", five=False))
    first, second = taken(inbox, 2)
    assert (
        len(first.payload) == 1_000_000
        if ingest == "plain"
        else 65_536 < len(first.payload) < 300_000
    )
    assert second.payload == b"1"


# -- what is written of it ---------------------------------------------------------------------


def test_every_line_of_the_log_is_explained():
    said = set()
    for path in (REPO / "daemon/hushd/runtime").glob("*.py"):
        said |= set(re.findall(r'"(mqtt\.[a-z_]+)"', path.read_text()))
    page = (REPO / "docs/mqtt.md").read_text()
    explained = set(re.findall(r"`(mqtt\.[a-z_]+)`", page[page.index("## What the log says") :]))
    assert said == explained
