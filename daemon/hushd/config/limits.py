"""Limits: one comparison each, a ``clear`` on its quiet side, and the worse the harder."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from hushd.config.common import Common
from hushd.config.language.rules import COMPARISONS
from hushd.config.problems import Mark
from hushd.config.scalars import Seconds
from hushd.config.table import Section
from hushd.config.windows import NO_WINDOW, Seen
from hushd.core.rules import (
    SEVERITIES,
    Bound,
    Comparison,
    During,
    Leaf,
    Limit,
    Regime,
    Severity,
)
from hushd.core.times import UNITS

_MINUTE = UNITS["m"]


class LimitBook:
    """Checks the limits of rules, of their schedules and of their conditions."""

    def __init__(self, common: Common) -> None:
        self.common = common
        self.report = common.report

    def of(self, section: Section, rule: Section, seen: Seen) -> tuple[Limit, ...]:
        """Return the limits that stand in *section*, mildest first."""
        out: list[tuple[Mark, Limit]] = []
        for severity in SEVERITIES:
            if section[severity] is None:
                continue
            inner: Section = section[severity]
            waits = {
                key: (inner[key] if key in inner else self.common.pick(rule, key)) or 0
                for key in ("for", "clear_for")
            }
            limit = self.limit(severity, inner, waits, seen)
            if limit is not None:
                out.append((inner.mark, limit))
                self.advise(inner.mark, limit, seen, any(waits.values()))
        for (_, mild), (mark, severe) in pairwise(out):
            if not _within(severe, mild):
                self.report.warn(
                    mark,
                    f"{severe.severity} is reached where {mild.severity} is not",
                    f"make {severe.severity} the harder one to reach",
                )
        return tuple(limit for _, limit in out)

    def regimes(self, rule: Section, seen: Seen) -> tuple[Regime, ...]:
        """Return the limits by schedule, in their order."""
        out: list[Regime] = []
        before: list[During | None] = []
        for _, section in rule["limits"] or ():
            limits = self.of(section, rule, seen)
            if not section.ok("during"):
                continue
            mark = section.place("during")
            during = self.common.schedules.during(
                section["during"], mark, "these limits never count"
            )
            known = during is not None or not isinstance(section["during"], During)
            if known and self.common.schedules.covered(during, before):
                self.report.warn(
                    mark,
                    "these limits never count: one above them always does",
                    "the first whose schedule is on counts alone; put the rarer ones first",
                )
            if known:
                before.append(during)
                out.append(Regime(during, limits))
        return tuple(out)

    def leaf(
        self, severity: Severity, section: Section, rule: Section, seen: Seen, less: Seen | None
    ) -> Leaf | None:
        """Return one condition of several."""
        limit = self.limit(severity, section, {}, seen)
        if limit is None or seen.input is None or (less is not None and less.input is None):
            return None
        waits = [self.common.pick(rule, key) for key in ("for", "clear_for")]
        self.advise(section.mark, limit, seen, any(waits))
        return Leaf(seen.input, limit, less.input if less is not None else None)

    def limit(
        self, severity: Severity, inner: Section, waits: Mapping[str, int], seen: Seen
    ) -> Limit | None:
        """Return one limit."""
        seconds = seen.aggregator is None or seen.unit == "s"
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
        return Limit(
            severity, comparison, bound, clear, waits.get("for", 0), waits.get("clear_for", 0)
        )

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

    def advise(self, mark: Mark, limit: Limit, seen: Seen, patient: bool) -> None:
        """Say when nothing keeps an alert from flapping."""
        over = seen.over
        has_window = over.span is not None or seen.section["measure"] == NO_WINDOW
        brief = over.count is None and (over.span or 0) < _MINUTE and has_window
        if brief and limit.clear is None and not patient:
            self.report.warn(
                mark,
                "a value that hovers at the limit will raise and clear this again and again",
                'add "clear" or "for", or a window of a minute or more',
            )


def _bound(value: Any) -> Bound:
    if isinstance(value, tuple):
        return (float(value[0]), float(value[1]))
    return float(value)


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
