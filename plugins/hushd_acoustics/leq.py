"""The equivalent continuous level: what a steady sound of the same energy would read.

``Leq = 10 lg(sum(w * 10^(L/10)) / sum(w))``, where w is the seconds that a reading stands
for.  60 and 80 dB for equally long are 77 dB, not 70: a level is a logarithm.

Source:
    IEC 60050-801 (Electropedia), 801-22-16, equivalent continuous A-weighted sound
    pressure level.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import exp, inf, log, log10

from hushd.plugin import weighted_mean

Energy = tuple[float, float]  # seconds, total of energy x seconds

_BEL = log(10.0) / 10.0


def energy(level: float) -> float:
    """Return 10^(level/10); infinite above 3,082 dB, where a power would raise.

    >>> round(energy(30.0), 6), energy(1e6), energy(-1e6)
    (1000.0, inf, 0.0)
    """
    try:
        return exp(level * _BEL)
    except OverflowError:
        return inf


def level(mean: float) -> float | None:
    """Return the level of an energy; None for no energy at all, which no sound has.

    >>> round(level(1000.0), 6), level(0.0)
    (30.0, None)
    """
    return None if mean <= 0.0 else 10.0 * log10(mean)


def _absorb(partial: Energy, value: float, seconds: float) -> Energy:
    if not seconds > 0.0:
        return partial
    covered, total = partial
    try:
        return covered + seconds, total + exp(value * _BEL) * seconds
    except OverflowError:
        return covered + seconds, total + inf


def _scan(values: Sequence[float], weights: Sequence[float]) -> list[Energy]:
    partials = []
    partial = (0.0, 0.0)
    for value, seconds in zip(reversed(values), reversed(weights), strict=True):
        partial = _absorb(partial, value, seconds)
        partials.append(partial)
    return partials


def _result(front: Energy, middle: Energy, back: Energy) -> float | None:
    covered = front[0] + middle[0] + back[0]
    total = front[1] + middle[1] + back[1]
    return None if covered <= 0.0 or total <= 0.0 else 10.0 * log10(total / covered)


#: The measure that is used most: its accelerators spare a call or two for each reading.
LEQ = replace(weighted_mean(energy).then(level), absorb=_absorb, scan=_scan, result=_result)
