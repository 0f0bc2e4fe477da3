"""Durations and time stamps: text in, integer nanoseconds out, nothing rounded on the way.

A float of seconds cannot hold a time of today to the nanosecond, so stamps go through
integers or decimal digits only.  Time zones come in as ``tzinfo`` objects: opening one
reads files, which the core does not.
"""

import re
from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from typing import Literal, get_args

from hushd.core.readings import SECOND

StampFormat = Literal["auto", "s", "ms", "us", "ns", "rfc3339"]
STAMP_FORMATS: tuple[StampFormat, ...] = get_args(StampFormat)

MILLISECOND = SECOND // 1000
#: unit -> nanoseconds, in the order in which they are written
UNITS = {
    "d": 86_400 * SECOND,
    "h": 3_600 * SECOND,
    "m": 60 * SECOND,
    "s": SECOND,
    "ms": MILLISECOND,
}
DURATION_PATTERN = "".join(f"([0-9]+{unit})?" for unit in UNITS)
DURATION_HINT = 'write a number and a unit: "500ms", "30s", "5m", "2h", "1d"'
LONGEST = 36_500 * UNITS["d"]  # keeps every sum of a time and a duration within 64 bits

_DURATION = re.compile(DURATION_PATTERN)
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  civil times are subtracted from it as they stand
_EARLIEST = 946_684_800 * SECOND  # 2000-01-01T00:00:00Z
_LATEST = 4_133_980_800 * SECOND  # 2101-01-01T00:00:00Z
_DECIMAL = re.compile(r"([0-9]{1,20})(?:\.([0-9]*))?")
_FRACTION_AND_ZONE = re.compile(
    r"(?:[.,]([0-9]+))? ?(?:([Zz])|([+-])([01][0-9]|2[0-3]):?([0-5][0-9]))?"
)
_SHAPES = frozenset({"--T::", "--t::", "-- ::"})  # every third character of 2025-03-22T22:15:28
_STAMP_HINT = 'write it as in "2025-03-22T22:15:28Z" or as a number since 1970'


def duration(text: str) -> int:
    """Return nanoseconds.  *text* is whole numbers with units, as in ``90s`` or ``1h30m``.

    >>> duration("1h30m") // 10**9
    5400

    Raises:
        ValueError: no unit, an unknown unit, units out of order, or more than 100 years.
    """
    match = _DURATION.fullmatch(text)
    if not match or not text or len(text) > 40:
        raise ValueError(DURATION_HINT)
    total = sum(
        int(part[: -len(unit)]) * size
        for part, (unit, size) in zip(match.groups(), UNITS.items(), strict=True)
        if part
    )
    if total > LONGEST:
        raise ValueError("write a duration of at most 100 years")
    return total


def format_duration(ns: int) -> str:
    """Return *ns* as the configuration writes it, without zero parts; cut to milliseconds.

    >>> format_duration(5_400 * 10**9)
    '1h30m'
    """
    rest, parts = abs(ns) // MILLISECOND * MILLISECOND, ["-"] if ns < 0 else []
    for unit, size in UNITS.items():
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) if parts and parts != ["-"] else "0s"


def stamp_parser(form: StampFormat = "auto", zone: tzinfo | None = None) -> Callable[[object], int]:
    """Return what turns a stamp out of a payload into nanoseconds since 1970, UTC.

    Args:
        form: The unit of a number, ``rfc3339`` for text only, or ``auto``: a text that is
            no number is RFC 3339, and a number below 1e11 counts seconds, below 1e14
            milliseconds, below 1e17 microseconds, else nanoseconds.
        zone: Where a text without an offset stands.  An hour that occurs twice means the
            first; one that is skipped is read with the offset before the change.

    The function raises ValueError, and says why, for what is no stamp, for a text without
    offset when there is no *zone*, and outside the years 2000 to 2100: then a clock was
    not set, and the time of arrival is nearer to the truth.

    >>> stamp_parser()("2025-03-22T22:15:28.000000128Z")
    1742681728000000128
    >>> stamp_parser("s")(1680962879.62)
    1680962879620000000
    """
    if form == "rfc3339":

        def text_only(value: object) -> int:
            if type(value) is not str:
                raise ValueError(f"not a text: {_STAMP_HINT}")
            return _rfc3339(value.strip(), zone)

        return text_only
    if form == "auto":

        def guessed(value: object) -> int:
            if type(value) is int:
                return _believable(value * _guess(value))
            if type(value) is str:
                value = value.strip()
                if value[4:5] == "-" or not _DECIMAL.fullmatch(value):
                    return _rfc3339(value, zone)
            return _number(value, None)

        return guessed
    scale = _SCALES[form]

    def scaled(value: object) -> int:
        if type(value) is int:
            return _believable(value * scale)
        return _number(value, scale)

    return scaled


