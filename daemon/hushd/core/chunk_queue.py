"""A queue of partials that knows their combination, with no pause however long it is.

Two stacks pause when they flip.  This queue does the flip in advance, a step or two with
every push and pop, so that none of them combines more than three times.

Source:
    Tangwongsan, Hirzel & Schneider, "In-order sliding-window aggregation in worst-case
    constant time", The VLDB Journal 30, 2021, pp. 933-957: DABA Lite.
"""

from collections.abc import Callable
from typing import Any

#: spent places kept before the list is shortened
SLACK = 64


class ChunkQueue:
    """Partials in order, oldest first.

    The places ``front <= left <= right <= last <= back <= end`` cut the list in parts.
    Before ``left`` and between ``last`` and ``back`` a place holds the partial of all from
    it up to ``back``; between ``left`` and ``right``, up to ``right``; elsewhere its own.
    ``_middle`` is the partial of right to back, ``_newer`` that of back to end.
    """

    __slots__ = (
        "_back",
        "_combine",
        "_empty",
        "_end",
        "_front",
        "_items",
        "_last",
        "_left",
        "_middle",
        "_newer",
        "_right",
    )

    def __init__(self, combine: Callable[[Any, Any], Any], empty: Any) -> None:
        """Start with no partials; *empty* is the identity of *combine*."""
        self._combine = combine
        self._empty = empty
        self._items: list[Any] = []
        self._front = self._left = self._right = self._last = self._back = self._end = 0
        self._middle = self._newer = empty

    def __len__(self) -> int:
        """Return the number of partials."""
        return self._end - self._front

    def push(self, partial: Any) -> None:
        """Add the newest partial."""
        self._items.append(partial)
        self._end += 1
        self._newer = self._combine(self._newer, partial)
        self._step()

    def pop(self) -> None:
        """Remove the oldest partial."""
        self._items[self._front] = None
        self._front += 1
        self._step()
        if self._front > SLACK and 2 * self._front > self._end:
            self._shorten(self._front)

    def value(self) -> Any:
        """Return all partials combined, oldest first."""
        if self._front == self._back:
            return self._newer
        return self._combine(self._items[self._front], self._newer)

    def dump(self) -> tuple[list[int], list[Any]]:
        """Return the places and the partials, for :meth:`load`."""
        self._shorten(self._front)
        places = [self._left, self._right, self._last, self._back]
        return places, [*self._items, self._middle, self._newer]

    def load(self, places: list[int], partials: list[Any]) -> None:
        """Become the queue that *places* and *partials* were dumped from."""
        self._left, self._right, self._last, self._back = places
        *self._items, self._middle, self._newer = partials
        self._front, self._end = 0, len(self._items)

    def _shorten(self, spent: int) -> None:
        del self._items[:spent]
        self._front -= spent
        self._left -= spent
        self._right -= spent
        self._last -= spent
        self._back -= spent
        self._end -= spent

    def _step(self) -> None:
        """Do the next piece of the flip to come."""
        items = self._items
        if self._left == self._back:  # the flip is complete: begin the next
            self._left = self._front
            self._right = self._back
            self._last = self._back = self._end
            self._middle = self._newer
            self._newer = self._empty
        if self._front == self._back:
            self._middle = self._newer = self._empty
            return
        if self._last != self._right:
            beyond = items[self._last] if self._last != self._back else self._empty
            self._last -= 1
            items[self._last] = self._combine(items[self._last], beyond)
        if self._left != self._right:
            items[self._left] = self._combine(items[self._left], self._middle)
            self._left += 1
        else:
            self._left += 1
            self._right += 1
            self._last += 1
            self._middle = items[self._last] if self._last != self._back else self._empty
