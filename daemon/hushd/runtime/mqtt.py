"""The MQTT source: subscriptions, and messages on their way into the inbox.

Subscriptions ask for QoS 1, never 2: paho acknowledges a QoS 2 message before it hands it
over, and a crash in between loses it.  Everything here but ``acknowledge`` runs in the
connection's thread, and what paho calls cannot raise.
"""

import functools
import itertools
import struct
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Concatenate, ParamSpec

from paho.mqtt import client as paho
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from hushd.config.records import Mqtt
from hushd.runtime import framing
from hushd.runtime.connection import Connection, Link, Pauses, Will
from hushd.runtime.inbox import Inbox
from hushd.runtime.logs import Log
from hushd.runtime.messages import Connected, Disconnected, Message
from hushd.runtime.overflow import TOPIC, Overflow
from hushd.runtime.redelivery import Copies
from hushd.runtime.sessions import Memory, distinct

HEADROOM = 65_536 + 1024  # bytes of a packet beside its payload: a long topic, properties
TOGETHER = 50  # filters in one packet
NEW_ONLY = 1  # MQTT 5, retain handling: what the broker kept comes once, not on each return

#: of connections, whichever source they are of: a reload may put another in its place
_numbers = itertools.count(1)

P = ParamSpec("P")


def _cannot_raise(
    callback: Callable[Concatenate["MqttSource", P], None],
) -> Callable[Concatenate["MqttSource", P], None]:
    """Return *callback* with whatever it raises logged: the messages after it still count."""

    @functools.wraps(callback)
    def safe(source: "MqttSource", /, *args: P.args, **kwargs: P.kwargs) -> None:
        try:
            callback(source, *args, **kwargs)
        except Exception as exc:  # noqa: BLE001  it would end the connection
            source.failed(exc)

    return safe


