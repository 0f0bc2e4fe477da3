"""The keys of a file of rule tests."""

from typing import Any

from hushd.cli.rule_test_words import Exactly, Moment, Series
from hushd.config.document import Node
from hushd.config.language.words import LABEL_NAME, NAME, PATH
from hushd.config.problems import Report
from hushd.config.scalars import BAD, Flag, Label, Span, Text, Word
from hushd.config.shape import Entries, Many
from hushd.config.table import Key, Table
from hushd.core.rules import SEVERITIES

STATES = ("ok", "pending", "firing", "clearing", "warming", "inactive", "suspended")
KINDS = (
    *("raised", "raised_again", "escalated", "lowered", "cleared", "missed", "flapping", "steady"),
    *("repeat", "no_data", "data_back", "several"),
)
#: what may be expected at one time, and what of the messages between two
AT = ("state", "severity", "value", "no_data")
BETWEEN = ("told", "message")

LABELS = Entries(LABEL_NAME, Label(), "mapping of labels", example="labels: {room: 101}")
#: also `noise/no-data`, the alert of a silent sensor
RULE = Text("rule", "[a-z0-9][a-z0-9-]*(/no-data)?", "write the name of a rule")


class Labelled(Table):
    """A table in which every other key is the name of a label."""

    def read(self, node: Node, report: Report) -> Any:
        """Read it; the labels are under "labels", as ``{name: (place, value)}``."""
        if node.kind != "map":
            return super().read(node, report)
        own = Node("map", node.mark)
        own.at = node.at
        own.entries = {name: x for name, x in node.entries.items() if name in self.keys}
        section = super().read(own, report)
        if section is BAD:
            return BAD
        labels = dict(section["labels"] or {})
        for name, entry in node.entries.items():
            if name not in self.keys:
                labels[name] = (entry.key, Label().read(entry.node, report))
        section.put("labels", node.at, node.mark, labels)
        return section


FEED = Table(
    "feed",
    {
        "sensor": Key(NAME, "whose readings these are", required=True),
        "labels": Key(LABELS, "the labels that its topic names, and their values"),
        "at": Key(Moment(), "when the first value comes", otherwise="at the start of the test"),
        "every": Key(Span(), "how long after each the next one comes", required=True),
        "values": Key(Series(), 'the values, as in "30x18 55x120 _x60"', required=True),
    },
    example='{sensor: noise, labels: {room: 101}, every: 10s, values: "30x18 55x120"}',
)
SILENCE = Labelled(
    "silence",
    {
        "rule": Key(RULE, "whose alerts nobody hears of", otherwise="those of all"),
        "labels": Key(LABELS, "labels that they carry"),
        "from": Key(Moment(), "when it begins", required=True),
        "to": Key(Moment(), "when it ends", required=True),
    },
    example="{rule: night-noise, room: 101, from: 22:00, to: 23:00}",
)
EXPECTATION = Labelled(
    "expectation",
    {
        "at": Key(Moment(), "when an alert is looked at"),
        "between": Key(
            Many(Moment(), "two times", 2, "two times, such as [21:55, 22:20]"),
            "from when to when messages are looked at, both included",
        ),
        "rule": Key(RULE, "whose alert, or the messages about which"),
        "labels": Key(LABELS, "its labels, where their names mean something else here"),
        "state": Key(Word(STATES), "how it stands"),
        "severity": Key(Word(SEVERITIES), "how bad it is"),
        "value": Key(Exactly(), "what its window says"),
        "no_data": Key(Flag(), "whether the rule hears nothing any more"),
        "told": Key(
            Entries(
                NAME,
                Many(Word(KINDS), "list of kinds"),
                "kinds of messages by notifier",
                1,
                "told: {reception: [raised, cleared]}",
            ),
            "the kinds of messages that each notifier is told, all of them, in order",
        ),
        "message": Key(
            Entries(NAME, Text(), "text by notifier", 1, 'message: {reception: "limit 40"}'),
            "a text that stands in a message to each notifier",
        ),
    },
    one_of=("at", "between"),
    needs={
        **dict.fromkeys(AT, ("at",)),
        **dict.fromkeys(BETWEEN, ("between",)),
        "between": BETWEEN,
    },
    example="{at: 22:09, rule: night-noise, room: 101, state: firing}",
)
TEST = Table(
    "test",
    {
        "name": Key(Text(), "what is so if it passes", required=True),
        "rules": Key(
            PATH, "the configuration whose rules are tried, relative to this file", required=True
        ),
        "start": Key(Moment(whole=True), "when it starts, in the site's time zone", required=True),
        "feed": Key(Many(FEED, "list of feeds"), "what the sensors say"),
        "silences": Key(Many(SILENCE, "list of silences"), "when people asked for quiet"),
        "expect": Key(
            Many(
                EXPECTATION, "list of expectations", 1, f"a list, such as [{EXPECTATION.example}]"
            ),
            "what is to be so",
            required=True,
        ),
    },
    example="a test with name, rules, start, feed and expect",
)
FILE = Table(
    "file of tests",
    {"tests": Key(Many(TEST, "list of tests", 1), "the tests, each by itself", required=True)},
    example="tests: and below it a list of tests",
)
