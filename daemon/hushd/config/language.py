"""Every key of the configuration language: its type, default, place and meaning.

This is the only list of keys.  Reading, "did you mean", the JSON Schema for editors and
the tables in docs/configuration.md are made from it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from hushd.config.document import Node
from hushd.config.problems import Report, shorten, suggest
from hushd.config.shape import (
    BAD,
    Closed,
    Either,
    Entries,
    Flag,
    Json,
    Key,
    Label,
    Level,
    Many,
    Number,
    Pair,
    Scalar,
    Shape,
    Size,
    Span,
    Table,
    Text,
    Window,
    Word,
)
from hushd.core.rules import SEVERITIES
from hushd.core.times import STAMP_FORMATS, format_duration
from hushd.plugin.catalog import Catalog
from hushd.plugin.records import NotifierType, Option

LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("auto", "console", "json", "journal")
COMPARISONS = ("above", "below", "at_least", "at_most", "outside", "inside")

NAME = Text(
    "name",
    "[a-z0-9][a-z0-9-]{0,62}",
    'write small letters, digits and "-", at most 63, as in "night-noise"',
)
LABEL_NAME = Text(
    "label", "[a-z][a-z0-9_]*", 'write small letters, digits and "_", as in "room" or "point_2"'
)
NAMES = Many(NAME, "list of names", example="a list of names, such as [phone]")
LABEL_NAMES = Many(LABEL_NAME, "list of labels", example="a list of labels, such as [room]")
_PATH = Text("path", r"[^\x00-\x1f]+", "write a path, without control characters")

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

SITE = Table(
    "site",
    {
        "name": Key(Text(), "what the place is called in messages", "hushd"),
        "timezone": Key(
            Text("time zone"),
            "the zone of stamps without an offset, such as Europe/Berlin",
            otherwise="none",
        ),
    },
    later=("holidays",),
)

TLS = Table(
    "tls",
    {
        "ca": Key(
            Text("path"),
            "a file of certificates to trust; relative to the configuration file",
            otherwise="what the system trusts",
        ),
        "cert": Key(
            Text("path"), "our certificate, for brokers that ask for one", otherwise="none"
        ),
        "key": Key(Text("path"), "the key of `cert`", otherwise="in the file of `cert`"),
        "insecure": Key(
            Flag(), "`true` talks to whoever answers: neither name nor certificate counts", "false"
        ),
    },
)

MQTT = Table(
    "mqtt",
    {
        "host": Key(Text("host name"), "the broker's name or address", "localhost"),
        "port": Key(
            Number(1, 65_535, whole=True), "the broker's port", otherwise="1883; 8883 with TLS"
        ),
        "url": Key(
            Text("URL"),
            "host and port in one: `mqtt://broker.lan:1883`, or with TLS `mqtts://broker.lan:8883`",
            otherwise="made of host and port",
        ),
        "client_id": Key(
            Text(pattern=r"[\x21-\x7e]{1,128}", hint="write 1 to 128 characters without blanks"),
            "the name of the session at the broker: unique there, and always the same",
            otherwise="derived from machine id and site name",
        ),
        "username": Key(Text(), "who logs in at the broker", otherwise="nobody"),
        "password": Key(SECRET, "where the password is kept", otherwise="none"),
        "tls": Key(TLS, "encrypt, and whom to trust; `{}` trusts what the system trusts"),
        "keepalive": Key(Span(), "how often an idle connection is probed, 5s to 18h", "30s"),
        "session_expiry": Key(
            Span(zero=True),
            "how long the broker keeps messages for us while we are away; `0s`: not at all",
            "1d",
        ),
        "status_topic": Key(
            Text("topic or `off`"),
            "where `online` or `offline` stands, retained; `off`: nowhere",
            otherwise="`hushd/CLIENT_ID/status`",
        ),
        "ingest": Key(
            Word(("auto", "bulk", "plain")),
            "how messages are received: by the chunk, or one by one by paho; `auto`: by the chunk "
            "where that works",
            "auto",
        ),
    },
    apart=(("url", "host"), ("url", "port")),
)

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

NOTIFIER_LATER = (
    "quiet",
    "quiet_except",
    "quiet_summary",
    "clears",
    "rate_limit",
    "batch",
    "delivery",
    "give_up_after",
    "fallback",
    "format",
)

_BOUND = Level()
_RANGE = Pair(_BOUND)
LIMIT = Table(
    "limit",
    {
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

_RULE_LATER = (
    "during",
    "fresh_window",
    "limits",
    "all",
    "any",
    "severity",
    "repeat",
    "cooldown",
    "flapping",
    "mute_while",
    "message",
    "link",
    "labels",
)

RULE = Table(
    "rule",
    {
        "about": Key(Text(), "a sentence for people", otherwise="none"),
        "enabled": Key(Flag(), "`false` rests the rule: it is checked, but not run", "true"),
        "watch": Key(NAME, "the sensor", required=True),
        "where": Key(
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
        ),
        "each": Key(
            LABEL_NAMES,
            "labels that separate alerts; series that share them are pooled into one window; "
            "`[]` is one alert in all",
            otherwise="all labels of the sensor",
        ),
        "measure": Key(
            Either(
                one=Text("aggregator"),
                named=Entries(
                    Text("aggregator"), Number(), "`{percentile: 95}`", 1, "{percentile: 95}", 1
                ),
                example='write a measure, such as "leq" or {percentile: 95}',
            ),
            "what is computed from the window; `hushd plugins` lists them",
            required=True,
        ),
        "over": Key(
            Window(),
            "the window: `15m` or `20 samples`",
            otherwise="the last reading; only with `measure: last`",
        ),
        "min_samples": _SAMPLES,
        "min_coverage": _COVERAGE,
        "info": Key(LIMIT, "the mildest limit"),
        "warning": Key(LIMIT, "the limit in the middle"),
        "critical": Key(LIMIT, "the worst limit"),
        "for": _FOR,
        "clear_for": _CLEAR_FOR,
        "no_data": Key(
            NO_DATA, "what silence means", otherwise="told as a warning; alerts keep their level"
        ),
        "notify": Key(
            NOTIFY,
            "who is told; a notifier hears of the severity it is listed at and everything worse",
            otherwise="`defaults.notify`",
        ),
    },
    later=_RULE_LATER,
    instead=("all", "any"),
    some_of=SEVERITIES,
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
    },
    later=("repeat", "cooldown", "flapping", "message", "during", "fresh_window"),
)

INTERNAL = Table(
    "internal",
    {
        "severity": Key(Word(SEVERITIES), "how bad hushd's own troubles are", "warning"),
        "notify": Key(NAMES, "who is told of them", otherwise="`defaults.notify`"),
    },
)

LOG = Table(
    "log",
    {
        "level": Key(Word(LEVELS), "the least that is worth a line", "info"),
        "format": Key(
            Word(FORMATS),
            "`console` is for people, `json` one object a line, `journal` the fields of systemd's "
            "journal; `auto` goes by where standard error leads",
            "auto",
        ),
    },
)

LIMITS = Table(
    "limits",
    {
        "series": Key(
            Number(1, 1_000_000, whole=True), "series in all; further ones are refused", "10000"
        ),
        "alerts_per_rule": Key(
            Number(1, 1_000_000, whole=True),
            "alerts of one rule; further ones are refused",
            "10000",
        ),
        "payload": Key(Size(16, 16 << 20), "the largest message that is read", "64KiB"),
        "inbox": Key(
            Number(10, 10_000_000, whole=True), "messages that may wait to be read", "10000"
        ),
    },
)

STORE = Table(
    "store",
    {
        "path": Key(_PATH, "the file; relative to the state directory", "hushd.db"),
        "commit_interval": Key(
            Span(),
            "how long readings are gathered before they are written and acknowledged, 100ms to 1m; "
            "what changes an alert is written at once",
            "1s",
        ),
        "profile": Key(
            Word(("durable", "alerts-only")),
            "`alerts-only` spares a flash card: readings are not kept, so that windows have "
            "gaps after a restart",
            "durable",
        ),
        "on_error": Key(
            Word(("continue", "hold")),
            "where it cannot be written: go on in memory, or tell and acknowledge nothing until it can be",
            "continue",
        ),
        "required": Key(
            Flag(), "`true`: hushd does not start where the file cannot be written", "false"
        ),
    },
)

PLUGINS = Table(
    "plugins",
    {
        "directory": Key(
            Text("path"),
            "where drop-in plugins are; relative to the configuration file",
            otherwise="none",
        ),
        "disable": Key(
            Many(Text(), "list of names", example="a list of names, such as [rank]"),
            "plugins to leave out, by the name of their entry point or file",
            otherwise="none",
        ),
    },
)


def _named(shape: Shape, words: str) -> Entries:
    return Entries(NAME, shape, words)


_TEXT_OR_SECRET = Either(one=Text(), named=SECRET, example=f"write a text, or {SECRET.example}")

_OPTION_SHAPES: Mapping[str, Shape] = {
    "text": Text(),
    "url": Either(one=Text("URL"), named=SECRET, example=f"write a URL, or {SECRET.example}"),
    "path": _PATH,
    "file": _PATH,
    "secret": SECRET,
    "duration": Span(),
    "boolean": Flag(),
    "texts": Many(Text(), "list of texts", example="a list of texts"),
    "map": Entries(Text("name"), _TEXT_OR_SECRET, "mapping of name to text, or [secret](#secret)"),
}


def option_key(option: Option) -> Key:
    """Return the key of the language that a plugin's option is."""
    if option.choices:
        shape: Shape = Word(option.choices)
    elif option.kind == "integer":
        shape = Number(option.low, option.high, whole=True)
    else:
        shape = _OPTION_SHAPES[option.kind]
    default, otherwise = _written(option), option.otherwise
    try:
        if default is not None and isinstance(shape, Scalar):
            shape.of(default)
    except ValueError:  # a plugin may have a default that the language has no words for
        default, otherwise = None, otherwise or str(option.default)
    return Key(shape, option.summary, default, option.required, otherwise)


