"""Who is watched, from when, for how long, and what is refused: the engine around its alerts."""

import math
import pickle
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from play import AGGREGATORS, S, at, brief, engine, limit, play, rule, rules

from hushd.core import codec
from hushd.core.engine import Engine
from hushd.core.rules import NoData
from hushd.core.transitions import Evaluation

LOUD = limit("warning", "above", 45.0, 42.0)
ANY = (("room", "attic"),)


def evaluations(of: Any, story: Any, until: float | None = None) -> list[Evaluation]:
    """Every look at every rule, in order."""
    playing, seen = engine(of), []
    playing.trace = seen.append
    for step in story:
        playing.process(step)
    if until is not None:
        playing.advance(round(until * S))
    return seen


# -- windows, as people reported them -------------------------------------------------------


def test_w1_the_window_holds_what_is_younger_than_its_length() -> None:
    seen = evaluations(
        rules(rule(LOUD, measure="sum", span=3)), [at(t, float(t)) for t in (1, 2, 3, 5, 9)]
    )
    sums = {e.at // S: e.value for e in seen if e.at // S in (1, 2, 3, 5, 9)}
    assert sums == {1: 1.0, 2: 3.0, 3: 6.0, 5: 8.0, 9: 9.0}  # at 5, the reading of 2 is out


def test_w3_a_late_reading_is_never_kept_past_its_time() -> None:
    story = [at(100, 1.0), at(95, 50.0, arrived=100.5), at(106, 1.0)]
    of = rules(rule(LOUD, measure="max", span=10))
    playing = engine(of)
    for step in story:
        playing.process(step)
    assert playing.rejected == {("noise", "late"): 1}
    assert {e.value for e in evaluations(of, story)} == {1.0}
    in_time = [at(100, 1.0), at(95, 50.0, arrived=100), at(106, 1.0)]
    patient = evaluations(rules(rule(LOUD, measure="max", span=10), lateness=5), in_time, 120)
    assert [(e.at / S, e.value) for e in patient if e.value is not None] == [
        (95, 50.0),
        (100, 50.0),
        (105, 1.0),  # it leaves by its own stamp
        (106, 1.0),
        (110, 1.0),
    ]


def test_w5_one_stamp_from_the_future_does_not_make_the_rest_late() -> None:
    playing = engine(rules(rule(LOUD, measure="count", span=60)))
    playing.process(at(86_400, 50.0, arrived=0))
    for second in range(1, 11):
        playing.process(at(second, 30.0))
    assert playing.rejected == {("noise", "future"): 1}
    [alert] = playing.alerts()
    assert alert.gauge.read(10 * S).value == 10


def test_a_stamp_may_be_as_far_ahead_as_is_said_and_no_further() -> None:
    playing = engine(rules(rule(LOUD), future=5))
    playing.process(at(5, 50.0, arrived=0))
    playing.process(at(5, 50.0, "cellar", arrived=0)._replace(at=5 * S + 1))
    assert playing.rejected == {("noise", "future"): 1}
    assert brief(playing.advance(10 * S)) == [(5, "raised", "warning")]


def test_a_stamp_a_little_ahead_waits_for_its_time() -> None:
    of = rules(rule(LOUD))
    playing = engine(of)
    assert playing.process(at(103, 50.0, arrived=100)) == []
    assert playing.deadline() == 103 * S
    assert brief(playing.advance(103 * S)) == [(103, "raised", "warning")]


def test_w8_a_late_reading_expires_by_its_stamp() -> None:
    of = rules(rule(LOUD, measure="count", span=300), lateness=60)
    seen = evaluations(of, [at(100, 1.0), at(55, 1.0, arrived=101)], 1000)
    assert [(e.at / S, e.value) for e in seen] == [(55, 1), (100, 2), (355, 1), (400, 0)]


def test_w10_w28_a_window_empties_by_time_alone_and_an_empty_window_is_no_number() -> None:
    quiet = limit("warning", "below", 30.0)
    seen = evaluations(rules(rule(quiet, measure="mean", span=60)), [at(0, 50.0), at(1, 50.0)], 100)
    assert [(e.at / S, e.value, e.samples) for e in seen][-1] == (61, None, 0)
    assert play(rules(rule(quiet, measure="mean", span=60)), [at(0, 50.0)], 100) == []


def test_a39_the_last_one_and_the_last_two() -> None:
    one = evaluations(rules(rule(LOUD, measure="mean", count=1)), [at(0, 1.0), at(1, 3.0)])
    two = evaluations(
        rules(rule(LOUD, measure="mean", count=2)), [at(0, 1.0), at(1, 3.0), at(2, 5.0)]
    )
    assert [e.value for e in one] == [1.0, 3.0]
    assert [(e.value, e.state) for e in two] == [(1.0, "warming"), (2.0, "ok"), (4.0, "ok")]


def test_a_count_window_ages_only_where_the_rule_says_how_long_silence_may_be() -> None:
    of = rules(
        rule(LOUD, measure="mean", count=2, after=600),
        rule(LOUD, name="b", measure="mean", count=2),
    )
    seen = evaluations(of, [at(0, 1.0), at(1, 3.0)], 10_000)
    assert [(e.at / S, e.samples) for e in seen if e.rule == "loud"] == [
        (0, 1),
        (1, 2),
        (600, 1),
        (601, 0),
    ]
    assert [(e.at / S, e.samples) for e in seen if e.rule == "b"] == [(0, 1), (1, 2)]


@pytest.mark.parametrize("measure", ["last", "first", "max", "min", "median", "sum", "mean"])
def test_a_value_is_a_float_and_never_minus_zero(measure: str) -> None:
    of = rules(rule(LOUD, measure=measure, span=60))
    seen = evaluations(of, [at(0, -0.0), at(1, 0), at(2, -0.0), at(3, 0.0), at(4, -0.0)])
    assert {repr(e.value) for e in seen} == {"0.0"}
    whole = evaluations(of, [at(0, 63), at(1, 63)])
    assert repr(whole[0].value) == "63.0"


# -- weights and coverage ---------------------------------------------------------------------


def slow_leq(
    stamps: list[float], levels: list[float], now: float, span: float, interval: float
) -> Any:
    """(leq, coverage) from the definition: each reading stands until the next, at most hold."""
    hold, energy, covered = 1.5 * interval, [], []
    for i, (stamp, level) in enumerate(zip(stamps, levels, strict=True)):
        seconds = min(stamps[i + 1] - stamp, hold) if i + 1 < len(stamps) else interval
        if now - span < stamp <= now:
            covered.append(seconds)
            energy.append(seconds * 10 ** (level / 10))
    if not sum(covered):
        return None, 0.0
    return 10 * math.log10(math.fsum(energy) / sum(covered)), min(1.0, sum(covered) / span)


@given(
    st.lists(
        st.tuples(st.sampled_from([0.25, 1.0, 1.0, 2.0, 7.5]), st.floats(30, 90)),
        min_size=1,
        max_size=40,
    )
)
def test_leq_and_coverage_follow_their_definition(story: Any) -> None:
    now, stamps, levels = 1000.0, [], []
    playing = engine(rules(rule(LOUD, measure="leq", span=20), interval=1))
    seen: list[Evaluation] = []
    playing.trace = seen.append
    for gap, level in story:
        now += gap
        stamps.append(now)
        levels.append(level)
        playing.process(at(now, level))
        value, coverage = slow_leq(stamps, levels, now, 20, 1)
        assert seen[-1].value == pytest.approx(value, abs=1e-9)
        assert seen[-1].coverage == pytest.approx(coverage, abs=1e-9)


def test_the_interval_is_learned_from_three_gaps_and_then_holds_for_what_came_before() -> None:
    of = rules(rule(LOUD, measure="leq", span=10, min_coverage=0.3))
    seen = evaluations(of, [at(t, 60.0 if t < 8 else 70.0) for t in (0, 2, 4, 6, 8)])
    assert [e.coverage for e in seen] == [None, None, None, pytest.approx(0.8), pytest.approx(1.0)]
    assert [e.state for e in seen] == ["warming"] * 3 + ["firing(warning)"] * 2


def test_just_enough_is_enough() -> None:
    half = rules(rule(LOUD, measure="leq", span=10, min_coverage=0.5), interval=1)
    states = [e.state for e in evaluations(half, [at(t, 60.0) for t in range(6)])]
    assert states == ["warming"] * 4 + ["firing(warning)"] * 2
    three = rules(rule(LOUD, measure="mean", span=60, min_samples=3))
    states = [e.state for e in evaluations(three, [at(t, 60.0) for t in range(4)])]
    assert states == ["warming"] * 2 + ["firing(warning)"] * 2


def test_a_gap_costs_coverage_and_the_window_is_not_judged() -> None:
    """An hour with a hole of twenty minutes: two thirds are not the three quarters asked for."""
    hole = [at(t, 60.0) for t in range(3600) if not 1200 <= t < 2400]
    of = rules(rule(LOUD, measure="leq", span=3600, min_coverage=0.75), interval=1)
    last = evaluations(of, hole)[-1]
    assert last.coverage == pytest.approx(2 / 3, abs=1e-3)
    assert last.state == "warming"


def test_series_that_share_a_window_weigh_alike_whatever_their_phase() -> None:
    """One sensor speaks a tenth of a second after the other: each still counts for half."""
    story = [r for t in range(30) for r in (at(t, 50.0, "attic"), at(t + 0.1, 80.0, "cellar"))]
    of = rules(rule(LOUD, measure="time_mean", span=10, each=(), min_coverage=0.5), interval=1)
    last = evaluations(of, story)[-1]
    assert last.value == pytest.approx(65.0)
    assert last.coverage == pytest.approx(1.0)


def test_a_reading_of_a_shared_window_weighs_the_gap_before_it() -> None:
    """The attic speaks twice a second, the cellar once: each counts for half."""
    story = [at(t / 2, 50.0, "attic") for t in range(60)] + [
        at(t, 80.0, "cellar") for t in range(30)
    ]
    of = rules(rule(LOUD, measure="time_mean", span=10, each=()), interval=1)
    last = evaluations(of, sorted(story, key=lambda r: r.arrived))[-1]
    assert last.value == pytest.approx(65.0, abs=1.0)


def test_coverage_of_a_shared_window_asks_for_all_who_speak() -> None:
    story = [at(t, 50.0, "attic") for t in range(20)] + [at(19.5, 50.0, "cellar")]
    of = rules(rule(LOUD, measure="time_mean", span=10, each=()), interval=1)
    assert evaluations(of, story)[-1].coverage == pytest.approx(0.55)


def test_readings_of_two_clocks_stand_at_their_stamps_in_a_shared_window() -> None:
    of = rules(rule(LOUD, measure="max", span=10, each=()))
    seen = evaluations(of, [at(100, 1.0), at(95, 50.0, "cellar", arrived=100.5)], 120)
    assert [(e.at / S, e.value) for e in seen] == [
        (100, None),  # alive from the start
        (100, 1.0),
        (100.5, 50.0),
        (105, 1.0),
        (110, None),
    ]


# -- duplicates ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("duplicates", "counted", "total", "rejected"),
    [
        ("drop", 3, 1 + 2 + 5, 1),
        ("keep", 4, 1 + 1 + 2 + 5, 0),
        ("last", 2, 1 + 5, 2),
        ("max", 2, 2 + 5, 2),
    ],
)
def test_duplicates(duplicates: str, counted: int, total: float, rejected: int) -> None:
    story = [at(10, 1.0), at(10, 2.0), at(10, 1.0), at(11, 5.0)]
    of = rules(
        rule(LOUD, measure="sum", span=60),
        rule(LOUD, name="n", measure="count", span=60),
        duplicates=duplicates,
    )
    playing = engine(of)
    for step in story:
        playing.process(step)
    playing.advance(12 * S)
    found = {a.rule: a.gauge.read(12 * S).value for a in playing.alerts()}
    assert found == {"loud": total, "n": counted}
    assert playing.rejected["noise", "duplicate"] == rejected


