"""What went wrong for people with other tools, as cases of ours.

The names begin with the row of the design page on field reports.  Rows that belong to one
module are tested beside it, by the same naming; these are the ones of windows, rules and
alerts that need no more than the engine.
"""

import math
import random
import statistics
from collections.abc import Iterable
from typing import Any

import pytest
from play import AGGREGATORS, S, at, brief, engine, limit, play, rule, rules

from hushd.core.engine import Engine
from hushd.core.readings import Reading
from hushd.core.rules import NoData, Rule, Rules
from hushd.core.transitions import Evaluation
from hushd.runtime.clocks import WallClock

LOUD = limit("warning", "above", 45.0, 42.0)
NEVER = limit("warning", "above", 1e9)
DAY = 86_400
YEAR_2023 = 1_673_740_800  # 2023-01-15


def shown(of: Rules, story: Iterable[Reading], until: float | None = None) -> list[Evaluation]:
    """Every look at every rule, in order."""
    playing, seen = engine(of), []
    playing.trace = seen.append
    for reading in story:
        playing.process(reading)
    if until is not None:
        playing.advance(round(until * S))
    return seen


def measured(measure: str, values: Iterable[float], **more: Any) -> float | None:
    """The value of a measure after readings, one a second."""
    over = more or {"span": 3600}
    return shown(rules(rule(NEVER, measure=measure, **over)), map(at, range(10**6), values))[
        -1
    ].value


def resumed(playing: Engine) -> Engine:
    return Engine.restore(playing.rules, AGGREGATORS, playing.snapshot())


# -- windows ----------------------------------------------------------------------------


@pytest.mark.parametrize("step", [10 * 3600, -3600])
def test_w6_a_stepped_clock_costs_nothing(step: int) -> None:
    wall, steady = 1_000_000 * S, 50 * S
    clock = WallClock(lambda: wall, lambda: steady)
    playing, seen = engine(rules(rule(NEVER, measure="count", span=60))), []
    playing.trace = seen.append
    for second in range(5):
        if second == 3:
            wall += step * S
        arrived = clock.arrival(wall)
        playing.process(Reading("noise", (("room", "attic"),), arrived, 50.0, arrived))
        wall, steady = wall + S, steady + S
        playing.advance(clock.now())
    assert not playing.rejected
    assert [e.value for e in seen] == [1, 2, 3, 4, 5]


def test_w11_d7_a_sensor_that_speaks_on_change_only() -> None:
    """0 for 10 s, 100 for 210 s, 0 for 20 s: 87.5, not the 33.3 of three readings alike."""
    story = [at(0, 0.0), at(10, 100.0), at(220, 0.0)]
    of = rules(
        rule(NEVER, measure="time_mean", span=240),
        rule(NEVER, name="naive", measure="mean", span=240),
        interval=20,
        hold=240,
    )
    last = {e.rule: e for e in shown(of, story)}
    assert last["loud"].value == pytest.approx(87.5)
    assert last["loud"].coverage == pytest.approx(1.0)
    assert last["naive"].value == pytest.approx(100 / 3)


