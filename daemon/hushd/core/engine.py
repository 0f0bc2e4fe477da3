"""The engine: readings and the passing of time in, transitions out.

Pure: no clock, no input or output.  The live daemon, a replay and a unit test run this
very engine, and may stop and resume it anywhere: through `snapshot` and `Engine.restore`,
or piece by piece through a store, `changes` and `Engine.recover`.

At one instant readings come first, then what is due by time alone.
"""

import heapq
import json
from collections.abc import Callable, Iterable, Mapping

from hushd.core import codec
from hushd.core.aggregation import Aggregator
from hushd.core.alerts import Alert
from hushd.core.keeping import Keeper, check
from hushd.core.readings import SECOND, Labels, Reading
from hushd.core.roster import Told, in_order
from hushd.core.rules import Rules
from hushd.core.series import Series, delay, is_ahead
from hushd.core.shards import Changes, Saved
from hushd.core.transitions import Evaluation, Transition
from hushd.core.windows import EVER

__all__ = ["Changes", "Engine", "Saved"]

SWEEP = 3600 * SECOND  # how often forgettable series are looked for


class Engine(Keeper):
    """Windows, latches and episodes of all rules."""

    def __init__(self, rules: Rules, aggregators: Mapping[str, Aggregator]) -> None:
        """Start with nothing seen.  Raises KeyError for a measure that nobody offers."""
        super().__init__(rules, aggregators)
        #: whether the last reading that was processed was taken, and so is to be logged
        self.took = False

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

    def set_clock(
        self, now: int, *, shift: int, trusted: bool, tolerance: int = 3600 * SECOND
    ) -> list[Transition]:
        """Note how wall time stands to engine time, and whether it is to be believed.

        Only schedules care.  What they make of it happens now; no delay is touched, except that
        those of rules with schedules stand still while the clock is not to be believed.

        Args:
            now: The engine's time.
            shift: Wall time less engine time, in ns.
            trusted: Whether wall time is to be believed.
            tolerance: After how long a standstill what was about to be raised is dropped.
        """
        link = self._link
        if self.now is None:
            link.shift, link.trusted = shift, trusted
        told = self.advance(now)
        assert self.now is not None  # noqa: S101  set by advance
        if (shift, trusted) == (link.shift, link.trusted):
            return told
        self._set_wall_time(shift, trusted=trusted)
        more: Told = []
        for alert in self.alerts():
            local = self.now - self._behind(alert)
            more += [(self.now, t) for t in alert.set_clock(local, tolerance)]
            self._schedule(alert)
        return told + in_order(more)

    def lost(self, now: int) -> list[Transition]:
        """Note that readings before *now* are missing, whoever lost them.

        What is about to clear may not have been quiet: with the next reading it starts over.
        Windows that go back to then are incomplete, and counts are not sure while they do.
        """
        told = self.advance(now)
        assert self.now is not None  # noqa: S101  set by advance
        link = self._link
        link.lost = link.since = now = self.now
        more: Told = []
        for alarm in self._alarms.values():
            if isinstance(alarm, Alert):
                alarm.lose()
                if alarm.gauge.always:
                    more += [(now, t) for t in alarm.look(now - self._behind(alarm))]
                self._schedule(alarm)
        return told + in_order(more)

    def resumed(
        self,
        now: int,
        *,
        gap: bool,
        tolerance: int = 3600 * SECOND,
        grace: int = 0,
        shift: int | None = None,
        trusted: bool = True,
    ) -> list[Transition]:
        """Go on at *now* after a time in which nothing was heard, judged or told.

        No deadline falls into it, no delay counts it, silence and counts start over, and windows
        are looked at as age has left them.  With a *gap* readings are missing, as in `lost`.
        What was about to be raised is dropped after more than *tolerance*; silence counts from
        *grace* later on, as what connects the sensors may take that long to come back, too.
        With a *shift*, that and *trusted* are what `set_clock` would be told.
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
        link.since, link.back = now, now + grace
        if gap:
            link.lost = now
        if shift is not None:
            self._set_wall_time(shift, trusted=trusted)
        for alarm in self._alarms.values():
            alarm.scheduled = None
            if isinstance(alarm, Alert):
                behind = self._behind(alarm)
                alarm.catch_up(behind)
                alarm.restart_silence(link.back)
                alarm.skip(was - behind, now - behind, tolerance)
                if gap:
                    alarm.lose()
                told += [(now, t) for t in alarm.set_clock(now - behind, tolerance)]
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

    def met(self) -> Iterable[tuple[str, Labels]]:
        """Return sensor and labels of all series, in the order in which they came."""
        return iter(self._series)

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

    def _set_wall_time(self, shift: int, *, trusted: bool) -> None:
        link = self._link
        link.shift, link.trusted = shift, trusted
        for pool in self._pools.values():
            if pool.stretch is not None:  # what it forgot by the former time, no log tells
                pool.look_again()
                self._shards.touched.add(self._shards.name(json.loads(pool.key)[0], pool.labels))

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
            if pool.stretch is not None:
                pool.refresh(local)
            if not pool.add(series.labels, series, reading.at, value):
                self.rejected[sensor.name, "late"] += 1
                continue
            pool.judged = now
            if learned is not None:
                pool.learned = learned
            if self._refilling:
                continue
            for alert in self._watchers[pool.key]:
                told += [(now, t) for t in alert.feed(local, learned, pool)]
                self._schedule(alert)
            silence = self._silences.get((sensor.name, pool.labels))
            if silence is not None:
                told += [(now, t) for t in silence.feed(local)]
                if silence.scheduled is None:
                    self._schedule(silence)

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

    def _sweep(self, now: int, told: Told) -> None:
        self._sweep_at = now + min(SWEEP, self.rules.forget)
        self._forget_old(now, told)

    def _refill(self, readings: Iterable[Reading], until: int) -> None:
        """Put *readings* where they once were, up to the time *until*."""
        self.now = EVER
        for reading in readings:
            if reading.sensor in self._sensors:
                self.process(reading)
        self._run(until, [], inclusive=False)