# -- silence, and who is expected -----------------------------------------------------------------


def test_a9_w43_who_never_spoke_is_missed_by_name_from_the_start() -> None:
    of = rules(rule(LOUD, after=600), expect=((("room", "101"),), (("room", "102"),)))
    told = play(of, [at(t, 30.0, "101") for t in range(0, 1200, 60)], 1199)
    assert [(t.at / S, t.rule, t.labels, t.event) for t in told] == [
        (600, "loud", (("room", "102"),), "no_data"),
        (600, "noise/no-data", (("room", "102"),), "raised"),
    ]


def test_nothing_is_said_before_three_gaps_are_known_unless_the_rule_says_how_long() -> None:
    of = rules(rule(LOUD, no_data=NoData()))
    assert play(of, [at(0, 30.0), at(200, 30.0), at(400, 30.0)], 10**6) == []
    told = play(of, [at(t, 30.0) for t in (0, 200, 400, 600)], 10**5)
    assert [(t.at / S, t.event) for t in told] == [(1200, "no_data"), (1200, "raised")]
    told = play(of, [at(t, 30.0) for t in (0, 1, 2, 3)], 10**5)
    assert told[0].at == 303 * S  # never less than five minutes


def test_people_hear_of_one_silence_however_many_rules_watch() -> None:
    of = rules(
        rule(LOUD, name="a", no_data=NoData(120 * S, "info"), notify=(("warning", ("phone",)),)),
        rule(LOUD, name="b", no_data=NoData(60 * S, "critical", notify=("mail",))),
        rule(LOUD, name="c", no_data=None, notify=(("warning", ("nobody",)),)),
    )
    told = play(of, [at(0, 30.0), at(500, 30.0)], 500)
    people = [t for t in told if t.notify]
    assert brief(people) == [(60, "no-data raised", "critical"), (500, "no-data cleared", None)]
    assert people[0].notify == (("critical", ("mail", "phone")),)
    assert [(t.at / S, t.rule, t.event) for t in told if not t.notify] == [
        (60, "b", "no_data"),
        (120, "a", "no_data"),
        (500, "a", "data_back"),
        (500, "b", "data_back"),
    ]


