"""Engine time never goes back, and goes on as if nobody had ever set the wall clock."""

import json
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from play import engine, limit, rule, rules

from hushd.core.internal import Troubles
from hushd.core.readings import SECOND, Reading
from hushd.core.transitions import Transition
from hushd.runtime.clocks import (
    LEAP,
    Clock,
    Forgotten,
    RecordedClock,
    Slept,
    Stalled,
    StampClock,
    Stepped,
    Trusted,
    WallClock,
    dated,
)
from hushd.runtime.trust import RELEASED

HOUR = 3600 * SECOND
DAY = 24 * HOUR
NOON = RELEASED + 400 * DAY + 12 * HOUR  # of a day on which all is well
UPTIME = 500 * SECOND


@dataclass
class Machine:
    """A machine whose clocks the test sets, and the time server it may have heard."""

    wall: int = NOON
    steady: int = UPTIME
    awake: int = UPTIME
    boot: str = "first"
    synchronised: bool = False

    def clock(self) -> WallClock:
        return WallClock(
            lambda: self.wall,
            lambda: self.steady,
            lambda: self.awake,
            self.boot,
            lambda: self.synchronised,
        )

    def work(self, span: int) -> None:
        self.wall += span
        self.steady += span
        self.awake += span

    def sleep(self, span: int) -> None:
        self.wall += span
        self.steady += span

    def restart(self, span: int, *, wall: int | None = None) -> None:
        """Be off for *span*; without a battery the wall clock then shows *wall*."""
        self.wall = self.wall + span if wall is None else wall
        self.steady = self.awake = 30 * SECOND
        self.boot = "second"


@pytest.fixture
def machine() -> Machine:
    return Machine()


# -- arrivals ------------------------------------------------------------------------------


def test_arrivals_are_all_different(machine):
    clock = machine.clock()
    machine.work(SECOND)
    received = [NOON, NOON, NOON - 1, NOON + 500]
    assert [clock.arrival(at) - NOON for at in received] == [0, 1, 2, 500]


def test_a_message_stamped_before_the_engine_moved_on_arrives_after(machine):
    clock = machine.clock()
    machine.work(SECOND)
    now = clock.now()
    assert clock.arrival(now - 500) == now + 1


def test_a_quiet_hour_before_a_message_leaves_it_its_time(machine):
    clock = machine.clock()
    clock.now()
    machine.work(HOUR)
    assert clock.arrival(machine.wall - 7) == NOON + HOUR - 7


@pytest.mark.parametrize("step", [LEAP + 1, HOUR, 40 * 365 * DAY, -LEAP - 1, -HOUR, -3000 * DAY])
def test_the_first_message_after_a_step_does_not_carry_it(machine, step):
    clock = machine.clock()
    assert clock.now() == NOON
    machine.work(2 * SECOND)
    machine.wall += step
    assert NOON < clock.arrival(machine.wall) <= NOON + 2 * SECOND


# -- the wall clock is set -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "now", "civil"),  # relative to what would have been
    [
        (0, 0, 0),
        (1, 1, 1),
        (LEAP, LEAP, LEAP),  # followed
        (LEAP + 1, 0, LEAP + 1),  # not followed, but told
        (HOUR, 0, HOUR),
        (-1, 0, 0),  # it goes on at its own pace
        (-LEAP, 0, 0),
        (-LEAP - 1, 0, -LEAP - 1),
        (-HOUR, 0, -HOUR),
    ],
)
def test_a_step(machine, step, now, civil):
    clock = machine.clock()
    machine.work(SECOND)
    machine.wall += step
    machine.work(SECOND)
    expected = NOON + 2 * SECOND
    assert clock.now() == expected + now
    assert clock.civil(clock.now()) == expected + civil
    assert clock.look() == ([] if abs(step) <= LEAP else [Stepped(step)])
    assert clock.look() == []


def test_a_clock_that_is_set_to_and_fro_is_right_in_the_end(machine):
    clock = machine.clock()
    for step in (HOUR, -2 * HOUR, HOUR):
        machine.wall += step
        machine.work(SECOND)
        assert clock.look() == [Stepped(step)]
    assert clock.now() == machine.wall == NOON + 3 * SECOND
    assert clock.civil(NOON) == NOON == clock.stamp(NOON)


