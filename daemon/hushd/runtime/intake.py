"""Messages in, readings out: the same for the live daemon and for a replay.

Every message that becomes no reading is counted by sensor and reason; nothing is lost
without a trace, and nothing that is sent to us can stop the daemon.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import NamedTuple

from hushd.config.records import SensorConfig
from hushd.core.readings import SECOND, Labels, Reading
from hushd.plugin.records import Refused, Sample
from hushd.runtime.clocks import Clock
from hushd.runtime.logs import Log
from hushd.runtime.messages import Message

TOPICS = 50_000  # whose sensors are remembered; beyond that they are looked up again
LOG_EVERY = 60 * SECOND  # a line for one sensor and reason
FAILURES = 100  # of a decoder in a row, after which it rests
REST = 60 * SECOND
TOPIC = 1024  # bytes
LEVELS = 64  # of a topic
FURTHEST = 1 << 62  # ns from the epoch; windows reckon in 64 bits

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f]")

NOBODY = ""  # the sensor of what belongs to none


class Route(NamedTuple):
    """A sensor that a topic belongs to, with what the topic says of it."""

    sensor: SensorConfig
    labels: Labels


@dataclass(slots=True)
class Health:
    """How a sensor's decoder fares."""

    failures: int = 0  # in a row; after a rest, one more is enough for the next
    rests_until: int = 0


class Intake:
    """Makes readings of messages.

    Attributes:
        accepted: How many readings were made.
        rejected: What was not, by (sensor, reason); the sensor is ``""`` when there is none.
        on_rest: Is told which decoder is put to rest, and of its last error.
    """

    def __init__(
        self, sensors: Mapping[str, SensorConfig], clock: Clock, payload: int, log: Log
    ) -> None:
        self.accepted = 0
        self.rejected: Counter[tuple[str, str]] = Counter()
        self.on_rest: Callable[[str, str], None] | None = None
        self._sensors = sensors
        self._clock = clock
        self._stamped = clock.now() is None
        self._payload = payload
        self._log = log
        self._routes: dict[bytes, list[Route]] = {}
        self._labels: dict[tuple[Labels, Labels], Labels] = {}
        self._health = {name: Health() for name in sensors}
        self._logged: dict[tuple[str, str], int] = {}

    def readings(self, message: Message) -> list[Reading]:
        """Return the readings that *message* holds, of all sensors that it belongs to."""
        routes = self._routes.get(message.topic)
        if routes is None:
            routes = self._look_up(message)
        if not routes:
            return []
        arrived = self._clock.arrival(message.arrived)
        found: list[Reading] = []
        for sensor, labels in routes:
            if message.retain and sensor.retained == "ignore":
                self._reject(sensor.name, "retained", message)
            elif len(message.payload) > self._payload:
                self._reject(sensor.name, "payload_too_long", message)
            else:
                for sample in self._decoded(sensor, message):
                    if isinstance(sample, Refused):
                        self._reject(sensor.name, sample.reason, message, sample.detail)
                        continue
                    if sample.labels:
                        reading = self._reading(
                            sensor, self._merged(labels, sample.labels), sample, arrived
                        )
                    else:
                        reading = self._reading(sensor, labels, sample, arrived)
                    if isinstance(reading, Reading):
                        found.append(reading)
                    else:
                        self._reject(sensor.name, reading, message)
        self.accepted += len(found)
        return found

    def turn_away(self, message: Message, reason: str) -> None:
        """Count a message that is not to be read."""
        self._reject(NOBODY, reason, message)

    def row(self, sensor: str, labels: Labels, at: int, value: float | None) -> list[Reading]:
        """Return the reading of a recording's row: decoded already, come when it was taken."""
        reading: Reading | str = "empty"
        if value is not None:
            reading = self._reading(self._sensors[sensor], labels, Sample(value, at), at)
        if isinstance(reading, Reading):
            self.accepted += 1
            return [reading]
        self.rejected[sensor, reading] += 1
        return []

    def _look_up(self, message: Message) -> list[Route]:
        """Return the sensors that the message's topic belongs to, and remember them."""
        topic = _topic(message.topic)
        if isinstance(topic, Refused):
            self._reject(NOBODY, topic.reason, message)
            return []
        routes = []
        for sensor in self._sensors.values():
            labels = sensor.template.match(topic)
            if labels is not None:
                routes.append(Route(sensor, labels))
        if not routes:
            self._reject(NOBODY, "no_sensor", message)
            return []
        if len(self._routes) >= TOPICS:
            self._routes.clear()
        self._routes[message.topic] = routes
        return routes

    def _decoded(self, sensor: SensorConfig, message: Message) -> list[Sample | Refused]:
        """Return what the sensor's decoder makes of the message, whatever the decoder does."""
        health = self._health[sensor.name]
        if health.rests_until > message.arrived:
            return [Refused("decoder_resting")]
        try:
            samples = list(sensor.decode(message.payload))
            for sample in samples:
                if type(sample) is not Sample or sample.at is not None or sample.labels:
                    _sound(sample)
        except (Exception, SystemExit) as exc:  # noqa: BLE001  whatever it is, it is the plugin's
            error = f"{type(exc).__name__}: {exc}"
            health.failures += 1
            if health.failures >= FAILURES:
                health.rests_until = message.arrived + REST
                self._log.error(
                    "decoder.rested",
                    sensor=sensor.name,
                    decoder=sensor.decoder,
                    rest_s=REST // SECOND,
                )
                if self.on_rest is not None:
                    self.on_rest(sensor.decoder, error[:200])
            return [Refused("decoder_failed", error[:80])]
        health.failures = 0
        return samples

    def _reading(
        self, sensor: SensorConfig, labels: Labels, sample: Sample, arrived: int
    ) -> Reading | str:
        """Return the reading of a sample, or the reason why it is none."""
        value, at = sample.value, sample.at
        try:
            if isinstance(value, bool) or not isfinite(value):
                return "not_finite"
            value = float(value)
        except (TypeError, ValueError, OverflowError):
            return "not_a_number"
        if sensor.valid is not None and not sensor.valid[0] <= value <= sensor.valid[1]:
            return "not_valid"
        if self._stamped:
            return "no_stamp" if at is None else Reading(sensor.name, labels, at, value, at)
        at = arrived if at is None else self._clock.stamp(at)
        return Reading(sensor.name, labels, at, value, arrived)

    def _merged(self, topic: Labels, payload: Labels) -> Labels:
        """Return the labels of both; what the topic says stands."""
        merged = self._labels.get((topic, payload))
        if merged is None:
            if len(self._labels) >= TOPICS:
                self._labels.clear()
            merged = tuple(sorted((dict(payload) | dict(topic)).items()))
            self._labels[topic, payload] = merged
        return merged

    def _reject(self, sensor: str, reason: str, message: Message, detail: str = "") -> None:
        """Count what is no reading, and say so in the log, but not more than once a minute."""
        self.rejected[sensor, reason] += 1
        if reason == "retained" or self._logged.get((sensor, reason), 0) > message.arrived:
            return
        self._logged[sensor, reason] = message.arrived + LOG_EVERY
        self._log.warning(
            "message.rejected",
            sensor=sensor,
            reason=reason,
            detail=detail,
            topic=message.topic.decode(errors="backslashreplace")[:200],
            rejected=self.rejected[sensor, reason],
        )


