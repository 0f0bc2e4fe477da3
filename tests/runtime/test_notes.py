"""What people read: every kind of message, word by word."""

import re
from dataclasses import replace
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from hushd.core.readings import SECOND
from hushd.core.rules import Input, Leaf, Limit, Measure, Over, Rule
from hushd.core.transitions import Part, Transition
from hushd.runtime.notes import LONGEST, Current, late, write

NOON = 1742641200 * SECOND  # 2025-03-22T11:00:00Z, 12:00 in Berlin
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
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
WORSE = replace(LOUD, at=NOON + 3 * MINUTE, severity="critical", value=82.4, limit=80.0, peak=82.4)
BETTER = replace(LOUD, at=NOON + 9 * MINUTE, was="critical", value=71.0, peak=85.06)
QUIET = replace(
    LOUD, at=NOON + 12 * MINUTE, event="cleared", severity=None, value=61.04, peak=75.06
)
SILENT = replace(
    LOUD, rule="noise/no-data", value=None, limit=None, peak=None, over="", measure="", about=""
)
HEARD = replace(SILENT, at=NOON + HOUR, event="cleared", severity=None, reason="data")
BROKER = replace(SILENT, rule="internal/broker", labels=(), about="connection refused")
PARTS = (
    Part("noise", "leq", "10m", 67.24, 65.0, "dBA", True),
    Part("vibration", "max", "10m", 6.08, 5.0, "mm/s", True),
)
PILING = replace(
    LOUD,
    rule="piling-nuisance",
    labels=(("zone", "north"),),
    severity="critical",
    value=1.0,
    limit=1.0,
    peak=None,
    about="",
    parts=PARTS,
)
STILL = replace(
    PILING,
    at=QUIET.at,
    event="cleared",
    severity=None,
    value=0.0,
    parts=(PARTS[0]._replace(value=58.0, holds=False), PARTS[1]._replace(value=None, holds=None)),
)