def test_what_others_wrote_down_follows_the_clock_that_was_set(machine):
    clock = machine.clock()
    before = clock.now()
    machine.wall += HOUR
    machine.work(SECOND)
    now = clock.now()
    assert clock.stamp(machine.wall) == now
    assert clock.civil(before) == NOON + HOUR  # one second ago, as anybody would say


#: work for a while, or set the wall clock, or suspend the machine
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("work"), st.integers(0, 3 * SECOND)),
        st.tuples(st.just("step"), st.integers(-10 * SECOND, 10 * SECOND)),
        st.tuples(st.just("step"), st.integers(-(10**18), 10**18)),
        st.tuples(st.just("sleep"), st.integers(0, DAY)),
        st.tuples(st.just("message"), st.just(0)),
    ),
    max_size=40,
)


@settings(max_examples=200)
@given(CHANGES)
def test_whatever_is_set_engine_time_keeps_to_the_steady_clock(changes):
    machine = Machine()
    clock, handed_out = machine.clock(), []
    for change, span in changes:
        before, then, wall = clock.now(), machine.steady, machine.wall
        match change:
            case "work":
                machine.work(span)
            case "sleep":
                machine.sleep(span)
            case "step":
                machine.wall += span
            case "message":
                arrived = clock.arrival(machine.wall)
                assert arrived == before + 1
                handed_out.append(arrived)
        steady, stepped = machine.steady - then, machine.wall - wall
        now = clock.now()
        # a step moves it forward or not at all, and no further than LEAP
        followed = LEAP if stepped != steady else 0
        assert steady - len(changes) <= now - before <= steady + followed + 1
        handed_out.append(now)
        # what people are told is right to within what counts as nothing
        assert abs(clock.civil(now) - machine.wall) <= LEAP + len(handed_out)
        assert clock.civil(clock.stamp(machine.wall)) == machine.wall
        assert clock.stamp(clock.civil(now)) == now
    assert handed_out == sorted(handed_out)


@settings(max_examples=200)
@given(st.lists(st.integers(2 * LEAP, 10**18).flatmap(lambda n: st.sampled_from([n, -n]))))
def test_no_leap_costs_or_gives_a_nanosecond(steps):
    machine = Machine()
    clock, told = machine.clock(), []
    for at, step in enumerate(steps, 1):
        machine.wall += step
        machine.work(SECOND)
        told += [news.by for news in clock.look() if isinstance(news, Stepped)]
        off = machine.wall - NOON - at * SECOND
        if 0 < abs(off) <= LEAP:
            return  # so near the first time that it counts as right
        assert clock.now() == NOON + at * SECOND
    assert told == steps


def test_a_process_stopped_between_two_clocks_sees_no_step(machine):
    """The wall clock is read after the steady one; what lies between is nobody's step."""
    stops: list[int] = []

    def wall() -> int:
        machine.work(stops.pop() if stops else 0)
        return machine.wall

    clock = WallClock(wall, lambda: machine.steady, lambda: machine.awake)
    stops.append(10 * SECOND)
    assert clock.now() == NOON + 10 * SECOND
    assert clock.look() == [Stalled(10 * SECOND)]
    machine.work(SECOND)
    assert clock.now() == NOON + 11 * SECOND


# -- nobody asked for a while ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("slept", "stopped", "news"),
    [
        (0, LEAP, []),
        (0, LEAP + 1, [Stalled(LEAP + 1)]),
        (LEAP, 0, []),
        (8 * HOUR, 0, [Slept(8 * HOUR)]),
        (8 * HOUR, HOUR, [Slept(8 * HOUR), Stalled(HOUR)]),
    ],
)
def test_a_gap_is_told_by_its_cause(machine, slept, stopped, news):
    clock = machine.clock()
    clock.look()
    machine.sleep(slept)
    machine.work(stopped)
    assert clock.look() == news
    assert clock.now() == NOON + slept + stopped  # time went on


