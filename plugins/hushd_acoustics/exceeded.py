"""Ln, the level exceeded n % of the time: L10 is loud, L90 the background.

L10 is the 90th percentile and L90 the 10th: the more often a level is exceeded, the lower
it is.

Source:
    ISO 1996-1:2016, 3.1.3, N percentage exceedance level.
"""

from functools import partial

from hushd.plugin import IndexFactory, OrderIndex


def exceeded(n: float) -> IndexFactory:
    """Return an index of the level that *n* % of the readings exceed, interpolated (R7)."""
    return partial(OrderIndex, 100 - n)
