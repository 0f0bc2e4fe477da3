"""Words for people: lengths of time, numbers, lists, windows and limits."""

from collections.abc import Iterable, Sequence

from hushd.core.readings import SECOND
from hushd.core.rules import Bound, Input, Limit
from hushd.core.times import UNITS
from hushd.plugin.catalog import Catalog

_NAMES = {"d": "day", "h": "hour", "m": "min", "s": "s", "ms": "ms"}
_SHORT = {"h": "h"}  # an hour beside other units


def span(ns: int) -> str:
    """Return a length of time.

    >>> span(3600 * SECOND), span(5400 * SECOND), span(172_800 * SECOND), span(300 * SECOND)
    ('1 hour', '1 h 30 min', '2 days', '5 min')
    """
    parts, rest = [], ns
    for unit, size in UNITS.items():
        number, rest = divmod(rest, size)
        if number:
            parts.append((number, unit))
    if not parts:
        return "0 s"
    if len(parts) > 1:
        return " ".join(f"{n} {_plural(n, _SHORT.get(unit, _NAMES[unit]))}" for n, unit in parts)
    ((n, unit),) = parts
    return f"{n} {_plural(n, _NAMES[unit])}"


def _plural(number: int, name: str) -> str:
    return f"{name}s" if number != 1 and name in ("day", "hour") else name


def every(ns: int) -> str:
    """Return how often: ``every hour``, ``every 30 min``."""
    return f"every {one(ns)}"


def one(ns: int) -> str:
    """Return a length of time after ``every`` or ``the last``: without the 1 of an hour or day."""
    return span(ns).removeprefix("1 ") if span(ns) in ("1 hour", "1 day") else span(ns)


def number(value: float, unit: str = "") -> str:
    """Return a number as people write it; one of seconds is a length of time.

    >>> number(40.0), number(1_234_567.0, "Pa"), number(0.5, "mm/s"), number(90.0, "s")
    ('40', '1234567 Pa', '0.5 mm/s', '1 min 30 s')
    """
    if unit == "s" and value > 0 and (value * 1000).is_integer():
        return span(int(value * 1000) * (SECOND // 1000))
    digits = str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return f"{digits} {unit}".rstrip()


def listed(words: Iterable[str], last: str = "and") -> str:
    """Return words in a row.

    >>> listed("abc"), listed("ab", "or"), listed("a")
    ('a, b and c', 'a or b', 'a')
    """
    *before, end = words
    return f"{', '.join(before)} {last} {end}" if before else end


def article(word: str) -> str:
    """Return ``a room``, ``an area``."""
    return f"an {word}" if word[:1].lower() in "aeiou" else f"a {word}"


def counted(count: int, what: str) -> str:
    """Return ``1 topic``, ``2 topics``."""
    return f"1 {what}" if count == 1 else f"{count} {what}s"


def measured(window: Input, catalog: Catalog, unit: str, of: str = "") -> str:
    """Return what is measured: ``the energy average of the last 15 min``.

    Args:
        window: What is looked at.
        catalog: Has the phrase of its measure.
        unit: Of the sensor.
        of: Which readings, where it must be said: " of noise".
    """
    over, measure = window.over, window.measure
    if over.span is None and over.count is None:
        return f"each reading{of}"
    if over.span is not None:
        about = f"the last {one(over.span)}{of}"
    else:
        about = f"the last {counted(over.count or 1, 'reading')}{of}"
    aggregator = catalog.aggregators[measure.name]
    phrase = aggregator.phrase or f"{aggregator.summary} ({measure.name}), of {{window}}"
    argument = "" if measure.argument is None else number(measure.argument)
    if argument and not aggregator.phrase:
        phrase = f"{aggregator.summary} ({measure.name} {argument}), of {{window}}"
    for hole, text in (("{x}", argument), ("{unit}", unit), ("{window}", about)):
        phrase = phrase.replace(hole, text)
    return " ".join(phrase.split())


def unit_of(window: Input, catalog: Catalog, unit: str) -> str:
    """Return the unit of what is measured of a sensor that measures in *unit*."""
    return catalog.aggregators[window.measure.name].unit.replace("{unit}", unit)


def beyond(limit: Limit, unit: str) -> str:
    """Return where it is raised: ``above 40 dBA``."""
    bound = limit.limit
    if isinstance(bound, tuple):
        low, high = bound
        if limit.comparison == "outside":
            return f"below {_bare(low, unit)} or above {number(high, unit)}"
        return f"from {_bare(low, unit)} to {number(high, unit)}"
    value = number(bound, unit)
    match limit.comparison:
        case "at_least":
            return f"at {value} or more"
        case "at_most":
            return f"at {value} or less"
        case other:
            return f"{other} {value}"


def back(limit: Limit, unit: str) -> str:
    """Return where it is over: ``at 37 or less``; no history at equality, as the engine has it."""
    clear: Bound = limit.limit if limit.clear is None else limit.clear
    if isinstance(clear, tuple):
        low, high = (_bare(value, unit) for value in clear)
        return (
            f"from {low} to {high}"
            if limit.comparison == "outside"
            else (f"below {low} or above {high}")
        )
    value = _bare(clear, unit)
    return {
        "above": f"at {value} or less",
        "below": f"at {value} or more",
        "at_least": f"below {value}",
        "at_most": f"above {value}",
    }[limit.comparison]


def _bare(value: float, unit: str) -> str:
    """Return a number whose unit stands elsewhere; a length of time keeps its own."""
    return number(value, unit if unit == "s" else "")


def limits(found: Sequence[Limit], unit: str) -> str:
    """Return all limits that count together; the unit stands with the first."""
    out = []
    for limit in found:
        wait = f" for {span(limit.wait)}" if limit.wait else ""
        clear_wait = f" for {span(limit.clear_wait)}" if limit.clear_wait else ""
        out.append(
            f"{limit.severity} raised {beyond(limit, unit)}{wait},"
            f" cleared {back(limit, unit)}{clear_wait}"
        )
        unit = unit if unit == "s" else ""
    return "; ".join(out)
