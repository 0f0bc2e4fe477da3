"""Rules as plain sentences, for whoever must live with them."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from hushd.cli.phrases import (
    article,
    back,
    beyond,
    counted,
    every,
    limits,
    listed,
    measured,
    number,
    one,
    span,
    unit_of,
)
from hushd.cli.spells import TURNS, Almanac, zone_of
from hushd.config.records import Config
from hushd.core.hours import hours_of
from hushd.core.rules import SEVERITIES, Input, Notify, Rule, Severity
from hushd.core.silences import FLOOR, patience

FEW = 5  # names of what is expected
USUAL = 0.5  # the coverage that nobody need write


class Line(NamedTuple):
    """A paragraph, or one item of a list."""

    text: str
    item: bool = False


class Writer:
    """Writes of the rules of one configuration as of one instant."""

    def __init__(self, config: Config, almanac: Almanac) -> None:
        self.config = config
        self.almanac = almanac
        self.sensors = {sensor.name: sensor for sensor in config.rules.sensors}
        self.eaches = {rule.name: rule.each for rule in (*config.rules.rules, *config.resting)}

    def rule(self, rule: Rule) -> Iterator[Line]:
        """Yield what a rule does, without its name."""
        if rule in self.config.resting:
            yield Line("It is switched off (enabled: false) and does nothing. Switched on:")
        if rule.about:
            yield Line(rule.about)
        yield from self.judged(rule)
        yield Line(" ".join([*self.fullness(rule), *self.silence(rule), *self.manner(rule)]))
        yield Line(told(rule.notify))

    # -- what is judged ----------------------------------------------------------------

    def judged(self, rule: Rule) -> Iterator[Line]:
        """Yield for whom, when, and by which limits."""
        lead = [self.whose(rule)] if self.whose(rule) else []
        if rule.during is not None:
            when, turn = self.almanac.during(rule.during), self.almanac.turn(rule.during)
            lead.append(f"{when} ({turn})")
        if rule.leaves:
            (limit,) = rule.limits
            wait = f" for {span(limit.wait)}" if limit.wait else ""
            end = f" for {span(limit.clear_wait)}" if limit.clear_wait else ""
            some = "all of these hold" if rule.join == "all" else "any of these holds"
            over = "not all of them do" if rule.join == "all" else "none of them does"
            lead.append(f"{limit.severity} raised when {some}{wait}, cleared when {over}{end}:")
            yield Line(_begun(", ".join(lead)))
            for leaf in rule.leaves:
                what, unit = self.measure(rule, leaf.input, leaf.less)
                few = _few(leaf.input, self.always(leaf.input))
                once = f" (once {listed(few)})" if few else ""
                text = f"{what} {beyond(leaf.limit, unit)}, until {back(leaf.limit, unit)}{once}"
                yield Line(text, item=True)
            return
        what, unit = self.measure(rule, rule.inputs[0], rule.relative_to)
        lead.append(what.rstrip(","))
        if not rule.regimes:
            yield Line(f"{_begun(', '.join(lead))}: {limits(rule.limits, unit)}.")
            return
        yield Line(f"{_begun(', '.join(lead))}, by the first of these that is on:")
        for regime in rule.regimes:
            when = "otherwise"
            if regime.during is not None:
                when = f"{regime.during}, {self.almanac.during(regime.during)}"
            yield Line(f"{when}: {limits(regime.limits, unit)}", item=True)
        yield Line(self.turns(rule))

    def whose(self, rule: Rule) -> str:
        """Return whose alerts there are: ``for each room where floor is 1 or 2``."""
        labels = {label for name in rule.sensors for label in self.sensors[name].labels}
        where = rule.inputs[0].where if _alike(rule) else ()
        if len(rule.each) == 1 and (values := dict(where).get(rule.each[0])):
            where = tuple(pair for pair in where if pair[0] != rule.each[0])
            words = f"for {'each of ' if values[1:] else ''}{rule.each[0]} {listed(values)}"
        elif rule.each:
            words = f"for each {listed(rule.each)}"
        else:
            words = "for all together" if labels else ""
        return f"{words}{_where(where)}".strip()

    def measure(self, rule: Rule, window: Input, less: Input | None) -> tuple[str, str]:
        """Return what is measured, in words, and its unit."""
        what = self.window(rule, window)
        if less is not None:
            what += f", less {self.window(rule, less)},"
        return what, unit_of(window, self.config.catalog, self.sensors[window.sensor].unit)

    def window(self, rule: Rule, window: Input) -> str:
        """Return what is measured in one window: of which readings, where there is a choice."""
        of = f" of {window.sensor}" if rule.leaves or len(rule.sensors) > 1 else ""
        if not _alike(rule):
            of += _where(window.where)
        return measured(window, self.config.catalog, self.sensors[window.sensor].unit, of)

    def turns(self, rule: Rule) -> str:
        """Return which limits count now, and which will after the next changes."""
        hours = hours_of(rule, self.almanac.calendar)
        assert hours is not None  # noqa: S101  a rule with limits by schedule has some
        named = [str(regime.during or "otherwise") for regime in rule.regimes]
        zones = [r.during.schedule for r in rule.regimes if r.during is not None]
        zones += [rule.during.schedule] if rule.during is not None else []
        zone = zone_of(self.almanac.named[zones[0]]) if zones else "UTC"
        at, regime = self.almanac.at, hours.regime(self.almanac.at)
        words = [f"Now ({zone}): {_which(named, regime)}"]
        for _ in range(20):
            at = hours.until(at)
            if hours.regime(at) != regime:
                regime = hours.regime(at)
                words.append(f"from {self.almanac.instant(at, zone)}: {_which(named, regime)}")
            if len(words) > TURNS:
                break
        return "; ".join(words) + "."

    def fullness(self, rule: Rule) -> Iterator[str]:
        """Yield when a window is full enough, where that is not as usual."""
        if not rule.leaves:
            few = [_few(window, self.always(window)) for window in rule.inputs]
            if found := list(dict.fromkeys(word for words in few for word in words)):
                yield f"Judged once {listed(found)}."
        if rule.fresh_window and rule.regimes:
            yield "What was heard under other limits, or none, does not count."
        elif rule.fresh_window and rule.during:
            start = self.almanac.start(rule.during)
            yield f"Only what was heard since {start or 'then'} counts."

    def always(self, window: Input) -> bool:
        """Say whether a window is judged however full it is."""
        return self.config.catalog.aggregators[window.measure.name].always

    # -- who hears of it ---------------------------------------------------------------

    def silence(self, rule: Rule) -> Iterator[str]:
        """Yield what it means that nothing is heard."""
        silent = rule.no_data
        if silent is None:
            yield "Silence of the sensor means nothing."
            return
        one = "nothing is heard"
        if rule.each:
            which = article(rule.each[0]) if len(rule.each) == 1 else "one of them"
            one = f"{which} is silent"
        intervals = [self.sensors[name].interval for name in rule.sensors]
        after = silent.after
        usual = {None if interval is None else patience(interval) for interval in intervals}
        if after is None and len(usual) == 1:
            after = usual.pop()
        long = (
            f"for {span(after)}"
            if after is not None
            else f"for three times its usual pause, and at least {span(FLOOR)}"
        )
        names = _hearing(rule.notify, silent.severity) if silent.notify is None else silent.notify
        whom = f"to {listed(names)}" if names else "to nobody"
        ends = ", and its alert ends" if silent.level == "clear" else ""
        yield f"If {one} {long}: no-data ({silent.severity}) {whom}{ends}."
        known = silent.after is not None or all(interval is not None for interval in intervals)
        if known and (expected := self.expected(rule)):
            more = [f"{len(expected) - FEW} more"] if len(expected) > FEW else []
            yield f"Also if never heard at all: {listed([*expected[:FEW], *more])}."

    def expected(self, rule: Rule) -> list[str]:
        """Return whose silence is told from the start, by the labels that tell alerts apart."""
        found = [
            [f"{label} {pairs[label]}" for label in rule.each]
            for window in rule.inputs
            for pairs in map(dict, self.sensors[window.sensor].expect)
            if all(label not in pairs or pairs[label] in values for label, values in window.where)
        ]
        return list(dict.fromkeys(" ".join(words) for words in found if words))

    def manner(self, rule: Rule) -> Iterator[str]:
        """Yield how often people are told, and when rather not."""
        if rule.repeat:
            *first, last = rule.repeat
            pauses = ", ".join(span(pause) for pause in first)
            yield (
                f"Repeats after {pauses}, then {every(last)}."
                if first
                else (f"Repeats {every(last)}.")
            )
        if rule.cooldown:
            yield (
                f"For {span(rule.cooldown)} after people heard that it is over, a new one waits"
                " unless it is worse."
            )
        if rule.flapping is not None:
            yield (
                f"If it changes more than {rule.flapping.changes} times within"
                f" {span(rule.flapping.within)}, that is told once, and then nothing until it"
                " is steady."
            )
        for other in rule.mute_while:
            same = self.eaches.get(other, ())
            whose = f" for the same {listed(same)}" if same else ""
            yield f"While {other} is on{whose}, messages of this rule wait."

    # -- notifiers ---------------------------------------------------------------------

    def notifier(self, name: str) -> str:
        """Return how a notifier wants to be told."""
        notifier = self.config.notifiers[name]
        manner = notifier.manner
        words = []
        if manner.every:
            words.append("hears every change in order")
        if manner.quiet is not None:
            when, turn = self.almanac.during(manner.quiet), self.almanac.turn(manner.quiet)
            but = ""
            if manner.quiet_except is not None:
                but = f" but for {_up(manner.quiet_except)}"
            after = ", and hears afterwards what came and went" if manner.quiet_summary else ""
            words.append(f"quiet {when} ({turn}){but}{after}")
        if not manner.clears:
            words.append("does not hear that something is over")
        if manner.rate is not None:
            words.append(
                f"at most {counted(manner.rate.number, 'message')} in {span(manner.rate.span)}"
            )
        if manner.batch:
            words.append(f"what comes within {span(manner.batch)} is one message")
        if manner.refresh:
            words.append(f"is told {every(manner.refresh)} what is still on")
        if manner.fallback is not None:
            words.append(
                f"what cannot be told for {span(manner.give_up_after)} goes to {manner.fallback}"
            )
        return f"{name} ({notifier.type.name}): {'; '.join(words) or 'told at any time'}."

    def hearers(self, rules: Iterable[Rule]) -> list[str]:
        """Return the notifiers that hear of *rules*, or stand in for one that does."""
        found: list[str] = []
        for rule in rules:
            found += [name for _, names in rule.notify for name in names]
            if rule.no_data is not None and rule.no_data.notify is not None:
                found += rule.no_data.notify
        for name in found:  # it grows: a fallback may have one, and a circle is an error
            fallback = self.config.notifiers[name].manner.fallback
            if fallback is not None and fallback not in found:
                found.append(fallback)
        return list(dict.fromkeys(found))

    def schedules(self, rules: Iterable[Rule], hearers: Iterable[str]) -> Iterator[str]:
        """Yield the schedules of rules and notifiers, and when each next begins or ends."""
        during = [self.config.notifiers[name].manner.quiet for name in hearers]
        for rule in rules:
            during += [rule.during, *(regime.during for regime in rule.regimes)]
        used = {found.schedule for found in during if found is not None}
        for schedule in self.config.rules.schedules:
            if schedule.name in used:
                zone = zone_of(schedule)
                yield f"{schedule.name} ({zone}): {self.almanac.ahead(schedule)}."


def told(notify: Notify) -> str:
    """Return who is told of which severities.

    >>> told((("warning", ("desk", "mail")), ("critical", ("phone",))))
    'Told to desk and mail from warning up, and to phone if critical.'
    """
    some = [(severity, names) for severity, names in notify if names]
    if not some:
        return "Told to nobody: it stands in the journal alone."
    if len(some) == 1 and some[0][0] == SEVERITIES[0]:
        return f"Told to {listed(some[0][1])}."
    parts = [f"to {listed(names)} {_from(severity)}" for severity, names in some]
    return f"Told {', and '.join(parts) if len(parts) < 3 else listed(parts)}."


def _from(severity: Severity) -> str:
    return f"if {severity}" if severity == SEVERITIES[-1] else f"from {severity} up"


def _up(severity: Severity) -> str:
    return severity if severity == SEVERITIES[-1] else f"{severity} and worse"


def _hearing(notify: Notify, severity: Severity) -> tuple[str, ...]:
    """Return who hears of something of that severity."""
    rank = SEVERITIES.index(severity)
    names = (x for mildest, found in notify if SEVERITIES.index(mildest) <= rank for x in found)
    return tuple(dict.fromkeys(names))


def _few(window: Input, always: bool) -> list[str]:
    """Return what a window must hold to be judged, where it is not as usual."""
    out = []
    if window.over.span is not None and not always and window.min_coverage != USUAL:
        share = number(round(window.min_coverage * 100, 6))
        covered = f"readings cover {share} % of the last {one(window.over.span)}"
        out.append(covered if window.min_coverage else "there is one reading")
    if window.over.count is None and not always and window.min_samples > 1:
        out.append(f"there are {window.min_samples} readings")
    return out


def _alike(rule: Rule) -> bool:
    """Say whether all windows let in the same series."""
    return len({window.where for window in rule.inputs}) == 1


def _where(where: tuple[tuple[str, tuple[str, ...]], ...]) -> str:
    conditions = [f"{label} is {listed(values, 'or')}" for label, values in where]
    return f" where {listed(conditions)}" if conditions else ""


def _which(named: list[str], regime: int | None) -> str:
    return "none" if regime is None else named[regime]


def _begun(text: str) -> str:
    """Return a sentence with a capital letter."""
    return text[:1].upper() + text[1:]
