"""Schedules through the engine: which limits count when, what begins and ends at a boundary."""

from dataclasses import replace
from typing import Any

from alert_model import Model
from hypothesis import given, settings
from hypothesis import strategies as st
from play import AGGREGATORS, S, at, between, brief, engine, limit, play, regime, rule, rules

from hushd.core.engine import Engine
from hushd.core.rules import During, Flapping, NoData, Rules
from hushd.core.transitions import Transition

EVENING = between("evening", 0, 10)  # until t=600
NIGHT = between("night", 10, 30)  # from t=600 until t=1800
SCHEDULES = (EVENING, NIGHT)


def day(**more: Any) -> Rules:
    """The rule of the worked example: another limit from t=600 on, none from t=1800 on."""
    return rules(
        rule(
            regimes=(
                regime("evening", limit("warning", "above", 55.0, 52.0, wait=300)),
                regime("night", limit("warning", "above", 45.0, 42.0, wait=300)),
            ),
            **more,
        ),
        schedules=SCHEDULES,
    )


def steady(value: float, start: int, end: int) -> list[Any]:
    """A reading each minute."""
    return [at(second, value) for second in range(start, end, 60)]


def state(playing: Engine) -> str:
    """What the only alert shows."""
    return next(iter(playing.alerts())).state


def test_t8_limits_change_at_the_boundary_on_the_same_window() -> None:
    playing = engine(day())
    shown = []
    for reading in steady(50, 0, 1200):
        playing.process(reading)
        playing.advance(reading.at)
        shown.append(state(playing))
    assert shown[:10] == ["ok"] * 10
    assert shown[10] == "pending"  # at 600, by the boundary
    assert shown[15] == "firing(warning)"  # at 900

    told = play(day(), steady(50, 0, 2400))
    assert brief(told) == [(900, "raised", "warning"), (1800, "cleared", None)]
    assert told[-1].reason == "schedule"


def test_the_boundary_itself_judges_without_a_reading() -> None:
    told = play(day(), [at(0, 50), 599.0, 601.0], until=901)
    assert brief(told) == [(900, "raised", "warning")]


def test_a_reading_at_the_boundary_is_judged_by_the_limits_that_begin() -> None:
    of = rules(rule(limit("warning", "above", 45.0), during=During("night")), schedules=SCHEDULES)
    assert brief(play(of, [at(600, 50), at(1800, 50)])) == [
        (600, "raised", "warning"),
        (1800, "cleared", None),
    ]
    # half-open: at the end of the schedule it is off
    assert play(of, [at(1800, 50)]) == []


def test_what_is_on_stays_on_and_is_judged_by_the_new_clear_level() -> None:
    of = rules(
        rule(
            regimes=(
                regime("evening", limit("warning", "above", 55.0, 52.0)),
                regime("night", limit("warning", "above", 45.0, 42.0)),
            )
        ),
        schedules=SCHEDULES,
    )
    told = play(of, [at(590, 56), at(610, 50), at(620, 41)])
    assert brief(told) == [(590, "raised", "warning"), (620, "cleared", None)]
    assert told[1].episode == 1


def test_a_severity_without_a_limit_in_the_new_schedule_goes_off() -> None:
    of = rules(
        rule(
            regimes=(
                regime(
                    "evening", limit("warning", "above", 45.0), limit("critical", "above", 55.0)
                ),
                regime("otherwise", limit("warning", "above", 45.0)),
            )
        ),
        schedules=SCHEDULES,
    )
    told = play(of, [at(590, 60), 700.0])
    assert brief(told) == [(590, "raised", "critical"), (600, "lowered", "warning")]
    assert told[1].reason == "schedule"


def test_the_first_schedule_that_is_on_counts_alone() -> None:
    of = rules(
        rule(
            regimes=(
                regime("evening", limit("warning", "above", 70.0)),
                regime("all-day", limit("warning", "above", 40.0)),
            )
        ),
        schedules=(EVENING, between("all-day", 0, 1440)),
    )
    assert brief(play(of, [at(100, 50), 700.0])) == [(600, "raised", "warning")]


def test_outside_its_schedule_a_rule_is_inactive_yet_a_dead_sensor_matters() -> None:
    of = rules(
        rule(limit("warning", "above", 45.0), during=During("night"), after=120),
        schedules=SCHEDULES,
    )
    playing = engine(of)
    playing.process(at(0, 90))
    assert state(playing) == "inactive"
    assert brief(playing.advance(300 * S)) == [
        (120, "no_data", None),
        (120, "no-data raised", "warning"),
    ]
    ignoring = rules(
        rule(limit("warning", "above", 45.0), during=During("night"), no_data=None),
        schedules=SCHEDULES,
    )
    assert play(ignoring, [at(0, 90)], until=300) == []


