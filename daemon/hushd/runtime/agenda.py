"""When to look at an alert again: one time for each, the next one first."""

import heapq

from hushd.runtime.wishes import Alert


class Agenda:
    """Times by alert.

    >>> agenda = Agenda()
    >>> one, other = ("loud", ()), ("dusty", ())
    >>> agenda.set(one, 10); agenda.set(other, 20); agenda.set(one, 30)
    >>> agenda.first(), agenda.due(20), agenda.due(20), agenda.first()
    (20, [('dusty', ())], [], 30)
    """

    def __init__(self) -> None:
        """Start empty."""
        self._times: dict[Alert, int] = {}
        self._heap: list[tuple[int, Alert]] = []  # with what was set before, which counts no more

    def set(self, alert: Alert, at: int | None) -> None:
        """Look at *alert* then, and not at the time that was set before; None: not at all."""
        if at is None:
            self._times.pop(alert, None)
        elif self._times.get(alert) != at:
            self._times[alert] = at
            heapq.heappush(self._heap, (at, alert))

    def first(self) -> int | None:
        """Return the next time."""
        heap = self._heap
        while heap and self._times.get(heap[0][1]) != heap[0][0]:
            heapq.heappop(heap)
        return heap[0][0] if heap else None

    def due(self, now: int) -> list[Alert]:
        """Return whose time has come, each once."""
        found = []
        while (first := self.first()) is not None and first <= now:
            _, alert = heapq.heappop(self._heap)
            del self._times[alert]
            found.append(alert)
        return found
