"""Failures of every kind and ends at any point: nothing is lost, nothing doubled in silence."""

import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_store import Disk, MemoryStore
from outbox_stories import ATTEMPTS, KEEPING_ORDER, RULE, fuses, happenings, judge, stories, tell

from hushd.runtime.store import Store

pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnhandledThreadExceptionWarning"  # so processes end here
)


REPEATED = replace(RULE, repeat=(2 * 10**6,))  # each two milliseconds


def memory() -> Callable[[], Store]:
    disk = Disk()
    return lambda: MemoryStore(disk, time.time_ns)


@settings(max_examples=150, deadline=None)
@given(stories, st.lists(st.sampled_from(list(ATTEMPTS)), max_size=15), fuses, st.booleans())
def test_nothing_is_lost_and_nothing_doubled_in_silence(story, attempts, ends, every):
    happened = happenings(story)
    ear, posted, left = tell(happened, attempts, ends, memory(), every=every)
    judge(happened, ear, posted, left, every=every, ordered=False)


@settings(max_examples=100, deadline=None)
@given(stories, st.lists(st.sampled_from(KEEPING_ORDER), max_size=15), fuses, st.booleans())
def test_what_is_tried_first_is_tried_in_order(story, attempts, ends, every):
    happened = happenings(story)
    ear, posted, left = tell(happened, attempts, ends, memory(), every=every)
    judge(happened, ear, posted, left, every=every, ordered=True)


@settings(max_examples=75, deadline=None)
@given(stories, st.lists(st.sampled_from(list(ATTEMPTS)), max_size=15), fuses)
def test_reminders_are_doubled_no_more_in_silence_than_all_else(story, attempts, ends):
    happened = happenings(story)
    ear, posted, left = tell(happened, attempts, ends, memory(), every=False, rule=REPEATED)
    judge(happened, ear, posted, left, every=False, ordered=False)


@settings(max_examples=50, deadline=None)
@given(stories, st.lists(st.sampled_from(["told", "not sent", "nobody there", "refused"])))
def test_where_there_is_no_doubt_nothing_says_so(story, attempts):
    happened = happenings(story)
    ear, posted, left = tell(happened, attempts, [], memory(), every=True)
    assert [note for note in ear.heard if note.again] == []
    assert len(ear.heard) == len(posted)
    judge(happened, ear, posted, left, every=True, ordered=False)


# -- what these stories can find -------------------------------------------------------


class ForgetsClaims(MemoryStore):
    def claim(self, row: int) -> None:
        pass


class ForgetsDoubts(MemoryStore):
    def postpone(self, row: int, *, unsure: bool) -> None:
        super().postpone(row, unsure=False)


class ForgetsNews(MemoryStore):
    def settle(self, notifier, rows, news=None) -> None:
        super().settle(notifier, rows)


class ForgetsLetters(MemoryStore):
    def commit(self, transitions=(), letters=(), troubles=None) -> list[int]:
        return [0] * len(letters)


STORY = happenings(
    [
        ("101", "warning", True, None),
        ("102", "critical", True, None),
        ("101", None, True, None),
        ("102", None, True, None),
    ]
)


def violations(kind: type[MemoryStore]) -> int:
    """Return at how many of all possible ends of a process a promise is broken."""
    broken = 0
    for steps in range(60):
        disk = Disk()
        ear, posted, left = tell(
            STORY,
            ["told", "the answer is lost", "not sent", "the answer is lost", "the note is lost"],
            [steps],
            lambda disk=disk: kind(disk, time.time_ns),  # type: ignore[misc]  # a lambda with a default
            every=False,
        )
        try:
            judge(STORY, ear, posted, left, every=False, ordered=True)
        except AssertionError:
            broken += 1
    return broken


@pytest.mark.parametrize("kind", [ForgetsClaims, ForgetsDoubts, ForgetsNews, ForgetsLetters])
def test_a_store_that_forgets_is_found_out(kind):
    assert violations(kind)


def test_one_that_does_not_is_not():
    assert not violations(MemoryStore)
