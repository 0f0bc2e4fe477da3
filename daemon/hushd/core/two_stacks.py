"""A queue that knows its own aggregate: two stacks and one running partial.

This is the structure word for word as Peters, "Two-Stack Sliding-Window Aggregation"
(2026), explains it.  It is the reference: short enough to believe, and what the production
core in :mod:`hushd.core.log` is compared with.  It never subtracts, so a NaN or a 1e20
spoils the windows that hold it and no other.

One ``pop`` in every window's length moves all readings from one stack to the other.  That
is cheap on average and a long pause for a long window, which is why the log exists.
"""

from typing import Any, Generic

from hushd.core.aggregation import Aggregation, P


class TwoStacks(Generic[P]):
    """A first-in first-out window over one aggregation.

    >>> total = Aggregation(lambda: 0, lambda x: x, lambda a, b: a + b, lambda p: p)
    >>> window = TwoStacks(total)
    >>> for reading in (3, 4, 5):
    ...     window.push(reading)
    >>> window.pop(), window.value()
    (3, 9)
    """

    __slots__ = ("_aggregation", "back", "front", "running")

    def __init__(self, aggregation: Aggregation[P]) -> None:
        """Start with no readings."""
        self._aggregation = aggregation
        #: newest readings, the newest on top
        self.back: list[Any] = []
        #: the partial of all of ``back``
        self.running: P = aggregation.empty()
        #: oldest readings, the oldest on top, each with the partial of itself and all below
        self.front: list[tuple[Any, P]] = []

    def __len__(self) -> int:
        """Return the number of readings in the window."""
        return len(self.front) + len(self.back)

    def push(self, value: Any) -> None:
        """Add the newest reading."""
        self.back.append(value)
        self.running = self._aggregation.combine(self.running, self._aggregation.unit(value))

    def pop(self) -> Any:
        """Remove the oldest reading and return it.

        Raises:
            IndexError: the window is empty.
        """
        if not self.front:
            if not self.back:
                raise IndexError("pop from an empty window")
            self._flip()
        return self.front.pop()[0]

    def value(self) -> Any:
        """Return the aggregate of the window."""
        older = self.front[-1][1] if self.front else self._aggregation.empty()
        return self._aggregation.finalize(self._aggregation.combine(older, self.running))

    def _flip(self) -> None:
        """Move everything from the back to the front, newest first."""
        unit, combine = self._aggregation.unit, self._aggregation.combine
        partial = self._aggregation.empty()
        while self.back:
            value = self.back.pop()
            partial = combine(unit(value), partial)
            self.front.append((value, partial))
        self.running = self._aggregation.empty()
