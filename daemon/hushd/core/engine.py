"""The engine: readings and the passing of time in, transitions out.

Pure: no clock, no input or output.  The live daemon, a replay and a unit test run this
very engine, and may stop and resume it anywhere through `snapshot` and `Engine.restore`.

At one instant readings come first, then what is due by time alone.
"""

import heapq
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from hushd.core import codec
from hushd.core.aggregation import Aggregator
from hushd.core.alerts import About, Alarm, Alert, Link, Silence
from hushd.core.readings import SECOND, Labels, Reading
from hushd.core.rules import Over, Rule, Rules, Sensor
from hushd.core.series import Series, delay, is_ahead
from hushd.core.shards import Changes, Saved, Shards
from hushd.core.times import format_duration
from hushd.core.transitions import Evaluation, Transition
from hushd.core.windows import EVER, Fault, Pool, labels_from

VERSION = 2  # of the snapshot
SWEEP = 3600 * SECOND  # how often forgettable series are looked for

Told = list[tuple[int, Transition]]  # with the engine time of each
Where = tuple[tuple[str, tuple[str, ...]], ...]


class Place(NamedTuple):
    """Where readings of a sensor are pooled alike, and the rules that do so."""

    sensor: Sensor
    where: Where
    each: tuple[str, ...]
    plans: tuple[Rule, ...]

    def lets_in(self, labels: Mapping[str, str]) -> bool:
        """Say whether a series with these labels counts here."""
        return all(labels.get(name) in values for name, values in self.where)

    def pool_of(self, labels: Mapping[str, str]) -> tuple[str, Labels] | None:
        """Return the pool's key and labels; None where a label of `each` is missing."""
        if not all(name in labels for name in self.each):
            return None
        pooled = tuple((name, labels[name]) for name in self.each)
        return json.dumps([self.sensor.name, self.where, pooled]), pooled


