"""The literal two stacks: the article's table, row by row, and what they are good for."""

from collections import deque
from math import inf, isnan, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushd.core.aggregation import Aggregation, recompute
from hushd.core.heap_median import HeapMedian
from hushd.core.sliding import sliding
from hushd.core.two_stacks import TwoStacks

SUM: Aggregation[float] = Aggregation(lambda: 0, lambda x: x, lambda a, b: a + b, lambda p: p)

#: associative, not commutative: it shows any reading out of order
WORDS: Aggregation[str] = Aggregation(lambda: "", str, lambda a, b: f"{a} {b}".strip(), lambda p: p)

#: a sketch: the two largest distinct readings
TOP_TWO: Aggregation[frozenset[int]] = Aggregation(
    frozenset,
    lambda x: frozenset([x]),
    lambda a, b: frozenset(sorted(a | b)[-2:]),
    sorted,
)

MAX: Aggregation[float] = Aggregation(
    lambda: -inf,
    lambda x: x,
    lambda a, b: a if a >= b else b if b > a else nan,
    lambda p: p,
)

#: what is done; front as (value, its suffix's sum), oldest last; back; running; sum
TABLE = [
    ("push 1", [], [1], 1, 1),
    ("push 2", [], [1, 2], 3, 3),
    ("push 3", [], [1, 2, 3], 6, 6),
    ("push 4", [], [1, 2, 3, 4], 10, 10),  # full
    ("push 5, pop", [(5, 5), (4, 9), (3, 12), (2, 14)], [], 0, 14),  # the flip
    ("push 6, pop", [(5, 5), (4, 9), (3, 12)], [6], 6, 18),
    ("push 7, pop", [(5, 5), (4, 9)], [6, 7], 13, 22),
    ("push 8, pop", [(5, 5)], [6, 7, 8], 21, 26),
    ("push 9, pop", [], [6, 7, 8, 9], 30, 30),
    ("push 10, pop", [(10, 10), (9, 19), (8, 27), (7, 34)], [], 0, 34),  # the flip
    ("pop", [(10, 10), (9, 19), (8, 27)], [], 0, 27),
    ("pop", [(10, 10), (9, 19)], [], 0, 19),
    ("pop", [(10, 10)], [], 0, 10),
    ("pop", [], [], 0, 0),  # drained
    ("push 11", [], [11], 11, 11),  # and as good as new
]


def test_the_fifteen_rows_of_the_article():
    window = TwoStacks(SUM)
    for what, front, back, running, total in TABLE:
        for step in what.split(", "):
            if step == "pop":
                window.pop()
            else:
                window.push(int(step.removeprefix("push ")))
        assert (what, window.front, window.back) == (what, front, back)
        assert (what, window.running, window.value()) == (what, running, total)
        assert len(window) == len(front) + len(back)


def test_pop_returns_the_oldest_and_refuses_an_empty_window():
    window = TwoStacks(SUM)
    with pytest.raises(IndexError, match="empty window"):
        window.pop()
    window.push(3)
    window.push(4)
    assert [window.pop(), window.pop()] == [3, 4]
    with pytest.raises(IndexError):
        window.pop()
    assert window.value() == 0


#: a step pushes a value, or (None) pops the oldest
steps = st.lists(st.one_of(st.integers(0, 9), st.none()), max_size=80)


@pytest.mark.parametrize("how", [WORDS, TOP_TWO, SUM], ids=["words", "sketch", "sum"])
@given(plan=steps)
def test_two_stacks_agree_with_recomputing(how, plan):
    window, held = TwoStacks(how), deque()
    for value in plan:
        if value is not None:
            window.push(value)
            held.append(value)
        elif held:
            assert window.pop() == held.popleft()
        assert window.value() == recompute(how, list(held))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, nan, 2.0, 3.0, 4.0], [nan, nan, 5.0, 7.0]),
        ([1e20, 1.0, 2.0, 3.0, 4.0], [1e20, 3.0, 5.0, 7.0]),  # nothing is subtracted
        ([inf, -inf, 2.0, 3.0], [nan, -inf, 5.0]),
    ],
)
def test_a_bad_reading_spoils_only_the_windows_that_hold_it(values, expected):
    assert sliding(values, 2, TwoStacks(SUM)) == pytest.approx(expected, nan_ok=True)


def test_a_maximum_that_compares_with_nan_says_nan():
    results = sliding([5.0, nan, 1.0, 2.0, 3.0], 2, TwoStacks(MAX))
    assert [isnan(x) for x in results[:2]] == [True, True]
    assert results[2:] == [2.0, 3.0]


@pytest.mark.parametrize(
    ("how", "values", "width", "expected"),
    [
        (SUM, range(1, 11), 4, [10, 14, 18, 22, 26, 30, 34]),
        (WORDS, "abcd", 2, ["a b", "b c", "c d"]),
        (SUM, [7], 1, [7]),
        (SUM, [1, 2, 3], 3, [6]),  # the whole stream is one window
    ],
)
def test_sliding_a_whole_list(how, values, width, expected):
    assert sliding(values, width, TwoStacks(how)) == expected


@pytest.mark.parametrize("width", [0, -1, 4])
@pytest.mark.parametrize("window", [TwoStacks(SUM), HeapMedian()])
def test_a_width_that_does_not_fit_is_refused(width, window):
    with pytest.raises(ValueError, match="does not fit a stream of 3 readings"):
        sliding([1, 2, 3], width, window)
