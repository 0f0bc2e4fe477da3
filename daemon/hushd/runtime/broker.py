"""The two connections to the broker, made of the configuration: what comes in, what goes out.

The last will belongs to the source: what people want to know is whether anybody listens.
``online`` goes out by the other connection, each time the source was let in.
"""

from collections.abc import Sequence
from pathlib import Path

from hushd.config.records import Config
from hushd.runtime import sessions
from hushd.runtime.connection import Link, Will
from hushd.runtime.inbox import Inbox
from hushd.runtime.logs import Log
from hushd.runtime.messages import Message
from hushd.runtime.mqtt import MqttSource
from hushd.runtime.publisher import Publisher

ONLINE, OFFLINE = b"online", b"offline"  # at the status topic
MEMORY = "mqtt-session.json"


class Broker:
    """Source and publisher; ``start`` returns at once, whether or not the broker is there.

    Args:
        config: Where the broker is, and what is wanted of it.
        inbox: Where messages and news of the connection go.
        log: Where to say what is wrong.
        state: The directory for what must be remembered; None: nothing is.
    """

    def __init__(self, config: Config, inbox: Inbox, log: Log, state: Path | None) -> None:
        self._inbox = inbox
        self._log = log
        self._state = state
        self._source, self._publisher = self._make(config)

    @property
    def link(self) -> Link:
        """Say how the source's connection stands."""
        return self._source.link

    @property
    def alive(self) -> bool:
        """Say whether the source's thread runs."""
        return self._source.alive

    @property
    def refused(self) -> list[str]:
        """Return the filters that the broker does not let us read."""
        return self._source.refused

    def start(self) -> None:
        """Begin to connect."""
        self._source.start()

    def acknowledge(self, batch: Sequence[Message]) -> None:
        """Tell the broker that it need not send these messages again."""
        self._source.acknowledge(batch)

    def recorded(self) -> None:
        """Take note that messages are missing is in the store: once for each such event.

        These are ``Connected`` with *kept* False, and ``Dropped``.  Until then they are
        announced again after a restart.
        """
        self._source.recorded()

    def publish(self, topic: str, payload: bytes, *, retain: bool = False) -> None:
        """Return once the broker has it.

        Raises:
            OSError: it may not have it.
        """
        self._publisher.publish(topic, payload, retain=retain)

    def watch(self) -> None:
        """Look after the network threads."""
        self._source.watch()
        self._publisher.watch()

    def listen(self, config: Config) -> None:
        """Subscribe to what the sensors ask for now."""
        self._source.change(_filters(config))

    def move(self, config: Config) -> None:
        """Go to another broker, or to the same one as somebody else."""
        self.stop()
        self.close()
        self._source, self._publisher = self._make(config)
        self.start()

    def stop(self) -> None:
        """Take nothing more in; what is published still goes out."""
        self._source.stop()

    def close(self) -> None:
        """Say that nobody listens any more, and take leave."""
        self._publisher.close(OFFLINE)

    def _make(self, config: Config) -> tuple[MqttSource, Publisher]:
        mqtt, log = config.mqtt, self._log
        name = sessions.client_id(mqtt, config.site.name)
        status = f"hushd/{name}/status" if mqtt.status_topic is None else mqtt.status_topic
        publisher = Publisher(mqtt, f"{name}-pub", log, status=status)
        source = MqttSource(
            mqtt,
            _filters(config),
            self._inbox,
            log,
            client_id=name,
            memory=sessions.Memory(
                None if self._state is None else self._state / MEMORY,
                f"{name} at {mqtt.host}:{mqtt.port}",
                log,
            ),
            will=Will(status, OFFLINE) if status else None,
            payload=config.limits.payload,
            waiting=config.limits.inbox,
            greeted=lambda: publisher.say(ONLINE),
        )
        return source, publisher


def _filters(config: Config) -> set[str]:
    return {sensor.template.filter for sensor in config.sensors.values()}
