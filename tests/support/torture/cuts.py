"""Power cuts: a recorded run, cut at random, and what the next start makes of it."""

import random
import shutil
from collections import Counter
from pathlib import Path
from time import sleep
from typing import NamedTuple

from hushd.config.records import Config
from torture.calls import Call, calls, strace
from torture.disk import Disk, moments
from torture.promises import Promises
from torture.remains import by_room, recover
from torture.story import Said, understood
from torture.world import world

FILES = ("hushd.db", "hushd.db-wal", "hushd.db-journal")


class Recording(NamedTuple):
    """What a daemon asked of the kernel, and what it was told."""

    folder: Path
    config: Config
    calls: list[Call]
    said: list[Said]
    promises: Promises


def record(folder: Path, chosen: int, *, seconds: float, mistake: str = "none") -> Recording:
    """Run a daemon under strace, and kill it."""
    home, trace = folder / "home", folder / "trace"
    home.mkdir()
    before, store = strace(trace), "commit_interval: 100ms"
    with world(home, chosen, store=store, mistake=mistake, before=before) as there:
        sleep(seconds)
        there.daemon.kill()
        promises = Promises(there.between.port, there.webhook.server_address[1])
        said = list(there.sensor.said)
    with trace.open() as lines:
        happened = list(calls(lines))
    return Recording(home, understood(home), happened, said, promises)


def cut(recording: Recording, number: int, chance: random.Random, place: Path) -> Counter[str]:
    """Cut the power so often, and count what was not as it was promised.

    Args:
        recording: Of the run.
        number: How often.
        chance: When, and what arrived.
        place: A folder of our own for what is found; best one in memory.
    """
    found: Counter[str] = Counter()
    disk, done, promises = Disk(recording.folder), 0, recording.promises
    for moment in moments(recording.calls, number, chance):
        for n in range(done, moment):
            disk.happen(n, recording.calls[n])
            promises.happen(recording.calls[n])
        done = moment
        shutil.rmtree(place)
        place.mkdir()
        disk.cut(chance, place, FILES)
        found.update(broken(recording, promises, place))
    found["acknowledged"], found["told"] = promises.acknowledged, len(promises.told)
    return found


def broken(recording: Recording, promises: Promises, place: Path) -> set[str]:
    """Return which promises the files at *place* do not keep."""
    left = recover(place, recording.config)
    found = {"unusable"} if left.why else set()
    for room, values in by_room(recording.said[: promises.acknowledged]).items():
        if list(left.sequences.get(room, ()))[: len(values)] != values:
            found.add("acknowledged and missing")
    everything = by_room(recording.said)
    for room, kept in left.sequences.items():
        if everything.get(room, [])[: len(kept)] != list(kept):
            found.add("never said")
    if not {key.rpartition("-")[0] for key in promises.told} <= left.changes:
        found.add("told and unknown")
    return found
