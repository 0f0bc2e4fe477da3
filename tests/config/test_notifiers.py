"""How each notifier wants to be told, whatever its type."""

from dataclasses import replace

import pytest

from hushd.config import ConfigError, read_text
from hushd.core.rules import During, Manner, Rate
from hushd.plugin import NotifierType, Option

SECOND = 10**9
HEAD = """\
version: 1
site: {timezone: Europe/Berlin}
sensors: {noise: "home/{room}/noise"}
schedules: {night: {from: 22:00, to: 06:00}}
rules:
  loud: {watch: noise, measure: max, over: 5m, warning: {above: 70}, notify: [phone]}
"""


def manner(text, catalog, kind="log"):
    config = read_text(
        "x.yaml",
        f"{HEAD}notifiers:\n  desk: {{type: log}}\n  phone: {{type: {kind}{text}}}\n",
        catalog,
    )
    return config.notifiers["phone"].manner


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Manner()),
        ("quiet: night", Manner(quiet=During("night"))),
        (
            "quiet: not night, quiet_except: critical, quiet_summary: true",
            Manner(quiet=During("night", True), quiet_except="critical", quiet_summary=True),
        ),
        ("clears: false", Manner(clears=False)),
        ("clears: true", Manner()),
        ("rate_limit: 20 per 1h", Manner(rate=Rate(20, 3600 * SECOND))),
        ("batch: 30s", Manner(batch=30 * SECOND)),
        ("batch: 0s", Manner()),
        ("delivery: every", Manner(every=True)),
        ("delivery: latest", Manner()),
        ("give_up_after: 6h", Manner(give_up_after=6 * 3600 * SECOND)),
        ("fallback: desk", Manner(fallback="desk")),
    ],
)
def test_a_key_is_a_field(text, expected, catalog):
    assert manner(f", {text}" if text else "", catalog) == expected


def test_what_keeps_records_hears_of_every_transition_unless_told_otherwise(catalog):
    assert manner(", path: x.jsonl", catalog, "journal").every
    assert not manner(", path: x.jsonl, delivery: latest", catalog, "journal").every


def test_what_forgets_is_reminded(catalog):
    option = Option("refresh", "", "duration", default=60 * SECOND)
    types = {
        name: NotifierType(name, "", lambda *_: None, (option,), refreshes=refreshes)
        for name, refreshes in (("forgets", True), ("remembers", False))
    }
    catalog = replace(catalog, notifiers={**catalog.notifiers, **types})
    assert manner("", catalog, "forgets").refresh == 60 * SECOND
    assert manner(", refresh: 5s", catalog, "forgets").refresh == 5 * SECOND
    assert manner(", refresh: 5s", catalog, "remembers").refresh == 0


def test_an_option_of_a_plugin_that_is_called_as_one_of_ours_is_the_plugins(catalog):
    option = Option("batch", "", "integer")
    own = NotifierType("own", "", lambda *_: None, (option,))
    catalog = replace(catalog, notifiers={**catalog.notifiers, "own": own})
    config = read_text(
        "x.yaml", f"{HEAD}notifiers:\n  phone: {{type: own, batch: 5, clears: false}}\n", catalog
    )
    assert config.notifiers["phone"].options == {"batch": 5}
    assert config.notifiers["phone"].manner == Manner(clears=False)


def test_who_only_stands_in_is_told(catalog):
    text = f"{HEAD}notifiers:\n  phone: {{type: log, fallback: desk}}\n  desk: {{type: log}}\n"
    assert not [p for p in read_text("x.yaml", text, catalog).warnings if "desk" in p.message]


@pytest.mark.parametrize(
    ("fallbacks", "circles"),
    [
        ({"a": "b", "b": "c"}, 0),
        ({"a": "b", "b": "a"}, 1),
        ({"a": "b", "b": "c", "c": "a"}, 1),
        ({"a": "b", "b": "c", "c": "b"}, 1),
        ({"a": "b", "b": "a", "c": "a"}, 1),
        ({"a": "b", "b": "a", "c": "d", "d": "c"}, 2),
        ({"a": "c", "b": "c"}, 0),
    ],
)
def test_fallbacks_that_go_round_are_told_once_for_each_circle(fallbacks, circles, catalog):
    lines = "".join(
        f"  {name}: {{type: log{f', fallback: {fallbacks[name]}' if name in fallbacks else ''}}}\n"
        for name in "abcd"
    )
    text = f"{HEAD}notifiers:\n  phone: {{type: log}}\n{lines}"
    said = []
    try:
        read_text("x.yaml", text, catalog)
    except ConfigError as exc:
        said = [p for p in exc.problems if p.severity == "error"]
    assert [p.message.startswith("the fallbacks go round") for p in said] == [True] * circles
