"""After a restart, a suspension, a loss: one row for each line of what was decided."""

from collections.abc import Callable
from typing import Any

import pytest
from play import S, at, brief, engine, limit, rule, rules

from hushd.core.engine import Engine
from hushd.core.readings import Reading
from hushd.core.rules import NoData

LOUD = limit("warning", "above", 45.0, 42.0)
PATIENT = limit("warning", "above", 45.0, 42.0, wait=60, clear_wait=60)
HOUR = 3600


def away(until: float, *, gap: bool = False) -> Callable[[Engine], Any]:
    return lambda playing: playing.resumed(round(until * S), gap=gap)


def missed(now: float) -> Callable[[Engine], Any]:
    return lambda playing: playing.lost(round(now * S))


def tell(of: Any, story: list[Any]) -> list[tuple[Any, ...]]:
    """Play readings, absences and, at bare seconds, the passing of time."""
    playing, told = engine(of), []
    for step in story:
        if isinstance(step, Reading):
            told += playing.process(step)
        elif callable(step):
            told += step(playing)
        else:
            told += playing.advance(step * S)
    return brief(told)


QUICK = rules(rule(LOUD))
SLOW = rules(rule(PATIENT))
MEAN = rules(rule(LOUD, measure="mean", span=100, min_coverage=0.5), interval=10, hold=100)
DEAD = rules(rule(LOUD, after=60))
COUNT = rules(rule(limit("warning", "below", 2.0), measure="count", span=100, each=()))
LATE = rules(rule(LOUD), lateness=10)


@pytest.mark.parametrize(
    ("of", "story", "expected"),
    [
        pytest.param(
            QUICK,
            [at(0, 50.0), 1, away(500, gap=True), at(501, 50.0), at(502, 30.0)],
            [(0, "raised", "warning"), (502, "cleared", None)],
            id="firing before: still firing, nobody is told again",
        ),
        pytest.param(
            SLOW,
            [at(0, 50.0), 40, away(1040), 1059, 1060],
            [(1060, "raised", "warning")],
            id="pending before: elapsed time is kept, the time away is not counted",
        ),
        pytest.param(
            SLOW,
            [at(0, 50.0), 40, away(1040, gap=True), 1059, 1060],
            [(1060, "raised", "warning")],
            id="pending before: a gap changes nothing",
        ),
        pytest.param(
            SLOW,
            [at(0, 50.0), 40, away(40 + HOUR), 40 + HOUR + 20],
            [(60 + HOUR, "raised", "warning")],
            id="pending before, away for an hour: still",
        ),
        pytest.param(
            rules(rule(PATIENT, measure="mean", span=100)),
            [at(0, 50.0), 40, away(41 + HOUR), 90 + HOUR],
            [],
            id="pending before, away for longer: off",
        ),
        pytest.param(
            SLOW,
            [at(0, 50.0), 60, at(70, 30.0), 100, away(1000), 1029, 1030],
            [(60, "raised", "warning"), (1030, "cleared", None)],
            id="clearing before, no gap: goes on, the time away is not counted",
        ),
        pytest.param(
            SLOW,
            [at(0, 50.0), 60, at(70, 30.0), 100, away(1000, gap=True), 1059, 1060],
            [(60, "raised", "warning"), (1060, "cleared", None)],
            id="clearing before, with a gap: its timer starts over",
        ),
        pytest.param(
            MEAN,
            [at(0, 90.0), at(5, 90.0), *(at(t, 30.0) for t in (50, 60, 70, 80, 90)), away(101)],
            [(50, "raised", "warning"), (101, "cleared", None)],
            id="cleared while down: at the first valid evaluation, at that time",
        ),
        pytest.param(
            MEAN,
            [*(at(t, 90.0) for t in range(0, 100, 10)), away(185), at(186, 30.0), 400],
            [(40, "raised", "warning")],
            id="too little is left to judge: nothing changes",
        ),
        pytest.param(
            DEAD,
            [at(0, 30.0), 50, away(500), 559, 560],
            [(560, "no_data", None), (560, "no-data raised", "warning")],
            id="silence counts anew",
        ),
        pytest.param(
            DEAD,
            [at(0, 30.0), 60, away(500), 1000, at(1001, 30.0)],
            [
                (60, "no_data", None),
                (60, "no-data raised", "warning"),
                (1001, "data_back", None),
                (1001, "no-data cleared", None),
            ],
            id="silent before: still silent, told once",
        ),
        pytest.param(
            COUNT,
            [at(0, 30.0), at(90, 30.0), at(100, 30.0), away(150), 249, 250],
            [(250, "raised", "warning")],
            id="too few are sure when it was listened to for the whole window",
        ),
        pytest.param(
            LATE,
            [at(0, 50.0), at(3, 30.0), away(100), 101],
            [],
            id="what waited is judged in order, by what it comes to in the end",
        ),
        pytest.param(
            LATE,
            [at(0, 30.0), at(3, 50.0), away(100), at(120, 50.0), 200],
            [(89.999_999_999, "raised", "warning")],  # its own time then
            id="what waited is not lost",
        ),
        pytest.param(
            rules(rule(LOUD, after=60), lateness=10),
            [at(0, 30.0, "hall"), 1, away(50), at(45, 30.0, arrived=51), 121],
            [(110, "no_data", None), (110, "no-data raised", "warning")] * 2,
            id="silence counts anew, also of who was met just after",
        ),
        pytest.param(
            QUICK,
            [at(0, 50.0), at(1, 30.0), missed(1)],
            [(0, "raised", "warning"), (1, "cleared", None)],
            id="lost: what is over is over",
        ),
        pytest.param(
            SLOW,
            [at(0, 50.0), 60, at(70, 30.0), missed(100), 500, at(600, 30.0), 659, 660],
            [(60, "raised", "warning"), (660, "cleared", None)],
            id="lost while clearing: starts over with the next reading",
        ),
        pytest.param(
            SLOW,
            [at(0, 50.0), missed(30), 60],
            [(60, "raised", "warning")],
            id="lost while pending: goes on with what is known",
        ),
        pytest.param(
            DEAD,
            [at(0, 30.0), missed(30), 59, 60],
            [(60, "no_data", None), (60, "no-data raised", "warning")],
            id="lost: a sensor is silent all the same",
        ),
        pytest.param(
            COUNT,
            [at(0, 30.0), at(40, 30.0), at(100, 30.0), missed(101), 200, 201],
            [(201, "raised", "warning")],
            id="lost: too few are sure when all were heard for the whole window",
        ),
    ],
)
def test_what_an_absence_or_a_loss_does(of, story, expected):
    assert tell(of, story) == expected


