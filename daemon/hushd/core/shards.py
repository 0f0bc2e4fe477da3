"""Shards: the series that may share a window, kept and restored together.

A store cannot write every window at every commit, and need not: it logs the readings, and
now and then writes one shard as it stands, so that older readings of it can be dropped.
Two series that meet in a pool have the labels of its rule's `each` in common, so what all
rules over a sensor have in common in their `each` tells shards apart.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from hushd.core.readings import Labels, Reading


class Changes(NamedTuple):
    """What a store must write, beside the readings, so that recovery is exact."""

    state: dict[str, Any]  # of the engine as a whole
    alarms: list[dict[str, Any]]  # what changed of them in a way that readings do not tell
    gone: list[int]  # the numbers of those that are no more
    shards: list[str]  # that are to be saved again, as no log of readings leads to them


class Saved(NamedTuple):
    """What a store kept."""

    state: Mapping[str, Any]
    shards: Sequence[bytes]
    alarms: Sequence[Mapping[str, Any]]
    readings: Iterable[Reading]  # in the order in which they were taken: those that no shard holds


class Shards:
    """Which series and pools there are in each shard, by their keys."""

    def __init__(self, eaches: Mapping[str, Iterable[tuple[str, ...]]]) -> None:
        """Begin empty; *eaches*: the `each` of every way in which a sensor is pooled."""
        self.touched: set[str] = set()  # to be saved again
        self._common = {name: _common(each) for name, each in eaches.items()}
        self._series: dict[str, dict[tuple[str, Labels], None]] = {}
        self._pools: dict[str, dict[str, None]] = {}

    def __iter__(self) -> Iterator[str]:
        """Return the keys of all shards."""
        yield from self._series
        yield from (key for key in self._pools if key not in self._series)

    def __contains__(self, name: object) -> bool:
        """Say whether there is such a shard."""
        return name in self._series or name in self._pools

    def name(self, sensor: str, labels: Labels) -> str:
        """Return the shard of a series, or of a pool, with these labels."""
        common = self._common[sensor]
        if common is None:
            return json.dumps([sensor, labels])
        pairs = dict(labels)
        return json.dumps([sensor, [(name, pairs.get(name)) for name in common]])

    def series(self, key: str) -> Iterable[tuple[str, Labels]]:
        """Return the series in the shard."""
        return self._series.get(key, ())

    def pools(self, key: str) -> Iterable[str]:
        """Return the pools in the shard."""
        return self._pools.get(key, ())

    def add_series(self, sensor: str, labels: Labels) -> str:
        """Take a series in; return its shard."""
        key = self.name(sensor, labels)
        self._series.setdefault(key, {})[sensor, labels] = None
        return key

    def add_pool(self, sensor: str, labels: Labels, pool: str) -> None:
        """Take a pool in."""
        self._pools.setdefault(self.name(sensor, labels), {})[pool] = None

    def drop_series(self, sensor: str, labels: Labels) -> None:
        """Let a series go."""
        self._drop(self._series, self.name(sensor, labels), (sensor, labels))

    def drop_pool(self, sensor: str, labels: Labels, pool: str) -> None:
        """Let a pool go."""
        self._drop(self._pools, self.name(sensor, labels), pool)

    def _drop(self, held: dict[str, dict[Any, None]], key: str, what: Any) -> None:
        self.touched.add(key)
        members = held[key]
        del members[what]
        if not members:
            del held[key]


def _common(eaches: Iterable[tuple[str, ...]]) -> tuple[str, ...] | None:
    """Return the labels that all have, in order; None where there is nothing to be had in common."""
    found: set[str] | None = None
    for each in eaches:
        found = set(each) if found is None else found & set(each)
    return None if found is None else tuple(sorted(found))
