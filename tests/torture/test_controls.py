"""Mistakes that somebody might make, put in on purpose: the torture notices each.

A mistake shows only where chance strikes at its moment, so that each has some tries.
"""

import pytest
from torture.outcome import run, seed
from torture.world import KILLS, RESETS

pytestmark = pytest.mark.mosquitto

TRIES = 4


@pytest.mark.parametrize(
    ("mistake", "kinds", "problems"),
    [
        ("acknowledge_first", KILLS, {"rooms with other readings"}),
        ("send_first", KILLS, {"lost to the witness", "silent to the witness"}),
        ("no_dedupe", RESETS, {"rooms with other readings"}),
    ],
)
def test_a_mistake_is_noticed(mistake, kinds, problems, tmp_path):
    found = []
    for n in range(TRIES):
        folder = tmp_path / str(n)
        folder.mkdir()
        outcome = run(folder, seed(), faults=8, kinds=kinds, commit="100ms", mistake=mistake)
        print(mistake, outcome.figures, outcome.problems)
        found.append(outcome.problems)
        if problems & outcome.problems.keys():
            return
    pytest.fail(f"{mistake} went unnoticed: {found}")
