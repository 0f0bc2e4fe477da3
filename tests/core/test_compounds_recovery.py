"""Rules of several windows go on exactly as they were: from a snapshot, from a store, in shards."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from play import AGGREGATORS, S, brief, engine, limit, rule
from shelf import Shelf
from yard import heard, joined, leaf, look, yard

from hushd.core.compounds import CompoundAlert
from hushd.core.engine import Engine
from hushd.core.readings import Reading
from hushd.core.rules import During, NoData, Regime, Rules, Schedule, Span
from hushd.core.series import delay
from hushd.core.transitions import Transition

START = 1_000_000  # 13:46:40

LOUD = leaf("above", 52.0, 48.0)
SHAKES = leaf("above", 53.0, 50.0, sensor="vibration", measure="max", span=30)
NOW = Schedule("now", (Span(13 * 60 + 48, 13 * 60 + 55), Span(14 * 60, 24 * 60)))
RELATIVE = rule(
    limit("warning", "above", 3.0, 1.0, wait=7, clear_wait=5),
    limit("critical", "above", 8.0),
    name="relative",
    each=("zone",),
    measure="leq",
    span=60,
    after=50,
    relative_to=look("vibration", "percentile", argument=10, span=300),
)
KINDS = (
    joined("all", LOUD, SHAKES, name="both", wait=10, clear_wait=12, after=45),
    joined("any", SHAKES, leaf("below", 2.0, measure="count", span=40), name="few", after=60),
    joined(
        "all",
        leaf("above", 49.0, 48.0, measure="leq", span=60, min_coverage=0.3),
        leaf("above", 50.0, sensor="vibration", measure="mean", count=3),
        name="weighed",
        no_data=NoData(40 * S, "critical", "clear"),
    ),
    joined("any", LOUD, SHAKES, name="learned", no_data=NoData(), wait=5),
    joined("all", LOUD, SHAKES, name="shared", each=(), after=100, clear_wait=30),
    joined("any", LOUD, leaf("above", 1.0, less=look("vibration")), name="mixed", no_data=None),
    joined("all", LOUD, SHAKES, name="at times", during=During("now"), after=70),
    joined("any", LOUD, SHAKES, name="afresh", fresh_window=True, during=During("now"), wait=3),
    RELATIVE,
    rule(limit("info", "above", 55.0), name="plain", sensor="vibration", each=("zone",), after=80),
)
worlds = st.builds(
    lambda kinds, lateness, duplicates, expect, interval: replace(
        yard(
            *kinds,
            duplicates=duplicates,
            expect=expect,
            forget=3600,
            lateness=lateness,
            **({} if interval is None else {"interval": interval}),
        ),
        schedules=(NOW,),
    ),
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=4, unique_by=lambda r: r.name),
    st.sampled_from([0, 0, 10]),
    st.sampled_from(["drop", "keep", "last"]),
    st.sampled_from([(), ((("zone", "north"),),)]),
    st.sampled_from([None, 5]),
)
stories = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 5, 5, 5, 10, 30, 200, 3700]),  # seconds after the one before
        st.sampled_from(
            [
                *["reading"] * 9,
                "pass",
                "disconnected",
                "connected",
                "lost",
                "resumed",
                "gap",
                "clock",
            ]
        ),
        st.sampled_from(["noise", "vibration"]),
        st.sampled_from(["north", "south"]),
        st.sampled_from([39.0, 47.5, 49.0, 50.25, 52.1, 54.0, 56.3, 61.0]),
        st.sampled_from([0, 0, 0, 1, 5, 20]),  # by which the stamp is late
        st.sampled_from(["", "", "commit", "crash", "reload"]),
        st.integers(0, 15),  # which shards are written, one for each bit
    ),
    max_size=50,
)


class Run:
    """An engine, and the readings that it took."""

    def __init__(self, of: Rules) -> None:
        self.engine = engine(of)
        self.now = START
        self.taken: list[Reading] = []

    def do(self, step: Any) -> list[Transition]:
        wait, what, sensor, zone, value, late, *_ = step
        self.now += wait
        playing, now = self.engine, self.now * S
        if what == "reading":
            reading = heard(self.now - late, sensor, value, zone, arrived=self.now)
            told = playing.process(reading)
            if playing.took:
                self.taken.append(reading)
            return told
        if what == "pass":
            return playing.advance(now)
        if what == "clock":  # an hour off, or not to be believed
            return playing.set_clock(now, shift=late * 180 * S, trusted=value > 50)
        if what in ("resumed", "gap"):
            return playing.resumed(now, gap=what == "gap")
        return getattr(playing, what)(now)


def nearly(found: Any) -> Any:
    """The same, but what is measured may differ by how its terms were grouped."""
    match found:
        case float():
            return pytest.approx(found, rel=1e-9, abs=1e-9)
        case dict():
            return {key: nearly(each) for key, each in found.items()}
        case list():
            return [nearly(each) for each in found]
        case tuple():
            return tuple(nearly(each) for each in found)
        case _:
            return found


def lines(told: list[Transition]) -> list[dict[str, Any]]:
    return [{**t.save(), "parts": [list(part) for part in t.parts]} for t in told]


def insides(playing: Engine) -> dict[str, Any]:
    """Every number that an alert goes by."""
    found: dict[str, Any] = {}
    assert playing.now is not None
    local = playing.now - delay(playing.rules.sensors[0])
    for alert in playing.alerts():
        own: list[Any] = [
            tuple(alert.gauge.read(local)),
            [(int(latch.state), latch.due) for latch in alert.latches],
            alert.state,
            alert.stale,
            alert.quiet_since,
            alert.lacks(local),
            alert.episode,
            alert.pool.key,
        ]
        if isinstance(alert, CompoundAlert):
            own += [(ear.quiet_since, ear.silent, ear.patience_ends) for ear in alert.ears]
            own.append(alert.save()["on"])
        found[f"{alert.rule} {alert.labels}"] = own
    return found


@settings(max_examples=120, deadline=None)
@given(worlds, stories)
def test_no_crash_and_no_reload_changes_anything(of: Rules, story: list[Any]) -> None:
    whole, stored, shelf = Run(of), Run(of), Shelf()
    anew = False  # the store has nothing of this engine
    for step in story:
        told = whole.do(step)
        assert lines(stored.do(step)) == nearly(lines(told))
        store, folds = step[-2:]
        if store in ("commit", "crash"):
            names = stored.engine.shards()
            folded = {name for i, name in enumerate(names) if folds >> i % 4 & 1}
            taken = [] if anew else stored.taken  # with everything, its windows are written
            shelf.commit(stored.engine, taken, folded.__contains__, everything=anew)
            stored.taken, anew = [], False
        if store == "crash":
            stored.engine = shelf.recover(of, AGGREGATORS)
        if store == "reload":
            stored.engine = Engine.restore(of, AGGREGATORS, stored.engine.snapshot())
            shelf, anew = Shelf(), True
    if story:
        soon, late = ((wait, "pass", "", "", 0.0, 0) for wait in (1, 4000))
        assert lines(stored.do(soon)) == nearly(lines(whole.do(soon)))
        assert insides(stored.engine) == nearly(insides(whole.engine))
        assert lines(stored.do(late)) == nearly(lines(whole.do(late)))


@settings(max_examples=60, deadline=None)
@given(worlds, stories)
def test_stopping_at_every_deadline_misses_nothing(of: Rules, story: list[Any]) -> None:
    readings, now = [], START
    for wait, _, sensor, zone, value, *_ in story:
        now += wait
        readings.append(heard(now, sensor, value, zone))
    whole, told = engine(of), []
    stepwise, found = engine(of), []
    until = (now + 1000) * S
    for reading in readings:
        told += whole.process(reading)
        while (due := stepwise.deadline()) is not None and due < reading.arrived:
            found += stepwise.advance(due)
            assert stepwise.deadline() != due  # it passed: no busy loop
        found += stepwise.process(reading)
    if readings:
        told += whole.advance(until)
        while (due := stepwise.deadline()) is not None and due <= until:
            found += stepwise.advance(due)
            assert stepwise.deadline() != due
    assert lines(found) == lines(told)


@settings(max_examples=60, deadline=None)
@given(stories)
def test_zones_add_up_to_the_whole(story: list[Any]) -> None:
    of = replace(yard(*(kind for kind in KINDS if kind.each), interval=5), schedules=(NOW,))
    readings, now = [], START
    for wait, _, sensor, zone, value, *_ in story:
        now += wait
        readings.append(heard(now, sensor, value, zone))
    until = (now + 1000) * S

    def run(taken: list[Reading]) -> list[dict[str, Any]]:
        playing = engine(of)
        playing.advance(START * S)
        told = [t for reading in taken for t in playing.process(reading)]
        return lines(told + playing.advance(until))

    apart = [line for zone in ("north", "south") for line in run(of_zone(readings, zone))]
    keys = ("at", "labels", "rule", "episode", "event")
    ordered = sorted(apart, key=lambda line: [line[key] for key in keys])
    assert ordered == sorted(run(readings), key=lambda line: [line[key] for key in keys])


def of_zone(readings: list[Reading], zone: str) -> list[Reading]:
    return [reading for reading in readings if dict(reading.labels)["zone"] == zone]


# -- other rules, and what was not kept ----------------------------------------------------


BOTH = joined("all", LOUD, leaf("above", 5.0, 4.0, sensor="vibration"), after=3600)


def firing() -> Engine:
    playing = engine(yard(BOTH))
    told = playing.process(heard(START, "noise", 70.0))
    told += playing.process(heard(START + 1, "vibration", 9.0))
    assert brief(told) == [(START + 1, "raised", "critical")]
    return playing


def reloaded(playing: Engine, other: Any) -> Engine:
    return Engine.restore(yard(other), AGGREGATORS, playing.snapshot())


def test_a_condition_with_another_limit_is_judged_by_it_at_once() -> None:
    louder = replace(LOUD, limit=limit("info", "above", 80.0, 75.0))
    again = reloaded(firing(), replace(BOTH, leaves=(louder, BOTH.leaves[1])))
    assert brief(again.advance((START + 2) * S)) == [(START + 1, "cleared", None)]


def test_what_was_on_is_judged_by_the_new_clear() -> None:
    lower = replace(LOUD, limit=limit("info", "above", 80.0, 60.0))
    again = reloaded(firing(), replace(BOTH, leaves=(lower, BOTH.leaves[1])))
    assert again.advance((START + 2) * S) == []


@pytest.mark.parametrize(
    "other",
    [
        replace(BOTH, join="any", measure=replace(BOTH.measure, name="any")),
        replace(BOTH, leaves=(LOUD, leaf("above", 5.0, sensor="vibration", measure="max"))),
        replace(BOTH, leaves=(LOUD, leaf("above", 5.0))),
        replace(BOTH, leaves=(LOUD,)),
    ],
    ids=["join", "measure", "sensor", "fewer"],
)
def test_other_conditions_are_another_alert(other: Any) -> None:
    told = reloaded(firing(), other).advance((START + 2) * S)
    assert (told[0].event, told[0].reason) == ("cleared", "rule_removed")


def test_one_condition_of_two_windows_is_not_two_of_one() -> None:
    """They look at the same, in the same order; what was on is nothing to the other."""
    less = leaf("above", 52.0, less=BOTH.leaves[1].input)
    again = reloaded(firing(), replace(BOTH, leaves=(less,)))
    again.advance((START + 2) * S)
    [alert] = again.alerts()
    assert alert.state == "firing(critical)"
    assert alert.save()["on"] == [True]  # 70 - 9 is above 52


def test_an_alert_goes_on_where_no_readings_were_kept() -> None:
    playing, shelf = firing(), Shelf()
    shelf.commit(playing, [], everything=True)
    again = shelf.recover(yard(BOTH), AGGREGATORS)
    [alert] = again.alerts()
    assert (alert.state, alert.episode) == ("firing(critical)", 1)
    assert again.process(heard(START + 10, "vibration", 9.0)) == []
    told = again.process(heard(START + 11, "noise", 30.0))
    assert brief(told) == [(START + 11, "cleared", None)]
    assert len(list(again.alerts())) == 1


def test_what_is_silent_stays_silent_over_a_reload() -> None:
    playing = engine(yard(replace(BOTH, no_data=NoData(60 * S))))
    playing.process(heard(START, "vibration", 9.0))
    for second in range(0, 200, 10):
        playing.process(heard(START + second, "noise", 30.0))
    again = Engine.restore(playing.rules, AGGREGATORS, playing.snapshot())
    told = again.process(heard(START + 200, "noise", 70.0))
    assert [(t.rule, t.event) for t in told] == [("all", "no_data")]


def test_in_a_steady_state_readings_mark_nothing() -> None:
    of = replace(yard(*KINDS, interval=5), schedules=())
    of = replace(of, rules=tuple(kind for kind in KINDS if kind.during is None))
    playing = engine(of)
    for second in range(0, 2000, 5):
        if second == 1000:
            playing.changes()
        playing.process(heard(START + second, "vibration", 40.0 + second % 7))
        playing.process(heard(START + second, "noise", 30.0 + second % 7))
    changes = playing.changes()
    assert (changes.alarms, changes.gone, changes.shards) == ([], [], [])


def test_what_rests_remembers_nothing() -> None:
    """Loud before the hours end, between clear and limit when they begin again."""
    regime = Regime(During("now"), BOTH.limits)
    of = replace(yard(replace(BOTH, limits=(), regimes=(regime,), no_data=None)), schedules=(NOW,))
    playing = engine(of)
    midnight = START - START % 86_400
    told = []
    for clock, sensor, value in (
        ((13, 50), "vibration", 9.0),
        ((13, 51), "noise", 70.0),
        ((13, 54), "noise", 50.0),  # between
        ((13, 57), "noise", 70.0),  # at rest
        ((13, 58), "noise", 50.0),
        ((14, 1), "noise", 50.0),
        ((14, 2), "noise", 53.0),
    ):
        second = midnight + clock[0] * 3600 + clock[1] * 60
        told += playing.process(heard(second, sensor, value))
    assert [((t.at // S - midnight) / 60 - 13 * 60, t.event, t.reason) for t in told] == [
        (51, "raised", "value"),
        (55, "cleared", "schedule"),
        (62, "raised", "value"),
    ]
