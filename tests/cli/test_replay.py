"""``hushd replay``: the journal on standard output, and nothing else there."""

import fcntl
import json
import os
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

LINES = [  # minute, room, payload
    (0, "attic", "75"),
    (0, "cellar", "40"),
    (1, "attic", "nan"),
    (2, "attic", "76.5"),
    (3, "attic", "150"),
    (4, "attic", "55"),
    (5, "garden/shed", "55"),
]


@pytest.fixture
def day(tmp_path) -> str:
    messages = [
        {"at": f"2025-03-22T10:{m:02}:00Z", "topic": f"home/{room}/noise", "payload": payload}
        for m, room, payload in LINES
    ]
    lines = [json.dumps(message) for message in messages]
    lines[5:5] = ["", "{broken"]
    (tmp_path / "day.jsonl").write_text("\n".join(lines) + "\n")
    return "day.jsonl"


def events(done) -> list[tuple[str, str, str]]:
    records = [json.loads(line) for line in done.stdout.splitlines()]
    return [(r["at"][11:19], r["rule"], r["event"]) for r in records]


def test_the_journal(hushd, day):
    done = hushd("replay", "-c", "hushd.yaml", day)
    assert done.returncode == 0
    assert events(done) == [("10:01:00", "loud", "raised"), ("10:04:00", "loud", "cleared")]
    first = json.loads(done.stdout.splitlines()[0])
    assert first["labels"] == {"room": "attic"}
    assert (first["value"], first["limit"], first["severity"]) == (75.0, 70.0, "warning")


NOT_JSON = "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"


def test_what_was_rejected_is_accounted_for(hushd, day):
    assert hushd("replay", "-c", "hushd.yaml", day).stderr.splitlines() == [
        f"day.jsonl:7: not used: not JSON: {NOT_JSON}",
        "day.jsonl: 8 lines, 4 readings",
        "  lines that could not be read: 1",
        "  rejected: 1 no_sensor",
        "  rejected: 1 not_finite (noise)",
        "  rejected: 1 not_valid (noise)",
    ]


def test_two_runs_give_the_same_bytes(hushd, day, tmp_path):
    runs = [hushd("replay", "-c", "hushd.yaml", day, "--trace", f"{n}.jsonl") for n in (1, 2)]
    assert runs[0].stdout == runs[1].stdout
    assert (tmp_path / "1.jsonl").read_bytes() == (tmp_path / "2.jsonl").read_bytes()


