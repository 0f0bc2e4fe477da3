"""The short texts of rule tests that have a grammar of their own: times, series, numbers."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import NamedTuple

from hushd.config.document import Node
from hushd.config.scalars import Scalar
from hushd.core.readings import SECOND
from hushd.core.rules import DAY

YEARS = range(2000, 2101)
LONGEST = 366 * DAY
TOO_LONG = "a test lasts at most a year"
MOST = 1_000_000  # values in one series: three months of one each ten seconds

_GAP = re.compile(r"_(?:x([0-9]{1,7}))?")
#: a number, how it goes on with each further value, and how many of these there are
_RUN = re.compile(
    r"([-+]?(?:[0-9]{1,15}(?:\.[0-9]{1,15})?|\.[0-9]{1,15})(?:[eE][-+]?[0-9]{1,2})?)"
    r"(?:([-+])((?:[0-9]{1,15}(?:\.[0-9]{1,15})?|\.[0-9]{1,15})(?:[eE][-+]?[0-9]{1,2})?))?"
    r"(?:x([0-9]{1,7}))?"
)
_TIME = re.compile(
    r"(?:([0-9]{4}-[0-9]{2}-[0-9]{2})[T ])?"
    r"([01][0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9])(?:\.([0-9]{1,9}))?)?"
    r"(Z|[-+](?:[01][0-9]|2[0-3]):[0-5][0-9])?"
)


class When(NamedTuple):
    """A time as it was written: of a day, or of the day on which a test starts or the next."""

    day: date | None
    since_midnight: timedelta
    ns: int  # beyond its whole seconds
    offset: timedelta | None  # from UTC, where that was written

    def instant(self, zone: tzinfo | None, start: int | None = None) -> int:
        """Return ns since 1970, by the clocks of *zone* or of UTC.

        An hour that clocks repeat means the first, unless that is before *start*; a time
        alone that was over at the start is of the next day.

        Raises:
            ValueError: it is before *start*, or too long after it.
        """
        here = zone or UTC
        day = self.day
        if day is None:
            day = datetime.fromtimestamp((start or 0) // SECOND, here).date()
        for at in self._candidates(day, here):
            if start is None or start <= at <= start + LONGEST:
                return at
            if at > start:
                raise ValueError(TOO_LONG)
        raise ValueError("it is before the start of the test")

    def _candidates(self, day: date, here: tzinfo) -> Iterator[int]:
        naive = datetime(day.year, day.month, day.day) + self.since_midnight  # noqa: DTZ001  zone below
        if self.offset is not None:
            since = naive - self.offset - datetime(1970, 1, 1)  # noqa: DTZ001  both as they stand
            yield since // timedelta(seconds=1) * SECOND + self.ns
            return
        for later in (naive,) if self.day else (naive, naive + timedelta(days=1)):
            for fold in (0, 1):
                yield int(later.replace(tzinfo=here, fold=fold).timestamp()) * SECOND + self.ns


class Moment(Scalar):
    """A time of day, or one of a day: ``22:07:30``, ``2026-03-28T22:07:30``."""

    name = "a time"

    def __init__(self, *, whole: bool = False) -> None:
        self.whole = whole  # must it say the day, too?
        alone = "" if whole else 'a time of day, as in "22:05" or "22:05:30", or '
        self.hint = f'write {alone}a day and a time, as in "2026-03-28T22:05:00"'
        self.words = "day and time" if whole else "time of day, or day and time"

    def take(self, node: Node) -> When:
        """Return it."""
        match = _TIME.fullmatch(node.raw)
        if match is None or (match[1] is None and (self.whole or match[6])):
            raise ValueError(self.hint)
        try:
            day = None if match[1] is None else date.fromisoformat(match[1])
        except ValueError:
            raise ValueError("there is no such day") from None
        if day is not None and day.year not in YEARS:
            raise ValueError(f"write a year from {YEARS[0]} to {YEARS[-1]}")
        clock = timedelta(hours=int(match[2]), minutes=int(match[3]), seconds=int(match[4] or 0))
        return When(day, clock, int((match[5] or "").ljust(9, "0")), _offset(match[6]))


def _offset(text: str | None) -> timedelta | None:
    if text is None:
        return None
    if text == "Z":
        return timedelta()
    hours, _, minutes = text[1:].partition(":")
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    return -offset if text[0] == "-" else offset


class Series(Scalar):
    """Values one after the other, as promtool writes them.

    >>> from hushd.config.scalars import NOWHERE
    >>> Series().take(Node("text", NOWHERE, raw="30x2 55+0.5x2 _ -1 _x2"))
    (30.0, 30.0, 30.0, 55.0, 55.5, 56.0, None, -1.0, None, None)
    """

    words = "series"
    name = "values"
    hint = (
        'write values with blanks between: "30" is one, "30x18" is 30 and 18 more, '
        '"55+0.1x9" rises 9 times by 0.1, "_" is a missing one, "_x60" are 60'
    )

    def take(self, node: Node) -> tuple[float | None, ...]:
        """Return them; None is a missing one."""
        values: list[float | None] = []
        for word in node.raw.split():
            if gap := _GAP.fullmatch(word):
                more: list[float | None] = [None] * int(gap[1] or 1)
            elif (run := _RUN.fullmatch(word)) and (run[4] or not run[2]):
                first, step = float(run[1]), float(run[3] or 0)
                step = -step if run[2] == "-" else step
                # so that 55+0.1x9 is what one would write, and not a sum of tenths
                places = _decimals(run[1], run[3] or "")
                steps = range(int(run[4] or 0) + 1)
                more = [_rounded(first + step * number, places) for number in steps]
            else:
                raise ValueError(f'"{word}" is no part of a series; {self.hint}')
            if len(values) + len(more) > MOST:
                raise ValueError(f"that is more than {MOST} values")
            values += more
        return tuple(values)


def _decimals(*numbers: str) -> int | None:
    """Return the most decimals that were written; None: with an exponent."""
    if any("e" in number.lower() for number in numbers):
        return None
    return max(len(number.partition(".")[2]) for number in numbers)


def _rounded(value: float, places: int | None) -> float:
    return value if places is None else round(value, places)


class Figure(NamedTuple):
    """A number that is expected, as exactly as it was written."""

    value: float
    tolerance: float
    text: str

    def met_by(self, found: float | None) -> bool:
        """Say whether *found* is it."""
        return found is not None and abs(found - self.value) <= self.tolerance


class Exactly(Scalar):
    """A number; decimals say how exactly it is meant.

    >>> from hushd.config.scalars import NOWHERE
    >>> Exactly().take(Node("number", NOWHERE, 40.5, raw="40.5")).met_by(40.54)
    True
    """

    words = "number"
    name = "a number"
    hint = "write a number, such as 40.5"

    def take(self, node: Node) -> Figure:
        """Return it."""
        value = node.value
        if node.kind != "number" or not isinstance(value, int | float):
            raise ValueError(self.hint)
        places = _decimals(node.raw)
        tolerance = 1e-6 * abs(value)
        if places:
            tolerance = max(tolerance, 0.5 * 10.0**-places * (1 + 1e-9))  # 40.55 is 40.5, or 40.6
        return Figure(float(value), tolerance, node.raw)
