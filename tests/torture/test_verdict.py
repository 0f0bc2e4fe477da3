"""The judge is judged first: it sees each kind of mistake, and nothing where there is none."""

import random
from itertools import islice

import pytest
from torture.story import END, TOO_MUCH, Change, Expected, Said, readings, understood, write
from torture.verdict import Heard, judge, judge_news, levels, repeated

ROOM = (("room", "r1"),)
UP = Change("mean", ROOM, "raised", 1, "warning", 61.0)
DOWN = Change("mean", ROOM, "cleared", 1, None, 54.0)
AGAIN = Change("mean", ROOM, "raised", 2, "warning", 62.0)
OTHER = Change("mean", (("room", "r2"),), "raised", 1, "warning", 61.0)
STRANGE = Change("mean", ROOM, "raised", 3, "warning", 63.0)


def heard(*changes, flagged=()):
    return [Heard(change, "key", n in flagged) for n, change in enumerate(changes)]


@pytest.mark.parametrize(
    ("deliveries", "lost", "spurious", "silent", "misordered"),
    [
        (heard(UP, DOWN, AGAIN, OTHER), 0, 0, 0, 0),
        (heard(OTHER, UP, DOWN, AGAIN), 0, 0, 0, 0),  # alerts have no order among each other
        (heard(UP, UP, DOWN, AGAIN, OTHER, flagged=[1]), 0, 0, 0, 0),
        (heard(UP, UP, DOWN, AGAIN, OTHER, flagged=[0, 1]), 0, 0, 0, 0),  # the first was not taken
        (heard(UP, UP, DOWN, AGAIN, OTHER), 0, 0, 1, 0),
        (heard(UP, UP, DOWN, AGAIN, OTHER, flagged=[0]), 0, 0, 1, 0),
        (heard(UP, AGAIN, OTHER), 1, 0, 0, 0),
        (heard(), 4, 0, 0, 0),
        (heard(UP, DOWN, AGAIN, OTHER, STRANGE), 0, 1, 0, 0),
        (heard(UP, AGAIN, DOWN, OTHER), 0, 0, 0, 1),
        (heard(UP._replace(value=61.5), DOWN, AGAIN, OTHER), 1, 1, 0, 0),  # of other readings
    ],
)
def test_each_mistake_is_seen(deliveries, lost, spurious, silent, misordered):
    verdict = judge([UP, DOWN, AGAIN, OTHER], deliveries)
    assert tuple(map(len, verdict)) == (lost, spurious, silent, misordered)
    assert verdict.sound == (not any([lost, spurious, silent, misordered]))


@pytest.mark.parametrize(
    ("deliveries", "lost", "spurious", "silent", "misordered"),
    [
        (heard(UP, DOWN, AGAIN, OTHER), 0, 0, 0, 0),
        (heard(AGAIN, OTHER), 0, 0, 0, 0),  # what is over need not be told any more
        (heard(UP, DOWN, OTHER), 1, 0, 0, 0),
        (heard(UP, DOWN, AGAIN), 1, 0, 0, 0),
        (heard(AGAIN, OTHER, AGAIN), 0, 0, 1, 0),
        (heard(OTHER, AGAIN, DOWN, flagged=[2]), 1, 0, 0, 1),  # in the end they believe it is over
        (heard(AGAIN, OTHER, STRANGE), 0, 1, 0, 0),
    ],
)
def test_each_mistake_in_what_is_news_is_seen(deliveries, lost, spurious, silent, misordered):
    verdict = judge_news([UP, DOWN, AGAIN, OTHER], deliveries)
    assert tuple(map(len, verdict)) == (lost, spurious, silent, misordered)


def test_levels_are_those_that_are_not_well():
    assert levels([UP, OTHER, DOWN]) == {("mean", OTHER.labels): "warning"}
    assert levels([UP, DOWN, AGAIN])[("mean", ROOM)] == "warning"


def test_repetitions_are_counted():
    assert repeated(heard(UP, UP, DOWN, UP)) == 2


@pytest.fixture
def config(tmp_path):
    write(tmp_path, 1883, "http://127.0.0.1:9")
    return understood(tmp_path)


def test_the_story_is_worth_telling_and_always_the_same(config):
    said = [*islice(readings(random.Random(1)), 5000), Said(END, TOO_MUCH)]
    story = Expected(config, said).changes
    assert story == Expected(config, said).changes
    assert len({change.rule for change in story}) == 5
    assert len(set(story)) == len(story) > 100
    assert story[-1].labels == (("room", END),)
