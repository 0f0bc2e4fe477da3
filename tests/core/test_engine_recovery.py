"""A store that keeps an engine in pieces gives back the engine that was.

The pieces are rows written at different times, and the readings since.  Whenever the process
dies after a commit, the next one goes on as if it had not: transition by transition, and with
the same windows.
"""

from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from play import AGGREGATORS, S, at, engine, limit, rule, rules
from shelf import Shelf
from street import KINDS, LOUD

from hushd.core import codec
from hushd.core.engine import Engine
from hushd.core.readings import Reading
from hushd.core.rules import NoData, Rules
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


EVENTS = ("pass", "disconnected", "connected", "lost", "resumed", "resumed with a gap")
stories = st.lists(st.one_of(*[a_step("reading")] * 6, a_step(*EVENTS)), max_size=50)

#: beside those of the street, a silence that is learned, and a count that is long over
MORE = (
    rule(*LOUD, name="learned", measure="min", span=600, no_data=NoData()),
    rule(limit("info", "above", 6.0), name="many", measure="count", span=45, after=100),
    rule(limit("critical", "above", 57.0, wait=30), name="shared", measure="max", count=4, each=()),
)
worlds = st.builds(
    lambda kinds, interval, lateness, duplicates, expect: rules(
        *kinds,
        interval=interval,
        lateness=lateness,
        duplicates=duplicates,
        expect=expect,
        forget=3600 * S,
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
