"""W33 for aggregators: one that raises costs its window, never the daemon or another window."""

import json
from typing import Any

import pytest
from play import AGGREGATORS, S, at, brief, limit, rule, rules
from shelf import Shelf

from hushd.core.aggregation import Aggregation, Aggregator
from hushd.core.engine import Engine
from hushd.core.windows import FAILURES, REST, Fault
from hushd.plugin.loading import load

PLUGIN = '''\
"""The largest reading; superstitious."""

from hushd.plugin import Aggregation, Aggregator, hookimpl


def unit(value):
    if value == 13:
        raise ValueError("13 brings bad luck")
    return value


@hookimpl
def hushd_aggregators():
    how = Aggregation(lambda: float("-inf"), unit, max, lambda p: p)
    yield Aggregator("superstitious", how, "the largest, but for 13")
'''

LOUD = limit("warning", "above", 45.0, 42.0)


@pytest.fixture(scope="module")
def superstitious(tmp_path_factory) -> Aggregator:
    folder = tmp_path_factory.mktemp("plugins")
    (folder / "superstitious.py").write_text(PLUGIN)
    return load(folder).aggregators["superstitious"]


def playing(of: Any, *more: Aggregator) -> tuple[Engine, list[Fault]]:
    engine, faults = Engine(of, {**AGGREGATORS, **{each.name: each for each in more}}), []
    engine.on_fault = faults.append
    return engine, faults


def values(engine: Engine) -> dict[tuple[str, str], Any]:
    return {
        (alert.rule, dict(alert.labels)["room"]): alert.gauge.read(engine.now).value
        for alert in engine.alerts()
    }


def test_w33_a_plugin_raising_on_13_costs_the_windows_that_hold_it(superstitious):
    engine, faults = playing(
        rules(
            rule(LOUD, name="odd", measure="superstitious", span=10),
            rule(LOUD, name="plain", measure="max", span=10),
        ),
        superstitious,
    )
    for second, value in enumerate([12.0, 13.0, 14.0]):
        engine.process(at(second, value))
        engine.process(at(second, 40.0, room="hall"))
    assert values(engine) == {
        ("odd", "attic"): None,
        ("plain", "attic"): 14.0,
        ("odd", "hall"): 40.0,
        ("plain", "hall"): 40.0,
    }
    assert [(f.at // S, f.labels, f.rests) for f in faults] == [
        (1, (("room", "attic"),), False),
        (2, (("room", "attic"),), False),
    ]
    assert {f.error for f in faults} == {"ValueError: 13 brings bad luck"}
    assert engine.faults == {"superstitious": 2}
    engine.process(at(12, 50.0))  # the 13 has left
    assert values(engine)["odd", "attic"] == 50.0


@pytest.mark.parametrize(
    ("span", "count"), [(5, None), (300, None), (None, 3), (None, 200)], ids=str
)
def test_windows_of_every_kind_recover_when_what_raised_has_left(superstitious, span, count):
    engine, _ = playing(
        rules(rule(LOUD, measure="superstitious", span=span, count=count)), superstitious
    )
    for second in range(700):
        engine.process(at(second, 13.0 if second == 100 else 20.0 + second % 40))
    assert values(engine)["loud", "attic"] == max(
        20.0 + s % 40 for s in range(700 - (span or count), 700)
    )


def test_after_failures_in_a_row_it_rests_and_one_more_lets_it_rest_again(superstitious):
    engine, faults = playing(rules(rule(LOUD, measure="superstitious", count=1)), superstitious)
    for second in range(200):
        engine.process(at(second, 13.0))
    rest = REST // S
    assert [f.at // S for f in faults if not f.rests] == [*range(FAILURES - 1)]
    first = FAILURES - 1
    assert [f.at // S for f in faults if f.rests] == [*range(first, 200, rest)]
    engine.process(at(first + 4 * rest, 50.0))  # well again
    assert brief(engine.advance(engine.now)) == []
    assert values(engine)["loud", "attic"] == 50.0
    engine.process(at(first + 4 * rest + 1, 13.0))
    assert faults[-1].rests is False  # it has to fail as often anew


def test_others_of_the_same_plugin_are_not_made_to_rest(superstitious):
    engine, faults = playing(rules(rule(LOUD, measure="superstitious", count=1)), superstitious)
    told = []
    for second in range(2 * FAILURES):
        told += engine.process(at(second, 13.0))
        told += engine.process(at(second, 50.0 if second > FAILURES else 30.0, room="hall"))
    assert faults[-1].rests
    assert [(t.event, t.labels) for t in told] == [("raised", (("room", "hall"),))]


def test_what_fires_goes_on_firing_while_its_window_cannot_be_judged(superstitious):
    engine, _ = playing(rules(rule(LOUD, measure="superstitious", count=1)), superstitious)
    told = []
    for second in range(100):
        told += engine.process(at(second, 13.0 if second else 50.0))
    told += engine.process(at(200, 30.0))
    assert brief(told) == [(0, "raised", "warning"), (200, "cleared", None)]


@pytest.mark.parametrize("answer", ["loud", (1,), 1j, 10**400], ids=lambda a: type(a).__name__)
def test_what_is_no_number_is_a_fault(answer):
    odd = Aggregator("odd", Aggregation(lambda: 0, float, max, lambda p: answer), "")
    engine, faults = playing(rules(rule(LOUD, measure="odd", span=10)), odd)
    assert engine.process(at(1, 50.0)) == []
    assert len(faults) == 1


def test_what_is_a_number_of_another_kind_is_one():
    from fractions import Fraction

    odd = Aggregator("odd", Aggregation(lambda: 0, float, max, lambda p: Fraction(101, 2)), "")
    engine, _ = playing(rules(rule(LOUD, measure="odd", span=10)), odd)
    [raised] = engine.process(at(1, 1.0))
    assert json.dumps(raised.record()["value"]) == "50.5"


def test_a_window_index_that_raises_is_made_anew_when_it_can_be():
    class Index:
        def __init__(self) -> None:
            self.values: dict[int, float] = {}

        def add(self, event_id: int, value: float) -> None:
            if value == 13:
                raise ValueError("13 brings bad luck")
            self.values[event_id] = value

        def remove(self, event_id: int, value: float) -> None:
            del self.values[event_id]

        def value(self) -> float:
            return max(self.values.values())

    engine, faults = playing(
        rules(rule(LOUD, measure="index", span=10)), Aggregator("index", Index, "")
    )
    for second in range(40):
        engine.process(at(second, 13.0 if second == 5 else 20.0 + second))
    assert [f.at // S for f in faults] == [*range(5, 15)]
    assert values(engine)["loud", "attic"] == 59.0


@pytest.mark.parametrize("cut", [5, FAILURES - 1, FAILURES, FAILURES + 10, 110])
@pytest.mark.parametrize("way", ["restored", "recovered"])
def test_an_engine_fares_as_the_one_it_came_from(superstitious, way, cut):
    of = rules(rule(LOUD, measure="superstitious", count=1))
    story = [at(second, 13.0 if second < 100 else 50.0) for second in range(160)]
    whole, faults = playing(of, superstitious)
    told = [t for step in story for t in whole.process(step)]
    first, early = playing(of, superstitious)
    shelf, parts = Shelf(), []
    for step in story[:cut]:
        parts += first.process(step)
        shelf.commit(first, [step])
    if way == "restored":
        second = Engine.restore(of, {"superstitious": superstitious}, first.snapshot())
    else:
        second = shelf.recover(of, {"superstitious": superstitious})
    second.on_fault = early.append
    parts += [t for step in story[cut:] for t in second.process(step)]
    assert (parts, early) == (told, faults)
