"""A daemon between a broker and a receiver, and all that goes wrong around it."""

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import NamedTuple

from fault_proxy import FaultProxy
from waiting import eventually

from torture import story
from torture.parties import Broker, Sensor
from torture.story import END, TOO_MUCH, Said
from torture.webhook import Webhook, listening

CHILD = Path(__file__).with_name("child.py")


class Daemon:
    """``hushd run``, begun again as often as it takes.

    Args:
        folder: Where its configuration and its state are.
        mistake: Which one is in it.
        before: What the command line begins with, to run it under another program.
    """

    def __init__(self, folder: Path, mistake: str, before: Sequence[str] = ()) -> None:
        self._folder = folder
        self._mistake = mistake
        self._before = before
        self._child: subprocess.Popen[bytes] | None = None
        self.starts = 0
        self.start()

    @property
    def pid(self) -> int:
        """Return the number of the process."""
        assert self._child is not None
        return child_of(self._child.pid) if self._before else self._child.pid

    def start(self) -> None:
        """Start it."""
        words = [
            *self._before,
            sys.executable,
            str(CHILD),
            self._mistake,
            "run",
            "-c",
            "hushd.yaml",
        ]
        places = {"XDG_RUNTIME_DIR": str(self._folder), "STATE_DIRECTORY": str(self._folder)}
        with (self._folder / "hushd.log").open("ab") as log:
            self._child = subprocess.Popen(
                words,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                env=os.environ | places,
            )
        self.starts += 1

    def kill(self) -> None:
        """End it as a power cut would, were the page cache not to survive."""
        assert self._child is not None
        assert self._child.poll() is None, "it ended by itself, see hushd.log"
        self.send(signal.SIGKILL)
        self._child.wait()

    def stop(self) -> None:
        """End it in order."""
        assert self._child is not None
        assert self._child.poll() is None, "it ended by itself, see hushd.log"
        self.send(signal.SIGTERM)
        assert self._child.wait(30) == 0

    def send(self, signum: int) -> None:
        """Send a signal."""
        os.kill(self.pid, signum)

    def close(self) -> None:
        """See that it is gone."""
        if self._child is not None and self._child.poll() is None:
            self.send(signal.SIGKILL)
            self._child.wait()


def child_of(pid: int) -> int:
    """Return the process that *pid* has started."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # gone meanwhile
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[1]) == pid:
                return int(stat.parent.name)
    raise LookupError(f"process {pid} has no child")


class World(NamedTuple):
    """Everybody, at work."""

    folder: Path
    chance: random.Random
    broker: Broker
    sensor: Sensor
    between: FaultProxy
    webhook: Webhook
    daemon: Daemon
    faults: Counter[str]

    def wait_for_the_end(self) -> None:
        """Let everything be well, say the last word, and wait until all receivers know it.

        What is published comes in order, and a receiver of every transition hears in order:
        so all that was ever to come has come by then.
        """
        self.between.mode = "pass"
        self.sensor.hush()
        self.webhook.moody = False
        self.sensor.speak_last(Said(END, TOO_MUCH))
        eventually(lambda: self._ended("witness") and self._ended("phone"), 90, "it got lost")

    def _ended(self, name: str) -> bool:
        heard = [taken.heard.change for taken in self.webhook.taken(name)]
        return any(change.labels == (("room", END),) and change.rule == "last" for change in heard)


@contextmanager
def world(
    folder: Path,
    seed: int,
    *,
    store: str = "",
    rate: float = 250,
    memory: int = 200_000,
    mistake: str = "none",
    before: Sequence[str] = (),
) -> Iterator[World]:
    """Let everybody begin."""
    chance = random.Random(seed)
    with ExitStack() as stack:
        webhook = stack.enter_context(listening(random.Random(seed + 1)))
        broker = Broker(folder)
        stack.callback(broker.stop)
        between = FaultProxy(broker.port)
        stack.callback(between.close)
        story.write(folder, between.port, webhook.url, store, memory)
        daemon = Daemon(folder, mistake, before)
        stack.callback(daemon.close)
        eventually(
            lambda: b"mqtt.connected" in (folder / "hushd.log").read_bytes(), 30, "no connection"
        )
        sensor = Sensor(broker.port, story.readings(random.Random(seed + 2)), rate)
        stack.callback(sensor.close)
        sensor.speak()
        yield World(folder, chance, broker, sensor, between, webhook, daemon, Counter())


# -- what goes wrong -------------------------------------------------------------------------


def kill(there: World) -> None:
    """Kill the daemon, and start it again at once or a little later."""
    there.daemon.kill()
    sleep(there.chance.choice([0, 0, there.chance.uniform(0, 0.4)]))
    there.daemon.start()


def freeze(there: World, longest: float = 1.5) -> None:
    """Stop the daemon, and let it go on."""
    there.daemon.send(signal.SIGSTOP)
    sleep(there.chance.uniform(0.1, longest))
    there.daemon.send(signal.SIGCONT)


def freeze_for_long(there: World) -> None:
    """Stop the daemon for longer than the broker is patient."""
    freeze(there, 9)


def reset(there: World) -> None:
    """Tear down the connection to the broker."""
    there.between.mode = "reset"
    sleep(0.05)
    there.between.mode = "pass"


def hole(there: World, longest: float = 1.0) -> None:
    """Let the network swallow everything for a while."""
    there.between.mode = "hole"
    sleep(there.chance.uniform(0.1, longest))
    there.between.mode = "pass"


def long_hole(there: World) -> None:
    """Let it do so until both ends have given each other up."""
    hole(there, 14)


def cut(there: World) -> None:
    """Tear down the connection in the middle of a packet."""
    there.between.mode = "cut"
    until = monotonic() + 2
    while there.between.mode == "cut" and monotonic() < until:
        sleep(0.01)
    there.between.mode = "pass"


def slow(there: World) -> None:
    """Let the network become slow."""
    there.between.mode = "slow"
    sleep(there.chance.uniform(0.2, 1.0))
    there.between.mode = "pass"


def restart_broker(there: World) -> None:
    """Let the broker end in order, and come back."""
    there.sensor.hush()
    there.broker.stop()
    sleep(there.chance.uniform(0, 0.3))
    there.broker.start()
    there.sensor.speak()


def kill_broker(there: World) -> None:
    """Kill the broker, once it has written down what was published.

    It may have forgotten what was acknowledged since, and then sends that again.
    """
    there.sensor.hush()
    sleep(2.5)  # it writes each second
    there.broker.kill()
    there.broker.start()
    there.sensor.speak()


Fault = Callable[[World], None]

#: how often each comes, of a hundred
SHORT: dict[Fault, int] = {
    kill: 64,
    freeze: 9,
    reset: 8,
    hole: 6,
    cut: 5,
    slow: 3,
    restart_broker: 5,
}
LONG: dict[Fault, int] = {**SHORT, freeze_for_long: 2, long_hole: 2, kill_broker: 2}
KILLS: dict[Fault, int] = {kill: 1}
RESETS: dict[Fault, int] = {kill: 1, reset: 2, cut: 1}


def torture(there: World, faults: int, kinds: dict[Fault, int]) -> None:
    """Let so many things go wrong, one after the other, at random moments."""
    for _ in range(faults):
        sleep(there.chance.uniform(0.25, 1.4))
        (fault,) = there.chance.choices(list(kinds), list(kinds.values()))
        there.faults[fault.__name__] += 1
        fault(there)
