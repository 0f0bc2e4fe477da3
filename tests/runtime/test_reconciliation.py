"""What one notifier is told, and when: the vectors of alerts.md and rows of field reports."""

import pytest
from courier import SECOND, Courier, rule
from phones import change

from hushd.core.reconcile import Habit
from hushd.core.rules import DAY, During, Manner, Notify, Rate, Schedule, Span
from hushd.runtime.errands import Waiting

MINUTE, HOUR = 60, 3600
NIGHT = Schedule("night", (Span(22 * 60, 6 * 60),))
QUIET = Manner(quiet=During("night"))
NOON, EVENING, MIDNIGHT, DAWN = 12 * HOUR, 22 * HOUR, 24 * HOUR, 30 * HOUR


def pauses(*minutes: int) -> tuple[int, ...]:
    return tuple(minute * MINUTE * SECOND for minute in minutes)


def test_t9_severity_routing():
    notify: Notify = (("warning", ("mail",)), ("critical", ("phone",)))
    mail, phone = Courier(), Courier(name="phone")
    for at, severity in enumerate(("warning", "critical", "warning", None)):
        for one in (mail, phone):
            one.happen(at, severity, notify=notify)
    assert mail.kinds == ["raised", "escalated", "lowered", "cleared"]
    assert phone.said == [(1, "raised", "critical"), (2, "cleared", "critical")]


# -- silences --------------------------------------------------------------------------


def test_t10_what_is_still_on_when_a_silence_ends_is_told_then():
    story = Courier().mute(0, 100).happen(10, "warning")
    assert story.wait(200).said == [(100, "raised", "warning")]


def test_t10b_what_came_and_went_in_a_silence_is_not_told():
    assert Courier().mute(0, 100).happen(10, "warning").happen(50, None).wait(200).said == []


def test_t10c_what_was_told_before_a_silence_is_over_after_it():
    story = Courier().happen(0, "warning").mute(1, 100).happen(50, None)
    assert story.wait(200).said[1:] == [(100, "cleared", "warning")]


def test_t10d_a14_what_went_and_came_again_in_a_silence_is_raised_again():
    story = Courier().happen(0, "warning").mute(1, 100).happen(50, None).happen(60, "warning", 2)
    assert story.wait(200).said[1:] == [(100, "raised_again", "warning")]


def test_w53_maintenance():
    on, over = Courier().mute(0, HOUR), Courier().mute(0, HOUR)
    on.happen(30 * MINUTE, "warning").wait(2 * HOUR)
    over.happen(30 * MINUTE, "warning").happen(40 * MINUTE, None).wait(2 * HOUR)
    assert (on.said, over.said) == ([(HOUR, "raised", "warning")], [])


def test_a_silence_that_somebody_ends_is_over_at_once():
    assert Courier().mute(0, 100).happen(10, "warning").unmute(20).said == [
        (20, "raised", "warning")
    ]


def test_a_silence_holds_what_it_names_and_nothing_else():
    story = Courier().mute(0, 100, room="101")
    story.happen(1, "warning", room="102").happen(2, "warning", room="101")
    assert story.said == [(1, "raised", "warning")]
    story = Courier().mute(0, 100, rule="other").happen(1, "warning")
    assert story.said == [(1, "raised", "warning")]


def test_the_end_of_a_rule_in_a_silence_is_told_after_it():
    story = Courier().happen(0, "warning").mute(1, 100)
    story.happen(50, None, reason="rule_removed").wait(200)
    assert story.kinds == ["raised", "cleared"]
    assert story.messages[-1].transition.reason == "rule_removed"


def test_what_a_silence_has_held_back_is_not_late_nor_old():
    story = Courier().mute(0, 100).happen(10, "warning").wait(200)
    assert story.messages[0].waiting.since == 100 * SECOND


@pytest.mark.parametrize(("over", "said"), [(50, []), (100, []), (150, [(200, "missed", None)])])
def test_what_outlasts_a_silence_while_nobody_can_be_told_was_missed(over, said):
    story = Courier().mute(0, 100).happen(10, "warning").be(20, up=False).happen(over, None)
    assert story.be(200, up=True).said == said


def test_a_silence_outlives_the_process():
    story = Courier().mute(0, 100).happen(10, "warning").restart(50).wait(200)
    assert story.said == [(100, "raised", "warning")]


