"""What keeping costs: bytes written for a day of readings, and how long a start takes.

    python benchmarks/writes.py [--minutes N] [--folder PATH]

A simulated stretch of 20 messages a second is committed once each simulated second, on a real
file.  Bytes are counted by the kernel for this process, and once more by the calls themselves
(what SQLite hands to the file system: a card writes at least that).  The folder should be on
a real disk: a file system in memory counts nothing.
"""

import argparse
import ctypes
import random
import tempfile
import time
from pathlib import Path

from hushd.config import read_text
from hushd.config.records import Config, Store
from hushd.core.engine import Engine
from hushd.core.readings import SECOND, Reading
from hushd.plugin.loading import load
from hushd.runtime import archive
from hushd.runtime.ledger import Ledger
from hushd.runtime.logs import Quiet
from hushd.runtime.messages import Message

CONFIG = """\
version: 1
sensors:
  noise: {topic: "plant/{machine}/noise", interval: 1s}
notifiers:
  nobody: {type: log}
rules:
  mean: {watch: noise, measure: mean, over: 10m, warning: {above: 90}, notify: [nobody]}
"""
RATE = 20  # messages a second
BEGAN = 1_790_000_000 * SECOND
DAY = 86_400


class Living:
    """A ledger with an engine, and time that is only said to pass."""

    def __init__(self, folder: Path, config: Config, **settings) -> None:
        self.config = config
        self.ledger = Ledger(folder / "hushd.db", Store(**settings), Quiet())
        left = self.ledger.recover(config.rules, config.catalog.aggregators)
        self.engine = left.engine or Engine(config.rules, config.catalog.aggregators)
        self.ledger.mind(self.engine)
        self.packet = 0

    def second(self, number: int, readings: list[Reading], *, every: int = 1) -> None:
        told = []
        for reading in readings:
            told += self.engine.process(reading)
        told += self.engine.advance(BEGAN + number * SECOND + SECOND - 1)
        messages = []
        for reading in readings:
            self.packet = self.packet % 65_535 + 1
            payload = b"%.1f" % reading.value
            messages.append(Message(b"plant/x/noise", payload, 0, qos=1, packet=self.packet))
        self.ledger.add(readings, messages)
        if told or number % every == 0:
            self.ledger.commit(told, [("nobody", transition) for transition in told])
        if self.ledger.trouble:
            raise SystemExit(self.ledger.trouble)


def readings(chance: random.Random, number: int, sensors: int, rate: int) -> list[Reading]:
    found = []
    for i in range(rate):
        at = BEGAN + number * SECOND + i * SECOND // rate
        labels = (("machine", f"{(number * rate + i) % sensors:05d}"),)
        found.append(Reading("noise", labels, at, round(chance.gauss(50, 5), 1), at))
    return found


def written() -> tuple[int, int]:
    """Return the bytes that the device was given for this process, and that calls handed over."""
    ctypes.CDLL(None).sync()
    counts = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(counts["write_bytes"]), int(counts["wchar"])


def cost(sensors: int, minutes: int, folder: str | None, **settings) -> None:
    """Print what a day costs, once the windows are full."""
    every = settings.pop("every", 1)
    config = read_text("writes", CONFIG, load())
    chance = random.Random(1)
    with tempfile.TemporaryDirectory(dir=folder) as where:
        living = Living(Path(where), config, **settings)
        full = archive.FEW // RATE + 300
        for number in range(full):  # until windows and log hold what they hold for ever
            living.second(number, readings(chance, number, sensors, RATE), every=60)
        before, began, passed = written(), time.perf_counter(), minutes * 60
        for number in range(full, full + passed):
            living.second(number, readings(chance, number, sensors, RATE), every=every)
        took = time.perf_counter() - began
        device, calls = (after - was for after, was in zip(written(), before, strict=True))
        size = sum(
            path.stat().st_size
            for path in Path(where).glob("hushd.db*")
            if path.suffix != ".ballast"
        )
        living.ledger.close()
    what = f"{sensors} sensors" + "".join(f", {key} {value}" for key, value in settings.items())
    print(
        f"{what + (f', commit each {every} s' if every > 1 else ''):<40}"
        f" {device * DAY / passed / 1e9:6.2f} GB/day on the device"
        f" {calls * DAY / passed / 1e9:6.2f} GB/day written"
        f" {calls / passed / RATE:7.0f} bytes/reading"
        f" {took / passed * 1e3:6.1f} ms/commit"
        f" {size / 1e6:6.1f} MB"
    )


def start(folder: str | None, series: int = 1000, window: int = 600) -> None:
    """Print how long the start takes with 600,000 readings in the windows."""
    config = read_text("writes", CONFIG, load())
    chance = random.Random(1)
    with tempfile.TemporaryDirectory(dir=folder) as where:
        living = Living(Path(where), config)
        living.ledger.commit()
        for number in range(window):
            living.second(number, readings(chance, number, series, series))
        for how in ("killed", "stopped"):
            if how == "killed":
                living.ledger._file.close()  # noqa: SLF001  without a word
            else:
                living.ledger.close()
            began, busy = time.perf_counter(), time.process_time()
            living = Living(Path(where), config)
            took, busy = time.perf_counter() - began, time.process_time() - busy
            held = sum(map(living.engine.weight, living.engine.shards()))
            size = (Path(where) / "hushd.db").stat().st_size
            print(
                f"start after it was {how:<8} {held:,} readings in {took:.2f} s"
                f" ({busy:.2f} s of the processor), {size / 1e6:.1f} MB,"
                f" {size / held:.1f} bytes/reading"
            )
        living.ledger.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=int, default=10)
    parser.add_argument("--folder", help="on the disk that is to be measured")
    given = parser.parse_args()
    for sensors in (20, 1000):
        cost(sensors, given.minutes, given.folder)
    cost(20, given.minutes, given.folder, every=5)
    cost(20, given.minutes, given.folder, profile="alerts-only")
    start(given.folder)


if __name__ == "__main__":
    main()
