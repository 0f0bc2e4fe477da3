"""Alerts: one rule and one label set, or one silent sensor and one label set.

What both have in common, an episode and the transitions that tell of it, is `Alarm`.
The decisions, case by case, are in docs/alerts.md.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from hushd.core.latches import Latch, State
from hushd.core.limits import crossed, worse
from hushd.core.readings import SECOND, Labels
from hushd.core.rules import SEVERITIES, NoData, Notify, Rule, Severity
from hushd.core.transitions import Evaluation, Event, Transition, notify_from
from hushd.core.windows import EVER, Gauge, Pool, Seen

FLOOR = 300 * SECOND  # the shortest silence that is told unless `no_data.after` is written


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


class Alarm:
    """A level, its episodes, and the transitions between them."""

    __slots__ = (
        "about",
        "crossed",
        "episode",
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
        self, rule: str, labels: Labels, about: About, number: int, link: "Link | None" = None
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


class Link:
    """What all alarms share: the connection to the sensors, and who minds what changes."""

    __slots__ = ("back", "lost", "marked", "online", "since", "trace")

    def __init__(self) -> None:
        """Start connected, at a time that the engine sets when it first learns one."""
        self.since = 0  # every reading since then was heard: counts are sure
        self.back = EVER  # silence counts from then on, whatever was before
        self.lost: int | None = None  # before this, readings are known to be missing
        self.online = True
        self.marked: dict[Any, None] = {}  # those that a store must write again
        self.trace: Callable[[Evaluation], None] | None = None


class Alert(Alarm):
    """One rule for one label set: latches over a gauge of the pool's window."""

    __slots__ = (
        "_after",
        "_always",
        "_covers",
        "_no_data",
        "_recent",
        "_samples",
        "_span",
        "gauge",
        "judged",
        "last",
        "latches",
        "plan",
        "pool",
        "quiet_since",
        "scheduled",
        "silence",
        "stale",
        "whole_at",
        "window_at",
    )

    def __init__(
        self,
        plan: Rule,
        pool: Pool,
        gauge: Gauge,
        about: About,
        link: Link,
        number: int,
        interval: int | None,
    ) -> None:
        """Start ok and never judged; *interval*: the one its sensor is configured with."""
        super().__init__(plan.name, pool.labels, about, number, link)
        self.plan = plan
        self.pool = pool
        self.gauge = gauge
        self.latches = [Latch(limit) for limit in plan.limits]
        self.last: float | None = None  # the last value that was judged
        self.judged = False
        self.stale = False
        self._recent = False  # `last` is of the last look, so the window tells it, too
        self.quiet_since: int = 0
        self.scheduled: int | None = None
        self.silence: Silence | None = None
        self.window_at: int | None = None  # when its window next changes by age alone
        self.whole_at: int | None = None  # when a count has been listened for long enough
        self._always = gauge.always
        self._samples = plan.min_samples
        self._covers = plan.min_coverage
        self._span = plan.over.span
        self._no_data: NoData | None = plan.no_data
        self._after: int | None = None if plan.no_data is None else plan.no_data.after
        self.learn(interval)
        self.mark()

    # -- what happens to it ------------------------------------------------------------

    def feed(self, at: int, learned: int | None) -> Sequence[Transition]:
        """Judge the window now that a reading has come; *learned*: its series' interval."""
        self.quiet_since = max(self.quiet_since, at)  # a reconnect may have been since then
        self.learn(learned)
        back = []
        if self.stale:
            self.stale = False
            back.append(self.change(at, self.level, "data", event="data_back"))
        return [*back, *self.look(at)] if back else self.look(at)

    def learn(self, interval: int | None) -> None:
        """Bear a silence of some intervals, where the rule does not say how long."""
        if interval is None or self._no_data is None or self._no_data.after is not None:
            return
        after = max(3 * interval, FLOOR)
        if after != self._after:
            self._after = after
            if self.silence is not None:
                self.silence.scheduled = None  # it may be due earlier

    def look(self, at: int) -> Sequence[Transition]:
        """Judge the window as it is at this instant."""
        seen = self.gauge.read(at)
        if not self.stale and (verdict := self._verdict(at, seen)):
            if not self._recent:
                self._recent = self.judged = True
                self.mark()
            value = seen.value
            assert value is not None  # noqa: S101  the verdict says so
            self.last = value
            if self.level is not None and (
                self.peak is None or worse(self.latches[-1].limit, value, self.peak)
            ):
                self.peak = value
                self.mark()
            moved = False
            for latch in self.latches:
                if verdict == ALL or (not _from_below(latch) and latch.raises(value)):
                    before = latch.state
                    latch.judge(value, at)
                    if latch.state is not before:
                        moved = True
                        if latch.state is State.ON and before <= State.PENDING:
                            self._force_milder(latch, at)
            if moved:
                self.mark()
                transitions = self._settle(at, "value", seen)
            else:
                transitions = ()
        else:
            if self._recent:
                self._recent = False
                self.mark()
            transitions = ()
        self.window_at = self.gauge.next_change
        if (trace := self.link.trace) is not None:
            trace(self._evaluation(at, seen))
        return transitions

    def expire(self, at: int) -> Sequence[Transition]:
        """Do what is due at this instant: silence first, then the window's age, then delays."""
        told: list[Transition] = []
        if not self.stale and self.link.online and self.patience_ends == at:
            told += self._fall_silent(at)
        if at in (self.window_at, self.whole_at):
            self.whole_at = None  # a look that judges nothing would leave it
            told += self.look(at)
        moved = False
        for latch in self.latches:
            if latch.due == at:
                latch.expire(at)
                moved = True
                if latch.state is State.ON:
                    self._force_milder(latch, at)
        if moved:
            self.mark()
            told += self._settle(at, "value", self.gauge.read(at))
        return told

    def due(self) -> int | None:
        """Return when time alone next changes something, if ever; may be early, never late."""
        first = self.window_at
        for latch in self.latches:
            if (due := latch.due) is not None and (first is None or due < first):
                first = due
        if self._after is not None and not self.stale and self.link.online:
            due = self.quiet_since + self._after
            if first is None or due < first:
                first = due
        if (due := self.whole_at) is not None and (first is None or due < first):
            first = due
        return first

    def restart_silence(self, at: int) -> None:
        """Count silence from now: the connection was away, not the sensor."""
        self.quiet_since = max(self.quiet_since, at)

    def catch_up(self, behind: int) -> None:
        """Derive what the pool's readings have changed since it was saved.

        The last value comes with the next look, or by `recall`.  *behind*: how far its own
        time runs behind the engine's.
        """
        if self.pool.judged is not None:
            self.quiet_since = max(self.quiet_since, self.pool.judged - behind)
        self.learn(self.pool.learned)

    def look_again(self, at: int) -> None:
        """See to it that the window, which may have aged since it was saved, is looked at.

        What is due at *at* itself may not have run, so the last value is from just before.  An
        aggregation that fails is not asked once more than it would have been.
        """
        self.whole_at = self.window_at = None
        if self.gauge.fails:
            leaves = self.gauge.leaves(at - 1)
            self.window_at = None if leaves is None else max(leaves, at)
            return
        if self._recent:
            self.recall(at - 1)
        if self.judged or self.pool.judged is not None:
            self.window_at = at

    def recall(self, at: int) -> None:
        """Have the last value from the window at *at*, where it matters and that can be judged."""
        if not self.stale and any(latch.state is not State.OFF for latch in self.latches):
            seen = self.gauge.read(at)
            if self._verdict(at, seen):
                self.last = seen.value

    def skip(self, was: int, at: int, tolerance: int) -> None:
        """Let nothing have happened from *was* until *at*: it adds to no delay.

        What was about to be raised before an absence beyond *tolerance* is another matter now.
        """
        for latch in self.latches:
            if latch.state is State.PENDING and at - was > tolerance:
                latch.set(State.OFF, at)
            elif latch.due is not None:
                latch.set(latch.state, latch.since + at - was)
        self.mark()

    def lose(self) -> None:
        """Note that readings are missing: what was about to clear may not have been quiet."""
        for latch in self.latches:
            if latch.state is State.CLEARING:
                latch.set(State.ON, latch.since)
                self.mark()

    def bear(self, at: int) -> None:
        """Let no silence be too long before now: the rules or the sensor may have changed."""
        if self._after is not None and not self.stale and self.link.online:
            quiet_since = at - self._after
            if quiet_since > self.quiet_since:
                self.quiet_since = quiet_since
                self.mark()

    def change_rule(self, at: int) -> Sequence[Transition]:
        """Go on under changed limits: judged by them at once, no delay ends in the past."""
        for latch in self.latches:
            delay = latch.wait if latch.state is State.PENDING else latch.clear_wait
            latch.set(latch.state, max(latch.since, at - delay))
        self.window_at = at
        self.mark()
        return self._settle(at, "rule_changed", None)

    def end(self, at: int, reason: str) -> Sequence[Transition]:
        """Switch everything off."""
        for latch in self.latches:
            latch.set(State.OFF, at)
        return self._settle(at, reason, None)

    # -- how it is judged --------------------------------------------------------------

    def _verdict(self, at: int, seen: Seen) -> int:
        """Return whether the window can be judged: not, as the least it can be, or fully."""
        value = seen.value
        if value is None or not seen.full:
            return NONE
        if self._always:
            whole = self.link.since + (self._span or 0)
            listened = whole <= at and self.link.online
            self.whole_at = None if whole <= at else whole
            return ALL if listened else LEAST
        if seen.samples < self._samples:
            return NONE
        if self._span is not None and self._covers > 0:
            coverage = seen.coverage
            if coverage is None or coverage < self._covers - ROUNDING:
                return NONE
        return ALL

    def _fall_silent(self, at: int) -> Sequence[Transition]:
        self.stale = True
        gone = self._no_data is not None and self._no_data.level == "clear"
        for latch in self.latches:
            if gone:
                latch.set(State.OFF, at)
            else:
                latch.fall_silent(at)
        silent = self.change(at, self.level, "no_data", event="no_data")
        return [silent, *self._settle(at, "no_data_clear", None)]

    @property
    def patience_ends(self) -> int | None:
        """When the silence is, or was, too long for this rule; None: never, or not known yet."""
        return None if self._after is None else self.quiet_since + self._after

    def _force_milder(self, latch: Latch, at: int) -> None:
        """Switch on what is milder, so that falling back is one step, not two."""
        for milder in self.latches:
            if milder is latch:
                return
            if milder.state <= State.PENDING:
                milder.set(State.ON, at)

    def _settle(self, at: int, reason: str, seen: Seen | None) -> Sequence[Transition]:
        """Return the transition to the level that the latches now give, if it is another."""
        level: Severity | None = None
        for latch in self.latches:
            if latch.state >= State.ON:
                level = latch.limit.severity
        if level == self.level:
            return ()
        if level is not None:
            limit = next(latch.limit for latch in self.latches if latch.limit.severity == level)
            self.crossed = crossed(limit, self.last)
        return [
            self.change(at, level, reason, value=self.last, limit=self.crossed, seen=seen),
        ]

    # -- what it shows -----------------------------------------------------------------

    def lacks(self, at: int) -> bool:
        """Say whether its window at *at*, as last looked at, goes back to before a loss."""
        lost = self.link.lost
        return lost is not None and self.gauge.reaches(at, lost)

    @property
    def incomplete(self) -> bool:
        """Whether readings are known to be missing in its window, as last looked at."""
        at = self.gauge.at
        return self.link.lost is not None if at is None else self.lacks(at)

    @property
    def state(self) -> str:
        """Return what people are shown: ok, pending, firing(x), clearing(x) or warming."""
        if self.level is not None:
            top = next(x for x in reversed(self.latches) if x.limit.severity == self.level)
            word = "clearing" if top.state is State.CLEARING else "firing"
            return f"{word}({self.level})"
        if any(latch.state is State.PENDING for latch in self.latches):
            return "pending"
        return "ok" if self.judged else "warming"

    def _evaluation(self, at: int, seen: Seen) -> Evaluation:
        about = self.about
        return Evaluation(
            at,
            self.rule,
            self.labels,
            about.measure,
            about.over,
            seen.value,
            seen.samples,
            seen.coverage,
            self.state,
        )

    def save(self) -> dict[str, Any]:
        """Return the state for a snapshot; the window is the pool's.

        What each reading changes is derived by `catch_up`, so what was saved may be older.
        """
        return {
            **super().save(),
            "pool": self.pool.key,
            "plan": repr(self.plan),
            "identity": repr(self.plan.identity),
            "latches": {x.limit.severity: [int(x.state), x.since] for x in self.latches},
            "last": self.last,
            "recent": self._recent,
            "judged": self.judged,
            "stale": self.stale,
            "quiet_since": self.quiet_since,
            "window_at": self.window_at,
            "whole_at": self.whole_at,
            "faring": self.gauge.save(),
        }

    def load(self, saved: Mapping[str, Any]) -> None:
        """Take the state back; severities that the rule no longer has are forgotten."""
        super().load(saved)
        if saved["faring"] is not None and saved["about"][OVER] == self.about.over:
            self.gauge.load(saved["faring"])
        for latch in self.latches:
            if latch.limit.severity in saved["latches"]:
                state, since = saved["latches"][latch.limit.severity]
                latch.set(State(state), since)
        self.window_at = saved["window_at"]
        self.whole_at = saved["whole_at"]
        self.last = saved["last"]
        self._recent = saved["recent"]
        self.judged = saved["judged"]
        self.stale = saved["stale"] and self._no_data is not None
        self.quiet_since = max(saved["quiet_since"], self.link.back)


OVER = About._fields.index("over")
#: What a window says: nothing; a count that may have missed something, so that only what is
#: too much already is sure; all.
NONE, LEAST, ALL = 0, 1, 2
ROUNDING = 1e-9  # of a coverage: a quotient of two integers


def _from_below(latch: Latch) -> bool:
    """Say whether too few readings, instead of too much noise, would raise it."""
    return latch.limit.comparison in ("below", "at_most", "inside", "outside")


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
        self.members: list[Alert] = []
        self.scheduled: int | None = None
        self.severity: Severity = "info"
        self.mark()

    def join(self, alert: Alert) -> None:
        """Let *alert*'s rule have its say in when, how bad and who."""
        if alert.plan.no_data is None:
            return
        self.members.append(alert)
        alert.silence = self
        self._agree()

    def leave(self, alert: Alert) -> None:
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
