"""Pools and gauges: the readings that count together, and the numbers made of them.

A pool is one window's content: all series of one sensor with the same values of a rule's
`each` labels.  It owns one log; every rule that pools the same way shares it, and rules
that also measure the same over the same length share a gauge.

A reading stands for itself until the next of its series, at most for `hold`; the newest
stands for one `interval`.  Where several series share a pool that cannot be known in
time, so each reading there stands for the gap *before* it instead (docs/adr/).
"""

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

from hushd.core.aggregation import Aggregator
from hushd.core.log import Log, View
from hushd.core.readings import SECOND, Labels
from hushd.core.rules import Measure, Over

#: How many of a pool's newest readings may still be joined by an older one, because the
#: clocks of its sensors differ.
SLACK = 64

FAILURES = 20  # of an aggregation in a row, at as many instants, after which it rests
REST = 60 * SECOND
EVER = -(1 << 63)  # before all times
PLAIN = (float, int)


class Seen(NamedTuple):
    """One look at a window."""

    value: float | None  # None: cannot be computed, or not finite
    samples: int
    coverage: float | None  # of a time window, 0 to 1; None: not known (yet)
    full: bool  # a count window holds all its readings


class Fault(NamedTuple):
    """An aggregation raised, or gave what is no number: its window has no value now."""

    at: int
    aggregator: str
    labels: Labels  # of the window
    error: str
    rests: bool  # it is not asked again for a while


class Speaker(Protocol):
    """What a pool must know of a series."""

    @property
    def interval(self) -> int | None:
        """Return its usual gap, once known."""

    @property
    def hold(self) -> int | None:
        """Return how long a reading stands for itself at most, once known."""

    @property
    def gap(self) -> int | None:
        """Return how long before its newest reading the one before it came."""


class Gauge:
    """One measure over one length of one pool, remembered until something changes.

    An aggregation that raises costs this window its value and nothing else.  After many
    failures in a row it rests: it is not asked, and after one more failure, again not.
    """

    __slots__ = (
        "_at",
        "_count",
        "_empty",
        "_failed_at",
        "_failures",
        "_name",
        "_pool",
        "_rests_until",
        "_seen",
        "_span",
        "_version",
        "always",
        "next_change",
        "view",
    )

    def __init__(self, pool: "Pool", aggregator: Aggregator, over: Over, view: View) -> None:
        """Look at *view*, a window of the pool's log."""
        self._pool = pool
        self._span = over.span
        self._count = over.count
        self._name = aggregator.name
        self._empty = aggregator.empty
        self.always = aggregator.always
        self.view = view
        self._at: int | None = None
        self._version = -1
        self._seen = Seen(None, 0, None, full=False)
        self.next_change: int | None = None  # when the oldest reading leaves by age, as last read
        self._failures = 0  # in a row
        self._failed_at: int | None = None
        self._rests_until = EVER

    @property
    def at(self) -> int | None:
        """When it was last read."""
        return self._at

    @property
    def seen(self) -> Seen:
        """What the window held when it was last read."""
        return self._seen

    def read(self, now: int) -> Seen:
        """Return what the window holds at *now*, which never goes back."""
        pool = self._pool
        if now == self._at and pool.version == self._version:
            return self._seen
        view = self.view
        value = None
        if now >= self._rests_until:
            try:
                value = view.value(now)
                if value is not None:
                    if not math.isfinite(value):
                        value = None
                    elif value.__class__ not in PLAIN:
                        value = float(value)
            except Exception as exc:  # noqa: BLE001  whatever it is, it is the plugin's
                value = None
                self._fail(now, exc)
            else:
                if self._failures:
                    self._failures = 0
                    pool.fares()
        if self._failures:
            view.samples(now)  # else it may not have moved
        samples, covered, self.next_change = view.standing(now)
        if not samples:
            value = self._empty
        coverage = None
        if self._span is not None and self._count is None and pool.known:
            members = pool.members(now, self._span)
            coverage = min(1.0, covered / (self._span * members)) if members else 0.0
        full = self._count is None or samples >= self._count
        self._seen = Seen(value, samples, coverage, full)
        self._at = now
        self._version = pool.version
        return self._seen

    def _fail(self, now: int, exc: Exception) -> None:
        """Take note that the aggregation raised; what one instant brings counts once."""
        if self._failures and now == self._failed_at:
            return
        self._failed_at = now
        self._failures += 1
        rests = self._failures >= FAILURES
        if rests:
            self._rests_until = now + REST
        error = f"{type(exc).__name__}: {exc}"[:200]
        self._pool.blame(Fault(now, self._name, self._pool.labels, error, rests))
        self._pool.fares()

    def leaves(self, now: int) -> int | None:
        """Return when the oldest reading of the window at *now* leaves it by age."""
        self.view.samples(now)
        return self.view.standing(now)[2]

    def reaches(self, now: int, since: int) -> bool:
        """Say whether the window at *now*, as last read, goes back to *since* or before."""
        if self._span is not None and now - self._span >= since:
            return False
        if self._count is None:
            return True
        oldest = self.view.oldest
        return not self._seen.full or oldest is None or oldest <= since

    def save(self) -> list[int | None] | None:
        """Return how the aggregation fares, for a snapshot; None: well."""
        if not self._failures:
            return None
        return [self._failures, self._failed_at, self._rests_until]

    def load(self, saved: list[int]) -> None:
        """Take that back."""
        self._failures, self._failed_at, self._rests_until = saved


