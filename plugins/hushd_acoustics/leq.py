"""The equivalent continuous level: what a steady sound of the same energy would read.

``Leq = 10 lg(sum(w * 10^(L/10)) / sum(w))``, where w is the seconds that a reading stands
for.  60 and 80 dB for equally long are 77 dB, not 70: a level is a logarithm.

Source:
    IEC 60050-801 (Electropedia), 801-22-16, equivalent continuous A-weighted sound
    pressure level.
"""

from math import exp, inf, log, log10

from hushd.plugin import weighted_mean

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


LEQ = weighted_mean(energy).then(level)
