"""Schedules: when which of them is on, to the nanosecond, in any time zone.

A span is laid out once per civil date on which it starts.  It begins at the first instant
that shows its `start` and ends at the last that shows its `end`, so that an hour which the
clocks repeat belongs to it as a whole and nothing flickers; where the clocks skip a time,
the skip stands for it.  What is laid out is joined, whichever span it comes from, and all
that remains are the turns: the instants at which a schedule goes on or off.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from hushd.core.readings import SECOND
from hushd.core.rules import DAY, Days, During, Schedule, Span

HORIZON = 400 * DAY  # how far a timetable looks for a turn; more than a year of holidays

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  civil times are subtracted from it as they stand
_PAGE = 32 * DAY  # what is laid out at a time
_PAGES = 100  # that are kept; a look as far as the horizon, both ways, needs 26
_MARGIN = 3  # days: no span that starts on an earlier date, in any zone, is still on


def counts(days: Days, day: date, holidays: frozenset[date]) -> bool:
    """Say whether *day* is one of *days*; a holiday also counts as its weekday."""
    weekday, holiday = day.weekday(), day in holidays
    if weekday in days.but or (holiday and days.but_holidays):
        return False
    return weekday in days.weekdays or (holiday and days.holidays)


def interval(
    span: Span, day: date, holidays: frozenset[date] = frozenset()
) -> tuple[int, int] | None:
    """Return when the span that starts on *day* begins and when it is over.

    Both are nanoseconds since 1970, the second no longer belongs to it.  None: *day* does
    not count, or the clocks skip the whole of it.

    Raises:
        ZoneInfoNotFoundError: there is no such time zone.
    """
    if not counts(span.days, day, holidays):
        return None
    zone, midnight = ZoneInfo(span.zone), datetime.combine(day, time())
    minutes = span.end if span.end > span.start else span.end + 1440
    begin, _ = _shown(midnight + timedelta(minutes=span.start), zone)
    _, end = _shown(midnight + timedelta(minutes=minutes), zone)
    return (begin * SECOND, end * SECOND) if begin < end else None


def _shown(civil: datetime, zone: ZoneInfo) -> tuple[int, int]:
    """Return the first and the last second, since 1970, at which clocks show *civil*.

    Where they skip it, both are the second at which they do.
    """
    naive = (civil - _EPOCH) // timedelta(seconds=1)
    first, last = (naive - _offset(civil, zone, fold) for fold in (0, 1))
    if first <= last:
        return first, last
    # In a gap, PEP 495 gives *civil* by the clock before and by that after: the turn of the
    # clocks lies between, at a whole second, as everything in the time zone database.
    between = range(last, first + 1)
    skip = between[bisect_left(between, civil, key=lambda second: _clock(second, zone))]
    return skip, skip


def _offset(civil: datetime, zone: ZoneInfo, fold: int) -> int:
    """Return the seconds that *civil* is ahead of UTC; *fold* 1: by the later clock of two."""
    offset = civil.replace(tzinfo=zone, fold=fold).utcoffset()
    assert offset is not None  # noqa: S101  a ZoneInfo always knows
    return offset // timedelta(seconds=1)


def _clock(second: int, zone: ZoneInfo) -> datetime:
    """Return what clocks show."""
    return datetime.fromtimestamp(second, zone).replace(tzinfo=None)


class _Page(NamedTuple):
    """The turns of some weeks."""

    start: int
    before: bool  # whether it was on just before *start*
    turns: tuple[int, ...]  # from *start* on, before the next page


class Timetable:
    """When one schedule, or all the time but that, is on.

    Time may go any way: what is known of the present stretch only makes a look cheap.
    """

    def __init__(
        self, spans: tuple[Span, ...], holidays: frozenset[date], *, inverted: bool = False
    ) -> None:
        """Lay out nothing yet."""
        self._spans = spans
        self._holidays = holidays
        self._inverted = inverted
        self._pages: dict[int, _Page] = {}
        self._from = self._to = 0  # a stretch without a turn, from the last look
        self._on = False

    def at(self, wall: int) -> bool:
        """Say whether it is on."""
        if not self._from <= wall < self._to:
            page = self._page(wall // _PAGE)
            passed = bisect_right(page.turns, wall)
            bounds = (page.start, *page.turns, page.start + _PAGE)
            self._from, self._to = bounds[passed], bounds[passed + 1]
            self._on = page.before ^ (passed % 2 == 1)
        return self._on

    def until(self, wall: int) -> int | None:
        """Return the next turn, strictly later; None: there is none within the horizon."""
        for number in range(wall // _PAGE, (wall + HORIZON) // _PAGE + 1):
            turns = self._page(number).turns
            following = bisect_right(turns, wall)
            if following < len(turns):
                return turns[following] if turns[following] <= wall + HORIZON else None
        return None

    def since(self, wall: int) -> int:
        """Return the last turn, which may be *wall*; the horizon where there is none within."""
        for number in range(wall // _PAGE, (wall - HORIZON) // _PAGE - 1, -1):
            turns = self._page(number).turns
            passed = bisect_right(turns, wall)
            if passed:
                return max(turns[passed - 1], wall - HORIZON)
        return wall - HORIZON

    def next_changes(self, at: int, n: int) -> list[tuple[int, bool]]:
        """Return the next *n* turns and whether it is on from then; fewer where there are none."""
        found: list[tuple[int, bool]] = []
        turn = self.until(at)
        while turn is not None and len(found) < n:
            found.append((turn, self.at(turn)))
            turn = self.until(turn)
        return found

    def _page(self, number: int) -> _Page:
        page = self._pages.get(number)
        if page is None:
            if len(self._pages) >= _PAGES:
                self._pages.clear()
            page = self._pages[number] = self._lay_out(number * _PAGE)
        return page

    def _lay_out(self, start: int) -> _Page:
        stretches = _joined(self._intervals(start))
        before = any(begin < start <= end for begin, end in stretches)
        turns = (turn for stretch in stretches for turn in stretch)
        within = tuple(turn for turn in turns if start <= turn < start + _PAGE)
        return _Page(start, before ^ self._inverted, within)

    def _intervals(self, start: int) -> Iterator[tuple[int, int]]:
        """Yield all that touches the page."""
        first = _EPOCH.date() + timedelta(days=start // DAY)
        for offset in range(-_MARGIN, _PAGE // DAY + _MARGIN):
            for span in self._spans:
                found = interval(span, first + timedelta(days=offset), self._holidays)
                if found is not None:
                    yield found


def _joined(intervals: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return what they cover together, in order; where one ends and another begins is no turn."""
    joined: list[tuple[int, int]] = []
    for begin, end in sorted(intervals):
        if joined and begin <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((begin, end))
    return joined


class Calendar:
    """All schedules by name; who asks for the same one shares its timetable."""

    def __init__(self, schedules: tuple[Schedule, ...], holidays: tuple[str, ...]) -> None:
        """Take holidays as ISO dates."""
        self._spans = {schedule.name: schedule.spans for schedule in schedules}
        self._holidays = frozenset(date.fromisoformat(text) for text in holidays)
        self._timetables: dict[During | None, Timetable] = {}

    def during(self, during: During | None) -> Timetable:
        """Return its timetable; None is always on.

        Raises:
            KeyError: there is no schedule of that name.
        """
        if during not in self._timetables:
            spans = () if during is None else self._spans[during.schedule]
            inverted = during is None or during.inverted  # always: all the time but never
            self._timetables[during] = Timetable(spans, self._holidays, inverted=inverted)
        return self._timetables[during]