class Pool:
    """The readings of one sensor that count together, and the gauges over them."""

    __slots__ = (
        "_alone",
        "_asked",
        "_fresh_since",
        "_fresh_until",
        "_gauges",
        "_heard",
        "_hold",
        "_log",
        "_newest",
        "blame",
        "fares",
        "judged",
        "key",
        "known",
        "labels",
        "learned",
        "shared",
        "sole",
        "stretch",
        "version",
    )

    def __init__(self, key: str, labels: Labels, *, alone: bool, log: Log | None = None) -> None:
        """Start empty; *alone*: its labels name one series, so no other can join."""
        self.key = key
        self.labels = labels
        self.blame: Callable[[Fault], None] = lambda fault: None  # noqa: ARG005  the engine sets it
        self.fares: Callable[[], None] = lambda: None  # told when an aggregation fails, or no more
        #: returns from when until when readings count together with one of that instant; None: ever
        self.stretch: Callable[[int], tuple[int, int]] | None = None
        self._fresh_since = self._fresh_until = EVER
        self._alone = alone
        self._log = self._new_log() if log is None else log
        self._asked: dict[str, tuple[Aggregator, Measure, Over]] = {}
        self._gauges: dict[str, Gauge] = {}
        self.version = 0
        self.judged: int | None = None  # engine time when its newest reading was
        self.learned: int | None = None  # the interval of the series that spoke last, once known
        self.known = False  # whether any series' interval is
        self.sole: Labels | None = None  # the only series so far
        self._newest: int | None = None  # of the only series
        self._hold: int | None = None  # what its newest reading stands for at most
        self.shared = False  # by more than one series
        self._heard: dict[int, OrderedDict[Labels, int]] = {}  # span -> newest stamp per series

    @property
    def size(self) -> int:
        """How many readings are kept."""
        return len(self._log)

    @property
    def latest(self) -> float | None:
        """The newest reading; None when none is kept."""
        newest: float | None = self._log.latest
        return newest

    def gauge(self, aggregator: Aggregator, measure: Measure, over: Over) -> Gauge:
        """Return the gauge of *measure* over *over*, shared by all who ask for the same."""
        name = f"{measure}@{over.span}/{over.count}"
        gauge = self._gauges.get(name)
        if gauge is None:
            self._asked[name] = (aggregator, measure, over)
            gauge = self._gauges[name] = Gauge(self, aggregator, over, self._view(name))
            if over.span is not None:
                self._heard.setdefault(over.span, OrderedDict())
        return gauge

    def refresh(self, at: int) -> None:
        """Forget the readings from before the stretch that *at* is in, where there is one."""
        if self.stretch is None or at < self._fresh_until:
            return
        self._fresh_since, self._fresh_until = self.stretch(at)
        began = self._fresh_since
        stamps = self._log.stamps()
        if not stamps or stamps[0] >= began:
            return
        kept = [pair for pair in zip(stamps, self._log.values(), strict=True) if pair[0] >= began]
        self._log = self._new_log()
        for name, gauge in self._gauges.items():
            gauge.view = self._view(name)
        for stamp, value in kept:
            self._log.append(stamp, value, SECOND, SECOND)
        if not kept:
            self._newest = None
        self.known = False  # the next reading weighs those that were kept
        for heard in self._heard.values():
            forget(heard, began - 1)
        self.version += 1

    def look_again(self) -> None:
        """Let `refresh` look at its stretch: wall time has changed."""
        self._fresh_until = EVER

    def _new_log(self) -> Log:
        return Log(slack=0 if self._alone else SLACK, covers=True)

    def _view(self, name: str) -> View:
        """Return a view of the log for the gauge of that name."""
        aggregator, measure, over = self._asked[name]
        return self._log.view(
            aggregator.build(measure.argument),
            wants=aggregator.wants,
            span=over.span,
            count=over.count,
            key=name,
        )

    def add(self, series: Labels, speaker: Speaker, at: int, value: float) -> bool:
        """Take in a reading; False if it is older than what can still be put in order.

        One from before the stretch that was last looked at does not count, and is no fault.
        """
        if at < self._fresh_since:
            return True
        if not self.shared and (self.sole is None or self.sole == series):
            added = self._add_sole(series, speaker, at, value)
        else:
            added = self._add_shared(series, speaker, at, value)
        self.version += added
        return added

    def _add_sole(self, series: Labels, speaker: Speaker, at: int, value: float) -> bool:
        interval = speaker.interval
        newest = self._newest
        if interval is None:
            self._log.append(at, value, SECOND, SECOND)
        elif self.known:
            settled = None if newest is None or self._hold is None else min(at - newest, self._hold)
            self._log.append(at, value, interval, settled)
        else:
            self.known = True
            self._log.append(at, value, interval)
            hold = speaker.hold or interval
            gaps = (after - before for before, after in pairwise(self._log.stamps()))
            self._log.reweigh([*(min(gap, hold) for gap in gaps), interval])
        self.sole = series
        self._newest = at
        self._hold = speaker.hold
        return True

    def _add_shared(self, series: Labels, speaker: Speaker, at: int, value: float) -> bool:
        if not self.shared:
            self.shared = True
            if self.sole is not None and self._newest is not None:
                for heard in self._heard.values():
                    heard[self.sole] = self._newest
        interval, hold, gap = speaker.interval, speaker.hold, speaker.gap
        if interval is not None and not self.known:
            self.known = True
            self._log.reweigh([interval] * len(self._log))
        if interval is None or hold is None:
            covers = SECOND
        else:
            covers = interval if gap is None else min(gap, hold)
        if not self._log.append(at, value, covers):
            return False
        for span, heard in self._heard.items():
            heard[series] = at
            heard.move_to_end(series)
            forget(heard, at - span)
        return True

    def members(self, now: int, span: int) -> int:
        """Return how many series have a reading in the last *span*."""
        if not self.shared:
            return 0 if self._newest is None else 1
        heard = self._heard[span]
        forget(heard, now - span)
        return len(heard)

    def save(self) -> dict[str, Any]:
        """Return the content for a snapshot; how its aggregations fare, the alerts know."""
        return {
            "key": self.key,
            "labels": self.labels,
            "log": self._log.snapshot(),
            "judged": self.judged,
            "learned": self.learned,
            "known": self.known,
            "sole": self.sole,
            "newest": self._newest,
            "hold": self._hold,
            "shared": self.shared,
            "heard": {span: list(heard.items()) for span, heard in self._heard.items()},
        }

    def load(
        self, saved: dict[str, Any], gauges: Iterable[tuple[Aggregator, Measure, Over]]
    ) -> None:
        """Take the content back, with the windows that are wanted now."""
        asked = {
            f"{measure}@{over.span}/{over.count}": (a, measure, over) for a, measure, over in gauges
        }
        self._log = Log.restore(
            saved["log"],
            {
                name: (a.build(m.argument), a.wants, o.span, o.count)
                for name, (a, m, o) in asked.items()
            },
        )
        for aggregator, measure, over in asked.values():
            self.gauge(aggregator, measure, over)
        self.judged = saved["judged"]
        self.learned = saved["learned"]
        self.known = saved["known"]
        self.sole = None if saved["sole"] is None else labels_from(saved["sole"])
        self._newest = saved["newest"]
        self._hold = saved["hold"]
        self.shared = saved["shared"]
        for span, heard in saved["heard"].items():
            if int(span) in self._heard:
                self._heard[int(span)].update((labels_from(series), at) for series, at in heard)


def forget(heard: OrderedDict[Labels, int], until: int) -> None:
    """Drop the series, heard longest ago first, whose newest stamp is not after *until*."""
    while heard:
        series, newest = next(iter(heard.items()))
        if newest > until:
            return
        del heard[series]


def labels_from(saved: list[list[str]]) -> Labels:
    """Return labels that went through JSON."""
    return tuple((name, value) for name, value in saved)
