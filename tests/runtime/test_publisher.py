"""What hushd publishes, against a broker that takes it, refuses it, or is not there."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from fake_broker import CONNECT, DISCONNECT, PUBLISH, FakeBroker
from waiting import Diary, eventually

from hushd.config.records import Mqtt
from hushd.plugin.records import NotSentError
from hushd.runtime.connection import Pauses
from hushd.runtime.publisher import Job, Publisher

QUICK = Pauses(first=0.02, longest=0.1)


@pytest.fixture
def make() -> Iterator[Callable[..., tuple[FakeBroker, Publisher, Diary]]]:
    with ExitStack() as stack:

        def build(status: str = "", **manners: Any) -> tuple[FakeBroker, Publisher, Diary]:
            broker, diary = FakeBroker(**manners), Diary()
            stack.callback(broker.close)
            publisher = Publisher(
                Mqtt("127.0.0.1", broker.port), "h-pub", diary, status=status, pauses=QUICK
            )
            stack.callback(publisher.close, b"offline")
            return broker, publisher, diary

        yield build


def test_it_connects_when_there_is_something_to_publish_and_returns_when_the_broker_has_it(make):
    broker, publisher, _ = make()
    assert broker.seen == []
    publisher.publish("a/b", b"1", retain=True)
    (kind, body) = broker.seen[-1]
    assert (kind, body[:5], body[8:]) == (PUBLISH | 0x03, b"\x00\x03a/b", b"1")
    assert broker.kinds(CONNECT)[0][7] == 2  # a clean start: nothing is kept for it


def test_small_packets_go_out_at_once(make):
    _, publisher, _ = make()
    publisher.publish("a", b"1")
    sock = publisher._connection._client.socket()
    assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_what_the_broker_refuses_is_an_error(make):
    broker, publisher, _ = make()
    broker.puback = 0x87
    with pytest.raises(PermissionError, match="Not authorized"):
        publisher.publish("a", b"1")
    broker.puback = 0
    publisher.publish("a", b"1")


@pytest.mark.parametrize("topic", ["", "a/+", "#", "a\0", "a" * 65_536])
def test_a_topic_that_is_none_is_an_error(make, topic):
    _, publisher, _ = make()
    with pytest.raises(OSError, match="cannot publish"):
        publisher.publish(topic, b"1")


def test_where_nobody_listens_it_fails_soon_and_says_why():
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    publisher = Publisher(Mqtt("127.0.0.1", port), "h-pub", Diary(), pauses=QUICK)
    with pytest.raises(NotSentError, match="refused"):
        publisher.publish("a", b"1")
    publisher.close(b"")


def test_who_does_not_answer_is_not_waited_for_longer_than_asked(make):
    _, publisher, _ = make(deaf=True)
    with pytest.raises(NotSentError, match=r"not published within 0\.1 s"):
        publisher.publish("a", b"1", timeout=0.1)


def test_what_was_sent_and_not_answered_may_have_arrived(make):
    broker, publisher, _ = make()
    publisher.publish("a", b"1")
    broker._deaf = True  # from now on
    with pytest.raises(TimeoutError, match=r"not published within 0\.5 s"):
        publisher.publish("a", b"2", timeout=0.5)
    assert len(broker.kinds(PUBLISH)) == 2


def test_what_nobody_waits_for_any_more_is_not_published(make):
    broker, publisher, _ = make(code=0x88)
    with pytest.raises(OSError, match=r"."):
        publisher.publish("old", b"1", timeout=0.01)
    broker.code = 0
    eventually(lambda: _published(publisher, "new"))
    assert [body[2:5] for body in broker.kinds(PUBLISH)] == [b"new"]


def _published(publisher: Publisher, topic: str) -> bool:
    try:
        publisher.publish(topic, b"2", timeout=1)
    except OSError:
        return False
    return True


def test_a_connection_that_is_lost_is_made_again(make):
    broker, publisher, _ = make()
    publisher.publish("a", b"1")
    broker._subscribed.set()
    broker.hang_up()
    eventually(lambda: _published(publisher, "a"))
    assert len(broker.kinds(CONNECT)) >= 2


def test_many_threads_may_publish(make):
    broker, publisher, _ = make()
    threads = [
        threading.Thread(target=lambda: [publisher.publish("a", b"1") for _ in range(50)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(broker.kinds(PUBLISH)) == 200


def test_what_is_added_meanwhile_does_not_disturb_a_greeting(make):
    _, publisher, _ = make(status="hushd/h/status")

    class Meddler(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            adding = threading.Thread(
                target=publisher._hand_over, args=(Job("b", b"", 0, retain=False),)
            )
            adding.start()
            adding.join(0.2)
            return False

        __hash__ = str.__hash__

    publisher._started, publisher._word = True, b"online"
    publisher._waiting.append(Job(Meddler("a"), b"1", 0, retain=False))
    publisher.greeted(None, present=False)
    eventually(lambda: len(publisher._waiting) == 3)
    assert [job.topic for job in publisher._waiting][1] == "hushd/h/status"


def test_the_status_stands_again_after_each_connection_and_ends_with_the_last_word(make):
    broker, publisher, _ = make(status="hushd/h/status")
    publisher.say(b"online")
    eventually(lambda: len(broker.kinds(PUBLISH)) == 1)
    broker._subscribed.set()
    broker.hang_up()
    eventually(lambda: len(broker.kinds(PUBLISH)) == 2)
    publisher.close(b"offline")
    said = [body.split(b"status")[1][3:] for body in broker.kinds(PUBLISH)]
    assert said == [b"online", b"online", b"offline"]
    eventually(lambda: broker.seen[-1][0] == DISCONNECT)


def test_a_status_that_may_not_be_written_is_said(make):
    broker, publisher, diary = make(status="hushd/h/status")
    broker.puback = 0x87
    publisher.say(b"online")
    assert "mqtt.status_topic: off" in diary.wait_for("mqtt.status_refused")["hint"]


def test_after_the_end_nothing_is_published(make):
    _, publisher, _ = make()
    publisher.close(b"")
    with pytest.raises(OSError, match="hushd stops"):
        publisher.publish("a", b"1")
