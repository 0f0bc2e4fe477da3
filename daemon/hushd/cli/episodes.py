"""Episodes: from when until when alerts were on, made of their transitions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hushd.core.readings import Labels
from hushd.core.reconcile import rank
from hushd.core.rules import Severity
from hushd.core.transitions import Transition
from hushd.runtime.wording import span

Which = tuple[str, Labels]  # rule and labels


@dataclass(slots=True)
class Episode:
    """One time that an alert was on."""

    began: int
    ended: int  # or when the recording did
    worst: Severity
    open: bool = True  # it was still on at the end

    @property
    def length(self) -> int:
        """How long it was on."""
        return self.ended - self.began


def episodes(transitions: Iterable[Transition], end: int) -> dict[Which, list[Episode]]:
    """Return all episodes of each alert, in order; what is on at *end* lasts until then."""
    found: dict[Which, list[Episode]] = {}
    for change in sorted(transitions, key=lambda t: t.at):
        known = found.setdefault((change.rule, change.labels), [])
        if change.severity is not None and change.event == "raised":
            known.append(Episode(change.at, end, change.severity))
        elif (
            change.severity is not None and known and rank(change.severity) > rank(known[-1].worst)
        ):
            known[-1].worst = change.severity
        elif change.severity is None and known and known[-1].open:
            known[-1].ended, known[-1].open = change.at, False
    return {which: known for which, known in found.items() if known}


def total(found: Sequence[Episode]) -> str:
    """Return how long they lasted together; a + says that one was still on at the end."""
    return _length(sum(one.length for one in found), still=any(one.open for one in found))


def longest(found: Sequence[Episode]) -> str:
    """Return how long the longest lasted."""
    worst = max(found, key=lambda one: one.length, default=None)
    return "" if worst is None else _length(worst.length, still=worst.open)


def _length(length: int, *, still: bool) -> str:
    return f"{span(length)}{'+' if still else ''}" if length or still else ""
