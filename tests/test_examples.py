"""The examples: each recording gives the journal beside it, and that journal is right.

What is right is told twice: in the files, and here by hand or by brute force.
"""

import json
import re
import shlex
import sys
from collections import defaultdict
from collections.abc import Iterator
from csv import DictReader
from datetime import datetime
from math import isclose, log10
from pathlib import Path
from subprocess import run

import pytest

REPO = Path(__file__).resolve().parents[1]
EXAMPLES = REPO / "config/examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.yaml"))


def replay(name: str) -> str:
    """Run the command that the head of an example gives; return the journal."""
    head = (EXAMPLES / f"{name}.yaml").read_text()
    command = re.search(r"^# \$ hushd (replay .*)$", head, re.MULTILINE)
    assert command, f"{name}.yaml does not say how to replay it"
    argv = [Path(sys.executable).parent / "hushd", *shlex.split(command[1])]
    done = run(argv, cwd=REPO, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def records(journal: str) -> list[dict]:
    return [json.loads(line) for line in journal.splitlines()]


def rounded(journal: str) -> str:
    """Return a journal to nine decimals: mathematics libraries differ in the last bit."""
    lines = (
        json.loads(line, parse_float=lambda x: round(float(x), 9)) for line in journal.splitlines()
    )
    return "".join(json.dumps(line) + "\n" for line in lines)


@pytest.fixture(scope="module")
def journals() -> dict[str, str]:
    return {name: replay(name) for name in NAMES}


def test_there_are_three():
    assert len(NAMES) >= 3


@pytest.mark.parametrize("name", NAMES)
def test_the_journal_is_the_expected_one(name: str, journals):
    expected = (EXAMPLES / f"{name}.journal.jsonl").read_text()
    assert rounded(journals[name]) == rounded(expected)


@pytest.mark.parametrize("name", NAMES)
def test_two_runs_give_identical_bytes(name: str, journals):
    assert replay(name) == journals[name]


def at(clock: str, day: str = "2026-02-07") -> str:
    return f"{day}T{clock}Z"


def told(journal: str, rule: str) -> list[tuple]:
    return [
        (r["at"], next(iter(r["labels"].values())), r["event"], r["severity"])
        for r in records(journal)
        if r["rule"] == rule
    ]


def test_three_severities_by_hand(journals):
    # 37 dB, at 22:05 60, at 22:10 75, at 22:12 48, at 22:16 37, silent from 22:20:10 to 22:26.
    # The window holds six readings.  k of them at 60 dB give 52.4, 55.3, 57.0 ... dB.
    assert told(journals["2-three-severities"], "disturbance") == [
        (at("22:05:00"), "101", "raised", "info"),  # one at 60
        (at("22:06:10"), "101", "escalated", "warning"),  # two at 60, 22:05:10; for 1m
        # room 102: 60 dB for half a minute.  Above 55 from 22:08:13 on, and no more so at
        # 22:09:13, just when it would have been told: never a warning
        (at("22:08:03"), "102", "raised", "info"),
        (at("22:09:23"), "102", "cleared", None),
        (at("22:10:10"), "101", "escalated", "critical"),  # two at 75 give 70.5
        # from 22:12:50 on only 48 dB: below the clear levels of critical and of warning
        (at("22:13:50"), "101", "lowered", "warning"),  # clear_for 1m
        (at("22:14:50"), "101", "lowered", "info"),  # clear_for 2m
        (at("22:16:40"), "101", "cleared", None),  # one at 48, five at 37: 41.7
        (at("22:23:00"), "101", "no_data", None),  # 3m after 22:20:00
        (at("22:26:00"), "101", "data_back", None),
    ]
    assert told(journals["2-three-severities"], "noise/no-data") == [
        (at("22:23:00"), "101", "raised", "warning"),
        (at("22:26:00"), "101", "cleared", None),
    ]


def energy(levels: list[float]) -> float:
    return 10 * log10(sum(10 ** (x / 10) for x in levels) / len(levels))


def test_loud_room_by_brute_force(journals):
    lines = (EXAMPLES / "1-loud-room.jsonl").read_text().splitlines()
    kitchen = [
        (datetime.fromisoformat(m["at"]), float(m["payload"]))
        for m in map(json.loads, lines)
        if "kitchen" in m["topic"]
    ]
    expected, loud, peak = [], False, 0.0
    for i, (when, _) in enumerate(kitchen):
        value = energy([level for _, level in kitchen[max(0, i - 29) : i + 1]])  # 30 x 10 s
        if (value > 70) != loud:
            loud = value > 70
            expected.append((when, "raised" if loud else "cleared", value))
        peak = max(peak, value)
    seen = records(journals["1-loud-room"])
    assert [r["labels"] for r in seen] == [{"room": "kitchen"}] * len(expected)
    assert [(datetime.fromisoformat(r["at"]), r["event"]) for r in seen] == [
        (when, event) for when, event, _ in expected
    ]
    for record, (_, _, value) in zip(seen, expected, strict=True):
        assert isclose(record["value"], value, abs_tol=1e-9)
    assert isclose(seen[-1]["peak"], peak, abs_tol=1e-9)


def air(room: str) -> Iterator[tuple[str, float]]:
    with (EXAMPLES / "3-stale-air.csv").open() as lines:
        for row in DictReader(lines):
            if row["room"] == room and row["ppm"] and 300 <= float(row["ppm"]) <= 10000:
                yield row["time"], float(row["ppm"])


def percentile(values: list[float], p: float) -> float:
    """Return the percentile with linear interpolation (R7)."""
    ordered, place = sorted(values), (len(values) - 1) * p / 100
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


SEVERITIES = [None, "info", "warning", "critical"]


def test_stale_air_by_brute_force(journals):
    expected = defaultdict(list)
    for room in ("204", "017"):
        readings = list(air(room))
        on, level = {1: False, 2: False, 3: False}, 0
        for i in range(9, len(readings)):
            median = sorted(x for _, x in readings[i - 9 : i + 1])[4]  # the lower one
            limits = {1: (1000, 900), 2: (1500, 1300), 3: (2500, 2000)}
            on = {n: median > limits[n][on[n]] for n in on}
            now = max((n for n in on if on[n]), default=0)
            if now != level:
                event = (
                    "cleared"
                    if not now
                    else "raised"
                    if not level
                    else "escalated"
                    if now > level
                    else "lowered"
                )
                expected["stale-air"].append((readings[i][0], room, event, SEVERITIES[now]))
                level = now

        raised, quiet = False, 0
        for i in range(len(readings)):
            window = [x for when, x in readings[: i + 1] if minutes(when, readings[i][0]) < 45]
            value = percentile(window, 90)
            if minutes(readings[0][0], readings[i][0]) < 22:
                continue  # less than half full
            quiet = quiet + 1 if value < 1500 else 0
            if not raised and value >= 2000:
                raised = True
                expected["stuffy-lesson"].append((readings[i][0], room, "raised", "warning"))
            elif raised and quiet == 6:  # five minutes after the first
                raised = False
                expected["stuffy-lesson"].append((readings[i][0], room, "cleared", None))
    assert [len(each) for each in expected.values()] == [6, 2]
    for rule, told_ in expected.items():
        assert told(journals["3-stale-air"], rule) == told_


def minutes(begin: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds() / 60
