"""What a notifier is told: the vectors of alerts.md, and laws over any sequence."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushd.core.reconcile import (
    FLAPPING,
    Told,
    cooling,
    heard,
    reconcile,
    reminder,
    unreachable,
    wanted,
)
from hushd.core.rules import SEVERITIES, Notify, Severity

T9: Notify = (("warning", ("mail",)), ("critical", ("phone",)))


@pytest.mark.parametrize(
    ("notify", "notifier", "level", "want"),
    [
        (T9, "mail", "info", None),
        (T9, "mail", "warning", "warning"),
        (T9, "mail", "critical", "critical"),  # and everything worse
        (T9, "phone", "warning", None),
        (T9, "phone", "critical", "critical"),
        (T9, "nobody", "critical", None),
        (T9, "mail", None, None),
        ((("info", ("a",)), ("critical", ("a",))), "a", "warning", "warning"),  # the milder counts
        ((), "mail", "critical", None),
    ],
)
def test_wanted(notify, notifier, level, want):
    assert wanted(notify, notifier, level) == want


def play(notify: Notify, notifier: str, *steps: tuple[int, Severity | None, bool]) -> list[str]:
    """Return what is told over steps of (episode, level, can it be reached)."""
    told = Told()
    said: list[str] = []
    for at, (episode, level, up) in enumerate(steps):
        want = wanted(notify, notifier, level)
        if not up:
            told = unreachable(told, episode, want)
            continue
        kind = reconcile(told, episode, want)
        if kind is not None:
            said.append(kind)
            told = heard(told, kind, episode, want, at)
    return said


def always(*levels: Severity | None) -> list[tuple[int, Severity | None, bool]]:
    return [(1, level, True) for level in levels]


def test_t9_severity_routing():
    story = always("warning", "critical", "warning", None)
    assert play(T9, "mail", *story) == ["raised", "escalated", "lowered", "cleared"]
    assert play(T9, "phone", *story) == ["raised", "cleared"]


ANYONE: Notify = (("info", ("x",)),)
DOWN, UP = False, True


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([(1, "warning", DOWN), (1, "warning", UP)], ["raised"]),  # T13
        ([(1, "warning", DOWN), (1, None, DOWN), (1, None, UP)], ["missed"]),  # T13b
        ([(1, "warning", UP), (1, None, DOWN), (1, None, UP)], ["raised", "cleared"]),  # T13c
        (
            [(1, "warning", UP), (1, None, DOWN), (2, "critical", DOWN), (2, "critical", UP)],
            ["raised", "raised_again"],  # T13d
        ),
        ([(1, "warning", UP), (1, "warning", UP)], ["raised"]),
        ([(1, None, UP)], []),
    ],
)
def test_outages(steps, said):
    assert play(ANYONE, "x", *steps) == said


@given(
    st.lists(st.tuples(st.integers(1, 4), st.sampled_from([None, *SEVERITIES]), st.booleans())),
    st.sampled_from(["mail", "phone"]),
)
def test_nobody_hears_the_same_twice_and_all_hear_the_end(steps, notifier):
    steps = sorted(steps, key=lambda step: step[0])  # episodes do not go back
    said = play(T9, notifier, *steps, (5, None, True))
    on = False
    for kind in said:
        assert on == (kind in {"cleared", "escalated", "lowered", "raised_again"})
        on = kind not in {"cleared", "missed"}
    assert not on
    assert all(a != b for a, b in pairwise(said) if a in {"raised", "cleared"})


@pytest.mark.parametrize(
    ("told", "want", "kind"),
    [
        (Told(), "warning", "flapping"),
        (Told(1, "warning"), None, "flapping"),
        (Told(), None, None),  # it was never of interest here
        (Told(FLAPPING, "warning"), None, None),  # and is known to change
        (Told(FLAPPING, "warning"), "critical", None),
    ],
)
def test_while_it_flaps_that_is_all_that_is_told(told, want, kind):
    assert reconcile(told, 3, want, flapping=True) == kind


@pytest.mark.parametrize(("want", "kind"), [(None, "cleared"), ("warning", "raised_again")])
def test_who_knows_that_it_flaps_always_hears_how_it_ended(want, kind):
    told = heard(Told(3, "warning"), "flapping", 3, "warning", 10)
    assert reconcile(told, 3, want) == kind


@pytest.mark.parametrize(
    ("told", "want", "until"),
    [
        (Told(1, None, cleared=100, worst="warning"), "warning", 700),
        (Told(1, None, cleared=100, worst="warning"), "info", 700),
        (Told(1, None, cleared=100, worst="warning"), "critical", None),  # T11b: it breaks through
        (Told(1, None, cleared=-400, worst="warning"), "warning", None),
        (Told(1, None), "warning", None),
        (Told(1, "warning", cleared=100), "warning", None),
    ],
)
def test_cooldown(told, want, until):
    assert cooling(told, want, 200, 600) == until


def test_the_worst_is_that_of_one_episode():
    told = Told()
    for at, (kind, episode, want, worst) in enumerate(
        [
            ("raised", 1, "warning", "warning"),
            ("escalated", 1, "critical", "critical"),
            ("lowered", 1, "info", "critical"),
            ("raised_again", 2, "warning", "warning"),
            ("cleared", 2, None, "warning"),
            ("raised", 3, "info", "info"),
        ]
    ):
        told = heard(told, kind, episode, want, at)
        assert (told.worst, told.at) == (worst, at)


def test_reminders_start_over_with_every_other_message():
    told = heard(Told(), "raised", 1, "warning", 0)
    due = []
    for _ in range(3):
        due.append(at := reminder(told, (15, 30, 60)))
        told = heard(told, "repeat", 1, "warning", at)
    told = heard(told, "escalated", 1, "critical", 110)
    assert [*due, reminder(told, (15, 30, 60))] == [15, 45, 105, 125]


@pytest.mark.parametrize("told", [Told(), Told(FLAPPING, "warning", at=5)])
def test_nobody_is_reminded_of_what_is_over_or_flaps(told):
    assert reminder(told, (15,)) is None


def test_nobody_is_reminded_where_nothing_is_repeated():
    assert reminder(Told(1, "warning"), ()) is None
