"""The work of ``hushd demo``: the street, the broker and the daemon in one process."""

import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from importlib.resources import as_file, files
from typing import Any, Literal, TextIO

from hushd.cli import screen
from hushd.cli.broker import Address, broker
from hushd.cli.street import HOUSES, INTERVAL, Street
from hushd.cli.terminal import Terminal, can_show
from hushd.config import Config, read
from hushd.core.engine import Engine
from hushd.core.limits import crossed
from hushd.runtime import daemon
from hushd.runtime.delivery import Patience
from hushd.runtime.inbox import Inbox
from hushd.runtime.logs import Quiet

LINE_EVERY = 2.0  # seconds between two lines that show the levels
BARS = "▁▂▃▄▅▆▇█"  # from 30 to 100 dBA
WORDS = {"raised": "ALERT", "raised_again": "ALERT", "escalated": "WORSE", "lowered": "BETTER"}
KEPT = 200  # lines of the log that may be seen again
MAIN = "party"  # the rule whose window is drawn
Embedded = Literal["mosquitto", "iotcore"] | None
#: broker -> what happens with it every time: this one does not speak MQTT 5, and hangs up
KNOWN = {"iotcore": ("mqtt.unreachable", "mqtt.fell_back")}
BYE = "That was the demo.  Your own street: see docs/running.md and `hushd check --help`."


class Lines:
    """Lines one after another, for a pipe or a simple terminal: levels now and then, alerts."""

    def __init__(self, stream: TextIO, lost: Callable[[], None]) -> None:
        """Prepare; *lost* is called when nobody reads any more."""
        self._stream = stream
        self._lost = lost
        self._colours = stream.isatty() and _colours_wanted()
        self._bars = _can_print("\N{FULL BLOCK}", stream)
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
        self._write(self._coloured(screen.DIM, f"{_now()}          {houses} dBA"))

    def alert(self, event: str, *, title: str = "", **fields: Any) -> None:
        """Show an alert; stands in for the daemon's log."""
        word = _word(event)
        self._write(f"{_now()}  {self._coloured(screen.MARKS[word], f'{word:<6}')}  {title}")

    def trouble(self, text: str) -> None:
        """Show what a person should know."""
        print(text, file=sys.stderr)

    def _bar(self, loud: float) -> str:
        if not self._bars:
            return "#" * max(1, round((loud - 30) / 10))
        return BARS[min(max(int((loud - 30) / 70 * len(BARS)), 0), len(BARS) - 1)]

    def _coloured(self, colour: str, text: str) -> str:
        return f"\x1b[{colour}m{text}{screen.RESET}" if self._colours else text

    def _write(self, text: str) -> None:
        try:
            with self._lock:
                print(text, file=self._stream, flush=True)
        except OSError:  # as with `hushd demo | head`; it would end the thread that is here
            self._lost()


class View:
    """What the whole-screen demo shows; ``observe`` takes it from the engine.

    The loop calls ``observe`` and a worker ``alert``; the terminal's thread asks for
    ``lines``.  Each hands over something that nobody changes any more.
    """

    def __init__(self, address: Address, look: screen.Look) -> None:
        self._where = f"{address.name} at {address.host}:{address.port}"
        self._look = look
        self._houses = tuple(screen.House(name) for name in HOUSES)
        self._limits: tuple[screen.Limit, ...] = ()
        self._window = self._unit = ""
        self._ticks = 0
        self.log: deque[screen.Entry] = deque(maxlen=KEPT)
        self.moment: Callable[[], str] = str

    def observe(self, engine: Engine) -> None:
        """Read how things stand; called in the loop's thread, and changes nothing there."""
        houses: dict[str, screen.House] = {name: screen.House(name) for name in HOUSES}
        others: dict[str, str] = {}
        for alert in engine.alerts():
            name = dict(alert.labels).get("house", "")
            if name not in houses:
                continue
            if alert.rule != MAIN:
                if alert.state not in {"ok", "warming"}:
                    others[name] = f"{alert.rule}: {alert.state}"
                continue
            value = alert.gauge.seen.value
            houses[name] = screen.House(name, alert.pool.latest, value, alert.state)
            self._limits = tuple(
                screen.Limit(limit.severity, crossed(limit, None)) for limit in alert.plan.limits
            )
            self._window = f"{alert.about.measure} over {alert.about.over}"
            self._unit = alert.about.unit
        self._houses = tuple(
            house._replace(other=others.get(house.name, "")) for house in houses.values()
        )

    def alert(self, event: str, *, title: str = "", **fields: Any) -> None:
        """Show an alert; stands in for the daemon's log."""
        self.log.append(screen.Entry(_now(), _word(event), title))

    def trouble(self, text: str) -> None:
        """Show what a person should know."""
        self.log.append(screen.Entry(_now(), "NOTE", text))

    def lines(self, columns: int, lines: int) -> Sequence[str]:
        """Return the picture of this moment, for a terminal of that size."""
        self._ticks += 1
        picture = screen.Picture(
            _now(),
            self._where,
            self.moment(),
            self._houses,
            self._limits,
            self._window,
            self._unit,
            tuple(self.log),
            self._ticks,
        )
        return screen.render(picture, columns, lines, self._look)