def test_not_a_schedule_is_all_the_time_but_that() -> None:
    of = rules(
        rule(limit("warning", "above", 45.0), during=During("evening", inverted=True)),
        schedules=SCHEDULES,
    )
    assert brief(play(of, [at(10, 50), 700.0])) == [(600, "raised", "warning")]


def test_pending_is_dropped_when_the_schedule_ends() -> None:
    of = rules(
        rule(limit("warning", "above", 45.0, wait=300), during=During("evening")),
        schedules=SCHEDULES,
    )
    assert play(of, [*steady(50, 0, 240), at(300, 40), at(310, 50), 3000.0]) == []
    # a delay that ends with the schedule ends too late
    assert play(of, [at(0, 40), at(300, 50), 3000.0]) == []


def test_a_fresh_window_judges_only_what_came_since_the_schedule_began() -> None:
    loud_then_quiet = [at(s, 80) for s in range(0, 600, 10)] + [
        at(s, 30) for s in range(600, 1200, 10)
    ]
    of = rules(
        rule(
            limit("warning", "above", 40.0),
            measure="max",
            span=300,
            min_coverage=0.5,
            during=During("night"),
            fresh_window=True,
        ),
        rule(
            limit("warning", "above", 40.0),
            name="stale",
            measure="max",
            span=300,
            during=During("night"),
        ),
        schedules=SCHEDULES,
        interval=10,
    )
    told = play(of, loud_then_quiet)
    assert [(t.rule, t.event, t.at / S) for t in told] == [
        ("stale", "raised", 600),
        ("stale", "cleared", 890),
    ]


def test_a_fresh_window_is_warming_until_it_covers_enough() -> None:
    of = rules(
        rule(
            limit("warning", "above", 40.0),
            measure="max",
            span=300,
            min_coverage=0.5,
            during=During("night"),
            fresh_window=True,
        ),
        schedules=SCHEDULES,
        interval=10,
    )
    playing, shown = engine(of), {}
    for second in range(0, 1000, 10):
        playing.process(at(second, 50))
        playing.advance(second * S)
        shown[second] = state(playing)
    assert shown[590] == "inactive"
    assert shown[600] == shown[730] == "warming"
    assert shown[740] == "firing(warning)"  # 150 s of 300 s: 15 readings of 10 s each


def test_a_reading_stamped_before_the_schedule_does_not_enter_a_fresh_window() -> None:
    of = rules(
        rule(
            limit("warning", "above", 40.0),
            measure="max",
            span=300,
            during=During("night"),
            fresh_window=True,
        ),
        schedules=SCHEDULES,
    )
    assert play(of, [at(595, 80, arrived=605), at(606, 30)]) == []
    assert brief(play(of, [at(600, 80, arrived=605)])) == [(605, "raised", "warning")]


def test_a_wall_clock_that_is_set_moves_the_boundary_and_no_delay() -> None:
    playing = engine(day())
    playing.process(at(0, 50))
    told = playing.set_clock(60 * S, shift=600 * S, trusted=True)  # it is 660 already
    assert told == []
    assert state(playing) == "pending"
    assert brief(playing.advance(400 * S)) == [(360, "raised", "warning")]
    assert brief(playing.set_clock(500 * S, shift=7200 * S, trusted=True)) == [
        (500, "cleared", None)
    ]


def test_without_a_clock_to_believe_in_rules_with_schedules_rest_and_others_run() -> None:
    of = rules(
        rule(limit("warning", "above", 45.0, wait=300), during=During("evening")),
        rule(limit("warning", "above", 45.0), name="always"),
        schedules=SCHEDULES,
    )
    playing = engine(of)
    told = playing.process(at(0, 50))
    assert [t.rule for t in told] == ["always"]
    playing.set_clock(100 * S, shift=0, trusted=False)
    shown = {alert.rule: alert.state for alert in playing.alerts()}
    assert shown == {"loud": "suspended", "always": "firing(warning)"}
    assert playing.advance(350 * S) == []  # its `for` stands still
    assert playing.set_clock(250 * S, shift=0, trusted=True) == []
    assert brief(playing.advance(599 * S)) == [(550, "raised", "warning")]


def test_an_alert_that_is_on_stays_on_while_the_clock_is_not_believed() -> None:
    playing = engine(day())
    for reading in steady(60, 0, 360):
        playing.process(reading)
    playing.set_clock(360 * S, shift=0, trusted=False)
    assert playing.process(at(400, 10)) == []
    assert state(playing) == "firing(warning)"
    assert brief(playing.set_clock(500 * S, shift=0, trusted=True)) == [(500, "cleared", None)]


