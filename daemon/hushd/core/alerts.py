"""Alerts: one rule and one label set.

The decisions, case by case, are in docs/alerts.md.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from hushd.core.alarms import About, Alarm, Link, rank
from hushd.core.flaps import Flaps
from hushd.core.hours import Hours
from hushd.core.judging import ALL, Meter, Terms, verdict, whole_at
from hushd.core.latches import Latch, State
from hushd.core.limits import crossed, worse
from hushd.core.rules import NoData, Rule, Severity
from hushd.core.silences import Silence, Watcher, patience
from hushd.core.transitions import Evaluation, Transition
from hushd.core.windows import Pool, Seen

__all__ = ["About", "Alarm", "Alert", "Link", "Silence", "rank"]

OVER = About._fields.index("over")


class Alert(Alarm):
    """One rule for one label set: latches over a gauge of the pool's window."""

    __slots__ = (
        "_after",
        "_flaps",
        "_hours",
        "_no_data",
        "_recent",
        "_terms",
        "gauge",
        "judged",
        "last",
        "latches",
        "plan",
        "pool",
        "quiet_since",
        "regime",
        "scheduled",
        "silence",
        "stale",
        "suspended",
        "turns_at",
        "whole_at",
        "window_at",
    )

    def __init__(
        self,
        plan: Rule,
        pool: Pool,
        gauge: Meter,
        about: About,
        link: Link,
        number: int,
        interval: int | None,
        hours: Hours | None = None,
    ) -> None:
        """Start ok and never judged.

        Args:
            plan: The rule.
            pool: The readings.
            gauge: The pool's window.
            about: What its transitions say of the rule.
            link: What all alerts share.
            number: Counts alarms.
            interval: The one its sensor is configured with.
            hours: When which limits count; `turn` is due at once.  None: always the same.
        """
        super().__init__(plan.name, pool.labels, about, number, link)
        self.plan = plan
        self.pool = pool
        self.gauge = gauge
        self.latches = [Latch(limit) for limit in (plan.limits if hours is None else ())]
        self._hours = hours
        self.regime: int | None = 0 if hours is None else None  # None: outside every schedule
        self.turns_at: int | None = None  # when other limits may begin to count
        self.suspended: int | None = None  # since when its clock is not to be believed
        self._flaps = None if plan.flapping is None else Flaps(plan.flapping)
        self.last: float | None = None  # the last value that was judged
        self.judged = False
        self.stale = False
        self._recent = False  # `last` is of the last look, so the window tells it, too
        self.quiet_since: int = 0
        self.scheduled: int | None = None
        self.silence: Silence | None = None
        self.window_at: int | None = None  # when its window next changes by age alone
        self.whole_at: int | None = None  # when a count has been listened for long enough
        self._terms = Terms(gauge.always, plan.over.span, plan.min_samples, plan.min_coverage)
        self._no_data: NoData | None = plan.no_data
        self._after: int | None = None if plan.no_data is None else plan.no_data.after
        self.learn(interval)
        self.mark()

    # -- what happens to it ------------------------------------------------------------

    def feed(self, at: int, learned: int | None, pool: Pool) -> Sequence[Transition]:
        """Judge the window now that a reading has come to *pool*.

        *learned*: its series' interval.
        """
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
        after = patience(interval)
        if after != self._after:
            self._after = after
            if self.silence is not None:
                self.silence.scheduled = None  # it may be due earlier

    def look(self, at: int) -> Sequence[Transition]:
        """Judge the window as it is at this instant."""
        told: Sequence[Transition] = ()
        if self.turns_at is not None and self.turns_at <= at and self.suspended is None:
            told = self.turn(at)
        seen = self.gauge.read(at)
        if self.suspended is None and not self.stale and (verdict := self._verdict(at, seen)):
            if not self._recent or not self.judged:
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
        return [*told, *transitions] if told else transitions

    def expire(self, at: int) -> Sequence[Transition]:
        """Do what is due at this instant: silence, other limits, the window's age, delays."""
        told: list[Transition] = []
        if not self.stale and self.link.online and self.patience_ends == at:
            told += self._fall_silent(at)
        if self.suspended is not None:
            return told
        turned = self.turns_at == at
        if turned:
            was = self.regime
            told += self.turn(at)
            turned = self.regime != was
        if turned or at in (self.window_at, self.whole_at):
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
        if self._flaps is not None and self._flaps.settle(at):
            told.append(self._change_pace(at, "steady"))
        return told

    def begin(self, at: int) -> None:
        """Start with the limits that count at this instant, if the clock says which."""
        if self._hours is not None and not self.link.trusted:
            self.suspended = at
        else:
            self.turn(at)

    def turn(self, at: int) -> Sequence[Transition]:
        """Go by the limits that count at this instant, on the same window.

        What is on stays on, to be judged by the new `clear`; a severity without a limit is
        off; without any, the rule rests.
        """
        hours, shift = self._hours, self.link.shift
        if hours is None:
            return ()
        self.turns_at = hours.until(at + shift) - shift
        self.mark()
        self.refresh(at)
        regime = hours.regime(at + shift)
        if regime == self.regime:
            return ()
        self._go_by(regime, at)
        if self.plan.fresh_window:
            self.judged = False
        return self._settle(at, "schedule", None)

    def _go_by(self, regime: int | None, at: int) -> None:
        assert self._hours is not None  # noqa: S101  only then is there more than one
        self.regime = regime
        before = {latch.limit.severity: latch for latch in self.latches}
        self.latches = [Latch(limit) for limit in self._hours.limits(regime)]
        for latch in self.latches:
            if (old := before.get(latch.limit.severity)) is not None:
                latch.set(old.state, old.since)
                latch.bear(at)

    def set_clock(self, at: int, tolerance: int) -> Sequence[Transition]:
        """Follow what became of the wall clock: what the link says of it has changed.

        Without a time to believe in, a rule with schedules rests as it is: its delays do not
        go on, and what was about to be raised more than *tolerance* ago is dropped.
        """
        if self._hours is None:
            return ()
        if not self.link.trusted:
            if self.suspended is None:
                self.suspended = at
                self.mark()
            return ()
        if (since := self.suspended) is not None:
            self.suspended = None
            self.skip(since, at, tolerance)
        was = self.regime
        told = [*self.turn(at)]
        return [*told, *self.look(at)] if since is not None or self.regime != was else told

    def due(self) -> int | None:
        """Return when time alone next changes something, if ever; may be early, never late."""
        first = None if self.suspended is not None else self._due()
        if self._after is not None and not self.stale and self.link.online:
            due = self.quiet_since + self._after
            if first is None or due < first:
                first = due
        return first

    def _due(self) -> int | None:
        """Return when something but silence is due."""
        first = self.window_at
        for latch in self.latches:
            if (due := latch.due) is not None and (first is None or due < first):
                first = due
        if (due := self.whole_at) is not None and (first is None or due < first):
            first = due
        if (due := self.turns_at) is not None and (first is None or due < first):
            first = due
        flaps = self._flaps
        if flaps is not None and (due := flaps.due()) is not None:
            first = due if first is None else min(first, due)
        return first

    @property
    def sensor(self) -> str:
        """Whose silence it hears of; the first, where it looks at several."""
        return self.about.sensor

    @property
    def watchers(self) -> Sequence[Watcher]:
        """Who has a say in when people hear that a sensor is silent."""
        return (self,)

    def begin_silence(self, at: int) -> None:
        """Count silence from *at*, whatever was before."""
        self.quiet_since = at

    def restart_silence(self, at: int) -> None:
        """Count silence from now: the connection was away, not the sensor."""
        self.quiet_since = max(self.quiet_since, at)

    def refresh(self, at: int) -> None:
        """Let the windows forget what is from before the limits that count at this instant."""
        self.pool.refresh(at)

    def part_from(self, pool: Pool) -> bool:
        """Go on without *pool*, which is no more; False: there is nothing to go on with."""
        return False

    def catch_up(self, behind: int) -> None:
        """Derive what the pool's readings have changed since it was saved.

        *behind*: how far its own time runs behind the engine's.
        """
        if self.pool.judged is not None:
            self.quiet_since = max(self.quiet_since, self.pool.judged - behind)
        self.learn(self.pool.learned)

    def find_place(self, at: int) -> None:
        """Derive what the looks up to *at* have left, where nothing else was left to save.

        What is due at *at* itself may not have run, so this is as of just before.
        """
        if self._recent:
            self.recall(at - 1)
        leaves = self.gauge.leaves(at - 1)
        self.window_at = None if leaves is None else max(leaves, at)
        counts = self._terms.always and self.judged
        self.whole_at = whole_at(self._terms, at - 1, self.link) if counts else None

    def recall(self, at: int) -> None:
        """Have the last value from the window at *at*, if that can be judged."""
        seen = self.gauge.read(at)
        if not self.stale and self._verdict(at, seen):
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
        if self.suspended is not None:
            self.suspended += at - was  # that time is skipped already
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
            self.quiet_since = max(self.quiet_since, at - self._after)

    def change_rule(self, at: int) -> Sequence[Transition]:
        """Go on under changed limits: judged by them at once, no delay ends in the past."""
        for latch in self.latches:
            latch.bear(at)
        self.window_at = at
        self.mark()
        told = [] if self.suspended is not None else [*self.turn(at)]
        told += self._settle(at, "rule_changed", None)
        if self.flapping and self._flaps is None:  # nobody asks for that any more
            told.append(self._change_pace(at, "steady"))
        return told

    def end(self, at: int, reason: str) -> Sequence[Transition]:
        """Switch everything off."""
        flapped, self.flapping, self._flaps = self.flapping, False, None
        for latch in self.latches:
            latch.set(State.OFF, at)
        told = self._settle(at, reason, None)
        # that it is over must be heard, also by those who know that it flaps and not that it is ok
        return [self._change_pace(at, "steady")] if flapped and not told else told

    # -- how it is judged --------------------------------------------------------------

    def _verdict(self, at: int, seen: Seen) -> int:
        """Return whether the window can be judged: not, as the least it can be, or fully."""
        terms = self._terms
        if terms.always and seen.full and seen.value is not None:
            self.whole_at = whole_at(terms, at, self.link)
        return verdict(terms, seen, at, self.link)

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
        began = self._flaps is not None and self._flaps.note(at)
        self.flapping = self.flapping or began
        told = [self.change(at, level, reason, value=self.last, limit=self.crossed, seen=seen)]
        return [*told, self._change_pace(at, "flapping")] if began else told

    def _change_pace(self, at: int, event: Literal["flapping", "steady"]) -> Transition:
        self.flapping = event == "flapping"
        return self.change(at, self.level, event, event=event, value=self.last, limit=self.crossed)

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
        """Return what people are shown.

        ok, pending, firing(x), clearing(x); warming: never judged; inactive: outside every
        schedule; suspended: has schedules, and the clock is not to be believed.
        """
        if self.level is not None:
            top = next(x for x in reversed(self.latches) if x.limit.severity == self.level)
            word = "clearing" if top.state is State.CLEARING else "firing"
            return f"{word}({self.level})"
        if self.suspended is not None:
            return "suspended"
        if self.regime is None:
            return "inactive"
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

        What each reading changes is derived, so what was saved may be older: `catch_up` and
        `find_place`.
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
            "regime": self.regime,
            "turns_at": self.turns_at,
            "suspended": self.suspended,
            "flaps": None if self._flaps is None else self._flaps.save(),
        }

    def load(self, saved: Mapping[str, Any]) -> None:
        """Take the state back; severities that the rule no longer has are forgotten."""
        super().load(saved)
        if saved["faring"] is not None and saved["about"][OVER] == self.about.over:
            self.gauge.load(saved["faring"])
        if self._hours is not None and saved["plan"] == repr(self.plan):
            self._go_by(saved["regime"], 0)
            self.turns_at = saved["turns_at"]
            self.suspended = saved["suspended"]
        if saved.get("flaps") is not None:
            self.flapping = saved["flaps"][0]
            if self._flaps is not None:
                self._flaps.load(saved["flaps"])
                self.flapping = self._flaps.on
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


def _from_below(latch: Latch) -> bool:
    """Say whether too few readings, instead of too much noise, would raise it."""
    return latch.limit.comparison in ("below", "at_most", "inside", "outside")
