"""Rules of several windows: conditions joined, and values relative to others."""

from dataclasses import replace
from typing import Any

import pytest
from play import S, brief, engine, limit, play, rule
from yard import heard, joined, leaf, look, yard

from hushd.core.joints import join
from hushd.core.readings import Reading
from hushd.core.rules import NoData
from hushd.core.transitions import Part

T, F, N = True, False, None  # holds, does not, cannot be judged


def noise(seconds: float, value: float, zone: str = "north") -> Reading:
    return heard(seconds, "noise", value, zone)


def shaking(seconds: float, value: float, zone: str = "north") -> Reading:
    return heard(seconds, "vibration", value, zone)


def of_rule(told: Any, name: str) -> list[tuple[Any, ...]]:
    return [(t.at / S, t.event, t.severity) for t in told if t.rule == name]


LOUD = leaf("above", 65.0, 62.0)
SHAKES = leaf("above", 5.0, 4.0, sensor="vibration")


# -- what several answers are together -----------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "every", "some"),
    [
        (T, T, T, T),
        (T, F, F, T),
        (T, N, N, T),
        (F, F, F, F),
        (F, N, F, N),
        (N, N, N, N),
    ],
)
def test_three_valued_logic(one: Any, other: Any, every: Any, some: Any) -> None:
    """False settles `all`, true settles `any`; else what cannot be judged leaves it open."""
    for pair in ((one, other), (other, one)):
        assert join("all", pair) is every
        assert join("any", pair) is some
        assert shown("all", pair) == {T: "firing(critical)", F: "ok", N: "warming"}[every]
        assert shown("any", pair) == {T: "firing(critical)", F: "ok", N: "warming"}[some]


def shown(how: str, answers: tuple[Any, Any]) -> str:
    """What an alert shows whose two windows of three readings each answer like that."""
    names = ("noise", "vibration")
    leaves = [leaf("above", 5.0, sensor=name, measure="max", count=3) for name in names]
    playing = engine(yard(joined(how, *leaves)))
    for name, answer in zip(names, answers, strict=True):
        for second in range(2 if answer is None else 3):
            playing.process(heard(second, name, 9.0 if answer is not False else 1.0))
    [alert] = playing.alerts()
    return alert.state


def test_a_join_of_three() -> None:
    assert join("all", (T, N, T)) is N
    assert join("all", (T, N, F)) is F
    assert join("any", (F, N, T)) is T
    assert join("any", (F, N, F)) is N


# -- each condition is a latch, the whole has the delays -----------------------------------


def test_each_condition_goes_on_until_its_own_clear() -> None:
    story = [
        shaking(0, 6.0),
        noise(1, 66.0),  # both
        noise(2, 63.0),  # between clear and limit: still loud
        noise(3, 62.0),  # quiet
        noise(4, 64.0),  # between: still quiet
        noise(5, 66.0),
        shaking(6, 4.5),  # between: still shaking
        shaking(7, 4.0),
    ]
    assert brief(play(yard(joined("all", LOUD, SHAKES)), story)) == [
        (1, "raised", "critical"),
        (3, "cleared", None),
        (5, "raised", "critical"),
        (7, "cleared", None),
    ]


def test_for_and_clear_for_are_of_the_whole() -> None:
    story = [
        shaking(0, 6.0),
        noise(10, 70.0),  # pending
        noise(30, 60.0),  # no more
        noise(40, 70.0),  # pending again
        shaking(60, 7.0),
        90,
        noise(110, 60.0),  # clearing
        noise(150, 70.0),  # not over
        shaking(200, 1.0),  # clearing, for the other's sake
    ]
    of = yard(joined("all", LOUD, SHAKES, wait=60, clear_wait=100))
    assert brief(play(of, story, until=400)) == [
        (100, "raised", "critical"),
        (300, "cleared", None),
    ]


