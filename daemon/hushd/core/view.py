"""One window over a log, and its aggregate.

What a window by span or by number holds is said in one place, :func:`bounds`.  An aggregate
is made of three partials: the *front*, the readings left of one chunk whose suffixes were
all summed up when the window's edge entered it; the *middle*, a queue of whole chunks; and
the *back*, the running partial of the open readings, which all windows of one aggregation
share.  Nothing in it takes longer for a longer window.

Invariant: the live readings are, in order, the front (from ``head`` up to ``_reach``), the
sealed readings from ``_reach`` on (the queue), and the open ones from ``_reach`` on.
"""

from collections.abc import Callable, Sequence
from typing import Any

from hushd.core.aggregation import Wants
from hushd.core.chunk_queue import ChunkQueue
from hushd.core.columns import BEFORE, SECOND, Columns
from hushd.core.running import Following, Kernel, Running

#: a span, or a number of readings, that nothing outgrows
ENDLESS = 1 << 62


def bounds(columns: Columns, now: int, span: int, count: int, head: int) -> int:
    """Return where the window at *now* begins: the position of its oldest reading.

    By span it holds the readings in (now - span, now]; by number, the newest *count*;
    under both, the fewer.  *head* is where it began before: windows only move on.
    """
    return columns.after(now - span, max(head, columns.total - count))


class View:
    """A window over a log: which readings it holds, and when that next changes."""

    __slots__ = (
        "_columns",
        "_count",
        "_counted",
        "_full",
        "_leaves",
        "_now",
        "_span",
        "key",
        "stale",
        "wants",
    )

    def __init__(
        self, columns: Columns, span: int | None, count: int | None, wants: Wants, key: str | None
    ) -> None:
        """Begin with every reading that the log has kept."""
        self._columns = columns
        self._span = ENDLESS if span is None else span
        self._count = ENDLESS if count is None else count
        self.wants: Wants = wants
        self.key = key
        self.stale = True  # what is derived from the readings must be made anew
        self._now = BEFORE
        self._leaves = BEFORE  # when the oldest reading leaves by span; BEFORE: find out
        self._full = 0  # the total beyond which it leaves by number
        self._counted = count is not None

    @property
    def head(self) -> int:
        """The position of the oldest reading in the window."""
        raise NotImplementedError

    @property
    def oldest(self) -> int | None:
        """The stamp of the oldest reading in the window; None: it is empty."""
        head = self.head
        return self._columns.stamp(head) if head < self._columns.total else None

    @property
    def window(self) -> tuple[int | None, int | None]:
        """The span in nanoseconds and the number of readings that bound this view."""
        return (
            None if self._span == ENDLESS else self._span,
            None if self._count == ENDLESS else self._count,
        )

    def value(self, now: int) -> Any:
        """Return the aggregate of the window at *now*.

        Whatever the aggregation raises, it raises here and nowhere else.
        """
        raise NotImplementedError

    def samples(self, now: int) -> int:
        """Return the number of readings in the window at *now*."""
        self._move(now)
        return self._columns.total - self.head

    def covered(self, now: int) -> int:
        """Return the nanoseconds that the readings in the window at *now* stand for."""
        self._move(now)
        return self._columns.covered_from(self.head)

    def standing(self, now: int) -> tuple[int, int, int | None]:
        """Return `samples`, `covered` and `next_change` at once, after `value` at *now*."""
        columns, head = self._columns, self.head
        samples = columns.sealed + len(columns.stamps) - head
        if not samples:
            return 0, 0, None
        if self._leaves == BEFORE:
            self._move(now)
            head = self.head
            samples = columns.total - head
        leaves = self._leaves if self._span != ENDLESS and samples else None
        return samples, columns.covered_from(head), leaves

    def next_change(self) -> int | None:
        """Return when the oldest reading leaves by time alone; None if none ever will."""
        if self._span == ENDLESS:
            return None
        self._move(max(self._now, self._columns.newest))
        return self._leaves if self.head < self._columns.total else None

    def shed(self, now: int) -> None:
        """Let go of what can be let go of without work: nobody may ask for a long time."""
        self._move(now)

    def disturb(self, position: int, value: Any) -> None:
        """Learn that a late reading is about to be placed at *position*."""
        raise NotImplementedError

    def prepare(self) -> None:
        """Make now what is derived from the readings, rather than at the next query."""

    def spoil(self, head: int) -> None:
        """Begin at *head*, and leave it to the next query to make everything anew."""
        raise NotImplementedError

    def _move(self, now: int) -> None:
        if now >= self._leaves or self._columns.total > self._full:
            self._evict(now)

    def _evict(self, now: int) -> None:
        """Move the window's beginning to where it is at *now*."""
        columns, old = self._columns, self.head
        head = bounds(columns, now, self._span, self._count, old)
        if head != old:
            if not self.stale:
                try:
                    self._leave(head)
                except Exception:  # noqa: BLE001  the plugin's; value() will meet it again
                    self.spoil(head)
            else:
                self.spoil(head)
        self._begin(now)
        size = columns.size
        if head // size > columns.dropped and (head // size > old // size or head == columns.total):
            columns.reclaim()

    def _begin(self, now: int) -> None:
        """Note when the reading that is now the oldest will leave."""
        columns, head = self._columns, self.head
        self._now = now
        self._leaves = columns.stamp(head) + self._span if head < columns.total else BEFORE
        self._full = head + self._count

    def _leave(self, head: int) -> None:
        """Take the readings before *head* out of what is derived from them."""
        raise NotImplementedError


