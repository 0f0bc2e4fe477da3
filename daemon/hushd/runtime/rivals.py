"""Notices that somebody else uses our client id."""

from collections import deque

MANY = 5  # more than so many within a minute are no coincidence
MINUTE = 60.0
SHORT = 5.0  # seconds; who takes over comes back within them
FIRST = 2.0  # seconds to keep away, doubled each time
LONGEST = 300.0
PEACE = 2 * LONGEST  # a connection that lived so long was left alone


class Rivals:
    """Two clients of one name throw each other out for ever: the broker lets the newer one in.

    MQTT 5 says so; with 3.1.1 it looks like a connection that the broker ends soon after
    it was made.  When that happens more than five times a minute we keep away, for longer
    each time, so that the other one can work and the broker can rest.
    """

    def __init__(self) -> None:
        self.found = False
        self._times: deque[float] = deque()
        self._pause = FIRST

    def ended(self, now: float, lived: float, *, told: bool, by_peer: bool) -> float | None:
        """Take note that a connection ended; return how long to keep away, None if not.

        Args:
            now: On any clock, in seconds.
            lived: How long the connection was up, in seconds.
            told: Whether the broker said that the session was taken over.
            by_peer: Whether the other side ended it.
        """
        if lived > PEACE:
            self.found = False
            self._times.clear()
            self._pause = FIRST
        if not (told or (by_peer and lived < SHORT)):
            return None
        self._times.append(now)
        while self._times and self._times[0] <= now - MINUTE:
            self._times.popleft()
        if not self.found and len(self._times) <= MANY:
            return None
        self.found = True
        pause, self._pause = self._pause, min(self._pause * 2, LONGEST)
        return pause
