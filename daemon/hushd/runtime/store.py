"""Where decisions are kept before anybody hears of them.

The loop commits, then acknowledges the messages to the broker, then tells people; a worker
claims what it is about to tell, and settles what was told.  Whatever implements this must be
safe to call from the loop and from all workers.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from hushd.core.engine import Engine
from hushd.core.mutes import Ack, Mute
from hushd.core.readings import Reading
from hushd.core.reconcile import Told
from hushd.core.transitions import Transition
from hushd.runtime.messages import Message
from hushd.runtime.wishes import Alert, Wishes

#: What a notifier is to be told of: its name, and what happened.
Letter = tuple[str, Transition]

NOWHERE = 0  # the row of what is not kept

__all__ = ["NOWHERE", "Alert", "HeldError", "Letter", "Owed", "Store", "Untold", "VolatileStore"]


class HeldError(Exception):
    """The store fails, and is configured to hold everything back until it does not."""


class Untold(NamedTuple):
    """What one notifier had not been told of when the process ended."""

    row: int  # in the outbox
    transition: Transition
    since: int  # wall time when it was committed, in ns
    attempts: int
    unsure: bool  # an attempt may have succeeded: what comes now may be a duplicate
    instead: str = ""  # the notifier that this one stands in for


class Owed(NamedTuple):
    """What one notifier is yet to be told of, as it is kept anew after a failure."""

    transition: Transition
    since: int  # wall time when it was committed, in ns
    unsure: bool = False
    instead: str = ""  # the notifier that this one stands in for


class Store(Protocol):
    """Keeps what must outlive the process."""

    @property
    def trouble(self) -> str:
        """Why what comes in is not kept, for people; "" while all is well."""

    # -- called by the loop ------------------------------------------------------------

    def mind(self, engine: Engine) -> None:
        """Keep the state of this engine from now on; all of it is written anew."""

    def add(self, readings: Sequence[Reading], batch: Sequence[Message]) -> None:
        """Take note of messages, and of the readings made of them, for the next commit."""

    def wait(self) -> float | None:
        """Return in how many seconds a commit is due; None: there is nothing to commit."""

    def commit(
        self,
        transitions: Sequence[Transition] = (),
        letters: Sequence[Letter] = (),
        troubles: bytes | None = None,
    ) -> list[int]:
        """Keep what was added, the state of the engine, and what was decided, as one.

        Args:
            transitions: For the journal.
            letters: For the outbox, in order.
            troubles: The state of hushd's own troubles, where it changed.

        Returns:
            The row of each letter, `NOWHERE` where it is not kept.

        Raises:
            HeldError: nothing is kept, and nothing may be acknowledged or told.
        """

    def gap(self, at: int, why: str) -> None:
        """Take note, for the next commit, that readings are missing before *at* (engine time)."""

    def session_lost(self) -> None:
        """Know no messages any more that may come again: their identifiers begin anew."""

    def in_hand(self, messages: bytes) -> None:
        """Keep until the next commit what is judged now: should the process end, it is known why.

        *messages* are what `Suspects` make of them.
        """

    def watch(self) -> bool:
        """Try to come back from a failure; True if it can be written again.

        Then `keep` is due for each notifier, and after that a commit.
        """

    def abandon(self) -> None:
        """Write nothing of the engine any more: it was interrupted, and what it decided is lost."""

    def close(self) -> None:
        """Let go of everything, in a state that opens fast."""

    # -- called by the workers ---------------------------------------------------------

    def told(self, notifier: str) -> dict[Alert, Told]:
        """Return what *notifier* was told before anybody here worked for it."""

    def untold(self, notifier: str) -> list[Untold]:
        """Return what waits for *notifier*, whom nobody here works for yet, oldest first."""

    def claim(self, row: int) -> None:
        """Keep that this is about to be sent: should the process end now, that is not sure."""

    def settle(
        self, notifier: str, rows: Sequence[int], news: tuple[Alert, Told] | None = None
    ) -> None:
        """Keep that these rows are done with, and what *notifier* now knows of an alert."""

    def postpone(self, row: int, *, unsure: bool) -> None:
        """Keep that an attempt failed; *unsure*: it may have arrived all the same."""

    def bury(self, row: int, error: str, fallback: str = "") -> int:
        """Keep that this is never told, and why; it stays to be seen.

        Args:
            row: In the outbox.
            error: Why.
            fallback: The notifier that is to tell it instead, if any; it counts as handed over
                now, for it is the other that has tried for so long.

        Returns:
            The row for *fallback*, `NOWHERE` without or where that is not kept.
        """

    def keep(
        self,
        notifier: str,
        letters: Sequence[Owed],
        told: dict[Alert, Told],
    ) -> list[int]:
        """Keep all that waits for *notifier* and all it knows.

        For after a failure of the store, in place of what it held.  Returns the rows.
        """

    # -- what people asked for; called by the loop -------------------------------------

    def mutes(self) -> list[Mute]:
        """Return the silences that were not dropped, in the order of their numbers.

        After a failure there may be some among them that another process has left.
        """

    def keep_mute(self, mute: Mute) -> None:
        """Keep a silence; one of the same number is replaced."""

    def drop_mute(self, number: int) -> None:
        """Forget a silence that has ended."""

    def acks(self) -> list[Ack]:
        """Return who minds what."""

    def keep_ack(self, ack: Ack) -> None:
        """Keep that somebody minds an alert; what was kept of it before is replaced."""

    def drop_acks(self, alerts: Sequence[Alert]) -> None:
        """Forget who minded these alerts: their episodes are over."""


class VolatileStore:
    """Keeps nothing: after a restart every alert is judged, and told, anew.

    Windows and alerts live in the engine's memory, told states in the workers'.  A crash
    or a restart loses them, and the notes that were not delivered yet.
    """

    trouble = ""

    def __init__(self) -> None:
        """Start with nothing pending."""
        self._pending = False
        self._wishes = Wishes()

    def mind(self, engine: Engine) -> None:
        """Do nothing."""

    def add(self, readings: Sequence[Reading], batch: Sequence[Message]) -> None:
        """Ask to be committed at once, so that the broker may forget the messages."""
        self._pending = True

    def wait(self) -> float | None:
        """Return 0 when messages came."""
        return 0.0 if self._pending else None

    def commit(
        self,
        transitions: Sequence[Transition] = (),
        letters: Sequence[Letter] = (),
        troubles: bytes | None = None,
    ) -> list[int]:
        """Keep nothing."""
        self._pending = False
        return [NOWHERE] * len(letters)

    def gap(self, at: int, why: str) -> None:
        """Do nothing."""

    def session_lost(self) -> None:
        """Do nothing."""

    def in_hand(self, messages: bytes) -> None:
        """Do nothing."""

    def watch(self) -> bool:
        """Say that nothing has changed."""
        return False

    def abandon(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""

    def told(self, notifier: str) -> dict[Alert, Told]:
        """Return nothing: nobody was told anything yet."""
        return {}

    def untold(self, notifier: str) -> list[Untold]:
        """Return nothing: nothing waits yet."""
        return []

    def claim(self, row: int) -> None:
        """Do nothing."""

    def settle(
        self, notifier: str, rows: Sequence[int], news: tuple[Alert, Told] | None = None
    ) -> None:
        """Do nothing."""

    def postpone(self, row: int, *, unsure: bool) -> None:
        """Do nothing."""

    def bury(self, row: int, error: str, fallback: str = "") -> int:
        """Do nothing."""
        return NOWHERE

    def keep(
        self,
        notifier: str,
        letters: Sequence[Owed],
        told: dict[Alert, Told],
    ) -> list[int]:
        """Keep nothing."""
        return [NOWHERE] * len(letters)

    def mutes(self) -> list[Mute]:
        """Return the silences of this process."""
        return self._wishes.mutes()

    def keep_mute(self, mute: Mute) -> None:
        """Remember a silence for as long as the process lives."""
        self._wishes.keep_mute(mute)

    def drop_mute(self, number: int) -> None:
        """Forget a silence."""
        self._wishes.drop_mute(number)

    def acks(self) -> list[Ack]:
        """Return who minds what in this process."""
        return self._wishes.acks()

    def keep_ack(self, ack: Ack) -> None:
        """Remember that somebody minds an alert for as long as the process lives."""
        self._wishes.keep_ack(ack)

    def drop_acks(self, alerts: Sequence[Alert]) -> None:
        """Forget who minded these alerts."""
        self._wishes.drop_acks(alerts)
