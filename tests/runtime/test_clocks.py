"""Engine time never goes back, and no arrival is older than a time handed out before."""

import pytest

from hushd.runtime.clocks import Clock, RecordedClock, StampClock, WallClock


class Hands:
    """A wall clock and a steady clock that the test sets."""

    def __init__(self) -> None:
        self.wall = 1_000
        self.steady = 50

    def clock(self) -> WallClock:
        return WallClock(lambda: self.wall, lambda: self.steady)


def test_arrivals_are_all_different():
    clock = Hands().clock()
    assert [clock.arrival(at) for at in (1000, 1000, 999, 1500)] == [1000, 1001, 1002, 1500]


def test_a_message_stamped_before_the_engine_moved_on_arrives_after():
    hands = Hands()
    clock = hands.clock()
    hands.wall = hands.steady = 2_000
    now = clock.now()
    assert clock.arrival(1_500) == now + 1


def test_a_clock_set_back_stops_nothing():
    hands = Hands()
    clock = hands.clock()
    assert clock.now() == 1_000
    hands.wall -= 900
    hands.steady += 10
    assert clock.now() == 1_010  # it goes on at its own pace
    assert clock.arrival(hands.wall) == 1_011


def test_a_clock_set_forward_is_followed():
    hands = Hands()
    clock = hands.clock()
    hands.wall += 5_000
    assert clock.now() == 6_000
    hands.wall += 10
    hands.steady += 10
    assert clock.now() == 6_010


@pytest.mark.parametrize("at", [[5, 5, 4], [5]])
def test_a_recorded_clock_stands_where_the_newest_message_came(at):
    clock = RecordedClock()
    assert clock.now() == 0
    for received in at:
        assert clock.arrival(received) == 5
    assert clock.now() == 5


def test_time_by_stamps_does_not_pass_by_itself():
    clock: Clock = StampClock()
    assert clock.now() is None