def test_each_sleep_is_told_once(machine):
    clock = machine.clock()
    for _ in range(2):
        machine.sleep(HOUR)
        assert clock.look() == [Slept(HOUR)]
        machine.work(HOUR)
        assert clock.look() == [Stalled(HOUR)]


def test_small_naps_add_up_to_no_sleep(machine):
    clock = machine.clock()
    for _ in range(20):
        machine.sleep(SECOND)
        machine.work(SECOND)
        assert clock.look() == []


# -- trust -------------------------------------------------------------------------------------


def test_a_clock_before_the_release_is_not_trusted_until_it_is_set(machine):
    machine.wall = 0  # as on a board without a battery
    clock = machine.clock()
    assert clock.why == "it shows 1970-01-01T00:00:00Z, before this hushd was released"
    assert clock.look() == [Trusted(trusted=False, why=clock.why)]
    machine.work(SECOND)
    assert clock.look() == []
    machine.wall = NOON
    assert clock.look() == [Stepped(NOON - SECOND), Trusted(trusted=True, why="")]
    machine.wall = 0
    assert clock.look() == [Stepped(-NOON), Trusted(trusted=False, why=clock.why)]


def test_a_time_server_cannot_vouch_for_a_time_before_the_release(machine):
    machine.wall, machine.synchronised = RELEASED - 1, True
    assert machine.clock().why


@pytest.mark.parametrize(
    ("back", "synchronised", "trusted"),
    [
        (0, False, True),
        (60 * SECOND, False, True),
        (60 * SECOND + 1, False, False),
        (DAY, False, False),
        (DAY, True, True),  # then what was known was wrong
    ],
)
def test_a_clock_behind_the_last_run(machine, back, synchronised, trusted):
    mark = machine.clock().mark()
    machine.restart(0, wall=NOON - back)
    machine.synchronised = synchronised
    clock = machine.clock()
    assert clock.resume(mark) == 0
    assert (clock.why == "") is trusted


def test_doubt_ends_by_a_time_server_by_hand_or_by_time():
    for end in ("server", "hand", "time"):
        machine = Machine()
        mark = machine.clock().mark()
        machine.restart(0, wall=NOON - HOUR)
        clock = machine.clock()
        clock.resume(mark)
        assert [news.trusted for news in clock.look()] == [False]
        if end == "server":
            machine.synchronised = True
        elif end == "hand":
            machine.wall -= 10 * SECOND
        else:
            machine.work(HOUR)
        assert clock.look()[-1] == Trusted(trusted=True, why="")


def test_doubt_outlives_a_restart_of_the_process(machine):
    mark = machine.clock().mark()
    machine.restart(0, wall=NOON - HOUR)
    clock = machine.clock()
    clock.resume(mark)
    machine.work(SECOND)
    mark = clock.mark()
    machine.work(SECOND)
    clock = machine.clock()
    assert clock.resume(mark) == SECOND  # the steady clock needs no trust
    assert clock.why


def newest(changelog: str) -> int:
    """The day of the newest release that a changelog tells of; the epoch if of none."""
    days = re.findall(r"^## \[[\d.]+\] - (\S+)$", changelog, re.MULTILINE)
    at = datetime.fromisoformat(max(days, default="1970-01-01")).replace(tzinfo=UTC)
    return round(at.timestamp()) * SECOND


def test_the_release_is_not_older_than_the_newest_that_the_changelog_tells_of():
    """Else a board could wake up in a time that cannot be, and be believed."""
    assert newest("## [Unreleased]\n\n## [0.2.0] - 1970-01-02\n") == DAY
    changelog = Path(__file__).parents[2] / "CHANGELOG.md"
    assert newest(changelog.read_text(encoding="utf-8")) <= RELEASED


# -- resuming ----------------------------------------------------------------------------------


def through_json(mark: dict[str, object]) -> dict[str, object]:
    return json.loads(json.dumps(mark))


