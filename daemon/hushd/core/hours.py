"""Hours: which limits of a rule count when."""

from collections.abc import Iterator

from hushd.core.rules import Limit, Rule
from hushd.core.schedules import HORIZON, Calendar, Timetable


class Hours:
    """Which of its limits a rule goes by at a wall time; shared by all its alerts."""

    def __init__(self, plan: Rule, calendar: Calendar) -> None:
        """Raises KeyError for a schedule that there is not."""
        self._during = calendar.during(plan.during)
        self._regimes = [(calendar.during(x.during), x.limits) for x in plan.choices]

    def regime(self, wall: int) -> int | None:
        """Return which of the rule's `choices` counts; None: it rests."""
        if not self._during.at(wall):
            return None
        for number, (timetable, _) in enumerate(self._regimes):
            if timetable.at(wall):
                return number
        return None

    def limits(self, regime: int | None) -> tuple[Limit, ...]:
        """Return its limits."""
        return () if regime is None else self._regimes[regime][1]

    def until(self, wall: int) -> int:
        """Return when another regime may begin; may be early, never late."""
        ends = (x.until(wall) for x in self._timetables())
        return min((end for end in ends if end is not None), default=wall + HORIZON)

    def since(self, wall: int) -> int:
        """Return when the present regime began."""
        regime = self.regime(wall)
        while True:
            began = max(x.since(wall) for x in self._timetables())
            if self.regime(began - 1) != regime or wall - began >= HORIZON:
                return began
            wall = began - 1

    def _timetables(self) -> Iterator[Timetable]:
        yield self._during
        for timetable, _ in self._regimes:
            yield timetable


def hours_of(plan: Rule, calendar: Calendar) -> Hours | None:
    """Return the hours of a rule; None: its limits always count."""
    return Hours(plan, calendar) if plan.during or plan.regimes else None
