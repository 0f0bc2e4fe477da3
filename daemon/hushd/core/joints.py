"""Joints: what several windows say together, with the face of a single one.

A difference is one window's value less another's.  A joint asks several conditions and joins
their answers in the logic of three values: one that does not hold settles `all`, one that
holds settles `any`, whatever others would say that cannot be judged now.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from hushd.core.aggregation import Aggregator
from hushd.core.alarms import Link
from hushd.core.ears import Ear
from hushd.core.judging import ALL, NONE, Terms, verdict, whole_at
from hushd.core.limits import clears, crossed, raises
from hushd.core.rules import Limit, Measure, Over
from hushd.core.transitions import Part
from hushd.core.windows import Gauge, Seen


class Sight:
    """One window that a rule looks at; without a gauge, it is empty: nothing was heard there."""

    __slots__ = ("_empty", "_window", "ear", "gauge", "seen", "terms", "verdict")

    def __init__(self, ear: Ear, window: tuple[Aggregator, Measure, Over], terms: Terms) -> None:
        """Look at nothing yet; *ear*: what hears the readings of this window."""
        self.ear = ear
        self.terms = terms
        self.gauge: Gauge | None = None
        self.verdict = NONE
        aggregator, _, over = self._window = window
        self.seen = self._empty = Seen(aggregator.empty, 0, None, full=over.count is None)

    def open(self) -> None:
        """Look at the pool that the ear has, if it has one."""
        pool = self.ear.pool
        self.gauge = None if pool is None else pool.gauge(*self._window)

    @property
    def name(self) -> str:
        """What tells it from all other windows of a rule."""
        _, measure, over = self._window
        return f"{self.ear.sensor} {measure}@{over.span}/{over.count}"

    def read(self, at: int, link: Link) -> None:
        """Look; what is silent for too long cannot be judged, whatever the window still holds."""
        self.seen = self._empty if self.gauge is None else self.gauge.read(at)
        self.verdict = NONE if self.ear.silent else verdict(self.terms, self.seen, at, link)


class Amount:
    """The value of a window, less that of another where there is one."""

    __slots__ = ("less", "of", "value", "verdict")

    def __init__(self, of: Sight, less: Sight | None = None) -> None:
        """Have no value before the first `take`."""
        self.of = of
        self.less = less
        self.value: float | None = None
        self.verdict = NONE

    @property
    def sights(self) -> tuple[Sight, ...]:
        """The windows that it is made of."""
        return (self.of,) if self.less is None else (self.of, self.less)

    def take(self) -> None:
        """Make the value of what the windows say."""
        of, less = self.of, self.less
        value, self.verdict = of.seen.value, of.verdict
        if less is not None:
            other = less.seen.value
            value = None if value is None or other is None else value - other
            if less.verdict < ALL:  # of what may be too little to take off, nothing is sure
                self.verdict = NONE
        self.value = value


class Condition:
    """An amount and its limit: on from the limit until `clear`, as a latch without delays."""

    __slots__ = ("_clears", "_from_below", "_raises", "amount", "holds", "limit", "on", "part")

    def __init__(self, amount: Amount, limit: Limit, part: Part) -> None:
        """Start off; *part*: what is said of it, without what changes."""
        self.amount = amount
        self.limit = limit
        self.part = part
        self.on = False
        self.holds: bool | None = None  # as last asked; None: cannot judge
        self._raises = raises(limit)
        self._clears = clears(limit)
        self._from_below = limit.comparison not in ("above", "at_least")

    def ask(self) -> None:
        """Find out whether it holds, and remember nothing."""
        self.amount.take()
        value, sure = self.amount.value, self.amount.verdict
        if value is None or sure == NONE:
            self.holds = None
            return
        holds = not self._clears(value) if self.on else self._raises(value)
        self.holds = holds if sure == ALL or (holds and not self._from_below) else None

    def settle(self) -> bool:
        """Remember the answer, if there was one; say whether it is another than before."""
        if self.holds is None or self.holds is self.on:
            return False
        self.on = self.holds
        return True

    def tell(self) -> Part:
        """Return what it said when it was last asked."""
        value = self.amount.value
        return self.part._replace(value=value, limit=crossed(self.limit, value), holds=self.holds)


def join(how: Literal["all", "any"], answers: Iterable[bool | None]) -> bool | None:
    """Return what several answers are together; None: cannot judge.

    >>> join("all", [None, False]), join("all", [None, True]), join("any", [None, True])
    (False, None, True)
    """
    decisive = how == "any"
    joined: bool | None = not decisive
    for answer in answers:
        if answer is decisive:
            return decisive
        if answer is None:
            joined = None
    return joined


class Several:
    """What differences and joints have in common: some windows, read together."""

    __slots__ = ("_link", "always", "at", "next_change", "seen", "sights", "verdict", "whole_at")

    def __init__(self, sights: Sequence[Sight], link: Link) -> None:
        """Start unread."""
        self.sights = sights
        self.always = any(sight.terms.always for sight in sights)
        self.at: int | None = None
        self.seen = Seen(None, 0, None, full=False)
        self.next_change: int | None = None
        self.verdict = NONE  # as last read
        self.whole_at: int | None = None  # when the first of its counts is sure
        self._link = link

    def read(self, now: int) -> Seen:
        """Return what the windows say together at *now*, which never goes back."""
        link = self._link
        for sight in self.sights:
            sight.read(now, link)
        value, self.verdict = self._make()
        coverages = [x for sight in self.sights if (x := sight.seen.coverage) is not None]
        self.seen = Seen(
            value,
            min(sight.seen.samples for sight in self.sights),
            min(coverages, default=None),
            full=all(sight.seen.full for sight in self.sights),
        )
        self.at = now
        self.next_change = earliest(gauge.next_change for gauge in self._gauges())
        self.whole_at = earliest(
            whole_at(sight.terms, now, link) for sight in self.sights if sight.terms.always
        )
        return self.seen

    def _make(self) -> tuple[float | None, int]:
        """Return the value and how sure it is."""
        raise NotImplementedError

    def leaves(self, now: int) -> int | None:
        """Return when the first of the readings in the windows at *now* leaves by age."""
        return earliest(gauge.leaves(now) for gauge in self._gauges())

    def reaches(self, now: int, since: int) -> bool:
        """Say whether a window at *now*, as last read, goes back to *since* or before."""
        return any(gauge.reaches(now, since) for gauge in self._gauges())

    def _gauges(self) -> Iterable[Gauge]:
        return (sight.gauge for sight in self.sights if sight.gauge is not None)

    def save(self) -> list[Any] | None:
        """Return how the aggregations fare that do not fare well; None: all do."""
        found = {
            sight.name: fares
            for sight in self.sights
            if sight.gauge is not None and (fares := sight.gauge.save()) is not None
        }
        return [[name, fares] for name, fares in found.items()] or None

    def load(self, saved: list[Any]) -> None:
        """Take that back."""
        fares: Mapping[str, Any] = dict(saved)
        for sight in self.sights:
            if sight.gauge is not None and sight.name in fares:
                sight.gauge.load(fares[sight.name])


class Difference(Several):
    """One window's value less another's."""

    __slots__ = ("_amount",)

    def __init__(self, amount: Amount, link: Link) -> None:
        """Start unread."""
        super().__init__(amount.sights, link)
        self._amount = amount

    def _make(self) -> tuple[float | None, int]:
        self._amount.take()
        return self._amount.value, self._amount.verdict


class Joint(Several):
    """Several conditions as one: 1 holds, 0 does not, None cannot be judged."""

    __slots__ = ("_how", "conditions")

    def __init__(
        self, how: Literal["all", "any"], conditions: Sequence[Condition], link: Link
    ) -> None:
        """Start with all of them off, and unread."""
        super().__init__([s for c in conditions for s in c.amount.sights], link)
        self._how = how
        self.conditions = conditions

    def _make(self) -> tuple[float | None, int]:
        for condition in self.conditions:
            condition.ask()
        holds = join(self._how, (condition.holds for condition in self.conditions))
        return (None, NONE) if holds is None else (float(holds), ALL)

    def settle(self) -> bool:
        """Let the conditions remember what they said; say whether any says something new."""
        return sum(condition.settle() for condition in self.conditions) > 0  # each is asked

    def forget(self, *, silent: bool = False) -> None:
        """Let them be off, or only those of which something is *silent*."""
        for condition in self.conditions:
            if not silent or any(sight.ear.silent for sight in condition.amount.sights):
                condition.on = False

    def tell(self) -> tuple[Part, ...]:
        """Return what each said."""
        return tuple(condition.tell() for condition in self.conditions)


def earliest(times: Iterable[int | None]) -> int | None:
    """Return the first of some times, where there is any."""
    return min((at for at in times if at is not None), default=None)
