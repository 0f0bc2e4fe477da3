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
from hushd.config.records import Config, Internal, Limits, Logging, NotifierConfig, Store
from hushd.config.rules import RuleBook
from hushd.config.secret import Keeper, Secret
from hushd.config.sensors import Named, Sensors
from hushd.config.shape import BAD, Section
from hushd.core.rules import Rules
from hushd.core.times import format_duration
from hushd.plugin.catalog import Catalog
from hushd.plugin.records import Option


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
    rest = _Rest(main, named, catalog, report, place, book, path.parent)
    notifiers = rest.notifiers()
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
        ),
        internal,
        limits,
        catalog,
        rest.log(),
        store,
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
        base: Path,
    ) -> None:
        self.base = base
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
                    value = None if given is None else self.option(option, given, place)
                options[option.name] = value
            out[name] = NotifierConfig(name, record, options)
            self.check_notifier(section, out[name])
        return out

    def option(self, option: Option, value: Any, mark: Mark) -> Any:
        """Return an option's value as the plugin takes it; secrets stay closed."""
        match option.kind:
            case "secret":
                return self.place.secret(value)
            case "url":
                return self.text_or_secret(value, mark, expand=True)
            case "file":
                return str(self.base / value)
            case "texts":
                return tuple(text for _, text in value)
            case "map":
                return {
                    key: self.text_or_secret(text, place)
                    for key, (place, text) in value.items()
                    if text is not BAD
                }
            case "duration":
                low, high = option.low or 0, option.high
                if value < low or (high is not None and value > high):
                    to = "" if high is None else f" to {format_duration(high)}"
                    self.report.error(
                        mark,
                        f'cannot use "{format_duration(value)}" as {option.name}',
                        f"write a duration from {format_duration(low)}{to}",
                    )
        return value

    def text_or_secret(self, value: Any, mark: Mark, *, expand: bool = False) -> Any:
        """Return what was written as it is, or what the secret is that it names."""
        if isinstance(value, Section):
            return self.place.secret(value)
        return self.place.keeper.expand(value, mark) if expand else value

    def check_notifier(self, section: Section, notifier: NotifierConfig) -> None:
        """Ask the plugin what it thinks of its options, and whether it may start programs."""
        record = notifier.type
        if record.executes and self.main.ok("allow_exec") and not self.main["allow_exec"]:
            self.report.error(
                section.place("type"),
                f'"{record.name}" starts programs, and nothing allows that',
                "write allow_exec: true into the main file, if you trust all who can write it",
            )
        if record.check is None or not section.ok(*(option.name for option in record.options)):
            return
        try:
            faults = tuple(record.check(_visible(notifier.options)))
        except Exception as exc:  # noqa: BLE001  whatever it is, it is the plugin's
            said = f"{record.name} cannot say whether this is sound: {type(exc).__name__}"
            self.report.error(section.mark, said)
            return
        for option, message, hint in faults:
            self.report.error(section.place(option), message, *([hint] if hint else ()))

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
            if name not in self.book.watched:
                self.report.warn(mark, f'no rule watches "{name}"')
        for name, (mark, _) in self.named["notifiers"].items():
            if name not in self.book.told:
                self.report.warn(mark, f'nobody is told through "{name}": no notify lists it')


def _visible(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with secrets as plain texts, without those that are not there."""
    out: dict[str, Any] = {}
    for key, value in options.items():
        if isinstance(value, Secret):
            if not value.missing:
                out[key] = value.reveal()
        else:
            out[key] = _visible(value) if isinstance(value, Mapping) else value
    return out
