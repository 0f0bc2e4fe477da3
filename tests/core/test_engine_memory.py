"""Endless streams: what must not be lost by tidying up, and what must not be kept for ever."""

from play import S, at, brief, engine, limit, rule, rules

START = 1_000_000  # seconds; a week after the epoch, so that everything may be forgotten
LOUD = limit("warning", "above", 45.0, 42.0)


def test_a_reading_that_waits_is_not_lost_when_old_series_are_looked_for() -> None:
    playing = engine(rules(rule(LOUD), lateness=5))
    playing.process(at(START, 30.0))
    playing.process(at(START + 3598, 50.0, "cellar"))  # an hour after the start is at 3600
    assert brief(playing.advance((START + 3700) * S)) == [(START + 3598, "raised", "warning")]


def test_even_where_it_waits_longer_than_series_are_remembered() -> None:
    playing = engine(rules(rule(LOUD), lateness=7200, forget=600 * S))
    playing.process(at(START, 50.0))
    assert brief(playing.advance((START + 9000) * S)) == [(START, "raised", "warning")]


def test_a_stamp_that_is_not_believed_makes_no_series() -> None:
    playing = engine(rules(rule(LOUD, after=60)))
    assert playing.process(at(START + 86_400, 50.0, arrived=START)) == []
    assert playing.series == 0
    assert playing.advance((START + 10_000) * S) == []
    assert playing.rejected == {("noise", "future"): 1}


def test_w61_a_window_of_all_remembers_nobody_who_spoke_once() -> None:
    playing = engine(rules(rule(LOUD, measure="mean", span=10, each=()), forget=600 * S))
    sizes = []
    for second in range(9000):
        playing.process(at(START + second, 30.0, f"room-{second}"))
        if second in (4400, 8800):
            sizes.append(len(playing.snapshot()))
    assert sizes[1] < 1.5 * sizes[0]


def test_a_clock_that_stands_still_costs_no_memory() -> None:
    playing = engine(rules(rule(LOUD, measure="mean", span=10)))
    sizes = []
    for second in range(2000):
        playing.process(at(START, 30.0 + second / 1000, arrived=START + second))
        if second in (500, 1999):
            sizes.append(len(playing.snapshot()))
    assert sizes[1] < 1.5 * sizes[0]
