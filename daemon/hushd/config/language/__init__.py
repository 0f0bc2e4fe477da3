"""Every key of the configuration language: its type, default, place and meaning.

This is the only list of keys.  Reading, "did you mean", the JSON Schema for editors and
the tables in docs/configuration.md are made from it.
"""

from hushd.config.language.notifiers import Notifier
from hushd.config.language.place import LIMITS, LOG, MQTT, PLUGINS, SITE, STORE
from hushd.config.language.rules import DEFAULTS, INTERNAL, RULE
from hushd.config.language.schedules import SCHEDULE
from hushd.config.language.sensors import SENSOR
from hushd.config.language.words import NAME
from hushd.config.scalars import Flag, Number, Shape, Text, Word
from hushd.config.shape import Entries
from hushd.config.table import Either, Key, Table
from hushd.plugin.catalog import Catalog


def _named(shape: Shape, words: str) -> Entries:
    return Entries(NAME, shape, words)


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
    "schedules": Key(
        _named(SCHEDULE, "mapping of name to [schedule](#schedule), or to a list of them"),
        "names for times of the day and the week",
    ),
    "rules": Key(_named(RULE, "mapping of name to [rule](#rule)"), "what must not happen"),
}


def language(catalog: Catalog) -> tuple[Table, Table]:
    """Return what may stand in the main file and in a file of ``rules.d``."""
    version = Key(Number(1, 1, whole=True), "1, the version of this language", required=True)
    notifiers = Key(
        _named(
            Notifier(catalog), "mapping of name to [notifier](#notifier) and the keys of its plugin"
        ),
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
        "schedules": shared["schedules"],
        "notifiers": shared["notifiers"],
        "defaults": Key(DEFAULTS, "what rules need not repeat; each key is replaced whole"),
        "rules": shared["rules"],
        "internal": Key(INTERNAL, "who hears of hushd's own troubles"),
        "log": Key(LOG, "what the daemon says of itself"),
        "limits": Key(LIMITS, "how much there may be of what others can multiply"),
        "store": Key(STORE, "what outlives a restart, and how"),
    }
    later = ("web",)
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
