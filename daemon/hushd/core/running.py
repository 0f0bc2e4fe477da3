"""An aggregation made ready for the hot path, and the partial of a log's newest readings."""

from collections.abc import Callable, Sequence
from typing import Any

from hushd.core.aggregation import Aggregation, Wants
from hushd.core.columns import Columns


class Kernel:
    """An aggregation with every accelerator filled in, for what its ``unit`` wants."""

    __slots__ = ("absorb", "combine", "empty", "finalize", "result", "scan", "unit", "wants")

    def __init__(self, how: Aggregation[Any], wants: Wants) -> None:
        """Take the accelerators of *how*, or make them of its four parts."""
        self.wants: Wants = wants
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
    """The partial of the open readings from ``start`` up to ``upto``; it follows lazily."""

    __slots__ = ("_columns", "_kernel", "partial", "start", "upto")

    def __init__(self, columns: Columns, kernel: Kernel, start: int) -> None:
        """Begin at the position *start*."""
        self._columns = columns
        self._kernel = kernel
        self.restart(start)

    def restart(self, start: int) -> None:
        """Forget everything; begin at the position *start*."""
        self.start = self.upto = start
        self.partial = self._kernel.empty()

    def catch_up(self, end: int) -> None:
        """Absorb what has come since, up to the position *end*."""
        self.partial = self._kernel.fold(self.partial, self._columns, self.upto, end)
        self.upto = end

    def follow(self, end: int) -> None:
        """Catch up, or leave it to the next query where that fails."""
        try:
            self.catch_up(end)
        except Exception:  # noqa: BLE001  the plugin's; it must not cost the reading
            return

    def part(self, end: int) -> Any:
        """Return the partial of the readings up to the position *end*."""
        if self.upto > end:
            return self._kernel.fold(self._kernel.empty(), self._columns, self.start, end)
        if self.upto < end:
            self.catch_up(end)
        return self.partial