@pytest.mark.parametrize(
    ("transition", "kind", "title", "text"),
    [
        (
            LOUD,
            "raised",
            "Room 101: noise over 5m is 72.3 dBA, limit 70 (warning)",
            "Guests must not be disturbed.\nSince 2025-03-22 12:00.\nRule: too-loud.",
        ),
        (
            LOUD,
            "raised_again",
            "Room 101: noise over 5m is again 72.3 dBA, limit 70 (warning)",
            "Guests must not be disturbed.\nSince 2025-03-22 12:00.\nRule: too-loud.",
        ),
        (
            WORSE,
            "escalated",
            "Room 101: noise over 5m is worse: 82.4 dBA, limit 80 (critical)",
            "Guests must not be disturbed.\nSince 2025-03-22 12:00.\nRule: too-loud.",
        ),
        (
            BETTER,
            "lowered",
            "Room 101: noise over 5m is better: 71 dBA, limit 70 (warning)",
            (
                "Guests must not be disturbed.\nWorst so far: 85.1 dBA.\n"
                "Since 2025-03-22 12:00.\nRule: too-loud."
            ),
        ),
        (
            replace(LOUD, peak=75.06),
            "repeat",
            "Room 101: noise over 5m is still not well after 45 min, limit 70 (warning)",
            (
                "Guests must not be disturbed.\nAt 2025-03-22 12:00 it was 72.3 dBA.\n"
                "Worst so far: 75.1 dBA.\nSince 2025-03-22 12:00.\nRule: too-loud."
            ),
        ),
        (
            QUIET,
            "cleared",
            "Room 101: noise over 5m is 61 dBA, all well again after 12 min (worst 75.1 dBA)",
            (
                "Guests must not be disturbed.\nWorst: 75.1 dBA.\n"
                "From 2025-03-22 12:00 to 12:12.\nRule: too-loud."
            ),
        ),
        (
            QUIET,
            "missed",
            (
                "Room 101: noise over 5m was beyond its limit and is well again after 12 min"
                " (worst 75.1 dBA)"
            ),
            (
                "Guests must not be disturbed.\nWorst: 75.1 dBA.\n"
                "From 2025-03-22 12:00 to 12:12.\nRule: too-loud."
            ),
        ),
        (
            replace(QUIET, reason="schedule", about=""),
            "cleared",
            "Room 101: noise over 5m: ended, monitoring period over; it lasted 12 min (worst 75.1 dBA)",
            "Worst: 75.1 dBA.\nFrom 2025-03-22 12:00 to 12:12.\nRule: too-loud.",
        ),
        (
            replace(QUIET, reason="rule_removed", about="", peak=None),
            "cleared",
            "Room 101: noise over 5m: cleared (rule removed); it lasted 12 min",
            "From 2025-03-22 12:00 to 12:12.\nRule: too-loud.",
        ),
        (
            replace(QUIET, reason="no_data_clear", about="", peak=None),
            "cleared",
            "Room 101: noise over 5m: cleared (nothing is heard any more); it lasted 12 min",
            "From 2025-03-22 12:00 to 12:12.\nRule: too-loud.",
        ),
        (
            replace(QUIET, reason="manual", about="", peak=None),
            "cleared",
            "Room 101: noise over 5m: cleared by hand; it lasted 12 min",
            "From 2025-03-22 12:00 to 12:12.\nRule: too-loud.",
        ),
        (
            replace(QUIET, reason="sold", about="", peak=None),
            "cleared",
            "Room 101: noise over 5m: alert ended after 12 min (sold)",
            "From 2025-03-22 12:00 to 12:12.\nRule: too-loud.",
        ),
        (
            replace(LOUD, event="flapping", about=""),
            "flapping",
            "Room 101: noise over 5m keeps going beyond its limit and back, limit 70 (warning)",
            (
                "Nothing more is told of it until it is steady.\n"
                "Since 2025-03-22 12:00.\nRule: too-loud."
            ),
        ),
        (
            replace(LOUD, event="steady", about=""),
            "steady",
            "Room 101: noise over 5m is steady again: 72.3 dBA, limit 70 (warning)",
            "Since 2025-03-22 12:00.\nRule: too-loud.",
        ),
        (
            replace(LOUD, event="no_data", about=""),
            "no_data",
            "Room 101: no noise readings",
            "Since 2025-03-22 12:00.\nRule: too-loud.",
        ),
        (
            replace(LOUD, event="data_back", about=""),
            "data_back",
            "Room 101: noise sends again",
            "Since 2025-03-22 12:00.\nRule: too-loud.",
        ),
        (
            SILENT,
            "raised",
            "Room 101: no noise readings, noticed 2025-03-22 12:00 (warning)",
            "Since 2025-03-22 12:00.\nRule: noise/no-data.",
        ),
        (
            SILENT,
            "repeat",
            "Room 101: still no noise readings after 45 min, noticed 2025-03-22 12:00 (warning)",
            "Since 2025-03-22 12:00.\nRule: noise/no-data.",
        ),
        (
            SILENT,
            "flapping",
            "Room 101: noise keeps falling silent (warning)",
            (
                "Nothing more is told of it until it is steady.\n"
                "Since 2025-03-22 12:00.\nRule: noise/no-data."
            ),
        ),
        (
            HEARD,
            "cleared",
            "Room 101: noise sends again after 1 h",
            "From 2025-03-22 12:00 to 13:00.\nRule: noise/no-data.",
        ),
        (
            HEARD,
            "missed",
            "Room 101: noise was silent and sends again after 1 h",
            "From 2025-03-22 12:00 to 13:00.\nRule: noise/no-data.",
        ),
        (
            replace(HEARD, reason="rule_removed"),
            "cleared",
            "Room 101: noise readings: cleared (rule removed); it lasted 1 h",
            "From 2025-03-22 12:00 to 13:00.\nRule: noise/no-data.",
        ),
        (
            BROKER,
            "raised",
            "Hushd: no connection to the broker (warning)",
            "connection refused.\nSince 2025-03-22 12:00.\nRule: internal/broker.",
        ),
        (
            replace(BROKER, at=NOON + HOUR, event="cleared", severity=None),
            "cleared",
            "Hushd: connected to the broker again after 1 h",
            "connection refused.\nSince 2025-03-22 12:00.\nRule: internal/broker.",
        ),
        (
            PILING,
            "raised",
            (
                "Zone north: noise leq over 10m is 67.2 dBA (limit 65) and vibration max over 10m is"
                " 6.08 mm/s (limit 5), critical"
            ),
            "Since 2025-03-22 12:00.\nRule: piling-nuisance.",
        ),
        (
            replace(PILING, parts=(PARTS[0]._replace(holds=False), PARTS[1])),  # one of `any`
            "raised_again",
            "Zone north: again: vibration max over 10m is 6.08 mm/s (limit 5), critical",
            "Since 2025-03-22 12:00.\nRule: piling-nuisance.",
        ),
        (
            PILING,
            "repeat",
            (
                "Zone north: still not well after 45 min: noise leq over 10m is 67.2 dBA (limit 65) and"
                " vibration max over 10m is 6.08 mm/s (limit 5), critical"
            ),
            "Since 2025-03-22 12:00.\nRule: piling-nuisance.",
        ),
        (
            replace(PILING, parts=PARTS[:1]),
            "flapping",
            (
                "Zone north: piling-nuisance keeps coming and going: noise leq over 10m is 67.2 dBA"
                " (limit 65), critical"
            ),
            (
                "Nothing more is told of it until it is steady.\n"
                "Since 2025-03-22 12:00.\nRule: piling-nuisance."
            ),
        ),
        (
            replace(PILING, parts=PARTS[:1]),
            "steady",
            "Zone north: steady again: noise leq over 10m is 67.2 dBA (limit 65), critical",
            "Since 2025-03-22 12:00.\nRule: piling-nuisance.",
        ),
        (
            STILL,
            "cleared",
            (
                "Zone north: all well again after 12 min: noise leq over 10m is 58 dBA (limit 65) and"
                " vibration max over 10m cannot be judged"
            ),
            "From 2025-03-22 12:00 to 12:12.\nRule: piling-nuisance.",
        ),
        (
            replace(STILL, parts=STILL.parts[:1]),
            "missed",
            (
                "Zone north: piling-nuisance was on and is well again after 12 min;"
                " now noise leq over 10m is 58 dBA (limit 65)"
            ),
            "From 2025-03-22 12:00 to 12:12.\nRule: piling-nuisance.",
        ),
        (
            replace(STILL, reason="schedule"),
            "cleared",
            "Zone north: piling-nuisance: ended, monitoring period over; it lasted 12 min",
            "From 2025-03-22 12:00 to 12:12.\nRule: piling-nuisance.",
        ),
    ],
)
def test_every_message_word_by_word(transition, kind, title, text):
    now = NOON + 45 * MINUTE
    note = write(transition, kind, transition.severity, "k", BERLIN, now=now)
    assert (note.title, note.text) == (title, text)
    assert (note.kind, note.severity, note.key) == (kind, transition.severity, "k")
    assert note.record == transition.record()


