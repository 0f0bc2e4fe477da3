"""Keys of rules, and of what they have in common."""

from hushd.config.language.words import (
    ALWAYS,
    LABEL_NAME,
    LABEL_NAMES,
    NAME,
    NAMES,
    NEVER,
    OTHERWISE,
    Pause,
    Spell,
)
from hushd.config.scalars import Flag, Label, Level, Number, Span, Text, Window, Word
from hushd.config.shape import Entries, Many, Pair
from hushd.config.table import Either, Key, Table
from hushd.core.rules import SEVERITIES

COMPARISONS = ("above", "below", "at_least", "at_most", "outside", "inside")

_BOUND = Level()
_RANGE = Pair(_BOUND)
_COMPARED = {
    "above": Key(_BOUND, "raised when the value is greater"),
    "below": Key(_BOUND, "raised when the value is less"),
    "at_least": Key(_BOUND, "raised when the value is greater or equal"),
    "at_most": Key(_BOUND, "raised when the value is less or equal"),
    "outside": Key(_RANGE, "raised when the value is less than low or greater than high"),
    "inside": Key(_RANGE, "raised when the value is from low to high"),
    "clear": Key(
        Either(one=_BOUND, several=_RANGE, example="write a number, or [low, high]"),
        "cleared when the comparison with this does not hold; on the quiet side of the limit",
        otherwise="the limit itself",
    ),
}
LIMIT = Table(
    "limit",
    {
        **_COMPARED,
        "for": Key(
            Span(zero=True), "how long it must hold before it is told", otherwise="the rule's"
        ),
        "clear_for": Key(
            Span(zero=True), "how long it must be quiet before it is over", otherwise="the rule's"
        ),
    },
    one_of=COMPARISONS,
    example="{above: 70}",
)
_SEVERITIES = {
    "info": Key(LIMIT, "the mildest limit"),
    "warning": Key(LIMIT, "the limit in the middle"),
    "critical": Key(LIMIT, "the worst limit"),
}

NO_DATA_TABLE = Table(
    "no data",
    {
        "after": Key(
            Span(),
            "how long a silence must be",
            otherwise="3 times the interval, at least 5m, once the interval is known",
        ),
        "severity": Key(Word(SEVERITIES), "how bad it is", "warning"),
        "level": Key(Word(("keep", "clear")), "what becomes of an alert that is on", "keep"),
        "notify": Key(NAMES, "who is told", otherwise="who hears of the rule at this severity"),
    },
)
NO_DATA = Either(
    one=Word(("ignore",)), named=NO_DATA_TABLE, example='write "ignore" or {after: 10m}'
)
NOTIFY = Either(
    several=NAMES,
    named=Entries(
        Word(SEVERITIES), NAMES, "mapping of severity to list of names", 1, "{warning: [phone]}"
    ),
    example="write a list of notifiers, such as [phone], or {warning: [phone]}",
)

_FOR = Key(Span(zero=True), "`for` of each limit that has none of its own", "0s")
_CLEAR_FOR = Key(Span(zero=True), "`clear_for` of each limit that has none of its own", "0s")
_COVERAGE = Key(
    Number(0, 1),
    "how full a time window must be to be judged",
    otherwise="0.5; 0 for counts and durations",
)
_SAMPLES = Key(Number(1, 1_000_000, whole=True), "how many readings it takes to judge", "1")

_WATCH = Key(NAME, "the sensor", required=True)
_WHERE = Key(
    Entries(
        LABEL_NAME,
        Either(
            one=Label(),
            several=Many(Label(), "list of values", 1),
            example="write a value or a list of values",
        ),
        "mapping of label to value or values",
        1,
        "{room: [101, 102]}",
    ),
    "only series with these label values",
    otherwise="all series",
)
_MEASURE = Key(
    Either(
        one=Text("aggregator"),
        named=Entries(Text("aggregator"), Number(), "`{percentile: 95}`", 1, "{percentile: 95}", 1),
        example='write a measure, such as "leq" or {percentile: 95}',
    ),
    "what is computed from the window; `hushd plugins` lists them",
    required=True,
)
_OVER = Key(
    Window(),
    "the window: `15m` or `20 samples`",
    otherwise="the last reading; only with `measure: last`",
)

RELATIVE_TO = Table(
    "relative to",
    {
        "watch": Key(NAME, "the other sensor", otherwise="the same sensor"),
        "where": Key(_WHERE.shape, _WHERE.doc, otherwise="as beside it, for the same sensor"),
        "measure": _MEASURE,
        "over": _OVER,
        "min_samples": Key(_SAMPLES.shape, _SAMPLES.doc, otherwise="as beside it"),
        "min_coverage": Key(_COVERAGE.shape, _COVERAGE.doc, otherwise="as beside it"),
    },
    example="{measure: mean, over: 1d}",
)
_RELATIVE_TO = Key(
    RELATIVE_TO,
    "a second window, whose value is taken off: the limit is one for the difference",
    otherwise="none",
)

CONDITION = Table(
    "condition",
    {
        "watch": _WATCH,
        "where": _WHERE,
        "measure": _MEASURE,
        "over": _OVER,
        "min_samples": Key(_SAMPLES.shape, _SAMPLES.doc, otherwise="the rule's"),
        "min_coverage": Key(_COVERAGE.shape, _COVERAGE.doc, otherwise="the rule's"),
        "relative_to": _RELATIVE_TO,
        **_COMPARED,
    },
    one_of=COMPARISONS,
    elsewhere=dict.fromkeys(
        ("for", "clear_for", "severity", "each"), "it belongs to the rule: it counts for the whole"
    ),
    example="{watch: noise, measure: leq, over: 10m, above: 65}",
)
_CONDITIONS = Many(
    CONDITION,
    "list of [conditions](#condition)",
    example="a list of two conditions or more; a single one is a rule without all and any",
    least=2,
)

