"""What waits to be told, what is told of it now, and what the store is to keep of that."""

from dataclasses import dataclass
from typing import NamedTuple

from hushd.core.reconcile import Kind, Told
from hushd.core.rules import Severity
from hushd.core.transitions import Event, Transition
from hushd.runtime.store import NOWHERE, Alert


@dataclass(slots=True, eq=False)
class Waiting:
    """A transition that was not told yet."""

    transition: Transition
    since: int = 0  # when it was added, or is held back no more
    row: int = NOWHERE  # in the outbox
    unsure: bool = False  # an attempt may have succeeded unnoticed
    instead: str = ""  # the notifier that could not tell it
    digest: bool = False  # it came in quiet hours, and goes into the one message after them

    @property
    def alert(self) -> Alert:
        """Return what it is about."""
        return (self.transition.rule, self.transition.labels)


class Item(NamedTuple):
    """One thing to tell now, and what the notifier knows once it was told."""

    waiting: Waiting
    kind: Kind | Event
    severity: Severity | None
    told: Told
    counts: bool = True  # False: it only reminds a machine that forgets

    @property
    def transition(self) -> Transition:
        """Return what happened."""
        return self.waiting.transition


class Errand(NamedTuple):
    """One message: what it tells, mostly one thing."""

    items: tuple[Item, ...]

    @property
    def first(self) -> Item:
        """Return what it tells first."""
        return self.items[0]

    @property
    def waiting(self) -> Waiting:
        """Return what waited, of the first."""
        return self.first.waiting

    @property
    def transition(self) -> Transition:
        """Return what happened first."""
        return self.first.transition

    @property
    def kind(self) -> Kind | Event:
        """Return the kind of the first."""
        return self.first.kind

    @property
    def severity(self) -> Severity | None:
        """Return how bad the first is."""
        return self.first.severity

    @property
    def critical(self) -> bool:
        """Say whether something in it is critical; that it is over is not."""
        return any(
            item.severity == "critical" and item.kind not in {"cleared", "missed"}
            for item in self.items
        )


class Settled(NamedTuple):
    """Rows that are done with, and what the notifier knows of their alert, if that is news."""

    rows: tuple[int, ...]
    news: tuple[Alert, Told] | None = None


class Buried(NamedTuple):
    """What is never told, and why."""

    waiting: Waiting
    error: str


Deed = Settled | Buried