def test_other_schedules_count_after_a_reload() -> None:
    of = rules(rule(limit("warning", "above", 45.0), during=During("night")), schedules=SCHEDULES)
    playing = engine(of)
    playing.process(at(100, 50))
    longer = replace(of, schedules=(EVENING, between("night", 0, 30)))
    again = Engine.restore(longer, AGGREGATORS, playing.snapshot())
    assert brief(again.advance(101 * S)) == [(100, "raised", "warning")]


# -- flapping ------------------------------------------------------------------------------

FLAPPING = rules(rule(limit("warning", "above", 45.0), flapping=Flapping(4, 100 * S)))


def test_more_changes_than_allowed_are_flapping_until_fewer_than_half_are_left() -> None:
    story = [at(second, 50 if second % 20 else 40) for second in range(10, 70, 10)]
    told = play(FLAPPING, story, until=1000)
    assert brief(told) == [
        (10, "raised", "warning"),
        (20, "cleared", None),
        (30, "raised", "warning"),
        (40, "cleared", None),
        (50, "raised", "warning"),
        (50, "flapping", "warning"),
        (60, "cleared", None),
        (150, "steady", None),
    ]
    assert [t.flapping for t in told] == [False] * 4 + [True] * 3 + [False]
    assert len({t.id for t in told}) == len(told)


def test_what_no_longer_counts_is_not_held_back_by_its_flapping() -> None:
    playing = engine(FLAPPING)
    for second in range(10, 70, 10):
        playing.process(at(second, 50 if second % 20 else 40))
    playing.process(at(70, 50))
    none = replace(FLAPPING, rules=())
    again = Engine.restore(none, AGGREGATORS, playing.snapshot())
    (gone,) = again.advance(80 * S)
    assert (gone.reason, gone.flapping) == ("rule_removed", False)


# -- beside the model ----------------------------------------------------------------------

BOUNDS = [(55.0, 52.0), (45.0, 42.0), (50.0, 50.0)]


@settings(max_examples=150)
@given(
    waits=st.tuples(*[st.sampled_from([0, 60, 300])] * 4),
    after=st.sampled_from([None, 240]),
    steps=st.lists(
        st.tuples(
            st.sampled_from([10, 30, 60, 100, 300]),
            st.sampled_from([30.0, 43.0, 46.0, 51.0, 53.0, 56.0]),
        ),
        max_size=40,
    ),
)
def test_random_days_agree_with_the_model(
    waits: tuple[int, ...], after: int | None, steps: list[tuple[int, float]]
) -> None:
    table = {
        "evening": {"warning": ("above", 55.0, 52.0, waits[0], waits[1])},
        "night": {
            "warning": ("above", 45.0, 42.0, waits[2], waits[3]),
            "critical": ("above", 52.5, 50.0, 0, 60),
        },
    }
    of = rules(
        rule(
            regimes=tuple(
                regime(
                    name,
                    *(
                        limit(severity, word, bound, clear, wait=wait, clear_wait=clear_wait)
                        for severity, (word, bound, clear, wait, clear_wait) in limits.items()
                    ),
                )
                for name, limits in table.items()
            ),
            no_data=None if after is None else NoData(after * S),
        ),
        schedules=SCHEDULES,
    )
    model = Model(dict(table["evening"]), after)
    boundaries = [(600, table["night"]), (1800, {})]
    story: list[Any] = []
    now, last = 0, None

    def turn(until: float, *, hears: bool) -> None:
        while boundaries and boundaries[0][0] <= until:
            when, limits = boundaries.pop(0)
            model.advance(when, inclusive=False)
            due = [at for at, _, severity in model.due() if not severity]
            if due == [when] and not (hears and when == until):  # a reading comes first
                model.happen("", when)
            model.limits = dict(limits)
            model.state = {  # no delay ends in the past
                k: (word, max(since, when - limits[k][3 if word == "pending" else 4]))
                for k, (word, since) in model.state.items()
                if k in limits
            }
            model.settle(when)
            # a reading at the boundary itself is judged by the new limits, and the last one not
            if last is not None and not model.stale and not (hears and when == until):
                model.judge(when, last)

    for wait, value in steps:
        now += wait
        turn(now, hears=True)
        story.append(at(now, value))
        model.hear(now, value)
        last = value
    end = max(now, 1800) + 1000
    turn(end, hears=False)
    model.advance(end, inclusive=True)
    told: list[Transition] = [
        t for t in play(of, story, until=end) if not t.rule.endswith("no-data")
    ]
    # data that comes back as a schedule ends has no order
    order = sorted((t.at / S, t.event) for t in told)
    assert order == sorted((when, word) for when, word, _ in model.log)
