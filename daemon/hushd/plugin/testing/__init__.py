"""Check a plugin against the laws that hushd relies on, from the plugin's own tests.

Nothing is needed beside hushd: the data are made here, the same ones every time.

>>> from hushd.plugin import MEAN, Aggregator
>>> from hushd.plugin.testing import check_aggregator
>>> check_aggregator(Aggregator("mean", MEAN, "the arithmetic mean"))
>>> check_aggregator(Aggregator("least", MEAN.then(min), "a mistake"))
Traceback (most recent call last):
AssertionError: least: finalize raised TypeError: 'float' object is not iterable
"""

from hushd.plugin.testing.aggregators import check_aggregator
from hushd.plugin.testing.decoders import check_decoder

__all__ = ["check_aggregator", "check_decoder"]
