"""Recordings as the world writes them: nothing crashes, nothing is lost without a count.

The synthetic ones in ``tests/recordings`` show the same kinds of fact and always run.  The
real ones belong to others and are used where they are: beside the repository, or where
``HUSHD_SHARED_DATA`` says.
"""

import csv
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from math import log10
from pathlib import Path
from subprocess import run
from typing import NamedTuple

import pytest

REPO = Path(__file__).resolve().parents[1]
HUSHD = Path(sys.executable).parent / "hushd"
RECORDINGS = REPO / "tests/recordings"
DATA = Path(os.environ.get("HUSHD_SHARED_DATA", REPO.parent / "shared/data"))

real = pytest.mark.skipif(not DATA.is_dir(), reason="the real recordings are not here")


class Replayed(NamedTuple):
    """What a replay said: journal, trace and the counts at its end."""

    journal: list[dict]
    trace: list[dict]
    said: str

    def told(self, rule: str, event: str) -> int:
        return sum(r["rule"] == rule and r["event"] == event for r in self.journal)

    def values(self, rule: str) -> Iterator[tuple[str, float]]:
        return ((r["at"], r["value"]) for r in self.trace if r["rule"] == rule)


def configuration(sensor: str, rules: dict[str, str]) -> str:
    """Return a configuration of one sensor; a rule is its keys in one line."""
    lines = "".join(
        f"  {name}: {{watch: s, no_data: ignore, notify: [diary], {rule}}}\n"
        for name, rule in rules.items()
    )
    return (
        "version: 1\n"
        f"sensors:\n  s: {{{sensor}}}\n"
        "notifiers:\n  diary: {type: log}\n"
        f"rules:\n{lines}"
    )


def replay(
    folder: Path, recording: Path, columns: tuple[str, str], sensor: str, rules: dict[str, str]
) -> Replayed:
    time, value = columns
    config, trace = folder / "hushd.yaml", folder / "trace.jsonl"
    config.write_text(configuration(sensor, rules), encoding="utf-8")
    argv = [
        *[str(HUSHD), "replay", "-c", str(config), str(recording)],
        *["--sensor", "s", "--time", time, "--value", value, "--tz", "UTC"],
        *["--trace", str(trace)],
    ]
    done = run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with trace.open(encoding="utf-8") as lines:
        traced = [json.loads(line) for line in lines]
    trace.unlink()
    return Replayed([json.loads(line) for line in done.stdout.splitlines()], traced, done.stderr)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as lines:
        return list(csv.DictReader(lines))


def energy(levels: list[float]) -> float:
    return 10 * log10(sum(10 ** (x / 10) for x in levels) / len(levels))


def stamp(text: str) -> str:
    return text.replace(" ", "T") + "Z"


# ---- levels at 1 Hz


@cache
def hovering() -> list[tuple[str, float]]:
    return [(stamp(r["time"]), float(r["level"])) for r in rows(RECORDINGS / "hovering-levels.csv")]


def test_levels_by_brute_force(tmp_path):
    replayed = replay(
        tmp_path,
        RECORDINGS / "hovering-levels.csv",
        ("time", "level"),
        "topic: t, unit: dBA, interval: 1s",
        {
            "minute": "measure: leq, over: 60s, warning: {above: 200}",
            "at-once": "measure: leq, over: 2m, warning: {above: 55, clear: 55}",
            "patient": "measure: leq, over: 2m, warning: {above: 55, clear: 54.5}",
        },
    )
    levels = hovering()
    ends = {at: i for i, (at, _) in enumerate(levels) if at.endswith(":59Z")}
    minutes = {at: value for at, value in replayed.values("minute") if at in ends}
    assert len(minutes) == 40
    for at, value in minutes.items():
        window = [level for _, level in levels[ends[at] - 59 : ends[at] + 1]]
        assert value == pytest.approx(energy(window), abs=1e-9)

    for rule, clear, expected in (("at-once", 55, 7), ("patient", 54.5, 4)):
        on, changes = False, []
        for i in range(59, len(levels)):  # half full
            value = energy([level for _, level in levels[max(0, i - 119) : i + 1]])
            if (not on and value > 55) or (on and value <= clear):
                on = not on
                changes.append((levels[i][0], "raised" if on else "cleared"))
        told = [(r["at"], r["event"]) for r in replayed.journal if r["rule"] == rule]
        assert told == changes
        assert replayed.told(rule, "raised") == expected


@real
def test_the_day_agrees_with_the_instrument(tmp_path):
    replayed = replay(
        tmp_path,
        DATA / "sound/noisemonitor_test_data_laeq1s.csv",
        ("datetime", "LEQ dB -A "),
        "topic: t, unit: dBA",
        {
            "minute": "measure: leq, over: 60s, warning: {above: 200}",
            "at-once": "measure: leq, over: 10m, warning: {above: 55, clear: 55}",
            "patient": "measure: leq, over: 10m, warning: {above: 55, clear: 54}",
        },
    )
    assert replayed.told("at-once", "raised") == 11
    assert replayed.told("patient", "raised") == 5
    measured = dict(replayed.values("minute"))
    minutes = [
        (stamp(r["datetime"]), float(r["LEQ dB -A"]))
        for r in rows(DATA / "sound/noisemonitor_test_data_laeq1m.csv")
        if r["datetime"].startswith("2025-03-22")
    ]
    assert len(minutes) == 1440
    # its label is the middle of the minute
    worst = max(abs(measured[at.replace(":30Z", ":59Z")] - level) for at, level in minutes)
    assert worst < 1e-6


