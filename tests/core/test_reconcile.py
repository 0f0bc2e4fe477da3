"""What a notifier is told: the vectors of alerts.md, and laws over any sequence."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushd.core.reconcile import Told, reconcile, unreachable, wanted
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
    for episode, level, up in steps:
        want = wanted(notify, notifier, level)
        if not up:
            told = unreachable(told, episode, want)
            continue
        kind = reconcile(told, episode, want)
        if kind is not None:
            said.append(kind)
            told = Told(episode, want)
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
