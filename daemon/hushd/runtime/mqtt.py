"""The MQTT source: paho's connection in front of the inbox.

An exception in a paho callback ends paho's network thread while ``is_connected()`` goes on
saying True; so callbacks here do next to nothing and cannot raise, and ``watch`` looks at
the thread itself.  Subscriptions ask for QoS 1, never 2: paho acknowledges a QoS 2 message
before it hands it over, and a crash in between loses it.
"""

import functools
import random
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Concatenate, ParamSpec

from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.reasoncodes import ReasonCode

from hushd.config.records import Mqtt
from hushd.runtime.inbox import Inbox
from hushd.runtime.logs import Log
from hushd.runtime.messages import Connected, Disconnected, Message

FIRST_PAUSE = 1.0  # seconds before the first new attempt
LONGEST_PAUSE = 30.0

HINTS = {
    "Bad user name or password": "check mqtt.username and mqtt.password",
    "Not authorized": "check mqtt.username and mqtt.password, and the broker's access list",
    "Client identifier not valid": "set mqtt.client_id",
}

P = ParamSpec("P")


def _cannot_raise(
    callback: Callable[Concatenate["MqttSource", P], None],
) -> Callable[Concatenate["MqttSource", P], None]:
    """Return *callback* with whatever it raises logged."""

    @functools.wraps(callback)
    def safe(source: "MqttSource", /, *args: P.args, **kwargs: P.kwargs) -> None:
        try:
            callback(source, *args, **kwargs)
        except Exception as exc:  # noqa: BLE001  it would end paho's thread
            source.failed(exc)

    return safe


class MqttSource:
    """Holds on to a broker and puts its messages into the inbox.

    ``start`` returns at once, whether or not the broker is there: it is tried again for
    ever, with pauses from one to thirty seconds, not quite regular, so that all the
    clients of a restarted broker do not come at the same moment.
    """

    def __init__(self, mqtt: Mqtt, filters: Iterable[str], inbox: Inbox, log: Log) -> None:
        self.failures = 0  # of callbacks; stays 0
        self._mqtt = mqtt
        self._filters = sorted(set(filters))
        self._inbox = inbox
        self._log = log.bind(broker=f"{mqtt.host}:{mqtt.port}")
        self._connection = 0
        self._up = False
        self._stopping = False
        self._complained: tuple[str, float] = ("", 0.0)
        self._client = self._start()

    def failed(self, exc: Exception) -> None:
        """Take note of what a callback raised."""
        self.failures += 1
        self._log.error("mqtt.callback_failed", error=f"{type(exc).__name__}: {exc}")

    def acknowledge(self, batch: Sequence[Message]) -> None:
        """Tell the broker that it need not send these messages again."""
        connection = self._connection
        for message in batch:
            if message.qos and message.connection == connection:
                self._client.ack(message.packet, message.qos)

    def watch(self) -> None:
        """Begin anew if paho's thread has died; called by the loop now and then."""
        if self._stopping or self._thread_lives():
            return
        self._log.error("mqtt.thread_died", hint="connecting anew")
        self._lost("the network thread ended")
        self._client.loop_stop()  # returns at once, as the thread has ended
        self._client.disconnect()  # now closes the socket from here
        self._client = self._start()

    def stop(self) -> None:
        """Take leave of the broker."""
        self._stopping = True
        self._client.disconnect()  # first: loop_stop alone may wait for ever on a dead peer
        stopper = threading.Thread(target=self._client.loop_stop, daemon=True)
        stopper.start()
        stopper.join(2.0)

    def _start(self) -> paho.Client:
        client = paho.Client(
            CallbackAPIVersion.VERSION2,
            client_id=self._mqtt.client_id or "",
            protocol=paho.MQTTv311,
            manual_ack=True,
        )
        if self._mqtt.username is not None:
            password = self._mqtt.password
            client.username_pw_set(
                self._mqtt.username, None if password is None else password.reveal()
            )
        client.on_connect = self._on_connect
        client.on_connect_fail = self._on_connect_fail
        client.on_disconnect = self._on_disconnect
        client.on_subscribe = self._on_subscribe
        client.on_message = self._on_message
        self._spread(client)
        client.connect_async(
            self._mqtt.host, self._mqtt.port, max(1, self._mqtt.keepalive // 10**9)
        )
        before = set(threading.enumerate())
        client.loop_start()
        self._threads = [
            thread
            for thread in threading.enumerate()
            if thread.name.startswith("paho-") and thread not in before
        ]
        return client

    def _thread_lives(self) -> bool:
        return any(thread.is_alive() for thread in self._threads)

    def _spread(self, client: paho.Client) -> None:
        """Draw how long to wait before the next attempts; paho doubles the first."""
        jitter = random.uniform(1.0, 1.5)  # noqa: S311  not a secret
        client.reconnect_delay_set(
            FIRST_PAUSE * jitter,  # type: ignore[arg-type]  # a float serves as well
            LONGEST_PAUSE / jitter,  # type: ignore[arg-type]  # likewise
        )

    def _complain(self, event: str, **fields: str) -> None:
        """Log a failure to connect, the same one not more than once a minute."""
        now = time.monotonic()
        text = f"{event} {sorted(fields.items())}"
        said, at = self._complained
        if said != text or now - at >= 60:
            self._complained = (text, now)
            self._log.warning(event, **fields)

    def _lost(self, reason: str) -> None:
        if self._up:
            self._up = False
            self._inbox.announce(Disconnected(reason))

    @_cannot_raise
    def _on_connect(
        self, client: paho.Client, userdata: Any, flags: Any, reason: ReasonCode, properties: Any
    ) -> None:
        if reason.is_failure:
            self._complain(
                "mqtt.refused",
                reason=str(reason),
                hint=HINTS.get(str(reason), "see the broker's log"),
            )
            return
        self._connection += 1
        self._complained = ("", 0.0)
        if self._filters:
            client.subscribe([(name, 1) for name in self._filters])
        self._up = True
        self._inbox.announce(Connected())
        self._log.info("mqtt.connected", filters=self._filters)

    @_cannot_raise
    def _on_connect_fail(self, client: paho.Client, userdata: Any) -> None:
        self._spread(client)
        self._complain("mqtt.unreachable", hint="is the broker running? it is tried again")

    @_cannot_raise
    def _on_disconnect(
        self, client: paho.Client, userdata: Any, flags: Any, reason: ReasonCode, properties: Any
    ) -> None:
        self._spread(client)
        if self._up and not self._stopping:
            self._log.warning("mqtt.disconnected", reason=str(reason))
        self._lost(str(reason))

    @_cannot_raise
    def _on_subscribe(
        self,
        client: paho.Client,
        userdata: Any,
        packet: int,
        reasons: list[ReasonCode],
        properties: Any,
    ) -> None:
        for name, reason in zip(self._filters, reasons, strict=False):
            if reason.is_failure:
                self._log.error(
                    "mqtt.subscription_refused",
                    filter=name,
                    reason=str(reason),
                    hint="the broker's access list does not let this user read it",
                )

    @_cannot_raise
    def _on_message(self, client: paho.Client, userdata: Any, message: paho.MQTTMessage) -> None:
        self._inbox.offer(
            Message(
                message._topic,  # noqa: SLF001  .topic raises on ill-formed UTF-8
                bytes(message.payload),
                time.time_ns(),
                message.qos,
                message.retain,
                message.mid,
                self._connection,
            )
        )
