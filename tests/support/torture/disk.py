"""A disk whose power fails.

What was synced stays.  Of what was written since, any sector may have arrived or not,
whatever the others did, or half of it.  Names of files are taken to arrive at once, and a
disk that lies about a sync helps nobody.
"""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from torture.calls import Call, Sync, Truncate, Unlink, Write

SECTOR = 512


class File:
    """What of a file has arrived for sure, and what may have."""

    def __init__(self) -> None:
        self.solid = bytearray()
        self.loose: list[tuple[int, Write | Truncate]] = []

    def sync(self, began: int) -> None:
        """Let everything arrive that was asked for before *began*."""
        for number, call in self.loose:
            if number < began:
                apply(self.solid, call)
        self.loose = [(number, call) for number, call in self.loose if number >= began]

    def after_a_cut(self, chance: random.Random) -> bytes:
        """Return what may be found."""
        found = bytearray(self.solid)
        odds = chance.choice([0.05, 0.5, 0.95])  # hardly anything, any half, or nearly all
        for _, call in self.loose:
            if isinstance(call, Truncate):
                if chance.random() < odds:
                    apply(found, call)
                continue
            for sector in sectors(call):
                luck = chance.random()
                if luck < odds * 0.9:
                    apply(found, sector)
                elif luck < odds:
                    half = chance.randrange(len(sector.data))
                    apply(found, sector._replace(data=sector.data[:half]))
        return bytes(found)


class Disk:
    """The files of one folder, as calls change them."""

    def __init__(self, folder: Path) -> None:
        self._folder = f"{folder}/"
        self.files: dict[str, File] = {}

    def happen(self, number: int, call: Call) -> None:
        """Take note of the call with that number."""
        if not (isinstance(call, Write | Truncate | Sync | Unlink)):
            return
        if not call.path.startswith(self._folder):
            return
        if isinstance(call, Unlink):
            self.files.pop(call.path, None)
            return
        file = self.files.setdefault(call.path, File())
        if isinstance(call, Sync):
            file.sync(call.began)
        else:
            file.loose.append((number, call))

    def cut(self, chance: random.Random, target: Path, names: Sequence[str]) -> None:
        """Write those of the files into *target* as they may be found after a power cut."""
        for name in names:
            file = self.files.get(f"{self._folder}{name}")
            path = target / name
            path.unlink(missing_ok=True)
            if file is not None:
                path.write_bytes(file.after_a_cut(chance))


def apply(content: bytearray, call: Write | Truncate) -> None:
    """Change *content* as *call* asks."""
    if isinstance(call, Truncate):
        if call.size < len(content):
            del content[call.size :]
        else:
            content.extend(bytes(call.size - len(content)))
        return
    if call.offset > len(content):
        content.extend(bytes(call.offset - len(content)))
    content[call.offset : call.offset + len(call.data)] = call.data


def sectors(write: Write) -> Iterator[Write]:
    """Return *write* by the sector."""
    at, data = write.offset, write.data
    while data:
        room = SECTOR - at % SECTOR
        yield Write(write.path, at, data[:room])
        at, data = at + room, data[room:]


def moments(calls: Sequence[Call], cuts: int, chance: random.Random) -> list[int]:
    """Return before which calls the power fails: anywhere, in order."""
    return sorted(chance.randrange(1, len(calls) + 1) for _ in range(cuts))