@pytest.mark.parametrize(
    ("changed", "title"),
    [
        (
            {"labels": (("floor", "1"), ("room", "101")), "over": ""},
            "Floor 1, room 101: noise is 72.3 dBA, limit 70 (warning)",
        ),
        ({"labels": ()}, "Too-loud: noise over 5m is 72.3 dBA, limit 70 (warning)"),
        ({"unit": ""}, "Room 101: noise over 5m is 72.3, limit 70 (warning)"),
        ({"value": None}, "Room 101: noise over 5m is unknown, limit 70 (warning)"),
        ({"limit": None}, "Room 101: noise over 5m is 72.3 dBA (warning)"),
        (
            {"sensor": "door", "measure": "{count_above: 85}", "unit": "", "value": 12.0},
            "Room 101: door count above 85 over 5m is 12, limit 70 (warning)",
        ),
        ({"limit": 1_234_567.0}, "Room 101: noise over 5m is 72.3 dBA, limit 1234567 (warning)"),
    ],
)
def test_titles_say_what_there_is(changed, title):
    assert write(replace(LOUD, **changed), "raised", "warning", "k", BERLIN).title == title


BACKGROUND = Input("noise", Measure("ln", 90.0), Over(span=HOUR))
EMERGENCE = Rule(
    name="emergence",
    sensor="noise",
    each=("room",),
    measure=Measure("leq"),
    over=Over(span=10 * MINUTE),
    limits=(Limit("warning", "above", 5.0),),
    relative_to=BACKGROUND,
)


