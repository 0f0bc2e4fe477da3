"""Keys of schedules."""

from hushd.config.language.words import WEEKDAYS, DaysOfWeek, TimeOfDay
from hushd.config.scalars import Text
from hushd.config.shape import Many
from hushd.config.table import Either, Key, Table

SPAN = Table(
    "schedule",
    {
        "days": Key(
            DaysOfWeek(),
            "on which days it begins: `mon-fri, sun, holidays`, or `mon-fri, not holidays`",
            otherwise="every day",
        ),
        "from": Key(TimeOfDay(), "when it begins, `22:00`", otherwise="midnight, the whole day"),
        "to": Key(
            TimeOfDay(end=True),
            "when it ends, on the next day if that is not after `from`: `06:00`",
            otherwise="midnight, the whole day",
        ),
        "timezone": Key(
            Text("time zone"), "in which zone, such as Europe/Berlin", otherwise="the site's"
        ),
    },
    needs={"from": ("to",), "to": ("from",)},
    # {days: sat, sun} is a mapping with a key "sun"
    elsewhere={
        **dict.fromkeys(WEEKDAYS, 'put all days into one pair of quotes: "sat, sun"'),
        "holidays": 'put all days into one pair of quotes: "sun, holidays"',
    },
    example="{from: 22:00, to: 06:00}",
)
SCHEDULE = Either(
    several=Many(SPAN, "list of them", 1, "a list, such as [{from: 22:00, to: 06:00}]"),
    named=SPAN,
    example="write {from: 22:00, to: 06:00}, or a list of such spans",
)
