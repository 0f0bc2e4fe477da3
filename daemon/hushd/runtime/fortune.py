"""How one notifier fares: successes, failures in a row, and so how long to pause."""

import random
import socket
import time
from collections import deque
from typing import Any

from hushd.core.transitions import Transition
from hushd.plugin.records import NotSentError, RefusedError
from hushd.runtime.ways import Patience

SHOWN = 5  # of what was given up, the newest are shown

#: After these nothing was delivered.  After any other it may have been, unnoticed.
DEFINITE = (NotSentError, RefusedError, ConnectionRefusedError, socket.gaierror)


class Fortune:
    """What a worker has been through; its times are by the wall, in ns."""

    def __init__(self, patience: Patience) -> None:
        self.error = ""  # of the last failure
        self.failures = 0  # in a row
        self.refusals = 0  # likewise
        self._patience = patience
        self._told_at: int | None = None
        self._failed_at: int | None = None
        self._untold: deque[dict[str, Any]] = deque(maxlen=SHOWN)

    def succeeded(self) -> None:
        """Take note that something was told."""
        self.failures = self.refusals = 0
        self._told_at = time.time_ns()

    def failed(self, exc: BaseException, error: str) -> float:
        """Take note of a failure, in words; return for how long to pause.

        Up to twice as long each time, by chance, so that no two keep step; and for as long as
        the other side asks, within reason.
        """
        self.failures += 1
        self.refusals = self.refusals + 1 if isinstance(exc, RefusedError) else 0
        self._failed_at = time.time_ns()
        self.error = error
        longest = self._patience.first * 2 ** min(self.failures - 1, 30)
        pause = random.uniform(0, min(longest, self._patience.longest))  # noqa: S311  no secret
        asked = exc.retry_after if isinstance(exc, NotSentError) else 0.0
        return max(pause, min(asked, self._patience.refused))

    def gave_up(self, transition: Transition, error: str) -> None:
        """Take note of what is never told."""
        self._untold.appendleft(
            {
                "at": time.time_ns(),
                "rule": transition.rule,
                "labels": dict(transition.labels),
                "error": error,
            }
        )

    def state(self) -> dict[str, Any]:
        """Return all that."""
        return {
            "told_at": self._told_at,
            "failed_at": self._failed_at,
            "error": self.error,
            "failures": self.failures,
            "untold": list(self._untold),
        }
