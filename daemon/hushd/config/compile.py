"""Sections that were read against the language in, records that run out.

Here stands what no single key can show: names that must exist, labels that must fit, a
``clear`` on the quiet side, and what is allowed but hardly meant (warnings).  What has
been complained about already is skipped, so that one mistake is one problem.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from datetime import tzinfo
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from hushd.config.language import COMPARISONS
from hushd.config.problems import Mark, Report, shorten, suggest
from hushd.config.records import (
    Config,
    Internal,
    Limits,
    Mqtt,
    NotifierConfig,
    SensorConfig,
    Site,
)
from hushd.config.secret import Keeper, Secret
from hushd.config.shape import BAD, Seconds, Section
from hushd.core.aggregation import Aggregator
from hushd.core.readings import Labels, labels_of
from hushd.core.rules import (
    SEVERITIES,
    Bound,
    Comparison,
    Limit,
    Measure,
    NoData,
    Notify,
    Over,
    Rule,
    Rules,
    Sensor,
    Severity,
)
from hushd.core.times import UNITS, StampFormat, format_duration, stamp_parser
from hushd.core.topics import TopicTemplate
from hushd.plugin.catalog import Catalog
from hushd.plugin.records import Wanted

_MINUTE = UNITS["m"]
#: the only measure that needs no window: what it gives is the last reading
_NO_WINDOW = "last"
_GAP = "only 3 gaps between readings teach an interval, and until then nothing is said of silence"

Named = dict[str, tuple[Mark, Any]]  # name -> (where it is named, section or value or BAD)
Words = tuple[tuple[Mark, str], ...]


class _SensorParts(NamedTuple):
    """What rules need to know of a sensor."""

    sensor: Sensor
    section: Section | None  # None: the short form


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
    keeper = Keeper(report, path.parent, os.environ, for_run=for_run)
    compiler = _Compiler(main, named, catalog, report, keeper)
    site = compiler.site()
    mqtt = compiler.mqtt()
    sensors = compiler.sensors()
    notifiers = compiler.notifiers()
    rules = compiler.rules()
    internal = compiler.internal()
    limits = compiler.limits()
    compiler.look_for_unused()
    if report.wrong:
        return None
    return Config(
        path,
        site,
        main["clock"],
        mqtt,
        sensors,
        notifiers,
        Rules(
            tuple(parts.sensor for parts in compiler.parts.values()),
            tuple(rules),
            limits.series,
            limits.alerts_per_rule,
        ),
        internal,
        limits,
        catalog,
    )


class _Compiler:
    """One pass over all sections."""

    def __init__(
        self,
        main: Section,
        named: Mapping[str, Named],
        catalog: Catalog,
        report: Report,
        keeper: Keeper,
    ) -> None:
        self.main = main
        self.named = named
        self.catalog = catalog
        self.report = report
        self.keeper = keeper
        self.parts: dict[str, _SensorParts] = {}
        self.watched: set[str] = set()
        self.told: set[str] = set()
        self.zone: tzinfo | None = None
        #: sections that are there but unreadable: what refers to them is not to blame
        self.lost = {key for key in named if not main.ok(key)} | main.meant
        self.silent: dict[str, list[str]] = {}  # sensor -> rules that cannot tell its silence
        self.defaults: Section | None = main["defaults"]

    # the place and the broker

    def site(self) -> Site:
        section: Section | None = self.main["site"]
        if section is None:
            return Site()
        if section["timezone"]:
            self.zone = self.open_zone(section["timezone"], section.place("timezone"))
        return Site(section["name"] or "hushd", section["timezone"] or "", self.zone)

    def open_zone(self, name: str, mark: Mark) -> tzinfo | None:
        """Return the time zone of that name."""
        from zoneinfo import ZoneInfo, available_timezones  # noqa: PLC0415  it reads files

        try:
            return ZoneInfo(name)
        except (OSError, ValueError, KeyError):
            zones = available_timezones()
            hints = suggest_zone(name, zones)
            if not zones:
                hints = ("this machine has no time zone database; install tzdata",)
            self.report.error(mark, f'unknown time zone "{shorten(name)}"', *hints)
            return None

    def mqtt(self) -> Mqtt:
        section: Section | None = self.main["mqtt"]
        if section is None:
            return Mqtt()
        host, port, username = section["host"], section["port"], section["username"]
        password = self.secret(section["password"])
        if section["url"]:
            host, port = self.broker(section["url"], section.place("url"))
        elif host and (why := _bad_host(host)):
            self.report.error(section.place("host"), f'cannot use "{shorten(host)}" as a host', why)
        if password is not None and username is None and section.ok("username"):
            self.report.error(
                section.place("password"),
                "a password without a username",
                "add username: who logs in",
            )
        keepalive = section["keepalive"]
        if keepalive and not 5_000 <= keepalive // 10**6 <= 65_535_000:
            self.report.error(
                section.place("keepalive"),
                f'cannot use "{format_duration(keepalive)}" as keepalive',
                "write a duration from 5s to 18h",
            )
        return Mqtt(
            host or "localhost",
            port or 1883,
            section["client_id"],
            username,
            password,
            keepalive or 30 * UNITS["s"],
        )

    def broker(self, url: str, mark: Mark) -> tuple[str, int]:
        """Return host and port of a URL."""
        hint = "write mqtt://HOST or mqtt://HOST:PORT"
        nothing = "localhost", 1883
        scheme, found, rest = url.partition("://")
        if found and scheme in {"mqtts", "ssl", "ws", "wss"}:
            self.report.error(mark, f'this version does not know "{scheme}://" yet', hint)
            return nothing
        if not found or scheme not in {"mqtt", "tcp"}:
            self.report.error(mark, f'cannot read "{shorten(_safe(url))}"', hint)
            return nothing
        if "@" in rest:
            self.report.error(
                mark,
                "a user name or password does not belong into a URL",
                "write username: and password: {credential: NAME} beside it",
            )
            return nothing
        expanded = self.keeper.expand(rest, mark)
        if expanded.missing:
            return nothing
        authority = expanded.reveal().rstrip("/")
        host, colon, digits = authority.rpartition(":")
        if not colon or authority.endswith("]"):
            host, digits = authority, "1883"
        host = host.removeprefix("[").removesuffix("]")
        if not (digits.isascii() and digits.isdigit() and 1 <= int(digits[:6]) <= 65_535):
            self.report.error(mark, "cannot read the port", hint)
            return nothing
        if why := _bad_host(host):
            self.report.error(mark, f'cannot use "{shorten(host)}" as a host', why)
        return host, int(digits)

    def secret(self, section: Section | None) -> Secret | None:
        """Return the secret that a section names."""
        if section is None:
            return None
        look: dict[str, Callable[[str, Mark], Secret]] = {
            "credential": self.keeper.credential,
            "file": self.keeper.file,
            "env": self.keeper.variable,
        }
        for key, find in look.items():
            if section[key]:
                return find(section[key], section.place(key))
        return None

    # sensors

    def sensors(self) -> dict[str, SensorConfig]:
        out = {}
        for name, (mark, value) in self.named["sensors"].items():
            if value is BAD:
                continue
            config = self.sensor(name, mark, value)
            if config is not None:
                out[name] = config
        return out

    def sensor(self, name: str, mark: Mark, value: Section | str) -> SensorConfig | None:
        section = value if isinstance(value, Section) else None
        topic = section["topic"] if section else value
        where = section.place("topic") if section else mark
        if section is not None and not topic:
            return None
        try:
            template = TopicTemplate.parse(str(topic))
        except ValueError as exc:
            self.report.error(where, f'cannot use "{shorten(str(topic))}" as a topic', str(exc))
            return None
        if section is None:
            record = Sensor(name, tuple(sorted(template.labels)))
            self.parts[name] = _SensorParts(record, None)
            return self.reader(name, mark, None, template)
        payload: Named = section["labels"] or {}
        for label, (at, _) in payload.items():
            if label in template.labels:
                self.report.error(
                    at,
                    f'the topic has a label "{label}" already',
                    "give one of the two another name",
                )
        labels = {*template.labels, *payload}
        interval, hold = section["interval"], section["hold"]
        if interval and hold and hold < interval:
            self.report.warn(
                section.place("hold"),
                "a reading stands for less than the interval: no window will ever be full",
                "write at least the interval, or leave hold out",
            )
        self.parts[name] = _SensorParts(
            Sensor(
                name,
                tuple(sorted(labels)),
                section["unit"] or "",
                section["lateness"] or 0,
                section["future"] if section.ok("future") else 0,
                section["duplicates"] or "drop",
                interval,
                hold,
                self.expected(section, labels),
            ),
            section,
        )
        return self.reader(name, mark, section, template)

    def expected(self, section: Section, labels: set[str]) -> tuple[Labels, ...]:
        """Return the label sets that must exist."""
        out = []
        for _, entry in section["expect"] or ():
            for label, (at, _) in entry.items():
                if label not in labels:
                    self.unknown_label(label, at, labels)
            out.append(labels_of({k: v for k, (_, v) in entry.items() if v is not BAD}))
        return tuple(out)

    def unknown_label(self, label: str, mark: Mark, labels: Iterable[str]) -> None:
        hints = suggest(label, labels) or (
            'the sensor has none; name levels of its topic, as in "home/{room}/noise"',
        )
        self.report.error(mark, f'unknown label "{shorten(label)}"', *hints)

    def reader(
        self, name: str, mark: Mark, section: Section | None, template: TopicTemplate
    ) -> SensorConfig | None:
        """Return the sensor with its decoder built."""
        if section is not None and not section.ok("value", "time", "labels"):
            return None
        asked = section["value"] if section else "number"
        where = section.place("value") if section and "value" in section else mark
        decoder_name, _, argument = asked.partition(":")
        decoder = self.catalog.decoders.get(decoder_name)
        if decoder is None:
            hints = self.catalog.hint("decoder", decoder_name)
            self.report.error(where, f'unknown decoder "{shorten(decoder_name)}"', *hints)
            return None
        steps = [(where, asked, Wanted(argument))]
        if section is not None:
            steps += self.further(section, decoder_name, steps[0][2])
        decode = None
        for at, text, step in steps:  # each adds one thing, so that the right one is blamed
            try:
                decode = decoder.build(step)
            except ValueError as exc:
                self.report.error(at, f'the decoder cannot use "{shorten(text)}"', str(exc))
                return None
            except Exception as exc:  # noqa: BLE001  whatever it is, it is the plugin's
                self.report.error(
                    at,
                    f'the decoder "{decoder_name}" broke: {type(exc).__name__}',
                    f"plugin {self.catalog.sources.get(decoder_name, decoder_name)}: {exc}",
                )
                return None
        if decode is None:
            return None
        if section is None:
            return SensorConfig(name, template, decoder_name, decode)
        return SensorConfig(
            name,
            template,
            decoder_name,
            decode,
            section["unit"] or "",
            section["valid"],
            section["retained"] or "ignore",
        )

    def further(
        self, section: Section, decoder: str, wanted: Wanted
    ) -> Iterable[tuple[Mark, str, Wanted]]:
        """Yield what else the decoder must find: the time, then one more label each."""
        time = section["time"]
        if time is not None:
            inner = time if isinstance(time, Section) else None
            text = inner["path"] if inner else time
            mark = inner.place("path") if inner else section.place("time")
            path = self.argument(text, mark, decoder, "time") if text else None
            zone = self.time_zone(inner) if inner and inner["zone"] else self.zone
            form: StampFormat = (inner["format"] if inner else None) or "auto"
            if path is not None:
                wanted = wanted._replace(time=path, stamp=stamp_parser(form, zone))
                yield mark, text, wanted
        labels: Named = section["labels"] or {}
        for name, (mark, text) in labels.items():
            at = None if text is BAD else self.argument(text, mark, decoder, f'label "{name}"')
            if at is not None:
                wanted = wanted._replace(labels=(*wanted.labels, (name, at)))
                yield mark, text, wanted

    def time_zone(self, section: Section) -> tzinfo | None:
        """Return the zone that ``time.zone`` means."""
        if section["zone"] != "site":
            return self.open_zone(section["zone"], section.place("zone"))
        site: Section | None = self.main["site"]
        if site is None or (site["timezone"] is None and site.ok("timezone")):
            self.report.error(
                section.place("zone"),
                'zone is "site", but site.timezone is not set',
                "add it, as in site: {timezone: Europe/Berlin}",
            )
        return self.zone

    def argument(self, text: str, mark: Mark, decoder: str, what: str) -> str | None:
        """Return what follows the decoder's name and the colon."""
        name, colon, argument = text.partition(":")
        if colon and name == decoder:
            return argument
        if colon and name in self.catalog.decoders:
            hint = f"name one decoder in both, as in value: {name}:level"
        else:
            hint = f'write "{decoder}:{text}"'
        self.report.error(
            mark, f'the {what} is read by the decoder of the value, "{decoder}"', hint
        )
        return None

    # notifiers

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
            return self.secret(value)
        if kind == "url":
            return self.keeper.expand(value, mark)
        if kind == "texts":
            return tuple(text for _, text in value)
        if kind == "map":
            return {key: text for key, (_, text) in value.items() if text is not BAD}
        return value

    # rules

    def rules(self) -> list[Rule]:
        out = []
        if not self.named["rules"] and not self.report.wrong:
            self.report.warn(self.main.mark, "there are no rules: nothing will be told")
        if self.defaults is not None:
            self.notify(self.defaults)
            self.no_data(self.defaults, None)
        for name, (mark, section) in self.named["rules"].items():
            if section is BAD:
                continue
            rule = self.rule(name, mark, section)
            if rule is not None and section["enabled"] is not False:
                out.append(rule)
        for sensor, rules in self.silent.items():
            section = self.parts[sensor].section
            if section is not None and section["expect"] and not section["interval"]:
                names = ", ".join(rules)
                self.report.warn(
                    section.place("expect"),
                    f"a series that never speaks is not missed by: {names}",
                    f"add interval here, or no_data: {{after: ...}} there: {_GAP}",
                )
        return out

    def pick(self, section: Section, key: str) -> Any:
        """Return the rule's own value, else that of ``defaults``, else the language's."""
        if key not in section and self.defaults is not None and key in self.defaults:
            return self.defaults[key]
        return section[key]

    def rule(self, name: str, mark: Mark, section: Section) -> Rule | None:
        watch = section["watch"]
        parts = self.parts.get(watch) if watch else None
        if watch:
            self.watched.add(watch)
            if watch not in self.named["sensors"] and "sensors" not in self.lost:
                self.report.error(
                    section.place("watch"),
                    f'unknown sensor "{watch}"',
                    *(suggest(watch, self.named["sensors"]) or ("there are no sensors",)),
                )
        each = self.each(section, parts)
        where = self.where(section, parts)
        measure, aggregator = self.measure(section, parts)
        over = self.over(section, aggregator)
        limits = self.limits_of(section, aggregator, parts, over)
        samples, coverage = self.fullness(section, aggregator, over)
        no_data = self.no_data(section, parts)
        notify = self.notify(section)
        if section["no_data"] is None and self.defaults and "no_data" in self.defaults:
            no_data = self.no_data(self.defaults, None)
        if not ("notify" in section or (self.defaults and "notify" in self.defaults)):
            self.report.error(
                mark,
                "nobody is told",
                "add notify: [...] here or under defaults; [] is for the journal only",
            )
        if parts is not None:
            self.expects(name, parts, each)
            if no_data is not None and no_data.after is None:
                self.silent.setdefault(parts.sensor.name, []).append(name)
        self.unheard(section, limits, no_data, notify)
        if parts is None or measure is None or not limits:
            return None
        return Rule(
            name=name,
            sensor=watch,
            each=each,
            measure=measure,
            over=over,
            limits=limits,
            where=where,
            about=section["about"] or "",
            min_samples=samples,
            min_coverage=coverage,
            no_data=no_data,
            notify=notify,
        )

    def each(self, section: Section, parts: _SensorParts | None) -> tuple[str, ...]:
        """Return the labels that separate alerts."""
        if parts is None:
            return ()
        if "each" not in section:
            return parts.sensor.labels
        out: set[str] = set()
        for mark, label in section["each"] or ():
            if label not in parts.sensor.labels:
                self.unknown_label(label, mark, parts.sensor.labels)
            elif label in out:
                self.report.error(mark, f'"{label}" stands here twice', "keep one of the two")
            out.add(label)
        return tuple(sorted(out))

    def where(
        self, section: Section, parts: _SensorParts | None
    ) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return the label filter."""
        out = []
        entries: Named = section["where"] or {}
        for label, (mark, value) in entries.items():
            if parts is not None and label not in parts.sensor.labels:
                self.unknown_label(label, mark, parts.sensor.labels)
            if value is BAD:
                continue
            values = {value} if isinstance(value, str) else {text for _, text in value}
            out.append((label, tuple(sorted(values))))
        return tuple(sorted(out))

    def measure(
        self, section: Section, parts: _SensorParts | None
    ) -> tuple[Measure | None, Aggregator | None]:
        """Return what is computed, and its record."""
        value = section["measure"]
        if value is None:
            return None, None
        mark = section.place("measure")
        argument: float | None = None
        if isinstance(value, str):
            name = value
        else:
            ((name, (mark, argument)),) = value.items() if value else [("", (mark, BAD))]
            if argument is BAD:
                return None, self.catalog.aggregators.get(name)
        aggregator = self.catalog.aggregators.get(name)
        if aggregator is None:
            hints = self.catalog.hint("aggregator", name)
            self.report.error(mark, f'unknown measure "{shorten(name)}"', *hints)
            return None, None
        parameter = aggregator.parameter
        if parameter is None and argument is not None:
            self.report.error(mark, f'"{name}" takes no number', f"write measure: {name}")
            return None, aggregator
        if parameter is not None and argument is None:
            example = "85" if parameter.high is None else f"{parameter.high * 0.9:g}"
            self.report.error(
                mark,
                f'"{name}" needs a number',
                f"write measure: {{{name}: {example}}}",
            )
            return None, aggregator
        if parameter is not None and argument is not None:
            low, high = parameter.low, parameter.high
            if (low is not None and argument < low) or (high is not None and argument > high):
                span = f"from {low:g}" if low is not None else ""
                span += f" to {high:g}" if high is not None else " upwards"
                self.report.error(
                    mark, f'"{name}" cannot use {argument:g}', f"write a number {span.strip()}"
                )
                return None, aggregator
        if parts is not None and not aggregator.energy and _decibels(parts.sensor.unit):
            hint = (
                ['use "leq", the energy mean']
                if "leq" in self.catalog.aggregators
                else ["use a measure that knows decibels"]
            )
            self.report.warn(
                mark,
                f'"{name}" takes decibels for plain numbers: loud moments count too little',
                *hint,
            )
        return Measure(name, argument), aggregator

    def over(self, section: Section, aggregator: Aggregator | None) -> Over:
        """Return the window."""
        value = section["over"]
        if value is not None:
            return Over(*value)
        if section.ok("over") and aggregator is not None and aggregator.name != _NO_WINDOW:
            self.report.error(
                section.mark,
                f'"over" is missing: the window of "{aggregator.name}"',
                "write over: 15m or over: 20 samples; only measure: last needs none",
            )
        return Over()

    def fullness(
        self, section: Section, aggregator: Aggregator | None, over: Over
    ) -> tuple[int, float]:
        """Return min_samples and min_coverage."""
        samples = self.pick(section, "min_samples") or 1
        coverage = self.pick(section, "min_coverage")
        always = aggregator is not None and aggregator.always
        if over.count is not None and samples > over.count and "min_samples" in section:
            self.report.error(
                section.place("min_samples"),
                f"the window never holds {samples} readings",
                f"write at most {over.count}",
            )
        if "min_coverage" in section and coverage is not None:
            if always and aggregator is not None:
                why = f'"{aggregator.name}" is judged however full the window is'
                self.report.warn(section.place("min_coverage"), f"no effect: {why}")
            elif over.span is None and section.ok("over"):
                self.report.warn(
                    section.place("min_coverage"), "no effect: only a window of time has coverage"
                )
        if always or over.span is None:
            return samples, 0.0
        return samples, 0.5 if coverage is None else coverage

    def limits_of(
        self,
        section: Section,
        aggregator: Aggregator | None,
        parts: _SensorParts | None,
        over: Over,
    ) -> tuple[Limit, ...]:
        """Return the limits, mildest first."""
        out: list[tuple[Mark, Limit]] = []
        seconds = aggregator is None or (
            aggregator.unit.replace("{unit}", parts.sensor.unit if parts else "") == "s"
        )
        for severity in SEVERITIES:
            if section[severity] is None:
                continue
            inner: Section = section[severity]
            limit = self.limit(severity, inner, section, seconds=seconds)
            if limit is not None:
                out.append((inner.mark, limit))
                self.advise(inner, limit, section, over)
        for (_, mild), (mark, severe) in pairwise(out):
            if not _within(severe, mild):
                self.report.warn(
                    mark,
                    f"{severe.severity} is reached where {mild.severity} is not",
                    f"make {severe.severity} the harder one to reach",
                )
        return tuple(limit for _, limit in out)

    def limit(
        self, severity: Severity, inner: Section, rule: Section, *, seconds: bool
    ) -> Limit | None:
        """Return one limit."""
        chosen = [key for key in COMPARISONS if key in inner]
        if len(chosen) != 1 or not inner.ok(chosen[0]):
            return None
        comparison: Comparison = chosen[0]  # type: ignore[assignment]
        bound, clear = _bound(inner[comparison]), inner["clear"]
        for key in (comparison, "clear"):
            value = inner[key]
            values = value if isinstance(value, tuple) else (value,)
            if not seconds and any(isinstance(v, Seconds) for v in values):
                self.report.error(
                    inner.place(key), "a duration, but the measure is none", "write a number"
                )
                return None
        if clear is not None:
            clear = _bound(clear)
            if not self.quiet(comparison, bound, clear, inner.place("clear")):
                return None
        if not inner.ok("clear"):
            return None
        wait = inner["for"] if "for" in inner else self.pick(rule, "for")
        clear_wait = inner["clear_for"] if "clear_for" in inner else self.pick(rule, "clear_for")
        return Limit(severity, comparison, bound, clear, wait or 0, clear_wait or 0)

    def quiet(self, comparison: str, bound: Bound, clear: Bound, mark: Mark) -> bool:
        """Say whether *clear* is on the quiet side of the limit."""
        if isinstance(bound, tuple) != isinstance(clear, tuple):
            shape = "[low, high]" if isinstance(bound, tuple) else "one number"
            self.report.error(
                mark, f'"clear" does not look like "{comparison}"', f"write {shape}, like the limit"
            )
            return False
        if isinstance(bound, tuple) and isinstance(clear, tuple):
            if comparison == "outside":
                fine = bound[0] <= clear[0] and clear[1] <= bound[1]
                side = f"write two numbers within [{bound[0]:g}, {bound[1]:g}]"
            else:
                fine = clear[0] <= bound[0] and bound[1] <= clear[1]
                side = f"write two numbers around [{bound[0]:g}, {bound[1]:g}]"
        elif isinstance(bound, float) and isinstance(clear, float):
            if comparison in {"above", "at_least"}:
                fine, side = clear <= bound, f"write {bound:g} or less"
            else:
                fine, side = clear >= bound, f"write {bound:g} or more"
        if not fine:
            self.report.error(mark, '"clear" is on the loud side of the limit', side)
        return fine

    def advise(self, inner: Section, limit: Limit, rule: Section, over: Over) -> None:
        """Say when nothing keeps an alert from flapping."""
        has_window = over.span is not None or rule["measure"] == _NO_WINDOW
        brief = over.count is None and (over.span or 0) < _MINUTE and has_window
        if brief and limit.clear is None and not (limit.wait or limit.clear_wait):
            self.report.warn(
                inner.mark,
                "a value that hovers at the limit will raise and clear this again and again",
                'add "clear" or "for", or a window of a minute or more',
            )

    def no_data(self, section: Section, parts: _SensorParts | None) -> NoData | None:
        """Return what silence means for a rule."""
        value = section["no_data"]
        if value is None:
            return NoData()
        if not isinstance(value, Section):
            return None  # ignore
        interval = parts.sensor.interval if parts is not None else None
        if parts is not None and interval and value["after"] and value["after"] < interval:
            self.report.warn(
                value.place("after"),
                f"shorter than the interval of {parts.sensor.name}: every gap is a silence",
                f"write more than {format_duration(interval)}",
            )
        return NoData(
            value["after"],
            value["severity"] or "warning",
            value["level"] or "keep",
            self.names(value["notify"]) if "notify" in value else None,
        )

    def notify(self, section: Section) -> Notify:
        """Return who is told, by severity."""
        value = section["notify"]
        if value is None and self.defaults is not None and section is not self.defaults:
            value = self.defaults["notify"]
        if value is None:
            return ()
        if isinstance(value, tuple):
            return (("info", self.names(value)),)
        return tuple(
            (severity, self.names(value[severity][1]))
            for severity in SEVERITIES
            if severity in value and value[severity][1] is not BAD
        )

    def names(self, words: Words | None) -> tuple[str, ...]:
        """Return the notifiers of a list, each once."""
        known = self.named["notifiers"]
        for mark, name in words or ():
            self.told.add(name)
            if name not in known and "notifiers" not in self.lost:
                hints = suggest(name, known) or ("there are no notifiers",)
                self.report.error(mark, f'unknown notifier "{name}"', *hints)
        return tuple(dict.fromkeys(name for _, name in words or ()))

    def unheard(
        self,
        section: Section,
        limits: tuple[Limit, ...],
        no_data: NoData | None,
        notify: Notify,
    ) -> None:
        """Say when somebody is listed at a severity that the rule never reaches."""
        value = section["notify"]
        if not isinstance(value, dict) or not limits or not notify:
            return
        reached = [limit.severity for limit in limits]
        if no_data is not None:
            reached.append(no_data.severity)
        worst = max(SEVERITIES.index(severity) for severity in reached)
        for severity, (mark, _) in value.items():
            if SEVERITIES.index(severity) > worst:
                self.report.warn(
                    mark,
                    f"this rule is never {severity}: nobody listed here hears of it",
                    f"add a limit for {severity}, or list them at {SEVERITIES[worst]}",
                )

    def expects(self, name: str, parts: _SensorParts, each: tuple[str, ...]) -> None:
        """Complain when an expected series cannot be told apart as the rule does."""
        section = parts.section
        if section is None:
            return
        for mark, entry in section["expect"] or ():
            lacking = [label for label in each if label not in entry]
            if lacking and all(label in parts.sensor.labels for label in entry):
                self.report.error(
                    mark,
                    f'rule "{name}" also needs to know: {", ".join(lacking)}',
                    f"name it here, or write each: [{', '.join(sorted(entry))}] in the rule",
                )

    # the rest

    def internal(self) -> Internal:
        section: Section | None = self.main["internal"]
        usual: tuple[str, ...] = ()
        if self.defaults is not None:
            told = (names for _, names in self.notify(self.defaults))
            usual = tuple(dict.fromkeys(name for names in told for name in names))
        if section is None:
            return Internal("warning", usual)
        notify = self.names(section["notify"]) if "notify" in section else usual
        return Internal(section["severity"] or "warning", notify)

    def limits(self) -> Limits:
        section: Section | None = self.main["limits"]
        if section is None or not section.ok(*Limits.__slots__):
            return Limits()
        return Limits(*(section[key] for key in Limits.__slots__))

    def look_for_unused(self) -> None:
        """Say what is configured and does nothing."""
        if self.report.wrong or not self.named["rules"]:
            return  # what is misspelt may be what is missed
        for name, (mark, _) in self.named["sensors"].items():
            if name not in self.watched:
                self.report.warn(mark, f'no rule watches "{name}"')
        for name, (mark, _) in self.named["notifiers"].items():
            if name not in self.told:
                self.report.warn(mark, f'nobody is told through "{name}": no notify lists it')


def _bound(value: Any) -> Bound:
    if isinstance(value, tuple):
        return (float(value[0]), float(value[1]))
    return float(value)


def _decibels(unit: str) -> bool:
    """Say whether a unit is dB, dBA, dB(C), dBFS, ..."""
    return unit.strip().lower().startswith("db")


def _raised(limit: Limit, value: float) -> bool:
    """Say whether *value* is beyond the limit."""
    bound = limit.limit
    if isinstance(bound, tuple):
        inside = bound[0] <= value <= bound[1]
        return inside if limit.comparison == "inside" else not inside
    return {
        "above": value > bound,
        "below": value < bound,
        "at_least": value >= bound,
        "at_most": value <= bound,
    }[limit.comparison]


def _within(severe: Limit, mild: Limit) -> bool:
    """Say whether every value beyond *severe* is beyond *mild*.

    Between two neighbouring bounds nothing changes, so one value of each gap suffices.
    """
    bounds: list[float] = []
    for limit in (severe, mild):
        bounds += limit.limit if isinstance(limit.limit, tuple) else (limit.limit,)
    bounds.sort()
    points = [bounds[0] - abs(bounds[0]) - 1, *bounds, bounds[-1] + abs(bounds[-1]) + 1]
    points += [(a + b) / 2 for a, b in pairwise(bounds)]
    return all(_raised(mild, point) for point in points if _raised(severe, point))


def _bad_host(host: str) -> str:
    """Return why no connection to *host* can be tried; such names end paho's thread."""
    if ":" in host:  # IPv6
        fine = all(c in "0123456789abcdefABCDEF:.%" or c.isalnum() for c in host)
        return "" if fine else "write a host name or an address"
    labels = host.removesuffix(".").split(".")
    if len(host) > 253 or any(not 1 <= len(label.encode()) <= 63 for label in labels):
        return "write a host name, such as broker.lan: 1 to 63 letters between dots"
    if any(c.isspace() or c in "/@?#[]\\" or not c.isprintable() for c in host):
        return "write a host name or an address, and nothing else"
    return ""


def _safe(url: str) -> str:
    """Return *url* without what may be a password."""
    return url.rpartition("@")[2]


def suggest_zone(name: str, zones: Iterable[str]) -> tuple[str, ...]:
    """Return a hint for an unknown time zone: the list of all is too long to show."""
    hints = suggest(name, zones)
    if hints and hints[0].startswith("did"):
        return hints
    city = [zone for zone in zones if zone.lower().endswith(f"/{name.lower()}")]
    return (f'did you mean "{min(city)}"?',) if city else ('write one such as "Europe/Berlin"',)
