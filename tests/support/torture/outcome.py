"""A whole run, and everything that was wrong with it."""

import json
import os
import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from torture.remains import by_room, recover, windows
from torture.story import RULES, Change, Expected, understood
from torture.verdict import Heard, Verdict, judge, judge_news, repeated
from torture.world import Fault, World, torture, world


class Outcome(NamedTuple):
    """How a run ended."""

    figures: str
    witness: Verdict  # who hears of every transition
    phone: Verdict  # who hears how things stand
    unwritten: list[Change]  # transitions that the journal lacks
    rooms: list[str]  # whose readings that were taken are not those that were published
    windows: list[str]  # alerts that ended otherwise than in a run without interruption

    @property
    def problems(self) -> dict[str, int]:
        """Return how much of what was wrong."""
        found = {f"{what} to the witness": len(x) for what, x in self.witness._asdict().items()}
        found |= {f"{what} to the phone": len(x) for what, x in self.phone._asdict().items()}
        found["lost to the journal"] = len(self.unwritten)
        found["rooms with other readings"] = len(self.rooms)
        found["windows that differ"] = len(self.windows)
        return {what: number for what, number in found.items() if number}


def seed() -> int:
    """Return the seed of a run; HUSHD_SEED=... repeats one as far as chance decides."""
    return int(os.environ.get("HUSHD_SEED") or random.SystemRandom().randrange(10**6))


def run(
    folder: Path,
    chosen: int,
    *,
    faults: int,
    kinds: dict[Fault, int],
    commit: str,
    mistake: str = "none",
) -> Outcome:
    """Torture a daemon, end it in order, and compare what came of it with what was due."""
    store = f"commit_interval: {commit}"
    with world(folder, chosen, store=store, mistake=mistake) as there:
        torture(there, faults, kinds)
        there.wait_for_the_end()
        there.daemon.stop()
        heard = {name: _heard(there, name) for name in ("witness", "phone")}
        said = list(there.sensor.said)
        happened = dict(there.faults)
    config = understood(folder)
    due = Expected(config, said)
    left = recover(folder, config)
    published, stand = by_room(said), windows(due.engine)
    figures = (
        f"seed {chosen}, commits every {commit}: {faults} faults {happened}, "
        f"{len(said)} readings, {len(due.changes)} changes due, {len(heard['witness'])} taken, "
        f"{repeated(heard['witness'])} of them again"
    )
    witness = judge(due.changes, heard["witness"])
    return Outcome(
        f"{figures}: {witness}",
        witness,
        judge_news(due.changes, heard["phone"]),
        unwritten(folder / "evidence.jsonl", due.changes),
        differing(published, left.sequences),
        differing(stand, left.windows),
    )


def unwritten(path: Path, due: list[Change]) -> list[Change]:
    """Return what a journal lacks; a line that was cut off is followed by the whole."""
    written: Counter[Change] = Counter()
    for line in path.read_bytes().splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if record["rule"] in RULES:
            written[Change.of_record(record)] += 1
    return [change for change in due if change not in written]


def differing(one: Mapping[Any, Any], other: Mapping[Any, Any]) -> list[str]:
    """Return the keys whose values differ."""
    return [str(key) for key in {*one, *other} if one.get(key) != other.get(key)]


def _heard(there: World, name: str) -> list[Heard]:
    return [taken.heard for taken in there.webhook.taken(name)]
