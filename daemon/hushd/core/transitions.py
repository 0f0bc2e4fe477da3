"""What the engine returns: an alert changed."""

from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

from hushd.core.readings import SECOND, Labels
from hushd.core.rules import Notify, Severity

Event = Literal[
    "raised", "escalated", "lowered", "cleared", "no_data", "data_back", "flapping", "steady"
]


class Part(NamedTuple):
    """What one condition of several said."""

    sensor: str
    measure: str
    over: str
    value: float | None
    limit: float | None  # the bound that it is, or was, beyond
    unit: str
    holds: bool | None  # None: cannot judge


@dataclass(frozen=True, slots=True)
class Transition:
    """An alert changed at an instant; written to the journal, told to people."""

    at: int  # ns since the epoch
    rule: str  # "<sensor>/no-data" for the alert of a silent sensor
    labels: Labels
    event: Event
    severity: Severity | None  # the level after it; None: ok
    was: Severity | None  # the level before it
    value: float | None
    limit: float | None  # the bound that was crossed; for a cleared alert the one it was raised at
    episode: int
    id: str  # the same in every replay of the same readings
    reason: str  # value, no_data, data, schedule, rule_removed, no_data_clear ...
    peak: float | None  # the worst value of the episode
    started: int | None  # of the episode
    sensor: str
    measure: str
    over: str
    unit: str
    samples: int
    coverage: float | None
    about: str
    notify: Notify  # who is told; () for what goes to the journal only
    incomplete: bool = False  # readings are known to be missing in the window
    flapping: bool = False  # its level changes too often: people hear of it once it is steady
    parts: tuple[Part, ...] = ()  # of a rule with several conditions

    def record(self) -> dict[str, object]:
        """Return the journal line, ready for JSON."""
        record: dict[str, object] = {
            "at": rfc3339(self.at),
            "rule": self.rule,
            "labels": dict(self.labels),
            "event": self.event,
            "severity": self.severity,
            "value": self.value,
            "limit": self.limit,
            "episode": self.episode,
            "id": self.id,
            "reason": self.reason,
            "peak": self.peak,
            "started": None if self.started is None else rfc3339(self.started),
            "was": self.was,
            "measure": self.measure,
            "over": self.over,
            "unit": self.unit,
            "samples": self.samples,
            "coverage": None if self.coverage is None else round(self.coverage, 4),
        }
        if self.incomplete:
            record["incomplete"] = True
        if self.parts:
            record["parts"] = [part._asdict() for part in self.parts]
        return record

    def save(self) -> dict[str, Any]:
        """Return every field, ready for JSON."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def load(cls, saved: dict[str, Any]) -> "Transition":
        """Return the transition that `save` wrote, after its way through JSON."""
        labels = tuple((name, value) for name, value in saved["labels"])
        parts = tuple(Part(*part) for part in saved.get("parts", ()))
        notify = notify_from(saved["notify"])
        return cls(**{**saved, "labels": labels, "notify": notify, "parts": parts})


def notify_from(saved: list[Any]) -> Notify:
    """Return who is told, after its way through JSON."""
    return tuple((severity, tuple(names)) for severity, names in saved)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One look at one rule's window: a line of the trace."""

    at: int
    rule: str
    labels: Labels
    measure: str
    over: str
    value: float | None
    samples: int
    coverage: float | None
    state: str  # ok, pending, firing(warning), clearing(warning), warming, inactive, suspended

    def record(self) -> dict[str, object]:
        """Return the trace line, ready for JSON."""
        return {
            "at": rfc3339(self.at),
            "rule": self.rule,
            "labels": dict(self.labels),
            "measure": self.measure,
            "over": self.over,
            "value": self.value,
            "samples": self.samples,
            "coverage": None if self.coverage is None else round(self.coverage, 6),
            "state": self.state,
        }


def rfc3339(at: int) -> str:
    """Return *at* (ns since the epoch) in UTC with Z, with as many decimals as it needs.

    >>> rfc3339(1742601600 * 10**9), rfc3339(1742601600_500_000_000)
    ('2025-03-22T00:00:00Z', '2025-03-22T00:00:00.5Z')
    """
    seconds, rest = divmod(at, SECOND)
    text = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return text + (f".{rest:09d}".rstrip("0") if rest else "") + "Z"
