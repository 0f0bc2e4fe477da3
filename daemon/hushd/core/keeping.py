"""What is kept of an engine: the state in pieces, for a store, or whole, as a snapshot.

A store writes, with each commit, what changed of the alarms and what is the engine's own;
it logs the readings, and now and then writes a shard as it stands.  What is in these
pieces, and how an engine is made of them, is the same for a snapshot (docs/adr/).
"""

import heapq
import json
from collections.abc import Iterable, Mapping
from typing import Any

from hushd.core import codec
from hushd.core.aggregation import Aggregator
from hushd.core.alerts import About, Alarm, Alert
from hushd.core.places import Place
from hushd.core.readings import Labels, Reading
from hushd.core.roster import Roster, Told, in_order
from hushd.core.rules import Rules
from hushd.core.series import Series, delay
from hushd.core.shards import Changes
from hushd.core.transitions import Event, Transition
from hushd.core.windows import labels_from

VERSION = 2  # of all that is kept


class Keeper(Roster):
    """A roster, with what waits, that can be written down and made anew."""

    def __init__(self, rules: Rules, aggregators: Mapping[str, Aggregator]) -> None:
        """Start with nothing seen.  Raises KeyError for a measure that nobody offers."""
        super().__init__(rules, aggregators)
        self._stage: list[tuple[int, int, str, Labels, float, int, Reading]] = []
        self._arrivals = 0
        self._sweep_at: int | None = None
        self._owed: list[Transition] = []  # from a restore: told at the next call
        self._calendar_mark = rules.calendar
        #: which content of the stage, and that by series
        self._sorted: tuple[tuple[int, int], dict[tuple[str, Labels], list[Any]]] = (0, 0), {}

    # -- what is written ---------------------------------------------------------------

    def snapshot(self) -> bytes:
        """Return the whole state; `restore` gives an engine that goes on exactly as this one."""
        return codec.pack(
            {
                "state": self._state(),
                "shards": [self._shard(name) for name in self._shards],
                "alarms": [row(alarm) for alarm in self._alarms.values()],
            }
        )

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

    def _state(self) -> dict[str, Any]:
        """Return what is neither an alarm's nor a shard's."""
        link = self._link
        return {
            "version": VERSION,
            "now": self.now,
            "since": link.since,
            "back": link.back,
            "lost": link.lost,
            "shift": link.shift,
            "trusted": link.trusted,
            "calendar": self._calendar_mark,
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

    # -- what is read ------------------------------------------------------------------

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
        link = self._link
        link.back = state["back"]
        link.shift, link.trusted = state.get("shift", 0), state.get("trusted", True)
        for shard in shards:
            self._load_shard(shard)
        heapq.heapify(self._stage)
        self._refill(readings or (), now)
        self._load_state(state)
        rows = {row["number"]: row for row in alarms}
        self._expect_all()
        self._open_for(rows.values())
        self._refilling = False
        other_times = state.get("calendar") != self._calendar_mark
        kept = self._load_alarms(rows.values(), exact=readings is None)
        if other_times:
            self._look_at_hours()
        for number in rows.keys() - kept:
            self._gone.append(number)
            saved = rows[number]
            on, flapped = saved["level"] is not None, (saved.get("flaps") or [False])[0]
            if on or flapped:
                labels = labels_from(saved["labels"])
                gone = Alarm(saved["rule"], labels, About.load(saved["about"]), 0)
                gone.load(saved)
                event: Event = "cleared" if on else "steady"
                self._owed.append(gone.change(now, None, "rule_removed", event=event))
        for series in self._series.values():
            self._teach(series)
        told: Told = []
        for pool in list(self._pools.values()):
            lasting = pool.key in self._lasting or pool.key in self._alone
            if not self._members[pool.key] and not lasting:
                self._close(pool, now, "rule_removed", told)  # nobody is expected there any more
        self._owed += in_order(told)

    def _refill(self, readings: Iterable[Reading], until: int) -> None:
        """Put *readings* where they once were, up to the time *until*."""
        raise NotImplementedError

    def _load_shard(self, saved: Mapping[str, Any]) -> None:
        """Take back series, windows that rules still ask for, and readings that wait."""
        for pool in saved["pools"]:
            sensor, where, pooled, *fresh = json.loads(pool["key"])
            each = tuple(name for name, _ in pooled)
            for place in self._places.get(sensor, ()):
                if (
                    place.each == each
                    and json.loads(json.dumps(place.where)) == where
                    and list(place.fresh) == (fresh[0] if fresh else [])
                ):
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
        by_identity: dict[str, list[Place]] = {}
        for places in self._places.values():
            for place in places:
                for plan in place.plans:
                    by_identity.setdefault(repr(plan.identity), []).append(place)
        for saved in alarms:
            pairs = dict(saved["labels"])
            wanted = [
                (place, *found)
                for place in by_identity.get(saved.get("identity", ""), ())
                if (found := place.pool_of(pairs)) is not None
            ]
            if not wanted or any(key in self._pools for _, key, _ in wanted):
                continue
            chosen = next((x for x in wanted if x[1] == saved["pool"]), wanted[0])
            if self._open(*chosen) is not None:
                self._alone.add(chosen[1])

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
            if isinstance(alarm, Alert):
                alarm.begin(local)
            if saved is not None:
                alarm.load(saved)
                alarm.number = saved["number"]
                kept.add(alarm.number)
                if isinstance(alarm, Alert):
                    self._bring_up(alarm, saved, local, exact=exact)
            else:
                alarm.mark()
                if isinstance(alarm, Alert):
                    alarm.begin_silence(max(local, self._link.back))
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
        if alert.suspended is None:  # else nobody looked at the time
            alert.refresh(local - 1)  # what is due at this very time may not have run
        if not exact:
            alert.find_place(local)
        alert.bear(local)
        if saved["plan"] != repr(alert.plan):
            self._owed += alert.change_rule(local)

    def _look_at_hours(self) -> None:
        """Let alerts see at once what counts: the schedules are not what they were."""
        for alert in self._alarms.values():
            if isinstance(alert, Alert) and alert.turns_at is not None:
                alert.turns_at = (self.now or 0) - self._behind(alert)
                alert.mark()
                self._schedule(alert)

    def _teach(self, series: Series) -> None:
        """Let rules that are new know how often a series speaks."""
        for pool in series.pools:
            for alert in self._watchers[pool.key]:
                for watcher in alert.watchers:
                    if watcher.pool is not pool or watcher.patience_ends is not None:
                        continue
                    watcher.learn(series.interval)
                    watcher.bear((self.now or 0) - delay(series.sensor))
                    self._schedule(alert)
                    if watcher.silence is not None:
                        self._schedule(watcher.silence)


def row(alarm: Alarm) -> dict[str, Any]:
    """Return what is kept of an alarm."""
    return {**alarm.save(), "number": alarm.number}


def check(version: int) -> None:
    """Raise ValueError where something was saved by another version."""
    if version != VERSION:
        raise ValueError(f"snapshot version {version}, this is {VERSION}")
