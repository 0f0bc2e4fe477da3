"""A noisy place whose engine is kept by a ledger, for tests that stop, kill and restart it.

Everything is made from a seed, so that a test can do in one engine, without a store, what
others did with one, and compare.
"""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from play import engine, limit, rule, rules

from hushd.config.records import Store
from hushd.core import codec
from hushd.core.engine import Engine
from hushd.core.readings import SECOND, Reading
from hushd.core.rules import Rules
from hushd.core.transitions import Transition
from hushd.plugin import load
from hushd.runtime.ledger import Ledger
from hushd.runtime.logs import Quiet
from hushd.runtime.messages import Message

AGGREGATORS = load().aggregators
BEGAN = 1_790_000_000 * SECOND
RULES = rules(
    rule(limit("warning", "above", 70.0, wait=2), name="loud", measure="max", span=30),
    rule(limit("warning", "above", 60.0), name="steady", measure="mean", count=20),
    rule(limit("critical", "above", 90.0), name="shock", measure="last", after=10),
    interval=1,
)
SPAN, COUNT = 30 * SECOND, 20  # of the longest windows among these


class Place:
    """Goes on in batches, one a second; `upto` says how far the store has it."""

    def __init__(
        self, folder: Path, seed: int = 1, rooms: int = 5, of: Rules = RULES, **settings: Any
    ) -> None:
        self.folder = folder
        self.seed = seed
        self.rooms = rooms
        self.of = of
        self.settings = Store(**settings)
        self.at = 0  # the next batch
        self.told: list[Transition] = []
        self.start()

    def start(self) -> None:
        """Begin, or begin again, with what is kept."""
        self.ledger = Ledger(
            self.folder / "hushd.db", self.settings, Quiet(), inbox=50, stamp=self.stamp
        )
        self.left = self.ledger.recover(self.of, AGGREGATORS)
        self.engine = self.left.engine or engine(self.of)
        self.at = 0 if self.left.engine is None else (self.left.clock or {})["batch"]
        self.ledger.mind(self.engine)

    def stamp(self) -> dict[str, Any]:
        return {"batch": self.at}

    def crash(self) -> None:
        """End without a word, and start again."""
        self.ledger._file.close()
        self.start()

    def stop(self) -> None:
        """End in order, and start again."""
        self.ledger.close()
        self.start()

    def readings(self) -> list[Reading]:
        return batch(self.seed, self.at, self.rooms)

    def step(self, *, commit: bool = True) -> list[int]:
        """Take in the next batch."""
        readings = self.readings()
        told = feed(self.engine, readings, self.at)
        self.ledger.add(readings, messages(self.at, len(readings)))
        self.at += 1
        self.told += told
        if not (commit or told):
            return []
        return self.ledger.commit(told, [("phone", transition) for transition in told])


def batch(seed: int, number: int, rooms: int) -> list[Reading]:
    """Return the readings of one second; now and then a room is loud, or says nothing."""
    chance = random.Random(f"{seed} {number}")
    at = BEGAN + number * SECOND
    found = []
    for room in range(rooms):
        mood = random.Random(f"{seed} {number // 15} {room}").random()
        if mood < 0.15:
            continue
        level = 75.0 if mood > 0.8 else 45.0
        labels = (("room", str(room)),)
        found.append(Reading("noise", labels, at, round(level + chance.gauss(0, 8), 1), at))
    return found


def messages(number: int, count: int) -> list[Message]:
    return [
        Message(
            b"home/noise", b"%d %d" % (number, i), 0, qos=1, packet=(number * 7 + i) % 65535 + 1
        )
        for i in range(count)
    ]


def feed(playing: Engine, readings: Sequence[Reading], number: int) -> list[Transition]:
    """Return what the engine has to tell of a batch."""
    told: list[Transition] = []
    for reading in readings:
        told += playing.process(reading)
    return told + playing.advance(BEGAN + number * SECOND)


def never_stopped(batches: int, seed: int = 1, rooms: int = 5, of: Rules = RULES) -> Any:
    """Return an engine that took in so many batches, and all that it told."""
    playing, told = engine(of), list[Transition]()
    for number in range(batches):
        told += feed(playing, batch(seed, number, rooms), number)
    return playing, told


def windows(playing: Engine) -> dict[str, Any]:
    """Return every reading that counts, and what is known of every alert."""
    found: dict[str, Any] = {}
    for alert in playing.alerts():
        log = alert.pool.save()["log"]
        stamps = codec.unpack_steps(log["stamps"])
        values = codec.unpack_values(log["values"])
        recent = sum(at > playing.now - SPAN for at in stamps)  # type: ignore[operator]  # it ran
        counts = max(recent, COUNT)  # what is older goes when a chunk is full, sooner or later
        found[alert.pool.key] = stamps[-counts:], values[-counts:]
        found[f"{alert.rule} {alert.labels}"] = (alert.state, alert.episode, alert.stale)
    return found


def ids(told: Sequence[Transition]) -> list[tuple[str, str, str]]:
    return [(transition.id, transition.rule, transition.event) for transition in told]