def test_any_goes_on_as_long_as_one_of_them_does() -> None:
    story = [noise(0, 70.0), shaking(10, 1.0), shaking(20, 9.0), noise(30, 50.0), shaking(40, 1.0)]
    of = yard(joined("any", LOUD, SHAKES, severity="info"))
    assert brief(play(of, story)) == [(0, "raised", "info"), (40, "cleared", None)]


def test_only_equal_labels_are_joined() -> None:
    of = yard(joined("all", LOUD, SHAKES))
    assert play(of, [noise(0, 70.0), shaking(1, 9.0, "south")]) == []
    [told] = play(of, [noise(0, 70.0), shaking(1, 9.0)])
    assert told.labels == (("zone", "north"),)


def test_two_conditions_of_one_sensor_and_one_window() -> None:
    both = joined(
        "all",
        leaf("above", 60.0, measure="max", span=60),
        leaf("below", 3.0, measure="range", span=60),
    )
    told = play(yard(both), [noise(0, 50.0), noise(10, 64.0), noise(61, 65.0), noise(72, 66.0)])
    assert brief(told) == [(60, "raised", "critical")]  # loud, and steadily so


def test_the_parts_are_told_instead_of_a_value() -> None:
    of = yard(joined("all", leaf("above", 65.0, measure="max", span=600), SHAKES, name="piling"))
    raised, cleared = play(of, [noise(0, 70.0), shaking(5, 6.0), shaking(9, 1.0)])
    loud = Part("noise", "max", "10m", 70.0, 65.0, "dBA", holds=True)
    assert raised.parts == (loud, Part("vibration", "last", "", 6.0, 5.0, "mm/s", holds=True))
    assert cleared.parts == (loud, Part("vibration", "last", "", 1.0, 5.0, "mm/s", holds=False))
    for told in (raised, cleared):
        assert (told.value, told.limit, told.peak) == (None, None, None)
        assert (told.sensor, told.measure, told.over, told.unit) == ("noise", "all", "", "")
    parts: Any = raised.record()["parts"]
    assert parts[0]["value"] == 70.0


def test_a_trace_says_whether_they_hold_together() -> None:
    playing = engine(yard(joined("all", LOUD, SHAKES)))
    seen = []
    playing.trace = seen.append
    for reading in (noise(0, 70.0), shaking(1, 1.0), shaking(2, 9.0)):
        playing.process(reading)
    assert [(x.value, x.samples, x.state) for x in seen] == [
        (None, 0, "warming"),
        (0.0, 1, "ok"),
        (1.0, 1, "firing(critical)"),
    ]
    assert {(x.rule, x.measure) for x in seen} == {("all", "all")}


PILING = joined(
    "all",
    leaf("above", 65.0, 62.0, measure="leq", span=600, min_coverage=0.5),
    leaf("above", 5.0, 4.0, sensor="vibration", measure="max", span=600, min_coverage=0.5),
    name="piling-nuisance",
    wait=120,
    clear_wait=600,
    no_data=NoData(),
    mute_while=("gateway-offline",),
)
OFFLINE = rule(
    limit("critical", "below", 1.0),
    name="gateway-offline",
    measure="count",
    span=300,
    each=(),
    notify=(("critical", ("foreman",)),),
)


def test_loud_and_shaking_at_once_is_a_breach() -> None:
    """The piles are driven from minute 10 to 20; the noise alone goes on to minute 30."""
    story = []
    for second in range(0, 3600, 10):
        loud, shakes = 600 <= second < 1800, 600 <= second < 1200
        story += [noise(second, 75.0 if loud else 50.0), shaking(second, 8.0 if shakes else 1.0)]
    of = yard(PILING, OFFLINE, interval=10)
    told = play(of, story, until=3600)
    # the mean is above 65 dB from the sixth loud reading on; the shaking is over at 1190 + 600
    assert brief(told) == [(650 + 120, "raised", "critical"), (1790 + 600, "cleared", None)]
    offline = play(of, story, until=3600 + 300)
    assert (3590 + 300, "raised", "critical") in of_rule(offline, "gateway-offline")


