"""Names, and the short texts that have a grammar of their own: dates, days, times of day."""

import re
from datetime import date

from hushd.config.document import Node
from hushd.config.problems import suggest
from hushd.config.scalars import Json, Scalar, Text
from hushd.config.shape import Many
from hushd.config.table import Closed, Key
from hushd.core.rules import Days, During, Rate
from hushd.core.times import DURATION_PATTERN, duration

_NAME = "[a-z0-9][a-z0-9-]{0,62}"
NAME = Text(
    "name",
    _NAME,
    'write small letters, digits and "-", at most 63, as in "night-noise"',
)
LABEL_NAME = Text(
    "label", "[a-z][a-z0-9_]*", 'write small letters, digits and "_", as in "room" or "point_2"'
)
NAMES = Many(NAME, "list of names", example="a list of names, such as [phone]")
LABEL_NAMES = Many(LABEL_NAME, "list of labels", example="a list of labels, such as [room]")
PATH = Text("path", r"[^\x00-\x1f]+", "write a path, without control characters")

SECRET = Closed(
    "secret",
    {
        "credential": Key(
            Text("name", "[A-Za-z0-9][A-Za-z0-9_.-]*", "write the name of a systemd credential"),
            "the name of a systemd credential (`LoadCredential=` in the unit)",
        ),
        "file": Key(
            Text("path"), "a file that holds nothing else; relative to the configuration file"
        ),
        "env": Key(
            Text("name", "[A-Za-z_][A-Za-z0-9_]*", "write the name of an environment variable"),
            "the name of an environment variable",
        ),
    },
    one_of=("credential", "file", "env"),
    example="{credential: NAME}, {file: PATH} or {env: NAME}: a secret does not stand in the file",
)

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
#: stands for no schedule at all, so that a rule can undo what `defaults` says
ALWAYS = "always"
OTHERWISE = "otherwise"
NEVER = "never"


_TIME = "([01][0-9]|2[0-3]):[0-5][0-9]"
_END_OF_DAY = "24:00"


class Date(Scalar):
    """A day of the calendar."""

    words = "date"
    name = "a date"
    hint = "write year, month and day, as in 2026-12-25"

    def take(self, node: Node) -> str:
        try:
            if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", node.raw):
                return date.fromisoformat(node.raw).isoformat()
        except ValueError:
            raise ValueError("there is no such day") from None
        raise ValueError(self.hint)

    def schema(self) -> Json:
        return {
            "type": "string",
            "pattern": "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$",
        }


class TimeOfDay(Scalar):
    """A civil time, in minutes after midnight."""

    words = "time of day"
    name = "a time of day"

    def __init__(self, *, end: bool = False) -> None:
        self.end = end  # may it be 24:00?
        self.hint = f"write hh:mm, from 00:00 to {'24:00' if end else '23:59'}"

    def take(self, node: Node) -> int:
        if not re.fullmatch(_TIME, node.raw) and not (self.end and node.raw == _END_OF_DAY):
            raise ValueError(self.hint)
        hours, _, minutes = node.raw.partition(":")
        return int(hours) * 60 + int(minutes)

    def schema(self) -> Json:
        pattern = f"{_TIME}|{_END_OF_DAY}" if self.end else _TIME
        return {"type": "string", "pattern": f"^({pattern})$"}


