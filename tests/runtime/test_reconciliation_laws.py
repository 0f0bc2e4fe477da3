"""What holds of any story: who is told what, beside a small model and the reference."""

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from courier import SECOND, Courier
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hushd.core.reconcile import Habit
from hushd.core.rules import During, Manner, Notify, Rate, Schedule, Severity, Span

ORACLE = Path(__file__).parents[3] / "shared" / "oracle" / "alert_model.py"
NOTIFY: Notify = (("info", ("mail",)), ("warning", ("desk",)), ("critical", ("phone",)))
LEAST = {"mail": "info", "desk": "warning", "phone": "critical"}
ALERT = ("too-loud", (("room", "101"),))
RANK = {None: 0, "info": 1, "warning": 2, "critical": 3}
ON = {"raised", "raised_again", "escalated", "lowered", "flapping", "repeat"}


@dataclass
class Step:
    """What happens after a while: a level, the line, a silence, a restart."""

    after: int
    level: Severity | None
    what: str  # level, down, up, mute, unmute, restart, flap, steady


levels = st.sampled_from([None, None, "info", "warning", "critical"])


def stories(*kinds: str) -> st.SearchStrategy[list[Step]]:
    whats = st.sampled_from(["level", "level", "level", *kinds])
    return st.lists(st.builds(Step, st.integers(1, 50), levels, whats), max_size=25)


class Life:
    """Runs a story, and remembers what was on, and whether people could hear of it."""

    def __init__(self, story: list[Step], couriers: list[Courier]) -> None:
        self.couriers = couriers
        self.at = 0
        self.level: Severity | None = None
        self.episode = 0
        self.flapping = False
        for step in story:
            self.at += step.after
            self.step(step)

    def step(self, step: Step) -> None:
        """Let it happen to all."""
        if step.what == "level":
            if step.level == self.level:
                return
            self.episode += self.level is None
            self.level = step.level
        for one in self.couriers:
            match step.what:
                case "level":
                    self.tell(one)
                case "flap" | "steady" if self.episode and self.flapping != (step.what == "flap"):
                    self.tell(one, event="flapping" if step.what == "flap" else "steady")
                case "down" | "up":
                    one.be(self.at, up=step.what == "up")
                case "mute":
                    one.mute(self.at, 10**6)
                case "unmute":
                    one.unmute(self.at)
                case "restart":
                    one.restart(self.at)

        if self.episode and step.what in {"flap", "steady"}:
            self.flapping = step.what == "flap"

    def tell(self, one: Courier, event: str | None = None) -> None:
        """Let the alert change as the engine says it."""
        flapping = self.flapping if event is None else event == "flapping"
        event = event or ("raised" if self.level else "cleared")
        one.happen(self.at, self.level, self.episode, notify=NOTIFY, event=event, flapping=flapping)

    def rest(self) -> None:
        """Let everything be well with the line and nobody ask for quiet, for long."""
        self.at += 1
        self.step(Step(0, None, "steady"))
        for one in self.couriers:
            one.be(self.at, up=True).unmute(self.at).wait(self.at + 500)


def wanted(notifier: str, level: Severity | None) -> Severity | None:
    return level if RANK[level] >= RANK[LEAST[notifier]] else None


manners = st.sampled_from(
    [
        Manner(),
        Manner(batch=20 * SECOND),
        Manner(rate=Rate(1, 40 * SECOND)),
        Manner(rate=Rate(3, 100 * SECOND), batch=5 * SECOND),
        Manner(refresh=30 * SECOND),
        Manner(clears=False),
    ]
)
#: with quiet hours, too, from 00:05 to 00:10
QUIET = (Schedule("tea", (Span(5, 10),)),)
quiet_manners = st.sampled_from(
    [
        Manner(quiet=During("tea")),
        Manner(quiet=During("tea"), quiet_except="critical", batch=5 * SECOND),
        Manner(quiet=During("tea"), quiet_summary=True, rate=Rate(1, 40 * SECOND)),
        Manner(quiet=During("tea"), quiet_summary=True),
    ]
)
habits = st.builds(
    Habit,
    st.sampled_from([(), (15 * SECOND,), (15 * SECOND, 30 * SECOND)]),
    st.sampled_from([0, 60 * SECOND]),
)


@settings(max_examples=400, deadline=None)
@given(
    stories("down", "up", "mute", "unmute", "restart", "flap", "steady"),
    manners | quiet_manners,
    habits,
    st.sampled_from([*LEAST]),
)
def test_in_the_end_all_know_how_it_is_and_none_hears_an_end_without_a_beginning(
    story, manner, habit, name
):
    courier = Courier(habit, manner, name=name, schedules=QUIET)
    life = Life(story, [courier])
    life.rest()
    told = courier.errands.told.get(ALERT)
    want = wanted(name, life.level)
    assert (None if told is None else told.level) == want
    on = False
    for _, kind, _ in courier.said:
        assert on or kind in {"raised", "missed", "flapping"}, courier.said
        assert not on or kind not in {"raised", "missed"} or not manner.clears, courier.said
        on = kind in ON
    assert on == (want is not None) or not manner.clears
    assert len(courier.errands) == 0