class MqttSource:
    """Holds on to a broker and puts its messages into the inbox, from ``start`` on.

    Args:
        mqtt: Where the broker is, and how to talk to it.
        filters: What to subscribe to.
        inbox: Where messages and news of the connection go.
        log: Where to say what is wrong.
        client_id: The name of the session at the broker.
        memory: What is known of the session from before.
        will: What the broker says when we are gone without a word.
        payload: The longest payload that is read, in bytes.
        waiting: How many messages may wait to be judged.
        greeted: Called each time the broker lets us in.
        pauses: How long to wait for what.
    """

    def __init__(
        self,
        mqtt: Mqtt,
        filters: Iterable[str],
        inbox: Inbox,
        log: Log,
        *,
        client_id: str,
        memory: Memory | None = None,
        will: Will | None = None,
        payload: int = 65_536,
        waiting: int = 10_000,
        greeted: Callable[[], None] = lambda: None,
        pauses: Pauses | None = None,
    ) -> None:
        self.failures = 0  # of callbacks; stays 0
        self._filters = frozenset(distinct(filters))
        self._wanted = self._filters  # soon
        self._inbox = inbox
        self._log = log.bind(broker=f"{mqtt.host}:{mqtt.port}")
        self._kept = mqtt.session_expiry > 0
        self._memory = memory or Memory(None, "", log)
        self._overflow = Overflow(self._memory, inbox.announce)
        self._copies = Copies()
        self._greeted = greeted
        self._pauses = pauses or Pauses()
        self._number = 0  # of the connection; a packet identifier means something on its own only
        self._up = False
        self._present = False  # the broker kept our session
        self._settled = False  # it has answered our subscriptions
        self._done: deque[tuple[int, list[int]]] = deque()  # what may be acknowledged
        self._asked: dict[int, list[str]] = {}  # filters by packet, until the broker answers
        self._left: set[int] = set()  # packets that unsubscribe, until the broker answers
        self._granted: set[str] = set()
        self._refused: set[str] = set()
        self._retry_at = 0.0
        self._connection = Connection(
            mqtt,
            client_id,
            self,
            self._log,
            expiry=mqtt.session_expiry // 10**9,
            receive=waiting,
            packet=payload + HEADROOM,
            will=will,
            bulk=self._bulk(mqtt.ingest),
            pauses=self._pauses,
        )

    @property
    def link(self) -> Link:
        """Say how the connection stands."""
        return self._connection.link

    @property
    def alive(self) -> bool:
        """Say whether the network thread runs."""
        return self._connection.alive

    @property
    def refused(self) -> list[str]:
        """Return the filters that the broker does not let us read."""
        return sorted(self._refused)

    def start(self) -> None:
        """Begin to connect; return at once, whether or not the broker is there."""
        self._connection.start()

    def change(self, filters: Iterable[str]) -> None:
        """Subscribe to other filters, without a break for those that stay."""
        self._wanted = frozenset(distinct(filters))
        self._connection.wake()

    def acknowledge(self, batch: Sequence[Message]) -> None:
        """Tell the broker that it need not send these messages again; called by the loop."""
        number = self._number
        packets = [m.packet for m in batch if m.qos and m.connection == number]
        if packets:
            self._done.append((number, packets))
            self._connection.wake()

    def recorded(self) -> None:
        """Take note that a Connected without its session, or a Dropped, is in the store."""
        self._memory.recorded()

    def watch(self) -> None:
        """Begin anew if the network thread has died; called by the loop now and then."""
        self._connection.watch()

    def stop(self) -> None:
        """Take leave of the broker; nothing is announced after it.

        The thread may outlive it, waiting for room in the inbox, and another source may have
        taken over by then: its news must be the last.
        """
        self._connection.stop()
        if self._up:
            self._up = False
            self._inbox.announce(Disconnected("hushd took leave"))

    def failed(self, exc: Exception) -> None:
        """Take note of what a callback raised."""
        self.failures += 1
        self._log.error("mqtt.callback_failed", error=f"{type(exc).__name__}: {exc}")

    def dress(self, client: paho.Client) -> None:
        """Set the callbacks of a new client."""
        client.on_message = self._on_message
        client.on_subscribe = self._on_subscribe
        client.on_unsubscribe = self._on_unsubscribe

    def greeted(self, client: paho.Client, *, present: bool) -> None:
        """Subscribe, and unsubscribe what a kept session holds and nobody wants any more."""
        self._number = next(_numbers)
        self._filters = self._wanted
        self._done.clear()
        self._asked.clear()
        self._left.clear()
        self._granted.clear()
        self._copies = Copies()
        kept = True
        if self._kept:
            kept = self._memory.greeted(present=present)
        else:
            self._memory.forget()
        held = self._memory.filters
        if not kept:
            self._log.warning(
                "mqtt.session_lost",
                hint="messages sent while we were away are gone: does the broker keep sessions, "
                "and for long enough?",
            )
        self._keep_all(held)
        five = self._connection.link.protocol == "5"
        # 3.1.1 sends what it kept again for each subscription, so only what is new is asked for
        self._granted |= frozenset() if five else held & self._filters
        self._ask(client, self._filters - self._granted)
        self._leave(client, held)
        self._refused &= self._filters - self._granted
        self._retry_at = time.monotonic() + self._pauses.refused
        if not self._connection.stopping:
            self._up = True
            self._inbox.announce(Connected(kept=kept))
        self._present, self._settled = present, False
        self._settle(client)
        self._greeted()

    @_cannot_raise
    def messages(self, packets: list[framing.Packet]) -> None:
        """Put messages that came together into the inbox."""
        arrived, number = time.time_ns(), self._number
        fresh = self._copies.fresh
        batch = []
        for topic, payload, qos, retain, packet, again in packets:
            if topic == TOPIC and self._overflow.takes(payload):
                continue
            # number 0: it is a copy, whose acknowledgement is not sent
            own = number if not qos or fresh(packet, payload, again) else 0
            batch.append(Message(topic, payload, arrived, qos, retain, packet, own, again))
        if batch:
            self._inbox.offer_all(batch)

    def turn(self, client: paho.Client) -> bytes:
        """Return the acknowledgements that are due; ask for what is new, or was refused."""
        if self._wanted is not self._filters:
            held, self._filters = self._filters, self._wanted
            self._granted &= self._filters
            self._refused &= self._filters
            self._keep_all(held)
            self._ask(client, self._filters - held)
            self._leave(client, held)
            if self._settled:
                self._attend(client)
            self._settle(client)
        if self._refused and time.monotonic() > self._retry_at:
            self._retry_at = time.monotonic() + self._pauses.refused
            self._ask(client, self._refused)
        if not self._done:
            return b""
        packets: list[int] = []
        while self._done:
            number, done = self._done.popleft()
            if number == self._number:
                packets += done
        return b"".join([_PUBACK(0x4002, packet) for packet in packets])

    def parted(self, reason: str) -> None:
        """Tell the loop."""
        self._overflow.parted()
        if self._up:
            self._up = False
            self._inbox.announce(Disconnected(reason))

    def _bulk(self, ingest: str) -> bool:
        """Say whether messages are taken past paho, which must be tried out first."""
        if ingest == "plain":
            return False
        if framing.sound():
            return True
        (self._log.warning if ingest == "auto" else self._log.error)(
            "mqtt.ingest_plain",
            hint="this paho cannot be read by the chunk: receiving costs more; "
            "mqtt.ingest: plain to hear no more of it",
        )
        return False

    def _keep_all(self, held: frozenset[str]) -> None:
        """Write down all that the session may hold until the broker has answered."""
        if self._kept:
            self._memory.keep(held | self._filters)

    def _leave(self, client: paho.Client, held: frozenset[str]) -> None:
        """Unsubscribe what is held and not wanted, after the new: nothing falls in between."""
        for stale in sorted(held - self._filters):
            _, packet = client.unsubscribe(stale)
            if packet is not None:
                self._left.add(packet)
            self._log.info("mqtt.unsubscribed", filter=stale)

    def _ask(self, client: paho.Client, filters: Iterable[str]) -> None:
        wanted = sorted(filters)
        five = self._connection.link.protocol == "5"
        for i in range(0, len(wanted), TOGETHER):
            names = wanted[i : i + TOGETHER]
            _, packet = client.subscribe(
                [(name, SubscribeOptions(qos=1, retainHandling=NEW_ONLY)) for name in names]
                if five
                else [(name, 1) for name in names]
            )
            if packet is not None:
                self._asked[packet] = names

    def _attend(self, client: paho.Client) -> None:
        five = self._connection.link.protocol == "5"
        if self._kept:  # a guest has nothing in a queue
            self._overflow.attend(client, self._filters, five=five)

    def _settle(self, client: paho.Client) -> None:
        """Write down what the session holds, once the broker has answered everything."""
        if self._asked or self._left:
            return
        if self._kept:
            self._memory.keep(self._granted)
        if not self._settled:
            self._settled = True
            self._log.info(
                "mqtt.connected",
                protocol=self._connection.link.protocol,
                session="kept" if self._present else "new",
                filters=sorted(self._granted),
            )
            self._attend(client)

    @_cannot_raise
    def _on_subscribe(
        self,
        client: paho.Client,
        userdata: Any,
        packet: int,
        reasons: list[ReasonCode],
        properties: Any,
    ) -> None:
        self._overflow.answered(packet)
        for name, reason in zip(self._asked.pop(packet, ()), reasons, strict=False):
            if reason.is_failure:
                if name not in self._refused:
                    self._refused.add(name)
                    self._log.error(
                        "mqtt.subscription_refused",
                        filter=name,
                        reason=str(reason),
                        hint="the broker's access list does not let this user read it; "
                        "it is asked for again",
                    )
                continue
            self._granted.add(name)
            if name in self._refused:
                self._refused.discard(name)
                self._log.info("mqtt.subscription_granted", filter=name)
            if reason.value == 0:
                self._log.warning(
                    "mqtt.qos_lowered",
                    filter=name,
                    hint="the broker grants QoS 0 only: what is sent while we are away is lost",
                )
        self._settle(client)

    @_cannot_raise
    def _on_unsubscribe(
        self,
        client: paho.Client,
        userdata: Any,
        packet: int,
        reasons: list[ReasonCode],
        properties: Any,
    ) -> None:
        self._left.discard(packet)
        self._settle(client)

    @_cannot_raise
    def _on_message(self, client: paho.Client, userdata: Any, message: paho.MQTTMessage) -> None:
        self._connection.progress += 1
        packet = framing.Packet(
            message._topic,  # noqa: SLF001  .topic raises on ill-formed UTF-8
            bytes(message.payload),
            message.qos,
            message.retain,
            message.mid,
            message.dup,
        )
        self.messages([packet])


_PUBACK = struct.Struct("!HH").pack