class Engine:
    """Windows, latches and episodes of all rules."""

    def __init__(self, rules: Rules, aggregators: Mapping[str, Aggregator]) -> None:
        """Start with nothing seen.  Raises KeyError for a measure that nobody offers."""
        self.rules = rules
        self.now: int | None = None
        #: (sensor, reason) -> readings that were not used
        self.rejected: Counter[tuple[str, str]] = Counter()
        #: aggregator -> how often it raised
        self.faults: Counter[str] = Counter()
        #: whether the last reading that was processed was taken
        self.took = False
        #: who is told of each fault
        self.on_fault: Callable[[Fault], None] | None = None
        self._aggregators = {
            rule.measure.name: aggregators[rule.measure.name] for rule in rules.rules
        }
        self._sensors = {sensor.name: sensor for sensor in rules.sensors}
        self._places = {name: places(sensor, rules) for name, sensor in self._sensors.items()}
        self._link = Link()
        self._shards = Shards(
            {name: [place.each for place in at] for name, at in self._places.items()}
        )
        self._gone: list[int] = []  # alarms, since a store asked
        self._refilling = False  # readings are put into windows, and nothing is judged
        self._alone: set[str] = set()  # pools of alerts whose readings were not kept
        #: which content of the stage, and that by series
        self._sorted: tuple[tuple[int, int], dict[tuple[str, Labels], list[Any]]] = (0, 0), {}
        self._series: dict[tuple[str, Labels], Series] = {}
        self._pools: dict[str, Pool] = {}
        self._watchers: dict[str, list[Alert]] = {}  # pool key -> its alerts
        self._silences: dict[tuple[str, Labels], Silence] = {}
        self._alarms: dict[int, Alert | Silence] = {}
        self._members: Counter[str] = Counter()  # pool key -> series in it
        self._lasting: set[str] = set()  # pools that are never forgotten
        self._count: Counter[str] = Counter()  # rule -> alerts
        self._numbers = 0
        self._timers: list[tuple[int, int]] = []
        self._stage: list[tuple[int, int, str, Labels, float, int, Reading]] = []
        self._arrivals = 0
        self._sweep_at: int | None = None
        self._owed: list[Transition] = []  # from a restore: told at the next call

    # -- the face ----------------------------------------------------------------------

    @property
    def trace(self) -> Callable[[Evaluation], None] | None:
        """Who is told of every evaluation."""
        return self._link.trace

    @trace.setter
    def trace(self, listener: Callable[[Evaluation], None] | None) -> None:
        self._link.trace = listener

    def process(self, reading: Reading) -> list[Transition]:
        """Take in *reading* and return what changed until and by it.

        The engine's time moves to `reading.arrived` (it never goes back); deadlines before
        that run first, deadlines at that very instant only with the next call, so that
        every reading of one instant comes before them.
        """
        told: Told = []
        self.took = False
        now = self._begin(reading.arrived, told)
        self._run(now, told, inclusive=False)
        key = (reading.sensor, reading.labels)
        series = self._series.get(key)
        if series is None:
            if is_ahead(self._sensors[reading.sensor], reading):
                self.rejected[reading.sensor, "future"] += 1
                return in_order(told)
            series = self._meet(reading.sensor, reading.labels)
            if series is None:
                self.rejected[reading.sensor, "too_many_series"] += 1
                return in_order(told)
        if (reason := series.refusal(reading)) is not None:
            self.rejected[reading.sensor, reason] += 1
            return in_order(told)
        self.took = True
        series.heard = now
        release = reading.at + delay(series.sensor)
        if release <= now and release == reading.at:
            self._judge(series, reading, told)
        else:
            tie = series.tie(reading, self._arrivals)
            entry = (release, reading.at, *key, tie, self._arrivals, reading)
            heapq.heappush(self._stage, entry)
            self._arrivals += 1
            self._run(now, told, inclusive=False)
        return in_order(told)

    def advance(self, now: int) -> list[Transition]:
        """Let time pass until *now*, and return what expires, fires, clears or goes silent.

        Monotone and idempotent.  The caller promises that every reading that arrived at or
        before *now* has been processed; of the engine's own time, where that is later, it
        promises nothing.
        """
        told: Told = []
        until = self._begin(now, told)
        self._run(until, told, inclusive=until == now)
        return in_order(told)

    def deadline(self) -> int | None:
        """Return when `advance` next has something to do; may be early, never late."""
        self._drop_stale_timers()
        due = [queue[0][0] for queue in (self._timers, self._stage) if queue]
        if self._sweep_at is not None and self._series:
            due.append(self._sweep_at)
        return min(due, default=None)

    def disconnected(self, now: int) -> list[Transition]:
        """Note that the sensors cannot be heard: silence is not their fault."""
        told = self.advance(now)
        self._link.online = False
        return told

    def connected(self, now: int) -> list[Transition]:
        """Note that they can be heard again: silence and counts start over."""
        told = self.advance(now)
        if self._link.online:
            return told
        if self.now is not None:
            now = self.now  # which never goes back
        self._link.online = True
        self._link.since = self._link.back = now
        more: Told = []
        for alarm in self._alarms.values():
            if isinstance(alarm, Alert):
                alarm.restart_silence(now)
                if alarm.gauge.always:
                    more += [(now, t) for t in alarm.look(now - self._behind(alarm))]
            self._schedule(alarm)
        return told + in_order(more)

    def lost(self, now: int) -> list[Transition]:
        """Note that readings before *now* are missing, whoever lost them.

        What is about to clear may not have been quiet: it starts over.  Windows that go back
        to then are incomplete, and counts are sure only when that is over.
        """
        told = self.advance(now)
        assert self.now is not None  # noqa: S101  set by advance
        link = self._link
        link.lost = link.since = now = self.now
        more: Told = []
        for alarm in self._alarms.values():
            if isinstance(alarm, Alert):
                alarm.lose()
                more += [(now, t) for t in alarm.look(now - self._behind(alarm))]
                self._schedule(alarm)
        return told + in_order(more)

    def resumed(self, now: int, *, gap: bool, tolerance: int = 3600 * SECOND) -> list[Transition]:
        """Go on at *now* after a time in which nothing was heard, judged or told.

        No deadline falls into it, no delay counts it, silence and counts start over, and windows
        are looked at as age has left them.  With a *gap* readings are missing, as in `lost`.
        What was about to be raised is dropped after more than *tolerance*.
        """
        told: Told = []
        was = self.now
        now = self._begin(now, told)
        if was is None:
            return in_order(told)
        for alert in self.alerts():
            alert.recall(was - self._behind(alert))
        sweep_at, self._sweep_at = self._sweep_at, None
        self._timers.clear()
        self._refilling = True  # what waited for its turn is judged with the rest, below
        self._run(now, told, inclusive=False)
        self._refilling = False
        self._sweep_at = None if sweep_at is None else max(sweep_at, now)
        link = self._link
        link.since = link.back = now
        if gap:
            link.lost = now
        for alarm in self._alarms.values():
            alarm.scheduled = None
            if isinstance(alarm, Alert):
                behind = self._behind(alarm)
                alarm.catch_up(behind)
                alarm.restart_silence(now)
                alarm.skip(was - behind, now - behind, tolerance)
                if gap:
                    alarm.lose()
                told += [(now, t) for t in alarm.look(now - behind)]
        for alarm in self._alarms.values():
            self._schedule(alarm)
        return in_order(told)

    def alerts(self) -> Iterable[Alert]:
        """Return all alerts, in the order in which they came to be."""
        return (alarm for alarm in self._alarms.values() if isinstance(alarm, Alert))

    @property
    def series(self) -> int:
        """Return how many series are kept."""
        return len(self._series)

    # -- time --------------------------------------------------------------------------

    def _begin(self, now: int, told: Told) -> int:
        """Set what must exist from the start, the first time a time is known."""
        if self.now is None:
            self.now = now
            self._link.since = now
            self._sweep_at = now + min(SWEEP, self.rules.forget)
            for alert in self._expect_all():
                told += [(now, t) for t in alert.look(now - self._behind(alert))]
                self._schedule(alert)
        told += [(self.now, transition) for transition in self._owed]
        self._owed = []
        return max(now, self.now)

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

    def _run(self, until: int, told: Told, *, inclusive: bool) -> None:
        """Do all that is due before *until*: at one instant, readings before deadlines."""
        stage, timers = self._stage, self._timers
        while True:
            reading_at = stage[0][0] if stage else None
            timer_at = timers[0][0] if timers else None
            if self._sweep_at is not None and (timer_at is None or self._sweep_at < timer_at):
                timer_at = self._sweep_at
            if (
                reading_at is not None
                and reading_at <= until
                and (timer_at is None or reading_at <= timer_at)
            ):
                self.now = max(self.now or reading_at, reading_at)
                self._release(told)
            elif timer_at is not None and (timer_at < until or (inclusive and timer_at == until)):
                self.now = max(self.now or timer_at, timer_at)
                if timer_at == self._sweep_at:
                    self._sweep(timer_at, told)
                else:
                    self._expire(told)
            else:
                self.now = until
                return

    def _release(self, told: Told) -> None:
        """Judge the next reading of the stage, unless another with its stamp stands for it."""
        _, at, sensor, labels, _, _, reading = heapq.heappop(self._stage)
        series = self._series.get((sensor, labels))
        if series is None:
            return
        if self._stage and series.sensor.duplicates in ("last", "max"):
            _, at_next, sensor_next, labels_next, *_ = self._stage[0]
            if (at_next, sensor_next, labels_next) == (at, sensor, labels):
                self.rejected[sensor, "duplicate"] += 1
                return
        self._judge(series, reading, told)

    def _judge(self, series: Series, reading: Reading, told: Told) -> None:
        now = self.now
        assert now is not None  # noqa: S101  set by _begin
        sensor = series.sensor
        value = reading.value + 0.0  # an integer becomes a float, and -0.0 plain 0.0
        if not series.admit(reading.at, value):
            self.rejected[sensor.name, "duplicate"] += 1
            return
        series.heard = now
        local = now - delay(sensor)
        learned = series.interval
        for pool in series.pools:
            if not pool.add(series.labels, series, reading.at, value):
                self.rejected[sensor.name, "late"] += 1
                continue
            pool.judged = now
            if learned is not None:
                pool.learned = learned
            if self._refilling:
                continue
            for alert in self._watchers[pool.key]:
                told += [(now, t) for t in alert.feed(local, learned)]
                self._schedule(alert)
            silence = self._silences.get((sensor.name, pool.labels))
            if silence is not None:
                told += [(now, t) for t in silence.feed(local)]
                if silence.scheduled is None:
                    self._schedule(silence)

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

    def _behind(self, alarm: Alarm) -> int:
        """Return how far the own time of the alarm's sensor runs behind the engine's."""
        return delay(self._sensors[alarm.about.sensor])

    def _expire(self, told: Told) -> None:
        """Do what the first timer is for, if it still stands."""
        at, number = heapq.heappop(self._timers)
        alarm = self._alarms.get(number)
        if alarm is None or alarm.scheduled != at:
            return
        alarm.scheduled = None
        local = at - self._behind(alarm)
        due = alarm.due()
        if due is not None and due <= local:
            told += [(at, t) for t in alarm.expire(due)]
        self._schedule(alarm)

    def _drop_stale_timers(self) -> None:
        timers = self._timers
        while timers:
            at, number = timers[0]
            alarm = self._alarms.get(number)
            if alarm is not None and alarm.scheduled == at:
                return
            heapq.heappop(timers)

    # -- who is there ------------------------------------------------------------------

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
        if any(self._count[plan.name] >= self.rules.alerts_per_rule for plan in place.plans):
            self.rejected[place.sensor.name, "too_many_alerts"] += 1
            return None
        alone = set(place.each) == set(place.sensor.labels)
        pool = self._pools[key] = Pool(key, labels, alone=alone)
        pool.blame = self._blame
        pool.fares = partial(self._mark, key)
        if saved is not None:
            wanted = [
                (self._aggregators[p.measure.name], p.measure, window_of(p)) for p in place.plans
            ]
            pool.load(saved, wanted)
            if place.sensor.interval is not None:
                pool.learned = place.sensor.interval
        self._shards.add_pool(place.sensor.name, labels, key)
        self._watchers[key] = [self._alert(place, plan, pool) for plan in place.plans]
        return pool

    def _mark(self, key: str) -> None:
        for alert in self._watchers[key]:
            alert.mark()

    def _blame(self, fault: Fault) -> None:
        """Count what an aggregation did wrong, and say so."""
        self.faults[fault.aggregator] += 1
        if self.on_fault is not None:
            self.on_fault(fault)

    def _alert(self, place: Place, plan: Rule, pool: Pool) -> Alert:
        """Return a new alert of *plan* over *pool*, and let its silence be heard of."""
        aggregator = self._aggregators[plan.measure.name]
        over = window_of(plan)
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
        alert = Alert(plan, pool, gauge, about, self._link, self._number(), interval)
        local = (self.now or 0) - delay(place.sensor)
        alert.quiet_since = max(local, self._link.back)
        self._alarms[alert.number] = alert
        self._count[plan.name] += 1
        if plan.no_data is not None:
            silence = self._silences.get((place.sensor.name, pool.labels))
            if silence is None:
                number = self._number()
                silence = Silence(place.sensor.name, pool.labels, self._link, number, local)
                self._silences[place.sensor.name, pool.labels] = silence
                self._alarms[silence.number] = silence
            silence.join(alert)
            self._schedule(silence)
        self._schedule(alert)
        return alert

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _sweep(self, now: int, told: Told) -> None:
        """Forget series that nobody expects, silent for long and ok."""
        self._sweep_at = now + min(SWEEP, self.rules.forget)
        for key, series in list(self._series.items()):
            if series.heard > now - self.rules.forget - delay(series.sensor):
                continue
            watchers = [alert for pool in series.pools for alert in self._watchers[pool.key]]
            if any(alert.level is not None for alert in watchers):
                continue
            del self._series[key]
            self._shards.drop_series(*key)
            for pool in series.pools:
                self._members[pool.key] -= 1
                if not self._members[pool.key] and pool.key not in self._lasting:
                    self._close(pool, now, "forgotten", told)
        for name in list(self._alone):
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
            self._drop(alert, now, reason, told)
        del self._pools[pool.key]
        self._alone.discard(pool.key)
        del self._members[pool.key]
        self._shards.drop_pool(json.loads(pool.key)[0], pool.labels, pool.key)

    def _drop(self, alert: Alert, now: int, reason: str, told: Told) -> None:
        told += [(now, t) for t in alert.end(now, reason)]
        self._forget(alert)
        self._count[alert.plan.name] -= 1
        if (silence := alert.silence) is not None:
            silence.leave(alert)
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

    # -- stop and resume ---------------------------------------------------------------

    def snapshot(self) -> bytes:
        """Return the whole state; `restore` gives an engine that goes on exactly as this one."""
        return codec.pack(
            {
                "state": self._state(),
                "shards": [self._shard(name) for name in self._shards],
                "alarms": [row(alarm) for alarm in self._alarms.values()],
            }
        )

    @classmethod
    def restore(cls, rules: Rules, aggregators: Mapping[str, Aggregator], data: bytes) -> "Engine":
        """Return the engine that *data* came from, under *rules* that may have changed.

        An alert keeps its state while its rule keeps name, sensor, `where`, `each` and
        measure; others end with the reason ``rule_removed``, told at the next call.

        Raises:
            ValueError: the snapshot is of another version.
        """
        saved = codec.unpack(data)
        engine = cls(rules, aggregators)
        engine._load(saved["state"], saved["shards"], saved["alarms"], None)
        return engine

    def changes(self, *, everything: bool = False) -> Changes:
        """Return what a store must write, beside the readings, since this was last asked.

        *everything*: all of it, for a store that has nothing yet.
        """
        marked = self._alarms.values() if everything else self._link.marked
        found = Changes(
            self._state(),
            [row(alarm) for alarm in marked],
            self._gone,
            list(self._shards) if everything else list(self._shards.touched),
        )
        self._gone = []
        self._link.marked.clear()
        self._shards.touched.clear()
        return found

    def shard_of(self, sensor: str, labels: Labels) -> str:
        """Return the name of the shard that a series is in, or would be."""
        series = self._series.get((sensor, labels))
        return self._shards.name(sensor, labels) if series is None else series.shard

    def shards(self) -> list[str]:
        """Return the names of all shards."""
        return list(self._shards)

    def weight(self, shard: str) -> int:
        """Return how many readings its windows keep: what it costs to save it."""
        return sum(self._pools[key].size for key in self._shards.pools(shard))

    def save_shard(self, shard: str) -> bytes:
        """Return the shard as it stands now; nothing where it is no more."""
        if shard not in self._shards:
            return b""
        return codec.pack({"version": VERSION, **self._shard(shard)})

    @classmethod
    def recover(cls, rules: Rules, aggregators: Mapping[str, Aggregator], saved: Saved) -> "Engine":
        """Return the engine as it was at the last commit of a store.

        Readings that came after their shard was saved are put into its windows as they once
        were, but nothing is judged and no time runs: what alerts were, their rows tell.
        So nothing is raised again.  The rules may have changed, as in `restore`.

        Raises:
            ValueError: something was saved by another version.
        """
        engine = cls(rules, aggregators)
        shards = []
        for data in saved.shards:
            shard = codec.unpack(data)
            check(shard["version"])
            shards.append(shard)
        engine._load(saved.state, shards, saved.alarms, saved.readings)
        return engine

    def _state(self) -> dict[str, Any]:
        """Return what is neither an alarm's nor a shard's."""
        link = self._link
        return {
            "version": VERSION,
            "now": self.now,
            "since": link.since,
            "back": link.back,
            "lost": link.lost,
            "online": link.online,
            "rejected": [[*key, n] for key, n in self.rejected.items()],
            "numbers": self._numbers,
            "arrivals": self._arrivals,
            "sweep_at": self._sweep_at,
            "alone": sorted(self._alone),
            "owed": [] if self.now is None else [t.save() for t in self._owed],
        }

    def _shard(self, name: str) -> dict[str, Any]:
        members = list(self._shards.series(name))
        waiting = self._waiting()
        return {
            "series": [self._series[key].save() for key in members],
            "pools": [self._pools[key].save() for key in self._shards.pools(name)],
            "stage": [entry for key in members for entry in waiting.get(key, ())],
        }

    def _waiting(self) -> dict[tuple[str, Labels], list[Any]]:
        """Return what is in the stage, by series."""
        version = (self._arrivals, len(self._stage))  # no two contents have the same
        _, found = self._sorted
        if self._sorted[0] != version:
            found = {}
            for release, _, sensor, labels, tie, n, reading in self._stage:
                found.setdefault((sensor, labels), []).append([release, tie, n, reading])
            self._sorted = version, found
        return found

    def _load(
        self,
        state: Mapping[str, Any],
        shards: Iterable[Mapping[str, Any]],
        alarms: Iterable[Mapping[str, Any]],
        readings: Iterable[Reading] | None,
    ) -> None:
        """Become what was saved; *readings* None: it was all saved at one instant."""
        check(state["version"])
        now = state["now"]
        if now is None:
            return
        self._refilling = True
        self._numbers = state["numbers"]
        self._alone = set(state["alone"])
        self._link.back = state["back"]
        for shard in shards:
            self._load_shard(shard)
        heapq.heapify(self._stage)
        self._refill(readings or (), now)
        self._load_state(state)
        rows = {row["number"]: row for row in alarms}
        self._expect_all()
        self._open_for(rows.values())
        self._refilling = False
        kept = self._load_alarms(rows.values(), exact=readings is None)
        for number in rows.keys() - kept:
            self._gone.append(number)
            if (saved := rows[number])["level"] is not None:
                labels = labels_from(saved["labels"])
                gone = Alarm(saved["rule"], labels, About.load(saved["about"]), 0)
                gone.load(saved)
                self._owed.append(gone.change(now, None, "rule_removed"))
        for series in self._series.values():
            self._teach(series)
        told: Told = []
        for pool in list(self._pools.values()):
            lasting = pool.key in self._lasting or pool.key in self._alone
            if not self._members[pool.key] and not lasting:
                self._close(pool, now, "rule_removed", told)  # nobody is expected there any more
        self._owed += in_order(told)

    def _load_shard(self, saved: Mapping[str, Any]) -> None:
        """Take back series, windows that rules still ask for, and readings that wait."""
        for pool in saved["pools"]:
            sensor, where, pooled = json.loads(pool["key"])
            each = tuple(name for name, _ in pooled)
            for place in self._places.get(sensor, ()):
                if place.each == each and json.loads(json.dumps(place.where)) == where:
                    self._open(place, pool["key"], labels_from(pooled), pool)
        for series in saved["series"]:
            if series["sensor"] in self._sensors:
                met = self._meet(series["sensor"], labels_from(series["labels"]))
                if met is not None:
                    met.load(series)
        for release, tie, n, (sensor, pairs, at, value, arrived) in saved["stage"]:
            labels = labels_from(pairs)
            reading = Reading(sensor, labels, at, value, arrived)
            self._stage.append((release, at, sensor, labels, tie, n, reading))
            self._arrivals = max(self._arrivals, n + 1)

    def _refill(self, readings: Iterable[Reading], until: int) -> None:
        """Put *readings* where they once were, up to the time *until*."""
        self.now = EVER
        for reading in readings:
            if reading.sensor in self._sensors:
                self.process(reading)
        self._run(until, [], inclusive=False)

    def _load_state(self, state: Mapping[str, Any]) -> None:
        link = self._link
        self.now = state["now"]
        link.since, link.lost, link.online = state["since"], state["lost"], state["online"]
        self.rejected.clear()
        self.rejected.update({(sensor, reason): n for sensor, reason, n in state["rejected"]})
        self._arrivals = max(self._arrivals, state["arrivals"])
        self._sweep_at = state["sweep_at"]
        self._owed = [Transition.load(t) for t in state["owed"]]

    def _open_for(self, alarms: Iterable[Mapping[str, Any]]) -> None:
        """Open the windows of alerts whose readings were not kept: they go on all the same."""
        by_identity = {
            repr(plan.identity): place
            for found in self._places.values()
            for place in found
            for plan in place.plans
        }
        for saved in alarms:
            place = by_identity.get(saved.get("identity", ""))
            if place is None or saved["pool"] in self._pools:
                continue
            if self._open(place, saved["pool"], labels_from(saved["labels"])) is not None:
                self._alone.add(saved["pool"])

    def _teach(self, series: Series) -> None:
        """Let rules that are new know how often a series speaks."""
        for pool in series.pools:
            for alert in self._watchers[pool.key]:
                if alert.patience_ends is None:
                    alert.learn(series.interval)
                    alert.bear((self.now or 0) - delay(series.sensor))
                    self._schedule(alert)
                    if alert.silence is not None:
                        self._schedule(alert.silence)

    def _load_alarms(self, alarms: Iterable[Mapping[str, Any]], *, exact: bool) -> set[int]:
        """Give the alarms their state and number back, and return the numbers that were.

        Where they are *exact*, their windows are as they were when they were last looked at.
        """
        by_name = {
            (alarm["rule"], labels_from(alarm["labels"]), alarm.get("identity")): alarm
            for alarm in alarms
        }
        kept = set()
        fresh = list(self._alarms.values())
        self._alarms = {}
        self._link.marked.clear()
        for alarm in fresh:
            identity = repr(alarm.plan.identity) if isinstance(alarm, Alert) else None
            saved = by_name.get((alarm.rule, alarm.labels, identity))
            local = (self.now or 0) - self._behind(alarm)
            if saved is not None:
                alarm.load(saved)
                alarm.number = saved["number"]
                kept.add(alarm.number)
                if isinstance(alarm, Alert):
                    self._bring_up(alarm, saved, local, exact=exact)
            else:
                alarm.mark()
                if isinstance(alarm, Alert):
                    alarm.quiet_since = max(local, self._link.back)
                    alarm.window_at = local  # there may be readings already
                else:
                    alarm.began = local
            self._alarms[alarm.number] = alarm
        self._alarms = dict(sorted(self._alarms.items()))
        self._timers = []
        for alarm in self._alarms.values():
            alarm.scheduled = None
            self._schedule(alarm)
        return kept

    def _bring_up(self, alert: Alert, saved: Mapping[str, Any], local: int, *, exact: bool) -> None:
        """Let an alert that was saved follow what came since: readings, time, other rules."""
        alert.catch_up(self._behind(alert))
        if not exact:
            alert.look_again(local)
        alert.bear(local)
        if saved["plan"] != repr(alert.plan):
            self._owed += alert.change_rule(local)


