"""The engine's promise: any split of a stream gives the transitions of the uninterrupted run.

By process and advance, through snapshot bytes, by series shard, and in any order within the
lateness.  Everything is compared exactly, values to the last bit.
"""

from itertools import pairwise
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from play import AGGREGATORS, S, at, engine, limit, rule, rules
from street import steps, stream, street

from hushd.core.engine import Engine
from hushd.core.rules import Rules


def run(of: Rules, readings: list[Any], until: int | None = None) -> list[dict[str, Any]]:
    playing, told = engine(of), []
    for reading in readings:
        told += playing.process(reading)
    if playing.now is not None:
        told += playing.advance(until or playing.now + 1000 * S)
    return [t.save() for t in told]


@settings(max_examples=150, deadline=None)
@given(steps, st.data(), st.sampled_from([None, 5]))
def test_split_by_advance_and_snapshot(story: Any, data: st.DataObject, interval: Any) -> None:
    of, readings = street(interval=interval), stream(story)
    whole = run(of, readings)
    playing, told = engine(of), []
    for before, reading in pairwise([None, *readings]):
        if before is not None and before.arrived < reading.arrived:
            for now in sorted(
                data.draw(st.lists(st.integers(before.arrived, reading.arrived - 1), max_size=3))
            ):
                told += playing.advance(now)
        told += playing.process(reading)
        if data.draw(st.booleans()):
            playing = Engine.restore(of, AGGREGATORS, playing.snapshot())
    if playing.now is not None:
        told += playing.advance(playing.now + 500 * S)
        playing = Engine.restore(of, AGGREGATORS, playing.snapshot())
        told += playing.advance(readings[-1].arrived + 1000 * S)
    assert [t.save() for t in told] == whole


@settings(max_examples=150, deadline=None)
@given(
    steps,
    st.randoms(use_true_random=False),
    st.sampled_from([(0, "drop"), (0, "last"), (5, "keep"), (30, "drop"), (30, "max")]),
)
def test_split_while_readings_wait(story: Any, random: Any, sensor: Any) -> None:
    """Late ones and those a little ahead wait in the stage, which must come through as well."""
    lateness, duplicates = sensor
    of = street(lateness=lateness, duplicates=duplicates, interval=5)
    readings = [r._replace(at=r.at + random.randint(-40, 5) * S) for r in stream(story)]
    whole = run(of, readings)
    playing, told = engine(of), []
    for reading in readings:
        told += playing.process(reading)
        if random.random() < 0.5:
            refused = playing.rejected
            playing = Engine.restore(of, AGGREGATORS, playing.snapshot())
            assert playing.rejected == refused
    if playing.now is not None:
        told += playing.advance(playing.now + 1000 * S)
    assert [t.save() for t in told] == whole


@given(steps)
def test_stopping_at_every_deadline_misses_nothing(story: Any) -> None:
    of, readings = street(interval=5), stream(story)
    playing, told = engine(of), []
    for reading in readings:
        while (due := playing.deadline()) is not None and due < reading.arrived:
            told += playing.advance(due)
            assert playing.deadline() != due  # it passed: no busy loop
        told += playing.process(reading)
    if readings:
        until = readings[-1].arrived + 1000 * S
        while (due := playing.deadline()) is not None and due <= until:
            told += playing.advance(due)
            assert playing.deadline() != due
        assert playing.advance(until) == []  # nothing was left to notice
    assert [t.save() for t in told] == run(of, readings)


def test_advancing_to_the_past_ends_no_instant() -> None:
    """More readings of the engine's own instant may come: nobody promised that there are none."""
    patient = limit("warning", "above", 45.0, 42.0, wait=5)
    playing = engine(rules(rule(patient)))
    playing.process(at(0, 50.0))
    playing.process(at(5, 50.0))
    assert playing.advance(4 * S) == []
    assert playing.process(at(5, 30.0)) == []
    assert playing.advance(100 * S) == []