def _topic(raw: bytes) -> str | Refused:
    """Return the topic as a text, if it is one that a sensor may be told by.

    Brokers differ in what they let pass; what we take becomes a label, and stands in alerts.
    """
    if len(raw) > TOPIC:
        return Refused("topic_too_long")
    try:
        topic = raw.decode()
    except UnicodeDecodeError:
        return Refused("topic_not_utf8")
    if _CONTROLS.search(topic):
        return Refused("topic_control")
    if "+" in topic or "#" in topic:
        return Refused("topic_wildcard")
    if topic.count("/") >= LEVELS:
        return Refused("topic_too_deep")
    return topic


def _sound(sample: Sample | Refused) -> None:
    """Make sure that a decoder's answer is what its type says, as far as we rely on it.

    Raises:
        TypeError: it is not.
        ValueError: its time is none that a reading can have.
    """
    if type(sample) is Refused:
        if type(sample.reason) is not str or type(sample.detail) is not str:
            raise TypeError("a reason that is no text")
    elif type(sample) is not Sample:
        raise TypeError(f"{type(sample).__name__} is neither a Sample nor a Refused")
    elif sample.at is not None and type(sample.at) is not int:
        raise TypeError("a time that is no whole number of nanoseconds")
    elif sample.at is not None and abs(sample.at) >= FURTHEST:
        raise ValueError("a time that no clock can show")
    else:
        for label in sample.labels:
            if type(label) is not tuple or list(map(type, label)) != [str, str]:
                raise TypeError("a label that is not a pair of texts")
