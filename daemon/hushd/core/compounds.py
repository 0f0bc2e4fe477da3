"""Compounds: alerts over several windows.

A rule of several conditions (`all`, `any`), or one relative to another window
(`relative_to`).  What the windows say together is one value, so limits, delays, episodes and
schedules are those of any alert; what differs is who is heard, and what a silence means.  A
compound is there as soon as one of its pools is, and goes on until the last is no more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hushd.core.aggregation import Aggregator
from hushd.core.alarms import About, Link
from hushd.core.alerts import Alert
from hushd.core.ears import Ear
from hushd.core.hours import Hours
from hushd.core.joints import Amount, Condition, Difference, Joint, Sight, earliest
from hushd.core.judging import NONE, Terms
from hushd.core.places import over_text, pool_key, turns, window_of
from hushd.core.rules import Input, Rule, Sensor
from hushd.core.silences import Watcher
from hushd.core.transitions import Event, Part, Transition
from hushd.core.windows import Pool, Seen

#: Reasons for a change that come with a look at the windows.
LOOKED = ("value", "no_data", "no_data_clear", "data")


class CompoundAlert(Alert):
    """One rule for one label set, over several windows, perhaps of several sensors.

    It is stale while a silent sensor leaves its question without an answer.
    """

    __slots__ = ("_joint", "ears")

    gauge: Difference | Joint

    def __init__(
        self,
        plan: Rule,
        pool: Pool,
        gauge: Difference | Joint,
        about: About,
        link: Link,
        number: int,
        hours: Hours | None = None,
    ) -> None:
        """Start ok and never judged, with *pool* for a first; see `compound`."""
        super().__init__(plan, pool, gauge, about, link, number, None, hours)
        self._after = None  # each ear has its own
        self._joint = gauge if isinstance(gauge, Joint) else None
        self.ears = tuple(dict.fromkeys(sight.ear for sight in gauge.sights))
        self.join_in(pool)

    @property
    def parts(self) -> tuple[Part, ...]:
        """What each of its conditions last said; nothing of a value relative to another."""
        return () if self._joint is None else self._joint.tell()

    # -- what is heard -----------------------------------------------------------------

    def join_in(self, pool: Pool) -> None:
        """Look at *pool*, too, that is there now."""
        self._link_up(pool.key, pool)

    def part_from(self, pool: Pool) -> bool:
        """Go on without *pool*, which is no more; False: there is nothing to go on with."""
        return self._link_up(pool.key, None)

    def _link_up(self, key: str, pool: Pool | None) -> bool:
        for ear in self.ears:
            if ear.key == key:
                ear.pool = pool
        for sight in self.gauge.sights:
            sight.open()
        self.mark()
        there = [ear.pool for ear in self.ears if ear.pool is not None]
        if there:
            self.pool = there[0]  # whichever came first
        return bool(there)

    def feed(self, at: int, learned: int | None, pool: Pool) -> Sequence[Transition]:
        """Judge the windows now that a reading has come to *pool*."""
        self.quiet_since = max(self.quiet_since, at)
        for ear in self.ears:
            if ear.pool is pool:
                ear.restart(at)
                ear.learn(learned)
                if ear.silent:
                    ear.silent = False
                    self.mark()
        return self.look(at)

    @property
    def watchers(self) -> Sequence[Watcher]:
        """Who has a say in when people hear that a sensor is silent: an ear for each."""
        return self.ears

    def begin_silence(self, at: int) -> None:
        """Count silence from *at*, whatever was before."""
        super().begin_silence(at)
        for ear in self.ears:
            ear.quiet_since = at

    def restart_silence(self, at: int) -> None:
        """Count silence from now: the connection was away, not the sensors."""
        super().restart_silence(at)
        for ear in self.ears:
            ear.restart(at)

    def bear(self, at: int) -> None:
        """Let no silence be too long before now."""
        if self.link.online:
            for ear in self.ears:
                ear.bear(at)

    def refresh(self, at: int) -> None:
        """Let the windows forget what is from before the limits that count at this instant."""
        for ear in self.ears:
            if ear.pool is not None:
                ear.pool.refresh(at)

    # -- how it is judged --------------------------------------------------------------

    def look(self, at: int) -> Sequence[Transition]:
        """Judge what the windows say together at this instant."""
        told: list[Transition] = []
        if self.turns_at is not None and self.turns_at <= at and self.suspended is None:
            told += self.turn(at)
        told += self._listen(at)
        if self._joint is not None and self._judges and self._joint.settle():
            self.mark()
        last = self.last
        told += super().look(at)
        if self.gauge.whole_at != self.whole_at or (self._joint is not None and self.last != last):
            self.mark()
        self.whole_at = self.gauge.whole_at
        return told

    @property
    def _judges(self) -> bool:
        """Whether its limits count now, so that what its conditions say is remembered."""
        return self.regime is not None and self.suspended is None

    def _listen(self, at: int) -> Sequence[Transition]:
        """Find out whether a silence leaves the question without an answer."""
        self.gauge.read(at)
        stale = self.gauge.verdict == NONE and any(ear.silent for ear in self.ears)
        if stale == self.stale:
            return ()
        if stale:
            return self._fall_silent(at)
        self.stale = False
        return [self.change(at, self.level, "data", event="data_back")]

    def _verdict(self, at: int, seen: Seen) -> int:
        """Return how sure is what the windows say together, as last read."""
        return self.gauge.verdict

    def _fall_silent(self, at: int) -> Sequence[Transition]:
        if self._joint is not None and self._no_data and self._no_data.level == "clear":
            self._joint.forget(silent=True)
        return super()._fall_silent(at)

    def turn(self, at: int) -> Sequence[Transition]:
        """Go by the limits that count at this instant; what rests remembers nothing."""
        told = super().turn(at)
        if self._joint is not None and self.regime is None:
            self._joint.forget()
        return told

    def expire(self, at: int) -> Sequence[Transition]:
        """Do what is due at this instant: silence first."""
        told: list[Transition] = []
        fallen = [ear for ear in self._listening() if ear.patience_ends == at]
        if fallen:
            for ear in fallen:
                ear.silent = True
            self.mark()
            told += self._listen(at)
        return [*told, *super().expire(at)]

    def due(self) -> int | None:
        """Return when time alone next changes something, if ever; may be early, never late."""
        return earliest([super().due(), *(ear.patience_ends for ear in self._listening())])

    def _listening(self) -> Sequence[Ear]:
        """Return the ears that may fall silent."""
        return [ear for ear in self.ears if not ear.silent] if self.link.online else ()

    # -- what it tells, and what is kept of it -----------------------------------------

    def change(
        self,
        at: int,
        level: Any,
        reason: str,
        *,
        event: Event | None = None,
        value: float | None = None,
        limit: float | None = None,
        seen: Seen | None = None,
    ) -> Transition:
        """Go to *level*; of several conditions, tell what each said instead of a value."""
        told = super().change(at, level, reason, event=event, value=value, limit=limit, seen=seen)
        if self._joint is None:
            return told
        parts = self.parts if reason in LOOKED else ()
        return replace(told, value=None, limit=None, peak=None, parts=parts)

    def catch_up(self, behind: int) -> None:
        """Derive what the pools' readings have changed since it was saved."""
        for ear in self.ears:
            ear.catch_up(behind)
            if ear.pool is not None and ear.pool.judged is not None:
                self.quiet_since = max(self.quiet_since, ear.pool.judged - behind)

    def find_place(self, at: int) -> None:
        """Derive what the looks up to *at* have left, where nothing else was left to save."""
        whole = self.whole_at
        super().find_place(at)
        self.whole_at = whole if whole is not None and whole >= at else None

    def recall(self, at: int) -> None:
        """Have the last difference from the windows at *at*; what conditions say is saved."""
        if self._joint is None:
            super().recall(at)

    def save(self) -> dict[str, Any]:
        """Return the state for a snapshot."""
        joint = self._joint
        return {
            **super().save(),
            "ears": [ear.save() for ear in self.ears],
            "on": None if joint is None else [condition.on for condition in joint.conditions],
        }

    def load(self, saved: Mapping[str, Any]) -> None:
        """Take the state back."""
        super().load(saved)
        for ear, (quiet_since, silent) in zip(self.ears, saved["ears"], strict=True):
            ear.load(max(quiet_since, self.link.back), silent=silent)
        if self._joint is not None and len(self._joint.conditions) == len(saved["on"] or ()):
            for condition, on in zip(self._joint.conditions, saved["on"], strict=True):
                condition.on = on