class AggregateView(View):
    """A window of an aggregation."""

    __slots__ = (
        "_absorb",
        "_back",
        "_combine",
        "_finalize",
        "_front",
        "_kernel",
        "_middle",
        "_own",
        "_pending",
        "_queue",
        "_reach",
        "_result",
        "_shared",
        "_stamps",
    )

    def __init__(
        self,
        columns: Columns,
        shared: Running,
        kernel: Kernel,
        span: int | None,
        count: int | None,
        key: str | None,
    ) -> None:
        """Begin with every reading that the log has kept; *shared* is their back.

        Nothing is summed up before it is prepared, loaded or asked.
        """
        super().__init__(columns, span, count, kernel.wants, key)
        self._kernel = kernel
        self._absorb = kernel.absorb
        self._combine = kernel.combine
        self._finalize = kernel.finalize
        self._result: Callable[[Any, Any, Any], Any] | None = kernel.result
        self._pending = kernel.pending
        self._shared = shared
        self._own = Following(columns, kernel, 0)
        self._back = shared
        self._queue = ChunkQueue(kernel.combine, kernel.empty())
        self._middle = kernel.empty()
        self._front: list[Any] = []  # partials of the suffixes, the longest on top
        self._stamps: Sequence[int] = ()  # of the readings the front was made of
        self._reach = columns.first

    @property
    def head(self) -> int:
        """The position of the oldest reading in the window."""
        return self._reach - len(self._front)

    def prepare(self) -> None:
        """Make everything anew from the log, or leave it to the next query."""
        try:
            self._rebuild(BEFORE)
        except Exception:  # noqa: BLE001  the plugin's; value() will meet it again
            return

    def spoil(self, head: int) -> None:
        """Begin at *head*, and leave it to the next query to make everything anew."""
        self.stale = True
        self._front = []
        self._reach = head

    def value(self, now: int) -> Any:
        """Return the aggregate of the window at *now*.

        What the newest reading covers is not settled, so where that matters it is
        absorbed here, each time.
        """
        columns = self._columns
        beyond = 0  # so many leave by number
        if self._counted:
            beyond = columns.sealed + len(columns.stamps) - self._full
        if now >= self._leaves or beyond > 0:
            front = self._front
            left = len(front)
            if left > 1 and beyond <= 1:
                leaves = self._stamps[1 - left] + self._span
                if leaves > now:  # only the oldest leaves: the usual case
                    front.pop()
                    self._leaves = leaves
                    if self._counted:
                        self._full += 1
                else:
                    self._evict(now)
            else:
                self._evict(now)
        if self.stale:
            self._rebuild(now)
        back = self._back
        if back.behind:
            back.refresh()
        partial = back.partial
        front = self._front
        if self._pending and self._reach - len(front) < columns.sealed + len(columns.stamps):
            seconds = self.wants == "seconds"
            extra = columns.covers[-1] / SECOND if seconds else columns.stamps[-1]
            partial = self._absorb(partial, columns.values[-1], extra)
        if not front:
            return self._finalize(self._combine(self._middle, partial))
        result = self._result
        if result is not None:
            return result(front[-1], self._middle, partial)
        combine = self._combine
        return self._finalize(combine(combine(front[-1], self._middle), partial))

    def shed(self, now: int) -> None:
        """Give up whole chunks that left; the next query makes the front."""
        columns = self._columns
        if now < self._leaves and columns.total <= self._full:
            return
        head = bounds(columns, now, self._span, self._count, self.head)
        if self.stale or head < self._reach:
            self._evict(now)
            return
        if self._reach > columns.sealed:
            return
        size, reach = columns.size, self._reach
        head = max(reach, min(head // size * size, columns.sealed))
        self._front.clear()
        self._drop_chunks(head)
        self._reach = head
        self._leaves = BEFORE
        self._full = head + self._count

    def disturb(self, position: int, value: Any) -> None:
        """Forget a front or back that reaches into the open readings."""
        sealed = self._columns.sealed
        if self._reach > sealed or self.stale:
            self.spoil(min(self.head, sealed))
        if self.head >= sealed:
            self._leaves = BEFORE

    def seal(self, edge: int, whole: Any) -> None:
        """Learn that the open readings up to *edge* become a chunk whose partial is *whole*."""
        reach = self._reach
        if self.stale or reach > edge:
            return
        if reach > edge - self._columns.size:
            whole = self._own.part(edge)  # the front has the rest of the chunk
            self._back = self._shared
        if reach < edge:
            self._queue.push(whole)
            self._middle = self._queue.value()

    @property
    def example(self) -> Any:
        """A partial: the one of no readings."""
        return self._kernel.empty()

    def dump(self) -> tuple[int, list[int], list[Any]]:
        """Return how far the front reaches, and the queue."""
        return self._reach, *self._queue.dump()

    def load(self, head: int, reach: int, places: list[int], partials: list[Any]) -> None:
        """Become the view that was dumped; the front and the back follow from the log."""
        columns = self._columns
        self._queue.load(places, partials)
        self._middle = self._queue.value()
        self._reach = reach
        self._front = self._kernel.suffixes(columns, head, reach) if reach > head else []
        self._stamps = columns.read("stamps", head, reach)
        self._back = self._shared
        if reach > columns.sealed:
            self._own.restart(reach)
            self._back = self._own
        self._begin(BEFORE)
        self.stale = False

    def _leave(self, head: int) -> None:
        columns, kernel, front = self._columns, self._kernel, self._front
        if head < self._reach:
            del front[self._reach - head :]
            return
        front.clear()
        size, sealed = columns.size, columns.sealed
        self._drop_chunks(min(head, sealed))
        if head < sealed:
            self._reach = head
            i, offset = divmod(head, size)
            if offset:
                self._front = kernel.suffixes(columns, head, (i + 1) * size)
                self._stamps = columns.chunks[i - columns.dropped].stamps
                self._queue.pop()
                self._middle = self._queue.value()
                self._reach = (i + 1) * size
        elif head == sealed:
            self._reach = sealed
            self._back = self._shared
        else:
            end = max(head, columns.total - self._pending)
            self._front = kernel.suffixes(columns, head, end)
            self._stamps = columns.read("stamps", head, end)
            self._own.restart(end)
            self._back = self._own
            self._reach = end

    def _drop_chunks(self, head: int) -> None:
        """Take the chunks that end before *head* out of the queue."""
        columns, queue = self._columns, self._queue
        if head >= columns.sealed:
            if len(queue):
                self._queue = ChunkQueue(self._kernel.combine, self._kernel.empty())
        else:
            for _ in range(self._reach // columns.size, head // columns.size):
                queue.pop()
        self._middle = self._queue.value()

    def _rebuild(self, now: int) -> None:
        """Make everything anew from the log, as the window is at *now*."""
        columns = self._columns
        start = min(self.head, columns.sealed)
        head = bounds(columns, now, self._span, self._count, start)
        try:
            self._sum_up(start)
            if head != start:
                self._leave(head)
            self.stale = False
        except Exception:
            self.spoil(head)
            raise
        finally:
            self._begin(now)

    def _sum_up(self, start: int) -> None:
        """Put the sealed readings from *start* on into a new queue, and none into the front."""
        columns, kernel = self._columns, self._kernel
        self._front = []
        self._reach = start
        self._back = self._shared
        queue = ChunkQueue(kernel.combine, kernel.empty())
        while start < columns.sealed:
            end = (start // columns.size + 1) * columns.size
            queue.push(kernel.fold(kernel.empty(), columns, start, end))
            start = end
        self._queue = queue
        self._middle = queue.value()
