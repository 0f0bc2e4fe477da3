"""Transitions in plain sentences, for a caretaker who has never read the configuration.

The fact comes first: where, what, how much, and what the limit is.  The lines below it say
since when, how bad it was, and which rule says so.
"""

from dataclasses import replace
from datetime import tzinfo
from typing import NamedTuple

from hushd.core.internal import PREFIX
from hushd.core.reconcile import Kind
from hushd.core.rules import Input, Rule
from hushd.core.transitions import Event, Transition
from hushd.plugin.records import Note
from hushd.runtime.wording import (
    between,
    capital,
    clock_time,
    compared,
    condition,
    listed,
    place,
    quantity,
    span,
    window,
)

SILENCE = "/no-data"  # the alert of a silent sensor is named `<sensor>/no-data`
LONGEST = 200  # characters of a title; what is cut off stands in the text

#: trouble of our own -> what is told when it began, and when it is over
TROUBLES = {
    "broker": ("no connection to the broker", "connected to the broker again"),
    "clock": ("the clock of this machine cannot be trusted", "the clock can be trusted again"),
    "config": ("the configuration on the disk is not sound", "the configuration is sound again"),
    "gap": ("readings are missing ({})", "no more readings were lost ({})"),
    "plugin": ("plugin {} keeps failing and is left out for now", "plugin {} fails no more"),
    "notifier": ("notifier {} cannot tell anybody", "notifier {} works again"),
    "limit": ("limit {} is reached", "limit {} is reached no more"),
    "store": ("what happens is not kept on the disk", "what happens is kept on the disk again"),
}
#: why an alert ended other than by its value -> how that is said
ENDS = {
    "schedule": "ended, monitoring period over",
    "rule_removed": "cleared (rule removed)",
    "no_data_clear": "cleared (nothing is heard any more)",
    "manual": "cleared by hand",
}
#: measures whose name says more than their number would without it
TELLING = ("count", "time", "share", "events")
OVER = frozenset({"cleared", "missed"})


class Current(NamedTuple):
    """How an alert that is on stands now, as far as it is known."""

    value: float | None = None
    peak: float | None = None
    clearing: bool = False  # it is about to be over


def write(
    transition: Transition,
    kind: Kind | Event,
    severity: str | None,
    key: str,
    zone: tzinfo | None,
    *,
    rule: Rule | None = None,
    now: int | None = None,
    current: Current | None = None,
) -> Note:
    """Return what to tell of *transition*.

    Args:
        transition: What happened.
        kind: What is told of it.
        severity: How bad the notifier is to take it for.
        key: The same when the same thing is told again.
        zone: In which times are told.
        rule: Which rule it is of, where that is known: it says what is compared with what.
        now: The time, for what has not ended; None: that of the transition.
        current: How it stands at that time, for a reminder, where that is known.
    """
    what = transition
    if current is not None and current.value is not None and not transition.parts:
        what = replace(transition, value=current.value, peak=current.peak)
    note = _write(what, kind, severity, key, zone, rule, now, fresh=what is not transition)
    return note._replace(record=transition.record())


def _write(
    transition: Transition,
    kind: Kind | Event,
    severity: str | None,
    key: str,
    zone: tzinfo | None,
    rule: Rule | None,
    now: int | None,
    *,
    fresh: bool,
) -> Note:
    if transition.rule.startswith(PREFIX):
        return _of_ourselves(transition, kind, severity, key, zone)
    now = transition.at if now is None else max(now, transition.at)
    if transition.rule.endswith(SILENCE):
        told = _of_silence(transition, kind, severity, zone, now)
    elif transition.parts and kind not in {"no_data", "data_back"}:
        told = _of_conditions(transition, kind, severity, rule, now)
    else:
        told = _of_value(transition, kind, severity, rule, now, fresh=fresh)
    where = place(transition.labels) or capital(transition.rule.removesuffix(SILENCE))
    title = f"{where}: {told}"
    text = "\n".join(_lines(transition, kind, title, zone, fresh=fresh))
    if len(title) > LONGEST:
        title = f"{title[: LONGEST - 1].rstrip()}…"
    return Note(kind, title, text, severity, key, transition.record())


def late(note: Note, happened: int, now: int, zone: tzinfo | None) -> Note:
    """Return *note* as it is told when it could not be told in time; with both times."""
    times = f"It happened at {clock_time(happened, zone)}; told at {clock_time(now, zone)}."
    return note._replace(
        title=f"[late {span(now - happened)}] {note.title}", text=f"{note.text}\n{times}"
    )


def _lines(
    transition: Transition, kind: Kind | Event, title: str, zone: tzinfo | None, *, fresh: bool
) -> list[str]:
    """Return what else there is to say."""
    lines = [title] if len(title) > LONGEST else []
    if transition.about:
        lines.append(transition.about)
    if kind == "flapping":
        lines.append("Nothing more is told of it until it is steady.")
    elif kind == "repeat" and transition.value is not None and not (fresh or transition.parts):
        value = quantity(transition.value, transition.unit)
        lines.append(f"At {clock_time(transition.at, zone)} it was {value}.")
    # a first message has the worst in its title already
    if transition.peak is not None and (kind in OVER or transition.peak != transition.value):
        worst = "Worst" if kind in OVER else "Worst so far"
        lines.append(f"{worst}: {quantity(transition.peak, transition.unit)}.")
    if transition.incomplete:
        lines.append("Some readings are missing in this window: they were lost on the way.")
    if transition.started is not None:
        if kind in OVER:
            lines.append(f"From {between(transition.started, transition.at, zone)}.")
        else:
            lines.append(f"Since {clock_time(transition.started, zone)}.")
    lines.append(f"Rule: {transition.rule}.")
    return lines


