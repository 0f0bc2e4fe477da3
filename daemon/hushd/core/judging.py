"""Judging: whether what a window says is to be relied on.

A window may hold too little to say anything, and a count that was not listened to for as
long as it is may only have missed something: then what is too much already is sure.
"""

from typing import Any, NamedTuple, Protocol

from hushd.core.alarms import Link
from hushd.core.windows import Seen

#: What a window says: nothing; the least that it can be; all.
NONE, LEAST, ALL = 0, 1, 2
ROUNDING = 1e-9  # of a coverage: a quotient of two integers


class Terms(NamedTuple):
    """What a window must hold to be judged."""

    always: bool  # it is a count, or a duration: an empty window says something, too
    span: int | None  # of a window of time
    samples: int
    covers: float


def verdict(terms: Terms, seen: Seen, at: int, link: Link) -> int:
    """Return whether a window can be judged: not, as the least it can be, or fully."""
    if seen.value is None or not seen.full:
        return NONE
    always, span, samples, covers = terms
    if always:
        return ALL if link.online and link.since + (span or 0) <= at else LEAST
    if seen.samples < samples:
        return NONE
    if span is not None and covers > 0:
        coverage = seen.coverage
        if coverage is None or coverage < covers - ROUNDING:
            return NONE
    return ALL


def whole_at(terms: Terms, at: int, link: Link) -> int | None:
    """Return when a count will have been listened to for long enough; None: it has."""
    whole = link.since + (terms.span or 0)
    return None if whole <= at else whole


class Meter(Protocol):
    """What an alert must know of what it judges: of a gauge, or of what is made of several."""

    always: bool
    next_change: int | None

    @property
    def at(self) -> int | None:
        """When it was last read."""

    @property
    def seen(self) -> Seen:
        """What it said when it was last read."""

    def read(self, now: int) -> Seen:
        """Return what it says at *now*, which never goes back."""

    def leaves(self, now: int) -> int | None:
        """Return when it next changes by age alone, as of *now*."""

    def reaches(self, now: int, since: int) -> bool:
        """Say whether what it says at *now*, as last read, is of *since* or before, too."""

    def save(self) -> list[Any] | None:
        """Return how its aggregations fare; None: well."""

    def load(self, saved: list[Any]) -> None:
        """Take that back."""
