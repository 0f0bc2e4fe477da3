"""Holidays: the dates that are written out, and those of a country.

The rules by which countries make theirs are many and change; the package ``holidays`` knows
them, and is asked once, when the configuration is read.
"""

import warnings
from typing import Any

from hushd.config.problems import Mark, Report, shorten, suggest
from hushd.config.table import Section

#: for which a country's holidays are laid out: far beyond any replay and any device's life
YEARS = range(2000, 2061)


class Holidays:
    """Checks ``site.holidays``."""

    def __init__(self, site: Section | None, report: Report) -> None:
        self.report = report
        self.dates: tuple[str, ...] = ()  # sorted, as 2026-12-25
        self.bad = False  # something is wrong with them, and has been said
        if site is None:
            return
        self.bad = not site.ok("holidays") or "holidays" in site.meant
        value: Any = site["holidays"]
        if isinstance(value, Section):
            dates = {day for _, day in value["dates"] or ()}
            country, region = value["country"], value["region"]
            if country and value.ok("region", "dates"):
                dates |= self.public(country, region, value)
            else:
                self.bad = True
        else:
            dates = {day for _, day in value or ()}
        self.dates = tuple(sorted(dates))

    def public(self, country: str, region: str | None, section: Section) -> set[str]:
        """Return the public holidays of a country, or of a region of it."""
        try:
            import holidays  # noqa: PLC0415  costs time, and few need it
        except ImportError:
            self.blame(
                section.place("country"),
                'the package "holidays" is not installed, which knows those of countries',
                'install it, as in pip install "hushd[holidays]", or list the dates',
            )
            return set()
        known = {
            code: regions
            for code, regions in holidays.list_supported_countries().items()
            if len(code) == 2
        }
        if country not in known:
            hint = suggest(country, known)[0]
            self.blame(
                section.place("country"),
                f'no holidays are known of "{shorten(country)}"',
                hint if hint.startswith("did") else "write the two letters of a country: DE, AT",
            )
            return set()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # an old name of a region is one, too
                found = holidays.country_holidays(country, subdiv=region, years=YEARS)
        except NotImplementedError:
            regions = known[country]
            hint = suggest(region or "", regions)[0] if regions else f"{country} has none here"
            self.blame(section.place("region"), f'unknown region "{shorten(region or "")}"', hint)
            return set()
        return {day.isoformat() for day in found}

    def blame(self, mark: Mark, message: str, hint: str) -> None:
        """Complain, and remember that the holidays are not all there."""
        self.bad = True
        self.report.error(mark, message, hint)
