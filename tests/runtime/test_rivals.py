"""Somebody else uses our client id."""

from hushd.runtime.rivals import LONGEST, MANY, Rivals


def test_w38_more_than_five_a_minute_are_no_coincidence_and_we_keep_away_longer_each_time():
    rivals, now, pauses = Rivals(), 0.0, []
    for _ in range(MANY + 9):
        now += 2
        pauses.append(rivals.ended(now, 1.0, told=True, by_peer=True))
        now += pauses[-1] or 0
    assert pauses == [*[None] * MANY, 2, 4, 8, 16, 32, 64, 128, 256, LONGEST]
    assert rivals.found


def test_w38_in_3_1_1_short_lives_say_it():
    rivals = Rivals()
    for n in range(MANY):
        assert rivals.ended(n * 2, 1.0, told=False, by_peer=True) is None
    assert rivals.ended(11, 1.0, told=False, by_peer=True) == 2


def test_a_few_are_a_coincidence():
    rivals = Rivals()
    for n in range(20):
        assert rivals.ended(n * 13.0, 1.0, told=True, by_peer=True) is None


def test_what_we_end_ourselves_or_what_lived_long_is_nobody_else():
    rivals = Rivals()
    for n in range(20):
        assert rivals.ended(n, 1.0, told=False, by_peer=False) is None
        assert rivals.ended(n, 6.0, told=False, by_peer=True) is None


def test_after_a_long_peace_it_is_forgotten():
    rivals = Rivals()
    for n in range(MANY + 3):
        rivals.ended(n, 1.0, told=True, by_peer=True)
    assert rivals.ended(700, 601, told=True, by_peer=True) is None
    assert not rivals.found
