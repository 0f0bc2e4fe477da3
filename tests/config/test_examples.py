"""Six examples of the language, from the shortest to one with everything, are sound."""

from dataclasses import replace
from pathlib import Path

import pytest

from hushd.config import read_text, render
from hushd.plugin import NotifierType, Option, load

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


@pytest.mark.parametrize("path", sorted(HERE.glob("*.yaml")), ids=lambda path: path.stem)
def test_an_example_is_sound(path, monkeypatch):
    for name in ("NTFY", "RECEPTION", "MANAGER", "TEACHER", "OFFICE", "MAINT"):
        monkeypatch.setenv(f"{name}_URL", "https://example.org/there")
    monkeypatch.setenv("COUNCIL_MAIL", "mailto://example.org")
    config = read_text(path.name, path.read_bytes(), catalog(), for_run=True)
    assert render(config.warnings) == ""
    assert config.rules.rules
