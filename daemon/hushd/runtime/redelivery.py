"""Recognises what the broker sends a second time.

A message of QoS 1 that the broker has no acknowledgement of comes again on the next
connection, under the same packet identifier and marked as a repetition (MQTT's DUP flag).
Most of these were judged already: the acknowledgement was still due, or got lost with the
connection or with our process.  Judged twice, a reading without a stamp of its own would
count twice.

So what was taken is remembered by packet identifier and a checksum of topic and payload,
here and, for after a restart, in the store; a repetition that is in there is not taken
again.  It is acknowledged like any other message: the loop acknowledges after the commit,
and the first one came before the second, so it is in that commit or in an earlier one.

What can fool it:

- A broker that does not mark what it repeats, such as iotcore (DUP is 0): all of it counts
  again, unless it has a stamp of its own (``duplicates: drop``).
- A message that is lost, on its way to us or with our process before the commit, and whose
  identifier we know from an older message with the very same topic and payload: it is taken for
  a repetition of that.  Brokers that count their identifiers up, as mosquitto does, come back
  to the same one after 65,535 messages, and by then the older one is forgotten.  One that
  takes the lowest free identifier may do it with the next message, where a sensor says the
  same twice; nothing in the two messages tells them apart.
- A broker of MQTT 3.1.1 that has more messages on their way to us, unacknowledged, than are
  remembered here: the oldest of them count again.  With MQTT 5 we say how many there may be.
- Two different messages under one identifier with one checksum: one in four thousand million.
"""

from array import array
from collections.abc import Iterable
from typing import NamedTuple
from zlib import crc32

from hushd.runtime.messages import Message

IDENTIFIERS = 65_536  # with 0, which is none
MOST = IDENTIFIERS - 2  # one less than there are: the last one under the same is forgotten


class Mark(NamedTuple):
    """By what a repetition is recognised."""

    packet: int  # its packet identifier
    fingerprint: int


def fingerprint(message: Message) -> int:
    """Return the CRC-32 of topic, a zero byte (which no topic holds) and payload."""
    return crc32(message.payload, crc32(message.topic + b"\0"))


def mark(message: Message) -> Mark:
    """Return by what a repetition of *message* is recognised."""
    return Mark(message.packet, fingerprint(message))


class Ring:
    """The marks of the last messages of QoS 1: about 800 KB, however many they are.

    An identifier means one message at a time.  Once another comes under it, the broker has
    our acknowledgement of the older one, which never comes again and so is forgotten.

    Args:
        waiting: How many messages the broker may send us without an acknowledgement.  Twice as
            many are remembered: those on their way, and as many before them to be safe.
    """

    def __init__(self, waiting: int) -> None:
        self._size = min(2 * waiting, MOST)
        self.clear()

    def knows(self, message: Message) -> bool:
        """Say whether *message* is a repetition of one that was noted; it may be skipped.

        Only what the broker says it repeats is one: the same value under an identifier
        that has come round again is another reading.
        """
        if not message.again or not message.qos:
            return False
        noted = self._noted[message.packet]
        return (
            noted > 0
            and noted > self._number - self._size
            and self._fingerprints[message.packet] == fingerprint(message)
        )

    def note(self, message: Message) -> None:
        """Remember *message*, which is taken now, if the broker may send it again."""
        if message.qos:
            self._note(message.packet, fingerprint(message))

    def load(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Remember what a store has kept: identifiers and fingerprints, oldest first."""
        for packet, crc in pairs:
            self._note(packet, crc)

    def clear(self) -> None:
        """Forget everything: in a new session the identifiers begin anew."""
        self._number = 0  # of messages noted
        self._fingerprints = array("I", bytes(4 * IDENTIFIERS))
        self._noted = array("Q", bytes(8 * IDENTIFIERS))  # as the how manieth; 0 is never

    def _note(self, packet: int, crc: int) -> None:
        self._number += 1
        self._fingerprints[packet] = crc
        self._noted[packet] = self._number


class Copies:
    """Tells, on one connection, a message from a copy of it that came on the same one.

    Some brokers of MQTT 3.1.1 grow impatient and send a message again while its
    acknowledgement is due.  One acknowledgement settles both; a second one could meet the
    next message under the identifier, before that one is committed.  So the copy gets none.
    """

    def __init__(self) -> None:
        self._hashes = array("q", bytes(8 * IDENTIFIERS))  # 0: nothing came yet

    def fresh(self, packet: int, payload: bytes, again: bool) -> bool:
        """Take note of a message of QoS 1; say whether it needs an acknowledgement of its own."""
        digest = ~hash(payload)  # never 0, as no hash is -1
        if again and self._hashes[packet] == digest:
            return False
        self._hashes[packet] = digest
        return True
