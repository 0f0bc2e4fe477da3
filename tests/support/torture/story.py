"""What is measured, what must not happen, and what must be told: known beforehand.

All windows are counts of readings and no limit waits, so that the story of each alert
follows from the order of the readings alone, however long each took to arrive.  A rule has
one limit, so that an episode is told of twice and no two changes are alike.  Readings have
no stamps, and many say the same: only their number and order tell them apart.
"""

import random
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hushd.config import read
from hushd.config.records import Config
from hushd.core.engine import Engine
from hushd.core.readings import Labels, Reading
from hushd.core.transitions import Transition

ROOMS = tuple(f"r{n}" for n in range(1, 9))
END = "end"  # the room that speaks last of all
TOPIC = "torture/{}/noise"
TOO_MUCH = 200.0  # of the end; no other room is ever so loud
RULES = frozenset({"mean", "worst", "median", "last", "house"})

CONFIG = """\
version: 1
site: {{name: torture}}
plugins: {{directory: plugins}}
mqtt: {{host: 127.0.0.1, port: {port}, client_id: torture, keepalive: 5s}}
{store}sensors:
  noise: "torture/{{room}}/noise"
notifiers:
  witness: {{type: witness, url: "{url}/witness", timeout: 1s}}
  phone: {{type: webhook, url: "{url}/phone", timeout: 1s}}
  evidence: {{type: journal, path: evidence.jsonl}}
internal: {{notify: []}}
defaults: {{notify: [witness, phone, evidence], no_data: ignore}}
rules:
  mean: {{watch: noise, measure: mean, over: 5 samples, warning: {{above: 60, clear: 55}}}}
  worst: {{watch: noise, measure: max, over: 7 samples, warning: {{above: 90, clear: 70}}}}
  median: {{watch: noise, measure: median, over: 9 samples, warning: {{above: 65, clear: 50}}}}
  last: {{watch: noise, measure: last, critical: {{above: 100}}}}
  # all rooms in one window: it shows whether the order of rooms among each other was kept
  house: {{watch: noise, each: [], measure: mean, over: 64 samples, info: {{above: 58, clear: 52}}}}
  # never raised: its window holds the whole sequence of a room
  memory: {{watch: noise, measure: count, over: {memory} samples, info: {{above: 900000}}}}
"""

#: hears of every transition, as a journal does, and by HTTP
WITNESS = '''\
"""Posts every transition, whatever a receiver was told before."""

from dataclasses import replace

from hushd.plugin import hookimpl
from hushd_notify.webhook import WEBHOOK


@hookimpl
def hushd_notifiers():
    yield replace(WEBHOOK, name="witness", every=True)
'''


class Said(NamedTuple):
    """What was published."""

    room: str
    value: float


class Change(NamedTuple):
    """A transition, without all that depends on when it happened."""

    rule: str
    labels: Labels
    event: str
    episode: int
    severity: str | None
    value: float | None

    @classmethod
    def of(cls, transition: Transition) -> "Change":
        """Return what changed."""
        return cls(
            transition.rule,
            transition.labels,
            transition.event,
            transition.episode,
            transition.severity,
            transition.value,
        )

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> "Change":
        """Return what changed, from a line of the journal."""
        labels = tuple(record["labels"].items())
        return cls(record["rule"], labels, *(record[name] for name in cls._fields[2:]))


def write(folder: Path, port: int, url: str, store: str = "", memory: int = 200_000) -> Path:
    """Write a configuration; return where it is.

    Args:
        folder: Where to; with plugins beside it.
        port: The broker's.
        url: The receiver's.
        store: What is said of the store.
        memory: How many readings of each room are kept.
    """
    plugins = folder / "plugins"
    plugins.mkdir(mode=0o755)
    (plugins / "witness.py").write_text(WITNESS)
    path = folder / "hushd.yaml"
    settings = f"store: {{{store}}}\n" if store else ""
    path.write_text(CONFIG.format(port=port, url=url, store=settings, memory=memory))
    return path


def understood(folder: Path) -> Config:
    """Return the configuration as the daemon reads it."""
    return read(folder / "hushd.yaml", for_run=True)


def readings(chance: random.Random) -> Iterator[Said]:
    """Return what the rooms say: quiet, loud or unbearable for a while, and mostly the same."""
    level = dict.fromkeys(ROOMS, 40.0)
    left = {room: chance.randint(5, 60) for room in ROOMS}
    while True:
        room = chance.choice(ROOMS)
        left[room] -= 1
        if left[room] < 0:
            level[room] = chance.choice([40.0, 40.0, 65.0, 85.0])
            left[room] = chance.randint(20, 120)
        yield Said(room, level[room] + chance.choice([0] * 12 + [5, 10, 20]))


class Expected:
    """An uninterrupted run in this process."""

    def __init__(self, config: Config, said: Iterable[Said]) -> None:
        self.engine = Engine(config.rules, config.catalog.aggregators)
        self.changes: list[Change] = []
        for n, (room, value) in enumerate(said, 1):
            reading = Reading("noise", (("room", room),), n, value, n)
            self._note(self.engine.process(reading))
            self._note(self.engine.advance(n))

    def _note(self, transitions: list[Transition]) -> None:
        self.changes += [Change.of(t) for t in transitions if t.rule in RULES]
