"""The log neither blocks nor kills."""

import io
import json
import os
import threading
from time import monotonic

from hushd.runtime.logs import LINES, Quiet, Writer, open_log


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def logged(stream: io.StringIO) -> str:
    log, writer = open_log(stream)
    log.bind(site="here").warning("sensor.went", held_s=3, text="a\n<0>forged", odd={1})
    writer.close()
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


def test_a_reader_that_reads_nothing_holds_nobody_up():
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stream:
        log, writer = open_log(stream)
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


def test_the_quiet_one_says_nothing():
    Quiet().bind(a=1).error("x.y", b=2)