@pytest.mark.parametrize(
    ("of", "story", "incomplete"),
    [
        (MEAN, [at(0, 30.0)], False),
        (MEAN, [at(0, 30.0), missed(10)], True),
        (MEAN, [at(0, 30.0), missed(10), at(109, 30.0)], True),
        (MEAN, [at(0, 30.0), missed(10), at(110, 30.0)], False),  # (10, 110] holds none of then
        (MEAN, [at(0, 30.0), away(10, gap=True), at(50, 30.0)], True),
        (MEAN, [at(0, 30.0), away(10), at(50, 30.0)], False),
        (QUICK, [at(0, 30.0), missed(10)], True),
        (QUICK, [at(0, 30.0), missed(10), at(11, 30.0)], False),  # the last is all it holds
        (rules(rule(LOUD, measure="mean", count=3)), [at(9, 30.0), missed(9), *map(at, (10, 11), (30.0, 30.0))], True),
        (rules(rule(LOUD, measure="mean", count=3)), [at(9, 30.0), missed(9), *map(at, (10, 11, 12), (30.0,) * 3)], False),
        (LATE, [at(0, 30.0), missed(10), at(15, 30.0), 25], True),  # that of 15 still waits
        (LATE, [at(0, 30.0), missed(10), at(15, 30.0), 26], False),
    ],
)  # fmt: skip
def test_a_window_is_incomplete_until_nothing_lost_could_be_in_it(of, story, incomplete):
    playing = engine(of)
    for step in story:
        if isinstance(step, Reading):
            playing.process(step)
        elif callable(step):
            step(playing)
        else:
            playing.advance(step * S)
    [alert] = playing.alerts()
    assert alert.incomplete is incomplete


def test_a_transition_says_that_its_window_was_incomplete_and_only_then():
    playing = engine(MEAN)
    playing.process(at(0, 30.0))
    playing.lost(5 * S)
    told = [t for second in range(10, 120, 10) for t in playing.process(at(second, 90.0))]
    told += [t for second in range(120, 400, 10) for t in playing.process(at(second, 30.0))]
    assert [(t.event, t.incomplete, t.record().get("incomplete")) for t in told] == [
        ("raised", True, True),
        ("cleared", False, None),
    ]
    again = [type(t).load(t.save()) for t in told]
    assert again == told


def test_no_time_away_is_no_absence():
    playing = engine(SLOW)
    playing.process(at(0, 50.0))
    assert playing.resumed(0, gap=False) == []
    assert brief(playing.advance(60 * S)) == [(60, "raised", "warning")]


def test_an_engine_that_knows_no_time_starts_when_it_is_resumed():
    of = rules(rule(LOUD, after=60), expect=((("room", "attic"),),))
    playing = engine(of)
    assert playing.resumed(100 * S, gap=True) == []
    assert [event for event, *_ in brief(playing.advance(160 * S))] == [160, 160]


def test_a_learned_silence_goes_on_from_what_waited():
    """The gap that a reading in the stage brings is learned although nothing is judged."""
    playing = engine(rules(rule(LOUD, no_data=NoData()), lateness=10))
    for second in (0, 1000, 2000, 3000):
        playing.process(at(second, 30.0))
    playing.resumed(4000 * S, gap=False)
    assert brief(playing.advance(20_000 * S))[0] == (7000, "no_data", None)


def test_series_are_looked_for_no_earlier_than_now():
    of = rules(rule(LOUD), forget=HOUR * S)
    playing = engine(of)
    playing.process(at(0, 30.0))
    playing.resumed(10 * HOUR * S, gap=False)
    assert playing.series == 1
    playing.advance(10 * HOUR * S)
    assert playing.series == 0


def test_after_a_sleep_silence_counts_a_little_later():
    """What connects the sensors has to wake up, too."""
    playing = engine(DEAD)
    playing.process(at(0, 30.0))
    playing.resumed(1000 * S, gap=False, grace=60 * S)
    assert playing.advance(1119 * S) == []
    assert brief(playing.advance(1120 * S))[0] == (1120, "no_data", None)