def places(sensor: Sensor, rules: Rules) -> tuple[Place, ...]:
    """Return the ways in which rules pool the readings of *sensor*."""
    found: dict[tuple[Where, tuple[str, ...]], list[Rule]] = {}
    for rule in rules.rules:
        if rule.sensor == sensor.name:
            found.setdefault((rule.where, tuple(sorted(rule.each))), []).append(rule)
    return tuple(Place(sensor, where, each, tuple(plans)) for (where, each), plans in found.items())


def window_of(plan: Rule) -> Over:
    """Return the window behind a rule.

    Nothing written is the last reading alone; readings of a count window grow too old only
    where the rule says how long a silence is too long.
    """
    if plan.over.span is not None:
        return plan.over
    written = None if plan.no_data is None else plan.no_data.after
    return Over(span=written, count=plan.over.count or 1)


def over_text(over: Over) -> str:
    """Return the window as the configuration writes it."""
    if over.span is not None:
        return format_duration(over.span)
    return "" if over.count is None else f"{over.count} samples"


def in_order(told: Told) -> list[Transition]:
    """Return transitions by time, then series, then rule."""
    told.sort(key=lambda pair: (pair[0], pair[1].labels, pair[1].rule))
    return [transition for _, transition in told]


def row(alarm: Alert | Silence) -> dict[str, Any]:
    """Return what is kept of an alarm."""
    return {**alarm.save(), "number": alarm.number}


def check(version: int) -> None:
    """Raise ValueError where something was saved by another version."""
    if version != VERSION:
        raise ValueError(f"snapshot version {version}, this is {VERSION}")
