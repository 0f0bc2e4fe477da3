"""The JSON Schema, the sample and the documentation say what the reader does."""

import json
import re
from pathlib import Path

import jsonschema
import pytest
from editors import plain

from hushd.config import ConfigError, read, read_text
from hushd.config.document import parse
from hushd.config.language import language
from hushd.config.problems import Report
from hushd.config.schema import json_schema, key_tables, option_table
from hushd.plugin import Catalog

REPO = Path(__file__).parents[2]
GUIDE = REPO / "docs" / "configuration.md"
SAMPLE = REPO / "config" / "hushd.yaml"
VALIDATOR = jsonschema.Draft202012Validator(json_schema())

#: "{...}" is put into a configuration that is otherwise sound, at the place of the name
BASE = {
    "version": 1,
    "sensors": {"noise": {"topic": "home/{room}/noise", "value": "json:level"}},
    "schedules": {"night": {"from": "22:00", "to": "06:00", "timezone": "Europe/Berlin"}},
    "notifiers": {"phone": {"type": "log"}, "desk": {"type": "log"}},
    "rules": {
        "loud": {
            "watch": "noise",
            "measure": "max",
            "over": "5m",
            "warning": {"above": 70},
            "notify": ["phone"],
        }
    },
}


def changed(path, value):
    """Return the sound configuration with one value put, or with a key taken out (...)."""
    out = json.loads(json.dumps(BASE))
    inner = out
    *way, last = path.split(".") if path else [""]
    for key in way:
        inner = inner.setdefault(key, {})
    if value is ...:
        del inner[last]
    elif last:
        inner[last] = value
    return out


RULE = "rules.loud"
SENSOR = "sensors.noise"
NIGHT = "schedules.night"
PHONE = "notifiers.phone"
LEAF = {"watch": "noise", "measure": "max", "over": "5m", "above": 70}
OTHER = {"watch": "noise", "measure": "min", "over": "5m", "below": 30}


