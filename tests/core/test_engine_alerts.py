"""The state machine through the engine: the worked vectors, and random stories beside two oracles."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
from alert_model import ORDER, Model
from hypothesis import given, settings
from hypothesis import strategies as st
from play import S, at, brief, engine, limit, play, rule, rules

ORACLE = Path(__file__).parents[3] / "shared" / "oracle" / "alert_model.py"

WARNING = limit("warning", "above", 45.0, 42.0)


def levels(of: Any, values: list[float]) -> list[str | None]:
    """The level after each of *values*, a second apart."""
    playing, shown = engine(of), []
    for second, value in enumerate(values):
        playing.process(at(second, value))
        shown.append(next(iter(playing.alerts())).level)
    return shown


@pytest.mark.parametrize(
    ("limits", "values", "expected"),
    [
        pytest.param(
            [
                limit("info", "above", 60.0, 50.0),
                limit("warning", "above", 70.0, 60.0),
                limit("critical", "above", 80.0, 70.0),
            ],
            [61, 73, 64, 85, 62, 56, 47],
            ["info", "warning", "warning", "critical", "warning", "info", None],
            id="T1 one latch per severity",
        ),
        pytest.param(
            [WARNING],
            [45, 45.01, 45, 42.01, 42, 45, 46],
            [None, "warning", "warning", "warning", None, None, "warning"],
            id="T2 no history at equality",
        ),
        pytest.param(
            [limit("warning", "at_least", 4000.0)],
            [4001, 4000, 3999, 4000, 3999],
            ["warning", "warning", None, "warning", None],
            id="T3 at_least without clear",
        ),
        pytest.param(
            [limit("warning", "below", 20.0, 21.0), limit("critical", "below", 10.0, 11.0)],
            [50, 9, 15, 50],
            [None, "critical", "warning", None],
            id="A26 hysteresis hides no severity",
        ),
        pytest.param(
            [WARNING],
            [46, 44, 46, 43, 41],
            ["warning", "warning", "warning", "warning", None],
            id="A7 raised once, cleared once",
        ),
        pytest.param(
            [limit("warning", "outside", (0.5, 4.5), (0.7, 4.0))],
            [2, 4.5, 4.6, 4.2, 4.0, 0.5, 0.4, 0.6, 0.7],
            [None, None, "warning", "warning", None, None, "warning", "warning", None],
            id="a band clears inside its own clear",
        ),
        pytest.param(
            [limit("warning", "inside", (2.0, 4.0), (1.0, 5.0))],
            [1.9, 2, 4, 1, 5, 5.1, 4.5, 4, 0.9],
            [None, "warning", "warning", "warning", "warning", None, None, "warning", None],
            id="what is at the edge is inside",
        ),
        pytest.param(
            [limit("warning", "below", 30.0, 33.0)],
            [30, 29.9, 30, 32.9, 33, 30],
            [None, "warning", "warning", "warning", None, None],
            id="below is strict both ways",
        ),
        pytest.param(
            [limit("warning", "at_most", 30.0, 33.0)],
            [30.1, 30, 33, 33.1, 31],
            [None, "warning", "warning", None, None],
            id="at_most is not",
        ),
    ],
)
def test_levels(limits: Any, values: Any, expected: Any) -> None:
    assert levels(rules(rule(*limits)), values) == expected


@pytest.mark.parametrize(
    ("limits", "after", "story", "until", "expected"),
    [
        pytest.param(
            [limit("warning", "above", 40.0, wait=300)],
            None,
            [(t, 50) for t in (0, 60, 120, 180, 240)] + [(300, 30)],
            400,
            [],
            id="T4 a sample at the deadline comes first",
        ),
        pytest.param(
            [limit("warning", "above", 40.0, wait=300)],
            None,
            [(t, 50) for t in (0, 60, 120, 180, 240)] + [(301, 30)],
            400,
            [(300, "raised", "warning"), (301, "cleared", None)],
            id="T4b one second later it does not",
        ),
        pytest.param(
            [limit("warning", "above", 45.0, 42.0, wait=60, clear_wait=120)],
            None,
            [
                (0, 46),
                (30, 44),
                (40, 46),
                (100, 46),
                (110, 44),
                (120, 41),
                (180, 43),
                (200, 41),
                (319, 41),
                (320, 41),
            ],
            320,
            [(100, "raised", "warning"), (320, "cleared", None)],
            id="T5 dead band cancels pending, not firing, and restarts clearing",
        ),
        pytest.param(
            [
                limit("warning", "above", 45.0, 42.0, wait=300),
                limit("critical", "above", 55.0, 50.0),
            ],
            None,
            [(0, 60), (60, 48), (120, 41)],
            500,
            [(0, "raised", "critical"), (60, "lowered", "warning"), (120, "cleared", None)],
            id="T6 critical forces warning on",
        ),
        pytest.param(
            [limit("warning", "above", 40.0, 37.0, wait=60, clear_wait=300)],
            120,
            [(0, 50), (60, 50), (90, 30)] + [(t, 30) for t in range(1000, 1300, 60)],
            1300,
            [
                (60, "raised", "warning"),
                (210, "no_data", "warning"),
                (210, "no-data raised", "warning"),
                (1000, "data_back", "warning"),
                (1000, "no-data cleared", None),
                (1300, "cleared", None),
            ],
            id="T7 silence keeps the level and restarts the clear timer",
        ),
        pytest.param(
            [limit("warning", "above", 40.0, wait=300)],
            120,
            [(0, 50), (60, 50)] + [(t, 50) for t in range(200, 500, 60)],
            500,
            [
                (180, "no_data", None),
                (180, "no-data raised", "warning"),
                (200, "data_back", None),
                (200, "no-data cleared", None),
                (500, "raised", "warning"),
            ],
            id="T7b silence drops pending",
        ),
        pytest.param(
            [limit("warning", "above", 40.0, wait=300)],
            600,
            [(0, 50), (60, 50)],
            300,
            [(300, "raised", "warning")],
            id="T7c a short gap does not break `for`",
        ),
        pytest.param(
            [limit("warning", "above", 200.0, wait=10)],
            None,
            [(t, 300) for t in range(13)],
            12,
            [(10, "raised", "warning")],
            id="W50 exactly one alert",
        ),
        pytest.param(
            [limit("warning", "above", 200.0, wait=10)],
            None,
            [(t, 300 if t < 5 else 100) for t in range(13)],
            12,
            [],
            id="W50 none when it falls in between",
        ),
        pytest.param(
            [limit("warning", "above", 40.0, wait=3)],
            None,
            [(0, 50)],
            60,
            [(3, "raised", "warning")],
            id="W48 the alert comes by time, without a further reading",
        ),
        pytest.param(
            [limit("warning", "above", 45.0, 42.0)],
            3600,
            [(0, 50)],
            7200,
            [
                (0, "raised", "warning"),
                (3600, "no_data", "warning"),
                (3600, "no-data raised", "warning"),
            ],
            id="A1 silence does not clear",
        ),
        pytest.param(
            [limit("warning", "above", 45.0, 42.0)],
            300,
            [(0, 50), (600 - 90 * 4, 50), (330, 50)],
            400,
            [(0, "raised", "warning")],
            id="A2 gaps shorter than `after` say nothing",
        ),
    ],
)
def test_stories(limits: Any, after: Any, story: Any, until: Any, expected: Any) -> None:
    told = play(rules(rule(*limits, after=after)), [at(t, v) for t, v in story], until)
    assert brief(told) == expected


def test_no_data_may_clear_the_level() -> None:
    from hushd.core.rules import NoData

    silent = rules(rule(WARNING, no_data=NoData(60 * S, level="clear")))
    told = play(silent, [at(0, 50)], 100)
    assert [(t.event, t.reason) for t in told if t.rule == "loud"] == [
        ("raised", "value"),
        ("no_data", "no_data"),
        ("cleared", "no_data_clear"),
    ]


# -- random stories ------------------------------------------------------------------------

gaps = st.sampled_from([1, 10, 30, 60, 200])
values = st.sampled_from([30.0, 41.0, 42.0, 43.0, 45.0, 46.0, 50.0, 51.0, 56.0, 60.0])
stories = st.lists(st.tuples(gaps, st.one_of(st.none(), values)), max_size=60)
waits = st.sampled_from([0, 30, 60])


@st.composite
def limit_sets(draw: st.DrawFn) -> dict[str, tuple[str, Any, Any, float, float]]:
    """A few severities, in one direction."""
    chosen = draw(st.lists(st.sampled_from(ORDER), min_size=1, unique=True))
    above = draw(st.booleans())
    bounds = {"info": 42.0, "warning": 46.0, "critical": 55.0}
    found = {}
    for severity in sorted(chosen, key=ORDER.index):
        bound = bounds[severity] if above else 90.0 - bounds[severity]
        clear = draw(st.sampled_from([None, bound - 3 if above else bound + 3]))
        word = draw(st.sampled_from(["above", "at_least"] if above else ["below", "at_most"]))
        found[severity] = (word, bound, clear, draw(waits), draw(waits))
    return found


def ours(chosen: Any, after: Any, story: Any) -> list[tuple[Any, ...]]:
    limits = [
        limit(s, word, bound, clear, wait=wait, clear_wait=clear_wait)
        for s, (word, bound, clear, wait, clear_wait) in chosen.items()
    ]
    playing = engine(rules(rule(*limits, after=after)))
    told, now = [], 0
    for gap, value in story:
        now += gap
        if value is not None:
            told += playing.process(at(now, value))
        told += playing.advance(now * S)
    told += playing.advance((now + 10_000) * S)
    return brief(t for t in told if t.rule == "loud")


@given(limit_sets(), st.sampled_from([None, 120]), stories)
def test_the_engine_agrees_with_the_model(chosen: Any, after: Any, story: Any) -> None:
    model, now = Model(chosen, after), 0
    for gap, value in story:
        now += gap
        if value is not None:
            model.hear(now, value)
        model.advance(now, inclusive=True)
    model.advance(now + 10_000, inclusive=True)
    assert ours(chosen, after, story) == model.log


@pytest.mark.skipif(not ORACLE.exists(), reason="the shared oracle is not beside the repository")
@settings(max_examples=300)
@given(limit_sets(), st.sampled_from([None, 120]), stories)
def test_the_engine_agrees_with_the_reference(chosen: Any, after: Any, story: Any) -> None:
    reference = _reference()
    limits = {s: reference.Limit(*how) for s, how in chosen.items()}
    theirs, now = reference.Alert(limits, stale_after=after), 0
    for gap, value in story:
        now += gap
        if value is None:
            theirs.tick(now)
        else:
            theirs.eval(now, value)
    theirs.tick(now + 10_000)
    assert ours(chosen, after, story) == _one_step_an_instant(theirs.log)


def _reference() -> Any:
    name = "hushd_reference_alert_model"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, ORACLE)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


def _one_step_an_instant(log: list[tuple[float, str, str | None]]) -> list[tuple[Any, ...]]:
    """The reference switches severities one by one; we say where they got to, once."""
    found: list[tuple[Any, ...]] = []
    level: str | None = None  # before the entries of this instant
    rank = {None: 0, "info": 1, "warning": 2, "critical": 3}
    told_of_data = ("no_data", "data_back")
    for i, (when, event, now) in enumerate(log):
        if event in told_of_data:
            found.append((when, event, now))
        elif not any(e[0] == when and e[1] not in told_of_data for e in log[i + 1 :]):
            if rank[now] > rank[level]:
                found.append((when, "raised" if level is None else "escalated", now))
            elif rank[now] < rank[level]:
                found.append((when, "cleared" if now is None else "lowered", now))
            level = now
    return found