def test_silence_is_not_the_sensors_fault_while_the_connection_is_away() -> None:
    playing = engine(rules(rule(LOUD, after=60)))
    told = playing.process(at(0, 30.0))
    told += playing.disconnected(30 * S)
    told += playing.advance(5000 * S)
    told += playing.connected(5000 * S)
    told += playing.advance(5059 * S)
    assert told == []
    assert brief(playing.advance(5060 * S)) == [
        (5060, "no_data", None),
        (5060, "no-data raised", "warning"),
    ]


def test_too_few_is_judged_only_after_listening_for_the_whole_window() -> None:
    of = rules(rule(limit("critical", "below", 1.0), measure="count", span=300, each=()))
    playing = engine(of)
    assert playing.advance(0) == []
    assert brief(playing.advance(299 * S)) == []
    assert brief(playing.advance(300 * S)) == [(300, "raised", "critical")]
    assert brief(playing.process(at(400, 1.0))) == [(400, "cleared", None)]
    playing.disconnected(500 * S)
    assert playing.advance(2000 * S) == []
    assert playing.connected(2000 * S) == []
    assert playing.advance(2299 * S) == []
    assert brief(playing.advance(2300 * S)) == [(2300, "raised", "critical")]


def test_a29_the_first_quiet_reading_says_nothing() -> None:
    assert play(rules(rule(LOUD)), [at(0, 30.0)], 100) == []


