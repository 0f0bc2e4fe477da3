"""Six examples of the language, from the shortest to one with everything, are sound."""

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from editors import plain
from hypothesis import given, settings
from hypothesis import strategies as st

from hushd.config import ConfigError, read_text, render
from hushd.config.document import parse
from hushd.config.language import language
from hushd.config.problems import Report
from hushd.config.schema import json_schema
from hushd.plugin import Catalog, NotifierType, Option, load

HERE = Path(__file__).parent / "examples"


def stand_in(name, *options):
    """Return a type of notifier that need not be installed here."""
    return NotifierType(name, "", lambda *_: None, tuple(Option(*option) for option in options))  # type: ignore[arg-type,return-value]  # never opened


def catalog():
    real = load()
    types = {
        "apprise": stand_in("apprise", ("url", "", "url"), ("format", "", "text")),
        "mqtt": stand_in("mqtt", ("topic", "", "text")),
        "command": stand_in("command", ("command", "", "texts")),
    }
    return replace(real, notifiers={**real.notifiers, **types})


CATALOG = catalog()
VALIDATOR = jsonschema.Draft202012Validator(json_schema())


@pytest.mark.parametrize("path", sorted(HERE.glob("*.yaml")), ids=lambda path: path.stem)
def test_an_example_is_sound(path, monkeypatch):
    for name in ("NTFY", "RECEPTION", "MANAGER", "TEACHER", "OFFICE", "MAINT"):
        monkeypatch.setenv(f"{name}_URL", "https://example.org/there")
    monkeypatch.setenv("COUNCIL_MAIL", "mailto://example.org")
    config = read_text(path.name, path.read_bytes(), CATALOG, for_run=True)
    assert render(config.warnings) == ""
    assert config.rules.rules


SAMPLES = [
    path.read_bytes()
    for path in (*sorted(HERE.glob("*.yaml")), *sorted((HERE.parent / "problems").glob("fine-*")))
    if path.suffix == ".yaml"
]
KEYS = sorted({key for table in language(Catalog())[0].parts() for key in table.keys})
WORDS = st.sampled_from(
    [
        *[None, "", [], {}, [[]], [{}], {"a": 1}, 0, -1, 1.5, True, "0s", "5m", ["5m", "x"]],
        *["x", "night", "not night", "always", "otherwise", "never", "critical", ["noise"]],
        *["mon-fri, holidays", "20 per 1h", {"country": "DE"}, {"above": 3}],
        *[{"measure": "max", "over": "1h"}, [{"during": "night", "info": {"above": 3}}]],
        [{"watch": "noise", "measure": "last", "above": 3}] * 2,
    ]
).map(lambda word: json.loads(json.dumps(word)))  # a new one each time: it may be changed


def places(node):
    """Yield each list or mapping with each of its keys."""
    inner = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in inner:
        yield node, key
        if isinstance(value, dict | list):
            yield from places(value)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_whatever_stands_under_a_key_is_told_and_editors_accept_what_is_sound(data):
    report = Report()
    document = plain(parse("x.yaml", data.draw(st.sampled_from(SAMPLES)), report))
    for _ in range(data.draw(st.integers(1, 3))):
        holder, key = data.draw(st.sampled_from(list(places(document))))
        if data.draw(st.booleans()):
            holder[key] = data.draw(WORDS)
        elif isinstance(holder[key], dict):
            holder[key][data.draw(st.sampled_from(KEYS))] = data.draw(WORDS)
        else:
            del holder[key]
    try:
        config = read_text("x.yaml", json.dumps(document), CATALOG)
    except ConfigError as exc:
        config = None
        said = str(exc)
    assert VALIDATOR.is_valid(document) if config is not None else said