@settings(max_examples=200, deadline=None)
@given(stories("down", "up", "restart"), manners)
def test_no_episode_goes_unreported(story, manner):
    """Each is told, or is one of those that came and went unseen and of which that is told."""
    courier = Courier(manner=manner, name="mail")
    life = Life(story, [courier])
    life.rest()
    episodes = [m.first.transition.episode for m in courier.messages]
    assert episodes == sorted(episodes)
    if life.episode:
        assert courier.said, "not a word"
        assert max(i.transition.episode for m in courier.messages for i in m.items) == life.episode
    # a gap is closed by a message that says that it was on again, or that something was missed
    reported = {i.transition.episode for m in courier.messages for i in m.items}
    unreported = set(range(1, life.episode + 1)) - reported
    assert not unreported or any(step.what == "down" for step in story) or manner != Manner()


# -- a small model ---------------------------------------------------------------------


@dataclass
class Model:
    """One notifier, asked at each instant; written the obvious way."""

    least: str
    repeat: tuple[int, ...]
    cooldown: int
    level: Severity | None = None
    episode: int = 0
    at: int = 0
    reminded: int = 0
    worst: Severity | None = None
    cleared: int | None = None
    missed: bool = False

    def look(self, at: int, level: Severity | None, episode: int, *, muted: bool, up: bool) -> str:
        """Return what is told now; "" for nothing."""
        want = level if RANK[level] >= RANK[self.least] else None
        if muted:
            return ""
        if not up:
            self.missed |= bool(want and (self.level is None or episode != self.episode))
            return ""
        kind = self.kind(at, want, episode)
        if kind == "missed":
            self.missed = False
        elif kind == "repeat":
            self.at, self.reminded = at, self.reminded + 1
        elif kind:
            if kind == "cleared":
                self.cleared = at
            if kind in {"raised", "raised_again"} or RANK[want] > RANK[self.worst]:
                self.worst = want
            self.level, self.episode, self.at, self.reminded = want, episode, at, 0
            self.missed = False
        return kind

    def kind(self, at: int, want: Severity | None, episode: int) -> str:
        if want is None and self.level is None:
            return "missed" if self.missed else ""
        if want is None:
            return "cleared"
        if self.level is None:
            soon = self.cleared is not None and at < self.cleared + self.cooldown
            return "" if soon and RANK[want] <= RANK[self.worst] else "raised"
        if episode != self.episode:
            return "raised_again"
        if want != self.level:
            return "escalated" if RANK[want] > RANK[self.level] else "lowered"
        if self.repeat:
            pause = self.repeat[min(self.reminded, len(self.repeat) - 1)]
            return "repeat" if at >= self.at + pause else ""
        return ""


def expected(story: list[Step], look: Any) -> list[tuple[int, str]]:
    """Return what *look* says, asked each second of a story."""
    at, level, episode, muted, up, said = 0, None, 0, False, True, []
    for step in [*story, Step(200, None, "")]:
        until = at + step.after
        said += [
            (second, look(second, level, episode, muted=muted, up=up))
            for second in range(at + 1, until)
        ]
        at = until
        if step.what == "level" and step.level != level:
            episode += level is None
            level = step.level
        muted = step.what == "mute" or (muted and step.what != "unmute")
        up = step.what == "up" or (up and step.what != "down")
        said.append((at, look(at, level, episode, muted=muted, up=up)))
    return [(second, kind) for second, kind in said if kind]


# an outage and a cooldown at once are left out: what the one holds back, the other does not miss
modes = st.one_of(
    st.tuples(stories("mute", "unmute", "down", "up", "restart"), st.just(0)),
    st.tuples(stories("mute", "unmute", "restart"), st.just(60)),
)
repeats = st.sampled_from([(), (15,), (15, 30, 60)])


ALL_AT_ONCE = [Step(1, "info", "level"), Step(1, None, "level"), Step(10, "info", "level")]


@settings(max_examples=200, deadline=None)
@given(modes, repeats, st.sampled_from([*LEAST]))
@example(([*ALL_AT_ONCE, Step(50, None, "level")], 60), (), "mail")  # well as it may be told
def test_it_agrees_with_a_small_model(mode, repeat, name):
    story, cooldown = mode
    assert ours(story, cooldown, repeat, name) == expected(
        story, Model(LEAST[name], repeat, cooldown).look
    )


@pytest.mark.skipif(not ORACLE.exists(), reason="the shared oracle is not beside the repository")
@settings(max_examples=200, deadline=None)
@given(modes, repeats, st.sampled_from([*LEAST]))
def test_it_agrees_with_the_reference(mode, repeat, name):
    story, cooldown = mode
    reference = _reference().Told(LEAST[name], repeat or None, cooldown)
    words = {"raised-again": "raised_again", "late-summary": "missed"}

    def look(at: int, level: Severity | None, episode: int, *, muted: bool, up: bool) -> str:
        before = len(reference.out)
        reference.reconcile(at, level, episode, muted=muted, up=up)
        new = reference.out[before:]
        return words.get(new[0][1], new[0][1]) if new else ""

    assert ours(story, cooldown, repeat, name) == expected(story, look)


def ours(
    story: list[Step], cooldown: int, repeat: tuple[int, ...], name: str
) -> list[tuple[int, str]]:
    habit = Habit(tuple(pause * SECOND for pause in repeat), cooldown * SECOND)
    courier = Courier(habit, name=name)
    life = Life(story, [courier])
    courier.wait(life.at + 200)
    return [(at, kind) for at, kind, _ in courier.said]


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
