"""Nothing lost, nothing doubled in silence, whatever happens to the daemon and around it."""

import pytest
from torture.outcome import run, seed
from torture.world import LONG, SHORT

pytestmark = pytest.mark.mosquitto


@pytest.mark.parametrize("commit", ["100ms", "1s"])
def test_ten_faults(commit, tmp_path):
    outcome = run(tmp_path, seed(), faults=10, kinds=SHORT, commit=commit)
    print(outcome.figures)
    assert not outcome.problems, f"{outcome.problems} {outcome.figures}"


@pytest.mark.long
@pytest.mark.parametrize("commit", ["100ms", "1s"])
def test_hundreds_of_faults(commit, tmp_path):
    outcome = run(tmp_path, seed(), faults=150, kinds=LONG, commit=commit)
    print(outcome.figures)
    assert not outcome.problems, f"{outcome.problems} {outcome.figures}"