# -- bounds ---------------------------------------------------------------------------------------


def test_w61_series_that_speak_once_are_forgotten() -> None:
    of = rules(rule(LOUD, after=60), forget=600 * S)
    playing = engine(of)
    for second in range(2000):
        playing.process(at(second, 30.0, f"room-{second}"))
        assert playing.series <= 1300
    told = playing.advance(10_000 * S)
    assert playing.series == 0
    assert list(playing.alerts()) == []
    silences = [t for t in told if t.rule == "noise/no-data"]
    assert {t.reason for t in silences if t.event == "cleared"} == {"forgotten"}
    assert len(playing.snapshot()) < 2000  # nothing is left of them


def test_a_firing_alert_is_not_forgotten() -> None:
    playing = engine(rules(rule(LOUD), forget=600 * S))
    playing.process(at(0, 50.0))
    assert playing.advance(10_000 * S) == []
    assert playing.series == 1


def test_more_series_than_allowed_are_refused_and_counted() -> None:
    playing = engine(rules(rule(LOUD), series=2))
    for room in ("a", "b", "c", "a", "c"):
        playing.process(at(0, 30.0, room))
    assert playing.series == 2
    assert playing.rejected == {("noise", "too_many_series"): 2, ("noise", "duplicate"): 1}


def test_more_alerts_than_allowed_are_refused_and_counted() -> None:
    playing = engine(rules(rule(LOUD), alerts_per_rule=2))
    for room in ("a", "b", "c"):
        playing.process(at(0, 50.0, room))
    assert [a.labels[0][1] for a in playing.alerts()] == ["a", "b"]
    assert playing.rejected == {("noise", "too_many_alerts"): 1}


