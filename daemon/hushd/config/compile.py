"""Sections that were read against the language in, records that run out.

Here and in the modules of the sections stands what no single key can show: names that must
exist, labels that must fit, a ``clear`` on the quiet side, and what is allowed but hardly
meant (warnings).  What has been complained about already is skipped, so that one mistake
is one problem.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from hushd.config.common import Common
from hushd.config.notifiers import Notifiers
from hushd.config.place import Place
from hushd.config.problems import Report
from hushd.config.records import Config, Internal, Limits, Logging, Store
from hushd.config.rules import RuleBook
from hushd.config.schedules import Schedules
from hushd.config.secret import Keeper
from hushd.config.sensors import Named, Sensors
from hushd.config.table import Section
from hushd.core.rules import Rules
from hushd.core.times import format_duration
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
    lost = {key for key in named if not main.ok(key)} | main.meant
    schedules = Schedules(named, lost, report, place)
    spans = schedules.compile()
    common = Common(main, named, catalog, report, sensors.parts, schedules, lost)
    book = RuleBook(common)
    rest = _Rest(common, book)
    notifiers = Notifiers(common, place, path.parent).compile()
    rules = book.compile()
    internal, limits, store = rest.internal(), rest.limits(), rest.store()
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
            schedules=spans,
            holidays=schedules.holidays.dates,
        ),
        internal,
        limits,
        catalog,
        rest.log(),
        store,
        {rule.name: book.messages[rule.name] for rule in rules if book.messages[rule.name]},
        tuple(book.resting),
    )


class _Rest:
    """Checks the sections that are neither the place nor sensors nor rules."""

    def __init__(self, common: Common, book: RuleBook) -> None:
        self.common = common
        self.main = common.main
        self.named = common.named
        self.report = common.report
        self.book = book

    def internal(self) -> Internal:
        section: Section | None = self.main["internal"]
        usual: tuple[str, ...] = ()
        if self.common.defaults is not None:
            told = (names for _, names in self.book.telling.notify(self.common.defaults))
            usual = tuple(dict.fromkeys(name for names in told for name in names))
        if section is None:
            return Internal("warning", usual)
        notify = self.common.names(section["notify"]) if "notify" in section else usual
        return Internal(section["severity"] or "warning", notify)

    def limits(self) -> Limits:
        section: Section | None = self.main["limits"]
        if section is None or not section.ok(*Limits.__slots__):
            return Limits()
        return Limits(*(section[key] for key in Limits.__slots__))

    def log(self) -> Logging:
        section: Section | None = self.main["log"]
        return Logging() if section is None else Logging(section["level"], section["format"])

    def store(self) -> Store:
        section: Section | None = self.main["store"]
        if section is None:
            return Store()
        interval = section["commit_interval"]
        if interval and not 100 <= interval // 10**6 <= 60_000:
            self.report.error(
                section.place("commit_interval"),
                f'cannot use "{format_duration(interval)}" as commit_interval',
                "write a duration from 100ms to 1m",
            )
        if not section.ok(*Store.__slots__):
            return Store()
        return Store(
            Path(section["path"]), interval, *(section[key] for key in Store.__slots__[2:])
        )

    def look_for_unused(self) -> None:
        """Say what is configured and does nothing."""
        if self.report.wrong or not self.named["rules"]:
            return  # what is misspelt may be what is missed
        for name, (mark, _) in self.named["sensors"].items():
            if name not in self.common.watched:
                self.report.warn(mark, f'no rule watches "{name}"')
        for name, (mark, _) in self.named["notifiers"].items():
            if name not in self.common.told:
                self.report.warn(mark, f'nobody is told through "{name}": no notify lists it')
        for name, (mark, _) in self.named["schedules"].items():
            if name not in self.common.schedules.used:
                self.report.warn(mark, f'nothing happens during "{name}"')