class DaysOfWeek(Scalar):
    """Days of the week, ranges of them, holidays, and what is excepted.

    >>> DaysOfWeek().of("fri-mon, not holidays")
    Days(weekdays=(0, 4, 5, 6), holidays=False, but=(), but_holidays=True)
    """

    words = "days"
    name = "days"
    hint = (
        'write days and ranges of days, as in "mon-fri, sun, holidays" or "mon-fri, not holidays"'
    )

    def take(self, node: Node) -> Days:
        if node.kind != "text":
            raise ValueError(self.hint)
        days: dict[bool, set[int]] = {False: set(), True: set()}
        holidays = {False: False, True: False}
        wanted = False
        for term in node.raw.split(","):
            words = term.split()
            but = words[:1] == ["not"]
            wanted |= not but
            if len(words) != 1 + but:
                raise ValueError(self.hint)
            if words[-1] == "holidays":
                holidays[but] = True
            else:
                days[but] |= self._range(words[-1])
        return Days(
            tuple(sorted(days[False] if wanted else range(7))),
            holidays[False],
            tuple(sorted(days[True])),
            holidays[True],
        )

    def _range(self, text: str) -> set[int]:
        """Return the days of ``mon`` or ``fri-mon``; the latter goes over the week's end."""
        ends = text.split("-")
        for end in ends:
            if end not in WEEKDAYS:
                near = suggest(end[:3].lower(), WEEKDAYS)[0]
                raise ValueError(near if near.startswith("did") else self.hint)
        if len(ends) > 2:
            raise ValueError(self.hint)
        first, last = WEEKDAYS.index(ends[0]), WEEKDAYS.index(ends[-1])
        return {(first + i) % 7 for i in range((last - first) % 7 + 1)}

    def schema(self) -> Json:
        day = f"({'|'.join(WEEKDAYS)})"
        term = rf"\s*(not\s+)?({day}(-{day})?|holidays)\s*"
        return {"type": "string", "pattern": f"^{term}(,{term})*$"}


class Spell(Scalar):
    """A schedule by its name, or all the time but that: ``night``, ``not night``.

    Read as a :class:`During`; None is what *other*, a word that no schedule may have as its
    name, stands for.
    """

    words = "schedule, or `not` and a schedule"
    name = "a schedule"
    hint = 'write the name of a schedule, as in "night" or "not night"'

    def __init__(self, other: str = "") -> None:
        self.other = other
        if other:
            self.words = f"{self.words}, or `{other}`"

    def take(self, node: Node) -> "During | Whenever":
        words = node.raw.split()
        if self.other and words == [self.other]:
            return Whenever()
        inverted = words[:1] == ["not"]
        if node.kind != "text" or len(words) != 1 + inverted:
            raise ValueError(self.hint)
        name = words[-1]
        if not re.fullmatch(_NAME, name) or name in RESERVED:
            raise ValueError(self.hint)
        return During(name, inverted)

    def schema(self) -> Json:
        reserved = "|".join(RESERVED)
        name = rf"\s*(not\s+)?(?!({reserved})\s*$){_NAME}\s*"
        other = rf"|\s*{self.other}\s*" if self.other else ""
        return {"type": "string", "pattern": f"^({name}{other})$"}


RESERVED = ("not", ALWAYS, OTHERWISE)


class Whenever:
    """No schedule at all: what was written is ``always`` or ``otherwise``."""

    __slots__ = ()


class Pause(Scalar):
    """A pause before a repetition; or ``never``, read as no pauses at all."""

    name = "a duration"

    def __init__(self, *, never: bool = False) -> None:
        self.never = never
        self.words = f"duration, or `{NEVER}`" if never else "duration"
        self.hint = 'write a duration such as "1h"' + (
            f", a list of them, or {NEVER}" if never else ""
        )

    def take(self, node: Node) -> int | tuple[()]:
        if self.never and node.raw == NEVER:
            return ()
        ns = 0 if node.raw == "0" else duration(node.raw)
        if not ns:
            raise ValueError(f"what is repeated without a pause never ends; {self.hint}")
        return ns

    def schema(self) -> Json:
        span: Json = {"$ref": "#/$defs/positive_duration"}
        return {"anyOf": [{"const": NEVER}, span]} if self.never else span


class Often(Scalar):
    """How many in how long: ``20 per 1h``."""

    words = "`N per duration`"
    name = "a rate"
    hint = 'write a number and a duration, as in "20 per 1h"'

    def take(self, node: Node) -> Rate:
        match = re.fullmatch(r"([1-9][0-9]{0,5}) +per +(\S+)", node.raw)
        if not match:
            raise ValueError(self.hint)
        span = duration(match[2])
        if not span:
            raise ValueError(self.hint)
        return Rate(int(match[1]), span)

    def schema(self) -> Json:
        return {
            "type": "string",
            "pattern": f"^[1-9][0-9]{{0,5}} +per +(?=.*[1-9]){DURATION_PATTERN}$",
        }
