"""What a source hands to the loop: messages in batches, and news of the connection."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


class Message(NamedTuple):
    """One MQTT message as it came: undecoded, topic as the bytes on the wire."""

    topic: bytes
    payload: bytes
    arrived: int  # wall clock, ns since the epoch
    qos: int = 0
    retain: bool = False
    packet: int = 0  # its packet identifier, to acknowledge it by; 0 at QoS 0
    connection: int = 0  # a packet identifier means something on its own connection only
    again: bool = False  # the broker says that it has sent it before (MQTT's DUP)


@dataclass(frozen=True, slots=True)
class Stop:
    """A signal asked for an orderly end."""

    signum: int


@dataclass(frozen=True, slots=True)
class Reload:
    """A signal asked to read the configuration again."""

    signum: int


@dataclass(frozen=True, slots=True)
class Connected:
    """The broker was reached and the subscriptions were asked for."""

    kept: bool = True  # the broker has kept our session, or there was none to keep


@dataclass(frozen=True, slots=True)
class Dropped:
    """The broker says that messages did not fit into a queue of its."""

    number: int  # since it last said so


@dataclass(frozen=True, slots=True)
class Disconnected:
    """The connection to the broker was lost."""

    reason: str


@dataclass(frozen=True, slots=True)
class Ask:
    """Somebody at the control socket wants something; answered in the loop's thread."""

    request: Mapping[str, Any]
    answer: Callable[[Mapping[str, Any]], None]  # does not wait


Event = list[Message] | Stop | Reload | Connected | Disconnected | Dropped | Ask
