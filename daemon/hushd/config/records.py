"""The checked configuration, ready to run."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path
from typing import Any, Literal

from hushd.config.problems import Problem
from hushd.config.secret import Secret
from hushd.core.rules import Manner, Rule, Rules, Severity
from hushd.core.topics import TopicTemplate
from hushd.plugin.catalog import Catalog
from hushd.plugin.records import Decode, NotifierType


@dataclass(frozen=True, slots=True)
class Site:
    """The place that is watched."""

    name: str = "hushd"
    timezone: str = ""  # "Europe/Berlin"
    zone: tzinfo | None = None


@dataclass(frozen=True, slots=True)
class Tls:
    """Whom to trust, and who we are; verification is on unless written out."""

    ca: Path | None = None  # None: what the system trusts
    cert: Path | None = None
    key: Path | None = None
    insecure: bool = False


@dataclass(frozen=True, slots=True)
class Mqtt:
    """How to reach the broker."""

    host: str = "localhost"
    port: int = 1883
    client_id: str | None = None  # None: derived from machine id and site name
    username: str | None = None
    password: Secret | None = None
    keepalive: int = 30_000_000_000  # ns
    tls: Tls | None = None
    session_expiry: int = 86_400_000_000_000  # ns; 0: the broker keeps nothing for us
    ingest: Literal["auto", "bulk", "plain"] = "auto"
    status_topic: str | None = None  # None: made of the client id; "": nowhere


@dataclass(frozen=True, slots=True)
class SensorConfig:
    """How readings of one sensor are had from messages; what they mean is in the rules."""

    name: str
    template: TopicTemplate
    decoder: str
    decode: Decode
    unit: str = ""
    valid: tuple[float, float] | None = None
    retained: Literal["ignore", "use"] = "ignore"


@dataclass(frozen=True, slots=True)
class NotifierConfig:
    """One configured way to tell people."""

    name: str
    type: NotifierType
    options: Mapping[str, Any]  # every option of the type; URLs and secrets are Secrets
    manner: Manner = field(default_factory=Manner)

    def revealed(self) -> dict[str, Any]:
        """Return the options as the plugin's ``open`` takes them, secrets as plain texts.

        Raises:
            LookupError: a secret was not there when the configuration was read.
        """
        return {key: _revealed(value) for key, value in self.options.items()}

    def secrets(self) -> tuple[str, ...]:
        """Return the texts that must not be shown, should a plugin speak of them."""
        found = [secret for secret in _secrets(self.options.values()) if not secret.missing]
        # a header or a variable may be one although it stands in the configuration
        plain = [
            inner
            for value in self.options.values()
            if isinstance(value, Mapping)
            for inner in value.values()
            if isinstance(inner, str)
        ]
        return (*(secret.reveal() for secret in found), *plain)


def _revealed(value: Any) -> Any:
    if isinstance(value, Secret):
        return value.reveal()
    if isinstance(value, Mapping):
        return {key: _revealed(inner) for key, inner in value.items()}
    return value


def _secrets(values: Iterable[Any]) -> Iterator[Secret]:
    for value in values:
        if isinstance(value, Secret):
            yield value
        elif isinstance(value, Mapping):
            yield from _secrets(value.values())


@dataclass(frozen=True, slots=True)
class Message:
    """A rule's own words for what people are told."""

    texts: Mapping[str, str]  # title, raise, clear, repeat, no_data -> template; those there are
    link: str = ""

    def __bool__(self) -> bool:
        return bool(self.texts or self.link)


@dataclass(frozen=True, slots=True)
class Internal:
    """Who hears of hushd's own troubles."""

    severity: Severity = "warning"
    notify: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Logging:
    """What the daemon says of itself, and how."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["auto", "console", "json", "journal"] = "auto"


@dataclass(frozen=True, slots=True)
class Limits:
    """How much there may be of what others can multiply."""

    series: int = 10_000
    alerts_per_rule: int = 10_000
    payload: int = 65_536  # bytes
    inbox: int = 10_000


@dataclass(frozen=True, slots=True)
class Store:
    """What outlives a restart, and how."""

    path: Path = Path("hushd.db")  # relative: in the state directory
    commit_interval: int = 1_000_000_000  # ns
    profile: Literal["durable", "alerts-only"] = "durable"
    on_error: Literal["continue", "hold"] = "continue"
    required: bool = False


@dataclass(frozen=True, slots=True)
class Config:
    """A configuration without errors."""

    path: Path
    site: Site
    clock: Literal["wall", "stamps"]
    mqtt: Mqtt
    sensors: Mapping[str, SensorConfig]
    notifiers: Mapping[str, NotifierConfig]
    rules: Rules
    internal: Internal
    limits: Limits
    catalog: Catalog
    log: Logging = field(default_factory=Logging)
    store: Store = field(default_factory=Store)
    messages: Mapping[str, Message] = field(default_factory=dict)  # by rule; those that have any
    resting: tuple[Rule, ...] = ()  # those with `enabled: false`
    warnings: tuple[Problem, ...] = ()
