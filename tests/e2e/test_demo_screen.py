"""The demo on a real terminal: it fills the screen, and leaves it as it was, however it ends."""

import fcntl
import os
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import which
from time import monotonic, sleep

import pytest

from hushd.cli.terminal import ENTER, LEAVE, Terminal

pytestmark = pytest.mark.mosquitto

HUSHD = Path(sys.executable).parent / "hushd"


class Tty:
    """A terminal of a given size with a program on it; knows what stands on its screen."""

    def __init__(self, columns: int, lines: int, *command: str | Path, **environment: str) -> None:
        self.master, self.slave = os.openpty()
        self._ends = [self.master, self.slave]
        self.resize(columns, lines)
        self.keys = termios.tcgetattr(self.slave)
        self.seen = ""
        setsid = which("setsid")
        assert setsid is not None
        self.process = subprocess.Popen(
            [setsid, "--ctty", *command],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            env=os.environ | {"PYTHONUTF8": "1", "TERM": "xterm"} | environment,
        )
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return
            self.seen += data.decode(errors="replace")

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def type(self, keys: bytes) -> None:
        os.write(self.master, keys)

    @property
    def screen(self) -> dict[int, str]:
        """Line number -> what stands there, without colours."""
        _, _, drawn = self.seen.rpartition("\x1b[2J")
        rows = re.findall(r"\x1b\[(\d+);1H(.*?)\x1b\[K", drawn, re.DOTALL)
        return {int(row): re.sub(r"\x1b\[[\d;]*m", "", text) for row, text in rows}

    @property
    def text(self) -> str:
        return "\n".join(text for _, text in sorted(self.screen.items()))

    def wait_for(self, pattern: str) -> None:
        eventually(lambda: re.search(pattern, self.text), self)

    def is_as_before(self, times: int = 1) -> bool:
        """Say whether the screen was taken and given back so often, and the keyboard too."""
        taken, given_back = self.seen.count(ENTER), self.seen.count(LEAVE)
        keys = termios.tcgetattr(self.slave)
        return (taken, given_back, keys) == (times, times, self.keys)

    def hang_up(self) -> None:
        while self._ends:
            os.close(self._ends.pop())

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.hang_up()


def eventually(condition: Callable[[], object], tty: Tty) -> None:
    until = monotonic() + 20
    while not condition():
        assert monotonic() < until, tty.seen[-2000:]
        sleep(0.02)


@pytest.fixture
def tty() -> Iterator[Callable[..., Tty]]:
    opened: list[Tty] = []

    def make(columns: int, lines: int, *arguments: str, **environment: str) -> Tty:
        command = (HUSHD, "demo", "--embedded", "mosquitto", *arguments)
        opened.append(Tty(columns, lines, *command, **environment))
        return opened[-1]

    yield make
    for each in opened:
        each.close()


def test_an_alert_is_seen_within_twenty_seconds_and_ctrl_c_gives_the_screen_back(tty):
    began = monotonic()
    shown = tty(80, 24)
    shown.wait_for("ALERT  House 7: noise over 5s is")
    assert monotonic() - began < 20
    assert shown.seen.startswith(ENTER)
    assert re.search(r"house 7 .* dBA  firing warning", shown.text)
    assert shown.screen[1].startswith(" hushd demo  Linden Street, mosquitto at 127.0.0.1:")
    assert re.search("arrive|dance", shown.screen[2])
    assert max(shown.screen) == 24
    assert not termios.tcgetattr(shown.slave)[3] & termios.ECHO
    shown.resize(40, 15)
    shown.wait_for(r"7 .*  (warning|critical)\n")
    assert max(shown.screen) == 15
    assert max(map(len, shown.screen.values())) < 40
    shown.type(b"x\x03")
    assert shown.process.wait(20) == 0
    eventually(lambda: "That was the demo." in shown.seen, shown)
    assert shown.is_as_before()
    _, _, after = shown.seen.rpartition(LEAVE)
    assert "ALERT   House 7: noise over 5s is" in after  # what happened stays to be read


@pytest.mark.parametrize("how", ["SIGTERM", "SIGINT twice", "by itself"])
def test_however_it_ends_the_terminal_is_as_before(tty, how):
    shown = tty(60, 20, *(["--seconds", "2"] if how == "by itself" else []))
    shown.wait_for("hushd demo")
    if how == "SIGTERM":
        shown.process.terminate()
    elif how == "SIGINT twice":
        shown.process.send_signal(signal.SIGINT)
        shown.process.send_signal(signal.SIGINT)
    assert shown.process.wait(20) in ({0, 130} if how == "SIGINT twice" else {0})
    eventually(shown.is_as_before, shown)


def test_ctrl_z_gives_the_screen_back_and_fg_takes_it_again(tty):
    shown = tty(60, 20)
    shown.wait_for("hushd demo")
    shown.type(b"\x1a")
    _, status = os.waitpid(shown.process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    eventually(shown.is_as_before, shown)
    shown.process.send_signal(signal.SIGCONT)
    eventually(lambda: shown.seen.count(ENTER) == 2, shown)
    shown.wait_for("hushd demo")
    shown.process.terminate()
    assert shown.process.wait(20) == 0
    eventually(lambda: shown.is_as_before(times=2), shown)


def test_it_ends_with_its_terminal(tty):
    shown = tty(60, 20)
    shown.wait_for("hushd demo")
    shown.hang_up()
    shown.process.wait(20)


@pytest.mark.parametrize(
    ("size", "arguments", "environment"),
    [
        ((80, 24), ["--plain"], {}),
        ((80, 24), [], {"TERM": "dumb"}),
        ((39, 24), [], {}),
        ((80, 14), [], {}),
    ],
    ids=["asked for", "dumb", "narrow", "low"],
)
def test_a_terminal_that_does_not_do_gets_lines(tty, size, arguments, environment):
    shown = tty(*size, "--seconds", "0.5", *arguments, **environment)
    assert shown.process.wait(20) == 0
    eventually(lambda: "That was the demo." in shown.seen, shown)
    assert "\x1b[?" not in shown.seen
    assert "Linden Street, five houses" in shown.seen


@pytest.fixture
def pair() -> Iterator[tuple[int, int]]:
    master, slave = os.openpty()
    yield master, slave
    os.close(master)
    os.close(slave)


def test_what_goes_wrong_while_drawing_is_told_after_the_screen_is_given_back(pair):
    master, slave = pair
    lost = threading.Event()

    def draw(columns: int, lines: int) -> list[str]:
        raise ZeroDivisionError(f"{columns}x{lines}")

    with os.fdopen(os.dup(slave), "w") as stream:
        terminal = Terminal(stream, draw, lost.set)
        with terminal:
            assert lost.wait(10)
        assert isinstance(terminal.error, ZeroDivisionError)
    seen = ""
    while not seen.endswith(LEAVE):
        seen += os.read(master, 1000).decode()
    assert seen == ENTER + LEAVE


def test_a_terminal_that_is_held_up_holds_up_nobody(pair):
    _, slave = pair
    lost = threading.Event()
    with os.fdopen(os.dup(slave), "w") as stream:
        began = monotonic()
        with Terminal(stream, lambda *_: ["x" * 100_000 + str(monotonic())], lost.set):
            lost.wait(0.5)
        assert monotonic() - began < 5
    assert not lost.is_set()
