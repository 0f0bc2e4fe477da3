"""What a daemon has left on the disk, read as the next one would read it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hushd.config.records import Config
from hushd.core.engine import Engine
from hushd.core.readings import Labels
from hushd.runtime.ledger import Ledger
from hushd.runtime.logs import Quiet
from torture.story import RULES, Said

#: rule and labels of an alert -> its level, its window's value and how many readings that is of
Windows = Mapping[tuple[str, Labels], tuple[str | None, float | None, int]]


class Remains(NamedTuple):
    """What was found."""

    why: str  # something could not be used
    sequences: Mapping[str, Sequence[float]]  # what each room said, from its first word on
    windows: Windows
    changes: frozenset[str]  # the ids of the transitions that are known to have happened
    engine: Engine | None


def recover(folder: Path, config: Config) -> Remains:
    """Return what is left in the store."""
    ledger = Ledger(folder / config.store.path, config.store, Quiet())
    try:
        found = ledger.recover(config.rules, config.catalog.aggregators)
        engine, database = found.engine, ledger._file.database
        changes = database.execute("SELECT data FROM journal") if database is not None else ()
        return Remains(
            ledger.trouble or ledger.opened.why,
            {} if engine is None else sequences(engine),
            {} if engine is None else windows(engine),
            frozenset(json.loads(data)["id"] for (data,) in changes),
            engine,
        )
    finally:
        ledger.close()


def sequences(engine: Engine) -> dict[str, list[float]]:
    """Return what each room said, as far as windows need it."""
    return {
        dict(pool.labels)["room"]: pool._log.values()
        for pool in engine._pools.values()
        if pool.labels
    }


def windows(engine: Engine) -> dict[tuple[str, Labels], tuple[str | None, float | None, int]]:
    """Return how each alert and its window stand."""
    found: dict[tuple[str, Labels], tuple[str | None, float | None, int]] = {}
    for alert in engine.alerts():
        if alert.plan.name in RULES and engine.now is not None:
            seen: Any = alert.gauge.read(engine.now)
            found[alert.plan.name, alert.labels] = alert.level, seen.value, seen.samples
    return found


def by_room(said: Sequence[Said]) -> dict[str, list[float]]:
    """Return what each room said, in order."""
    found: dict[str, list[float]] = {}
    for room, value in said:
        found.setdefault(room, []).append(value)
    return found
