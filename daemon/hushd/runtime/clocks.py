"""Engine time: the only place that knows what time it is.

All clocks give integer nanoseconds since the epoch and never go back.
"""

import time
from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """Where engine time comes from."""

    def arrival(self, received: int) -> int:
        """Return the engine time of a message *received* at that wall time."""

    def now(self) -> int | None:
        """Return how far the engine may be advanced; None: no further than readings took it."""


class WallClock:
    """The daemon's time, ``clock: wall``.

    No two arrivals are alike, and none is older than a time already handed out: the
    engine was promised that.  When the wall clock is set back, this one runs on at its
    own pace; nothing may happen twice because somebody corrected a clock.
    """

    def __init__(
        self,
        wall: Callable[[], int] = time.time_ns,
        steady: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._wall = wall
        self._steady = steady
        self._ahead = wall() - steady()  # of the steady clock; only ever grows
        self._last = 0

    def arrival(self, received: int) -> int:
        """Return *received*, or the next instant after the last one handed out."""
        self._last = max(received, self._last + 1)
        return self._last

    def now(self) -> int:
        """Return the time now."""
        steady = self._steady()
        self._ahead = max(self._ahead, self._wall() - steady)
        self._last = max(self._last, steady + self._ahead)
        return self._last


class RecordedClock:
    """The time at which the messages of a recording came, for ``clock: wall`` in a replay.

    Several may have come at one instant: nothing is advanced to it before the next one.
    """

    def __init__(self) -> None:
        self._last = 0

    def arrival(self, received: int) -> int:
        """Return *received*, or the time of the newest message if that is later."""
        self._last = max(received, self._last)
        return self._last

    def now(self) -> int:
        """Return when the newest message came."""
        return self._last


class StampClock:
    """Engine time is the newest stamp in the payloads, ``clock: stamps``.

    It stands still between stamps, and so does all that waits for time to pass.
    """

    def arrival(self, received: int) -> int:
        """Return *received*; nobody asks, as readings without a stamp are refused."""
        return received

    def now(self) -> None:
        """Say that time passes by readings alone."""
        return
