"""Rules: names that must exist, limits that make sense, and what is hardly meant."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from hushd.config.language import COMPARISONS
from hushd.config.problems import Mark, Report, shorten, suggest
from hushd.config.sensors import Named, SensorParts, unknown_label
from hushd.config.shape import BAD, Seconds, Section
from hushd.core.aggregation import Aggregator
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
    Severity,
)
from hushd.core.times import UNITS, format_duration
from hushd.plugin.catalog import Catalog

_MINUTE = UNITS["m"]
#: the only measure that needs no window: what it gives is the last reading
_NO_WINDOW = "last"
_GAP = "only 3 gaps between readings teach an interval, and until then nothing is said of silence"

Words = tuple[tuple[Mark, str], ...]


class RuleBook:
    """Checks the sections ``defaults`` and ``rules``."""

    def __init__(
        self,
        main: Section,
        named: Mapping[str, Named],
        catalog: Catalog,
        report: Report,
        parts: Mapping[str, SensorParts],
    ) -> None:
        self.main = main
        self.named = named
        self.catalog = catalog
        self.report = report
        self.parts = parts
        self.defaults: Section | None = main["defaults"]
        self.watched: set[str] = set()
        self.told: set[str] = set()
        self.silent: dict[str, list[str]] = {}  # sensor -> rules that cannot tell its silence
        #: sections that are there but unreadable: what refers to them is not to blame
        self.lost = {key for key in named if not main.ok(key)} | main.meant

    def compile(self) -> list[Rule]:
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
            if section["expect"] and not section["interval"]:
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

    def each(self, section: Section, parts: SensorParts | None) -> tuple[str, ...]:
        """Return the labels that separate alerts."""
        if parts is None:
            return ()
        if "each" not in section:
            return parts.sensor.labels
        out: set[str] = set()
        for mark, label in section["each"] or ():
            if label not in parts.sensor.labels:
                unknown_label(self.report, label, mark, parts.sensor.labels)
            elif label in out:
                self.report.error(mark, f'"{label}" stands here twice', "keep one of the two")
            out.add(label)
        return tuple(sorted(out))

    def where(
        self, section: Section, parts: SensorParts | None
    ) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return the label filter."""
        out = []
        entries: Named = section["where"] or {}
        for label, (mark, value) in entries.items():
            if parts is not None and label not in parts.sensor.labels:
                unknown_label(self.report, label, mark, parts.sensor.labels)
            if value is BAD:
                continue
            values = {value} if isinstance(value, str) else {text for _, text in value}
            out.append((label, tuple(sorted(values))))
        return tuple(sorted(out))

    def measure(
        self, section: Section, parts: SensorParts | None
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
        if over.count is not None and samples > over.count:
            if "min_samples" in section:
                self.report.error(
                    section.place("min_samples"),
                    f"the window never holds {samples} readings",
                    f"write at most {over.count}",
                )
            samples = over.count
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
        parts: SensorParts | None,
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
        comparison: Comparison = chosen[0]  # type: ignore[assignment]  # one of COMPARISONS
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

    def no_data(self, section: Section, parts: SensorParts | None) -> NoData | None:
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

    def expects(self, name: str, parts: SensorParts, each: tuple[str, ...]) -> None:
        """Complain when an expected series cannot be told apart as the rule does."""
        section = parts.section
        for mark, entry in section["expect"] or ():
            lacking = [label for label in each if label not in entry]
            if lacking and all(label in parts.sensor.labels for label in entry):
                self.report.error(
                    mark,
                    f'rule "{name}" also needs to know: {", ".join(lacking)}',
                    f"name it here, or write each: [{', '.join(sorted(entry))}] in the rule",
                )


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
