"""The plainest store that an engine could be kept in: what a real one must amount to."""

import json
from collections.abc import Callable
from typing import Any

from hushd.core.engine import Engine
from hushd.core.readings import Reading
from hushd.core.rules import Rules
from hushd.core.shards import Saved


class Shelf:
    """Rows and a log, in memory, as they would come back from a disk."""

    def __init__(self) -> None:
        self.state = ""
        self.alarms: dict[int, str] = {}
        self.shards: dict[str, tuple[int, bytes]] = {}  # as of which length of the log
        self.log: list[tuple[str, Reading]] = []

    def commit(
        self,
        engine: Engine,
        readings: list[Reading],
        fold: Callable[[str], bool] = lambda _: False,
        *,
        everything: bool = False,
    ) -> None:
        """Write what changed, and the shards that must be written, or that *fold* wants."""
        changes = engine.changes(everything=everything)
        self.log += [(engine.shard_of(r.sensor, r.labels), r) for r in readings]
        self.state = json.dumps(changes.state)
        for number in changes.gone:
            self.alarms.pop(number, None)
        for row in changes.alarms:
            self.alarms[row["number"]] = json.dumps(row)
        for name in {*changes.shards, *(name for name in engine.shards() if fold(name))}:
            self.shards[name] = len(self.log), engine.save_shard(name)

    def saved(self) -> Saved:
        """Return what is handed to an engine that is to be as it was at the last commit."""
        return Saved(
            json.loads(self.state),
            [data for _, data in self.shards.values() if data],
            [json.loads(row) for row in self.alarms.values()],
            [
                reading
                for i, (name, reading) in enumerate(self.log)
                if i >= self.shards.get(name, (0, b""))[0]
            ],
        )

    def recover(self, of: Rules, aggregators: Any) -> Engine:
        """Return an engine as of the last commit."""
        return Engine.recover(of, aggregators, self.saved())
