"""When a value breaks a limit, and when it is quiet again."""

from collections.abc import Callable
from typing import cast

from hushd.core.rules import Bound, Comparison, Limit

Test = Callable[[float], bool]


def holds(comparison: Comparison, bound: Bound) -> Test:
    """Return the test that says whether a value stands in *comparison* to *bound*.

    >>> holds("above", 45.0)(45.0), holds("at_least", 45.0)(45.0)
    (False, True)
    """
    if comparison in ("outside", "inside"):
        low, high = cast("tuple[float, float]", bound)
        if comparison == "outside":
            return lambda value: value < low or value > high
        return lambda value: low <= value <= high
    line = cast("float", bound)
    match comparison:
        case "above":
            return lambda value: value > line
        case "below":
            return lambda value: value < line
        case "at_least":
            return lambda value: value >= line
        case _:
            return lambda value: value <= line


def raises(limit: Limit) -> Test:
    """Return the test that raises."""
    return holds(limit.comparison, limit.limit)


def clears(limit: Limit) -> Test:
    """Return the test that clears: the comparison with `clear` does not hold."""
    loud = holds(limit.comparison, limit.limit if limit.clear is None else limit.clear)
    return lambda value: not loud(value)


def crossed(limit: Limit, value: float | None) -> float:
    """Return the one number of *limit* that *value* is, or was, beyond."""
    if not isinstance(limit.limit, tuple):
        return limit.limit
    low, high = limit.limit
    return low if value is not None and value < (low + high) / 2 else high


def worse(limit: Limit, value: float, than: float) -> bool:
    """Say whether *value* is further into what *limit* forbids *than* another."""
    match limit.comparison:
        case "above" | "at_least":
            return value > than
        case "below" | "at_most":
            return value < than
        case _:
            low, high = cast("tuple[float, float]", limit.limit)
            middle = (low + high) / 2
            farther = abs(value - middle) > abs(than - middle)
            return farther if limit.comparison == "outside" else not farther
