"""Words for schedules: which days, which hours, and when they next begin or end."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from hushd.cli.phrases import listed
from hushd.core.readings import SECOND
from hushd.core.rules import Days, During, Rules, Schedule, Span
from hushd.core.schedules import Calendar

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
TURNS = 3  # of a schedule, that are shown
_WHOLE = (0, 1440)  # minutes


def days(found: Days) -> str:
    """Return which days; nothing where it is each of them.

    >>> days(Days((0, 1, 2, 3, 4), but_holidays=True)), days(Days((6,), holidays=True))
    ('Mondays to Fridays but not holidays', 'Sundays and holidays')
    """
    words = [] if len(set(found.weekdays)) == 7 else _runs(found.weekdays)
    if found.holidays and len(set(found.weekdays)) < 7:
        words.append("holidays")
    but = _runs(found.but) + (["holidays"] if found.but_holidays else [])
    if not but:
        return listed(words) if words else ""
    return f"{listed(words) if words else 'all days'} but not {listed(but)}"


def _runs(weekdays: Sequence[int]) -> list[str]:
    """Return weekdays, three and more in a row as one; a row may go over the end of the week."""
    left = set(weekdays)
    out = []
    for start in sorted(left, key=lambda day: ((day - 1) % 7 in left, day)):
        if start not in left:
            continue
        run = [start]
        while (run[-1] + 1) % 7 in left and (run[-1] + 1) % 7 not in run:
            run.append((run[-1] + 1) % 7)
        left -= set(run)
        names = [f"{DAYS[day]}s" for day in run]
        out += [f"{names[0]} to {names[-1]}"] if len(run) > 2 else names
    return out


def spells(schedule: Schedule) -> str:
    """Return when a schedule is on, without its time zone."""
    zones = {found.zone for found in schedule.spans}
    return listed(
        _span(found) + (f" in {found.zone}" if len(zones) > 1 else "") for found in schedule.spans
    )


def _span(found: Span) -> str:
    which = days(found.days)
    if (found.start, found.end) == _WHOLE:
        return which or "at all times"
    hours = f"from {_clock(found.start)} to {_clock(found.end)}"
    over_night = which and found.end <= found.start
    return f"{which} {hours} of the next day" if over_night else f"{which} {hours}".strip()


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"


def zone_of(schedule: Schedule) -> str:
    """Return the name of the time zone in which its times are told."""
    return schedule.spans[0].zone if schedule.spans else "UTC"


class Almanac:
    """Schedules as of one instant."""

    def __init__(self, rules: Rules, at: int) -> None:
        """Take the schedules of *rules*; *at* is wall time in ns."""
        self.at = at
        self.calendar = Calendar(rules.schedules, rules.holidays)
        self.named = {schedule.name: schedule for schedule in rules.schedules}
        self.holidays = frozenset(date.fromisoformat(text) for text in rules.holidays)

    def during(self, during: During) -> str:
        """Return when: ``from 22:00 to 06:00``, or when not."""
        found = spells(self.named[during.schedule])
        return f"at all times but {found}" if during.inverted else found

    def start(self, during: During) -> str:
        """Return when it begins, where that is one time of the day: ``22:00``."""
        spans = self.named[during.schedule].spans
        starts = {found.end % 1440 if during.inverted else found.start for found in spans}
        return _clock(starts.pop()) if len(starts) == 1 else ""

    def turn(self, during: During) -> str:
        """Return the zone, whether it is on, and when that next changes."""
        table = self.calendar.during(during)
        zone = zone_of(self.named[during.schedule])
        turns = table.next_changes(self.at, 1)
        on = table.at(self.at)
        if not turns:
            return f"{zone}; always" if on else f"{zone}; never"
        when = self.instant(turns[0][0], zone)
        return f"{zone}; now, until {when}" if on else f"{zone}; next: {when}"

    def ahead(self, schedule: Schedule) -> str:
        """Return whether a schedule is on, and its next turns."""
        table = self.calendar.during(During(schedule.name))
        zone = zone_of(schedule)
        words = ["on now" if table.at(self.at) else "off now"]
        for at, on in table.next_changes(self.at, TURNS):
            words.append(f"{'on' if on else 'off'} {self.instant(at, zone)}")
        return ", ".join(words)

    def instant(self, at: int, zone: str) -> str:
        """Return an instant as the clocks there show it, by the day as people say it.

        A date that is a holiday is called one.
        """
        where = ZoneInfo(zone)
        then, now = _civil(at, where), _civil(self.at, where)
        away = (then.date() - now.date()) // timedelta(days=1)
        named = {0: "today", 1: "tomorrow"}.get(away)
        if named is None:
            named = f"{DAYS[then.weekday()][:3]} {then.day} {then:%b}"
            if then.year != now.year:
                named += f" {then.year}"
        if then.date() in self.holidays:
            named += " (a holiday)"
        return f"{named} {then:%H:%M}"

    def stamp(self, zone: str) -> str:
        """Return this instant with its date."""
        now = _civil(self.at, ZoneInfo(zone))
        return f"{DAYS[now.weekday()]} {now.day} {now:%B %Y} {now:%H:%M}"


def _civil(at: int, zone: tzinfo) -> datetime:
    return datetime.fromtimestamp(at // SECOND, UTC).astimezone(zone)