class Troubles(Quiet):
    """A log that shows only what a person should know; *known* events are none of it."""

    def __init__(self, show: Callable[[str], None], known: Collection[str] = ()) -> None:
        self._show = show
        self._known = known

    def bind(self, **fields: Any) -> "Troubles":
        """Return itself."""
        return self

    def warning(self, event: str, **fields: Any) -> None:
        """Show it."""
        if event in self._known:
            return
        told = ", ".join(f"{name}: {value}" for name, value in fields.items())
        self._show(f"{event}: {told}")

    error = warning


def show(
    address: str | None,
    embedded: Literal["mosquitto", "iotcore"] | None,
    seconds: float | None,
    *,
    plain: bool = False,
) -> None:
    """Run the demo until it is stopped, or for so many *seconds*.

    On a terminal the whole screen is drawn, unless *plain* lines are wanted.
    """
    where = None if address is None else _address(address)
    whole = not plain and can_show(sys.stdout)
    (_on_the_screen if whole else _in_lines)(where, embedded, seconds)
    print(f"\n{BYE}")


def _in_lines(where: Address | None, embedded: Embedded, seconds: float | None) -> None:
    """Write line after line."""
    with ExitStack() as stack:
        inbox = Inbox(10_000)
        stack.enter_context(_signals(inbox))
        where = where or stack.enter_context(broker(embedded))
        lines = Lines(sys.stdout, partial(inbox.on_stop, signal.SIGPIPE, None))
        lines.introduce(where)
        street = Street(where.host, where.port, lines.levels)
        _serve(stack, where, street, inbox, seconds, lines)


def _on_the_screen(where: Address | None, embedded: Embedded, seconds: float | None) -> None:
    """Draw the whole screen; when it is over, leave the alerts behind as lines."""
    fine = _can_print(screen.FINE.roof[0] + screen.FINE.eighths + screen.FINE.notes[0], sys.stdout)
    look = screen.Look(_colours_wanted(), screen.FINE if fine else screen.PLAIN)
    with ExitStack() as stack:
        inbox = Inbox(10_000)
        gone = partial(inbox.on_stop, signal.SIGHUP, None)
        terminal: Terminal | None = None

        def give_back() -> None:
            if terminal is not None:
                terminal.hide()

        stack.enter_context(_signals(inbox, give_back))
        where = where or stack.enter_context(broker(embedded))
        view = View(where, look)
        street = Street(where.host, where.port, lambda _: None)
        view.moment = lambda: street.moment
        terminal = Terminal(sys.stdout, view.lines, gone)
        with terminal, terminal.suspending():
            _serve(stack, where, street, inbox, seconds, view, view.observe)
    for entry in view.log:
        print(f"{entry.time}  {entry.mark:<6}  {entry.text}")
    if terminal.error is not None:
        raise terminal.error


@contextmanager
def _signals(inbox: Inbox, at_once: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Do as the daemon does, but end with the terminal; under nohup, do not."""
    alone = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    with daemon.signals(inbox, at_once):
        signal.signal(signal.SIGHUP, signal.SIG_IGN if alone else inbox.on_stop)
        yield


def _serve(
    stack: ExitStack,
    where: Address,
    street: Street,
    inbox: Inbox,
    seconds: float | None,
    face: Lines | View,
    observe: Callable[[Engine], None] | None = None,
) -> None:
    """Let the street make noise, and the daemon listen to it."""
    settings = _settings(where)
    if seconds is not None:
        stack.enter_context(_alarm(seconds, inbox))
    street.begin()
    stack.callback(street.end)
    daemon.serve(
        settings,
        inbox,
        Troubles(face.trouble, KNOWN.get(where.name, ())),
        patience=Patience(first=0.5),
        say=face.alert,
        observe=observe,
    )


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
    if not sign or text.endswith("]") or (":" in host and not host.endswith("]")):  # IPv6
        host, port = text, "1883"
    host = host.removeprefix("[").removesuffix("]")
    try:
        host.encode("idna")  # what cannot be looked up would end paho's thread
    except UnicodeError:
        host = ""
    if not host or any(c.isspace() or c == "/" for c in host) or not _is_port(port):
        raise ValueError(f'--broker "{text}": write HOST or HOST:PORT')
    return Address(host, int(port), "your broker")


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and 0 < int(text[:6]) < 65536


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


def _word(event: str) -> str:
    """Return what to call it in the margin."""
    return WORDS.get(event.removeprefix("alert."), "OK")


def _colours_wanted() -> bool:
    return not os.environ.get("NO_COLOR")


def _can_print(text: str, stream: TextIO) -> bool:
    try:
        text.encode(stream.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _now() -> str:
    return time.strftime("%H:%M:%S")
