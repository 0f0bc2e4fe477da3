"""A store that keeps an engine in pieces gives back the engine that was.

The pieces are rows written at different times, and the readings since.  Whenever the process
dies after a commit, the next one goes on as if it had not: transition by transition, and with
the same windows.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from play import AGGREGATORS, S, at, brief, engine, limit, regime, rule, rules
from shelf import Shelf
from street import KINDS, LOUD, street

from hushd.core import codec
from hushd.core.engine import Engine
from hushd.core.readings import Reading
from hushd.core.rules import During, Flapping, NoData, Rules, Schedule, Sensor, Span
from hushd.core.series import delay
from hushd.core.transitions import Transition

START = 1_000_000  # seconds


class Step(NamedTuple):
    """What happens next, and what a store does about it."""

    wait: int  # seconds after the step before
    what: str
    room: str
    value: float
    late: int  # seconds that the stamp lies behind
    store: str  # nothing, a commit, or a commit and then a crash
    folds: int  # which shards are written, one for each bit


def a_step(*words: str) -> st.SearchStrategy[Step]:
    return st.builds(
        Step,
        st.sampled_from([0, 1, 5, 5, 5, 10, 30, 200, 3700]),
        st.sampled_from(words),
        st.sampled_from(["attic", "cellar", "hall"]),
        st.sampled_from([39.0, 47.5, 49.0, 50.25, 52.1, 54.0, 56.3, 59.9, 61.0]),
        st.sampled_from([0, 0, 0, 1, 5, 20]),
        st.sampled_from(["", "", "commit", "crash"]),
        st.integers(0, 7),
    )


EVENTS = (
    *("pass", "disconnected", "connected", "lost", "resumed", "resumed with a gap"),
    *("the clock is set", "the clock is doubted"),
)
stories = st.lists(st.one_of(*[a_step("reading")] * 6, a_step(*EVENTS)), max_size=50)

#: beside those of the street, a silence that is learned, and a count that is long over
MORE = (
    rule(*LOUD, name="learned", measure="min", span=600, no_data=NoData()),
    rule(limit("info", "above", 6.0), name="many", measure="count", span=45, after=100),
    rule(limit("critical", "above", 57.0, wait=30), name="shared", measure="max", count=4, each=()),
)
#: on for seven minutes of ten
BUSY = Schedule("busy", tuple(Span(start, start + 7) for start in range(0, 1440, 10)))
HOURS = (
    rule(
        *LOUD,
        name="busy",
        during=During("busy"),
        flapping=Flapping(3, 400 * S),
        after=100,
    ),
    rule(
        name="two limits",
        measure="mean",
        span=120,
        min_coverage=0.3,
        regimes=(
            regime("busy", limit("warning", "above", 50.0, 48.0, wait=30, clear_wait=60)),
            regime("otherwise", *LOUD),
        ),
    ),
    rule(
        *LOUD,
        name="fresh",
        measure="max",
        span=300,
        during=During("busy"),
        fresh_window=True,
        each=(),
    ),
)
MORE += HOURS
worlds = st.builds(
    lambda kinds, interval, lateness, duplicates, expect: rules(
        *kinds,
        interval=interval,
        lateness=lateness,
        duplicates=duplicates,
        expect=expect,
        forget=3600 * S,
        schedules=(BUSY,),
    ),
    st.lists(st.sampled_from([*KINDS, *MORE]), min_size=1, max_size=5, unique_by=lambda r: r.name),
    st.sampled_from([None, None, 5]),
    st.sampled_from([0, 0, 10]),
    st.sampled_from(["drop", "keep", "last", "max"]),
    st.sampled_from([(), ((("room", "hall"),),)]),
)


class Run:
    """An engine, and the readings that it took."""

    def __init__(self, playing: Engine) -> None:
        self.engine = playing
        self.now = START
        self.taken: list[Reading] = []

    def do(self, step: Step) -> list[Transition]:
        """Let one step happen."""
        self.now += step.wait
        playing, now = self.engine, self.now * S
        match step.what:
            case "reading":
                reading = at(self.now - step.late, step.value, step.room, arrived=self.now)
                told = playing.process(reading)
                if playing.took:
                    self.taken.append(reading)
                return told
            case "pass":
                return playing.advance(now)
            case "the clock is set":
                return playing.set_clock(now, shift=round(step.value) * 60 * S, trusted=True)
            case "the clock is doubted":
                return playing.set_clock(now, shift=0, trusted=False)
            case "disconnected":
                return playing.disconnected(now)
            case "connected":
                return playing.connected(now)
            case "lost":
                return playing.lost(now)
            case _:
                return playing.resumed(now, gap="gap" in step.what)


def nearly(found: Any) -> Any:
    """The same, but what is measured may differ by how its terms were grouped."""
    match found:
        case float():
            return pytest.approx(found, rel=1e-9)
        case dict():
            return {key: nearly(each) for key, each in found.items()}
        case list() | tuple():
            return type(found)(map(nearly, found))
        case _:
            return found


def lines(told: list[Transition]) -> list[dict[str, Any]]:
    return [transition.save() for transition in told]


def windows(playing: Engine) -> dict[str, Any]:
    """Every reading that counts, and every number that is made of them."""
    found: dict[str, Any] = {}
    assert playing.now is not None
    local = playing.now - delay(playing.rules.sensors[0])
    for alert in playing.alerts():
        log = alert.pool.save()["log"]
        found[alert.pool.key] = (
            codec.unpack_steps(log["stamps"]),
            codec.unpack_values(log["values"]),
            codec.unpack_numbers(log["covers"], "q"),
        )
        seen = alert.gauge.read(local)
        found[f"{alert.rule} {alert.labels}"] = (
            tuple(seen),
            [(int(latch.state), latch.due) for latch in alert.latches],
            alert.state,
            alert.stale,
            alert.quiet_since,
            alert.patience_ends,
            alert.lacks(local),
            alert.episode,
        )
    return found


def live_through(of: Rules, story: list[Step]) -> None:
    """Compare an engine that nothing happens to with one that is stored and lost."""
    whole, stored, shelf = Run(engine(of)), Run(engine(of)), Shelf()
    for step in story:
        told = whole.do(step)
        assert lines(stored.do(step)) == nearly(lines(told))
        if step.store:
            names = stored.engine.shards()
            folded = {name for i, name in enumerate(names) if step.folds >> i % 3 & 1}
            shelf.commit(stored.engine, stored.taken, folded.__contains__)
            stored.taken = []
        if step.store == "crash":
            stored.engine = shelf.recover(of, AGGREGATORS)
    if story:
        soon, late = (Step(wait, "pass", "", 0.0, 0, "", 0) for wait in (1, 4000))
        assert lines(stored.do(soon)) == nearly(lines(whole.do(soon)))
        assert windows(stored.engine) == nearly(windows(whole.engine))
        assert stored.engine.rejected == whole.engine.rejected
        assert lines(stored.do(late)) == nearly(lines(whole.do(late)))


@settings(max_examples=150, deadline=None)
@given(worlds, stories)
def test_no_crash_after_a_commit_changes_anything(of: Rules, story: list[Step]) -> None:
    live_through(of, story)


def kept(of: Rules, story: list[Reading], *, fold: bool = True) -> tuple[Engine, Shelf]:
    """An engine that has lived through a story, and what a store has of it.

    *fold*: its shards were written half way.
    """
    run, shelf = Run(engine(of)), Shelf()
    for i, reading in enumerate(story):
        run.engine.process(reading)
        run.taken.append(reading)
        if i == len(story) // 2:
            shelf.commit(run.engine, run.taken, lambda _: fold, everything=True)
            run.taken = []
    shelf.commit(run.engine, run.taken)
    return run.engine, shelf


SLOW = rules(rule(limit("warning", "above", 45.0, 42.0, wait=60), measure="max", span=300))
NOISY = [at(START + second, 50.0) for second in range(0, 200, 10)]


def test_nothing_is_raised_again() -> None:
    whole, shelf = kept(SLOW, NOISY)
    again = shelf.recover(SLOW, AGGREGATORS)
    now = START + 190
    assert brief(again.advance(now * S)) == []
    assert [a.episode for a in again.alerts()] == [a.episode for a in whole.alerts()] == [1]
    [cleared] = again.advance((now + 400) * S) + again.process(at(now + 401, 30.0))
    assert (cleared.event, cleared.episode) == ("cleared", 1)


def test_without_the_rows_of_its_alarms_it_would_be() -> None:
    """So the property above can fail: these rows are what it hangs on."""
    _, shelf = kept(SLOW, NOISY)
    shelf.alarms.clear()
    again = shelf.recover(SLOW, AGGREGATORS)
    told = again.advance((START + 400) * S)
    assert [t.event for t in told] == ["raised"]


def test_if_the_replay_judged_it_would_be() -> None:
    """The readings after the shards, put in by an engine that judges them once more."""
    of = rules(rule(limit("warning", "above", 45.0, 42.0)))
    loud_once = [30.0, 30.0, 30.0, 50.0, 30.0]
    _, shelf = kept(of, [at(START + second, value) for second, value in enumerate(loud_once)])
    saved = shelf.saved()
    judging = Engine.recover(of, AGGREGATORS, saved._replace(readings=()))
    told = [t for reading in saved.readings for t in judging.process(reading)]
    assert [(t.event, t.episode) for t in told] == [("raised", 2), ("cleared", 2)]


def test_a_shard_is_as_of_when_it_was_written_and_what_came_since_is_needed() -> None:
    whole, shelf = kept(SLOW, NOISY)
    assert 0 < len(list(shelf.saved().readings)) < len(NOISY)
    shelf.log.clear()
    again = shelf.recover(SLOW, AGGREGATORS)
    assert windows(again) != windows(whole)


@pytest.mark.parametrize("fold", [True, False])
def test_the_rules_may_have_changed(fold: bool) -> None:
    """As with a snapshot: alerts go on, are judged by what is new, or end."""
    story = [reading._replace(value=59.0) for reading in NOISY]
    whole, shelf = kept(street(interval=5), story, fold=fold)
    of = rules(replace(KINDS[0], limits=(LOUD[0],)), *KINDS[2:5], interval=5)
    now = (START + 200) * S
    one, other = (
        playing.advance(now) + playing.process(at(START + 201, 61.0)) + playing.advance(2 * now)
        for playing in (
            Engine.restore(of, AGGREGATORS, whole.snapshot()),
            shelf.recover(of, AGGREGATORS),
        )
    )
    assert {"rule_removed", "rule_changed"} <= {t.reason for t in one}
    assert lines(other) == nearly(lines(one))


def test_an_alert_whose_rule_changed_is_written_and_that_rule_is_not_changed_again() -> None:
    _, shelf = kept(SLOW, NOISY)
    of = rules(replace(SLOW.rules[0], limits=(LOUD[0],)))
    first = shelf.recover(of, AGGREGATORS)
    [row] = first.changes().alarms
    assert row["plan"] == repr(of.rules[0])


def test_a_count_is_sure_at_the_same_time_after_a_crash() -> None:
    of = rules(rule(limit("warning", "below", 2.0), measure="count", span=50, each=()))
    playing, shelf = engine(of), Shelf()
    playing.advance(START * S)
    shelf.commit(playing, [])
    playing.advance((START + 10) * S)
    shelf.commit(playing, [])
    again = shelf.recover(of, AGGREGATORS)
    assert again.deadline() == (START + 50) * S
    assert brief(again.advance((START + 100) * S)) == [(START + 50, "raised", "warning")]


def test_alarms_that_are_no_more_are_named_once() -> None:
    _, shelf = kept(SLOW, NOISY)
    none = replace(SLOW, rules=())
    again = shelf.recover(none, AGGREGATORS)
    numbers = sorted(shelf.alarms)
    assert sorted(again.changes().gone) == numbers
    assert again.changes().gone == []
    assert [(t.event, t.reason) for t in again.advance((START + 200) * S)] == [
        ("cleared", "rule_removed")
    ]


def test_what_is_owed_is_not_lost_before_it_is_told() -> None:
    _, shelf = kept(SLOW, NOISY)
    none = replace(SLOW, rules=())
    again = shelf.recover(none, AGGREGATORS)
    shelf.commit(again, [], everything=True)
    [told] = shelf.recover(none, AGGREGATORS).advance((START + 200) * S)
    assert told.reason == "rule_removed"


def test_in_a_steady_state_readings_mark_nothing() -> None:
    of = rules(*KINDS, interval=5)
    run = Run(engine(of))
    for second in range(0, 1000, 5):
        run.engine.process(at(START + second, 30.0 + second % 7))
    run.engine.changes()
    for second in range(1000, 2000, 5):
        run.engine.process(at(START + second, 30.0 + second % 7))
    changes = run.engine.changes()
    assert (changes.alarms, changes.gone, changes.shards) == ([], [], [])


def test_alarms_go_on_where_readings_are_not_kept() -> None:
    _, shelf = kept(SLOW, NOISY)
    shelf.shards.clear()
    shelf.log.clear()
    again = shelf.recover(SLOW, AGGREGATORS)
    [alert] = again.alerts()
    assert (alert.state, alert.episode) == ("firing(warning)", 1)
    again = Engine.restore(SLOW, AGGREGATORS, again.snapshot())  # a reload
    assert brief(again.advance((START + 1000) * S)) == []
    assert brief(again.process(at(START + 1000, 30.0))) == [(START + 1000, "cleared", None)]
    again.advance((START + 30 * 86_400) * S)
    assert list(again.alerts()) == []  # forgotten like any other


def test_what_never_comes_back_is_forgotten_in_the_end() -> None:
    quiet = [at(START + second, 30.0) for second in range(0, 100, 10)]
    _, shelf = kept(SLOW, quiet)
    shelf.shards.clear()
    shelf.log.clear()
    again = shelf.recover(SLOW, AGGREGATORS)
    assert len(list(again.alerts())) == 1
    again.advance((START + 8 * 86_400) * S)
    assert list(again.alerts()) == []


def test_a_series_that_was_forgotten_does_not_come_back() -> None:
    of = replace(SLOW, forget=600 * S)
    run, shelf = Run(engine(of)), Shelf()
    for reading in (at(START, 30.0), at(START + 5000, 30.0, "cellar")):
        run.engine.process(reading)
        shelf.commit(run.engine, [reading])
    again = shelf.recover(of, AGGREGATORS)
    assert again.shards() == run.engine.shards()
    assert [a.labels for a in again.alerts()] == [(("room", "cellar"),)]


@pytest.mark.parametrize(
    ("eaches", "apart"),
    [
        ([("room",)], True),
        ([("floor", "room"), ("room",)], True),
        ([("floor",)], False),
        ([("room",), ("floor",)], False),
        ([("room",), ()], False),
        ([], True),  # no rule at all: nothing is shared
    ],
)
def test_series_that_may_share_a_window_are_one_shard(eaches: Any, apart: bool) -> None:
    sensor = Sensor("noise", labels=("floor", "room"))
    of = Rules((sensor,), tuple(rule(LOUD[0], name=f"{i}", each=e) for i, e in enumerate(eaches)))
    playing = engine(of)
    for room in ("attic", "cellar"):
        playing.process(
            Reading("noise", (("floor", "1"), ("room", room)), START * S, 1.0, START * S)
        )
    names = {playing.shard_of("noise", (("floor", "1"), ("room", r))) for r in ("attic", "cellar")}
    assert len(names) == 1 + apart
    assert names <= set(playing.shards())


def test_a_shard_weighs_what_its_windows_keep_and_one_that_is_no_more_nothing() -> None:
    whole, _ = kept(SLOW, NOISY)
    [name] = whole.shards()
    assert whole.weight(name) == len(NOISY)
    assert whole.save_shard("noise in the shed") == b""
    assert whole.weight("noise in the shed") == 0


def test_what_another_version_wrote_is_refused() -> None:
    _, shelf = kept(SLOW, NOISY)
    saved = shelf.saved()
    with pytest.raises(ValueError, match="version 0"):
        Engine.recover(SLOW, AGGREGATORS, saved._replace(state={**saved.state, "version": 0}))
    old = codec.pack({**codec.unpack(saved.shards[0]), "version": 0})
    with pytest.raises(ValueError, match="version 0"):
        Engine.recover(SLOW, AGGREGATORS, saved._replace(shards=[old]))
