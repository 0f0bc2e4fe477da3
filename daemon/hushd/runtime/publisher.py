"""What hushd publishes, on a connection of its own.

Published on the subscribing connection, an alert would wait behind acknowledgements: with
the usual settings of a broker 21 ms at the median.
"""

import threading
from collections import deque
from typing import Any

from paho.mqtt import client as paho
from paho.mqtt.reasoncodes import ReasonCode

from hushd.config.records import Mqtt
from hushd.plugin.records import NotSentError
from hushd.runtime.connection import Connection, Pauses
from hushd.runtime.framing import Packet
from hushd.runtime.logs import Log

PATIENCE = 10.0  # seconds for the broker to acknowledge
FAREWELL = 1.0  # seconds for the last word


class Job:
    """Something to publish, and what became of it."""

    __slots__ = ("done", "error", "payload", "qos", "retain", "topic")

    def __init__(self, topic: str, payload: bytes, qos: int, *, retain: bool) -> None:
        self.topic = topic
        self.payload = payload
        self.qos = qos
        self.retain = retain
        self.done = threading.Event()
        self.error: OSError | None = None

    def fail(self, reason: str, *, sent: bool = False) -> None:
        """Let it come to nothing; what was *sent* may have arrived all the same."""
        self.error = ConnectionError(reason) if sent else NotSentError(reason)
        self.done.set()


class Publisher:
    """Publishes for any thread; connects when there is something to publish for the first time.

    Args:
        mqtt: Where the broker is; session and status do not concern this connection.
        client_id: The name of this connection: not the source's.
        log: Where to say what is wrong.
        status: A topic where ``say`` leaves its word; empty for none.
        pauses: How long to wait for what.
    """

    def __init__(
        self,
        mqtt: Mqtt,
        client_id: str,
        log: Log,
        *,
        status: str = "",
        pauses: Pauses | None = None,
    ) -> None:
        self._log = log.bind(broker=f"{mqtt.host}:{mqtt.port}", purpose="publish")
        self._status = status
        self._lock = threading.Lock()  # never held while paho is called
        self._started = False
        self._closed = False
        self._waiting: deque[Job] = deque()
        self._sent: dict[int, Job] = {}
        self._word: bytes | None = None  # what stands at the status topic
        self._connection = Connection(mqtt, client_id, self, self._log, pauses=pauses)

    def publish(
        self,
        topic: str,
        payload: bytes,
        *,
        qos: int = 1,
        retain: bool = False,
        timeout: float = PATIENCE,
    ) -> None:
        """Return once the broker has it (at QoS 0: once it is sent).

        Raises:
            PermissionError: the broker refused it.
            NotSentError: it never left: there is no connection.
            OSError: it may have it, or not: there was no answer.
        """
        if not topic or any(c in topic for c in "+#\0") or len(topic.encode()) > 65_535:
            raise NotSentError(f"cannot publish to {topic[:200]!r}")
        job = Job(topic, payload, qos, retain=retain)
        self._hand_over(job)
        if not job.done.wait(timeout):
            left = not self._withdrawn(job)
            job.fail("")  # so that it is not sent any more
            reason = self._connection.link.reason or "it does not answer"
            error = f"not published within {timeout:g} s: {reason}"
            raise TimeoutError(error) if left else NotSentError(error)
        if job.error is not None:
            raise job.error

    def say(self, word: bytes) -> None:
        """Leave *word* at the status topic, retained; it does not wait."""
        if self._status:
            self._word = word
            self._hand_over(Job(self._status, word, 1, retain=True))

    def watch(self) -> None:
        """Begin anew if the network thread has died; called by the loop now and then."""
        self._connection.watch()

    def close(self, word: bytes) -> None:
        """Leave a last word at the status topic, if the broker is there, and take leave."""
        if self._status and self._connection.link.connected:
            try:
                self.publish(self._status, word, retain=True, timeout=FAREWELL)
            except OSError as exc:
                self._log.warning("mqtt.status_not_published", error=str(exc))
        self._closed = True
        if self._started:
            self._connection.stop()
        self.parted("hushd stops")

    def dress(self, client: paho.Client) -> None:
        """Set the callbacks of a new client."""
        client.on_publish = self._on_publish

    def greeted(self, client: paho.Client, *, present: bool) -> None:
        """Say the word again: the broker may have forgotten it."""
        self._sent.clear()
        with self._lock:  # others add to it meanwhile
            if self._word is None or any(job.topic == self._status for job in self._waiting):
                return
            self._waiting.append(Job(self._status, self._word, 1, retain=True))

    def messages(self, packets: list[Packet]) -> None:
        """Take nothing: this connection subscribes to nothing."""

    def turn(self, client: paho.Client) -> bytes:
        """Hand to paho what waits."""
        while self._waiting:
            job = self._waiting.popleft()
            if job.done.is_set():
                continue  # nobody waits for it any more
            try:
                info = client.publish(job.topic, job.payload, job.qos, job.retain)
            except ValueError as exc:
                job.fail(str(exc))
                continue
            if info.rc == paho.MQTT_ERR_SUCCESS:
                self._sent[info.mid] = job
            else:
                job.fail(paho.error_string(info.rc), sent=True)  # paho may keep it
        return b""

    def parted(self, reason: str) -> None:
        """Let everything fail that waits: who published it knows when to try again."""
        with self._lock:
            sent, waiting = [*self._sent.values()], [*self._waiting]
            self._sent.clear()
            self._waiting.clear()
        for job in sent:
            job.fail(reason or "the connection was lost", sent=True)
        for job in waiting:
            job.fail(reason or "the connection was lost")

    def _withdrawn(self, job: Job) -> bool:
        """Take back what still waits; False: it was handed to paho."""
        with self._lock:
            try:
                self._waiting.remove(job)
            except ValueError:
                return False
            return True

    def _hand_over(self, job: Job) -> None:
        with self._lock:
            if self._closed:
                job.fail("hushd stops")
                return
            self._waiting.append(job)
            begin, self._started = not self._started, True
        if begin:
            self._connection.start()
        else:
            self._connection.wake()

    def _on_publish(
        self,
        client: paho.Client,
        userdata: Any,
        packet: int,
        reason: ReasonCode,
        properties: Any,
    ) -> None:
        job = self._sent.pop(packet, None)
        if job is None:
            return
        if reason.is_failure:
            job.error = PermissionError(f"the broker refused it: {reason}")
            if job.topic == self._status:
                self._connection.complain(
                    "mqtt.status_refused",
                    topic=job.topic,
                    reason=str(reason),
                    hint="let this user write it, or write mqtt.status_topic: off",
                )
        job.done.set()
