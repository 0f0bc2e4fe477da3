"""Where decisions are kept before anybody hears of them.

The loop commits, then acknowledges the messages to the broker, then tells people; a worker
settles what was told.  Whatever implements this must be safe to call from the loop and
from all workers.
"""

from collections.abc import Sequence
from typing import Protocol

from hushd.core.readings import Labels, Reading
from hushd.core.reconcile import Told
from hushd.core.transitions import Transition

#: An alert: rule and labels.
Alert = tuple[str, Labels]


class Store(Protocol):
    """Keeps what must outlive the process."""

    def commit(self, readings: Sequence[Reading], transitions: Sequence[Transition]) -> None:
        """Keep what came in and what was decided; when this returns, it is safe."""

    def told(self, notifier: str) -> dict[Alert, Told]:
        """Return what *notifier* was told before the process started."""

    def settle(self, notifier: str, alert: Alert, told: Told) -> None:
        """Keep that *notifier* now knows this of *alert*."""

    def close(self) -> None:
        """Let go of everything."""


class VolatileStore:
    """Keeps nothing: after a restart every alert is judged, and told, anew.

    Windows and alerts live in the engine's memory, told states in the workers'.  A crash
    or a restart loses them, and the notes that were not delivered yet.
    """

    def commit(self, readings: Sequence[Reading], transitions: Sequence[Transition]) -> None:
        """Do nothing."""

    def told(self, notifier: str) -> dict[Alert, Told]:
        """Return nothing: nobody was told anything yet."""
        return {}

    def settle(self, notifier: str, alert: Alert, told: Told) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""
