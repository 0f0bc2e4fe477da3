"""Reloads at random: whatever the configuration becomes, the journal goes on making sense."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from play import AGGREGATORS, S, at, engine, limit, rule, rules

from hushd.core.engine import Engine
from hushd.core.rules import Limit, NoData, Over, Rule, Rules
from hushd.core.transitions import Transition

LIMITS = (
    limit("info", "above", 42.0, 40.0, wait=20),
    limit("warning", "above", 46.0, 43.0, clear_wait=30),
    limit("critical", "above", 55.0),
)
SILENCES = (
    None,
    NoData(),
    NoData(60 * S),
    NoData(300 * S, "critical"),
    NoData(30 * S, level="clear"),
)
KINDS = (
    ("mean", Over(span=60 * S)),
    ("last", Over()),
    ("max", Over(count=3)),
    ("count", Over(span=120 * S)),
)
ATTIC = (("room", "a"),)


def some_rule(chance: Random, name: str) -> Rule:
    measure, over = chance.choice(KINDS)
    found = rule(*LIMITS, name=name, measure=measure, each=chance.choice(((), ("room",))))
    where: Any = chance.choice(((), (("room", ("a", "b")),)))
    return replace(found, over=over, where=where, no_data=chance.choice(SILENCES))


def changed(chance: Random, old: Rule) -> Rule:
    """The same rule with other words, its identity kept."""
    waits = [chance.choice((0, 10, 90)) * S for _ in range(2)]
    kept: list[Limit] = chance.sample(old.limits, chance.randint(1, len(old.limits)))
    kept.sort(key=old.limits.index)
    return replace(
        old,
        no_data=chance.choice(SILENCES),
        limits=tuple(replace(x, wait=waits[0], clear_wait=waits[1]) for x in kept),
    )


def configuration(chance: Random, before: Rules | None = None) -> Rules:
    known = {} if before is None else {r.name: r for r in before.rules}
    names = chance.sample(["a", "b", "c", "d"], chance.randint(1, 4))
    return rules(
        *(
            changed(chance, known[name])
            if name in known and chance.random() < 0.7
            else some_rule(chance, name)
            for name in names
        ),
        interval=chance.choice((None, 10, 200)),
        lateness=chance.choice((0, 0, 30)),
        expect=chance.choice(((), (ATTIC,))),
    )


class Reader:
    """Reads the journal as it comes, and objects."""

    def __init__(self) -> None:
        self.levels: dict[Any, Any] = {}

    def read(self, told: list[Transition], since: int) -> None:
        for transition in told:
            who = (transition.rule, transition.labels)
            assert transition.at >= since - 31 * S, "told of the past"
            assert self.levels.get(who) == transition.was
            self.levels[who] = transition.severity

    def on(self) -> set[Any]:
        return {who for who, level in self.levels.items() if level is not None}


@pytest.mark.parametrize("seed", range(100))
def test_a_reload_says_nothing_of_the_past_and_forgets_nothing(seed: int) -> None:
    chance = Random(seed)
    of = configuration(chance)
    playing, reader, now = engine(of), Reader(), 1_000_000
    reader.read(playing.advance(now * S), now * S)
    for _ in range(60):
        since = now * S
        now += chance.choice((1, 5, 10, 30, 200, 4000))
        while (due := playing.deadline()) is not None and due < now * S:
            reader.read(playing.advance(due), since)
            since = due
            assert playing.deadline() != due
        what = chance.random()
        if what < 0.7:
            value = chance.uniform(35, 60)
            reader.read(playing.process(at(now, value, chance.choice("abc"))), since)
        elif what < 0.8:
            tell = chance.choice((playing.connected, playing.disconnected))
            reader.read(tell(now * S), since)
        else:
            reader.read(playing.advance(now * S), since)
            of = configuration(chance, of)
            playing = Engine.restore(of, AGGREGATORS, playing.snapshot())
            again = Engine.restore(of, AGGREGATORS, playing.snapshot())
            told = playing.advance(now * S)
            assert again.advance(now * S) == told
            reader.read(told, since)
            kept = {(a.rule, a.labels) for a in playing.alerts() if a.level is not None}
            silent = {who for who in reader.on() if who[0].endswith("/no-data")}
            assert reader.on() - silent == kept
