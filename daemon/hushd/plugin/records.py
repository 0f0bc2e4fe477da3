"""The records that plugins offer and receive, beside the aggregators of the core."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol


class Wanted(NamedTuple):
    """What a sensor's configuration asks of its decoder.

    The texts are the decoder's own language, after its name and the colon:
    ``value: json:level`` asks the decoder ``json`` for ``level``.
    """

    value: str = ""
    time: str | None = None
    labels: tuple[tuple[str, str], ...] = ()  # label name -> where it is in the payload
    #: turns what stands at ``time`` into ns since the epoch; ValueError says why it cannot
    stamp: Callable[[object], int] | None = None


class Sample(NamedTuple):
    """One number out of a message."""

    value: float
    at: int | None = None  # ns since the epoch; None: when it arrived
    labels: tuple[tuple[str, str], ...] = ()


class Refused(NamedTuple):
    """Why a message holds no reading: a short constant such as ``not_a_number``."""

    reason: str
    detail: str = ""  # for the log: what was seen, at most 80 characters


#: Pure and fast: payload bytes in, samples out, or the reason for none.  Each reading is
#: judged alone: a list may hold both.  An empty list: nothing here for this sensor, and no fault.
Decode = Callable[[bytes], list[Sample | Refused]]


@dataclass(frozen=True, slots=True)
class Decoder:
    """A payload format that sensors may name."""

    name: str
    summary: str
    #: called once per sensor at start-up; ValueError is a configuration error with its hint
    build: Callable[[Wanted], Decode]


@dataclass(frozen=True, slots=True)
class Option:
    """One key of a notifier's configuration."""

    name: str
    summary: str
    kind: Literal["text", "url", "path", "secret", "duration", "integer", "boolean", "texts", "map"]
    required: bool = False
    default: Any = None


class Note(NamedTuple):
    """What a notifier is asked to tell."""

    kind: str  # raised, escalated, lowered, cleared, no_data, data_back, test
    title: str  # one line, plain text
    text: str  # a few lines, plain text
    severity: str | None
    key: str  # the same when the same thing is sent again
    record: Mapping[str, object]  # the journal line of the transition


class Notifier(Protocol):
    """One configured way to tell people; used by one thread only."""

    def send(self, note: Note) -> None:
        """Deliver *note* or raise: whatever is raised, it is tried again later."""

    def close(self) -> None:
        """Let go of files and connections."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a notifier may know of the daemon around it."""

    name: str  # the notifier's name in the configuration
    site: str
    log: Callable[..., None]  # log(event, **fields), at level warning for alerts


@dataclass(frozen=True, slots=True)
class NotifierType:
    """A way to tell people that the configuration may name as ``type``."""

    name: str
    summary: str
    open: Callable[[Mapping[str, Any], Context], Notifier]
    options: tuple[Option, ...] = field(default=())
    every: bool = False  # hears every transition, journal-like, not only what people are told