def test_our_own_troubles_can_be_silenced():
    story = Courier().mute(0, 100, rule="internal/store")
    assert story.happen(1, "warning", rule="internal/store").said == []


# -- quiet hours -----------------------------------------------------------------------


def test_quiet_hours_end_as_a_silence_does():
    story = Courier(manner=QUIET, schedules=[NIGHT])
    story.happen(EVENING - 60, "warning").happen(MIDNIGHT, None).happen(MIDNIGHT, "warning", 2)
    story.happen(MIDNIGHT, "info", room="102").happen(MIDNIGHT + 1, None, room="102")
    assert story.wait(2 * DAY // SECOND).said == [
        (EVENING - 60, "raised", "warning"),
        (DAWN, "raised_again", "warning"),
    ]


def test_what_is_bad_enough_is_told_in_quiet_hours():
    manner = Manner(quiet=During("night"), quiet_except="critical")
    story = Courier(manner=manner, schedules=[NIGHT])
    story.happen(EVENING, "warning").happen(MIDNIGHT, "critical").happen(MIDNIGHT + 1, None)
    assert story.wait(DAWN).said == [
        (MIDNIGHT, "raised", "critical"),
        (DAWN, "cleared", "critical"),
    ]


def test_after_quiet_hours_one_message_tells_what_came_and_went():
    manner = Manner(quiet=During("night"), quiet_summary=True)
    story = Courier(manner=manner, schedules=[NIGHT])
    story.happen(EVENING, "warning").happen(MIDNIGHT, "critical", room="102")
    story.happen(MIDNIGHT + 1, None).restart(MIDNIGHT + 2).wait(DAWN - 1)
    assert story.said == []
    story.wait(DAWN)
    (digest,) = story.messages
    assert {(item.kind, item.waiting.alert[1][0][1]) for item in digest.items} == {
        ("missed", "101"),
        ("raised", "102"),
    }
    story.happen(DAWN + 1, None, room="102")
    assert story.kinds[2:] == ["cleared"]


def test_what_a_silence_hid_is_in_no_summary():
    manner = Manner(quiet=During("night"), quiet_summary=True)
    story = Courier(manner=manner, schedules=[NIGHT]).mute(0, MIDNIGHT + 60)
    assert story.happen(MIDNIGHT, "warning").happen(MIDNIGHT + 1, None).wait(DAWN).said == []


# -- alerts that explain others --------------------------------------------------------

GATEWAY = [rule(mute_while=("gateway",)), rule("gateway")]


def test_a51_what_another_alert_explained_is_told_when_that_is_over():
    story = Courier(rules=GATEWAY)
    story.happen(0, "critical", rule="gateway", labels=()).happen(10, "warning")
    assert [m.transition.rule for m in story.messages] == ["gateway"]
    story.happen(50, None, rule="gateway", labels=()).wait(60)
    assert [(m.transition.rule, m.kind) for m in story.messages] == [
        ("gateway", "raised"),
        ("too-loud", "raised"),
        ("gateway", "cleared"),
    ]


def test_what_came_and_went_meanwhile_is_not_told():
    story = Courier(rules=GATEWAY)
    story.happen(0, "critical", rule="gateway", labels=())
    story.happen(10, "warning").happen(20, None).happen(50, None, rule="gateway", labels=())
    assert [m.transition.rule for m in story.messages] == ["gateway", "gateway"]


@pytest.mark.parametrize(
    ("labels", "held"),
    [
        ((), True),
        ((("room", "101"),), True),
        ((("room", "102"),), False),
        ((("floor", "1"), ("room", "101")), False),  # of which we are only a part
    ],
)
def test_an_alert_explains_those_of_the_same_place(labels, held):
    story = Courier(rules=GATEWAY).happen(0, "critical", rule="gateway", labels=labels)
    assert (len(story.happen(1, "warning").messages) == 1) == held


def test_what_holds_back_all_rules_of_a_sensor_holds_back_its_silence():
    story = Courier(rules=[rule(mute_while=("gateway",)), rule("gateway", no_data=None)])
    story.happen(0, "critical", rule="gateway", labels=())
    story.happen(1, "warning", rule="noise/no-data")
    assert [m.transition.rule for m in story.messages] == ["gateway"]
    story = Courier(rules=GATEWAY).happen(0, "critical", rule="gateway", labels=())
    story.happen(1, "warning", rule="noise/no-data")  # another rule minds it, too
    assert [m.transition.rule for m in story.messages] == ["gateway", "noise/no-data"]