def _written(option: Option) -> str | None:
    """Return an option's default as the configuration would write it, if it could."""
    match option.default:
        case None:
            return None
        case bool(flag):
            return str(flag).lower()
        case int(length) if option.kind == "duration":
            return format_duration(length)
        case str() | int():
            return str(option.default)
    return None


class Notifier(Shape):
    """``type`` and the keys of the plugin of that name."""

    words = "`type` and the keys of that plugin"

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def read(self, node: Node, report: Report) -> Any:
        if node.kind != "map":
            report.error(node.mark, "expected a notifier", "write {type: log}")
            return BAD
        kind = node.entries.get("type")
        if kind is None:
            near = [name for name in node.entries if suggest(name, ["type"])[0].startswith("did")]
            mark = node.entries[near[0]].key if near else node.at
            hint = 'did you mean "type"?' if near else f"known: {self._known()}"
            report.error(mark, '"type" is missing', hint)
            return BAD
        name = _TYPE.shape.read(kind.node, report)
        if name is BAD:
            return BAD
        record = self._catalog.notifiers.get(name)
        if record is None:
            hints = self._catalog.hint("notifier", name)
            report.error(kind.node.mark, f'unknown type of notifier "{shorten(name)}"', *hints)
            return BAD
        return self._table(record).read(node, report)

    def schema(self) -> Json:
        if not self._catalog.notifiers:
            return {
                "type": "object",
                "required": ["type"],
                "properties": {"type": {"type": "string", "description": _TYPE.doc}},
            }
        return {"anyOf": [table.schema() for table in self.parts()]}

    def parts(self) -> Iterator[Table]:
        for record in self._catalog.notifiers.values():
            yield self._table(record)

    def _known(self) -> str:
        return ", ".join(sorted(self._catalog.notifiers)) or "none: no plugin offers any"

    def _table(self, record: NotifierType) -> Table:
        keys = {option.name: option_key(option) for option in record.options}
        later = tuple(key for key in NOTIFIER_LATER if key not in keys)
        kind = Key(Word((record.name,)), _TYPE.doc, required=True)
        return Table(f"notifier {record.name}", {"type": kind, **keys}, later)


