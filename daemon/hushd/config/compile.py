"""Sections that were read against the language in, records that run out.

Here and in the modules of the sections stands what no single key can show: names that must
exist, labels that must fit, a ``clear`` on the quiet side, and what is allowed but hardly
meant (warnings).  What has been complained about already is skipped, so that one mistake
is one problem.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hushd.config.place import Place
from hushd.config.problems import Mark, Report
from hushd.config.records import Config, Internal, Limits, Logging, NotifierConfig
from hushd.config.rules import RuleBook
from hushd.config.secret import Keeper
from hushd.config.sensors import Named, Sensors
from hushd.config.shape import BAD, Section
from hushd.core.rules import Rules
from hushd.plugin.catalog import Catalog


def compile_config(
    path: Path,
    main: Section,
    named: Mapping[str, Named],
    catalog: Catalog,
    report: Report,
    *,
    for_run: bool,
) -> Config | None:
    """Return the configuration, or None when *report* says why there is none."""
    place = Place(main, report, Keeper(report, path.parent, os.environ, for_run=for_run))
    site, mqtt = place.site(), place.mqtt()
    sensors = Sensors(main, named["sensors"], catalog, report, place)
    readers = sensors.compile()
    book = RuleBook(main, named, catalog, report, sensors.parts)
    rest = _Rest(main, named, catalog, report, place, book)
    notifiers = rest.notifiers()
    rules = book.compile()
    internal, limits = rest.internal(), rest.limits()
    rest.look_for_unused()
    if report.wrong:
        return None
    return Config(
        path,
        site,
        main["clock"],
        mqtt,
        readers,
        notifiers,
        Rules(
            tuple(parts.sensor for parts in sensors.parts.values()),
            tuple(rules),
            limits.series,
            limits.alerts_per_rule,
        ),
        internal,
        limits,
        catalog,
        rest.log(),
    )


class _Rest:
    """Checks the sections that are neither the place nor sensors nor rules."""

    def __init__(
        self,
        main: Section,
        named: Mapping[str, Named],
        catalog: Catalog,
        report: Report,
        place: Place,
        book: RuleBook,
    ) -> None:
        self.main = main
        self.named = named
        self.catalog = catalog
        self.report = report
        self.place = place
        self.book = book

    def notifiers(self) -> dict[str, NotifierConfig]:
        out = {}
        for name, (_, section) in self.named["notifiers"].items():
            if section is BAD or not section["type"]:
                continue
            record = self.catalog.notifiers[section["type"]]
            options: dict[str, Any] = {}
            for option in record.options:
                value = option.default
                if option.name in section:
                    given = section[option.name]
                    place = section.place(option.name)
                    value = None if given is None else self.option(option.kind, given, place)
                options[option.name] = value
            out[name] = NotifierConfig(name, record, options)
        return out

    def option(self, kind: str, value: Any, mark: Mark) -> Any:
        """Return an option's value as the plugin takes it."""
        if kind == "secret":
            return self.place.secret(value)
        if kind == "url":
            return self.place.keeper.expand(value, mark)
        if kind == "texts":
            return tuple(text for _, text in value)
        if kind == "map":
            return {key: text for key, (_, text) in value.items() if text is not BAD}
        return value

    def internal(self) -> Internal:
        section: Section | None = self.main["internal"]
        usual: tuple[str, ...] = ()
        if self.book.defaults is not None:
            told = (names for _, names in self.book.notify(self.book.defaults))
            usual = tuple(dict.fromkeys(name for names in told for name in names))
        if section is None:
            return Internal("warning", usual)
        notify = self.book.names(section["notify"]) if "notify" in section else usual
        return Internal(section["severity"] or "warning", notify)

    def limits(self) -> Limits:
        section: Section | None = self.main["limits"]
        if section is None or not section.ok(*Limits.__slots__):
            return Limits()
        return Limits(*(section[key] for key in Limits.__slots__))

    def log(self) -> Logging:
        section: Section | None = self.main["log"]
        return Logging() if section is None else Logging(section["level"], section["format"])

    def look_for_unused(self) -> None:
        """Say what is configured and does nothing."""
        if self.report.wrong or not self.named["rules"]:
            return  # what is misspelt may be what is missed
        for name, (mark, _) in self.named["sensors"].items():
            if name not in self.book.watched:
                self.report.warn(mark, f'no rule watches "{name}"')
        for name, (mark, _) in self.named["notifiers"].items():
            if name not in self.book.told:
                self.report.warn(mark, f'nobody is told through "{name}": no notify lists it')
