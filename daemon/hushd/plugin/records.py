"""The records that plugins offer and receive, beside the aggregators of the core."""

from collections.abc import Callable, Iterable, Mapping
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


Kind = Literal[
    "text", "url", "path", "file", "secret", "duration", "integer", "boolean", "texts", "map"
]


@dataclass(frozen=True, slots=True)
class Option:
    """One key of a notifier's configuration.

    What ``open`` gets for each *kind*: ``text``, ``url`` and ``secret`` a text (the latter two
    are never shown), ``path`` the path of what is written, ``file`` the path of what is read,
    ``duration`` nanoseconds, ``integer`` and ``boolean`` what they say, ``texts`` a tuple of
    texts, ``map`` a mapping of name to text, each of which may be a secret.
    """

    name: str
    summary: str
    kind: Kind
    required: bool = False
    default: Any = None
    choices: tuple[str, ...] = ()  # of a text: what it may be
    low: int | None = None  # of an integer or a duration
    high: int | None = None  # likewise
    otherwise: str = ""  # for people: what counts where there is no fixed default


class Fault(NamedTuple):
    """What is wrong with the options of a notifier."""

    option: str  # the key to point at
    message: str  # lower case, no full stop, and no secret in it
    hint: str = ""  # the way out


class RefusedError(Exception):
    """The other side, or this machine, has said no: to try again soon changes nothing."""


class NotSentError(OSError):
    """It was certainly not delivered: it is tried again as it is.

    After any other error it may have been, unnoticed: the next attempt is flagged.

    Args:
        message: Why, without a secret.
        retry_after: For how many seconds the other side asks not to be tried again.
    """

    def __init__(self, message: str, *, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.retry_after = float(retry_after)


class Note(NamedTuple):
    """What a notifier is asked to tell."""

    #: raised, raised_again, escalated, lowered, cleared, missed, flapping, repeat; no_data,
    #: data_back and steady where each transition is told; several; test
    kind: str
    title: str  # one line, plain text
    text: str  # a few lines, plain text
    severity: str | None
    key: str  # the same when the same thing is sent again
    record: Mapping[str, object]  # the journal line of the transition
    again: bool = False  # it may have been delivered before; say so


class Notifier(Protocol):
    """One configured way to tell people; used by one thread only."""

    def send(self, note: Note) -> None:
        """Deliver *note* or raise: whatever is raised, it is tried again later.

        Raises:
            RefusedError: it was refused, and nothing was delivered: tried again, but rarely.
            NotSentError: nothing was delivered: tried again as it is.
            Exception: any other leaves open whether it arrived: told again, ``note.again`` set.
        """

    def close(self) -> None:
        """Let go of files and connections."""


class Publish(Protocol):
    """Publishes over the daemon's own connection to the broker."""

    def __call__(self, topic: str, payload: bytes, *, retain: bool = False) -> None:
        """Return once the broker has it.

        Raises:
            NotSentError: it certainly does not have it.
            OSError: it may not have it.
        """


def no_broker(topic: str, payload: bytes, *, retain: bool = False) -> None:  # noqa: ARG001  as Publish has it
    """Say that nothing is published here.

    Raises:
        NotSentError: always.
    """
    raise NotSentError("there is no connection to a broker to publish over")


@dataclass(frozen=True, slots=True)
class Context:
    """What a notifier may know of the daemon around it."""

    name: str  # the notifier's name in the configuration
    site: str
    log: Callable[..., None]  # log(event, **fields), at level warning for alerts
    publish: Publish = no_broker


@dataclass(frozen=True, slots=True)
class NotifierType:
    """A way to tell people that the configuration may name as ``type``."""

    name: str
    summary: str
    open: Callable[[Mapping[str, Any], Context], Notifier]
    options: tuple[Option, ...] = field(default=())
    every: bool = False  # hears every transition, journal-like, not only what people are told
    #: looks at the options when a configuration is read, and contacts nothing; a secret that
    #: could not be had is left out
    check: Callable[[Mapping[str, Any]], Iterable[Fault]] | None = None
    #: the other side forgets: what is still on is sent again each `refresh` (an option of its own)
    refreshes: bool = False
    executes: bool = False  # starts programs: only where the configuration says ``allow_exec``
