"""A store that outlives a process in a test, and a fuse that ends the process at any point."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from hushd.core.mutes import Ack, Mute
from hushd.core.reconcile import Told
from hushd.core.transitions import Transition
from hushd.runtime.store import NOWHERE, Alert, Letter, Owed, Store, Untold, VolatileStore
from hushd.runtime.wishes import Wishes

T = TypeVar("T")


class CrashError(BaseException):
    """The process has ended: nothing of it does anything any more."""


class Fuse:
    """Burns with every step; when it has burned down, whoever takes a step dies."""

    def __init__(self, steps: int | None = None) -> None:
        self.steps = steps  # None: for ever
        self.blown = False

    def burn(self) -> None:
        """Take a step."""
        if self.steps is None:
            return
        if self.steps <= 0:
            self.blown = True
            raise CrashError
        self.steps -= 1


@dataclass
class Row:
    """A row of the outbox."""

    notifier: str
    transition: Transition
    since: int
    instead: str = ""
    attempts: int = 0
    sending: bool = False
    unsure: bool = False


@dataclass
class Disk:
    """What a crash leaves."""

    outbox: dict[int, Row] = field(default_factory=dict)
    told: dict[str, dict[Alert, Told]] = field(default_factory=dict)
    dead: list[tuple[Transition, str]] = field(default_factory=list)
    wishes: Wishes = field(default_factory=Wishes)
    last: int = 0


class MemoryStore(VolatileStore):
    """Keeps what is told as the file of a daemon does, and no engine.

    Args:
        disk: What the last process left.
        wall: Says what time it is, in ns.
    """

    def __init__(self, disk: Disk, wall: Callable[[], int]) -> None:
        super().__init__()
        self.disk = disk
        self._wishes = disk.wishes
        self._wall = wall
        for row in disk.outbox.values():
            row.unsure, row.sending = row.unsure or row.sending, False

    def commit(
        self,
        transitions: Sequence[Transition] = (),
        letters: Sequence[Letter] = (),
        troubles: bytes | None = None,
    ) -> list[int]:
        """Keep the letters."""
        return [self._post(Row(name, transition, self._wall())) for name, transition in letters]

    def told(self, notifier: str) -> dict[Alert, Told]:
        """Return what *notifier* knows."""
        return dict(self.disk.told.get(notifier, {}))

    def untold(self, notifier: str) -> list[Untold]:
        """Return what waits."""
        return [
            Untold(
                number,
                row.transition,
                row.since,
                row.attempts,
                row.sending or row.unsure,
                row.instead,
            )
            for number, row in sorted(self.disk.outbox.items())
            if row.notifier == notifier
        ]

    def claim(self, row: int) -> None:
        """Keep that an attempt begins."""
        if row in self.disk.outbox:
            self.disk.outbox[row].sending = True
            self.disk.outbox[row].attempts += 1

    def settle(
        self, notifier: str, rows: Sequence[int], news: tuple[Alert, Told] | None = None
    ) -> None:
        """Keep what was told."""
        for row in rows:
            self.disk.outbox.pop(row, None)
        if news is not None:
            alert, told = news
            known = self.disk.told.setdefault(notifier, {})
            known[alert] = told
            if (told.level, told.missed, told.cleared) == (None, None, None):
                del known[alert]

    def postpone(self, row: int, *, unsure: bool) -> None:
        """Keep that an attempt failed."""
        if row in self.disk.outbox:
            found = self.disk.outbox[row]
            found.sending, found.unsure = False, found.unsure or unsure

    def bury(self, row: int, error: str, fallback: str = "") -> int:
        """Keep that this is never told, or by another."""
        if row not in self.disk.outbox:
            return NOWHERE
        found = self.disk.outbox.pop(row)
        self.disk.dead.append((found.transition, error))
        if not fallback:
            return NOWHERE
        return self._post(Row(fallback, found.transition, self._wall(), instead=found.notifier))

    def keep(
        self,
        notifier: str,
        letters: Sequence[Owed],
        told: dict[Alert, Told],
    ) -> list[int]:
        """Keep all anew."""
        for number in [n for n, row in self.disk.outbox.items() if row.notifier == notifier]:
            del self.disk.outbox[number]
        self.disk.told[notifier] = dict(told)
        return [
            self._post(Row(notifier, owed.transition, owed.since, owed.instead, unsure=owed.unsure))
            for owed in letters
        ]

    def _post(self, row: Row) -> int:
        self.disk.last += 1
        self.disk.outbox[self.disk.last] = row
        return self.disk.last


class Fused(VolatileStore):
    """A store in a process that may end before or after whatever it keeps.

    Attributes:
        committed: How often a commit was kept.
    """

    def __init__(self, store: Store, fuse: Fuse) -> None:
        super().__init__()
        self._store = store
        self._fuse = fuse
        self.committed = 0

    def commit(
        self,
        transitions: Sequence[Transition] = (),
        letters: Sequence[Letter] = (),
        troubles: bytes | None = None,
    ) -> list[int]:
        """Commit, if the process lives that long."""
        self._fuse.burn()
        rows = self._store.commit(transitions, letters, troubles)
        self.committed += 1
        self._fuse.burn()
        return rows

    def told(self, notifier: str) -> dict[Alert, Told]:
        """Return what *notifier* knows."""
        return self._store.told(notifier)

    def untold(self, notifier: str) -> list[Untold]:
        """Return what the last process left."""
        return self._store.untold(notifier)

    def claim(self, row: int) -> None:
        """Claim, if the process lives that long."""
        self._do(lambda: self._store.claim(row))

    def settle(
        self, notifier: str, rows: Sequence[int], news: tuple[Alert, Told] | None = None
    ) -> None:
        """Settle, if the process lives that long."""
        self._do(lambda: self._store.settle(notifier, rows, news))

    def postpone(self, row: int, *, unsure: bool) -> None:
        """Postpone, if the process lives that long."""
        self._do(lambda: self._store.postpone(row, unsure=unsure))

    def bury(self, row: int, error: str, fallback: str = "") -> int:
        """Bury, if the process lives that long."""
        return self._do(lambda: self._store.bury(row, error, fallback))

    def mutes(self) -> list[Mute]:
        """Return the silences."""
        return self._store.mutes()

    def keep_mute(self, mute: Mute) -> None:
        """Keep a silence, if the process lives that long."""
        self._do(lambda: self._store.keep_mute(mute))

    def drop_mute(self, number: int) -> None:
        """Forget a silence, if the process lives that long."""
        self._do(lambda: self._store.drop_mute(number))

    def acks(self) -> list[Ack]:
        """Return who minds what."""
        return self._store.acks()

    def keep_ack(self, ack: Ack) -> None:
        """Keep who minds an alert, if the process lives that long."""
        self._do(lambda: self._store.keep_ack(ack))

    def drop_acks(self, alerts: Sequence[Alert]) -> None:
        """Forget who minded alerts, if the process lives that long."""
        self._do(lambda: self._store.drop_acks(alerts))

    def _do(self, action: Callable[[], T]) -> T:
        self._fuse.burn()
        result = action()
        self._fuse.burn()
        return result
