"""Alarms: a level, its episodes, and the transitions that tell of them.

What an alert over a window, a silent sensor and a trouble of hushd's own have in common.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from hushd.core.readings import Labels
from hushd.core.rules import SEVERITIES, Notify, Severity
from hushd.core.transitions import Evaluation, Event, Transition, notify_from
from hushd.core.windows import EVER, Seen


def rank(level: Severity | None) -> int:
    """Return 0 for ok, 1 to 3 for the severities."""
    return 0 if level is None else SEVERITIES.index(level) + 1


class About(NamedTuple):
    """What a transition says of its rule beside what changed."""

    sensor: str
    measure: str
    over: str
    unit: str
    about: str
    notify: Notify

    @classmethod
    def load(cls, saved: list[Any]) -> "About":
        """Return it from a snapshot."""
        sensor, measure, over, unit, about, notify = saved
        return cls(sensor, measure, over, unit, about, notify_from(notify))


class Link:
    """What all alarms share: the connection to the sensors, and who minds what changes."""

    __slots__ = ("back", "lost", "marked", "online", "shift", "since", "trace", "trusted")

    def __init__(self) -> None:
        """Start connected, at a time that the engine sets when it first learns one."""
        self.since = 0  # every reading since then was heard: counts are sure
        self.back = EVER  # silence counts from then on, whatever was before
        self.lost: int | None = None  # before this, readings are known to be missing
        self.online = True
        self.shift = 0  # wall time less engine time
        self.trusted = True  # whether wall time is to be believed
        self.marked: dict[Alarm, None] = {}  # those that a store must write again
        self.trace: Callable[[Evaluation], None] | None = None


class Alarm:
    """A level, its episodes, and the transitions between them."""

    __slots__ = (
        "about",
        "crossed",
        "episode",
        "flapping",
        "labels",
        "level",
        "link",
        "number",
        "peak",
        "rule",
        "started",
        "step",
    )

    def __init__(
        self, rule: str, labels: Labels, about: About, number: int, link: Link | None = None
    ) -> None:
        """Start ok; *number* counts all alarms of an engine and breaks ties."""
        self.link = Link() if link is None else link
        self.rule = rule
        self.labels = labels
        self.about = about
        self.number = number
        self.level: Severity | None = None
        self.episode = 0
        self.step = 0
        self.started: int | None = None
        self.peak: float | None = None
        self.crossed: float | None = None  # the bound that brought it to its level
        self.flapping = False  # it changes too often for people to be told each time

    def change(
        self,
        at: int,
        level: Severity | None,
        reason: str,
        *,
        event: Event | None = None,
        value: float | None = None,
        limit: float | None = None,
        seen: Seen | None = None,
    ) -> Transition:
        """Go to *level* and return the transition; *event* where the level says too little."""
        was = self.level
        if event is None:
            event = (
                "raised"
                if was is None
                else "cleared"
                if level is None
                else "escalated"
                if rank(level) > rank(was)
                else "lowered"
            )
        if event == "raised":
            self.episode += 1
            self.step = 0
            self.started = at
            self.peak = value
        self.level = level
        self.step += 1
        since = at if self.started is None else self.started  # a silence may be without episode
        about = self.about
        transition = Transition(
            at=at,
            rule=self.rule,
            labels=self.labels,
            event=event,
            severity=level,
            was=was,
            value=value,
            limit=limit,
            episode=self.episode,
            id=identity(self.rule, self.labels, since, self.episode, self.step),
            reason=reason,
            peak=self.peak,
            started=self.started,
            sensor=about.sensor,
            measure=about.measure,
            over=about.over,
            unit=about.unit,
            samples=0 if seen is None else seen.samples,
            coverage=None if seen is None else seen.coverage,
            about=about.about,
            notify=() if event in ("no_data", "data_back") else about.notify,
            incomplete=self.lacks(at),
            flapping=self.flapping,
        )
        self.mark()
        if level is None and event == "cleared":
            self.started = None
            self.peak = None
        return transition

    def mark(self) -> None:
        """Note that `save` would return what the last one did not, and readings do not tell."""
        self.link.marked[self] = None

    def lacks(self, at: int) -> bool:
        """Say whether readings are known to be missing in what it judges at *at*."""
        return False

    def save(self) -> dict[str, Any]:
        """Return the episode for a snapshot."""
        return {
            "rule": self.rule,
            "labels": self.labels,
            "level": self.level,
            "episode": self.episode,
            "step": self.step,
            "started": self.started,
            "peak": self.peak,
            "crossed": self.crossed,
            "about": self.about,
        }

    def load(self, saved: Mapping[str, Any]) -> None:
        """Take the episode back from a snapshot."""
        self.level = saved["level"]
        self.episode = saved["episode"]
        self.step = saved["step"]
        self.started = saved["started"]
        self.peak = saved["peak"]
        self.crossed = saved["crossed"]


def identity(rule: str, labels: Labels, started: int | None, episode: int, step: int) -> str:
    """Return 16 hex digits, the same whenever the same thing happens to the same readings."""
    text = json.dumps([rule, labels, started, episode, step], separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
