"""Places, quantities, times and conditions, as people say them."""

from datetime import UTC, datetime, tzinfo

from hushd.core.places import over_text
from hushd.core.readings import SECOND, Labels
from hushd.core.rules import Input
from hushd.core.transitions import Part


def place(labels: Labels) -> str:
    """Return where it is.

    >>> place((("floor", "1"), ("room", "101")))
    'Floor 1, room 101'
    """
    return capital(", ".join(f"{name} {value}" for name, value in labels))


def quantity(value: float, unit: str = "") -> str:
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


def between(start: int, end: int, zone: tzinfo | None) -> str:
    """Return from when to when; the date once where it is the same.

    >>> between(0, 600 * SECOND, None), between(0, 86_400 * SECOND, None)
    ('1970-01-01 00:00 to 00:10 UTC', '1970-01-01 00:00 UTC to 1970-01-02 00:00 UTC')
    """
    began, ended = clock_time(start, zone), clock_time(end, zone)
    if began[:10] != ended[:10]:
        return f"{began} to {ended}"
    return f"{began.removesuffix(' UTC')} to {ended[11:]}"


def span(length: int) -> str:
    """Return a length of time in its two largest units.

    >>> span(754 * SECOND), span(40 * SECOND), span(2 * 86400 * SECOND), span(7500 * SECOND)
    ('12 min 34 s', '40 s', '2 d', '2 h 5 min')
    """
    seconds = round(length / SECOND)
    parts: list[str] = []
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        number, seconds = divmod(seconds, size)
        if number or parts:
            parts.append(f"{number} {unit}")
    return " ".join(part for part in parts[:2] if part[0] != "0") or "0 s"


def window(sensor: str, measure: str, over: str) -> str:
    """Return what is looked at.

    >>> window("noise", "leq", "10m"), window("door", "{count_above: 85}", "30m")
    ('noise leq over 10m', 'door count above 85 over 30m')
    """
    how = "" if measure == "last" else measure.strip("{}").replace(":", "").replace("_", " ")
    return " ".join(word for word in (sensor, how, f"over {over}" if over else "") if word)


def input_window(found: Input) -> str:
    """Return what an input looks at, likewise."""
    return window(found.sensor, str(found.measure), over_text(found.over))


def compared(value: float, unit: str, less: Input | None) -> str:
    """Return how much it is, and more than what where it is a difference.

    >>> compared(8.31, "dB", None)
    '8.31 dB'
    """
    if less is None:
        return quantity(value, unit)
    way = "below" if value < 0 else "above"
    return f"{quantity(abs(value), unit)} {way} {input_window(less)}"


def condition(part: Part, less: Input | None = None) -> str:
    """Return what one condition of several said.

    >>> condition(Part("noise", "leq", "10m", 67.24, 65.0, "dBA", True))
    'noise leq over 10m is 67.2 dBA (limit 65)'
    """
    what = window(part.sensor, part.measure, part.over)
    if part.value is None:
        return f"{what} cannot be judged"
    limit = "" if part.limit is None else f" (limit {quantity(part.limit)})"
    return f"{what} is {compared(part.value, part.unit, less)}{limit}"


def listed(words: list[str]) -> str:
    """Return words in a row.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)


def capital(text: str) -> str:
    """Return *text* with its first letter large."""
    return text[:1].upper() + text[1:]
