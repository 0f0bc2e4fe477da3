"""Compares what was heard with what had to be told."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hushd.core.readings import Labels
from torture.story import Change


class Heard(NamedTuple):
    """A delivery that was taken, whatever the sender came to know of it."""

    change: Change
    key: str
    flagged: bool  # it said that it may be a repetition


class Verdict(NamedTuple):
    """What was wrong; all empty if nothing was."""

    lost: list[Change]  # had to be told, was not
    spurious: list[Change]  # was told, though it never happened
    silent: list[Change]  # was told again, as if it were new
    misordered: list[tuple[str, Labels]]  # alerts whose story was told in another order

    @property
    def sound(self) -> bool:
        """Say whether nothing was wrong."""
        return not any(self)

    def __str__(self) -> str:
        return ", ".join(f"{len(found)} {what}" for what, found in self._asdict().items())


def judge(expected: Sequence[Change], heard: Sequence[Heard]) -> Verdict:
    """Return what was wrong with what a receiver of every transition has heard."""
    first = dict.fromkeys(delivery.change for delivery in heard)
    lost = [change for change in expected if change not in first]
    return _verdict(lost, expected, heard)


def judge_news(expected: Sequence[Change], heard: Sequence[Heard]) -> Verdict:
    """Return what was wrong with what people have heard, who are told how things stand.

    While they could not be reached they may have missed what came and went, but in the end
    they know of each alert whether it is on.  Lost is the last change of an alert of which
    they do not.
    """
    known = levels([delivery.change for delivery in heard])
    lost = [
        story[-1]
        for alert, story in stories(expected).items()
        if known.get(alert) != story[-1].severity
    ]
    return _verdict(lost, expected, heard)


def _verdict(lost: list[Change], expected: Sequence[Change], heard: Sequence[Heard]) -> Verdict:
    due = set(expected)
    assert len(due) == len(expected)  # an episode cannot take the same turn twice
    first: dict[Change, None] = {}
    silent = []
    for delivery in heard:
        if delivery.change in first and not delivery.flagged:
            silent.append(delivery.change)
        first.setdefault(delivery.change)
    came = stories(list(first))
    return Verdict(
        lost,
        [change for change in first if change not in due],
        silent,
        [alert for alert, told in stories(expected).items() if _swapped(told, came.get(alert, []))],
    )


def repeated(heard: Sequence[Heard]) -> int:
    """Return how many deliveries were not the first of their kind."""
    return sum(number - 1 for number in Counter(h.change for h in heard).values())


def stories(changes: Sequence[Change]) -> dict[tuple[str, Labels], list[Change]]:
    """Return the changes of each alert, in order."""
    found: dict[tuple[str, Labels], list[Change]] = {}
    for change in changes:
        found.setdefault((change.rule, change.labels), []).append(change)
    return found


def levels(changes: Sequence[Change]) -> Mapping[tuple[str, Labels], str | None]:
    """Return how each alert stands in the end, of those that are not well."""
    last = {alert: story[-1].severity for alert, story in stories(changes).items()}
    return {alert: level for alert, level in last.items() if level is not None}


def _swapped(told: Sequence[Change], came: Sequence[Change]) -> bool:
    place = {change: n for n, change in enumerate(told)}
    order = [place[change] for change in came if change in place]
    return order != sorted(order)
