"""Windows: what a rule, one condition of it, or the other side of a comparison looks at."""

from collections.abc import Iterable
from typing import NamedTuple

from hushd.config.common import Common
from hushd.config.problems import shorten, suggest
from hushd.config.scalars import BAD
from hushd.config.sensors import Named, SensorParts, unknown_label
from hushd.config.table import Section
from hushd.core.aggregation import Aggregator
from hushd.core.rules import Input, Measure, Over
from hushd.plugin.catalog import Catalog

#: the only measure that needs no window: what it gives is the last reading
NO_WINDOW = "last"

Where = tuple[tuple[str, tuple[str, ...]], ...]


class Seen(NamedTuple):
    """A window as far as it could be read."""

    section: Section
    parts: SensorParts | None
    aggregator: Aggregator | None
    over: Over
    input: Input | None  # None: something is wrong, and has been said

    @property
    def unit(self) -> str:
        """Return the unit of its value."""
        if self.aggregator is None:
            return ""
        return self.aggregator.unit.replace("{unit}", self.parts.sensor.unit if self.parts else "")


class Windows:
    """Checks what is watched, and what is measured of it."""

    def __init__(self, common: Common) -> None:
        self.common = common
        self.report = common.report
        self.catalog: Catalog = common.catalog

    def window(self, section: Section, rule: Section) -> Seen:
        """Return the window of a rule, or of a condition of that rule."""
        watch = section["watch"]
        parts = self.sensor(watch, section) if watch else None
        where = self.where(section, parts)
        return self.seen(section, parts, where, [section, rule])

    def other(self, section: Section, beside: Seen, rule: Section) -> Seen:
        """Return the window that another one is compared with."""
        watch = section["watch"]
        parts = self.sensor(watch, section) if watch else beside.parts
        if not section.ok("watch"):
            parts = None
        if "where" in section or (watch and parts is not beside.parts):
            where = self.where(section, parts)
        else:
            where = beside.input.where if beside.input is not None else ()
        seen = self.seen(section, parts, where, [section, beside.section, rule])
        if seen.input is not None and seen.input == beside.input:
            self.report.warn(
                section.mark,
                "both sides are the same window: the difference is always 0",
                "write another sensor, measure or window",
            )
        elif seen.input is not None and beside.input is not None and seen.unit != beside.unit:
            self.report.warn(
                section.place("measure"),
                f'"{seen.unit}" is taken from "{beside.unit}": the units differ',
                "compare like with like",
            )
        return seen

    def seen(
        self,
        section: Section,
        parts: SensorParts | None,
        where: Where,
        holders: list[Section],
    ) -> Seen:
        measure, aggregator = self.measure(section, parts)
        over = self.over(section, aggregator)
        samples, coverage = self.fullness(section, aggregator, over, holders)
        found = None
        if parts is not None and measure is not None and section.ok("over"):
            found = Input(parts.sensor.name, measure, over, where, samples, coverage)
        return Seen(section, parts, aggregator, over, found)

    def sensor(self, watch: str, section: Section) -> SensorParts | None:
        """Return the sensor of that name."""
        known = self.common.named["sensors"]
        self.common.watched.add(watch)
        if watch not in known and "sensors" not in self.common.lost:
            self.report.error(
                section.place("watch"),
                f'unknown sensor "{watch}"',
                *(suggest(watch, known) or ("there are no sensors",)),
            )
        return self.common.parts.get(watch)

    def where(self, section: Section, parts: SensorParts | None) -> Where:
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
        if parts is not None and not aggregator.energy and decibels(parts.sensor.unit):
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
        if section.ok("over") and aggregator is not None and aggregator.name != NO_WINDOW:
            self.report.error(
                section.mark,
                f'"over" is missing: the window of "{aggregator.name}"',
                "write over: 15m or over: 20 samples; only measure: last needs none",
            )
        return Over()

    def fullness(
        self,
        section: Section,
        aggregator: Aggregator | None,
        over: Over,
        holders: Iterable[Section],
    ) -> tuple[int, float]:
        """Return min_samples and min_coverage; the first of *holders* that has one counts."""
        defaults = self.common.defaults
        found: dict[str, float | None] = {"min_samples": None, "min_coverage": None}
        for key in found:
            there = [h for h in (*holders, defaults) if h is not None and key in h]
            found[key] = there[0][key] if there else None
        samples = int(found["min_samples"] or 1)
        coverage = found["min_coverage"]
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


def decibels(unit: str) -> bool:
    """Say whether a unit is dB, dBA, dB(C), dBFS, ..."""
    return unit.strip().lower().startswith("db")
