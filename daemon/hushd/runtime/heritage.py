"""What the last process has left to those who tell people."""

import time

from hushd.core.reconcile import Told
from hushd.runtime.deeds import Waiting
from hushd.runtime.store import Alert, Store


def told(store: Store, notifier: str, now: int) -> dict[Alert, Told]:
    """Return what was told, at the latest *now*: the clock may have been ahead then."""
    return {
        alert: found._replace(
            at=min(found.at, now),
            cleared=None if found.cleared is None else min(found.cleared, now),
        )
        for alert, found in store.told(notifier).items()
    }


def waiting(store: Store, notifier: str, now: int) -> list[Waiting]:
    """Return what waits; its age is by the wall."""
    wall = time.time_ns()
    return [
        Waiting(
            left.transition,
            now - max(0, wall - left.since),
            left.row,
            left.unsure,
            left.instead,
        )
        for left in store.untold(notifier)
    ]
