"""Hears from the broker that its queues overflow.

A broker keeps so many messages for a client that is away or slow, and drops the others
without a word to that client.  mosquitto counts them, and publishes the number at a topic
of its own.  It counts for all of its clients together, so it is not certain that a message
was ours; but it is all there is to know.
"""

from collections.abc import Callable, Iterable

from paho.mqtt import client as paho
from paho.mqtt.subscribeoptions import SubscribeOptions

from hushd.runtime.messages import Dropped
from hushd.runtime.sessions import Memory, covers

COUNTER = "$SYS/broker/publish/messages/dropped"
TOPIC = COUNTER.encode()
WITH_WHAT_IT_KEEPS = 0  # MQTT 5, retain handling: the number as it stands, on each return
TRIES = 2


class Overflow:
    """Asks for the counter, and announces how it grows.

    What the broker says to that is nobody's trouble: not every user may read it, and not every
    broker has it.  There are some that hang up on who asks for a topic of the broker's own,
    so we wait until the subscriptions that matter stand, and do not ask a third time
    after a connection ended without an answer.

    Args:
        memory: Knows the number that was there when we left.
        announce: Is told of more.
    """

    def __init__(self, memory: Memory, announce: Callable[[Dropped], None]) -> None:
        self._memory = memory
        self._announce = announce
        self._packet: int | None = None  # that asks, until the broker answers
        self._unanswered = 0
        self._shared = False  # a sensor reads the counter, too

    def attend(self, client: paho.Client, filters: Iterable[str], *, five: bool) -> None:
        """Ask for the counter, unless it comes to a sensor of those *filters* anyway."""
        reading = [name for name in filters if covers(name, COUNTER)]
        self._shared = bool(reading)
        if not reading:
            if self._unanswered < TRIES:
                wish = SubscribeOptions(qos=0, retainHandling=WITH_WHAT_IT_KEEPS)
                _, self._packet = client.subscribe((COUNTER, wish) if five else (COUNTER, 0))
        elif COUNTER not in reading:
            client.unsubscribe(COUNTER)  # of an earlier time: it would come twice

    def answered(self, packet: int) -> None:
        """Take note that the broker has answered a subscription, with yes or no."""
        if packet == self._packet:
            self._packet, self._unanswered = None, 0

    def parted(self) -> None:
        """Take note that the connection ended."""
        if self._packet is not None:
            self._packet = None
            self._unanswered += 1

    def takes(self, payload: bytes) -> bool:
        """Read the counter; say whether the message was for us alone."""
        if payload.isdigit() and len(payload) < 20:
            more = self._memory.count(int(payload))
            if more:
                self._announce(Dropped(more))
        return not self._shared
