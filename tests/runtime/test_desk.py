"""What holds messages back, asked directly."""

import threading

import pytest
from courier import MAIL, SECOND, Courier, rule
from phones import change

from hushd.core.mutes import Mute
from hushd.core.reconcile import Habit
from hushd.core.rules import During, Manner, Schedule, Span
from hushd.core.schedules import Calendar
from hushd.runtime.desk import Desk, Hold

ALERT = ("too-loud", (("room", "101"),))
NIGHT = Calendar((Schedule("night", (Span(22 * 60, 6 * 60),)),), ())
HOUR = 3600 * SECOND
QUIET = Manner(quiet=During("night"), quiet_except="critical")


def silence(until: int, begins: int = 0, rule: str = "") -> Mute:
    return Mute(1, rule, (), begins, until, "painters")


def test_the_longest_of_several_silences_counts():
    desk = Desk()
    desk.announce([silence(10), silence(30), silence(20), silence(99, rule="other")], [])
    assert desk.hold(Manner(), ALERT, "warning", 5) == Hold(30)
    assert desk.hold(Manner(), ALERT, "warning", 30) is None


@pytest.mark.parametrize(
    ("now", "want", "hold"),
    [
        (23 * HOUR, "warning", Hold(30 * HOUR, quiet=True)),
        (23 * HOUR, None, Hold(30 * HOUR, quiet=True)),
        (23 * HOUR, "critical", None),
        (12 * HOUR, "warning", None),
        (30 * HOUR, "warning", None),  # 06:00 belongs to the day
    ],
)
def test_quiet_hours(now, want, hold):
    assert Desk(NIGHT).hold(QUIET, ALERT, want, now) == hold


def test_what_is_always_quiet_has_no_end():
    desk = Desk(Calendar((Schedule("always", (Span(),)),), ()))
    assert desk.hold(Manner(quiet=During("always")), ALERT, None, 0) == Hold(None, quiet=True)


def test_a_schedule_that_is_gone_holds_nothing_back():
    assert Desk(NIGHT).hold(Manner(quiet=During("gone")), ALERT, None, 0) is None


def test_silences_and_schedules_go_by_the_wall():
    ahead = [22 * HOUR]
    desk = Desk(NIGHT, ahead=lambda: ahead[0])
    desk.announce([silence(23 * HOUR)], [])
    assert desk.hold(QUIET, ALERT, None, 0) == Hold(HOUR)
    assert desk.hold(QUIET, ALERT, None, HOUR) == Hold(8 * HOUR, quiet=True)
    before = desk.version
    assert not desk.watch()
    ahead[0] = 12 * HOUR  # somebody has set the clock
    assert desk.watch()
    assert desk.version != before
    assert desk.hold(QUIET, ALERT, None, 12 * HOUR) == Hold(18 * HOUR, quiet=True)


def test_only_what_may_hold_others_back_is_news():
    desk = Desk(None, [rule(mute_while=("gateway",)), rule("gateway")])
    gateway = change("critical", rule="gateway", labels=())
    before = desk.version
    assert not desk.note([change("warning")])
    assert desk.version == before
    assert desk.note([gateway])
    assert not desk.note([gateway])
    assert desk.hold(Manner(), ALERT, "warning", 0) == Hold(None)
    assert desk.hold(Manner(), ("internal/store", ()), "warning", 0) is None


def test_what_fires_counts_for_rules_that_come_later():
    desk = Desk()
    desk.note([change("critical", rule="gateway", labels=())])
    desk.change(None, [rule(mute_while=("gateway",)), rule("gateway")])
    assert desk.hold(Manner(), ALERT, "warning", 0) == Hold(None)


def test_another_manner_counts_for_what_is_held_back_already():
    story = Courier(manner=QUIET, schedules=[Schedule("night", (Span(22 * 60, 6 * 60),))])
    story.happen(1, "warning")
    assert story.said == []
    story.errands.follow(Manner(), {"too-loud": Habit((60 * SECOND,))})
    assert story.wait(10).kinds == ["raised"]
    story.errands.follow(Manner(every=True, refresh=SECOND), {})
    story.take(change(None, notify=MAIL))
    assert story.wait(200).kinds == ["raised", "cleared"]


def test_other_habits_count_for_what_was_told_already():
    story = Courier(Habit((3600 * SECOND,))).happen(0, "warning")
    story.errands.follow(Manner(), {"too-loud": Habit((60 * SECOND,))})
    assert [at for at, _, _ in story.wait(150).said] == [0, 60, 120]


def test_many_may_be_held_back_at_once():
    story = Courier().mute(0, 100)
    story.take(*(change("warning", room=str(room), notify=MAIL) for room in range(5_000)))
    assert (len(story.errands), story.errands.held) == (5_000, 5_000)
    story.wait(100)
    assert (len(story.said), story.errands.held) == (5_000, 0)


def test_threads_may_ask_while_it_changes():
    desk, failed = Desk(NIGHT), []

    def ask() -> None:
        try:
            for hour in range(400):
                desk.hold(QUIET, ALERT, None, hour * HOUR)
        except Exception as exc:  # noqa: BLE001  any is one too many
            failed.append(exc)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(200):
        desk.announce([silence(number)], [])
        desk.note([change("warning", room=str(number))])
    for thread in threads:
        thread.join()
    assert failed == []
