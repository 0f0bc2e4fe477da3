"""A street full of rules of every kind, and stories of what is heard there: for properties."""

from typing import Any

from hypothesis import strategies as st
from play import S, at, limit, rule, rules

from hushd.core.readings import Reading
from hushd.core.rules import NoData, Rules

LOUD = [
    limit("warning", "above", 50.0, 48.0, wait=20, clear_wait=15),
    limit("critical", "above", 58.0, 55.0, wait=5),
]

#: windows by time and number, pooled, weighted, ranked, counted
KINDS = (
    rule(*LOUD, name="level", measure="leq", span=60, min_coverage=0.3, after=45),
    rule(*LOUD, name="mean", measure="mean", span=30, no_data=NoData(40 * S, "critical", "clear")),
    rule(limit("info", "above", 52.0), name="half", measure="median", count=5, after=90),
    rule(
        limit("info", "above", 55.0, 53.0),
        name="peaks",
        measure="percentile",
        argument=90,
        span=90,
    ),
    rule(limit("warning", "below", 2.0), name="dead", measure="count", span=50, each=()),
    rule(
        limit("warning", "above", 53.0),
        name="all",
        measure="time_mean",
        span=40,
        each=(),
        min_coverage=0.2,
    ),
    rule(limit("warning", "outside", (40.0, 56.0)), name="last"),
)


def street(**sensor: Any) -> Rules:
    """All kinds of rules."""
    return rules(*KINDS, **sensor)


steps = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 5, 5, 5, 10, 30, 200]),  # seconds after the one before
        st.sampled_from(["attic", "cellar"]),
        st.sampled_from([39.0, 47.5, 49.0, 50.25, 52.1, 54.0, 56.3, 59.9, 61.0]),
    ),
    max_size=40,
)


def stream(story: Any) -> list[Reading]:
    """The readings of such steps."""
    now, readings = 1_000_000, []
    for gap, room, value in story:
        now += gap
        readings.append(at(now, value, room))
    return readings