@pytest.mark.parametrize(
    ("path", "value", "sound"),
    [
        ("", None, True),
        ("version", 2, False),
        ("version", "1", False),
        ("version", ..., False),
        ("site", {"name": "Hotel", "timezone": "Europe/Berlin"}, True),
        ("site", {"holidays": []}, True),
        ("site", {"holidays": ["2026-12-25"]}, True),
        ("site", {"holidays": ["25.12."]}, False),
        ("site", {"holidays": {"country": "DE", "region": "BE"}}, True),
        ("site", {"holidays": {"country": "AT", "region": 9, "dates": ["2026-12-24"]}}, True),
        ("site", {"holidays": {"country": "Germany"}}, False),
        ("site", {"holidays": {"dates": ["2026-12-24"]}}, False),
        ("site.name", 5, False),
        ("clock", "stamps", True),
        ("clock", "sun", False),
        ("schedules", {}, True),
        (NIGHT, {"timezone": "UTC"}, True),
        (NIGHT, [{"days": "fri-mon, holidays", "timezone": "UTC"}], True),
        (NIGHT, [], False),
        (NIGHT, "22:00", False),
        (f"{NIGHT}.days", "mon - fri", False),
        (f"{NIGHT}.days", "mon-fri,sun", True),
        (f"{NIGHT}.days", "not holidays", True),
        (f"{NIGHT}.days", "mon-fri, not wed", True),
        (f"{NIGHT}.days", "not", False),
        (f"{NIGHT}.days", "mon,", False),
        (f"{NIGHT}.days", "weekend", False),
        (f"{NIGHT}.to", "24:00", True),
        (f"{NIGHT}.to", "24:01", False),
        (f"{NIGHT}.to", "6:00", False),
        (f"{NIGHT}.to", 360, False),
        (f"{NIGHT}.to", ..., False),
        (f"{NIGHT}.from", "24:00", False),
        (f"{NIGHT}.from", ..., False),
        ("mqtt", {"host": "a", "port": 1883, "keepalive": "1m"}, True),
        ("mqtt", {"url": "mqtt://a"}, True),
        ("mqtt", {"url": "mqtt://a", "port": 1883}, False),
        ("mqtt.port", 0, False),
        ("mqtt.port", 1.5, False),
        ("mqtt.keepalive", "30", False),
        ("mqtt", {"username": "a", "password": {"env": "A"}}, True),
        ("mqtt", {"username": "a", "password": "b"}, False),
        ("mqtt", {"username": "a", "password": {}}, False),
        ("mqtt", {"username": "a", "password": {"env": "A", "file": "b"}}, False),
        ("sensors.noise", "home/{room}/noise", True),
        ("sensors.noise", ["home/{room}/noise"], False),
        ("sensors.Noise", "home/noise", False),
        (f"{SENSOR}.topic", ..., False),
        (f"{SENSOR}.topic", " ", False),
        (f"{SENSOR}.valid", [20, 130], True),
        (f"{SENSOR}.valid", [20], False),
        (f"{SENSOR}.valid", ["20", 130], False),
        (f"{SENSOR}.retained", "use", True),
        (f"{SENSOR}.retained", True, False),
        (f"{SENSOR}.time", "json:ts", True),
        (f"{SENSOR}.time", {"path": "json:ts", "format": "ms"}, True),
        (f"{SENSOR}.time", {"format": "ms"}, False),
        (f"{SENSOR}.interval", "10s", True),
        (f"{SENSOR}.interval", "0s", False),
        (f"{SENSOR}.lateness", "0s", True),
        (f"{SENSOR}.lateness", "", False),
        (f"{SENSOR}.expect", [{"room": 101}, {"room": "attic"}], True),
        (f"{SENSOR}.expect", [], False),
        (f"{SENSOR}.expect", [{}], False),
        (f"{SENSOR}.labels", {"wing": "json:wing"}, True),
        (f"{SENSOR}.labels", {"Wing": "json:wing"}, False),
        ("notifiers.phone", {}, False),
        ("notifiers.phone", "log", False),
        (f"{RULE}.watch", ..., False),
        (f"{RULE}.measure", ..., False),
        (f"{RULE}.measure", {"percentile": 95}, True),
        (f"{RULE}.measure", {"percentile": 95, "ln": 5}, False),
        (f"{RULE}.measure", {}, False),
        (f"{RULE}.over", "20 samples", True),
        (f"{RULE}.over", "1 sample", True),
        (f"{RULE}.over", "0 samples", False),
        (f"{RULE}.over", "0s", False),
        (f"{RULE}.over", 10, False),
        (f"{RULE}.over", "1m30s", True),
        (f"{RULE}.over", "30s1m", False),
        (f"{RULE}.min_coverage", 1, True),
        (f"{RULE}.min_coverage", 1.1, False),
        (f"{RULE}.min_samples", 0, False),
        (f"{RULE}.min_samples", 3.0, True),
        (f"{RULE}.enabled", False, True),
        (f"{RULE}.enabled", "no", False),
        (f"{RULE}.each", [], True),
        (f"{RULE}.each", ["room"], True),
        (f"{RULE}.each", "room", False),
        (f"{RULE}.where", {"room": 101}, True),
        (f"{RULE}.where", {"room": [101, "attic"]}, True),
        (f"{RULE}.where", {"room": []}, False),
        (f"{RULE}.warning", ..., False),
        (f"{RULE}.warning", 70, False),
        (f"{RULE}.warning", {}, False),
        (f"{RULE}.warning", {"above": 70, "below": 10}, False),
        (f"{RULE}.warning", {"above": 70, "clear": 60, "for": "0s"}, True),
        (f"{RULE}.warning", {"outside": [10, 70], "clear": [20, 60]}, True),
        (f"{RULE}.warning", {"outside": 10}, False),
        (f"{RULE}.warning", {"above": "loud"}, False),
        (f"{RULE}.warning", {"above": None}, False),
        (f"{RULE}.critical", {"at_least": 90.5}, True),
        (f"{RULE}.no_data", "ignore", True),
        (f"{RULE}.no_data", "never", False),
        (f"{RULE}.no_data", {"after": "10m", "level": "clear"}, True),
        (f"{RULE}.no_data", {"after": "0s"}, False),
        (f"{RULE}.notify", {"warning": ["phone"]}, True),
        (f"{RULE}.notify", {"warnings": ["phone"]}, False),
        (f"{RULE}.notify", {}, False),
        (f"{RULE}.notify", [], True),
        (f"{RULE}.notify", "phone", False),
        (PHONE, {"type": "log", "quiet": "night", "quiet_except": "critical"}, True),
        (PHONE, {"type": "log", "quiet": "not night", "quiet_summary": True}, True),
        (PHONE, {"type": "log", "quiet": "always"}, False),
        (PHONE, {"type": "log", "clears": "no"}, False),
        (PHONE, {"type": "log", "rate_limit": "20 per 1h"}, True),
        (PHONE, {"type": "log", "rate_limit": "0 per 1h"}, False),
        (PHONE, {"type": "log", "rate_limit": "20 per 0s"}, False),
        (PHONE, {"type": "log", "rate_limit": "20/h"}, False),
        (PHONE, {"type": "log", "batch": "30s", "delivery": "every"}, True),
        (PHONE, {"type": "log", "batch": 30}, False),
        (PHONE, {"type": "log", "delivery": "all"}, False),
        (PHONE, {"type": "log", "give_up_after": "6h", "fallback": "desk"}, True),
        (PHONE, {"type": "log", "give_up_after": "0s"}, False),
        (f"{RULE}.during", "night", True),
        (f"{RULE}.during", "not night", True),
        (f"{RULE}.during", "always", True),
        (f"{RULE}.during", "otherwise", False),
        (f"{RULE}.during", "night or not", False),
        (f"{RULE}.during", ["night"], False),
        (f"{RULE}.fresh_window", True, True),
        (f"{RULE}.repeat", "1h", True),
        (f"{RULE}.repeat", "never", True),
        (f"{RULE}.repeat", ["15m", "1h"], True),
        (f"{RULE}.repeat", ["15m", "never"], False),
        (f"{RULE}.repeat", [], False),
        (f"{RULE}.repeat", "0s", False),
        (f"{RULE}.repeat", 0, False),
        (f"{RULE}.cooldown", "0s", True),
        (f"{RULE}.flapping", {"changes": 3, "within": "1h"}, True),
        (f"{RULE}.flapping", "never", True),
        (f"{RULE}.flapping", {"changes": 2, "within": "1h"}, False),
        (f"{RULE}.flapping", {"changes": 3}, False),
        (f"{RULE}.mute_while", [], True),
        (f"{RULE}.message", {"title": "{{ rule }}", "no_data": "nothing"}, True),
        (f"{RULE}.message", {"text": "loud"}, False),
        (f"{RULE}.message", "loud", False),
        (f"{RULE}.link", "https://example.org", True),
        (f"{RULE}.relative_to", {"measure": "max", "over": "1d"}, True),
        (f"{RULE}.relative_to", {"over": "1d"}, False),
        (f"{RULE}.relative_to", {"measure": "max", "over": "1d", "above": 3}, False),
        (f"{RULE}.limits", [{"during": "night", "info": {"above": 50}}], False),
        (f"{RULE}.severity", "info", False),
        (RULE, {"all": [LEAF, OTHER], "severity": "info", "notify": []}, True),
        (RULE, {"any": [LEAF, OTHER], "severity": "info", "notify": []}, True),
        (RULE, {"all": [LEAF, OTHER], "any": [LEAF, OTHER], "severity": "info"}, False),
        (RULE, {"all": [LEAF], "severity": "info", "notify": []}, False),
        (RULE, {"all": [LEAF, OTHER], "notify": []}, False),
        (RULE, {"all": [LEAF, OTHER], "severity": "info", "watch": "noise", "notify": []}, False),
        (RULE, {"all": [LEAF, {"watch": "noise"}], "severity": "info", "notify": []}, False),
        (RULE, {"all": LEAF, "severity": "info", "notify": []}, False),
        (RULE, {"severity": "info", "notify": []}, False),
        (
            RULE,
            {
                "watch": "noise",
                "measure": "max",
                "over": "5m",
                "notify": [],
                "limits": [{"during": "not night", "info": {"above": 50}}],
            },
            True,
        ),
        (
            RULE,
            {
                "watch": "noise",
                "measure": "max",
                "over": "5m",
                "notify": [],
                "limits": [{"info": {"above": 50}}],
            },
            False,
        ),
        ("defaults", {"for": "5m", "no_data": "ignore", "notify": ["phone"]}, True),
        ("defaults", {"repeat": "1h", "cooldown": "5m", "during": "night"}, True),
        ("defaults", {"flapping": "never", "message": {}, "fresh_window": False}, True),
        ("defaults", {"mute_while": []}, False),
        ("internal", {"severity": "info", "notify": ["phone"]}, True),
        ("limits", {"series": 10, "payload": "1MiB"}, True),
        ("limits", {"payload": 65536}, False),
        ("limits", {"inbox": 9}, False),
        ("plugins", {"disable": ["rank"]}, True),
        ("plugins", {"disable": "rank"}, False),
    ],
)
def test_schema_and_reader_agree(path, value, sound, catalog):
    document = changed(path, value)
    assert VALIDATOR.is_valid(document) is sound
    text = json.dumps(document)  # JSON is YAML
    try:
        read_text("sample.yaml", text, catalog)
    except ConfigError:
        assert not sound
    else:
        assert sound


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(json_schema())


