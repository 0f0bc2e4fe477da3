"""Rules: what is watched, when it is judged and by which limits, and who hears of it."""

from collections.abc import Iterable, Mapping

from hushd.config.common import Common
from hushd.config.limits import LimitBook
from hushd.config.problems import Mark
from hushd.config.records import Message
from hushd.config.scalars import BAD
from hushd.config.sensors import SensorParts, unknown_label
from hushd.config.table import Section
from hushd.config.telling import Telling
from hushd.config.windows import Seen, Where, Windows
from hushd.core.rules import During, Input, Leaf, Limit, Measure, Over, Regime, Rule, Severity
from hushd.core.times import format_duration

_GAP = "only 3 gaps between readings teach an interval, and until then nothing is said of silence"


class RuleBook:
    """Checks the sections ``defaults`` and ``rules``."""

    def __init__(self, common: Common) -> None:
        self.common = common
        self.report = common.report
        self.windows = Windows(common)
        self.limits = LimitBook(common)
        self.telling = Telling(common)
        self.silent: dict[str, list[str]] = {}  # sensor -> rules that cannot tell its silence
        self.messages: dict[str, Message] = {}
        self.resting: list[Rule] = []  # those with `enabled: false`
        self.eaches: dict[str, tuple[str, ...]] = {}
        self.seen: dict[str, list[Seen]] = {}  # sensor -> what looks at it
        self.usual: During | None = None  # `defaults.during`

    def compile(self) -> list[Rule]:
        out: list[Rule] = []
        rules = self.common.named["rules"]
        if not rules and not self.report.wrong:
            self.report.warn(self.common.main.mark, "there are no rules: nothing will be told")
        defaults = self.common.defaults
        if defaults is not None:
            self.telling.notify(defaults)
            self.telling.no_data(defaults, ())
            self.usual = self.during(defaults)
            self.telling.look_at_words(defaults)
        for name, (mark, section) in rules.items():
            if section is BAD:
                continue
            rule = self.rule(name, mark, section)
            if rule is not None:
                (self.resting if section["enabled"] is False else out).append(rule)
        self.telling.look_at_mutes(self.eaches)
        self.look_for_never_missed()
        self.look_for_never_let_in()
        return out

    def rule(self, name: str, mark: Mark, section: Section) -> Rule | None:
        join = next((key for key in ("all", "any") if key in section), "")
        severity: Severity = section["severity"] or "warning"
        leaves: list[Leaf | None] = []
        others: list[Seen] = []
        if join:
            seen = []
            for _, part in section[join] or ():
                window, less = self.pair(part, section)
                seen.append(window)
                others += [less] if less is not None else []
                leaves.append(self.limits.leaf(severity, part, section, window, less))
        else:
            own, less = self.pair(section, section)
            seen, others = [own], [less] if less is not None else []
        each = self.each(section, seen, others)
        limits: tuple[Limit, ...] = ()
        regimes: tuple[Regime, ...] = ()
        if not join:
            limits = self.limits.of(section, section, seen[0])
            regimes = self.limits.regimes(section, seen[0])
        watched = [window.parts for window in (*seen, *others) if window.parts is not None]
        watched = list({parts.sensor.name: parts for parts in watched}.values())
        self.same_lateness(seen, others)
        no_data = self.telling.no_data(self.common.holder(section, "no_data"), watched)
        notify = self.telling.notify(section)
        if not ("notify" in section or (self.common.defaults and "notify" in self.common.defaults)):
            self.report.error(
                mark,
                "nobody is told",
                "add notify: [...] here or under defaults; [] is for the journal only",
            )
        for parts in watched:
            self.expects(name, parts, each)
            if no_data is not None and no_data.after is None:
                self.silent.setdefault(parts.sensor.name, []).append(name)
        for window in (*seen, *others):
            if window.input is not None:
                self.seen.setdefault(window.input.sensor, []).append(window)
        reached = [limit.severity for limit in limits]
        reached += [limit.severity for regime in regimes for limit in regime.limits]
        reached += [severity] if join else []
        self.telling.unheard(section, reached, no_data, notify)
        during = self.during(section)
        self.look_at_fresh(section, during)
        mutes = self.telling.mutes(name, section)
        self.messages[name] = self.telling.message(name, section, each)
        waits = [self.common.pick(section, key) or 0 for key in ("for", "clear_for")]
        if any(window.input is None for window in (*seen, *others)) or not seen:
            return None
        self.eaches[name] = each
        first = seen[0].input
        if first is None or not reached or any(leaf is None for leaf in leaves):
            return None
        if join:
            limits = (Limit(severity, "at_least", 1.0, None, *waits),)
            first = Input(first.sensor, Measure(join), Over())
        return Rule(
            name=name,
            sensor=first.sensor,
            each=each,
            measure=first.measure,
            over=first.over,
            limits=limits,
            where=first.where,
            about=section["about"] or "",
            min_samples=first.min_samples,
            min_coverage=first.min_coverage,
            no_data=no_data,
            notify=notify,
            during=during,
            fresh_window=bool(self.common.pick(section, "fresh_window")),
            regimes=regimes,
            relative_to=others[0].input if others and not join else None,
            join=join,  # type: ignore[arg-type]  # one of the three it may be
            leaves=tuple(leaf for leaf in leaves if leaf is not None),
            repeat=self.telling.repeat(section),
            cooldown=self.common.pick(section, "cooldown") or 0,
            flapping=self.telling.flapping(section),
            mute_while=mutes,
        )

    def pair(self, section: Section, rule: Section) -> tuple[Seen, Seen | None]:
        """Return a window and, where there is one, the other that it is compared with."""
        seen = self.windows.window(section, rule)
        other: Section | None = section["relative_to"]
        return seen, self.windows.other(other, seen, rule) if other is not None else None

    def during(self, section: Section) -> During | None:
        """Return when a rule judges; None: always."""
        found = self.usual
        if "during" in section:
            found = self.common.schedules.during(
                section["during"], section.place("during"), "this rule never judges"
            )
        return found

    def look_at_fresh(self, section: Section, during: During | None) -> None:
        """Say when a window is to be emptied, and never is."""
        begins = during is not None or section["limits"] or isinstance(section["during"], During)
        if section["fresh_window"] and not begins and section.ok("during", "limits"):
            self.report.warn(
                section.place("fresh_window"),
                "no effect: this rule has no schedule that begins",
                "add during: the name of a schedule",
            )

    def each(
        self, section: Section, seen: Iterable[Seen], others: Iterable[Seen]
    ) -> tuple[str, ...]:
        """Return the labels that separate alerts: each sensor must have them."""
        own = [window for window in seen if window.parts is not None]
        shared = _shared(own)
        out: set[str] = set()
        if "each" in section:
            every = {label for window in own for label in _labels(window)}
            for mark, label in section["each"] or ():
                if label in out:
                    self.report.error(mark, f'"{label}" stands here twice', "keep one of the two")
                elif label in every - shared:
                    self.lacks(mark, label, own)
                elif own and label not in shared:
                    unknown_label(self.report, label, mark, shared)
                elif own:
                    out.add(label)
        else:
            out = shared
            if len(own) > 1 and not shared and all(_labels(window) for window in own):
                self.report.warn(
                    section.mark,
                    "the sensors share no label: this is one alert for all there is",
                    "write each: [] if that is meant",
                )
        for window in others:
            lacking = sorted(out - _labels(window)) if window.parts is not None else []
            if lacking:
                self.lacks(window.section.place("watch"), lacking[0], [window])
        return tuple(sorted(out))

    def lacks(self, mark: Mark, label: str, windows: Iterable[Seen]) -> None:
        """Complain of a label that separates alerts, but not the readings of a sensor."""
        names = sorted(
            {x.parts.sensor.name for x in windows if x.parts and label not in _labels(x)}
        )
        self.report.error(
            mark,
            f'{", ".join(names)} has no label "{label}"',
            "each may only hold labels that all sensors of the rule have",
        )

    def same_lateness(self, seen: Iterable[Seen], others: Iterable[Seen]) -> None:
        """Complain when one sensor of a rule is judged later than another."""
        first: SensorParts | None = None
        for window in (*seen, *others):
            parts = window.parts
            first = first or parts
            if first is None or parts is None or parts.sensor.lateness == first.sensor.lateness:
                continue
            self.report.error(
                window.section.place("watch"),
                f"lateness of {parts.sensor.name} is {format_duration(parts.sensor.lateness)}, "
                f"that of {first.sensor.name} {format_duration(first.sensor.lateness)}",
                "give all sensors of one rule the same lateness",
            )
            return

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

    def look_for_never_missed(self) -> None:
        """Say when a series that never speaks is not missed."""
        for sensor, rules in self.silent.items():
            section = self.common.parts[sensor].section
            if section["expect"] and not section["interval"]:
                names = ", ".join(rules)
                self.report.warn(
                    section.place("expect"),
                    f"a series that never speaks is not missed by: {names}",
                    f"add interval here, or no_data: {{after: ...}} there: {_GAP}",
                )

    def look_for_never_let_in(self) -> None:
        """Say when a series must exist, and no rule looks at it."""
        for sensor, windows in self.seen.items():
            parts = self.common.parts[sensor]
            wheres = [window.input.where for window in windows if window.input is not None]
            for (mark, _), labels in zip(
                parts.section["expect"] or (), parts.sensor.expect, strict=False
            ):
                if not any(_lets_in(where, dict(labels)) for where in wheres):
                    self.report.warn(
                        mark,
                        "every rule leaves this series out: it is not missed",
                        "look at their where, or take it out here",
                    )


def _labels(window: Seen) -> set[str]:
    return set(window.parts.sensor.labels) if window.parts is not None else set()


def _shared(windows: Iterable[Seen]) -> set[str]:
    """Return the labels that all have."""
    sets = [_labels(window) for window in windows]
    return set.intersection(*sets) if sets else set()


def _lets_in(where: Where, labels: Mapping[str, str]) -> bool:
    """Say whether a series of these *labels*, perhaps not all it has, may be let in."""
    return all(label not in labels or labels[label] in values for label, values in where)
