"""Which alerts there can be, and whether what somebody names is one of them.

A silence with a slip of the pen in it keeps nobody quiet, and says so only at night: what
can never match is refused when it is asked for.
"""

from collections.abc import Iterator
from typing import NamedTuple, get_args

from hushd.config.problems import suggest
from hushd.core import internal
from hushd.core.readings import Labels
from hushd.core.rules import Rule


class Shape(NamedTuple):
    """What the alerts of one name have in common."""

    rule: str
    labels: frozenset[str]  # the names of their labels
    where: tuple[tuple[str, tuple[str, ...]], ...] = ()  # label -> its values, where not any

    def takes(self, labels: Labels) -> bool:
        """Say whether an alert can carry *labels*."""
        return all(
            name in self.labels and value in dict(self.where).get(name, (value,))
            for name, value in labels
        )


class OutOfReachError(Exception):
    """No alert can be meant; the text says what is wrong, and the way out."""


class Reach:
    """All shapes of alerts that some rules can have: theirs, silent sensors, our own troubles."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self._shapes = list(_shapes(rules))

    def check(self, rule: str, labels: Labels) -> None:
        """Make sure that there can be an alert of *rule* ("": of any) that carries *labels*.

        Raises:
            OutOfReachError: there cannot.
        """
        meant = [shape for shape in self._shapes if rule in ("", shape.rule)]
        if not meant:
            names = [shape.rule for shape in self._shapes]
            raise OutOfReachError(_with(f'there is no rule "{rule}"', suggest(rule, names)))
        whose = f"{rule} has alerts that carry" if rule else "any alert carries"
        for name, value in labels:
            having = [shape for shape in meant if name in shape.labels]
            if not having:
                names = sorted({name for shape in meant for name in shape.labels})
                said = f'no label "{name}": not one that {whose}'
                raise OutOfReachError(_with(said, suggest(name, names)))
            if not any(shape.takes(((name, value),)) for shape in having):
                values = {v for shape in having for v in dict(shape.where)[name]}
                said = f"no {name}={value}: not one that {whose}"
                raise OutOfReachError(_with(said, suggest(value, values)))
        if not any(shape.takes(labels) for shape in meant):
            together = " ".join(f"{name}={value}" for name, value in labels)
            raise OutOfReachError(f"no alert carries all of {together}")


def _shapes(rules: tuple[Rule, ...]) -> Iterator[Shape]:
    for rule in rules:
        each = frozenset(rule.each)
        where = tuple((name, values) for name, values in rule.where if name in each)
        yield Shape(rule.name, each, where)
        if rule.no_data is not None:
            yield from (Shape(f"{sensor}/no-data", each, where) for sensor in rule.sensors)
    for kind in get_args(internal.Kind):
        yield Shape(f"{internal.PREFIX}{kind}", frozenset({kind}))


def _with(said: str, hints: tuple[str, ...]) -> str:
    return "\n".join([said, *(f"  hint: {hint}" for hint in hints)])
