"""A message on which the process ends each time: found, and left, in a few starts."""

import pytest

from hushd.runtime.messages import Message
from hushd.runtime.suspects import Suspects


def message(number: int, *, again: bool = True, qos: int = 1) -> Message:
    return Message(
        b"home/noise", b"%d" % number, 0, qos=qos, packet=number if qos else 0, again=again
    )


class Process:
    """Judges messages that the broker sends until it has them acknowledged."""

    def __init__(self, deadly: set[int]) -> None:
        self.deadly = deadly
        self.left: bytes | None = None
        self.judged: list[int] = []
        self.unread: list[int] = []

    def run(self, batch: list[Message]) -> bool:
        """Say whether the process outlives it."""
        suspects = Suspects(self.left)
        self.left, self.judged = None, []
        for part in suspects.parts(batch):
            fresh = []
            for one in part:
                if suspects.condemns(one):
                    self.unread.append(one.packet)
                else:
                    fresh.append(one)
            if again := [one for one in fresh if one.again]:
                self.left = suspects.note(again)
            for one in fresh:
                if one.packet in self.deadly:
                    return False
                self.judged.append(one.packet)
            if part is not batch:
                self.left = None  # by the commit
        return True


@pytest.mark.parametrize(("size", "starts"), [(1, 3), (5, 4)])
def test_the_one_on_which_it_ends_is_left_and_all_others_are_judged(size, starts):
    process = Process({size})
    batch = [message(n) for n in range(1, size + 1)]
    assert not process.run([one._replace(again=False) for one in batch])
    for _ in range(starts - 1):
        assert not process.run(batch)
    assert process.run(batch)
    assert process.unread == [size]
    assert process.judged == list(range(1, size))


def test_of_several_each_is_found():
    process = Process({2, 4})
    batch = [message(n) for n in range(1, 6)]
    while not process.run([one for one in batch if one.packet not in process.unread]):
        assert len(process.unread) <= 2
    assert process.unread == [2, 4]
    assert process.judged == [1, 3, 5]


def test_an_end_that_was_not_theirs_costs_no_message():
    process = Process({3})
    batch = [message(n) for n in range(1, 6)]
    assert not process.run(batch)
    process.deadly.clear()  # it was the power
    assert process.run(batch)
    assert process.unread == []
    assert process.judged == [1, 2, 3, 4, 5]
    assert process.left is None


def test_nobody_is_careful_with_what_comes_for_the_first_time():
    suspects = Suspects(Suspects().note([message(1)]))
    batch = [message(1, again=False), message(2), message(1, qos=0)]
    assert list(suspects.parts(batch)) == [batch]
    assert next(suspects.parts(batch)) is batch


def test_the_order_stays():
    suspects = Suspects(Suspects().note([message(2), message(4)]))
    batch = [message(n) for n in range(1, 6)]
    parts = [[one.packet for one in part] for part in suspects.parts(batch)]
    assert parts == [[1], [2], [3], [4], [5]]
    assert not any(suspects.condemns(one) for one in batch)