_TYPE = Key(Text("name"), "the plugin that tells; `hushd plugins` lists them", required=True)


_SHARED_KEYS = {
    "sensors": Key(
        _named(
            Either(
                one=Text("topic filter"),
                named=SENSOR,
                example='write its topic, such as "home/{room}/noise"',
                short="topic",
            ),
            "mapping of name to [sensor](#sensor), or to its topic alone",
        ),
        "what is measured",
    ),
    "rules": Key(_named(RULE, "mapping of name to [rule](#rule)"), "what must not happen"),
}


def language(catalog: Catalog) -> tuple[Table, Table]:
    """Return what may stand in the main file and in a file of ``rules.d``."""
    version = Key(Number(1, 1, whole=True), "1, the version of this language", required=True)
    notifiers = Key(
        _named(Notifier(catalog), "mapping of name to `type` and the keys of that plugin"),
        "who is told",
    )
    shared = {**_SHARED_KEYS, "notifiers": notifiers}
    main = {
        "version": version,
        "site": Key(SITE, "the place"),
        "clock": Key(
            Word(("wall", "stamps")),
            "engine time: the machine's clock, or the newest stamp seen (recordings)",
            "wall",
        ),
        "plugins": Key(PLUGINS, "where plugins come from"),
        "allow_exec": Key(Flag(), "whether notifiers may start programs of yours", "false"),
        "mqtt": Key(MQTT, "the broker"),
        "sensors": shared["sensors"],
        "notifiers": shared["notifiers"],
        "defaults": Key(DEFAULTS, "what rules need not repeat; each key is replaced whole"),
        "rules": shared["rules"],
        "internal": Key(INTERNAL, "who hears of hushd's own troubles"),
        "log": Key(LOG, "what the daemon says of itself"),
        "limits": Key(LIMITS, "how much there may be of what others can multiply"),
        "store": Key(STORE, "what outlives a restart, and how"),
    }
    later = ("schedules", "web")
    elsewhere = {key: "it belongs into the main file" for key in main if key not in shared}
    return (
        Table("main file", main, later),
        Table(
            "file of rules.d",
            {"version": Key(version.shape, version.doc, otherwise="1"), **shared},
            later,
            elsewhere=elsewhere,
        ),
    )
