"""What went wrong for people with other tools, from the reading to the message.

The names begin with the number of a report.  The engine judges readings, and a notifier hears
of what comes out, as it would of a daemon.
"""

from collections.abc import Iterable
from typing import Any

from courier import Courier
from play import S, at, limit, play, rule, rules

from hushd.core.readings import Reading
from hushd.core.reconcile import Habit
from hushd.core.rules import Flapping, Manner, Rule
from hushd.core.transitions import Transition

MINUTE, HOUR = 60, 3600
LOUD = limit("warning", "above", 45.0, 42.0)


def too_loud(**more: Any) -> Rule:
    """A rule that a mail is written of."""
    return rule(LOUD, name="too-loud", notify=(("warning", ("mail",)),), **more)


def each(seconds: int, values: Iterable[float]) -> list[Reading]:
    """A reading each so many seconds."""
    return [at(seconds * i, value) for i, value in enumerate(values)]


def hear(story: Courier, transitions: Iterable[Transition], until: float = HOUR) -> Courier:
    """Let a notifier hear of what the engine says, and wait."""
    for transition in transitions:
        story.wait(transition.at / S).take(transition)
    return story.wait(until)


def test_a12_what_is_still_on_when_the_silence_ends_is_told_at_that_second() -> None:
    said = play(rules(too_loud()), each(10, [40.0, 50.0, 50.0, 50.0]), until=HOUR)
    assert [(t.at // S, t.event) for t in said] == [(10, "raised")]
    assert hear(Courier().mute(0, 1000), said).said == [(1000, "raised", "warning")]


def test_a14_a_second_alert_in_the_same_silence_is_told() -> None:
    said = play(rules(too_loud()), each(10, [50.0, 40.0, 50.0]))
    story = Courier()
    story.take(said[0])
    assert hear(story.mute(5, 1000), said[1:]).said == [
        (0, "raised", "warning"),
        (1000, "raised_again", "warning"),
    ]


def test_a24_nobody_who_hears_no_clears_misses_a_raise() -> None:
    said = play(rules(too_loud()), each(1, [46.0, 41.0, 46.0]))
    assert hear(Courier(manner=Manner(clears=False)), said).kinds == ["raised", "raised"]


def test_a51_what_depends_on_another_is_judged_all_the_time_and_told_when_that_is_over() -> None:
    gateway = rule(
        limit("critical", "below", 10.0),
        name="gateway",
        each=(),
        where=(("room", ("gate",)),),
        notify=(("critical", ("mail",)),),
    )
    dependent = too_loud(mute_while=("gateway",))
    readings = [at(0, 5.0, "gate"), at(10, 50.0), at(60, 30.0, "gate"), at(70, 40.0)]
    said = play(rules(dependent, gateway), readings)
    assert [(t.at // S, t.rule, t.event) for t in said] == [
        (0, "gateway", "raised"),
        (10, "too-loud", "raised"),
        (60, "gateway", "cleared"),
        (70, "too-loud", "cleared"),
    ]
    story = hear(Courier(rules=[dependent, gateway]), said)
    assert sorted(story.said) == [
        (0, "raised", "critical"),
        (60, "cleared", "critical"),
        (60, "raised", "warning"),
        (70, "cleared", "warning"),
    ]


def test_w45_thirty_changes_are_few_messages_and_the_last_is_true() -> None:
    flapping = too_loud(flapping=Flapping(6, 60 * S))
    said = play(rules(flapping), each(1, [*[70.5, 30.0] * 15, *[30.0] * 200]), until=HOUR)
    assert len([t for t in said if t.event in ("raised", "cleared")]) == 30
    story = hear(Courier(), said)
    assert story.kinds == ["raised", "cleared"] * 3 + ["flapping", "cleared"]
    # 30 changes at 0 to 29 s; fewer than three of them in a minute from 87 s on
    assert story.said[-1] == (87, "cleared", "warning")


def test_w46_a_raise_that_is_held_back_is_not_cleared_and_one_that_lasts_is_told() -> None:
    cooling = Courier(Habit(cooldown=5 * MINUTE * S))
    short = play(rules(too_loud()), each(30, [50.0, 40.0, 50.0, 40.0, 40.0]))
    assert hear(cooling, short).said == [(0, "raised", "warning"), (30, "cleared", "warning")]
    cooling = Courier(Habit(cooldown=5 * MINUTE * S))
    lasting = play(rules(too_loud()), each(30, [50.0, 40.0, 50.0, 50.0, 50.0]))
    assert hear(cooling, lasting).said[2:] == [(30 + 5 * MINUTE, "raised", "warning")]


def test_w51_an_hour_of_readings_is_five_messages() -> None:
    said = play(rules(too_loud()), each(1, [50.0] * (HOUR + 1)))
    story = hear(Courier(Habit(repeat=(15 * MINUTE * S,))), said)
    assert [when // MINUTE for when, _, _ in story.said] == [0, 15, 30, 45, 60]


def test_w53_maintenance_from_ten_to_eleven() -> None:
    """What began meanwhile and is still on is told at eleven; the journal has all."""
    ten, eleven = 22 * HOUR, 23 * HOUR
    half_past = ten + 30 * MINUTE
    lasting = play(rules(too_loud()), [at(ten, 40.0), at(half_past, 50.0), at(eleven, 50.0)])
    over = play(rules(too_loud()), [at(ten, 40.0), at(half_past, 50.0), at(half_past + 60, 40.0)])
    assert [len(lasting), len(over)] == [1, 2]
    first, second = Courier().mute(ten, eleven), Courier().mute(ten, eleven)
    assert hear(first, lasting, eleven + HOUR).said == [(eleven, "raised", "warning")]
    assert hear(second, over, eleven + HOUR).said == []
