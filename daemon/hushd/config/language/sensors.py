"""Keys of sensors."""

from hushd.config.language.words import LABEL_NAME
from hushd.config.scalars import Label, Number, Span, Text, Word
from hushd.config.shape import Entries, Many, Pair
from hushd.config.table import Either, Key, Table
from hushd.core.times import STAMP_FORMATS

TIME = Table(
    "time",
    {
        "path": Key(
            Text("decoder and its argument"),
            "where the time stands in the payload, in the words of `value`: `json:ts`",
            required=True,
        ),
        "format": Key(
            Word(STAMP_FORMATS), "the unit of a number; `auto` goes by its magnitude", "auto"
        ),
        "zone": Key(
            Text("time zone or `site`"),
            "where a time without an offset stands",
            otherwise="`site`, if `site.timezone` is set",
        ),
    },
)

EXPECT = Many(
    Entries(LABEL_NAME, Label(), "labels", 1),
    "list of labels",
    1,
    "a list of labels, such as [{room: 101}, {room: 102}]",
)

SENSOR = Table(
    "sensor",
    {
        "topic": Key(
            Text("topic filter"),
            "the MQTT topic; `{room}` is a wildcard that becomes a label, `{rest*}` at the end "
            "takes all further levels",
            required=True,
        ),
        "value": Key(
            Text("decoder and its argument"),
            "how a number is read from the payload: `number`, `json:path.to.field`",
            "number",
        ),
        "time": Key(
            Either(
                one=Text("where it stands"), named=TIME, example='write "json:ts"', short="path"
            ),
            "where the time is read from; the short form is its `path`",
            otherwise="when the message arrived",
        ),
        "lateness": Key(
            Span(zero=True),
            "readings up to this late are put in their place; later ones are counted and dropped",
            "0s",
        ),
        "future": Key(Span(zero=True), "a stamp further ahead than this is not believed", "5s"),
        "duplicates": Key(
            Word(("drop", "keep", "last", "max")),
            "same series and time: `drop` counts an equal value once, `keep` each, "
            "`last` and `max` leave one of several values",
            "drop",
        ),
        "labels": Key(
            Entries(LABEL_NAME, Text("where it stands"), "labels", 1, "{zone: json:zone}"),
            "further labels, read from the payload: `{zone: json:zone}`",
            otherwise="none",
        ),
        "interval": Key(
            Span(), "how often the sensor speaks", otherwise="learned: median of the last 20 gaps"
        ),
        "hold": Key(
            Span(), "how long a reading stands for itself", otherwise="1.5 times the interval"
        ),
        "unit": Key(Text(), "the unit of the readings, for messages", otherwise="none"),
        "valid": Key(
            Pair(Number()),
            "what can be true; readings outside are refused and counted, not clamped",
            otherwise="every number",
        ),
        "retained": Key(
            Word(("ignore", "use")), "what to do with messages that the broker kept", "ignore"
        ),
        "expect": Key(
            EXPECT,
            "series that must exist: their silence is told even if they never spoke",
            otherwise="none",
        ),
    },
)
