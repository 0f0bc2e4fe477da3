"""Who is there: series, the pools they are in, the alarms over these, and their timers."""

import heapq
import json
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from hushd.core.aggregation import Aggregator
from hushd.core.alerts import About, Alarm, Alert, Link, Silence
from hushd.core.compounds import CompoundAlert, compound
from hushd.core.hours import Hours, hours_of
from hushd.core.places import Place, over_text, places, window_of
from hushd.core.readings import Labels
from hushd.core.rules import Rule, Rules
from hushd.core.schedules import Calendar
from hushd.core.series import Series, delay
from hushd.core.shards import Shards
from hushd.core.silences import Watcher
from hushd.core.transitions import Transition
from hushd.core.windows import Fault, Pool

Told = list[tuple[int, Transition]]  # with the engine time of each


class Roster:
    """Lets series, pools and alarms come and go; when, the engine says."""

    def __init__(self, rules: Rules, aggregators: Mapping[str, Aggregator]) -> None:
        """Start with nobody.  Raises KeyError for a measure that nobody offers."""
        self.rules = rules
        self.now: int | None = None
        #: (sensor, reason) -> readings that were not used
        self.rejected: Counter[tuple[str, str]] = Counter()
        #: aggregator -> how often it raised
        self.faults: Counter[str] = Counter()
        #: who is told of each fault
        self.on_fault: Callable[[Fault], None] | None = None
        self._aggregators = {
            found.measure.name: aggregators[found.measure.name]
            for rule in rules.rules
            for found in rule.inputs
        }
        self._sensors = {sensor.name: sensor for sensor in rules.sensors}
        self._places = {name: places(sensor, rules) for name, sensor in self._sensors.items()}
        self._link = Link()
        calendar = Calendar(rules.schedules, rules.holidays)
        self._hours = {plan.name: hours_of(plan, calendar) for plan in rules.rules}
        self._shards = Shards(
            {name: [place.each for place in at] for name, at in self._places.items()}
        )
        self._series: dict[tuple[str, Labels], Series] = {}
        self._pools: dict[str, Pool] = {}
        self._watchers: dict[str, list[Alert]] = {}  # pool key -> its alerts
        self._compounds: dict[tuple[str, Labels], CompoundAlert] = {}  # by rule
        self._silences: dict[tuple[str, Labels], Silence] = {}
        self._alarms: dict[int, Alert | Silence] = {}
        self._gone: list[int] = []  # numbers of alarms, since a store asked
        self._members: Counter[str] = Counter()  # pool key -> series in it
        self._lasting: set[str] = set()  # pools that are never forgotten
        self._alone: set[str] = set()  # pools of alerts whose readings were not kept
        self._count: Counter[str] = Counter()  # rule -> alerts
        self._numbers = 0
        self._timers: list[tuple[int, int]] = []
        self._refilling = False  # readings are put into windows, and nothing is judged

    # -- who comes ---------------------------------------------------------------------

    def _meet(self, name: str, labels: Labels) -> Series | None:
        """Return a new series, or None where there are too many."""
        if len(self._series) >= self.rules.series:
            return None
        sensor = self._sensors[name]
        pairs = dict(labels)
        pools = []
        for place in self._places[name]:
            if place.lets_in(pairs) and (found := place.pool_of(pairs)) is not None:
                pool = self._pools.get(found[0]) or self._open(place, *found)
                if pool is not None:
                    pools.append(pool)
                    self._members[pool.key] += 1
        series = self._series[name, labels] = Series(sensor, labels, pools)
        series.shard = self._shards.add_series(name, labels)
        return series

    def _open(
        self, place: Place, key: str, labels: Labels, saved: dict[str, Any] | None = None
    ) -> Pool | None:
        """Return a new pool with the alerts of its rules, or None where there are too many."""
        if any(
            self._count[plan.name] >= self.rules.alerts_per_rule
            and (plan.name, labels) not in self._compounds
            for plan in place.plans
        ):
            self.rejected[place.sensor.name, "too_many_alerts"] += 1
            return None
        alone = set(place.each) == set(place.sensor.labels)
        pool = self._pools[key] = Pool(key, labels, alone=alone)
        pool.blame = self._blame
        pool.fares = partial(self._mark, key)
        if place.fresh and (hours := self._hours[place.plans[0].name]) is not None:
            pool.stretch = partial(self._stretch, hours)
        if saved is not None:
            wanted = [(self._aggregators[m.name], m, over) for m, over in place.windows()]
            pool.load(saved, wanted)
            if place.sensor.interval is not None:
                pool.learned = place.sensor.interval
        self._shards.add_pool(place.sensor.name, labels, key)
        self._watchers[key] = [self._alert(place, plan, pool) for plan in place.plans]
        return pool

    def _alert(self, place: Place, plan: Rule, pool: Pool) -> Alert:
        """Return an alert of *plan* over *pool*; a new one unless it looked at others before."""
        if plan.leaves or plan.relative_to:
            return self._compound(plan, pool)
        aggregator = self._aggregators[plan.measure.name]
        over = window_of(plan, plan.inputs[0])
        gauge = pool.gauge(aggregator, plan.measure, over)
        unit = aggregator.unit.replace("{unit}", place.sensor.unit)
        about = About(
            place.sensor.name,
            str(plan.measure),
            over_text(plan.over),
            unit,
            plan.about,
            plan.notify,
        )
        interval = place.sensor.interval
        hours = self._hours[plan.name]
        alert = Alert(plan, pool, gauge, about, self._link, self._number(), interval, hours)
        self._enrol(alert)
        return alert

    def _compound(self, plan: Rule, pool: Pool) -> Alert:
        alert = self._compounds.get((plan.name, pool.labels))
        if alert is not None:
            alert.join_in(pool)
            return alert
        hours = self._hours[plan.name]
        alert = compound(
            plan, pool, self._sensors, self._aggregators, self._link, self._number(), hours
        )
        self._compounds[plan.name, pool.labels] = alert
        self._enrol(alert)
        return alert

    def _enrol(self, alert: Alert) -> None:
        """Begin with a new alert, and let the silence of its sensors be heard of."""
        local = (self.now or 0) - self._behind(alert)
        if not self._refilling:  # if so, it is told what counts when all is there
            alert.begin(local)
        alert.begin_silence(max(local, self._link.back))
        self._alarms[alert.number] = alert
        self._count[alert.plan.name] += 1
        if alert.plan.no_data is not None:
            for watcher in alert.watchers:
                self._mind(watcher, alert.labels, local)
        self._schedule(alert)

    def _mind(self, watcher: Watcher, labels: Labels, began: int) -> None:
        """Let people hear when the watcher's sensor is silent for too long."""
        silence = self._silences.get((watcher.sensor, labels))
        if silence is None:
            silence = Silence(watcher.sensor, labels, self._link, self._number(), began)
            self._silences[watcher.sensor, labels] = silence
            self._alarms[silence.number] = silence
        silence.join(watcher)
        self._schedule(silence)

    def _stretch(self, hours: Hours, at: int) -> tuple[int, int]:
        """Return from when until when the same limits count as at *at*."""
        wall = at + self._link.shift
        return hours.since(wall) - self._link.shift, hours.until(wall) - self._link.shift

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _expect_all(self) -> list[Alert]:
        """Open the pools that are there before any reading: expected ones, and of `each: []`.

        Returns their alerts, which nobody has looked at yet.
        """
        fresh = []
        for name, plans in self._places.items():
            expected = [dict(labels) for labels in self._sensors[name].expect]
            for place in plans:
                if not place.each:
                    fresh += self._expect(place, {})
                for labels in expected:
                    if place.lets_in(labels):
                        fresh += self._expect(place, labels)
        return fresh

    def _expect(self, place: Place, labels: Mapping[str, str]) -> list[Alert]:
        found = place.pool_of(labels)
        if found is None:
            return []
        self._lasting.add(found[0])
        if found[0] in self._pools or self._open(place, *found) is None:
            return []
        return self._watchers[found[0]]

    def _mark(self, key: str) -> None:
        for alert in self._watchers[key]:
            alert.mark()

    def _blame(self, fault: Fault) -> None:
        """Count what an aggregation did wrong, and say so."""
        self.faults[fault.aggregator] += 1
        if self.on_fault is not None:
            self.on_fault(fault)

    # -- who goes ----------------------------------------------------------------------

    def _forget_old(self, now: int, told: Told) -> None:
        """Forget series that nobody expects, silent for long and ok.

        In an order that no restart changes: who is told depends on who goes last.
        """
        old = [
            key
            for key, series in self._series.items()
            if series.heard <= now - self.rules.forget - delay(series.sensor)
        ]
        for key in sorted(old):
            series = self._series[key]
            watchers = [alert for pool in series.pools for alert in self._watchers[pool.key]]
            if any(alert.level is not None for alert in watchers):
                continue
            del self._series[key]
            self._shards.drop_series(*key)
            for pool in series.pools:
                self._members[pool.key] -= 1
                if not self._members[pool.key] and pool.key not in self._lasting:
                    self._close(pool, now, "forgotten", told)
        for name in sorted(self._alone):
            if self._members[name] or name in self._lasting:
                self._alone.discard(name)
            elif all(self._may_go(alert, now) for alert in self._watchers[name]):
                self._close(self._pools[name], now, "forgotten", told)

    def _may_go(self, alert: Alert, now: int) -> bool:
        long_ago = now - self.rules.forget - 2 * self._behind(alert)
        return alert.level is None and alert.quiet_since <= long_ago

    def _close(self, pool: Pool, now: int, reason: str, told: Told) -> None:
        """Drop a pool with its alerts."""
        for alert in self._watchers.pop(pool.key):
            if alert.part_from(pool):
                told += [(now, t) for t in alert.look(now - self._behind(alert))]
                self._schedule(alert)
            else:
                self._drop(alert, now, reason, told)
        del self._pools[pool.key]
        self._alone.discard(pool.key)
        del self._members[pool.key]
        self._shards.drop_pool(json.loads(pool.key)[0], pool.labels, pool.key)

    def _drop(self, alert: Alert, now: int, reason: str, told: Told) -> None:
        told += [(now, t) for t in alert.end(now, reason)]
        self._forget(alert)
        self._count[alert.plan.name] -= 1
        self._compounds.pop((alert.rule, alert.labels), None)
        for watcher in alert.watchers:
            if (silence := watcher.silence) is None:
                continue
            silence.leave(watcher)
            if silence.members:
                self._schedule(silence)
            else:
                told += [(now, t) for t in silence.end(now, reason)]
                self._forget(silence)
                del self._silences[silence.about.sensor, silence.labels]

    def _forget(self, alarm: Alert | Silence) -> None:
        del self._alarms[alarm.number]
        self._link.marked.pop(alarm, None)
        self._gone.append(alarm.number)

    # -- timers ------------------------------------------------------------------------

    def _behind(self, alarm: Alarm) -> int:
        """Return how far the own time of the alarm's sensor runs behind the engine's."""
        return delay(self._sensors[alarm.about.sensor])

    def _schedule(self, alarm: Alert | Silence) -> None:
        """See to it that a timer stands no later than the alarm's next deadline."""
        if self._refilling:
            return
        due = alarm.due()
        if due is None:
            return
        due += self._behind(alarm)
        if alarm.scheduled is None or due < alarm.scheduled:
            alarm.scheduled = due
            heapq.heappush(self._timers, (due, alarm.number))
            if len(self._timers) > 4 * len(self._alarms) + 64:
                self._timers[:] = [
                    (a.scheduled, a.number)
                    for a in self._alarms.values()
                    if a.scheduled is not None
                ]
                heapq.heapify(self._timers)

    def _drop_stale_timers(self) -> None:
        timers = self._timers
        while timers:
            at, number = timers[0]
            alarm = self._alarms.get(number)
            if alarm is not None and alarm.scheduled == at:
                return
            heapq.heappop(timers)


def in_order(told: Told) -> list[Transition]:
    """Return transitions by time, then series, then rule."""
    if not told:  # as nearly always
        return []
    told.sort(key=lambda pair: (pair[0], pair[1].labels, pair[1].rule))
    return [transition for _, transition in told]
