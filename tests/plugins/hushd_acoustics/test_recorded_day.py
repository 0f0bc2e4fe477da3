"""A whole recorded day of seconds, where it is on this machine, against reference numbers."""

import csv
import json
from pathlib import Path

import pytest

from hushd.core.log import Log
from hushd.core.readings import SECOND
from hushd.plugin import load

DATA = Path(__file__).parents[4] / "shared" / "data"
DAY = 86_400

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"{DATA} is not here")


@pytest.fixture(scope="module")
def day():
    with (DATA / "sound" / "noisemonitor_test_data_laeq1s.csv").open() as file:
        rows = csv.reader(file)
        next(rows)
        return [float(row[-1]) for row in rows][:DAY]


@pytest.mark.parametrize(
    ("name", "argument", "key"),
    [
        ("leq", None, "LAeq"),
        ("mean", None, "arithmetic_mean_WRONG"),
        ("max", None, "LAmax_1s"),
        ("min", None, "LAmin_1s"),
        ("ln", 1, "L1"),
        ("ln", 10, "L10"),
        ("ln", 50, "L50"),
        ("ln", 90, "L90"),
        ("ln", 99, "L99"),
        ("time_above", 55, "seconds_above_55"),
        ("count_above", 60, "seconds_above_60"),
        ("count", None, "n"),
    ],
)
def test_the_day_measures_what_the_reference_says(day, name, argument, key):
    golden = json.loads((DATA / "GOLDEN.json").read_text())["laeq1s_2025-03-22_24h"]
    aggregator = load().aggregators[name]
    log = Log(covers=True)
    view = log.view(aggregator.build(argument), aggregator.wants, span=DAY * SECOND)
    for second, value in enumerate(day, 1):
        log.append(second * SECOND, value, SECOND)
    assert view.value(DAY * SECOND) == pytest.approx(golden[key], rel=1e-10)