@real
def test_the_figures_of_the_day(tmp_path):
    day = tmp_path / "day.csv"
    text = (DATA / "sound/noisemonitor_test_data_laeq1s.csv").read_text(encoding="utf-8")
    day.write_text(text[: text.index("2025-03-23")], encoding="utf-8")
    replayed = replay(
        tmp_path,
        day,
        ("datetime", "LEQ dB -A "),
        "topic: t, unit: dBA, interval: 1s",
        {
            "laeq": "measure: leq, over: 1d, warning: {above: 200}",
            "l10": "measure: {ln: 10}, over: 1d, warning: {above: 200}",
            "l50": "measure: {ln: 50}, over: 1d, warning: {above: 200}",
            "l90": "measure: {ln: 90}, over: 1d, warning: {above: 200}",
        },
    )
    figures = {r["rule"]: r["value"] for r in replayed.trace[-4:]}
    assert figures == {
        "laeq": pytest.approx(49.7368, abs=5e-5),
        "l10": pytest.approx(52.186, abs=5e-4),
        "l50": pytest.approx(47.086, abs=5e-4),
        "l90": pytest.approx(42.886, abs=5e-4),
    }


# ---- clocks that step back, gaps, empty cells


def instrument(path: Path, folder: Path) -> Path:
    """Return an instrument's export as a table: without preamble, with plain stamps."""
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("Time,"))
    table = list(csv.reader(lines[begin:]))
    plain = folder / "plain.csv"
    with plain.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(table[0])
        for row in table[1:]:
            at = datetime.strptime(row[0], "%m/%d/%Y %H:%M").replace(tzinfo=UTC)
            writer.writerow([at.isoformat(), *row[1:]])
    return plain


class Counted(NamedTuple):
    """What a replay says at its end of all that it read."""

    lines: int
    readings: int  # decoded; some may be rejected later
    rejected: Counter[str]


def counts(said: str) -> Counted:
    total = re.search(r"(\d+) lines, (\d+) readings", said)
    assert total, said
    rejected = re.findall(r"^\s*rejected: (\d+) (\w+)", said, re.MULTILINE)
    return Counted(int(total[1]), int(total[2]), Counter({name: int(n) for n, name in rejected}))


def late(stamps: list[str]) -> int:
    """Return how many readings are older than the newest before them."""
    newest, n = "", 0
    for at in stamps:
        n += at < newest
        newest = max(newest, at)
    return n


ANY = {
    "newest": "measure: last, warning: {above: 1e9}",
    "hour": "measure: mean, over: 1h, warning: {above: 1e9}",
    "middle": "measure: median, over: 20 samples, warning: {above: 1e9}",
}
MACHINES = [
    RECORDINGS / "clock-steps-back.csv",
    pytest.param(DATA / "temperature/nab_machine_temperature_system_failure.csv", marks=real),
]


@pytest.mark.parametrize("path", MACHINES, ids=lambda path: path.stem)
def test_a_clock_that_steps_back(path, tmp_path):
    replayed = replay(tmp_path, path, ("timestamp", "value"), "topic: t, interval: 5m", ANY)
    table = rows(path)
    too_old = late([r["timestamp"] for r in table])
    same = len(table) - len({(r["timestamp"], r["value"]) for r in table})
    counted = counts(replayed.said)
    assert too_old > 0
    assert counted.lines == counted.readings == len(table)
    assert counted.rejected == +Counter(late=too_old, duplicate=same)
    judged = [value for _, value in replayed.values("newest") if value is not None]
    assert len(judged) == len(table) - too_old - same


MONTHS = [
    (RECORDINGS / "month-with-gaps.csv", "NO2 (ppb)"),
    pytest.param(DATA / "air/epa_toco_toucan_RT01_raw.csv", "NO2 (ppb)", marks=real),
]


@pytest.mark.parametrize(("path", "column"), MONTHS)
def test_a_month_with_gaps(path, column, tmp_path):
    plain = instrument(path, tmp_path)
    replayed = replay(tmp_path, plain, ("Time", column), "topic: t, valid: [0, 500]", ANY)
    cells = [r[column] for r in rows(plain)]
    empty = sum(not cell for cell in cells)
    negative = sum(float(cell) < 0 for cell in cells if cell)
    counted = counts(replayed.said)
    assert empty > 0
    assert negative > 0
    assert counted.lines == len(cells)
    assert counted.readings == len(cells) - empty - negative
    assert counted.rejected == {"empty": empty, "not_valid": negative}


@real
@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("endaq_test_ide_accel16g_400Hz", "x_g"),
        ("endaq_test_ide_accel16g_400Hz", "z_g"),
        ("endaq_test_ide_pressure_temp_1Hz", "pressure_pa"),
    ],
)
def test_vibration(name, column, tmp_path):
    path = DATA / f"vibration/{name}.csv"
    rules = {**ANY, "shaking": "measure: rms, over: 1s, warning: {above: 1.5}"}
    replayed = replay(tmp_path, path, ("time", column), "topic: t", rules)
    counted = counts(replayed.said)
    assert counted.lines == len(rows(path))
    assert counted.readings == counted.lines
    assert counted.rejected.keys() <= {"late", "duplicate"}
