"""An aggregation made ready for the hot path, and the partial of a log's newest readings."""

from collections.abc import Callable, Sequence
from typing import Any

from hushd.core.aggregation import Aggregation, Wants
from hushd.core.columns import Columns


class Kernel:
    """An aggregation with every accelerator filled in, for what its ``unit`` wants."""

    __slots__ = (
        "absorb",
        "combine",
        "empty",
        "finalize",
        "pending",
        "result",
        "scan",
        "unit",
        "wants",
    )

    def __init__(self, how: Aggregation[Any], wants: Wants) -> None:
        """Take the accelerators of *how*, or make them of its four parts."""
        self.wants: Wants = wants
        self.pending = 0 if wants == "value" else 1  # newest readings not settled yet
        self.empty = how.empty
        self.unit = how.unit
        self.combine = how.combine
        self.finalize = how.finalize
        self.result = how.result
        plain = wants == "value"
        absorb: Callable[..., Any] = self._absorb if plain else self._absorb_extra
        scan: Callable[..., list[Any]] = self._scan if plain else self._scan_extra
        self.absorb = how.absorb or absorb
        self.scan = how.scan or scan

    def fold(self, partial: Any, columns: Columns, start: int, end: int) -> Any:
        """Return *partial* with the readings from position *start* up to *end* absorbed."""
        absorb = self.absorb
        values = columns.read("values", start, end)
        if self.wants == "value":
            for value in values:
                partial = absorb(partial, value)
        else:
            extras = columns.extras(self.wants, start, end)
            for value, extra in zip(values, extras, strict=True):
                partial = absorb(partial, value, extra)
        return partial

    def suffixes(self, columns: Columns, start: int, end: int) -> list[Any]:
        """Return the partials of all suffixes of [start, end), the longest last."""
        values = columns.read("values", start, end)
        if self.wants == "value":
            return self.scan(values)
        return self.scan(values, columns.extras(self.wants, start, end))

    def _absorb(self, partial: Any, value: Any) -> Any:
        return self.combine(partial, self.unit(value))

    def _absorb_extra(self, partial: Any, value: Any, extra: Any) -> Any:
        return self.combine(partial, self.unit(value, extra))

    def _scan(self, values: Sequence[Any]) -> list[Any]:
        unit, combine = self.unit, self.combine
        partial, partials = self.empty(), []
        for value in reversed(values):
            partial = combine(unit(value), partial)
            partials.append(partial)
        return partials

    def _scan_extra(self, values: Sequence[Any], extras: Sequence[Any]) -> list[Any]:
        unit, combine = self.unit, self.combine
        partial, partials = self.empty(), []
        for value, extra in zip(reversed(values), reversed(extras), strict=True):
            partial = combine(unit(value, extra), partial)
            partials.append(partial)
        return partials


class Running:
    """The partial of the open readings, shared by all views of one aggregation.

    The log absorbs each reading as it comes; a kernel that wants more than values gets
    each when the next comes, for only then is settled what it covers.
    """

    __slots__ = ("_columns", "_start", "absorb", "behind", "kernel", "partial", "timed")

    def __init__(self, columns: Columns, kernel: Kernel, start: int) -> None:
        """Begin at the position *start*."""
        self._columns = columns
        self.kernel = kernel
        self.absorb = kernel.absorb
        self.timed = kernel.wants == "time"
        self.restart(start)

    def restart(self, start: int) -> None:
        """Forget everything; begin at the position *start*."""
        self._start = start
        self.partial = self.kernel.empty()
        #: the partial is of no use before it is refreshed
        self.behind = start != self._columns.total

    def refresh(self) -> None:
        """Absorb everything anew."""
        columns, kernel = self._columns, self.kernel
        end = columns.total - kernel.pending
        self.partial = kernel.fold(kernel.empty(), columns, self._start, end)
        self.behind = False

    def part(self, end: int) -> Any:
        """Return the partial of the settled readings up to the position *end*."""
        if end == self._columns.total and not self.behind:
            return self.partial
        return self.kernel.fold(self.kernel.empty(), self._columns, self._start, end)


class Following(Running):
    """The partial of the open readings of one view; it follows when it is asked for."""

    __slots__ = ("_upto",)

    def restart(self, start: int) -> None:
        """Forget everything; begin at the position *start*."""
        super().restart(start)
        self.behind = True
        self._upto = start

    def refresh(self) -> None:
        """Absorb what has come since; it stays behind."""
        columns, kernel = self._columns, self.kernel
        end = columns.sealed + len(columns.stamps) - kernel.pending
        missing = end - self._upto
        if missing == 1 and not kernel.pending:
            self.partial = self.absorb(self.partial, columns.values[-1])
            self._upto = end
        elif missing > 0:
            self.partial = kernel.fold(self.partial, columns, self._upto, end)
            self._upto = end

    def part(self, end: int) -> Any:
        """Return the partial of the settled readings up to the position *end*."""
        if self._upto > end:
            return self.kernel.fold(self.kernel.empty(), self._columns, self._start, end)
        self.partial = self.kernel.fold(self.partial, self._columns, self._upto, end)
        self._upto = end
        return self.partial
