"""Runs ``hushd`` with less patience than people have, and perhaps with a mistake in it.

    python child.py MISTAKE run -c FILE

A mistake is what somebody might have programmed; the torture must notice each.
"""

import functools
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from hushd.cli import main
from hushd.core.readings import Reading
from hushd.core.transitions import Transition
from hushd.runtime import connection, daemon
from hushd.runtime.database import Database
from hushd.runtime.delivery import Patience
from hushd.runtime.loop import Loop
from hushd.runtime.messages import Message
from hushd.runtime.redelivery import Ring
from hushd.runtime.store import NOWHERE, Letter

SLOW = 0.05  # seconds that a disk may well take

Parts = dict[str, Any]  # what a loop is made of


def none() -> None:
    """Make no mistake."""


def acknowledge_first() -> None:
    """Let the broker forget messages before they are kept."""

    def change(parts: Parts) -> None:
        store, acknowledge = parts["store"], parts["acknowledge"]
        add = store.add

        def hasty(readings: Sequence[Reading], batch: Sequence[Message]) -> None:
            acknowledge(batch)
            add(readings, batch)

        store.add = hasty
        parts["acknowledge"] = lambda _: None

    with_other_parts(change)


def send_first() -> None:
    """Tell people before it is kept that they are to be told."""

    def change(parts: Parts) -> None:
        store, delivery = parts["store"], parts["delivery"]
        commit, tell = store.commit, delivery.tell

        def hasty(
            transitions: Sequence[Transition] = (),
            letters: Sequence[Letter] = (),
            troubles: bytes | None = None,
        ) -> list[int]:
            rows = [NOWHERE] * len(letters)
            if letters:
                tell(letters, rows)
                time.sleep(SLOW)
            commit(transitions, (), troubles)
            return rows

        store.commit = hasty
        delivery.tell = lambda *_: None

    with_other_parts(change)


def no_dedupe() -> None:
    """Take what the broker sends a second time for something new."""
    Ring.knows = lambda *_: False  # type: ignore[method-assign]  # for the one child that runs it


def normal() -> None:
    """Believe that a commit is on the disk without a sync."""
    prepare = Database._prepare

    def hasty(found: Database) -> None:
        prepare(found)
        found.execute("PRAGMA synchronous = NORMAL")

    Database._prepare = hasty  # type: ignore[method-assign,assignment]  # likewise


MISTAKES: dict[str, Callable[[], None]] = {
    mistake.__name__: mistake
    for mistake in (none, acknowledge_first, send_first, no_dedupe, normal)
}


def with_other_parts(change: Callable[[Parts], None]) -> None:
    """Let every loop be made of other parts."""
    begin = Loop.__init__

    def init(loop: Loop, **parts: Any) -> None:
        change(parts)
        begin(loop, **parts)

    Loop.__init__ = init  # type: ignore[method-assign,assignment]  # likewise


def hurry() -> None:
    """Shorten the pauses after failures, so that more of them fit into a run."""
    daemon.serve = functools.partial(daemon.serve, patience=Patience(first=0.2, longest=1.0))
    connection.Pauses.__new__.__defaults__ = (0.1, 0.5, 5.0, 1.0, 5.0, 60.0, 60.0)


if __name__ == "__main__":
    hurry()
    MISTAKES[sys.argv.pop(1)]()
    sys.exit(main(sys.argv[1:]))