def parse_stamp(value: object, zone: tzinfo | None = None) -> int:
    """Return the time that *value* means, guessing its format; see :func:`stamp_parser`."""
    return stamp_parser("auto", zone)(value)


_SCALES = {"s": SECOND, "ms": MILLISECOND, "us": 1_000, "ns": 1}


def _guess(number: int) -> int:
    """Return how many nanoseconds one of *number*, of an unknown unit, must be."""
    if number < 100_000_000_000:
        return SECOND
    if number < 100_000_000_000_000:
        return MILLISECOND
    return 1_000 if number < 100_000_000_000_000_000 else 1


def _believable(at: int) -> int:
    """Return *at* if it lies in the years 2000 to 2100."""
    if _EARLIEST <= at < _LATEST:
        return at
    raise ValueError(f"{'before 2000' if at < _EARLIEST else 'after 2100'}: is the clock set?")


def _number(value: object, scale: int | None) -> int:
    """Return the time of a float, or of decimal digits; *scale* None is guessed."""
    if type(value) is float:
        if value.is_integer():
            whole = int(value)
            return _believable(whole * (scale or _guess(whole)))
        value = repr(value)  # the shortest digits that mean this float: what the sender wrote
    match = _DECIMAL.fullmatch(value.strip()) if type(value) is str else None
    if match is None:
        raise ValueError(f"not a number: {_STAMP_HINT}")
    whole, fraction = int(match[1]), match[2]
    scale = scale or _guess(whole)
    at = whole * scale
    if fraction:
        at += int(fraction[:18]) * scale // 10 ** len(fraction[:18])
    return _believable(at)


def _rfc3339(text: str, zone: tzinfo | None) -> int:
    """Return the time of ``2025-03-22T22:15:28.5+01:00``; the T may be a blank."""
    head, tail = text[:19], text[19:]
    if head[4::3] not in _SHAPES:
        raise ValueError(f"not a time: {_STAMP_HINT}")
    if tail == "Z" and head[17] != "6":  # the usual case, in a third of the time
        since = _since_epoch(head)
        return _believable((since.days * 86_400 + since.seconds) * SECOND)
    rest = _FRACTION_AND_ZONE.fullmatch(tail)
    if rest is None:
        raise ValueError(f"not a time: {_STAMP_HINT}")
    leap = SECOND if head.endswith(":60") else 0  # a leap second is the second after it
    civil = f"{head[:17]}59" if leap else head
    since = _since_epoch(civil)
    seconds = since.days * 86_400 + since.seconds
    fraction, utc, sign, hours, minutes = rest.groups()
    if utc is None and sign is None:
        if zone is None:
            raise ValueError("a time without an offset, and no time zone is configured")
        offset = (_EPOCH + since).replace(tzinfo=zone).utcoffset() or timedelta()
        seconds -= offset.days * 86_400 + offset.seconds
    elif sign:
        shift = int(hours) * 3_600 + int(minutes) * 60
        seconds += shift if sign == "-" else -shift
    at = seconds * SECOND + leap
    if fraction:
        at += int(fraction[:9].ljust(9, "0"))
    return _believable(at)


def _since_epoch(civil: str) -> timedelta:
    """Return how far a date and time without an offset is from the epoch."""
    try:
        return datetime.fromisoformat(civil) - _EPOCH
    except ValueError as exc:
        raise ValueError(f"not a time: {exc}") from None
    except TypeError:  # Python takes "2025-03-22T22:15:Z" for a time with an offset
        raise ValueError(f"not a time: {_STAMP_HINT}") from None
