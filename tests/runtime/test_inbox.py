"""The bounded queue of batches between a source and the loop."""

import os
import signal
import threading
from time import monotonic

from hushd.runtime.inbox import Inbox
from hushd.runtime.messages import Connected, Disconnected, Message, Stop


def message(n: int, qos: int = 0) -> Message:
    return Message(b"t", b"%d" % n, n, qos)


def test_messages_that_come_before_the_loop_looks_are_one_batch():
    inbox = Inbox(10)
    for n in range(3):
        inbox.offer(message(n))
    assert inbox.take(0) == [message(0), message(1), message(2)]
    assert inbox.take(0.001) is None


def test_a_batch_that_was_taken_grows_no_more():
    inbox = Inbox(10)
    inbox.offer(message(0))
    taken = inbox.take(0)
    inbox.offer(message(1))
    assert taken == [message(0)]
    assert inbox.take(0) == [message(1)]


def test_news_of_the_connection_keep_their_place():
    inbox = Inbox(10)
    inbox.announce(Connected())
    inbox.offer(message(0))
    inbox.announce(Disconnected("gone"))
    inbox.offer(message(1))
    assert [inbox.take(0) for _ in range(4)] == [
        Connected(),
        [message(0)],
        Disconnected("gone"),
        [message(1)],
    ]


def test_beyond_the_limit_qos_0_is_dropped_and_counted():
    inbox = Inbox(3)
    for n in range(5):
        inbox.offer(message(n))
    assert inbox.dropped == 2
    assert inbox.take(0) == [message(0), message(1), message(2)]
    inbox.offer(message(9))
    assert inbox.take(0) == [message(9)]


def test_beyond_the_limit_qos_1_waits_and_nothing_is_lost():
    inbox = Inbox(3)

    def send() -> None:
        for n in range(1000):
            inbox.offer(message(n, qos=1))

    source = threading.Thread(target=send, daemon=True)
    source.start()
    taken: list[Message] = []
    until = monotonic() + 10
    while len(taken) < 1000 and monotonic() < until:
        batch = inbox.take(1)
        assert isinstance(batch, list)
        assert len(batch) <= 3
        taken += batch
    assert taken == [message(n, qos=1) for n in range(1000)]
    assert inbox.dropped == 0


def test_closing_lets_a_waiting_thread_go():
    inbox = Inbox(1)
    inbox.offer(message(0, qos=1))
    source = threading.Thread(target=inbox.offer, args=(message(1, qos=1),), daemon=True)
    source.start()
    inbox.close()
    source.join(5)
    assert not source.is_alive()


def test_a_signal_wakes_the_loop():
    inbox = Inbox(10)
    before = signal.signal(signal.SIGUSR1, inbox.on_stop)
    try:
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1)).start()
        assert inbox.take(10) == Stop(signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)
