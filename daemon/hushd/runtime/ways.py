"""How people are told: a configured notifier, and the patience with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hushd.core.rules import Manner
from hushd.plugin.records import NotifierType


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to try; in seconds."""

    send: float = 60.0  # one delivery; a worker that takes longer is replaced
    first: float = 5.0  # pause after a failure; doubles with each
    longest: float = 300.0
    refused: float = 3600.0  # pause after a refusal, unless there is something new to tell
    give_up: float | None = None  # after what is to be told was decided; None: as its manner says
    late: float = 120.0  # what waited longer is told as late
    replaced: int = 3  # hung threads an hour; each may stay in memory until the process ends


@dataclass(frozen=True, slots=True)
class Way:
    """A configured notifier: its name, its type and the options for it."""

    name: str
    type: NotifierType
    options: Mapping[str, Any]
    secrets: tuple[str, ...] = ()  # not to be shown, whoever speaks of them
    manner: Manner | None = None  # None: as its type has it

    @property
    def how(self) -> Manner:
        """Return how it wants to be told."""
        return Manner(every=self.type.every) if self.manner is None else self.manner
