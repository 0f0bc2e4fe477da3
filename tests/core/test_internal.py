"""hushd's own troubles become alerts like any other: told late enough, once, and to the right ones."""

import pytest

from hushd.core.internal import Troubles
from hushd.core.transitions import Transition


def told(transitions: list[Transition]) -> list[tuple]:
    return [(t.at, t.rule.removeprefix("internal/"), t.event, t.episode) for t in transitions]


@pytest.mark.parametrize(
    ("story", "expected"),
    [
        # back in time: nobody hears of it
        ([("note", 0), ("over", 29), ("advance", 100)], []),
        # at that very instant it has lasted long enough
        ([("note", 0), ("over", 30)], [(30, "broker", "raised", 1), (30, "broker", "cleared", 1)]),
        # told late, stamped when it was due
        ([("note", 0), ("advance", 99)], [(30, "broker", "raised", 1)]),
        # noted again: the first time counts, and it is told once
        ([("note", 0), ("note", 20), ("note", 31), ("note", 50)], [(30, "broker", "raised", 1)]),
        # a new loss waits anew, and is a new episode
        (
            [("note", 0), ("over", 40), ("note", 50), ("advance", 79), ("advance", 80)],
            [
                (30, "broker", "raised", 1),
                (40, "broker", "cleared", 1),
                (80, "broker", "raised", 2),
            ],
        ),
        ([("over", 5), ("advance", 100)], []),
    ],
)
def test_a_trouble_that_lasts_until_it_is_over(story, expected):
    troubles, seen = Troubles("warning", ("phone",)), []
    for what, now in story:
        if what == "note":
            seen += troubles.note(now, "broker", why="refused", after=30)
        elif what == "over":
            seen += troubles.over(now, "broker")
        else:
            seen += troubles.advance(now)
    assert told(seen) == expected


def test_mishaps_are_over_when_none_was_noted_for_a_while():
    troubles = Troubles("warning", ())
    seen = []
    for now in (0, 50, 140):
        seen += troubles.note(now, "limit", "series", "10 series", quiet=100)
    seen += troubles.advance(239)
    assert told(seen) == [(0, "limit", "raised", 1)]
    [cleared] = troubles.advance(1000)
    assert (cleared.at, cleared.event, cleared.reason) == (240, "cleared", "quiet")
    assert told(troubles.note(1001, "limit", "series", quiet=100)) == [(1001, "limit", "raised", 2)]


def test_each_has_its_own_labels_episodes_and_ids():
    troubles = Troubles("critical", ("phone", "mail"))
    one = troubles.note(0, "notifier", "mail", "refused")
    two = troubles.note(5, "notifier", "phone", "no answer")
    [mail, phone] = [*one, *two]
    assert mail.labels == (("notifier", "mail"),)
    assert (mail.severity, mail.about) == ("critical", "refused")
    assert len({mail.id, phone.id}) == 2
    assert {alarm.labels for alarm in troubles.alarms()} == {mail.labels, phone.labels}
    again = Troubles("critical", ("phone", "mail"))
    assert again.note(0, "notifier", "mail", "refused") == one


def test_nobody_is_told_of_himself():
    troubles = Troubles("warning", ("mail", "phone"))
    [mail] = troubles.note(0, "notifier", "mail")
    assert mail.notify == (("warning", ("phone",)),)
    [alone] = Troubles("warning", ("mail",)).note(0, "notifier", "mail")
    assert alone.notify == ()
    [broker] = troubles.note(0, "broker")
    assert broker.notify == (("warning", ("mail", "phone")),)


def test_who_hears_may_change():
    troubles = Troubles("warning", ("mail",))
    troubles.note(0, "broker")
    troubles.change("info", ("phone",))
    [cleared] = troubles.over(1, "broker")
    assert cleared.notify == (("info", ("phone",)),)
    [raised] = troubles.note(2, "broker")
    assert raised.severity == "info"


def test_the_deadline_is_never_late():
    troubles = Troubles("warning", ())
    assert troubles.deadline() is None
    troubles.note(0, "broker", after=30)
    assert troubles.deadline() == 30
    troubles.note(1, "limit", "inbox", quiet=20)
    assert troubles.deadline() == 21
    assert len(troubles.advance(21)) == 1
    assert troubles.deadline() == 30
    troubles.advance(30)
    assert troubles.deadline() is None


def test_a_restart_in_the_middle_of_a_trouble_begins_no_new_episode():
    before = Troubles("critical", ("phone",))
    [raised] = before.note(0, "store", why="the disk is full")
    before.note(5, "limit", "series", "10 series", quiet=100)
    before.over(7, "store")
    [again] = before.note(9, "store", why="the disk is full")
    after = Troubles("critical", ("phone",))
    after.load(before.save())
    assert after.note(20, "store", why="still full") == []
    [over] = after.over(30, "store")
    assert (raised.episode, again.episode, over.episode, over.started) == (1, 2, 2, 9)
    assert over.id != again.id
    [quiet] = after.advance(1000)
    assert (quiet.rule, quiet.at, quiet.event) == ("internal/limit", 105, "cleared")


def test_what_a_newer_version_calls_a_trouble_is_left_out():
    troubles = Troubles("warning", ())
    troubles.note(0, "broker")
    other = Troubles("warning", ())
    other.load(troubles.save().replace(b'"kind":"broker"', b'"kind":"moon"'))
    assert list(other.alarms()) == []
