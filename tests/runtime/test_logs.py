"""The log neither blocks nor kills, and says in each place what is read there."""

import ast
import io
import json
import os
import re
import socket
import threading
from pathlib import Path
from time import monotonic

import pytest

from hushd.runtime import logs
from hushd.runtime.logs import LINES, Quiet, Writer, entry, open_log

REPO = Path(__file__).parents[2]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def logged(stream: io.StringIO, **how: str) -> str:
    log, output = open_log(stream, **how)
    log.bind(site="here").warning("sensor.went", held_s=3, text="a\n<0>forged", odd={1})
    log.debug("sensor.napped")
    output.writer.close()
    return stream.getvalue()


def test_json_lines_where_there_is_no_terminal():
    line = logged(io.StringIO())
    assert line.count("\n") == 1
    assert line.startswith('{"timestamp": ')
    record = json.loads(line)
    assert record.pop("timestamp").endswith("Z")
    assert record == {
        "event": "sensor.went",
        "level": "warning",
        "site": "here",
        "held_s": 3,
        "text": "a\n<0>forged",
        "odd": "{1}",
    }


def test_lines_for_people_on_a_terminal():
    text = logged(Terminal())
    assert "sensor.went" in text
    assert "{" not in text.partition("odd")[0]
    assert text.count("\n") == 1  # what others send forges no lines


HOSTILE = "\x1b[2J\x9b1m\n<0>forged\r\u2028\x00\u202e{0.__class__} %s é"


@pytest.mark.parametrize("how", ["console", "json"])
@pytest.mark.parametrize("kind", [io.StringIO, Terminal])
def test_what_others_send_ends_no_line_and_commands_no_terminal(kind, how):
    stream = kind()
    log, output = open_log(stream, format=how)
    log.warning("message.rejected", topic=HOSTILE, detail=[HOSTILE])
    output.writer.close()
    line = re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue())  # our own colours
    assert line.endswith("\n")
    assert line[:-1].isprintable()
    assert line.count("forged") == 2
    assert "%s é" in line
    if how == "json":
        assert json.loads(line)["topic"] == HOSTILE  # escaped, not lost


def test_no_line_begins_with_a_priority_that_another_wrote():
    """The journal would take ``<0>`` at the start of a line for a priority, and believe it."""
    for how in ("console", "json"):
        stream = io.StringIO()
        log, output = open_log(stream, format=how)
        exc = ValueError(f"<0>\n{HOSTILE}")
        log.error("thread.died", error=f"<0>{exc}", exc_info=exc)
        output.writer.close()
        assert "forged" in stream.getvalue()
        assert not re.search(r"^<\d>", stream.getvalue(), re.MULTILINE)


@pytest.mark.parametrize(
    ("stream", "how", "lines"),
    [
        (Terminal, {"format": "json"}, 1),
        (io.StringIO, {"level": "debug"}, 2),
        (io.StringIO, {"level": "error"}, 0),
        (io.StringIO, {"level": "error", "format": "console"}, 0),
    ],
)
def test_the_configuration_says_what_and_how(stream, how, lines):
    text = logged(stream(), **how)
    assert text.count("\n") == lines
    assert all(line.startswith("{") for line in text.splitlines())


def test_level_and_format_change_while_it_runs():
    stream = io.StringIO()
    log, output = open_log(stream)
    bound = log.bind(site="here")
    bound.debug("sensor.napped")
    output.change("debug", "console")
    bound.debug("sensor.woke")
    output.writer.close()
    assert "napped" not in stream.getvalue()
    assert "sensor.woke" in stream.getvalue()
    assert "{" not in stream.getvalue()


def test_what_is_called_a_secret_is_not_shown():
    stream = io.StringIO()
    log, output = open_log(stream)
    log.info("door.opened", password="canary", api_token="canary", Authorization="canary")
    output.writer.close()
    assert "canary" not in stream.getvalue()


# -- systemd's journal -----------------------------------------------------------------


@pytest.fixture
def journal(tmp_path, monkeypatch):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.bind(str(tmp_path / "journal"))
        end.settimeout(5)
        monkeypatch.setattr(logs, "JOURNAL", end.getsockname())
        yield end


def fields(datagram: bytes) -> dict[str, str]:
    """Return the fields of a datagram as systemd reads them."""
    out = {}
    while datagram:
        name, sign, rest = datagram.partition(b"\n")
        if b"=" in name:
            name, _, value = name.partition(b"=")
            datagram = rest
        else:
            length = int.from_bytes(rest[:8], "little")
            value, datagram = rest[8 : 8 + length], rest[8 + length + 1 :]
        assert re.fullmatch(rb"[A-Z][A-Z0-9_]{0,63}", name)
        assert sign
        out[name.decode()] = value.decode()
    return out


def test_the_journal_gets_fields(journal, tmp_path, monkeypatch):
    with (tmp_path / "stderr").open("w") as stream:
        there = os.fstat(stream.fileno())
        monkeypatch.setenv("JOURNAL_STREAM", f"{there.st_dev}:{there.st_ino}")
        log, output = open_log(stream)
        log.warning("alert.changed", rule="loud", labels={"room": "1"}, text="a\nPRIORITY=0", n=2)
        output.writer.close()
    assert (tmp_path / "stderr").read_text() == ""
    assert fields(journal.recv(1 << 16)) == {
        "MESSAGE": 'alert.changed rule=loud labels={"room": "1"} text="a\\nPRIORITY=0" n=2',
        "PRIORITY": "4",
        "SYSLOG_IDENTIFIER": "hushd",
        "HUSHD_EVENT": "alert.changed",
        "HUSHD_RULE": "loud",
        "HUSHD_LABELS": '{"room": "1"}',
        "HUSHD_TEXT": "a\nPRIORITY=0",
        "HUSHD_N": "2",
    }


