"""A clock that nobody sets, and that the next process understands."""

import time

from hushd.core.readings import SECOND


class Steady:
    """Time that goes on evenly: what the wall clock showed when it began, and what passed since.

    Reminders and cooldowns last as long as they are to, however the wall clock is set, and still
    are understood by the next process.
    """

    def __init__(self) -> None:
        self._began = time.time_ns() - round(time.monotonic() * SECOND)

    def __call__(self) -> int:
        """Return the time, in ns."""
        return self._began + round(time.monotonic() * SECOND)

    def ahead(self) -> int:
        """Return how far the wall clock is ahead of it."""
        return time.time_ns() - self()

    def on_the_wall(self, at: int) -> int:
        """Return what the wall clock, as it is set now, would have shown at one of its times."""
        return at + self.ahead()
