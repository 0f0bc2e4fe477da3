"""What the log costs, counted: combinations, readings kept, chunks freed.  No clocks."""

import random
import tracemalloc
from itertools import pairwise

import pytest

from hushd.core.aggregation import Aggregation
from hushd.core.columns import RECLAIM
from hushd.core.log import Log
from hushd.core.median_index import MedianIndex

CHUNK = 128


class Counted:
    """A sum that counts its combinations."""

    def __init__(self) -> None:
        self.calls = 0
        self.how = Aggregation(lambda: 0, lambda x, *_: x, self.combine, lambda p: p)

    def combine(self, a: int, b: int) -> int:
        self.calls += 1
        return a + b


def _measure(width: int, events: int, ask_every: int, wants: str) -> tuple[int, int, float]:
    """Return the most combinations of one append and one query, and the mean per reading."""
    counted = Counted()
    log = Log(CHUNK, covers=True)
    view = log.view(counted.how, wants, span=width)
    for at in range(2 * width if width < 10**5 else width + 3 * CHUNK):
        log.append(at, 1)
        if at >= width and at % ask_every == 0:
            view.value(at)
    start = at + 1
    view.value(at)
    worst_append = worst_query = total = 0
    for at in range(start, start + events):
        counted.calls = 0
        log.append(at, 1)
        worst_append = max(worst_append, counted.calls)
        total += counted.calls
        if at % ask_every == 0:
            counted.calls = 0
            assert view.value(at) == width
            worst_query = max(worst_query, counted.calls)
            total += counted.calls
    return worst_append, worst_query, total / events


@pytest.mark.parametrize("wants", ["value", "seconds"])
@pytest.mark.parametrize("ask_every", [1, 7, 1000])
@pytest.mark.parametrize("width", [10, 100, 1000, 10_000])
def test_no_call_combines_more_than_a_chunk(width, ask_every, wants):
    append, query, mean = _measure(width, 5_000, ask_every, wants)
    assert append <= CHUNK + 16
    assert query <= CHUNK + 16
    assert mean <= 6


@pytest.mark.parametrize("width", [100_000, 1_000_000])
def test_no_call_combines_more_than_a_chunk_however_long_the_window(width):
    append, query, mean = _measure(width, 2_000, 1, "value")
    assert append <= CHUNK + 16
    assert query <= CHUNK + 16
    assert mean <= 6


@pytest.mark.parametrize("ask", [1.0, 0.3, 0.02])
@pytest.mark.parametrize(("chunk", "slack"), [(1, 0), (8, 0), (32, 5), (8, 40)])
def test_readings_kept_are_those_of_the_longest_window_and_little_more(chunk, slack, ask):
    chance = random.Random(chunk)
    log = Log(chunk, slack)
    how = Counted().how
    views = [log.view(how, span=300), log.view(how, span=20), log.view(how, count=90)]
    views.append(log.view(MedianIndex, span=100))
    for at in range(3000):
        log.append(at, 1)
        if chance.random() < ask:
            for view in views:
                view.value(at)
            assert len(log) <= 300 + 2 * chunk + slack
    assert len(log) <= 300 + 2 * chunk + slack + 8


def test_a_long_window_is_given_back_a_little_at_a_time():
    log = Log(CHUNK)
    view = log.view(Counted().how, span=200_000)
    for at in range(200_000):
        log.append(at, 1)
    view.value(200_000)
    kept = [len(log)]
    for at in range(10**9, 10**9 + 2000):
        log.append(at, 1)
        view.value(at)
        kept.append(len(log))
    assert max(a - b for a, b in pairwise(kept)) <= 3 * RECLAIM * CHUNK
    assert kept[-1] <= 2000 + 2 * CHUNK


def test_an_idle_window_empties_and_gives_its_readings_back():
    log = Log(CHUNK)
    view = log.view(Counted().how, span=20_000)
    for at in range(20_000):
        log.append(at, 1)
    for now in range(50_000, 50_020):
        assert view.value(now) == 0
    assert len(log) <= CHUNK


@pytest.mark.parametrize(("covers", "limit"), [(False, 20), (True, 24)])
def test_a_reading_is_held_in_a_few_bytes(covers, limit):
    tracemalloc.start()
    try:
        log = Log(CHUNK, covers=covers)
        view = log.view(Counted().how, span=50_000 * 10**8)
        for i in range(50_000):
            log.append(i * 10**8, i / 7, 10**8)
        view.value(50_000 * 10**8 - 1)
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held / 50_000 < limit


def test_an_index_is_made_anew_when_most_of_it_leaves_at_once():
    removed = 0

    class Index(MedianIndex):
        __slots__ = ()

        def remove(self, event_id: int, value: float) -> None:
            nonlocal removed
            removed += 1
            super().remove(event_id, value)

    log = Log()
    view = log.view(Index, span=1000)
    for at in range(1000):
        log.append(at, float(at))
    assert view.value(999) == 499.0
    assert view.value(1899) == 949.0
    assert removed == 0
    assert view.value(1900) == 950.0
    assert removed == 1
