"""Transitions in plain sentences, for a caretaker who has never read the configuration."""

from datetime import UTC, datetime, tzinfo

from hushd.core.internal import PREFIX
from hushd.core.readings import SECOND, Labels
from hushd.core.reconcile import Kind
from hushd.core.transitions import Event, Transition
from hushd.plugin.records import Note

SILENCE = "/no-data"  # the alert of a silent sensor is named `<sensor>/no-data`

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


def write(
    transition: Transition, kind: Kind | Event, severity: str | None, key: str, zone: tzinfo | None
) -> Note:
    """Return what to tell of *transition*; times are told in *zone*."""
    if transition.rule.startswith(PREFIX):
        return _of_ourselves(transition, kind, severity, key, zone)
    if transition.rule.endswith(SILENCE):
        told = _of_silence(transition, kind, severity, zone)
    else:
        told = _of_value(transition, kind, severity)
    where = place(transition.labels) or _capital(transition.rule.removesuffix(SILENCE))
    title = f"{where}: {told}"
    lines = [transition.about] if transition.about else []
    if transition.peak is not None:
        lines.append(f"Worst so far: {quantity(transition.peak, transition.unit)}.")
    if transition.incomplete:
        lines.append("Some readings are missing in this window: they were lost on the way.")
    if transition.started is not None:
        lines.append(f"Since {clock_time(transition.started, zone)}.")
    lines.append(f"Rule: {transition.rule}.")
    return Note(kind, title, "\n".join(lines), severity, key, transition.record())


def late(note: Note, happened: int, now: int, zone: tzinfo | None) -> Note:
    """Return *note* as it is told when it could not be told in time; with both times."""
    times = f"It happened at {clock_time(happened, zone)}; told at {clock_time(now, zone)}."
    return note._replace(
        title=f"[late {span(now - happened)}] {note.title}", text=f"{note.text}\n{times}"
    )


def place(labels: Labels) -> str:
    """Return where it is.

    >>> place((("floor", "1"), ("room", "101")))
    'Floor 1, room 101'
    """
    return _capital(", ".join(f"{name} {value}" for name, value in labels))


def quantity(value: float, unit: str) -> str:
    """Return *value* as people say it: three figures, or one decimal.

    >>> quantity(72.3167, "dBA"), quantity(0.04217, "mm/s"), quantity(1204.0, "ppm")
    ('72.3 dBA', '0.0422 mm/s', '1204 ppm')
    """
    number = f"{value:.3g}" if abs(value) < 10 else f"{value:.1f}".removesuffix(".0")
    return f"{number} {unit}".rstrip()


def clock_time(at: int, zone: tzinfo | None) -> str:
    """Return the date and the minute in *zone*, or in UTC and saying so."""
    moment = datetime.fromtimestamp(at // SECOND, zone or UTC)
    return f"{moment:%Y-%m-%d %H:%M}" + ("" if zone else " UTC")


def span(length: int) -> str:
    """Return a length of time in its two largest units.

    >>> span(754 * SECOND), span(40 * SECOND), span(2 * 86400 * SECOND)
    ('12m 34s', '40s', '2d')
    """
    seconds = round(length / SECOND)
    parts: list[str] = []
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        number, seconds = divmod(seconds, size)
        if number or parts:
            parts.append(f"{number}{unit}")
    return " ".join(part for part in parts[:2] if part[0] != "0") or "0s"


def _of_value(transition: Transition, kind: Kind | Event, severity: str | None) -> str:
    if kind == "no_data":
        return f"no {transition.sensor} readings"
    if kind == "data_back":
        return f"{transition.sensor} sends again"
    what = transition.sensor + (f" over {transition.over}" if transition.over else "")
    lasted = ""
    if transition.started is not None:
        lasted = f" after {span(transition.at - transition.started)}"
    if kind == "missed":
        return f"{what} was too much and is well again{lasted}{_worst(transition)}"
    if kind == "cleared":
        if transition.reason in {"value", "data"} and transition.value is not None:
            value = quantity(transition.value, transition.unit)
            return f"{what} is {value}, all well again{lasted}{_worst(transition)}"
        return f"{what}: alert ended{lasted} ({transition.reason.replace('_', ' ')})"
    value = "unknown" if transition.value is None else quantity(transition.value, transition.unit)
    limit = "" if transition.limit is None else f", limit {transition.limit:g}"
    again = {"raised_again": " again", "escalated": " worse:", "lowered": " better:"}.get(kind, "")
    return f"{what} is{again} {value}{limit} ({severity})"


def _of_silence(
    transition: Transition, kind: Kind | Event, severity: str | None, zone: tzinfo | None
) -> str:
    sensor = transition.rule.removesuffix(SILENCE)
    if kind == "cleared":
        return f"{sensor} sends again"
    if kind == "missed":
        return f"{sensor} was silent and sends again"
    since = transition.at if transition.started is None else transition.started
    return f"no {sensor} readings, noticed {clock_time(since, zone)} ({severity})"


def _of_ourselves(
    transition: Transition, kind: Kind | Event, severity: str | None, key: str, zone: tzinfo | None
) -> Note:
    """Return what to tell of a trouble of our own; its reason is in `about`."""
    which = " ".join(value for _, value in transition.labels)
    trouble = transition.rule.removeprefix(PREFIX)
    began, over = TROUBLES.get(trouble, (f"{trouble} {{}}", f"{trouble} {{}} is well again"))
    since = transition.at if transition.started is None else transition.started
    if kind in {"cleared", "missed"}:
        told = f"{over.format(which)} after {span(transition.at - since)}"
    else:
        told = f"{began.format(which)} ({severity})"
    lines = [f"{transition.about}."] if transition.about else []
    lines += [f"Since {clock_time(since, zone)}.", f"Rule: {transition.rule}."]
    return Note(kind, f"Hushd: {told}", "\n".join(lines), severity, key, transition.record())


def _worst(transition: Transition) -> str:
    if transition.peak is None:
        return ""
    return f" (worst {quantity(transition.peak, transition.unit)})"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