def _of_value(
    transition: Transition,
    kind: Kind | Event,
    severity: str | None,
    rule: Rule | None,
    now: int,
    *,
    fresh: bool,
) -> str:
    if kind == "no_data":
        return f"no {transition.sensor} readings"
    if kind == "data_back":
        return f"{transition.sensor} sends again"
    less = None if rule is None else rule.relative_to
    what = _watched(transition, less)
    limit = "" if transition.limit is None else f", limit {quantity(transition.limit)}"
    value = "unknown"
    if transition.value is not None:
        value = compared(transition.value, transition.unit, less)
    if kind in OVER:
        lasted = _lasted(transition, transition.at)
        if kind == "missed":
            return f"{what} was beyond its limit and is well again{lasted}{_worst(transition)}"
        if transition.reason in ENDS:
            return f"{what}: {_ended(transition)}{_worst(transition)}"
        if transition.reason in {"value", "data"} and transition.value is not None:
            return f"{what} is {value}, all well again{lasted}{_worst(transition)}"
        return f"{what}: alert ended{lasted} ({transition.reason.replace('_', ' ')})"
    match kind:
        case "repeat":
            still = value if fresh else "not well"
            return f"{what} is still {still}{_lasted(transition, now)}{limit} ({severity})"
        case "flapping":
            return f"{what} keeps going beyond its limit and back{limit} ({severity})"
        case "steady":
            state = "all well" if severity is None else severity
            return f"{what} is steady again: {value}{limit} ({state})"
    again = {"raised_again": " again", "escalated": " worse:", "lowered": " better:"}.get(kind, "")
    return f"{what} is{again} {value}{limit} ({severity})"


def _of_conditions(
    transition: Transition, kind: Kind | Event, severity: str | None, rule: Rule | None, now: int
) -> str:
    """Say what each condition of several said."""
    leaves = rule.leaves if rule is not None else ()
    less = [leaf.less for leaf in leaves] if len(leaves) == len(transition.parts) else []
    less = less or [None] * len(transition.parts)
    said = [
        condition(part, other)
        for part, other in zip(transition.parts, less, strict=True)
        if part.holds or kind in OVER or severity is None
    ]
    facts = listed(said or [condition(part) for part in transition.parts])
    if kind in OVER:
        lasted = _lasted(transition, transition.at)
        if kind == "missed":
            return f"{transition.rule} was on and is well again{lasted}; now {facts}"
        if transition.reason in ENDS:
            return f"{transition.rule}: {_ended(transition)}"
        return f"all well again{lasted}: {facts}"
    match kind:
        case "repeat":
            return f"still not well{_lasted(transition, now)}: {facts}, {severity}"
        case "flapping":
            return f"{transition.rule} keeps coming and going: {facts}, {severity}"
        case "steady":
            return f"steady again: {facts}, {severity or 'all well'}"
    again = {"raised_again": "again: ", "escalated": "worse: ", "lowered": "better: "}.get(kind, "")
    return f"{again}{facts}, {severity}"


def _of_silence(
    transition: Transition, kind: Kind | Event, severity: str | None, zone: tzinfo | None, now: int
) -> str:
    sensor = transition.rule.removesuffix(SILENCE)
    if kind in OVER:
        lasted = _lasted(transition, transition.at)
        if transition.reason in ENDS:
            return f"{sensor} readings: {_ended(transition)}"
        return f"{sensor} {'was silent and ' if kind == 'missed' else ''}sends again{lasted}"
    if kind == "flapping":
        return f"{sensor} keeps falling silent ({severity})"
    since = transition.at if transition.started is None else transition.started
    still = f"still no {sensor} readings{_lasted(transition, now)}" if kind == "repeat" else ""
    return f"{still or f'no {sensor} readings'}, noticed {clock_time(since, zone)} ({severity})"


def _of_ourselves(
    transition: Transition, kind: Kind | Event, severity: str | None, key: str, zone: tzinfo | None
) -> Note:
    """Return what to tell of a trouble of our own; its reason is in `about`."""
    which = " ".join(value for _, value in transition.labels)
    trouble = transition.rule.removeprefix(PREFIX)
    began, over = TROUBLES.get(trouble, (f"{trouble} {{}}", f"{trouble} {{}} is well again"))
    since = transition.at if transition.started is None else transition.started
    if kind in OVER:
        told = f"{over.format(which)} after {span(transition.at - since)}"
    else:
        told = f"{began.format(which)} ({severity})"
    lines = [f"{transition.about}."] if transition.about else []
    lines += [f"Since {clock_time(since, zone)}.", f"Rule: {transition.rule}."]
    return Note(kind, f"Hushd: {told}", "\n".join(lines), severity, key, transition.record())


def _watched(transition: Transition, less: Input | None) -> str:
    """Return what was looked at; how it was measured only where that tells people something."""
    measure = transition.measure
    if less is None and not measure.strip("{").startswith(TELLING):
        measure = "last"
    return window(transition.sensor, measure, transition.over)


def _lasted(transition: Transition, until: int) -> str:
    if transition.started is None:
        return ""
    return f" after {span(until - transition.started)}"


def _ended(transition: Transition) -> str:
    """Say why it ended, though it is not known to be well."""
    lasted = ""
    if transition.started is not None:
        lasted = f"; it lasted {span(transition.at - transition.started)}"
    return f"{ENDS[transition.reason]}{lasted}"


def _worst(transition: Transition) -> str:
    if transition.peak is None:
        return ""
    return f" (worst {quantity(transition.peak, transition.unit)})"
