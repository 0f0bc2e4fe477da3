"""The work of ``hushd demo``: the street, the broker and the daemon in one process."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib.resources import as_file, files
from typing import Any, Literal, TextIO

from hushd.cli.broker import Address, broker
from hushd.cli.street import INTERVAL, Street
from hushd.config import Config, read
from hushd.runtime import daemon
from hushd.runtime.delivery import Patience
from hushd.runtime.inbox import Inbox
from hushd.runtime.logs import Quiet

LINE_EVERY = 2.0  # seconds between two lines that show the levels
BARS = "▁▂▃▄▅▆▇█"  # from 30 to 100 dBA
MARKS = {"raised": "ALERT", "raised_again": "ALERT", "escalated": "WORSE", "lowered": "BETTER"}
RED, GREEN, DIM, PLAIN = "\x1b[1;31m", "\x1b[1;32m", "\x1b[2m", "\x1b[0m"


class Screen:
    """Lines on the terminal: the levels now and then, alerts as they come."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._colours = stream.isatty()
        self._bars = "\N{FULL BLOCK}".encode(stream.encoding or "ascii", "ignore") != b""
        self._lock = threading.Lock()
        self._ticks = 0

    def introduce(self, address: Address) -> None:
        """Say what is about to be seen."""
        self._write(
            f"hushd demo: Linden Street, five houses, one noise sensor each ({address.name}"
            f" at {address.host}:{address.port})"
        )
        self._write("There is a party at house 7.  Two rules listen.  Ctrl-C ends it.\n")

    def levels(self, levels: Mapping[str, float]) -> None:
        """Show how loud it is at each house, every now and then."""
        self._ticks += 1
        if (self._ticks - 1) % round(LINE_EVERY / INTERVAL):
            return
        houses = "   ".join(
            f"house {house} {self._bar(loud)} {loud:3.0f}" for house, loud in levels.items()
        )
        self._write(self._coloured(DIM, f"{_now()}          {houses} dBA"))

    def alert(self, event: str, *, title: str = "", **fields: Any) -> None:
        """Show an alert; stands in for the daemon's log."""
        mark = MARKS.get(event.removeprefix("alert."), "OK")
        colour = GREEN if mark in {"OK", "BETTER"} else RED
        self._write(f"{_now()}  {self._coloured(colour, f'{mark:<6}')}  {title}")

    def _bar(self, loud: float) -> str:
        if not self._bars:
            return "#" * max(1, round((loud - 30) / 10))
        return BARS[min(max(int((loud - 30) / 70 * len(BARS)), 0), len(BARS) - 1)]

    def _coloured(self, colour: str, text: str) -> str:
        return f"{colour}{text}{PLAIN}" if self._colours else text

    def _write(self, text: str) -> None:
        with self._lock:
            print(text, file=self._stream, flush=True)


class Troubles(Quiet):
    """A log that shows only what a person should know."""

    def bind(self, **fields: Any) -> "Troubles":
        """Return itself."""
        return self

    def warning(self, event: str, **fields: Any) -> None:
        """Show it."""
        told = ", ".join(f"{name}: {value}" for name, value in fields.items())
        print(f"{event}: {told}", file=sys.stderr)

    error = warning


def show(
    address: str | None, embedded: Literal["mosquitto", "iotcore"] | None, seconds: float | None
) -> None:
    """Run the demo until it is stopped, or for so many *seconds*."""
    with ExitStack() as stack:
        inbox = Inbox(10_000)
        stack.enter_context(daemon.signals(inbox))
        where = stack.enter_context(broker(embedded)) if address is None else _address(address)
        settings = _settings(where)
        screen = Screen(sys.stdout)
        screen.introduce(where)
        street = Street(where.host, where.port, screen.levels)
        if seconds is not None:
            stack.enter_context(_alarm(seconds, inbox))
        street.begin()
        stack.callback(street.end)
        daemon.serve(settings, inbox, Troubles(), patience=Patience(first=0.5), say=screen.alert)
    print("\nThat was the demo.  Your own street: see docs/running.md and `hushd check --help`.")


def _settings(where: Address) -> Config:
    """Return the demo's configuration with the broker's address."""
    with as_file(files("hushd.cli") / "demo.yaml") as path:
        settings = read(path, for_run=True)
    guest = replace(  # leaves no trace at a broker that is not its own
        settings.mqtt,
        host=where.host,
        port=where.port,
        client_id=f"hushd-demo-{os.getpid()}",
        session_expiry=0,
        status_topic="",
    )
    return replace(settings, mqtt=guest)


def _address(text: str) -> Address:
    """Return the broker that ``HOST[:PORT]`` names."""
    host, sign, port = text.rpartition(":")
    if not sign:
        host, port = text, "1883"
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ValueError(f'--broker "{text}": write HOST or HOST:PORT')
    return Address(host.strip("[]"), int(port), "your broker")


@contextmanager
def _alarm(seconds: float, inbox: Inbox) -> Iterator[None]:
    """Ask for the end after so many *seconds*."""
    timer = threading.Timer(seconds, inbox.on_stop, (signal.SIGALRM, None))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _now() -> str:
    return time.strftime("%H:%M:%S")
