"""What was promised is read out of what was sent, in whatever pieces."""

import pytest
from torture.calls import Sent, Sync, Write
from torture.promises import Promises

CONNECT = b"\x10\x03abc"
ACKS = b"\x40\x02\0\1" + b"\x40\x03\0\2\0"
LONG = b"\x30\x80\x01" + b"\x40" * 128  # a message that looks like acknowledgements


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_acknowledgements_are_counted(size):
    stream = CONNECT + ACKS + LONG + ACKS
    promises = Promises(1883, 80)
    for at in range(0, len(stream), size):
        promises.happen(Sent("127.0.0.1:4->127.0.0.1:1883", stream[at : at + size]))
    assert promises.acknowledged == 4


def test_what_goes_elsewhere_promises_nothing():
    promises = Promises(1883, 80)
    promises.happen(Sent("127.0.0.1:1883->127.0.0.1:4", ACKS))
    promises.happen(Write("/a", 0, ACKS))
    promises.happen(Sync("/a", 1))
    assert (promises.acknowledged, promises.told) == (0, [])


def test_who_is_told_has_a_key_for_it():
    promises = Promises(1883, 80)
    head = b"POST /witness HTTP/1.1\r\nHost: a\r\nIdempotency-Key: 12ab-witness\r\n\r\n{}"
    promises.happen(Sent("127.0.0.1:5->127.0.0.1:80", head))
    promises.happen(Sent("127.0.0.1:5->127.0.0.1:80", b"more of the body"))
    assert promises.told == ["12ab-witness"]
