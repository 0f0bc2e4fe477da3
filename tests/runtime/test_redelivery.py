"""What the broker sends twice is taken once, and what only looks alike is taken."""

from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushd.runtime.messages import Message
from hushd.runtime.redelivery import Ring, fingerprint, mark


def message(packet: int, payload: bytes = b"50", *, again: bool = False, **more) -> Message:
    return Message(b"home/a/noise", payload, 0, 1, packet=packet, again=again)._replace(**more)


def taken(ring: Ring, *messages: Message) -> list[Message]:
    """Return which of the messages are taken, as the loop does it."""
    out = []
    for one in messages:
        if not ring.knows(one):
            ring.note(one)
            out.append(one)
    return out


@pytest.mark.parametrize(
    ("second", "known"),
    [
        (message(7, again=True), True),
        (message(7, again=True, connection=2), True),  # which is when they come
        (message(7, again=False), False),  # the same value under the next identifier 7
        (message(8, again=True), False),  # the same value, but its first copy was lost
        (message(7, b"51", again=True), False),
        (message(7, again=True, topic=b"home/b/noise"), False),
        (message(7, again=True, topic=b"home/a/noise5", payload=b"0"), False),
        (message(7, again=True, qos=0), False),  # nobody repeats those
    ],
)
def test_a_repetition_has_the_flag_the_identifier_the_topic_and_the_payload(second, known):
    ring = Ring(10)
    ring.note(message(7))
    assert ring.knows(second) is known


def test_a_repetition_that_comes_again_is_known_again():
    ring, again = Ring(10), message(7, again=True)
    assert taken(ring, message(7), again, again) == [message(7)]


def test_a_repetition_whose_first_copy_never_came_is_taken_once():
    again = message(7, again=True)
    assert taken(Ring(10), again, again) == [again]


def test_an_identifier_that_came_round_stands_for_its_newest_message():
    ring = Ring(10)
    one, two = message(7, b"1"), message(7, b"2")
    assert taken(ring, one, two) == [one, two]
    assert ring.knows(two._replace(again=True))
    assert not ring.knows(one._replace(again=True))  # the broker has our acknowledgement of it


def test_as_many_are_remembered_as_may_be_on_their_way_and_as_many_more():
    ring = Ring(10)
    for packet in range(1, 22):
        ring.note(message(packet))
    known = [packet for packet in range(1, 22) if ring.knows(message(packet, again=True))]
    assert known == list(range(2, 22))


def test_a_broker_that_counts_its_identifiers_up_cannot_fool_it():
    ring = Ring(100_000)
    for packet in range(1, 65_536):
        ring.note(message(packet))
    # the next one would be 1; it says the same, and was lost on its way the first time
    assert not ring.knows(message(1, again=True))


def test_what_comes_at_qos_0_is_not_remembered():
    ring = Ring(1)
    ring.note(message(7))
    for _ in range(5):
        ring.note(message(7, b"51", qos=0))
    assert ring.knows(message(7, again=True))


def test_a_new_session_begins_with_nothing():
    ring = Ring(10)
    ring.note(message(7))
    ring.clear()
    assert not ring.knows(message(7, again=True))


def test_what_a_store_kept_is_known_after_a_restart():
    before = [message(packet, b"%d" % packet) for packet in range(1, 30)] + [message(29, b"new")]
    ring = Ring(10)
    ring.load(mark(one) for one in before)
    known = [one for one in before if ring.knows(one._replace(again=True))]
    assert known == [*before[10:28], message(29, b"new")]


def test_the_fingerprint_is_one_that_other_programs_can_make():
    assert fingerprint(message(7)) == crc32(b"home/a/noise\x0050")
    assert mark(message(7)) == (7, crc32(b"home/a/noise\x0050"))


@settings(max_examples=200)
@given(
    st.lists(
        st.sampled_from(["send", "ack", "lost on the way", "cut", "restart"]),
        max_size=60,
    ),
    st.data(),
)
def test_through_any_cuts_and_restarts_each_message_is_taken_once(steps, data):
    """A broker that takes the lowest free identifier, as is the hardest, and says little.

    Acknowledgements may arrive or not; what is committed survives, the rest comes again.
    """
    ring, number, window = Ring(4), 0, 4
    flying: dict[int, Message] = {}  # what the broker has no acknowledgement of
    pending: list[Message] = []  # taken, not committed
    kept: list[Message] = []
    done: list[bytes] = []

    def receive(one: Message) -> None:
        pending.extend(taken(ring, one))

    def commit() -> None:
        kept.extend(pending)
        done.extend(one.payload for one in pending)
        pending.clear()

    def redeliver() -> None:
        for one in flying.values():
            receive(one._replace(again=True))

    for step in steps:
        if step in {"send", "lost on the way"} and len(flying) < window:
            packet = min(set(range(1, 10)) - set(flying))
            number += 1
            flying[packet] = message(packet, b"%d" % number)
            if step == "send":
                receive(flying[packet])
            else:  # the connection broke before it arrived
                redeliver()
        elif step == "ack" and flying:
            commit()
            heard = data.draw(st.integers(0, len(flying)))  # the rest is lost with a connection
            for packet in list(flying)[:heard]:
                del flying[packet]
            if flying:
                redeliver()
        elif step == "cut":
            redeliver()
        elif step == "restart":
            pending.clear()
            ring = Ring(4)
            ring.load(mark(one) for one in kept)
            redeliver()
    commit()
    assert done == [b"%d" % n for n in range(1, number + 1)]
