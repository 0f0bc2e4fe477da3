"""Alerts whose level changes too often, through the engine, and what ends that."""

from dataclasses import replace
from typing import Any

from play import AGGREGATORS, S, at, engine, limit, rule, rules

from hushd.core.engine import Engine
from hushd.core.rules import Flapping, Rules
from hushd.core.transitions import Transition

SHAKY = rule(limit("warning", "above", 70), flapping=Flapping(3, 100 * S))


def shaken(of: Rules, times: int = 5) -> tuple[Engine, list[Transition]]:
    """Return an engine after so many changes, a second from each to the next."""
    playing = engine(of)
    told = [*playing.advance(0)]
    for second in range(times):
        told += playing.process(at(second, 80 if second % 2 == 0 else 60))
    return playing, told


def events(told: Any) -> list[str]:
    return [t.event for t in told if not t.rule.endswith("/no-data")]


def test_it_says_so_once_and_when_it_is_steady():
    playing, told = shaken(rules(SHAKY))
    assert events(told) == ["raised", "cleared", "raised", "cleared", "flapping", "raised"]
    assert [t.flapping for t in told] == [False, False, False, True, True, True]
    told = [*playing.advance(103 * S), *playing.advance(200 * S)]
    steady = next(t for t in told if t.event == "steady")
    assert (steady.at, steady.severity, steady.flapping) == (103 * S, "warning", False)
    assert "flapping" not in events(told)


def test_who_removes_the_rule_ends_it_also_where_it_is_just_well():
    for times, last in ((4, "steady"), (5, "cleared")):
        playing, _ = shaken(rules(SHAKY), times)
        other = rule(limit("warning", "above", 70), name="other")
        playing = Engine.restore(rules(other), AGGREGATORS, playing.snapshot())
        told = [t for t in playing.advance(10 * S) if t.rule == SHAKY.name]
        assert events(told) == [last]
        assert (told[0].severity, told[0].flapping) == (None, False)


def test_who_minds_it_no_more_hears_how_it_is():
    playing, _ = shaken(rules(SHAKY))
    of = rules(replace(SHAKY, flapping=None))
    playing = Engine.restore(of, AGGREGATORS, playing.snapshot())
    told = list(playing.advance(10 * S))
    assert events(told) == ["steady"]
    assert (told[0].severity, told[0].flapping) == ("warning", False)


def test_a_restart_changes_nothing_of_it():
    of = rules(SHAKY)
    playing, _ = shaken(of)
    again = Engine.restore(of, AGGREGATORS, playing.snapshot())
    for one in (playing, again):
        one.advance(102 * S)
    assert again.advance(300 * S) == playing.advance(300 * S)