def test_the_trace_has_every_evaluation(hushd, day, tmp_path):
    hushd("replay", "-c", "hushd.yaml", day, "--trace", "trace.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "trace.jsonl").read_text().splitlines()]
    assert len(lines) >= 4
    for key in ("at", "rule", "labels", "measure", "over", "value", "samples", "coverage", "state"):
        assert key in lines[0]
    assert ("10:00:00", 75.0, "pending") in [
        (line["at"][11:19], line["value"], line["state"]) for line in lines
    ]


def test_until_lets_time_pass(hushd, day, tmp_path):
    config = tmp_path / "hushd.yaml"
    config.write_text(config.read_text().replace("unit: dBA", "unit: dBA, interval: 1m"))
    done = hushd("replay", "-c", "hushd.yaml", day, "--until", "2025-03-22T11:00:00Z")
    silent = [at for at, rule, event in events(done) if (rule, event) == ("loud", "no_data")]
    assert silent == ["10:05:00", "10:09:00"]  # five minutes after the last of each room


def test_a6_a_sensor_that_sends_only_nan_is_silent(hushd, tmp_path):
    config = tmp_path / "hushd.yaml"
    config.write_text(config.read_text().replace("unit: dBA", "unit: dBA, interval: 1m"))
    payloads = ["50", *["NaN"] * 9, "30"]
    lines = [
        json.dumps({"at": 1742601600 + 60 * n, "topic": "home/attic/noise", "payload": payload})
        for n, payload in enumerate(payloads)
    ]
    (tmp_path / "nan.jsonl").write_text("\n".join(lines))
    done = hushd("replay", "-c", "hushd.yaml", "nan.jsonl")
    assert [(at, event) for at, rule, event in events(done) if rule == "loud"] == [
        ("00:05:00", "no_data"),
        ("00:10:00", "data_back"),
    ]
    assert "rejected: 9 not_finite (noise)" in done.stderr


@pytest.mark.parametrize("text", ["soon", "2025-03-22T11:00:00"])
def test_until_must_be_a_time(hushd, day, text):
    done = hushd("replay", "-c", "hushd.yaml", day, "--until", text)
    assert done.returncode == 2
    assert f"--until {text}" in done.stderr


TABLE = "when,room,level\n2025-03-22 10:00:00,attic,75\n2025-03-22 10:02:00,attic,\n"
COLUMNS = ["--sensor", "noise", "--time", "when", "--value", "level"]


@pytest.fixture
def table(tmp_path) -> str:
    (tmp_path / "day.csv").write_text(TABLE)
    return "day.csv"


def test_a_table(hushd, table):
    done = hushd(
        *["replay", "-c", "hushd.yaml", table, *COLUMNS, "--label-column", "room=room"],
        *["--tz", "Europe/Berlin", "--until", "2025-03-22T10:30:00+01:00"],
    )
    assert done.returncode == 0
    assert events(done) == [("09:01:00", "loud", "raised")]
    assert "rejected: 1 empty (noise)" in done.stderr


def test_the_zone_of_the_site_counts_where_none_is_given(hushd, table, tmp_path):
    config = tmp_path / "hushd.yaml"
    config.write_text(config.read_text() + "site: {timezone: Asia/Tokyo}\n")
    done = hushd(
        *["replay", "-c", "hushd.yaml", table, *COLUMNS, "--label", "room=attic"],
        *["--until", "2025-03-22 10:30:00"],
    )
    assert events(done) == [("01:01:00", "loud", "raised")]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["day.csv"], "needs --sensor, --time, --value"),
        (["day.csv", *COLUMNS], "labels that the rows lack: room"),
        (["day.csv", *COLUMNS, "--label", "room"], "--label room: write NAME=VALUE"),
        (["day.csv", *COLUMNS, "--label", "room=a"], "add --tz ZONE, as in --tz Europe/Berlin"),
        (["day.csv", *COLUMNS, "--tz", "Mars"], '--tz "Mars" is not a time zone'),
        (
            ["day.csv", *COLUMNS, "--label", "room=a", "--time", "time"],
            'no column "time"; there are: "when", "room", "level"',
        ),
        (
            ["day.csv", *COLUMNS, "--sensor", "nois", "--label", "room=a"],
            '"nois" is not configured; known: noise',
        ),
        (["day.csv", *COLUMNS, "--label", "romo=a"], 'has no label "romo"; known: room'),
        (["day.csv", *COLUMNS, *["--label", "room=a"] * 2], 'gives the label "room" twice'),
        (
            ["day.csv", *COLUMNS, "--label", "room=a", "--label-column", "room=room"],
            'the label "room" is given by --label and by --label-column',
        ),
        (["day.txt"], "a recording is a .jsonl or a .csv file"),
        (["day.jsonl.gz"], "hint: unpack it first"),
        (["-"], "hint: standard input is not read"),
        (["day.jsonl", "--trace", "day.jsonl"], "it would be written over day.jsonl"),
        (["day.jsonl", "--trace", "./hushd.yaml"], "it would be written over hushd.yaml"),
        (["missing.jsonl"], "missing.jsonl: No such file"),
        (["day.jsonl", "--sensor", "noise"], "are for .csv recordings"),
        (["day.jsonl", "--trace", "no/such/folder"], "no/such/folder: No such file"),
    ],
)
def test_wrong_usage(hushd, table, day, arguments, said):
    done = hushd("replay", "-c", "hushd.yaml", *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert said in done.stderr


def test_a_trace_does_not_cost_the_recording(hushd, day, tmp_path):
    before = (tmp_path / day).read_bytes()
    hushd("replay", "-c", "hushd.yaml", day, "--trace", str(tmp_path / day))
    assert (tmp_path / day).read_bytes() == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a full disk is needed")
def test_a_full_disk_is_69(hushd, day, tmp_path):
    done = hushd("replay", "-c", "hushd.yaml", day, "--trace", "/dev/full")
    assert done.returncode == 69
    assert done.stderr.splitlines()[-1].startswith("hushd: /dev/full: ")
    shell = f"{sys.executable} -m hushd replay -c hushd.yaml {day} > /dev/full"
    done = subprocess.run(["sh", "-c", shell], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 69
    assert done.stderr.splitlines()[-1].startswith(b"hushd: standard output: ")


def test_the_locale_changes_no_byte(hushd, day, tmp_path):
    recording = tmp_path / day
    recording.write_text(recording.read_text().replace("attic", "küche"), encoding="utf-8")
    plain = {
        **os.environ,
        "PYTHONIOENCODING": "latin-1",
        "PYTHONHASHSEED": "7",
        "TZ": "Asia/Kolkata",
    }
    runs = [
        subprocess.run(
            [sys.executable, "-m", "hushd", "replay", "-c", "hushd.yaml", day],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            check=True,
        ).stdout
        for env in (plain, dict(os.environ))
    ]
    assert runs[0] == runs[1]
    assert '"küche"' in runs[0].decode()


def test_a_time_that_has_passed_already_is_said(hushd, day):
    done = hushd("replay", "-c", "hushd.yaml", day, "--until", "2025-03-22T09:00:00Z")
    assert done.returncode == 0
    assert "--until 2025-03-22T09:00:00Z is before the last message: no effect" in done.stderr


def test_a_suffix_in_capitals(hushd, day, tmp_path):
    (tmp_path / day).rename(tmp_path / "DAY.JSONL")
    assert len(events(hushd("replay", "-c", "hushd.yaml", "DAY.JSONL"))) == 2


def test_a_bad_configuration_is_78(hushd, day, tmp_path):
    (tmp_path / "hushd.yaml").write_text("version: 2\n")
    done = hushd("replay", "-c", "hushd.yaml", day)
    assert done.returncode == 78
    assert done.stdout == ""


@pytest.mark.parametrize("columns", [0, 3, 30, 200])
def test_a_progress_bar_for_who_is_watching(hushd, day, tmp_path, columns):
    terminal, stderr = os.openpty()
    fcntl.ioctl(stderr, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen(
        [sys.executable, "-m", "hushd", "replay", "-c", "hushd.yaml", day],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
    ) as process:
        os.close(stderr)
        out, _ = process.communicate(timeout=60)
    seen = os.read(terminal, 1 << 16).decode()
    os.close(terminal)
    assert seen.startswith("\r[")
    assert "%" in seen
    drawn = re.findall(r"\r(\[[# ]*\] +\d+%)\r", seen)
    assert max(map(len, drawn)) <= max(min(columns or 80, 48), 7)
    assert out == hushd("replay", "-c", "hushd.yaml", day).stdout


def test_a_recording_of_which_no_line_can_be_read_is_wrong_usage(hushd, tmp_path):
    (tmp_path / "packed.jsonl").write_bytes(bytes(range(14, 200)) + b"\n\xff\xfe\n")
    done = hushd("replay", "-c", "hushd.yaml", "packed.jsonl")
    assert (done.returncode, done.stdout) == (2, "")
    assert "packed.jsonl: not one line could be read" in done.stderr
    (tmp_path / "empty.jsonl").write_text("")
    assert hushd("replay", "-c", "hushd.yaml", "empty.jsonl").returncode == 0
