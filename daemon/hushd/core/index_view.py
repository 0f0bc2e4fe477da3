"""One window over a log for what no associative ``combine`` can do.

The window index holds the live readings; which those are, the log knows.  So the index
needs no memory of its own of what came when, and is made anew from the log when most of it
leaves at once, or when it raised.
"""

from typing import Any

from hushd.core.aggregation import IndexFactory
from hushd.core.columns import BEFORE, Columns
from hushd.core.view import View, bounds

#: so few readings are taken out one by one, whatever share of the window they are
FEW = 64


class IndexView(View):
    """A window of the readings in a :class:`~hushd.core.aggregation.WindowIndex`."""

    __slots__ = ("_factory", "_head", "_index", "_upto")

    def __init__(
        self,
        columns: Columns,
        factory: IndexFactory,
        span: int | None,
        count: int | None,
        key: str | None,
    ) -> None:
        """Begin with every reading that the log has kept."""
        super().__init__(columns, span, count, "value", key)
        self._factory = factory
        self._index: Any = None
        self._head = columns.first
        self._upto = columns.first  # the position up to which readings were added

    @property
    def head(self) -> int:
        """The position of the oldest reading in the window."""
        return self._head

    def spoil(self, head: int) -> None:
        """Begin at *head*, and leave it to the next query to make the index anew."""
        self.stale = True
        self._index = None
        self._head = head

    def value(self, now: int) -> Any:
        """Return the value of the index over the window at *now*."""
        self._move(now)
        if self.stale:
            self._rebuild(now)
        elif self._upto < self._columns.total:
            self._add()
        return self._index.value()

    def catch_up(self) -> None:
        """Add what has come, so that the next query has little to do."""
        if not self.stale:
            try:
                self._add()
            except Exception:  # noqa: BLE001  the plugin's; value() will meet it again
                self.stale = True

    def shed(self, now: int) -> None:
        """Take out what has left by *now*."""
        self.catch_up()
        self._move(now)

    def disturb(self, position: int, value: Any) -> None:
        """Add a reading out of turn, before the log places it at *position*."""
        columns = self._columns
        self.catch_up()
        if position < self.head:
            self._head += 1
        elif not self.stale:
            try:
                self._index.add(columns.total, value)
            except Exception:  # noqa: BLE001  the plugin's; value() will meet it again
                self.stale = True
        self._upto += 1
        self._leaves = BEFORE
        self._full = self.head + self._count

    def _add(self) -> None:
        columns, index, start = self._columns, self._index, self._upto
        self.stale = True  # until all is well
        for event_id, value in zip(*self._read(start, columns.total), strict=True):
            index.add(event_id, value)
        self._upto = columns.total
        self.stale = False

    def _read(self, start: int, end: int) -> tuple[Any, Any]:
        """Return the ids and values of the readings from *start* up to *end*."""
        columns = self._columns
        ids = range(start, end) if columns.ids is None else columns.read("ids", start, end)
        return ids, columns.read("values", start, end)

    def _leave(self, head: int) -> None:
        end = min(head, self._upto)
        gone = end - self.head
        if gone > FEW and 4 * gone > self._upto - self.head:
            self.spoil(head)  # cheaper to make anew from what stays
            return
        remove = self._index.remove
        for event_id, value in zip(*self._read(self.head, end), strict=True):
            remove(event_id, value)
        self._head = head
        self._upto = max(head, self._upto)

    def _rebuild(self, now: int) -> None:
        """Make the index anew from the log."""
        columns = self._columns
        self._head = bounds(columns, now, self._span, self._count, self.head)
        ids, values = self._read(self.head, columns.total)
        if columns.ids is not None:
            pairs = sorted(zip(ids, values, strict=True), key=lambda pair: pair[0])
            ids, values = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        index: Any = self._factory()
        if hasattr(index, "fill"):
            index.fill(list(ids), list(values))
        else:
            for event_id, value in zip(ids, values, strict=True):
                index.add(event_id, value)
        self._index = index
        self._upto = columns.total
        self._begin(now)
        self.stale = False