REGIME = Table(
    "limits by schedule",
    {
        "during": Key(
            Spell(OTHERWISE), "when these limits count; `otherwise`, last: else", required=True
        ),
        **_SEVERITIES,
    },
    some_of=SEVERITIES,
    example="{during: night, warning: {above: 45}}",
)

FLAPPING_TABLE = Table(
    "flapping",
    {
        "changes": Key(
            Number(3, 1000, whole=True), "how many changes of level are too many", required=True
        ),
        "within": Key(Span(), "in how short a time", required=True),
    },
    example="{changes: 6, within: 1h}",
)

MESSAGE = Table(
    "message",
    {
        "title": Key(Text("template"), "the title of all of them", otherwise="built in"),
        "raise": Key(Text("template"), "it got worse", otherwise="built in"),
        "clear": Key(Text("template"), "it is over", otherwise="built in"),
        "repeat": Key(Text("template"), "it is still so", otherwise="that of `raise`"),
        "no_data": Key(Text("template"), "nothing is heard", otherwise="built in"),
    },
    example='{title: "{{ rule }}: {{ severity }}"}',
)

_DURING = Key(Spell(ALWAYS), "judge only then", ALWAYS)
_FRESH = Key(Flag(), "forget, when the schedule begins, what was measured before it", "false")
_REPEAT = Key(
    Either(
        one=Pause(never=True),
        several=Many(Pause(), "list of durations", 1, "a list of durations, such as [15m, 1h]"),
        example='write a duration such as "1h", a list of them, or never',
    ),
    "how long after a message it is said again while it is still so; the last of a list goes on",
    otherwise="`never`",
)
_COOLDOWN = Key(
    Span(zero=True), 'how long after "cleared" nothing new is told that is not worse', "0s"
)
_FLAPPING = Key(
    Either(
        one=Word((NEVER,)), named=FLAPPING_TABLE, example="write {changes: 6, within: 1h}, or never"
    ),
    "when changes of level are too many to tell each",
    otherwise="`never`",
)
_MESSAGE = Key(MESSAGE, "words of your own")

RULE = Table(
    "rule",
    {
        "about": Key(Text(), "a sentence for people", otherwise="none"),
        "enabled": Key(Flag(), "`false` rests the rule: it is checked, but not run", "true"),
        "watch": _WATCH,
        "where": _WHERE,
        "each": Key(
            LABEL_NAMES,
            "labels that separate alerts; series that share them are pooled into one window; "
            "`[]` is one alert in all",
            otherwise="all labels of the sensor; of several sensors, those that all have",
        ),
        "measure": _MEASURE,
        "over": _OVER,
        "min_samples": _SAMPLES,
        "min_coverage": _COVERAGE,
        "relative_to": _RELATIVE_TO,
        "all": Key(_CONDITIONS, "conditions that must hold together"),
        "any": Key(_CONDITIONS, "conditions of which one must hold"),
        "severity": Key(
            Word(SEVERITIES), "how bad it is when the conditions of `all` or `any` hold"
        ),
        "during": _DURING,
        "fresh_window": _FRESH,
        **_SEVERITIES,
        "limits": Key(
            Many(
                REGIME,
                "list of [limits by schedule](#limits-by-schedule)",
                1,
                "a list, such as [{during: night, warning: {above: 45}}]",
            ),
            "other limits at other times: the first whose schedule is on counts alone",
        ),
        "for": _FOR,
        "clear_for": _CLEAR_FOR,
        "no_data": Key(
            NO_DATA, "what silence means", otherwise="told as a warning; alerts keep their level"
        ),
        "repeat": _REPEAT,
        "cooldown": _COOLDOWN,
        "flapping": _FLAPPING,
        "mute_while": Key(
            NAMES,
            "rules: while one of them is on for the same labels, nothing is told of this one",
            otherwise="none",
        ),
        "notify": Key(
            NOTIFY,
            "who is told; a notifier hears of the severity it is listed at and everything worse",
            otherwise="`defaults.notify`",
        ),
        "message": _MESSAGE,
        "link": Key(Text("URL"), "where to read on, for messages", otherwise="none"),
    },
    later=("labels",),
    instead=("all", "any"),
    some_of=(*SEVERITIES, "limits", "all", "any"),
    apart=(
        ("all", "any"),
        *(("limits", severity) for severity in SEVERITIES),
        *(
            (join, key)
            for join in ("all", "any")
            for key in ("watch", "where", "measure", "over", "relative_to", *SEVERITIES, "limits")
        ),
    ),
    needs={"all": ("severity",), "any": ("severity",), "severity": ("all", "any")},
    example="{watch: noise, measure: leq, over: 15m, warning: {above: 70}, notify: [phone]}",
)

DEFAULTS = Table(
    "defaults",
    {
        "notify": Key(NOTIFY, "`notify` of rules that have none"),
        "no_data": Key(NO_DATA, "`no_data` of rules that have none"),
        "for": _FOR,
        "clear_for": _CLEAR_FOR,
        "min_samples": _SAMPLES,
        "min_coverage": _COVERAGE,
        "during": _DURING,
        "fresh_window": _FRESH,
        "repeat": _REPEAT,
        "cooldown": _COOLDOWN,
        "flapping": _FLAPPING,
        "message": _MESSAGE,
    },
)

INTERNAL = Table(
    "internal",
    {
        "severity": Key(Word(SEVERITIES), "how bad hushd's own troubles are", "warning"),
        "notify": Key(NAMES, "who is told of them", otherwise="`defaults.notify`"),
    },
)
