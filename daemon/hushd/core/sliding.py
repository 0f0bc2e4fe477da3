"""Slide a window over a whole list: the form in which the worked examples are written."""

from collections.abc import Sequence
from typing import Any

from hushd.core.aggregation import WindowIndex
from hushd.core.two_stacks import TwoStacks


def sliding(values: Sequence[Any], width: int, window: TwoStacks[Any] | WindowIndex) -> list[Any]:
    """Return the value of every full window of *width* readings, oldest window first.

    Args:
        values: The stream.
        width: Readings per window.
        window: An empty window; it holds the last one afterwards.

    >>> from hushd.core.heap_median import HeapMedian
    >>> sliding([47, 19, 61, 29, 83, 37, 19], 3, HeapMedian())
    [47, 29, 61, 37, 37]

    Raises:
        ValueError: *width* is not positive, or greater than the number of readings.
    """
    if not 0 < width <= len(values):
        raise ValueError(f"width {width} does not fit a stream of {len(values)} readings")
    results = []
    for event_id, value in enumerate(values):
        oldest = event_id - width
        if isinstance(window, TwoStacks):
            window.push(value)
            if oldest >= 0:
                window.pop()
        else:
            window.add(event_id, value)
            if oldest >= 0:
                window.remove(oldest, values[oldest])
        if oldest >= -1:
            results.append(window.value())
    return results