def compound(
    plan: Rule,
    pool: Pool,
    sensors: Mapping[str, Sensor],
    aggregators: Mapping[str, Aggregator],
    link: Link,
    number: int,
    hours: Hours | None,
) -> CompoundAlert:
    """Return a new alert of a rule over several windows, of which *pool* is there."""
    ears: dict[str, Ear] = {}

    def sight(of: Input) -> Sight:
        key = pool_key(of.sensor, of.where, pool.labels, turns(plan))
        if key not in ears:
            ears[key] = Ear(plan, of.sensor, key, sensors[of.sensor].interval)
        aggregator = aggregators[of.measure.name]
        terms = Terms(aggregator.always, of.over.span, of.min_samples, of.min_coverage)
        return Sight(ears[key], (aggregator, of.measure, window_of(plan, of)), terms)

    def unit(of: Input) -> str:
        return aggregators[of.measure.name].unit.replace("{unit}", sensors[of.sensor].unit)

    def amount(of: Input, less: Input | None) -> Amount:
        return Amount(sight(of), None if less is None else sight(less))

    first = plan.inputs[0]
    gauge: Difference | Joint
    said: tuple[str, str, str]
    if plan.join:
        conditions = []
        for leaf in plan.leaves:
            of = leaf.input
            part = Part(of.sensor, str(of.measure), over_text(of.over), None, None, unit(of), None)
            conditions.append(Condition(amount(of, leaf.less), leaf.limit, part))
        gauge = Joint(plan.join, conditions, link)
        said = (plan.join, "", "")
    else:
        gauge = Difference(amount(first, plan.relative_to), link)
        said = (str(first.measure), over_text(first.over), unit(first))
    about = About(first.sensor, *said, plan.about, plan.notify)
    return CompoundAlert(plan, pool, gauge, about, link, number, hours)
