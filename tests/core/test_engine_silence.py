"""Who is silent, for whom, and since when: what reloads, reconnects and labels must not change."""

from typing import Any

import pytest
from play import AGGREGATORS, S, at, brief, engine, limit, play, rule, rules

from hushd.core.engine import Engine
from hushd.core.readings import Reading
from hushd.core.rules import NoData, Rules

LOUD = limit("warning", "above", 45.0, 42.0)
USUAL = NoData()  # three intervals, at least five minutes
CELLAR = (("room", "cellar"),)


def resumed(playing: Engine, of: Rules) -> Engine:
    return Engine.restore(of, AGGREGATORS, playing.snapshot())


def test_people_still_hear_of_a_silence_after_a_restore_when_the_interval_was_learned() -> None:
    of = rules(rule(LOUD, no_data=USUAL))
    playing = engine(of)
    for second in (0, 200, 400, 600):
        playing.process(at(second, 30.0))
    assert brief(resumed(playing, of).advance(1200 * S)) == [
        (1200, "no_data", None),
        (1200, "no-data raised", "warning"),
    ]


def test_a_new_rule_knows_at_once_how_often_a_series_speaks() -> None:
    playing = engine(rules(rule(LOUD, no_data=USUAL)))
    for second in (0, 200, 400, 600):
        playing.process(at(second, 30.0))
    of = rules(rule(LOUD, no_data=None), rule(LOUD, name="new", no_data=USUAL))
    told = resumed(playing, of).advance(2000 * S)
    assert [(t.rule, t.event, t.at // S) for t in told] == [
        ("new", "no_data", 1200),
        ("noise/no-data", "raised", 1200),
    ]


def test_w43_who_is_expected_every_minute_and_never_spoke_is_missed() -> None:
    of = rules(rule(LOUD, no_data=USUAL), expect=(CELLAR,), interval=60)
    assert brief(play(of, [0], 300)) == [
        (300, "no_data", None),
        (300, "no-data raised", "warning"),
    ]
    patient = rules(rule(LOUD, no_data=USUAL), expect=(CELLAR,), interval=600)
    assert [t.at // S for t in play(patient, [0], 10_000)] == [1800, 1800]


def test_who_is_expected_no_more_is_missed_no_more() -> None:
    playing = engine(rules(rule(LOUD, after=60), expect=(CELLAR,)))
    playing.advance(0)
    assert len(playing.advance(100 * S)) == 2
    playing = resumed(playing, rules(rule(LOUD, after=60)))
    [cleared] = playing.advance(101 * S)
    assert (cleared.rule, cleared.event, cleared.reason) == (
        "noise/no-data",
        "cleared",
        "rule_removed",
    )
    assert list(playing.alerts()) == []
    assert playing.advance(10**6 * S) == []


def test_a_silence_is_that_of_the_window_not_of_whoever_else_has_the_same_labels() -> None:
    of = rules(
        rule(LOUD, name="attic", each=(), where=(("room", ("attic",)),), after=60),
        rule(LOUD, name="all", each=(), after=60),
    )
    story = [
        at(0, 30.0),
        *(at(t, 30.0, "cellar") for t in range(0, 600, 30)),
        at(610, 30.0),
    ]
    assert [(t.at // S, t.rule, t.event) for t in play(of, story, 611)] == [
        (60, "attic", "no_data"),
        (60, "noise/no-data", "raised"),
        (610, "attic", "data_back"),
        (610, "noise/no-data", "cleared"),
    ]


def test_a_shorter_patience_does_not_end_in_the_past() -> None:
    playing = engine(rules(rule(LOUD, after=600)))
    playing.process(at(0, 30.0))
    playing.advance(300 * S)
    told = resumed(playing, rules(rule(LOUD, after=60))).advance(1000 * S)
    assert brief(told) == [(300, "no_data", None), (300, "no-data raised", "warning")]


def test_a_window_that_is_given_up_takes_no_silence_of_others_with_it() -> None:
    """Room b is on two floors; that on the first is expected no more, and never spoke."""
    first = rule(LOUD, name="first", where=(("floor", ("1",)),), after=600)
    both = rule(LOUD, name="both", after=600)
    labels = ("floor", "room")
    playing = engine(rules(first, both, labels=labels, expect=((("floor", "1"), ("room", "b")),)))
    playing.process(Reading("noise", (("floor", "2"), ("room", "b")), 0, 30.0, 0))
    playing = resumed(playing, rules(first, both, labels=labels))
    assert [(t.at // S, t.rule, t.event) for t in playing.advance(10_000 * S)] == [
        (600, "both", "no_data"),
        (600, "noise/no-data", "raised"),
    ]


def test_a_rule_that_minds_silence_again_says_so_now() -> None:
    playing = engine(rules(rule(LOUD, after=60)))
    playing.process(at(0, 30.0))
    assert [t.at // S for t in playing.advance(100 * S)] == [60, 60]
    playing = resumed(playing, rules(rule(LOUD, no_data=None)))
    assert brief(playing.advance(200 * S)) == [(100, "no-data cleared", None)]
    playing = resumed(playing, rules(rule(LOUD, after=60)))
    assert brief(playing.advance(300 * S)) == [
        (200, "no_data", None),
        (200, "no-data raised", "warning"),
    ]


def test_a_rule_that_learns_to_mind_silence_does_not_do_so_in_the_past() -> None:
    playing = engine(rules(rule(LOUD, no_data=None)))
    for second in (0, 200, 400, 600):
        playing.process(at(second, 30.0))
    playing.advance(5000 * S)
    told = resumed(playing, rules(rule(LOUD, no_data=USUAL))).advance(9000 * S)
    assert [t.at // S for t in told] == [5000, 5000]


def test_a_reading_from_before_a_reconnect_does_not_count_silence_from_before_it() -> None:
    of = rules(rule(LOUD, after=60), lateness=30)
    playing = engine(of)
    playing.process(at(990, 30.0))
    playing.process(at(995, 30.0, arrived=1000))
    playing.disconnected(1001 * S)
    playing.connected(1010 * S)
    told = playing.advance(2000 * S)
    assert [(t.at // S, t.event) for t in told] == [(1070, "no_data"), (1070, "raised")]


def test_a_connection_that_is_back_before_it_was_lost_is_back_now() -> None:
    of = rules(rule(limit("critical", "below", 1.0), measure="count", span=60, each=()))
    playing = engine(of)
    playing.advance(1000 * S)
    playing.process(at(1099, 1.0))
    playing.disconnected(1100 * S)
    playing.connected(1050 * S)  # a clock was set back
    assert brief(playing.advance(10_000 * S)) == [(1160, "raised", "critical")]


@pytest.mark.parametrize("span", [60, 61, 300, 301])
@pytest.mark.parametrize("after", [60, 300])
def test_a_count_and_its_silence_end_in_either_order(span: float, after: float) -> None:
    """At one instant silence comes first.  (The engine once stayed at that instant for ever.)"""
    few = limit("critical", "below", 1.0)
    of = rules(rule(few, measure="count", span=span, after=after))
    events = [(t.at // S, t.event) for t in play(of, [at(0, 1.0)], 10_000) if t.rule == "loud"]
    raised = [(span, "raised")] if span < after else []
    assert sorted(events) == sorted([*raised, (after, "no_data")])


def test_an_outage_does_not_clear_a_count() -> None:
    """Nothing was heard: that is no quiet.  Too much, on the other hand, is too much."""
    of = rules(rule(limit("warning", "above", 2.0), measure="count", span=60))
    playing = engine(of)
    told: list[Any] = []
    for second in range(1000, 1005):
        told += playing.process(at(second, 1.0))
    told += playing.disconnected(1010 * S)
    told += playing.advance(2000 * S)
    told += playing.connected(2000 * S)
    assert brief(told) == [(1002, "raised", "warning")]
    assert brief(playing.advance(3000 * S)) == [(2060, "cleared", None)]


def test_a_count_over_a_number_of_readings_waits_for_all_of_them() -> None:
    few = limit("warning", "below", 3.0)
    of = rules(rule(few, measure="count_above", argument=85.0, count=5))
    told = play(of, [at(t, 90.0) for t in range(4)])
    assert told == []
    assert brief(play(of, [at(t, 30.0) for t in range(5)])) == [(4, "raised", "warning")]


def test_a_silence_has_an_id_of_its_own_even_when_its_series_was_forgotten_meanwhile() -> None:
    playing = engine(rules(rule(LOUD, after=60), forget=600 * S))
    told: list[Any] = []
    for second in (0, 10_000, 20_000):
        told += playing.process(at(second, 30.0))
    told += playing.advance(30_000 * S)
    assert len(told) == 9  # no_data, raised, cleared: each time
    assert len({t.id for t in told}) == 9