# -- one value relative to another ---------------------------------------------------------


EMERGENCE = rule(
    limit("warning", "above", 5.0, 3.0),
    limit("critical", "above", 10.0, 8.0),
    name="emergence",
    each=("zone",),
    measure="max",
    span=60,
    relative_to=look(measure="min", span=600),
    after=3600,
)


def test_a_value_relative_to_another_has_ordinary_limits() -> None:
    story = [noise(0, 40.0), noise(10, 45.5), noise(20, 51.0), noise(85, 42.0)]
    told = play(yard(EMERGENCE), story)
    assert [(t.at // S, t.event, t.severity, t.value, t.limit, t.peak) for t in told] == [
        (10, "raised", "warning", 5.5, 5.0, 5.5),
        (20, "escalated", "critical", 11.0, 10.0, 11.0),
        (85, "cleared", None, 2.0, 10.0, 11.0),  # from 80 on nothing was left to compare
    ]
    assert [t.parts for t in told] == [(), (), ()]


@pytest.mark.parametrize("spoke", ["noise", "vibration"])
def test_a_value_relative_to_nothing_is_none(spoke: str) -> None:
    relative = replace(EMERGENCE, relative_to=look("vibration", "min", span=600))
    playing = engine(yard(relative))
    playing.process(heard(0, spoke, 90.0))
    [alert] = playing.alerts()
    assert (alert.state, alert.gauge.seen.value) == ("warming", None)


def test_a_condition_may_be_relative_too() -> None:
    louder = leaf("at_least", 10.0, measure="max", span=60, less=look(measure="min", span=600))
    of = yard(joined("all", louder, SHAKES))
    story = [shaking(0, 9.0), noise(1, 60.0), noise(2, 69.0), noise(3, 70.0)]
    [told] = play(of, story)
    assert (told.at // S, told.parts[0].value) == (3, 10.0)


def test_a_relative_value_needs_both_windows_as_each_is_written() -> None:
    relative = replace(EMERGENCE, relative_to=look(measure="min", span=600, min_samples=3))
    told = play(yard(relative), [noise(0, 40.0), noise(1, 60.0), noise(2, 60.0)])
    assert brief(told) == [(2, "raised", "critical")]


# -- counts that may have missed something -------------------------------------------------


FEW = leaf("below", 2.0, measure="count", span=60)
MANY = leaf("above", 2.0, 0.0, sensor="vibration", measure="count", span=60)


def test_too_few_is_not_judged_before_all_of_the_window_was_listened_to() -> None:
    of = yard(joined("all", FEW, SHAKES))
    assert brief(play(of, [shaking(0, 9.0)], until=200)) == [(60, "raised", "critical")]


def test_too_many_is_sure_at_once_and_until_it_is_quiet_for_sure() -> None:
    of = yard(joined("any", MANY, leaf("above", 999.0, count=9)))
    playing = engine(of)
    told = [t for second in (0, 1, 2) for t in playing.process(shaking(second, 1.0))]
    assert brief(told) == [(2, "raised", "critical")]
    told = playing.disconnected(10 * S) + playing.connected(50 * S)
    told += playing.advance(61 * S)  # one is left that is known of: above `clear`
    assert brief(told) == []
    # none is left, but what came before 50 was not heard; and the other is not judged yet
    assert brief(playing.advance(109 * S)) == []
    for second in range(110, 119):
        playing.process(noise(second, 1.0))
    assert brief(playing.advance(200 * S)) == []
    [alert] = playing.alerts()
    assert (alert.state, alert.gauge.seen.value) == ("ok", 0.0)


def test_what_may_be_too_little_to_take_off_makes_nothing_sure() -> None:
    more_noise = leaf(
        "above", 1.0, measure="count", span=60, less=look("vibration", "count", span=60)
    )
    of = yard(joined("all", more_noise, more_noise))
    story = [noise(50, 1.0), noise(51, 1.0), noise(52, 1.0)]
    assert brief(play(of, [noise(0, 1.0), *story], until=200)) == [
        (60, "raised", "critical"),
        (111, "cleared", None),
    ]


# -- silence -------------------------------------------------------------------------------


def steady(sensor: str, value: float, start: int, end: int) -> list[Reading]:
    return [heard(second, sensor, value) for second in range(start, end, 10)]


def both(first: list[Reading], second: list[Reading]) -> list[Reading]:
    return sorted([*first, *second], key=lambda r: r.at)


def test_a_silence_that_settles_nothing_is_told_and_the_level_stays() -> None:
    story = both(steady("noise", 70.0, 0, 300), steady("vibration", 9.0, 0, 100))
    story += [shaking(300, 1.0)]
    told = play(yard(joined("all", LOUD, SHAKES, after=60)), story)
    assert of_rule(told, "all") == [
        (0, "raised", "critical"),
        (150, "no_data", "critical"),
        (300, "data_back", "critical"),
        (300, "cleared", None),
    ]
    assert of_rule(told, "vibration/no-data") == [
        (150, "raised", "warning"),
        (300, "cleared", None),
    ]
    assert of_rule(told, "noise/no-data") == []
    silent = next(t for t in told if t.event == "no_data")
    assert [part.holds for part in silent.parts] == [True, None]


def test_a_silence_beside_what_settles_it_is_none_of_the_rule() -> None:
    story = both(steady("noise", 50.0, 0, 300), steady("vibration", 9.0, 0, 100))
    told = play(yard(joined("all", LOUD, SHAKES, after=60)), story)
    assert of_rule(told, "all") == []
    assert of_rule(told, "vibration/no-data") == [(150, "raised", "warning")]  # people hear of it


def test_it_is_stale_as_soon_as_it_depends_on_the_silent_one_and_while_it_does() -> None:
    story = both(steady("noise", 50.0, 0, 200), steady("vibration", 9.0, 0, 100))
    story += [noise(200, 70.0), noise(210, 50.0), noise(220, 70.0), shaking(230, 9.0)]
    told = play(yard(joined("all", LOUD, SHAKES, after=60)), story)
    assert of_rule(told, "all") == [
        (200, "no_data", None),
        (210, "data_back", None),
        (220, "no_data", None),
        (230, "data_back", None),
        (230, "raised", "critical"),
    ]


def test_what_one_says_for_sure_is_raised_while_the_other_is_silent() -> None:
    story = both(steady("noise", 50.0, 0, 300), steady("vibration", 1.0, 0, 100))
    story += [noise(300, 70.0), noise(320, 50.0)]
    told = play(yard(joined("any", LOUD, SHAKES, after=60)), story)
    assert of_rule(told, "any") == [
        (150, "no_data", None),
        (300, "data_back", None),
        (300, "raised", "critical"),
        (320, "no_data", "critical"),  # nobody knows that it is over
    ]


def test_a_silence_drops_what_is_pending_and_what_is_clearing_is_on_again() -> None:
    of = yard(joined("all", LOUD, SHAKES, after=60, wait=100, clear_wait=100))
    story = both(steady("noise", 70.0, 0, 300), steady("vibration", 9.0, 0, 50))
    story = both(story, steady("vibration", 9.0, 200, 310))
    told = play(of, story, until=300)
    assert of_rule(told, "all") == [
        (100, "no_data", None),
        (200, "data_back", None),
        (300, "raised", "critical"),
    ]
    # clearing, as the shaking is over: but then nobody knows any more
    story = both(story, [shaking(310, 1.0), *steady("noise", 70.0, 310, 500)])
    told = play(of, story)
    assert of_rule(told, "all")[3:] == [(370, "no_data", "critical")]


def test_the_level_may_be_cleared_by_a_silence_and_the_silent_one_forgets() -> None:
    cleared = joined("all", LOUD, SHAKES, no_data=NoData(60 * S, "info", "clear"))
    story = both(steady("noise", 70.0, 0, 300), steady("vibration", 9.0, 0, 100))
    story += [shaking(300, 4.5), noise(305, 70.0), shaking(310, 6.0)]
    told = play(yard(cleared), story)
    assert of_rule(told, "all") == [
        (0, "raised", "critical"),
        (150, "no_data", "critical"),
        (150, "cleared", None),
        (300, "data_back", None),
        (310, "raised", "critical"),  # 4.5 had not been enough to begin with
    ]
    assert [t.reason for t in told if t.event == "cleared"][:1] == ["no_data_clear"]


def test_each_sensor_has_its_own_usual_interval() -> None:
    """Noise each 10 s, vibration each 200 s: five minutes of one, ten of the other."""
    shaken = [shaking(second, 9.0) for second in range(0, 801, 200)]
    story = both(steady("noise", 70.0, 0, 810), shaken)
    told = play(yard(joined("all", LOUD, SHAKES, no_data=NoData())), story, until=2000)
    assert of_rule(told, "noise/no-data") == [(1100, "raised", "warning")]
    assert of_rule(told, "vibration/no-data") == [(1400, "raised", "warning")]
    assert of_rule(told, "all") == [(0, "raised", "critical"), (1100, "no_data", "critical")]


def test_one_that_never_speaks_is_missed_too() -> None:
    told = play(yard(joined("all", LOUD, SHAKES, after=60)), steady("noise", 70.0, 100, 200))
    assert of_rule(told, "all") == [(160, "no_data", None)]
    assert of_rule(told, "vibration/no-data") == [(160, "raised", "warning")]


def test_ignored_silence_is_never_told() -> None:
    of = yard(joined("all", LOUD, SHAKES, no_data=None), interval=10)
    story = [noise(0, 70.0), shaking(0, 9.0), noise(9000, 50.0)]
    assert brief(play(of, story)) == [(0, "raised", "critical"), (9000, "cleared", None)]


def test_the_broker_is_no_sensor() -> None:
    playing = engine(yard(joined("all", LOUD, SHAKES, after=60)))
    told = playing.process(noise(0, 70.0)) + playing.process(shaking(0, 9.0))
    told += playing.disconnected(30 * S) + playing.connected(500 * S)
    told += playing.process(noise(520, 70.0)) + playing.advance(1000 * S)
    assert of_rule(told, "all") == [(0, "raised", "critical"), (560, "no_data", "critical")]
    assert of_rule(told, "vibration/no-data") == [(560, "raised", "warning")]
    assert of_rule(told, "noise/no-data") == [(580, "raised", "warning")]


def test_a_relative_value_is_stale_when_either_is_silent() -> None:
    relative = replace(
        EMERGENCE,
        relative_to=look("vibration"),
        no_data=NoData(60 * S),
    )
    story = [shaking(0, 44.0), noise(0, 50.0), *steady("noise", 50.0, 10, 100), shaking(100, 49.0)]
    told = play(yard(relative), story)
    assert of_rule(told, "emergence") == [
        (0, "raised", "warning"),
        (60, "no_data", "warning"),
        (100, "data_back", "warning"),
        (100, "cleared", None),
    ]


# -- flat line -----------------------------------------------------------------------------


FLAT = rule(
    limit("warning", "below", 3.0),
    name="flat",
    each=("zone",),
    measure="range",
    span=3600,
    min_coverage=0.5,
    after=600,
)


def test_a_signal_that_never_moves_is_raised_and_one_that_moves_is_not() -> None:
    """D30: less than 3 dB between the loudest and the quietest of an hour."""
    still = [noise(second, 50.0 + second % 20 / 10) for second in range(0, 7200, 10)]
    moving = [noise(second, 50.0 + second % 600 / 100) for second in range(0, 7200, 10)]
    assert brief(play(yard(FLAT, interval=10), still)) == [(1790, "raised", "warning")]
    assert brief(play(yard(FLAT, interval=10), moving)) == []


def test_a_silence_is_no_flat_line() -> None:
    moving = [noise(second, 50.0 + second % 600 / 100) for second in range(0, 7200, 10)]
    told = play(yard(FLAT, interval=10), moving, until=20_000)
    assert brief(told) == [(7790, "no_data", None), (7790, "no-data raised", "warning")]


# -- who is there --------------------------------------------------------------------------


def test_it_is_there_as_soon_as_one_of_its_windows_is() -> None:
    plain = rule(limit("info", "above", 99.0), name="plain", sensor="vibration", each=("zone",))
    playing = engine(yard(joined("all", LOUD, SHAKES), plain))
    playing.process(noise(0, 50.0))
    assert [(a.rule, a.state) for a in playing.alerts()] == [("all", "ok")]
    playing.process(shaking(1, 1.0))
    assert [a.rule for a in playing.alerts()] == ["all", "plain"]


def test_what_is_expected_is_there_from_the_start() -> None:
    of = yard(joined("all", LOUD, SHAKES, after=60), expect=((("zone", "south"),),))
    told = play(of, [noise(0, 1.0)], until=100)
    assert {(t.rule, t.labels[0][1]) for t in told if t.event == "no_data"} == {
        ("all", "north"),
        ("all", "south"),
    }
    assert {(t.rule, t.labels[0][1]) for t in told if t.event == "raised"} == {
        ("noise/no-data", "south"),
        ("vibration/no-data", "south"),
        ("noise/no-data", "north"),
        ("vibration/no-data", "north"),
    }


def test_all_zones_together() -> None:
    of = yard(joined("all", LOUD, SHAKES, each=()))
    playing = engine(of)
    playing.advance(0)
    assert [a.labels for a in playing.alerts()] == [()]
    playing.process(noise(1, 70.0, "south"))
    [told] = playing.process(shaking(2, 9.0, "north"))
    assert (told.event, told.labels) == ("raised", ())


def test_it_is_forgotten_with_the_last_of_its_windows() -> None:
    playing = engine(yard(joined("any", LOUD, SHAKES), forget=7200))
    playing.process(noise(0, 50.0))
    for second in range(0, 20_000, 500):
        playing.process(shaking(second, 1.0))
    [alert] = playing.alerts()
    assert (alert.state, alert.pool.key.split('"')[1]) == ("ok", "vibration")
    assert playing.process(shaking(20_000, 9.0))[0].event == "raised"  # it goes on
    playing.process(noise(20_001, 50.0))
    [told] = playing.process(shaking(20_002, 1.0))
    assert told.event == "cleared"
    playing.advance(50_000 * S)
    assert list(playing.alerts()) == []
    playing.process(noise(50_001, 50.0))
    assert len(list(playing.alerts())) == 1


def test_no_more_of_them_than_may_be() -> None:
    of = replace(yard(joined("all", LOUD, SHAKES)), alerts_per_rule=1)
    playing = engine(of)
    for zone in ("north", "south"):
        playing.process(noise(0, 70.0, zone))
        playing.process(shaking(0, 9.0, zone))
    assert [(a.labels[0][1], a.state) for a in playing.alerts()] == [("north", "firing(critical)")]
    assert playing.rejected == {
        ("noise", "too_many_alerts"): 1,
        ("vibration", "too_many_alerts"): 1,
    }


def test_a_filter_is_of_each_window() -> None:
    south = leaf("above", 5.0, sensor="vibration", where=(("zone", ("south",)),))
    of = yard(joined("all", LOUD, south, each=()))
    assert play(of, [noise(0, 70.0), shaking(1, 9.0, "north")]) == []
    assert len(play(of, [noise(0, 70.0), shaking(1, 9.0, "south")])) == 1
