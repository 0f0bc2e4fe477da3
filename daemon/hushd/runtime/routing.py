"""Who hears of what happened."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from hushd.core import internal
from hushd.core.rules import Rule
from hushd.core.transitions import Transition
from hushd.runtime import notes
from hushd.runtime.store import Alert, Letter


class Hearer(Protocol):
    """A notifier, as far as it matters here."""

    def knows_of(self, transition: Transition) -> bool:
        """Say whether it knows of the alert, or may soon, and not that all is well again."""


def letters(
    transitions: Sequence[Transition],
    hearers: Mapping[str, Hearer],
    followed: Mapping[str, frozenset[str]],
) -> list[Letter]:
    """Return who is to be told of what.

    Args:
        transitions: What happened, in order.
        hearers: All notifiers.
        followed: Of those that want *every* transition, what `followed_by` says.
    """
    found: list[Letter] = []
    coming: set[tuple[str, Alert]] = set()
    for transition in transitions:
        alert = (transition.rule, transition.labels)
        for name, hearer in hearers.items():
            rules = followed.get(name)
            if (
                any(name in names for _, names in transition.notify)
                or (rules is not None and _follows(name, rules, transition))
                # whoever heard of it, or is about to, hears that it is over, too
                or (
                    transition.severity is None
                    and ((name, alert) in coming or hearer.knows_of(transition))
                )
            ):
                found.append((name, transition))
                if rules is None:
                    coming.add((name, alert))
    return found


def followed_by(notifier: str, rules: Sequence[Rule]) -> frozenset[str]:
    """Return the rules whose every transition *notifier* hears of, with the sensors' silence."""
    named = [rule for rule in rules if any(notifier in names for _, names in rule.notify)]
    silences = {f"{sensor}{notes.SILENCE}" for rule in named for sensor in rule.sensors}
    return frozenset({rule.name for rule in named} | silences)


def _follows(notifier: str, followed: frozenset[str], transition: Transition) -> bool:
    """Say whether a journal hears of it: of its rules, and of all troubles but its own."""
    if transition.rule.startswith(internal.PREFIX):
        return not internal.concerns(notifier, transition.rule, transition.labels)
    return transition.rule in followed