def test_who_is_expected_is_not_forgotten() -> None:
    attic = (("room", "attic"),)
    playing = engine(rules(rule(LOUD, after=60), expect=(attic,), forget=600 * S))
    playing.process(at(0, 30.0))
    playing.process(at(0, 30.0, "cellar"))
    playing.advance(100_000 * S)
    assert playing.series == 0
    assert [a.labels for a in playing.alerts()] == [attic]


def test_transitions_of_one_instant_come_by_series_and_then_by_rule() -> None:
    of = rules(*(rule(LOUD, name=name, measure="max", span=10) for name in ("b", "a")))
    story = [at(0, 50.0, room) for room in ("cellar", "attic")]
    playing = engine(of)
    for step in story:
        playing.process(step._replace(at=5 * S, arrived=S))  # ahead: they wait for one instant
    told = [(t.labels[0][1], t.rule) for t in playing.advance(5 * S)]
    assert told == [("attic", "a"), ("attic", "b"), ("cellar", "a"), ("cellar", "b")]


def test_where_lets_in_only_what_it_names() -> None:
    of = rules(rule(LOUD, where=(("room", ("p1", "p2")),)))
    told = play(of, [at(t, 50.0, room) for t, room in enumerate(("p1", "p3", "p2"))])
    assert [t.labels[0][1] for t in told] == ["p1", "p2"]


# -- what a transition says ------------------------------------------------------------------------


def test_a_transition_says_what_happened_and_keeps_its_id() -> None:
    story = [at(0, 50.0), at(1, 60.0), at(2, 43.0), at(3, 40.0), at(4, 47.0)]
    told = play(rules(rule(LOUD)), story)
    assert [(t.event, t.value, t.limit, t.peak, t.episode, t.reason) for t in told] == [
        ("raised", 50.0, 45.0, 50.0, 1, "value"),
        ("cleared", 40.0, 45.0, 60.0, 1, "value"),
        ("raised", 47.0, 45.0, 47.0, 2, "value"),
    ]
    assert len({t.id for t in told}) == 3
    assert [t.id for t in told] == [t.id for t in play(rules(rule(LOUD)), story)]
    assert told[1].started == 0
    assert told[0].record()["at"] == "1970-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("comparison", "bound", "values", "peak"),
    [
        ("above", 45.0, [50, 60, 55], 60),
        ("at_least", 45.0, [50, 60, 55], 60),
        ("below", 30.0, [20, 10, 15], 10),
        ("at_most", 30.0, [20, 10, 15], 10),
        ("outside", (40.0, 60.0), [65, 20, 70], 20),  # twenty beyond its end, not ten
        ("inside", (40.0, 60.0), [45, 52, 58], 52),
    ],
)
def test_the_peak_is_the_worst_whatever_is_forbidden(
    comparison: str, bound: Any, values: list[float], peak: float
) -> None:
    playing = engine(rules(rule(limit("warning", comparison, bound))))
    for second, value in enumerate(values):
        playing.process(at(second, value))
    assert [a.peak for a in playing.alerts()] == [peak]


def test_one_bound_of_a_band_is_named() -> None:
    band = limit("warning", "outside", (0.5, 4.5))
    told = play(rules(rule(band)), [at(0, 5.0), at(1, 2.0), at(2, 0.1)])
    assert [t.limit for t in told] == [4.5, 4.5, 0.5]


# -- stop, change the rules, resume -------------------------------------------------------------------


def resumed(before: Any, story: Any, after: Any, now: float) -> tuple[Engine, list[Any]]:
    playing = engine(before)
    for step in story:
        playing.process(step)
    again = Engine.restore(after, AGGREGATORS, playing.snapshot())
    return again, again.advance(round(now * S))