@pytest.mark.parametrize(
    ("value", "told"),
    [(8.31, "8.31 dB above noise ln 90 over 1h"), (-3.0, "3 dB below noise ln 90 over 1h")],
)
def test_a_difference_says_from_what(value, told):
    transition = replace(LOUD, value=value, limit=5.0, over="10m", unit="dB")
    note = write(transition, "raised", "warning", "k", BERLIN, rule=EMERGENCE)
    assert note.title == f"Room 101: noise leq over 10m is {told}, limit 5 (warning)"


def test_a_difference_among_several_conditions_says_from_what():
    own = Input("noise", Measure("leq"), Over(span=10 * MINUTE))
    limit = EMERGENCE.limits[0]
    rule = replace(EMERGENCE, leaves=(Leaf(own, limit, BACKGROUND), Leaf(own, limit)), join="all")
    parts = (PARTS[0]._replace(value=8.3, limit=5.0, unit="dB"), PARTS[1])
    note = write(replace(PILING, parts=parts), "raised", "critical", "k", BERLIN, rule=rule)
    assert "is 8.3 dB above noise ln 90 over 1h (limit 5) and vibration max" in note.title


def test_what_is_too_long_for_a_title_stands_in_the_text():
    note = write(replace(PILING, parts=PARTS * 4), "raised", "critical", "k", BERLIN)
    assert (len(note.title), note.title[-1]) == (LONGEST, "…")
    whole = note.text.splitlines()[0]
    assert whole.startswith(note.title[:-1])
    assert whole.count("vibration max") == 4


def test_utc_is_said_where_the_zone_is_not_known():
    note = write(LOUD, "raised", "warning", "abc-phone", None)
    assert "Since 2025-03-22 11:00 UTC." in note.text
    note = write(replace(QUIET, at=NOON + 30 * HOUR), "cleared", None, "abc-phone", None)
    assert "From 2025-03-22 11:00 UTC to 2025-03-23 17:00 UTC." in note.text


def test_what_is_told_late_says_so_first_and_when():
    note = late(write(LOUD, "raised", "warning", "k", BERLIN), NOON, NOON + 3 * HOUR, BERLIN)
    assert note.title == "[late 3 h] Room 101: noise over 5m is 72.3 dBA, limit 70 (warning)"
    assert note.text.endswith("It happened at 2025-03-22 12:00; told at 2025-03-22 15:00.")


def test_people_are_told_that_readings_are_missing():
    note = write(replace(LOUD, incomplete=True), "raised", "warning", "key", BERLIN)
    assert "Some readings are missing in this window" in note.text
    assert note.record["incomplete"] is True
    assert "missing" not in write(LOUD, "raised", "warning", "key", BERLIN).text


def test_the_page_shows_messages_as_they_are():
    page = (Path(__file__).parents[2] / "docs/messages.md").read_text(encoding="utf-8")
    shown = re.findall(r"(?m)^\| [^|]+ \| (\S.*: .*) \|$", page.split("## Words", 1)[0])
    cases = test_every_message_word_by_word.pytestmark[0].args[1]
    golden = {title for _, _, title, _ in cases}
    minutes = NOON + 45 * MINUTE
    again = write(LOUD, "repeat", "warning", "k", None, now=minutes, current=Current(74.0))
    golden |= {
        again.title,
        f"[late 3 h] {write(LOUD, 'raised', 'warning', 'k', BERLIN).title}",
        "Room 101: noise leq over 10m is 8.31 dB above noise ln 90 over 1h, limit 5 (warning)",
    }
    assert len(shown) == 17
    assert [title for title in shown if title not in golden] == []