@pytest.mark.parametrize("step", [0, SECOND, HOUR, -HOUR, 3000 * DAY, -3000 * DAY])
def test_in_one_run_of_the_machine_the_time_away_is_exact(machine, step):
    mark = through_json(machine.clock().mark())
    machine.work(HOUR)
    machine.sleep(HOUR)
    machine.wall += step
    clock = machine.clock()
    assert clock.resume(mark) == 2 * HOUR
    assert clock.now() == NOON + 2 * HOUR + (step if 0 < step <= LEAP else 0)
    assert clock.civil(clock.now()) == machine.wall
    assert [type(news) for news in clock.look()][:1] == ([Stepped] if abs(step) > LEAP else [])


def test_a_step_lasts_over_a_restart(machine):
    clock = machine.clock()
    machine.wall += HOUR
    machine.work(SECOND)
    clock.now()
    mark = clock.mark()
    machine.work(60 * SECOND)
    clock = machine.clock()
    assert clock.resume(mark) == 60 * SECOND
    assert clock.now() == NOON + 61 * SECOND
    assert clock.civil(clock.now()) == machine.wall
    assert clock.look() == []


def test_after_a_restart_of_the_machine_the_wall_clock_tells_the_time_away(machine):
    mark = machine.clock().mark()
    machine.restart(DAY)
    clock = machine.clock()
    assert clock.resume(mark) == DAY
    assert clock.now() == machine.wall == NOON + DAY


def test_where_runs_of_the_machine_have_no_names_the_wall_clock_tells_it_too(machine):
    machine.boot = ""
    mark = machine.clock().mark()
    machine.work(HOUR)
    machine.wall -= 60 * SECOND
    assert machine.clock().resume(mark) == HOUR - 60 * SECOND


def test_without_a_battery_the_time_away_is_not_counted_and_ages_are_right_later(machine):
    mark = machine.clock().mark()
    machine.restart(0, wall=0)
    clock = machine.clock()
    assert clock.resume(mark) == 0
    assert clock.now() == NOON
    assert clock.look() == [Trusted(trusted=False, why=clock.why)]
    machine.work(SECOND)
    machine.wall = NOON + HOUR  # the network is there
    assert clock.now() == NOON + SECOND
    assert clock.civil(clock.now()) == NOON + HOUR
    assert clock.look()[-1] == Trusted(trusted=True, why="")


def test_a_time_that_was_not_trusted_measures_nothing(machine):
    machine.wall = 0
    mark = machine.clock().mark()
    machine.restart(0, wall=NOON)
    clock = machine.clock()
    assert clock.resume(mark) == 0
    assert clock.civil(clock.now()) == NOON
    assert clock.why == ""


def test_a_clock_corrected_back_between_two_runs_takes_nothing_back(machine):
    mark = machine.clock().mark()
    machine.restart(0, wall=NOON - HOUR)
    machine.synchronised = True
    clock = machine.clock()
    assert clock.resume(mark) == 0
    assert clock.now() == NOON
    assert clock.civil(clock.now()) == NOON - HOUR


def test_nothing_was_kept(machine):
    clock = machine.clock()
    assert clock.resume({}) == 0
    assert clock.now() == NOON
    assert clock.look() == []


NONSENSE = st.one_of(
    st.none(),
    st.booleans(),
    st.text(max_size=3),
    st.floats(),
    st.integers(max_value=-1),
    st.integers(min_value=1 << 62),
    st.lists(st.integers(), max_size=1),
)


@pytest.mark.parametrize("key", ["engine", "steady", "wall"])
@given(NONSENSE)
def test_a_mark_that_cannot_be_true_costs_the_time_away_and_says_so(key, nonsense):
    machine = Machine()
    mark = machine.clock().mark()
    mark[key] = nonsense
    machine.work(HOUR)
    clock = machine.clock()
    assert clock.resume(mark) == 0
    assert [type(news) for news in clock.look()] == [Forgotten]
    assert clock.now() == (NOON + HOUR if key == "engine" else NOON)
    assert clock.civil(clock.now()) == machine.wall