# -- cooldown --------------------------------------------------------------------------

COOLING = Habit(cooldown=600 * SECOND)


def test_t11_what_comes_again_too_soon_is_told_when_it_is_soon_no_more():
    story = Courier(COOLING).happen(0, "warning").happen(100, None).happen(200, "warning", 2)
    assert story.wait(1000).said[2:] == [(700, "raised", "warning")]


def test_t11b_what_is_worse_breaks_through():
    story = Courier(COOLING).happen(0, "warning").happen(100, None).happen(200, "warning", 2)
    assert story.happen(250, "critical", 2).wait(1000).said[2:] == [(250, "raised", "critical")]


def test_w46_what_is_held_back_so_soon_is_over_without_a_word():
    story = Courier(Habit(cooldown=300 * SECOND)).happen(0, "critical").happen(60, None)
    assert story.happen(120, "critical", 2).happen(170, None, 2).wait(1000).kinds == [
        "raised",
        "cleared",
    ]


def test_a_cooldown_outlives_the_process_and_is_forgotten_in_the_end():
    story = Courier(COOLING).happen(0, "warning").happen(100, None).restart(150)
    story.happen(200, "warning", 2).restart(300).wait(699)
    assert story.kinds == ["raised", "cleared"]
    story.happen(699, None, 2).wait(700)
    assert story.errands.told == {}


# -- reminders -------------------------------------------------------------------------


