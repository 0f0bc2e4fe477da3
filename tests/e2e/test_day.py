"""A recorded day, live through a real broker, gives what its replay gives.

The real day belongs to others and is used where it is (beside the repository, or where
``HUSHD_SHARED_DATA`` says); forty synthetic minutes show the same everywhere.
"""

import csv
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

REPO = Path(__file__).resolve().parents[2]
HUSHD = Path(sys.executable).parent / "hushd"
SHARED = Path(os.environ.get("HUSHD_SHARED_DATA", REPO.parent / "shared/data"))


class Day(NamedTuple):
    """A table of levels, a second each."""

    path: Path
    time: str
    value: str
    over: str
    clear: float  # of the patient rule
    alerts: tuple[int, int]  # at-once and patient

    @property
    def options(self) -> list[str]:
        return ["--sensor", "noise", "--time", self.time, "--value", self.value]

    def rows(self) -> Iterator[tuple[str, str]]:
        with self.path.open(encoding="utf-8-sig", newline="") as lines:
            for row in csv.DictReader(lines, skipinitialspace=True):
                cells = {name.strip(): cell for name, cell in row.items()}
                yield cells[self.time].replace(" ", "T") + "Z", cells[self.value]


SYNTHETIC = Day(REPO / "tests/recordings/hovering-levels.csv", "time", "level", "2m", 54.5, (7, 4))
RECORDED = Day(
    SHARED / "sound/noisemonitor_test_data_laeq1s.csv", "datetime", "LEQ dB -A", "10m", 54, (11, 5)
)
DAYS = [SYNTHETIC, *([RECORDED] if RECORDED.path.exists() else [])]

CONFIG = """\
version: 1
clock: stamps
mqtt: {{host: 127.0.0.1, port: {port}}}
sensors:
  noise: {{topic: "site/{{point}}/noise", value: json:level, time: json:ts, unit: dBA}}
  end: {{topic: site/end, value: json:level, time: json:ts}}
notifiers:
  evidence: {{type: journal, path: evidence.jsonl}}
  hook: {{type: webhook, url: "{url}"}}
rules:
  at-once:
    watch: noise
    measure: leq
    over: {over}
    warning: {{above: 55, clear: 55}}
    notify: [evidence, hook]
  patient:
    watch: noise
    measure: leq
    over: {over}
    warning: {{above: 55, clear: {clear}}}
    notify: [evidence, hook]
  over:                       # tells the test that everything before it has been judged
    watch: end
    measure: last
    info: {{above: 0}}
    no_data: ignore
    notify: [evidence]
"""


def replayed(folder: Path, *arguments: str | Path) -> str:
    argv = [HUSHD, "replay", "-c", folder / "hushd.yaml", *arguments]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "rejected" not in done.stderr
    return done.stdout


@pytest.mark.mosquitto
@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
@pytest.mark.parametrize("day", DAYS, ids=lambda day: day.path.stem)
def test_live_equals_replay(day, protocol, mosquitto, receiver, run, eventually, proxy, tmp_path):
    messages = [
        ("site/street/noise", json.dumps({"level": float(level), "ts": at}), at)
        for at, level in day.rows()
    ]
    messages.append(("site/end", json.dumps({"level": 1, "ts": messages[-1][2]}), messages[-1][2]))
    recording = tmp_path / "day.jsonl"
    recording.write_text(
        "".join(
            json.dumps({"at": at, "topic": topic, "payload": payload}) + "\n"
            for topic, payload, at in messages
        )
    )
    broker = mosquitto().start()
    port = broker.port if protocol == "5" else proxy(broker.port, old=True).port
    daemon = run(CONFIG.format(port=port, url=receiver.url, over=day.over, clear=day.clear))
    daemon.wait_for("mqtt.connected", protocol=protocol)
    broker.publish((topic, payload) for topic, payload, _ in messages)
    daemon.wait_for("alert.changed", rule="over")
    assert daemon.stop() == 0
    journal = (tmp_path / "evidence.jsonl").read_text()

    assert journal == replayed(tmp_path, recording)
    of_noise = [line for line in journal.splitlines(keepends=True) if '"rule": "over"' not in line]
    table = replayed(tmp_path, day.path, *day.options, "--label", "point=street", "--tz", "UTC")
    assert "".join(of_noise) == table

    raised = [json.loads(line)["rule"] for line in of_noise if '"event": "raised"' in line]
    assert (raised.count("at-once"), raised.count("patient")) == day.alerts
    told = [(note["alert"]["rule"], note["alert"]["at"], note["kind"]) for note in receiver.notes]
    assert told == [
        (record["rule"], record["at"], record["event"]) for record in map(json.loads, of_noise)
    ]
    assert daemon.logged("hushd.stopped", readings=len(messages), rejected=0)