def test_w15_as_many_by_sliding_as_in_a_batch() -> None:
    seen = shown(rules(rule(NEVER, measure="count", span=4)), [at(t, 1.0) for t in range(5)])
    assert [(e.at // S, e.value) for e in seen if e.at == 4 * S][-1] == (4, 4)  # (0, 4]
    assert [e.value for e in seen if e.at == 3 * S] == [4]  # [0, 4)


def test_w16_old_recordings_close_their_windows_by_their_own_time() -> None:
    def story(start: int) -> list[Reading]:
        return [at(start + t, 50.0 if 60 <= t < 90 else 30.0) for t in range(0, 200, 10)]

    of = rules(rule(LOUD, measure="max", span=30, after=60))
    old = play(of, story(YEAR_2023), YEAR_2023 + 1000)
    new = play(of, story(0), 1000)
    assert [(t.at - YEAR_2023 * S, t.event) for t in old] == [(t.at, t.event) for t in new]
    assert len(new) == 4


def test_w18_a_percentile_holds_nothing_of_a_quarter_of_an_hour_ago() -> None:
    of = rules(rule(NEVER, measure="percentile", argument=95, span=300))
    story = [*(at(t, 90.0) for t in range(10)), at(17 * 60, 40.0), at(17 * 60 + 1, 50.0)]
    assert shown(of, story)[-1].value == pytest.approx(49.5)


@pytest.mark.parametrize(("p", "value"), [(5, 1.1), (95, 2.9)])
def test_w20_few_readings_have_a_percentile(p: float, value: float) -> None:
    found = measured("percentile", [1.0, 2.0, 3.0], argument=p, span=60)
    assert found == pytest.approx(value)


def test_w21_two_percentiles_that_begin_alike_are_two() -> None:
    of = rules(
        *(
            rule(NEVER, name=f"p{p}", measure="percentile", argument=p, span=3600)
            for p in (99, 99.9)
        )
    )
    last = {e.measure: e.value for e in shown(of, map(at, range(1000), map(float, range(1, 1001))))}
    assert last == {
        "{percentile: 99}": pytest.approx(990.01),
        "{percentile: 99.9}": pytest.approx(999.001),
    }


@pytest.mark.parametrize("measure", ["stddev", "variance"])
def test_w25_one_reading_has_no_spread_and_raises_nothing(measure: str) -> None:
    steady = limit("warning", "below", 0.5)
    of = rules(rule(steady, measure=measure, span=60))
    [seen] = shown(of, [at(0, 50.0)])
    assert (seen.value, seen.state) == (None, "warming")
    assert brief(play(of, [at(0, 50.0), at(1, 50.0)])) == [(1, "raised", "warning")]


def test_w26_a_sliding_median_is_that_of_a_sorted_list() -> None:
    chance = random.Random(26)
    of = rules(rule(NEVER, measure="median", span=50), duplicates="keep")
    playing, seen, live, now = engine(of), [], [], 0
    playing.trace = seen.append
    for _ in range(5000):
        now += chance.choice((0, 0, 1, 1, 1, 5, 60))
        value = round(chance.gauss(50, 5))
        live = [(t, v) for t, v in [*live, (now, value)] if t > now - 50]
        playing.process(at(now, value))
        assert seen[-1].value == statistics.median_low(v for _, v in live)


@pytest.mark.parametrize("measure", ["mean", "time_mean"])
def test_d9_zero_is_a_number(measure: str) -> None:
    assert measured(measure, [0.0, 0.0, 10.0, 0.0], span=60) == pytest.approx(2.5)


def test_d2_minus_infinity_costs_coverage_and_not_the_level() -> None:
    """A dead microphone: the tenth of ten is refused before it gets here."""
    of = rules(rule(NEVER, measure="leq", span=10), interval=1, hold=1)
    last = shown(of, [at(t, 60.0) for t in range(1, 10)], 10)[-1]
    assert last.value == pytest.approx(60.0)
    seen = shown(of, [*(at(t, 60.0) for t in range(1, 10)), at(10, 60.0)])
    assert [e.coverage for e in seen][-2:] == [pytest.approx(0.9), pytest.approx(1.0)]


def test_d4_levels_are_meant_by_energy() -> None:
    assert measured("leq", [60.0, 80.0], span=60) == pytest.approx(77.03, abs=0.005)


def test_a37_an_average_over_time_is_not_that_of_two_readings() -> None:
    of = rules(rule(NEVER, measure="time_mean", span=900), interval=60, hold=900)
    last = shown(of, [at(0, 40.0), at(899, 80.0)])[-1]
    assert last.value == pytest.approx((40 * 899 + 80 * 60) / 959)
    assert last.value < 43


def test_d22_what_a_sensor_kept_while_it_was_away() -> None:
    story = [at(100, 30.0), *(at(t, 90.0, arrived=101) for t in (40, 50, 60))]
    patient = rules(rule(LOUD, measure="max", span=30), lateness=60)
    assert [(e.at // S, e.value) for e in shown(patient, story, 101 + 60)] == [
        (40, 90.0),
        (50, 90.0),
        (60, 90.0),
        (70, 90.0),
        (80, 90.0),
        (90, None),
        (100, 30.0),
    ]
    prompt = engine(rules(rule(LOUD, measure="max", span=30)))
    assert [t for step in story for t in prompt.process(step)] == []
    assert prompt.rejected == {("noise", "late"): 3}


def test_d30_a_broken_microphone_is_too_steady() -> None:
    flat = limit("warning", "below", 3.0)
    of = rules(rule(flat, measure="range", span=3600, min_coverage=0.9), interval=60)
    alive = [at(t, 46.0 + t % 420 / 60) for t in range(0, 7200, 60)]
    broken = [at(7200 + t, 46.0 + t % 120 / 60) for t in range(0, 7200, 60)]
    assert [t.event for t in play(of, alive)] == []
    assert [t.event for t in play(of, [*alive, *broken])] == ["raised"]


# -- alerts -----------------------------------------------------------------------------


def test_w41_d27_a_restart_neither_repeats_nor_forgets() -> None:
    playing = engine(rules(rule(LOUD)))
    [raised] = playing.process(at(0, 50.0))
    for second in range(1, 4):
        playing = resumed(playing)
        assert playing.process(at(second, 50.0)) == []
    [cleared] = resumed(playing).process(at(10, 30.0))
    assert (cleared.event, cleared.started, cleared.episode) == ("cleared", raised.at, 1)


def test_a32_hysteresis_outlasts_a_restart() -> None:
    playing = engine(rules(rule(LOUD)))
    playing.process(at(0, 46.0))
    playing = resumed(playing)
    assert playing.process(at(10, 44.0)) == []
    assert [a.state for a in playing.alerts()] == ["firing(warning)"]


def test_w66_a21_what_was_waited_for_is_waited_for_after_a_restart() -> None:
    patient = limit("warning", "above", 45.0, 42.0, wait=300)
    playing = engine(rules(rule(patient, after=600)))
    playing.process(at(0, 50.0))
    playing.advance(240 * S)
    playing = resumed(playing)
    assert playing.deadline() == 300 * S
    assert brief(playing.advance(299 * S)) == []
    assert brief(resumed(playing).advance(600 * S)) == [
        (300, "raised", "warning"),
        (600, "no_data", "warning"),
        (600, "no-data raised", "warning"),
    ]


def test_w68_readings_that_come_again_after_a_crash_tell_nothing_twice() -> None:
    story = [at(t, 50.0 if t % 20 < 10 else 30.0) for t in range(60)]
    playing, told = engine(rules(rule(LOUD))), []
    for step in story[:45]:
        told += playing.process(step)
    playing = resumed(playing)
    for step in story[20:]:  # the broker sends the gap and what was seen before it
        told += playing.process(step._replace(arrived=max(step.arrived, 44 * S)))
    assert brief(told) == brief(play(rules(rule(LOUD)), story))
    assert len({t.id for t in told}) == len(told)


def test_a36_a_day_of_readings_outlasts_a_restart() -> None:
    of = rules(rule(LOUD, measure="max", span=DAY, min_coverage=0.5), interval=600)
    playing, seen = engine(of), []
    story = [at(t, 60.0 if t == 600 else 30.0) for t in range(0, DAY, 600)]
    for step in story:
        playing.process(step)
    playing = resumed(playing)
    playing.trace = seen.append
    playing.process(at(DAY, 30.0))
    assert (seen[-1].value, seen[-1].state) == (60.0, "firing(warning)")
    fresh = shown(of, story[: DAY // 1200 - 1])  # nothing is said of half a day or less
    assert {e.state for e in fresh} == {"warming"}


def test_a27_one_quiet_reading_does_not_clear() -> None:
    slow = limit("warning", "above", 45.0, 42.0, clear_wait=60)
    story = [at(0, 50.0), at(10, 30.0), at(20, 50.0), at(79, 50.0)]
    assert brief(play(rules(rule(slow)), story, 1000)) == [(0, "raised", "warning")]


def test_a31_what_did_not_last_is_not_told() -> None:
    patient = limit("warning", "above", 45.0, 42.0, wait=1800)
    story = [at(t, 50.0 if t < 600 else 30.0) for t in range(0, 3600, 10)]
    assert play(rules(rule(patient)), story, 10_000) == []


def test_a42_loud_from_the_first_reading() -> None:
    assert brief(play(rules(rule(LOUD)), [at(0, 50.0)])) == [(0, "raised", "warning")]


def test_a22_known_before_the_restart_and_silent_since() -> None:
    playing = engine(rules(rule(LOUD, after=600)))
    playing.process(at(0, 30.0))
    playing = resumed(playing)
    assert [(t.at // S, t.event) for t in playing.advance(10_000 * S)] == [
        (600, "no_data"),
        (600, "raised"),
    ]


def test_a19_fifty_alerts_and_a_restart() -> None:
    playing = engine(rules(rule(LOUD, after=600)))
    for number in range(50):
        assert len(playing.process(at(number, 50.0, f"room-{number}"))) == 1
    playing = resumed(playing)
    assert playing.advance(playing.now or 0) == []
    for number in range(50):
        assert playing.process(at(100 + number, 50.0, f"room-{number}")) == []


@pytest.mark.parametrize("seed", range(20))
def test_a4_the_journal_is_a_chain(seed: int) -> None:
    """Whatever comes: each change begins where the one before it ended."""
    chance = random.Random(seed)
    rule_of: Rule = rule(
        limit("info", "above", 42.0, 40.0, wait=20, clear_wait=30),
        limit("warning", "above", 46.0, 43.0, clear_wait=10),
        limit("critical", "above", 55.0),
        measure="mean",
        span=40,
        no_data=NoData(90 * S, "warning", chance.choice(("keep", "clear"))),
    )
    playing, told, now = engine(rules(rule_of)), [], 0
    for _ in range(400):
        now += chance.choice((1, 5, 10, 30, 200))
        told += playing.process(at(now, chance.uniform(35, 60), chance.choice("ab")))
        if chance.random() < 0.1:
            playing = resumed(playing)
    told += playing.advance((now + 1000) * S)
    levels: dict[Any, Any] = {}
    for transition in told:
        who = (transition.rule, transition.labels)
        assert levels.get(who) == transition.was
        same = transition.event in ("no_data", "data_back")
        assert (transition.severity == transition.was) == same
        assert (transition.event == "raised") == (transition.was is None and not same)
        assert (transition.event == "cleared") == (transition.severity is None and not same)
        levels[who] = transition.severity
    assert {(a.rule, a.labels): a.level for a in playing.alerts()} == {
        who: level for who, level in levels.items() if who[0] == "loud"
    }


def test_d5_the_leq_of_a_loud_minute_in_a_quiet_hour_is_no_arithmetic_mean() -> None:
    levels = [40.0] * 59 + [80.0]
    energy = 10 * math.log10(sum(10 ** (x / 10) for x in levels) / 60)
    assert measured("leq", levels, span=60) == pytest.approx(energy)
    assert energy > 60 > statistics.mean(levels)
