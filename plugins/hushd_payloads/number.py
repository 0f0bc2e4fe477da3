"""Read a decimal number, strictly.

Python's ``float`` also takes ``nan``, ``inf``, ``1_0`` and digits of other scripts: a
sensor that sends those is ill or speaks something else, and the difference must show.
"""

from hushd.plugin import Decode, Refused, Sample, Wanted

SHOWN = 80  # characters of what was seen; it goes to the log

_ALLOWED = b"0123456789+-.eE \t\r\n"
_WITHOUT_ALLOWED = dict.fromkeys(map(ord, _ALLOWED.decode()))
_NOT_FINITE = {"nan", "inf", "infinity"}


def build(wanted: Wanted) -> Decode:
    """Return the decoder of a bare number.

    >>> decode = build(Wanted())
    >>> decode(b" 63.2 ")
    [Sample(value=63.2, at=None, labels=())]
    >>> decode(b"63.2 dB"), decode(b"nan")
    ([Refused(reason='not_a_number', detail='63.2 dB')], [Refused(reason='not_finite', detail='nan')])

    Raises:
        ValueError: a path, a time or a label is asked for; a bare number has none.
    """
    if wanted.value:
        raise ValueError(f'write "number", or "json:{wanted.value}" for a field of a JSON object')
    if wanted.time is not None or wanted.labels:
        raise ValueError('a bare number has no time and no labels in it; "json:path" can')
    return decode_number


def decode_number(payload: bytes) -> list[Sample | Refused]:
    """Return the number that *payload* is."""
    if not payload.translate(None, _ALLOWED):
        try:
            value = float(payload)
        except ValueError:
            pass
        else:
            if value - value == 0.0:
                return [Sample(value)]
    return [refuse(payload.decode(errors="backslashreplace"))]


def number(text: str) -> float | Refused:
    """Return the number that *text* is, or why it is none.

    >>> number("1e3"), number("1_000").reason, number("1e999").reason, number(" ").reason
    (1000.0, 'not_a_number', 'not_finite', 'empty')
    """
    if not text.translate(_WITHOUT_ALLOWED):
        try:
            value = float(text)
        except ValueError:
            pass
        else:
            if value - value == 0.0:
                return value
    return refuse(text)


def refuse(text: str) -> Refused:
    """Say why *text* is not a finite number."""
    bare = text.strip(" \t\r\n")
    if not bare:
        return Refused("empty")
    if bare.lstrip("+-").lower() in _NOT_FINITE or _overflows(bare):
        return Refused("not_finite", seen(bare))
    return Refused("not_a_number", seen(bare))


def seen(text: str) -> str:
    """Return the start of *text*, fit for a log and a terminal: what cannot be printed escaped."""
    start = text[:SHOWN]
    return start if start.isprintable() else ascii(start)[1:-1][:SHOWN]


def _overflows(text: str) -> bool:
    try:
        return not text.translate(_WITHOUT_ALLOWED) and float(text) is not None
    except ValueError:
        return False
