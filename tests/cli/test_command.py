"""The command line as a whole: exit codes, help, what is imported, broken pipes."""

import json
import os
import re
import subprocess
import sys

import pytest

from hushd.cli import main, parser

NAMES = sorted(next(action.choices for action in parser()._actions if action.choices))


def test_version(hushd):
    assert re.fullmatch(r"hushd \d+\.\d+\.\d+\n", hushd("--version").stdout)


def test_help_names_every_command_and_the_exit_codes(hushd):
    done = hushd("--help")
    assert done.returncode == 0
    for name in NAMES:
        assert re.search(rf"^    {name}\b", done.stdout, re.MULTILINE), name
    for code in (0, 1, 2, 69, 78):
        assert re.search(rf"\b{code} ", done.stdout)


@pytest.mark.parametrize("name", NAMES)
def test_each_command_explains_itself(hushd, name):
    done = hushd(name, "--help")
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) > 5


@pytest.mark.parametrize(
    "arguments", [[], ["dance"], ["check"], ["check", "--fast", "a.yaml"], ["--ver"], ["replay"]]
)
def test_wrong_usage_is_2(hushd, arguments):
    done = hushd(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "usage: hushd" in done.stderr


def test_main_returns_the_code_and_does_not_exit(capsys):
    assert main(["dance"]) == 2
    assert main(["--help"]) == 0
    assert capsys.readouterr().out.startswith("usage: hushd")


def test_as_a_module():
    argv = [sys.executable, "-m", "hushd", "--version"]
    assert subprocess.run(argv, capture_output=True, text=True, check=True).stdout[:6] == "hushd "


@pytest.mark.parametrize(
    "arguments", ["'--version'", "'check', 'hushd.yaml'", "'schema'", "'plugins'"]
)
def test_what_needs_no_broker_does_not_import_its_client(arguments, tmp_path, hushd):
    code = (
        "import sys; from hushd.cli import main; "
        f"code = main([{arguments}]); "
        "heavy = {'paho', 'structlog', 'asyncio', 'iotcore'} & set(sys.modules); "
        "sys.exit(f'imported {heavy}' if heavy else code)"
    )
    argv = [sys.executable, "-c", code]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    "command", ["check hushd.yaml", "schema", "replay -c hushd.yaml day.jsonl", "--version"]
)
def test_closed_streams_end_no_command(tmp_path, hushd, command, closed):
    message = {"at": 1742601600, "topic": "home/attic/noise", "payload": "50"}
    (tmp_path / "day.jsonl").write_text(json.dumps(message) + "\n")
    shell = f"{sys.executable} -m hushd {command} {closed}"
    done = subprocess.run(
        ["sh", "-c", shell], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_a_name_that_the_terminal_cannot_write(tmp_path, hushd):
    name = b"\xff\xc3\xbc.yaml"
    (tmp_path / "hushd.yaml").rename(tmp_path / os.fsdecode(name))
    argv = [sys.executable, "-m", "hushd", "check", name]
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(argv, cwd=tmp_path, env=ascii_only, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"1 rule, no problems" in done.stdout


def test_a_reader_that_has_had_enough_is_no_error(tmp_path, hushd):
    with (tmp_path / "day.jsonl").open("w") as recording:
        for n in range(20_000):
            level = 75 if n % 4 < 2 else 50
            at = 1742601600 + 60 * n
            message = {"at": at, "topic": "home/attic/noise", "payload": str(level)}
            recording.write(json.dumps(message) + "\n")
    shell = f"{sys.executable} -m hushd replay -c hushd.yaml day.jsonl | head -n 1"
    done = subprocess.run(
        ["sh", "-c", shell], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 1
    assert done.stderr == ""