def test_a_schema_with_a_catalog_knows_what_is_installed(catalog):
    schema = json_schema(catalog)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid(BASE)
    assert not validator.is_valid(changed(f"{RULE}.measure", "lqe"))
    assert not validator.is_valid(changed(f"{RULE}.measure", {"percentile": 101}))
    assert not validator.is_valid(changed("notifiers.phone", {"type": "lgo"}))
    assert not validator.is_valid(changed("notifiers.phone", {"type": "log", "colour": "red"}))


def test_the_kept_schema_is_up_to_date():
    kept = REPO / "config" / "hushd.schema.json"
    made = json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"
    assert kept.read_text() == made, "write the output of `hushd schema` there"


def test_the_sample_is_sound_and_complete(tmp_path, monkeypatch):
    (tmp_path / "mqtt").write_text("swordfish\n")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    config = read(SAMPLE, for_run=True)
    assert config.warnings == ()
    text = SAMPLE.read_text()
    assert text.startswith("# yaml-language-server: $schema=hushd.schema.json\n")
    main, _ = language(Catalog())
    skipped = {"credential", "file", "env", *("below", "at_most", "outside", "inside")}
    for table in main.parts():
        for key in table.keys.keys() - skipped:
            assert re.search(rf"\b{key}:", text), f"{key} of {table.name} is not in the sample"
    node = parse("hushd.yaml", text, Report())
    assert VALIDATOR.is_valid(plain(node))


def test_the_guide_holds_the_tables_of_keys():
    assert key_tables() in GUIDE.read_text(), "write the output of key_tables() there"


@pytest.mark.parametrize(
    "name", ["alertmanager", "apprise", "command", "email", "journal", "log", "mqtt", "webhook"]
)
def test_the_page_on_notifiers_holds_the_tables_of_options(name, catalog):
    page = (REPO / "docs" / "notifiers.md").read_text()
    (section,) = re.findall(rf"^## {name}$(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert option_table(catalog.notifiers[name]) in section, "write its option_table() there"
    assert f"type: {name}" in section


def examples():
    blocks = re.findall(r"```yaml\n(version: 1\n.*?)```", GUIDE.read_text(), re.DOTALL)
    assert blocks
    return blocks


@pytest.mark.parametrize("text", examples())
def test_the_examples_of_the_guide_are_sound(text, catalog, monkeypatch):
    monkeypatch.setenv("NTFY_URL", "https://ntfy.example.org/topic")
    monkeypatch.setenv("HOOK_TOKEN", "secret")
    config = read_text("guide.yaml", text, catalog, for_run=True)
    assert config.warnings == ()
