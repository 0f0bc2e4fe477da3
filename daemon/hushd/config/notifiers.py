"""Notifiers: the options of their plugins, and how each wants to be told."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hushd.config.common import Common
from hushd.config.language.notifiers import MANNER
from hushd.config.place import Place
from hushd.config.problems import Mark
from hushd.config.records import NotifierConfig
from hushd.config.scalars import BAD
from hushd.config.secret import Secret
from hushd.config.table import Section
from hushd.core.rules import Manner
from hushd.core.times import format_duration
from hushd.plugin.records import NotifierType, Option


class Notifiers:
    """Checks the section ``notifiers``."""

    def __init__(self, common: Common, place: Place, base: Path) -> None:
        self.common = common
        self.report = common.report
        self.place = place
        self.base = base

    def compile(self) -> dict[str, NotifierConfig]:
        out = {}
        for name, (_, section) in self.common.named["notifiers"].items():
            if section is BAD or not section["type"]:
                continue
            record = self.common.catalog.notifiers[section["type"]]
            options: dict[str, Any] = {}
            for option in record.options:
                value = option.default
                if option.name in section:
                    given = section[option.name]
                    place = section.place(option.name)
                    value = None if given is None else self.option(option, given, place)
                options[option.name] = value
            out[name] = NotifierConfig(
                name, record, options, self.manner(name, section, record, options)
            )
            self.check(section, out[name])
        self.look_for_circles({name: x.manner.fallback for name, x in out.items()})
        return out

    def manner(
        self, name: str, section: Section, record: NotifierType, options: Mapping[str, Any]
    ) -> Manner:
        """Return how a notifier wants to be told."""
        own = {option.name for option in record.options}
        found = {key: None if key in own else section[key] for key in MANNER}
        mark = section.place("quiet")
        quiet = self.common.schedules.during(found["quiet"], mark, "it has no effect")
        for key in ("quiet_except", "quiet_summary"):
            if found[key] and found["quiet"] is None and section.ok("quiet") and key not in own:
                self.report.warn(
                    section.place(key),
                    "no effect: this notifier is never quiet",
                    "add quiet: the name of a schedule",
                )
        fallback: str | None = found["fallback"]
        if fallback == name:
            self.report.error(
                section.place("fallback"),
                "a notifier cannot stand in for itself",
                "name another, best of another type",
            )
        elif fallback:
            self.common.notifier(fallback, section.place("fallback"))
        delivery = found["delivery"]
        refresh = options.get("refresh") if record.refreshes else None
        return Manner(
            every=record.every if delivery is None else delivery == "every",
            quiet=quiet,
            quiet_except=found["quiet_except"],
            quiet_summary=bool(found["quiet_summary"]),
            clears=found["clears"] is not False,
            rate=found["rate_limit"],
            batch=found["batch"] or 0,
            give_up_after=found["give_up_after"] or Manner().give_up_after,
            fallback=fallback,
            refresh=refresh or 0,
        )

    def look_for_circles(self, nexts: Mapping[str, str | None]) -> None:
        """Complain when what nobody could be told goes round in a circle."""
        done: set[str] = set()
        for start in nexts:
            way: list[str] = []
            at: str | None = start
            while at is not None and at not in done:
                done.add(at)
                way.append(at)
                at = nexts.get(at)
            if at in way and (circle := way[way.index(at) :])[1:]:
                _, section = self.common.named["notifiers"][circle[-1]]
                self.report.error(
                    section.place("fallback"),
                    f"the fallbacks go round in a circle: {', '.join([*circle, circle[0]])}",
                    "end it with a notifier that has none",
                )

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

    def check(self, section: Section, notifier: NotifierConfig) -> None:
        """Ask the plugin what it thinks of its options, and whether it may start programs."""
        record = notifier.type
        if (
            record.executes
            and self.common.main.ok("allow_exec")
            and not self.common.main["allow_exec"]
        ):
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