@pytest.mark.parametrize("variable", ["1:2", "nonsense", ""])
def test_an_inherited_variable_about_another_stream_counts_for_nothing(
    journal, tmp_path, monkeypatch, variable
):
    monkeypatch.setenv("JOURNAL_STREAM", variable)
    with (tmp_path / "stderr").open("w") as stream:
        log, output = open_log(stream)
        log.info("sensor.went")
        output.writer.close()
    assert json.loads((tmp_path / "stderr").read_text())["event"] == "sensor.went"


def test_what_is_too_long_for_a_datagram_goes_as_a_file(journal):
    log, output = open_log(io.StringIO(), format="journal")
    log.error("payload.came", text="x" * 3_000_000)
    output.writer.close()
    data, files, _, _ = socket.recv_fds(journal, 1, 1)
    assert data == b""
    with os.fdopen(files[0], "rb") as file:
        file.seek(0)
        assert len(fields(file.read())["HUSHD_TEXT"]) == 3_000_000
    assert output.writer.dropped == 0


def test_no_journal_is_no_error(monkeypatch, tmp_path):
    monkeypatch.setattr(logs, "JOURNAL", str(tmp_path / "nowhere"))
    log, output = open_log(io.StringIO(), format="journal")
    log.error("sensor.went")
    output.writer.close()
    assert output.writer.dropped == 1


def test_a_field_is_never_misread():
    odd = {"event": "a.b", "level": "odd", "ä-key\n=": "\ud800", "1": None, "k" * 99: True}
    assert fields(entry(odd))["PRIORITY"] == "3"


# -- nobody reads it ----------------------------------------------------------------------


def test_a_reader_that_reads_nothing_holds_nobody_up():
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stream:
        log, output = open_log(stream)
        writer = output.writer
        began = monotonic()
        for n in range(LINES + 5000):
            log.info("number.said", n=n)
        writer.close(0.1)
        assert monotonic() - began < 20
        assert writer.dropped > 0
        drain = threading.Thread(target=drain_all, args=(reading,))
        drain.start()
        writer.close(10)
        assert not writer._thread.is_alive()
    drain.join(10)
    os.close(reading)


def drain_all(file: int) -> None:
    while os.read(file, 1 << 16):
        pass


def test_a_pipe_that_may_not_block_gets_every_line():
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with os.fdopen(writing, "w") as stream:
        writer = Writer(stream)
        for _ in range(2000):
            writer.write("x" * 99 + "\n")
        got = 0
        while got < 200_000:
            got += len(os.read(reading, 1 << 12))
        writer.close()
    os.close(reading)
    assert writer.dropped == 0


def test_a_pipe_that_nobody_holds_kills_nobody():
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stream:
        os.close(reading)
        writer = Writer(stream)
        for _ in range(3):
            writer.write("line\n")
        writer.close()
        assert not writer._thread.is_alive()
        assert writer.dropped == 3


def test_a_full_disk_kills_nobody():
    with Path("/dev/full").open("w") as stream:
        writer = Writer(stream)
        writer.write("line\n")
        writer.close()
        assert writer.dropped == 1


def test_the_quiet_one_says_nothing():
    Quiet().bind(a=1).error("x.y", b=2)


# -- what events are called ----------------------------------------------------------------

LEVELS = {"debug", "info", "warning", "error"}
#: verbs whose past does not end in -ed
IRREGULAR = {
    *(
        "begun",
        "fell",
        "forgotten",
        "found",
        "given",
        "gone",
        "held",
        "hung",
        "left",
        "lost",
        "met",
    ),
    *("said", "sent", "set", "shut", "slept", "stuck", "taken", "told", "woke"),
    "unreachable",  # no verb, but the word for it
}


def calls(path: Path):
    """Yield every call of a log in a file: where it stands, and its event."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=owner) | ast.Attribute(attr=owner), attr=level)
            ) if level in LEVELS and owner.strip("_") in {"log", "bound"}:
                yield f"{path.name}:{node.lineno}", node.args[0] if node.args else None
            case ast.Call(
                func=ast.Attribute(attr="complain"), args=[ast.Constant() as event, *_]
            ):  # of a connection; logs what it is given
                yield f"{path.name}:{node.lineno}", event


def well_named(event: str) -> bool:
    """Say whether it reads as noun.past_verb."""
    _, _, verb = event.partition(".")
    words = set(verb.split("_"))
    return bool(re.fullmatch(r"[a-z]+(_[a-z]+)*\.[a-z]+(_[a-z]+)*", event)) and any(
        word.endswith("ed") or word in IRREGULAR for word in words
    )


def test_every_event_is_a_constant_named_for_what_happened():
    found = [
        (place, argument)
        for path in sorted((REPO / "daemon/hushd/runtime").rglob("*.py"))
        for place, argument in calls(path)
    ]
    assert len(found) > 15
    assert [
        place
        for place, argument in found
        if not (
            isinstance(argument, ast.Constant)
            and isinstance(argument.value, str)
            and well_named(argument.value)
        )
    ] == []


def test_the_test_of_names_sees_a_bad_one():
    assert well_named("notifier.left_untold")
    assert not any(map(well_named, ["stopping", "hushd.stopping", "Hushd.stopped", "a.b c"]))
