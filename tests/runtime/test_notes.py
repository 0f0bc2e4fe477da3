"""What people read."""

from dataclasses import replace
from zoneinfo import ZoneInfo

import pytest

from hushd.core.readings import SECOND
from hushd.core.transitions import Transition
from hushd.runtime.notes import write

NOON = 1742641200 * SECOND  # 2025-03-22T11:00:00Z, 12:00 in Berlin
MINUTE = 60 * SECOND
BERLIN = ZoneInfo("Europe/Berlin")

LOUD = Transition(
    at=NOON,
    rule="too-loud",
    labels=(("room", "101"),),
    event="raised",
    severity="warning",
    was=None,
    value=72.3167,
    limit=70.0,
    episode=1,
    id="abc",
    reason="value",
    peak=72.3167,
    started=NOON,
    sensor="noise",
    measure="leq",
    over="5m",
    unit="dBA",
    samples=300,
    coverage=1.0,
    about="Guests must not be disturbed.",
    notify=(("warning", ("reception",)),),
)
QUIET = replace(
    LOUD, at=NOON + 12 * MINUTE, event="cleared", severity=None, value=61.04, peak=75.06
)
SILENT = replace(
    LOUD, rule="noise/no-data", value=None, limit=None, peak=None, over="", measure="", about=""
)


@pytest.mark.parametrize(
    ("transition", "kind", "title"),
    [
        (LOUD, "raised", "Room 101: noise over 5m is 72.3 dBA, limit 70 (warning)"),
        (LOUD, "raised_again", "Room 101: noise over 5m is again 72.3 dBA, limit 70 (warning)"),
        (
            replace(LOUD, labels=(("floor", "1"), ("room", "101")), over=""),
            "escalated",
            "Floor 1, room 101: noise is worse: 72.3 dBA, limit 70 (warning)",
        ),
        (
            replace(LOUD, labels=()),
            "raised",
            "Too-loud: noise over 5m is 72.3 dBA, limit 70 (warning)",
        ),
        (
            QUIET,
            "cleared",
            "Room 101: noise over 5m is 61 dBA, all well again after 12m (worst 75.1 dBA)",
        ),
        (
            QUIET,
            "missed",
            "Room 101: noise over 5m was too much and is well again after 12m (worst 75.1 dBA)",
        ),
        (
            replace(QUIET, reason="rule_removed"),
            "cleared",
            "Room 101: noise over 5m: alert ended after 12m (rule removed)",
        ),
        (SILENT, "raised", "Room 101: no noise readings, noticed 2025-03-22 12:00 (warning)"),
        (SILENT, "cleared", "Room 101: noise sends again"),
        (replace(LOUD, event="no_data"), "no_data", "Room 101: no noise readings"),
    ],
)
def test_title(transition, kind, title):
    assert write(transition, kind, transition.severity, "k", BERLIN).title == title


def test_text_and_the_rest():
    note = write(LOUD, "raised", "warning", "abc-phone", None)
    assert note.text == (
        "Guests must not be disturbed.\n"
        "Worst so far: 72.3 dBA.\n"
        "Since 2025-03-22 11:00 UTC.\n"
        "Rule: too-loud."
    )
    assert (note.kind, note.severity, note.key) == ("raised", "warning", "abc-phone")
    assert note.record == LOUD.record()


def test_people_are_told_that_readings_are_missing():
    note = write(replace(LOUD, incomplete=True), "raised", "warning", "key", BERLIN)
    assert "Some readings are missing in this window" in note.text
    assert note.record["incomplete"] is True
    assert "missing" not in write(LOUD, "raised", "warning", "key", BERLIN).text
