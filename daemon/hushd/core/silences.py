"""Silences: one silent sensor and one label set, whatever number of rules watch it."""

from collections.abc import Sequence
from typing import Any, Protocol

from hushd.core.alarms import About, Alarm, Link, rank
from hushd.core.readings import SECOND, Labels
from hushd.core.rules import Rule, Severity
from hushd.core.transitions import Transition

FLOOR = 300 * SECOND  # the shortest silence that is told unless `no_data.after` is written


def patience(interval: int) -> int:
    """Return how long a silence is borne of what usually speaks at that *interval*."""
    return max(3 * interval, FLOOR)


class Watcher(Protocol):
    """What a silence must know of an alert, or an ear of one, that hears of it."""

    plan: Rule
    silence: "Silence | None"

    @property
    def pool(self) -> object:
        """Where it hears readings; None: nowhere yet."""

    @property
    def sensor(self) -> str:
        """Whose silence it hears of."""

    def learn(self, interval: int | None) -> None:
        """Bear a silence of some intervals, where the rule does not say how long."""

    def bear(self, at: int) -> None:
        """Let no silence be too long before *at*: the rules or the sensor may have changed."""

    @property
    def patience_ends(self) -> int | None:
        """When the silence is, or was, too long for its rule; None: never, or not known yet."""


class Silence(Alarm):
    """The one alert that people hear when a sensor falls silent: ``<sensor>/no-data``.

    Raised when the silence is too long for one of the rules that watch it, with the worst of
    their severities and all their notifiers; over when it is too long for none.
    """

    __slots__ = ("began", "members", "scheduled", "severity")

    def __init__(self, sensor: str, labels: Labels, link: Link, number: int, began: int) -> None:
        """Start without rules, `join` brings them; it can be told from *began* on."""
        about = About(sensor, "no_data", "", "", "", ())
        super().__init__(f"{sensor}/no-data", labels, about, number, link)
        self.began = began
        self.members: list[Watcher] = []
        self.scheduled: int | None = None
        self.severity: Severity = "info"
        self.mark()

    def join(self, alert: Watcher) -> None:
        """Let *alert*'s rule have its say in when, how bad and who."""
        if alert.plan.no_data is None:
            return
        self.members.append(alert)
        alert.silence = self
        self._agree()

    def leave(self, alert: Watcher) -> None:
        """Forget *alert*."""
        self.members = [a for a in self.members if a is not alert]
        if self.members:
            self._agree()

    def _agree(self) -> None:
        plans = [a.plan for a in self.members]
        self.severity = max((p.no_data.severity for p in plans if p.no_data), key=rank)
        names = sorted({name for p in plans for name in told_of_silence(p)})
        self.about = self.about._replace(notify=((self.severity, tuple(names)),))
        self.scheduled = None

    def feed(self, at: int) -> Sequence[Transition]:
        """Note that one of its rules has data; the window of another may still be silent."""
        if self.level is None:
            return ()
        ends = [end for a in self.members if (end := a.patience_ends) is not None]
        return () if min(ends, default=at + 1) <= at else self.end(at, "data")

    def due(self) -> int | None:
        """Return when the silence has lasted too long."""
        if not self.link.online or self.level is not None:
            return None
        ends = [end for a in self.members if (end := a.patience_ends) is not None]
        return max(self.began, min(ends)) if ends else None

    def expire(self, at: int) -> Sequence[Transition]:
        """Raise it if it is time."""
        if self.due() != at:
            return ()
        return [self.change(at, self.severity, "no_data")]

    def end(self, at: int, reason: str) -> Sequence[Transition]:
        """Clear it."""
        return () if self.level is None else [self.change(at, None, reason)]

    def save(self) -> dict[str, Any]:
        """Return the state for a snapshot; since when it is silent, its rules know."""
        return {**super().save(), "sensor": self.about.sensor}


def told_of_silence(plan: Rule) -> tuple[str, ...]:
    """Return who hears of it: those `no_data` names, else everybody the rule would tell."""
    if plan.no_data is not None and plan.no_data.notify is not None:
        return plan.no_data.notify
    return tuple(name for _, names in plan.notify for name in names)
