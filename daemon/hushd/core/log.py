"""The readings of one series, and every window over them.

One append-only log is shared by all windows and all aggregates: a reading is stored once,
in 18 to 20 bytes, and no call costs more because a window is long.  Windows move without
data, so an idle sensor's window still empties: every query says what time it is.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from hushd.core import codec
from hushd.core.aggregation import Aggregation, How, Wants
from hushd.core.columns import SECOND, Columns
from hushd.core.index_view import IndexView
from hushd.core.running import Kernel, Running
from hushd.core.view import AggregateView, View

__all__ = ["Log", "View", "ViewSpec"]

#: how many readings may come before the indexes follow, so that no query waits
BACKLOG = 8

#: what a view is made of: how, wants, span, count
ViewSpec = tuple[How, Wants, int | None, int | None]


class _Family(NamedTuple):
    """The views of one aggregation; they share the partial of the open readings."""

    how: Aggregation[Any]
    kernel: Kernel
    running: Running
    views: list[AggregateView]


class Log:
    """An append-only log of readings with windows over it.

    >>> total = Aggregation(lambda: 0, lambda x: x, lambda a, b: a + b, lambda p: p)
    >>> log = Log()
    >>> window = log.view(total, span=10)
    >>> log.append(at=1, value=5), log.append(at=8, value=7)
    (True, True)
    >>> window.value(now=10), window.next_change(), window.value(now=11)
    (12, 11, 7)
    """

    __slots__ = (
        "_all",
        "_columns",
        "_due",
        "_eager",
        "_families",
        "_indexes",
        "_limit",
        "_slack",
        "_views",
        "_waiting",
    )

    def __init__(self, chunk: int = 128, slack: int = 0, *, covers: bool = False) -> None:
        """Start empty.

        Args:
            chunk: Readings sealed at a time: the most that one call ever combines.
            slack: How many of the newest readings stay open, so that a reading older
                than they are can still be placed among them.
            covers: Whether to keep what each reading covers.
        """
        self._columns = Columns(chunk, keeps_covers=covers)
        self._slack = slack
        self._limit = chunk + slack  # open readings at which the oldest are sealed
        self._eager: list[Running] = []  # these absorb a reading when it comes
        self._waiting: list[Running] = []  # these when it is settled
        self._all: list[View] = []
        self._columns.readers = self._all
        self._families: dict[tuple[int, Wants], _Family] = {}
        self._indexes: list[IndexView] = []
        self._views: dict[str, View] = {}
        self._plan()

    def __len__(self) -> int:
        """Return the number of readings kept."""
        return self._columns.total - self._columns.first

    @property
    def newest(self) -> int | None:
        """The newest stamp there ever was."""
        return self._columns.newest if self._columns.total else None

    @property
    def latest(self) -> Any:
        """The newest reading; None when none is kept."""
        total = self._columns.total
        return self._columns.read("values", total - 1, total)[0] if len(self) else None

    @property
    def views(self) -> Mapping[str, View]:
        """The views that have a key."""
        return self._views

    def stamps(self) -> list[int]:
        """Return the stamps of the readings kept, in order."""
        return list(self._columns.read("stamps", self._columns.first, self._columns.total))

    def values(self) -> list[Any]:
        """Return the readings kept, in the order of their stamps."""
        return list(self._columns.read("values", self._columns.first, self._columns.total))

    def append(self, at: int, value: Any, covers: int = 0, settled: int | None = None) -> bool:
        """Add a reading; say whether there was still a place for it.

        Equal stamps keep the order of arrival.  A reading older than the newest is placed
        at its stamp if that is among the open readings; if not, nothing changes.

        Args:
            at: Its stamp, in nanoseconds; not later than the ``now`` of the next query.
            value: The reading.
            covers: Nanoseconds it stands for, as far as is known.
            settled: Nanoseconds that the newest reading before it turned out to cover.
        """
        columns = self._columns
        if at < columns.newest:
            return self._place(at, value, covers, settled)
        if settled is not None:
            columns.settle(settled)
        if self._waiting:
            self._absorb_newest()
        if len(columns.stamps) >= self._due:
            self._keep_house(at)
        columns.newest = at
        columns.stamps.append(at)
        columns.values.append(value)
        if columns.more:
            if columns.keeps_covers:
                columns.covers.append(covers)
                columns.before.append(columns.covered)
                columns.covered += covers
            if columns.ids is not None:
                columns.ids.append(columns.total - 1)
        try:
            for running in self._eager:
                running.partial = running.absorb(running.partial, value)
        except Exception:  # noqa: BLE001  the plugin's; it must not cost the reading
            self._fall_behind(self._eager)
        return True

    def reweigh(self, covers: Sequence[int]) -> None:
        """Replace what each reading kept covers, and weigh everything again.

        This sums everything up anew: for a log that is still small.

        Raises:
            ValueError: not one for each reading, or the log keeps no covers.
        """
        if not self._columns.keeps_covers or len(covers) != len(self):
            raise ValueError(f"{len(covers)} covers for a log of {len(self)} readings")
        self._columns.reweigh(covers)
        for family in self._families.values():
            if family.kernel.wants == "seconds":
                family.running.restart(self._columns.sealed)
                for view in family.views:
                    view.prepare()

    def view(
        self,
        how: How,
        wants: Wants = "value",
        span: int | None = None,
        count: int | None = None,
        key: str | None = None,
    ) -> View:
        """Return a window, made of the readings that are kept; the one of *key* if there is.

        Args:
            how: An aggregation, or a factory of a window index.  Views of the same
                object share work.
            wants: What the aggregation's ``unit`` is given beside the value.
            span: Nanoseconds; the window at t holds the readings in (t - span, t].
            count: Readings; with *span* too, the window holds the fewer.
            key: Its name in snapshots.

        Raises:
            ValueError: no bound or one that is not positive; seconds without covers; an
                index that wants more than values; a key in use for another window.
        """
        if (span, count) == (None, None) or min(span or 1, count or 1) < 1 or 0 in (span, count):
            raise ValueError(f"a window needs a positive span or count, not {span} and {count}")
        if wants == "seconds" and not self._columns.keeps_covers:
            raise ValueError("a log without covers cannot weigh by seconds")
        if key in self._views:
            return self._known(key, wants, span, count)
        view = self._open(how, wants, span, count, key)
        view.prepare()
        return view

    def release(self, view: View) -> None:
        """Forget a window; what only it needed is given back in time."""
        self._all.remove(view)
        if view.key is not None:
            del self._views[view.key]
        if isinstance(view, IndexView):
            self._indexes.remove(view)
            return
        for name, family in list(self._families.items()):
            if view in family.views:
                family.views.remove(view)
                if not family.views:
                    del self._families[name]
                    followers = self._waiting if family.kernel.pending else self._eager
                    followers.remove(family.running)

    def snapshot(self) -> dict[str, Any]:
        """Return everything as a document for `codec.pack`; views without a key are left out.

        A view whose partials are no numbers, texts or tuples of them is stored without
        them, and made anew from the readings: equal up to rounding.
        """
        columns = self._columns
        first, total = columns.first, columns.total
        return {
            "chunk": columns.size,
            "slack": self._slack,
            "first": first,
            "sealed": columns.sealed,
            "newest": columns.newest,
            "floor": columns.floor,
            "stamps": codec.pack_steps(self.stamps()),
            "values": codec.pack_values(self.values()),
            "covers": codec.pack_numbers(columns.read("covers", first, total), "q")
            if columns.keeps_covers
            else None,
            "ids": codec.pack_steps(columns.read("ids", first, total))
            if columns.ids is not None
            else None,
            "views": {key: self._dump(view) for key, view in self._views.items()},
        }

    @classmethod
    def restore(cls, data: Mapping[str, Any], views: Mapping[str, ViewSpec]) -> "Log":
        """Return the log of a snapshot with *views*: every later result is the same, bit for bit.

        A view that the snapshot does not know under its key and bounds is made from the
        readings; one that is not asked for is dropped.
        """
        log = cls(data["chunk"], data["slack"], covers=data["covers"] is not None)
        log._fill(data)
        for key, (how, wants, span, count) in views.items():
            view = log._open(how, wants, span, count, key)
            stored = data["views"].get(key)
            if stored and (stored["wants"], stored["window"]) == (wants, [span, count]):
                log._load(view, stored)
            else:
                view.prepare()
        return log

    def _open(
        self, how: How, wants: Wants, span: int | None, count: int | None, key: str | None
    ) -> View:
        view = (
            self._aggregate(how, wants, span, count, key)
            if isinstance(how, Aggregation)
            else self._index(how, wants, span, count, key)
        )
        self._all.append(view)
        if key is not None:
            self._views[key] = view
        return view

    def _aggregate(
        self,
        how: Aggregation[Any],
        wants: Wants,
        span: int | None,
        count: int | None,
        key: str | None,
    ) -> View:
        columns = self._columns
        family = self._families.get((id(how), wants))
        if family is None:
            kernel = Kernel(how, wants)
            family = _Family(how, kernel, Running(columns, kernel, columns.sealed), [])
            self._families[id(how), wants] = family
            (self._waiting if kernel.pending else self._eager).append(family.running)
        view = AggregateView(columns, family.running, family.kernel, span, count, key)
        family.views.append(view)
        return view

    def _index(
        self, how: Any, wants: Wants, span: int | None, count: int | None, key: str | None
    ) -> View:
        if wants != "value":
            raise ValueError("a window index takes values only")
        if self._slack:
            self._columns.number()
        view = IndexView(self._columns, how, span, count, key)
        self._indexes.append(view)
        self._plan()
        return view

    def _known(self, key: str | None, wants: Wants, span: int | None, count: int | None) -> View:
        view = self._views[key or ""]
        if (view.wants, view.window) != (wants, (span, count)):
            raise ValueError(f'the key "{key}" names another window')
        return view

    def _place(self, at: int, value: Any, covers: int, settled: int | None) -> bool:
        """Add a reading that is older than the newest, if its place is still open."""
        columns = self._columns
        if not self._slack or at < columns.floor:
            return False
        if settled is not None:
            columns.settle(settled)
        position = columns.after(at, columns.sealed)
        for family in self._families.values():
            family.running.restart(columns.sealed)
        for view in self._all:
            view.disturb(position, value)
        columns.insert(position - columns.sealed, at, value, covers)
        return True

    def _keep_house(self, at: int) -> None:
        """Seal a chunk when it is full; let indexes follow; give back what is not needed."""
        columns = self._columns
        if len(columns.values) >= self._limit:
            self._seal()
            for family in self._families.values():
                for view in family.views:
                    view.shed(at)
        for index in self._indexes:
            index.shed(at)
        if columns.surplus:
            columns.reclaim()
        self._plan()

    def _plan(self) -> None:
        """Find out when there is work to do next."""
        self._due = self._limit  # how many open readings there may be before
        if self._indexes or self._columns.surplus:
            self._due = min(len(self._columns.stamps) + BACKLOG, self._due)

    def _absorb_newest(self) -> None:
        """Absorb the newest reading, now that it is settled, where this was waited for."""
        columns = self._columns
        if not columns.values:
            return
        value, at = columns.values[-1], columns.stamps[-1]
        try:
            for running in self._waiting:
                extra = at if running.timed else columns.covers[-1] / SECOND
                running.partial = running.absorb(running.partial, value, extra)
        except Exception:  # noqa: BLE001  the plugin's; it must not cost the reading
            self._fall_behind(self._waiting)

    def _fall_behind(self, runnings: list[Running]) -> None:
        for running in runnings:
            running.restart(self._columns.sealed)

    def _seal(self) -> None:
        columns = self._columns
        edge = columns.sealed + columns.size
        for family in self._families.values():
            for view in family.views:
                try:
                    view.seal(edge, family.running.part(edge))
                except Exception:  # noqa: BLE001  the plugin's; value() will meet it again
                    view.spoil(view.head)
            family.running.restart(edge)
        columns.seal()
        columns.surplus = True

    def _dump(self, view: View) -> dict[str, Any]:
        stored: dict[str, Any] = {
            "wants": view.wants,
            "window": list(view.window),
            "head": view.head,
        }
        if isinstance(view, AggregateView) and not view.stale:
            reach, places, partials = view.dump()
            try:
                encoded = [codec.encode(each, view.example) for each in partials]
            except codec.UnsupportedError:
                return stored
            stored |= {"reach": reach, "places": places, "partials": encoded}
        return stored

    def _fill(self, data: Mapping[str, Any]) -> None:
        """Take the readings of a snapshot."""
        columns = self._columns
        size = columns.size
        columns.dropped = data["first"] // size
        columns.sealed = data["first"]
        stamps = codec.unpack_steps(data["stamps"])
        values = codec.unpack_values(data["values"])
        covers = ids = None
        if data["covers"] is not None:
            covers = codec.unpack_numbers(data["covers"], "q")
            before = list(accumulate(covers, initial=0))
        if data["ids"] is not None:
            ids = codec.unpack_steps(data["ids"])
        open_from = data["sealed"] - data["first"]
        edges = [*range(0, open_from, size), open_from, len(stamps)]
        for start, end in pairwise(edges):  # chunk by chunk, and last what is open
            columns.stamps = stamps[start:end]
            columns.values = values[start:end]
            if covers is not None:
                columns.covers = covers[start:end]
                columns.before = before[start:end]
                columns.covered = before[end]
            if ids is not None:
                columns.ids = ids[start:end]
            if end <= open_from and start < end:
                columns.seal()
        columns.newest = data["newest"]
        columns.floor = data["floor"]
        self._plan()

    def _load(self, view: View, stored: Mapping[str, Any]) -> None:
        """Let *view* be as it was."""
        if isinstance(view, AggregateView) and "places" in stored:
            partials = [codec.decode(each, view.example) for each in stored["partials"]]
            view.load(stored["head"], stored["reach"], stored["places"], partials)
        else:
            view.spoil(stored["head"])  # as it was: to be made anew by the next query