@given(
    st.fixed_dictionaries(
        {},
        optional={
            key: NONSENSE | st.integers(0, 1 << 62) | st.sampled_from(["first", "second"])
            for key in ("engine", "steady", "wall", "known", "boot", "shift")
        },
    )
)
def test_no_mark_stops_the_clock(mark):
    machine = Machine()
    clock = machine.clock()
    away = clock.resume(mark)
    assert away >= 0
    now = clock.now()
    machine.work(SECOND)
    clock.look()
    assert clock.now() == now + SECOND
    assert abs(clock.civil(clock.now()) - machine.wall) <= LEAP


def test_a_mark_of_this_run_from_the_future_is_not_believed(machine):
    machine.work(HOUR)
    mark = machine.clock().mark()
    machine = Machine()
    clock = machine.clock()
    assert clock.resume(mark) == 0
    assert clock.look() == [Forgotten("the last run seems to be yet to come")]
    assert clock.now() == NOON + HOUR  # what the engine has seen is not taken back


# -- with an engine ----------------------------------------------------------------------------

WATCHED = rules(
    rule(limit("warning", "above", 70, 65, wait=2, clear_wait=3), after=20),
    rule(limit("critical", "above", 90), name="peak", measure="max", span=15),
    rule(limit("info", "above", 4), name="many", measure="count", span=10),
)

#: seconds of quiet, how far the clock is then set, and what the sensor says
STORY = st.lists(
    st.tuples(
        st.floats(0, 30) | st.floats(0, 2),
        st.sampled_from([0, 0, 0, HOUR, -HOUR, DAY, -DAY, 2800 * DAY, -2800 * DAY]),
        st.sampled_from([50.0, 68.0, 80.0, 95.0]),
    ),
    max_size=30,
)


def lived(story: list[tuple[float, int, float]], *, stepped: bool) -> list[Transition]:
    """What an engine decides on readings that carry the wall time, second by second."""
    machine, playing, told = Machine(), engine(WATCHED), []
    clock = machine.clock()
    for quiet, step, value in story:
        told += playing.advance(clock.now())
        for nap in [SECOND] * int(quiet) + [round(quiet % 1 * SECOND)]:
            machine.work(nap)
            told += playing.advance(clock.now())
        machine.wall += step if stepped else 0
        machine.work(SECOND // 2)
        arrived = clock.arrival(machine.wall)
        stamped = clock.stamp(machine.wall)
        told += playing.process(Reading("noise", (("room", "attic"),), stamped, value, arrived))
    assert not playing.rejected
    assert clock.civil(clock.now()) == machine.wall
    return told


@settings(max_examples=100)
@given(STORY)
def test_g10_an_engine_decides_as_if_nobody_had_set_the_clock(story):
    assert lived(story, stepped=True) == lived(story, stepped=False)


# -- dates -------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [0, -HOUR])
def test_a_transition_is_dated_as_people_call_the_time(machine, step):
    clock = machine.clock()
    machine.wall += step
    machine.work(SECOND)
    [raised] = Troubles("warning", ()).note(clock.now(), "broker")
    told = dated(raised, clock)
    assert told.at == told.started == machine.wall
    assert (told.id, told.event, told.episode) == (raised.id, raised.event, raised.episode)
    assert (told is raised) is (step == 0)  # nothing to be done, as nearly always
    assert dated(replace(raised, started=None), clock).started is None


# -- other clocks ------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [[5, 5, 4], [5]])
def test_a_recorded_clock_stands_where_the_newest_message_came(at):
    clock = RecordedClock()
    assert clock.now() == 0
    for received in at:
        assert clock.arrival(received) == 5
    assert clock.now() == 5


def test_time_by_stamps_does_not_pass_by_itself():
    clock: Clock = StampClock()
    assert clock.now() is None


@pytest.mark.parametrize("clock", [RecordedClock(), StampClock()])
def test_nobody_sets_a_time_that_was_written_down(clock: Clock):
    assert clock.stamp(NOON) == NOON == clock.civil(NOON)
    assert clock.look() == ()
    assert clock.why == ""
    assert clock.resume(clock.mark()) == 0


def test_the_real_clocks_agree():
    clock = WallClock()
    before = clock.now()
    mark = clock.mark()
    again = WallClock()
    assert again.resume(mark) >= 0
    assert again.now() >= before
    assert Stepped not in map(type, again.look())
