"""Schedules: days that come, zones that exist, and spells that are neither never nor always."""

from collections.abc import Mapping
from typing import NamedTuple

from hushd.config.holidays import Holidays
from hushd.config.language.words import RESERVED, Whenever
from hushd.config.place import Place
from hushd.config.problems import Mark, Report, suggest
from hushd.config.scalars import BAD
from hushd.config.sensors import Named
from hushd.config.table import Section
from hushd.core.rules import Days, During, Schedule, Span

_DAY = 1440  # minutes
_WEEK = 7 * _DAY
_WHOLE = (1 << _WEEK) - 1


class Reach(NamedTuple):
    """The minutes of a week, one bit each, whatever days of it are holidays."""

    zone: str
    possible: int  # minutes in which it may be on
    certain: int  # minutes in which it always is

    def turned(self) -> "Reach":
        """Return the reach of all the time but this."""
        return Reach(self.zone, _WHOLE & ~self.certain, _WHOLE & ~self.possible)

    def joined(self, other: "Reach") -> "Reach":
        """Return the reach of one or the other; of two zones nothing is known of a minute."""
        if self.zone != other.zone:
            return Reach("", _WHOLE, self.certain if self.certain == _WHOLE else 0)
        return Reach(self.zone, self.possible | other.possible, self.certain | other.certain)


def reach(spans: tuple[Span, ...], *, holidays: bool) -> Reach:
    """Return in which minutes of a week one of *spans* is on, if there are *holidays* or not."""
    out: Reach | None = None
    for span in spans:
        days = span.days
        may = certain = 0
        length = span.end - span.start + (0 if span.end > span.start else _DAY)
        for day in set(range(7)) - set(days.but):
            bits = ((1 << length) - 1) << (day * _DAY + span.start)
            bits = (bits & _WHOLE) | (bits >> _WEEK)  # Sunday's goes on on Monday
            if day in days.weekdays or (days.holidays and holidays):
                may |= bits
            if day in days.weekdays and not (days.but_holidays and holidays):
                certain |= bits
        one = Reach(span.zone, may, certain)
        out = one if out is None else out.joined(one)
    return out or Reach("", 0, 0)


class Schedules:
    """Checks the section ``schedules``, and whatever names a schedule."""

    def __init__(
        self, named: Mapping[str, Named], lost: set[str], report: Report, place: Place
    ) -> None:
        self.named = named["schedules"]
        self.lost = "schedules" in lost  # then whoever names one is not to blame
        self.report = report
        self.place = place
        self.holidays = Holidays(place.main["site"], report)
        self.used: set[str] = set()
        self.reaches: dict[str, Reach] = {}

    def compile(self) -> tuple[Schedule, ...]:
        out = []
        for name, (mark, value) in self.named.items():
            if name in RESERVED:
                self.report.error(mark, f'"{name}" means something else', "give it another name")
                continue
            if value is BAD:
                continue
            sections = [value] if isinstance(value, Section) else [part for _, part in value]
            found = [self.span(section) for section in sections]
            spans = tuple(span for span in found if span is not None)
            if len(spans) == len(sections):
                out.append(Schedule(name, spans))
                some = bool(self.holidays.dates)
                if some or not any(x.days.holidays or x.days.but_holidays for x in spans):
                    self.reaches[name] = reach(spans, holidays=some)  # else that is said already
        return tuple(out)

    def span(self, section: Section) -> Span | None:
        start, end = section["from"], section["to"]
        zone = self.zone(section)
        if start is not None and start == end:
            self.report.error(
                section.place("to"),
                "it ends when it begins",
                "leave both from and to out for whole days",
            )
            return None
        days = section["days"] or Days()
        if (days.holidays or days.but_holidays) and not (self.holidays.dates or self.holidays.bad):
            self.report.warn(
                section.place("days"),
                '"holidays" means no day',
                "say which: site: {holidays: [2026-12-25]}, or {holidays: {country: DE}}",
            )
        if zone is None or not section.ok("days", "from", "to"):
            return None
        if start is None or end is None:
            return Span(days=days, zone=zone)
        return Span(start, end, days, zone)

    def zone(self, section: Section) -> str | None:
        """Return the name of its time zone."""
        if section["timezone"]:
            known = self.place.open_zone(section["timezone"], section.place("timezone"))
            return section["timezone"] if known is not None else None
        site: Section | None = self.place.main["site"]
        if site is not None and site["timezone"]:
            return str(site["timezone"]) if self.place.zone is not None else None
        unread = not self.place.main.ok("site") or (
            site is not None and (not site.ok("timezone") or "timezone" in site.meant)
        )
        if section.ok("timezone") and not (unread or "timezone" in section.meant):
            self.report.error(
                section.mark,
                "a schedule needs a time zone",
                "add it for all, as in site: {timezone: Europe/Berlin}, or timezone: here",
            )
        return None

    def during(self, value: During | Whenever | None, mark: Mark, what: str) -> During | None:
        """Return when; None: always.  A name must be one, and the spell must come some day."""
        if not isinstance(value, During):
            return None
        self.used.add(value.schedule)
        if value.schedule not in self.named:
            if not self.lost:
                self.report.error(
                    mark,
                    f'unknown schedule "{value.schedule}"',
                    *(suggest(value.schedule, self.named) or ("there are no schedules",)),
                )
            return None
        found = self.reach_of(value)
        if found is not None and not found.possible:
            why = (
                f"{value.schedule} is always on"
                if value.inverted
                else f"no day is one of {value.schedule}"
            )
            self.report.warn(mark, f'"{value}" never comes: {what}', why)
        return value

    def reach_of(self, value: During) -> Reach | None:
        """Return in which minutes of a week it is; None: that is not known."""
        found = self.reaches.get(value.schedule)
        return found.turned() if found is not None and value.inverted else found

    def covered(self, value: During | None, before: list[During | None]) -> bool:
        """Say whether one of those *before* always is when *value* is (None: at any time)."""
        if value in before or None in before:
            return True
        joined: Reach | None = None
        for during in before:
            found = self.reach_of(during) if during is not None else None
            if found is not None:
                joined = found if joined is None else joined.joined(found)
        if joined is None:
            return False
        if joined.certain == _WHOLE:
            return True
        own = self.reach_of(value) if value is not None else Reach(joined.zone, _WHOLE, _WHOLE)
        same = own is not None and own.zone == joined.zone
        return own is not None and same and not own.possible & ~joined.certain
