"""The six examples of the language's design: what this version knows of them is sound."""

from dataclasses import replace
from pathlib import Path

import pytest

from hushd.config import ConfigError, read_text
from hushd.plugin import NotifierType, Option, load

HERE = Path(__file__).parent / "examples"


def stand_in(name, *options):
    """Return a type of notifier that need not be installed here."""
    return NotifierType(name, "", lambda *_: None, tuple(Option(*option) for option in options))  # type: ignore[arg-type,return-value]  # never opened


def catalog():
    real = load()
    types = {
        "apprise": stand_in("apprise", ("url", "", "url")),
        "mqtt": stand_in("mqtt", ("topic", "", "text")),
        "command": stand_in("command", ("command", "", "texts")),
    }
    return replace(real, notifiers={**real.notifiers, **types})


@pytest.mark.parametrize(
    ("name", "later"),
    [
        ("1-minimal", set()),
        (
            "2-night-noise",
            {
                *("schedules", "rate_limit", "fallback", "delivery", "during", "fresh_window"),
                *("repeat", "cooldown", "message"),
            },
        ),
        (
            "3-day-evening-night",
            {"holidays", "schedules", "quiet", "quiet_except", "limits"},
        ),
        ("4-combined", {"schedules", "all", "during", "severity", "mute_while"}),
        ("5-air-and-count-window", {"format", "delivery", "give_up_after", "flapping"}),
        (
            "6-machine-band-and-events",
            {"schedules", "batch", "rate_limit", "clears", "during", "repeat"},
        ),
    ],
)
def test_only_what_later_versions_bring_is_refused(name, later):
    path = HERE / f"{name}.yaml"
    refused = set()
    try:
        read_text(path.name, path.read_bytes(), catalog())
    except ConfigError as exc:
        for problem in exc.problems:
            if problem.severity == "error":
                assert problem.message.startswith("this version does not know"), str(problem)
                refused.add(problem.message.split('"')[1])
    assert refused == later