def test_what_waits_keeps_its_order_of_arrival_through_a_restore() -> None:
    of = rules(rule(limit("warning", "above", 45.0)), lateness=10, duplicates="last")
    playing = engine(of)
    for second in range(3):
        playing.process(at(second, 30.0))
    playing.process(at(5, 30.0))
    playing = Engine.restore(of, AGGREGATORS, playing.snapshot())
    playing.process(at(5, 50.0))  # the last of its instant
    assert [t.at // S for t in playing.advance(100 * S)] == [5]


def test_an_outage_goes_on_through_a_restore() -> None:
    of = rules(rule(limit("warning", "above", 45.0), after=60))
    playing = engine(of)
    playing.process(at(0, 30.0))
    playing.disconnected(10 * S)
    playing = Engine.restore(of, AGGREGATORS, playing.snapshot())
    assert playing.advance(1000 * S) == []
    playing.connected(1000 * S)
    assert [t.at // S for t in playing.advance(2000 * S)] == [1060, 1060]


def test_old_series_are_looked_for_at_the_same_time_after_a_restore() -> None:
    of = rules(rule(limit("warning", "above", 45.0)))
    playing = engine(of)
    playing.process(at(1_000_000, 30.0))
    resumed = Engine.restore(of, AGGREGATORS, playing.snapshot())
    assert resumed.deadline() == playing.deadline() == 1_003_600 * S


@given(steps)
def test_advancing_twice_is_advancing_once(story: Any) -> None:
    playing = engine(street())
    for reading in stream(story):
        playing.process(reading)
        playing.advance(reading.arrived)
        assert playing.advance(reading.arrived) == []
        assert playing.advance(reading.arrived - 5 * S) == []


@given(steps)
@example([(0, "cellar", 59.9), (5, "cellar", 56.3), (0, "attic", 39.0), (0, "cellar", 39.0)])
def test_shards_by_series_add_up_to_the_whole(story: Any) -> None:
    of = rules(*(r for r in street().rules if r.each), interval=5)
    readings = stream(story)
    if not readings:
        return
    sharded: list[Any] = []
    for room in ("attic", "cellar"):
        playing = engine(of)
        for reading in readings:
            if reading.labels == (("room", room),):
                sharded += playing.process(reading)
            else:
                sharded += playing.advance(reading.arrived - 1)
        sharded += playing.advance(readings[-1].arrived + 1000 * S)
    order = ("at", "labels", "rule", "episode")
    whole = run(of, readings)
    assert _by(order, [t.save() for t in sharded]) == _by(order, whole)


@settings(max_examples=150, deadline=None)
@given(steps, st.randoms(use_true_random=False), st.sampled_from(["drop", "keep", "max"]))
def test_any_order_within_the_lateness(story: Any, random: Any, duplicates: str) -> None:
    of = street(lateness=30, interval=5, duplicates=duplicates)
    sensor_time = [r._replace(arrived=0) for r in stream(story)]
    orders = []
    for _ in range(2):
        shuffled = sorted(
            sensor_time, key=lambda r: (r.at + random.randint(0, 30) * S, random.random())
        )
        newest, arrived = 0, []
        for reading in shuffled:
            newest = max(newest, reading.at)
            arrived.append(reading._replace(arrived=newest))
        orders.append(arrived)
    first, second = orders
    if first and first[0].arrived != second[0].arrived:
        second = first  # the engine's start is a fact of its own
    until = 1_100_000 * S
    order = ("at", "labels", "rule", "episode")
    assert _by(order, run(of, first, until)) == _by(order, run(of, second, until))


@given(steps)
def test_lateness_changes_when_it_is_told_not_what(story: Any) -> None:
    readings = stream([(max(gap, 1), room, value) for gap, room, value in story])
    keys = ("at", "labels", "rule", "event", "severity", "value", "episode", "samples")
    patient, prompt = (
        [{key: t[key] for key in keys} for t in run(street(interval=5, lateness=late), readings)]
        for late in (30, 0)
    )
    order = ("at", "labels", "rule", "episode")
    assert _by(order, patient) == _by(order, prompt)


def _by(keys: tuple[str, ...], told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(told, key=lambda t: tuple(t[k] for k in keys))
