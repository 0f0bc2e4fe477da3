"""The queue without pauses, against joining everything."""

from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from hushd.core.chunk_queue import ChunkQueue


@given(
    st.lists(
        st.one_of(st.text("abc", max_size=2), st.none(), st.just("store"), st.integers(1, 90)),
        max_size=80,
    )
)
def test_the_queue_keeps_order_and_never_combines_more_than_thrice(plan):
    calls = 0

    def combine(a: str, b: str) -> str:
        nonlocal calls
        calls += 1
        return a + b

    queue, held = ChunkQueue(combine, ""), deque()
    steps = [
        s for step in plan for s in ([*"xy" * step, None] if isinstance(step, int) else [step])
    ]
    for step in steps:
        calls = 0
        if step == "store":
            other = ChunkQueue(combine, "")
            other.load(*queue.dump())
            queue = other
        elif step is not None:
            queue.push(step)
            held.append(step)
        elif held:
            queue.pop()
            held.popleft()
        assert calls <= 3
        assert queue.value() == "".join(held)
        assert len(queue) == len(held)


def test_spent_places_are_given_back():
    queue = ChunkQueue(lambda a, b: a + b, 0)
    for i in range(10_000):
        queue.push(i)
        if i >= 50:
            queue.pop()
    assert len(queue._items) <= 250
