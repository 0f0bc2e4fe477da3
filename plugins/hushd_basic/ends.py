"""The oldest and the newest reading of the window."""

from hushd.plugin import Aggregation

FIRST: Aggregation[float | None] = Aggregation(
    empty=lambda: None,
    unit=lambda value: value,
    combine=lambda a, b: b if a is None else a,
    finalize=lambda partial: partial,
    absorb=lambda partial, value: value if partial is None else partial,
    scan=lambda values: list(reversed(values)),
)

LAST: Aggregation[float | None] = Aggregation(
    empty=lambda: None,
    unit=lambda value: value,
    combine=lambda a, b: a if b is None else b,
    finalize=lambda partial: partial,
    absorb=lambda _partial, value: value,
    scan=lambda values: list(values[-1:]) * len(values),
)