def test_rules_are_data_only() -> None:
    of = rules(rule(LOUD), expect=(ANY,))
    assert pickle.loads(pickle.dumps(of)) == of
    assert of.fingerprint == rules(rule(LOUD), expect=(ANY,)).fingerprint
    assert of.fingerprint != rules(rule(LOUD), expect=()).fingerprint


def test_another_limit_keeps_the_state_and_judges_at_once() -> None:
    higher = rules(rule(limit("warning", "above", 60.0, 55.0)))
    _, told = resumed(rules(rule(LOUD)), [at(0, 50.0)], higher, 1)
    assert [(t.event, t.episode) for t in told] == [("cleared", 1)]
    lower = rules(rule(limit("warning", "above", 40.0)))
    again, told = resumed(rules(rule(LOUD)), [at(0, 50.0)], lower, 1)
    assert told == []
    assert next(iter(again.alerts())).state == "firing(warning)"


def test_a_severity_that_is_gone_goes_off() -> None:
    critical = limit("critical", "above", 48.0)
    _, told = resumed(rules(rule(LOUD, critical)), [at(0, 50.0)], rules(rule(LOUD)), 1)
    assert [(t.event, t.severity, t.reason) for t in told] == [
        ("lowered", "warning", "rule_changed")
    ]


def test_a_shorter_wait_never_ends_in_the_past() -> None:
    slow = rules(rule(limit("warning", "above", 45.0, wait=3600)))
    fast = rules(rule(limit("warning", "above", 45.0, wait=60)))
    _, told = resumed(slow, [at(0, 50.0), at(1800, 50.0)], fast, 1801)
    assert brief(told) == [(1800, "raised", "warning")]


def test_a11_a_removed_rule_ends_its_alert_and_says_so() -> None:
    both = rules(rule(LOUD), rule(LOUD, name="other"))
    _, told = resumed(both, [at(0, 50.0)], rules(rule(LOUD)), 1)
    assert [(t.rule, t.event, t.reason, t.notify) for t in told] == [
        ("other", "cleared", "rule_removed", (("warning", ("phone",)),))
    ]


def test_another_measure_is_another_alert() -> None:
    _, told = resumed(
        rules(rule(LOUD)), [at(0, 50.0)], rules(rule(LOUD, measure="max", span=60)), 1
    )
    assert [(t.event, t.reason) for t in told] == [("cleared", "rule_removed"), ("raised", "value")]


def test_a_longer_window_reaches_back_as_far_as_the_log() -> None:
    short, longer = (rules(rule(LOUD, measure="sum", span=span)) for span in (10, 20))
    again, _ = resumed(short, [at(t, 1.0) for t in range(30)], longer, 29)
    [alert] = again.alerts()
    assert 10 <= alert.gauge.read(29 * S).value <= 20


def test_w65_a_sensor_that_comes_back_starts_with_an_empty_window() -> None:
    of = rules(rule(LOUD, measure="count", span=3600))
    none = replace(of, sensors=(), rules=())
    without, _ = resumed(of, [at(t, 1.0) for t in range(9)], none, 10)
    again = Engine.restore(of, AGGREGATORS, without.snapshot())
    again.process(at(11, 1.0))
    [alert] = again.alerts()
    assert alert.gauge.read(11 * S).value == 1


def test_a_snapshot_of_another_version_is_refused() -> None:
    of = rules(rule(LOUD))
    saved = codec.unpack(engine(of).snapshot())
    saved["state"]["version"] = 0
    with pytest.raises(ValueError, match="version 0"):
        Engine.restore(of, AGGREGATORS, codec.pack(saved))


@pytest.mark.parametrize("data", [b"", b'{"version": 1}', codec.pack([])[:-3]])
def test_what_is_no_snapshot_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="not a snapshot"):
        Engine.restore(rules(rule(LOUD)), AGGREGATORS, data)


def test_an_engine_that_has_seen_nothing_can_be_resumed() -> None:
    of = rules(rule(LOUD))
    again = Engine.restore(of, AGGREGATORS, engine(of).snapshot())
    assert again.deadline() is None
    assert brief(again.process(at(0, 50.0))) == [(0, "raised", "warning")]