def test_t12_reminders():
    story = Courier(Habit(repeat=pauses(15, 30, 60))).happen(0, "critical").wait(4 * HOUR)
    assert [at // MINUTE for at, _, _ in story.said] == [0, 15, 45, 105, 165, 225]
    assert story.kinds[1:] == ["repeat"] * 5


def test_w51_one_reminder_in_a_while_whatever_is_measured():
    story = Courier(Habit(repeat=pauses(15))).happen(0, "warning")
    for second in range(1, HOUR + 1, 7):
        story.wait(second)
    assert [at // MINUTE for at, _, _ in story.wait(HOUR).said] == [0, 15, 30, 45, 60]


def test_they_count_from_what_was_told_not_from_what_was_tried():
    story = Courier(Habit(repeat=pauses(15))).be(0, up=False).happen(0, "warning")
    story.be(5 * MINUTE, up=True).be(6 * MINUTE, up=False).be(30 * MINUTE, up=True)
    assert [at // MINUTE for at, _, _ in story.wait(50 * MINUTE).said] == [5, 30, 45]


def test_they_begin_anew_when_it_gets_worse():
    story = Courier(Habit(repeat=pauses(15, 60))).happen(0, "warning")
    story.happen(20 * MINUTE, "critical").wait(40 * MINUTE)
    assert story.said[1:] == [
        (15 * MINUTE, "repeat", "warning"),
        (20 * MINUTE, "escalated", "critical"),
        (35 * MINUTE, "repeat", "critical"),
    ]


def test_nobody_is_reminded_while_it_is_about_to_be_over():
    story = Courier(Habit(repeat=pauses(15))).happen(0, "warning")
    story.clearing.add(("too-loud", (("room", "101"),)))
    story.wait(20 * MINUTE)
    assert story.kinds == ["raised"]
    story.clearing.clear()  # it was not
    assert story.wait(21 * MINUTE).kinds == ["raised", "repeat"]


def test_nobody_is_reminded_of_what_somebody_minds():
    story = Courier(Habit(repeat=pauses(15))).happen(0, "warning").mind(60)
    story.happen(HOUR, "critical").wait(3 * HOUR)
    assert story.kinds == ["raised", "escalated"]
    story.happen(3 * HOUR, None).happen(3 * HOUR, "warning", 2).wait(3 * HOUR + 15 * MINUTE)
    assert story.kinds[2:] == ["cleared", "raised", "repeat"]


def test_nobody_is_reminded_in_a_silence():
    story = Courier(Habit(repeat=pauses(15))).happen(0, "warning").mute(60, HOUR)
    assert [at // MINUTE for at, _, _ in story.wait(90 * MINUTE).said] == [0, 60, 75, 90]


def test_reminders_go_on_after_a_restart():
    story = Courier(Habit(repeat=pauses(15))).happen(0, "warning").restart(10 * MINUTE)
    assert [at // MINUTE for at, _, _ in story.wait(30 * MINUTE).said] == [0, 15, 30]


def test_what_is_known_to_be_over_for_the_engine_is_no_reminder():
    manner = Manner(quiet=During("night"), quiet_except="critical")
    story = Courier(Habit(repeat=pauses(15)), manner, schedules=[NIGHT])
    story.happen(EVENING - 60, "critical").happen(EVENING, None).wait(DAWN)
    assert story.kinds == ["raised", "cleared"]


def test_a_machine_that_forgets_is_told_again_whatever_people_hear():
    manner = Manner(refresh=60 * SECOND)
    story = Courier(manner=manner).happen(0, "warning").mute(100, 200)
    story.happen(110, None).wait(190)
    assert story.said[1:] == [(at, "repeat", "warning") for at in (60, 120, 180)]
    story.wait(300)
    assert story.kinds[-2:] == ["repeat", "cleared"]
    known = Courier(manner=manner).happen(0, "warning").wait(60).errands.told
    assert [told.repeats for told in known.values()] == [0]


# -- what cannot be told ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("story", "said"),
    [
        (Courier().be(0, up=False).happen(10, "warning"), [(100, "raised", "warning")]),  # T13
        (
            Courier().be(0, up=False).happen(10, "warning").happen(50, None),
            [(100, "missed", None)],  # T13b
        ),
        (
            Courier().happen(0, "warning").be(1, up=False).happen(20, None),
            [(0, "raised", "warning"), (100, "cleared", "warning")],  # T13c
        ),
        (
            Courier()
            .happen(0, "warning")
            .be(1, up=False)
            .happen(20, None)
            .happen(30, "critical", 2),
            [(0, "raised", "warning"), (100, "raised_again", "critical")],  # T13d
        ),
    ],
    ids=["t13", "t13b", "t13c", "t13d"],
)
def test_outages(story, said):
    assert story.be(100, up=True).said == said


def test_t14_after_a_restart_only_what_is_new_is_told():
    story = Courier().happen(0, "warning").restart(50)
    assert story.wait(60).kinds == ["raised"]
    assert story.happen(90, None).kinds == ["raised", "cleared"]


def test_a24_who_wants_no_clears_hears_each_raise():
    story = Courier(manner=Manner(clears=False))
    story.happen(0, "warning").happen(1, None).happen(2, "warning", 2)
    assert story.kinds == ["raised", "raised"]


# -- flapping --------------------------------------------------------------------------


def test_w45_what_flaps_is_told_once_and_how_it_ended_always():
    story = Courier()
    for step in range(30):
        severity, episode = ("critical" if step % 2 == 0 else None), step // 2 + 1
        story.happen(step, severity, episode, flapping=step >= 6)
        if step == 6:
            story.happen(step, severity, episode, event="flapping", flapping=True)
    story.happen(60, None, 15, event="steady")
    assert story.kinds == [*["raised", "cleared"] * 3, "flapping", "cleared"]


@pytest.mark.parametrize("restarted", [False, True])
def test_what_is_on_in_the_end_is_told_though_it_was_on_before(restarted):
    story = Courier().happen(0, "warning")
    story.happen(1, "critical", flapping=True)
    story.happen(1, "critical", event="flapping", flapping=True)
    if restarted:
        story.restart(2)
    story.happen(3, "warning", flapping=True).happen(60, "warning", event="steady")
    assert story.said == [
        (0, "raised", "warning"),
        (1, "flapping", "critical"),
        (60, "raised_again", "warning"),
    ]


def test_nobody_is_reminded_of_what_flaps():
    story = Courier(Habit(repeat=pauses(1))).happen(0, "warning", event="flapping", flapping=True)
    assert story.wait(HOUR).kinds == ["flapping"]


def test_who_hears_only_of_the_worst_hears_of_no_flapping_below():
    notify: Notify = (("critical", ("mail",)),)
    story = Courier()
    story.happen(0, "warning", notify=notify, flapping=True)
    assert story.happen(0, None, notify=notify, event="flapping", flapping=True).said == []
    assert story.happen(1, "critical", 2, notify=notify, flapping=True).kinds == ["flapping"]


# -- several in one message, and no more than so many ------------------------------------


def test_a_batch_waits_for_more_and_tells_all_in_one_message():
    story = Courier(manner=Manner(batch=30 * SECOND))
    story.happen(0, "warning", room="101").happen(10, "warning", room="102")
    story.happen(20, "critical", room="101").happen(25, "warning", room="103")
    story.happen(26, None, room="103").wait(29)
    assert story.said == []
    story.wait(30).happen(31, None, room="101").wait(100)
    assert [[(i.kind, i.severity) for i in m.items] for m in story.messages] == [
        [("raised", "warning"), ("raised", "critical"), ("missed", None)],
        [("cleared", "critical")],
    ]
    assert story.said[-1][0] == 61


def test_a_batch_does_not_wait_when_the_process_ends():
    story = Courier(manner=Manner(batch=30 * SECOND)).happen(0, "warning")
    story.errands.hurry()
    assert story.wait(1).kinds == ["raised"]


def test_over_the_rate_messages_wait_and_merge():
    story = Courier(manner=Manner(rate=Rate(2, 100 * SECOND)))
    for room in range(101, 106):
        story.happen(1, "warning", room=str(room))
    story.happen(2, None, room="105").happen(3, None, room="101").wait(1000)
    assert [(len(m.items), m.kind) for m in story.messages] == [
        (1, "raised"),
        (1, "raised"),
        (4, "raised"),
    ]
    assert story.said[-1][0] == 51
    assert sorted(story.kinds) == ["cleared", "missed", *["raised"] * 4]


def test_what_is_critical_finds_a_token_of_its_own():
    story = Courier(manner=Manner(rate=Rate(1, 100 * SECOND)))
    story.happen(0, "warning", room="101").happen(1, "warning", room="102")
    story.happen(2, "critical", room="103").happen(3, "critical", room="104").wait(1000)
    assert [(len(m.items), m.critical) for m in story.messages] == [
        (1, False),
        (2, True),
        (1, True),
    ]
    assert story.said[-1][0] == 100


def test_a_machine_takes_each_alert_by_itself():
    manner = Manner(rate=Rate(1, 100 * SECOND), batch=30 * SECOND, refresh=3600 * SECOND)
    story = Courier(manner=manner)
    for room in ("101", "102", "103"):
        story.happen(0, "warning", room=room)
    assert [len(m.items) for m in story.wait(250).messages] == [1, 1, 1]


# -- what tells each -------------------------------------------------------------------


def test_evidence_is_held_back_by_nothing_but_its_own_quiet_hours():
    every = Manner(every=True, quiet=During("night"))
    story = Courier(COOLING, every, schedules=[NIGHT], rules=GATEWAY)
    story.mute(NOON, DAWN).happen(NOON, "critical", rule="gateway", labels=())
    for at, severity in enumerate(("warning", None, "warning", None), 1):
        story.happen(NOON + at, severity, flapping=at > 2)
    assert len(story.said) == 5
    story.happen(EVENING, "warning").happen(MIDNIGHT, None).wait(DAWN - 1)
    assert len(story.said) == 5
    assert [at for at, _, _ in story.wait(DAWN).said[5:]] == [DAWN, DAWN]


def test_evidence_waits_for_its_turn_and_is_merged_with_nothing():
    story = Courier(manner=Manner(every=True, rate=Rate(1, 10 * SECOND), clears=False))
    for at, severity in enumerate(("warning", None) * 3):
        story.happen(at, severity, at // 2)
    assert [at for at, _, _ in story.wait(100).said] == [0, 10, 20]
    story = Courier(manner=Manner(every=True, batch=10 * SECOND, clears=False))
    for at, severity in enumerate(("warning", None) * 3):
        story.happen(at, severity, at // 2)
    assert [len(m.items) for m in story.wait(100).messages] == [3]


# -- whoever stands in -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("severity", "kinds"), [("warning", ["raised", "cleared"]), (None, ["missed"])]
)
def test_a_stand_in_tells_what_another_could_not(severity, kinds):
    story = Courier(name="phone")
    gone = change(severity, notify=(("info", ("mail",)),))
    story.errands.add(Waiting(gone, 0, instead="mail"))
    story.wait(1)
    if story.errands.knows_of(("too-loud", (("room", "101"),))):
        story.errands.add(Waiting(change(None, notify=()), 2))
    assert story.wait(3).kinds == kinds
