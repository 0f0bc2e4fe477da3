"""A daemon without a world: it decides what the others decide, and tells what they would tell."""

import json
from pathlib import Path

import pytest

from hushd.config import Config, read
from hushd.core.mutes import Mute
from hushd.core.readings import Reading, labels_of
from hushd.core.transitions import rfc3339
from hushd.runtime.clocks import RecordedClock
from hushd.runtime.intake import Intake
from hushd.runtime.logs import Quiet
from hushd.runtime.recordings import Bad, Recording, messages
from hushd.runtime.rehearsal import Rehearsal

EXAMPLES = Path(__file__).parents[2] / "config/examples"
SECOND = 10**9
MINUTE = 60 * SECOND
BEGIN = 1_775_000_000 * SECOND

CONFIG = """\
version: 1
site: {name: Home, timezone: Europe/Berlin}
sensors:
  noise: {topic: "home/{room}/noise", interval: 1m, unit: dBA, valid: [20, 130]}
notifiers:
  phone: {type: log}
  paper: {type: log, batch: 5m}
  book: {type: journal, path: book.jsonl}
rules:
  loud:
    watch: noise
    measure: last
    warning: {above: 70, clear: 60, for: 2m}
    critical: {above: 90}
    repeat: 10m
    cooldown: 20m
    notify: {warning: [phone, book], critical: [paper]}
"""


def configured(folder: Path, text: str = CONFIG) -> Config:
    path = folder / "hushd.yaml"
    path.write_text(text)
    return read(path)


def hear(rehearsal: Rehearsal, minute: float, value: float, room: str = "attic") -> None:
    at = BEGIN + round(minute * MINUTE)
    rehearsal.feed(Reading("noise", labels_of({"room": room}), at, value, at))


def let_pass(rehearsal: Rehearsal, minute: float) -> None:
    rehearsal.advance(BEGIN + round(minute * MINUTE))


def said(rehearsal: Rehearsal, notifier: str) -> list[tuple[float, str]]:
    return [
        ((x.at - BEGIN) / MINUTE, x.note.kind) for x in rehearsal.said if x.notifier == notifier
    ]


@pytest.mark.parametrize(
    "name", sorted(path.parent.name for path in EXAMPLES.glob("*/recording.jsonl"))
)
def test_it_decides_what_a_replay_of_the_examples_decides(name):
    config = read(EXAMPLES / name / "hushd.yaml")
    with Recording(EXAMPLES / name / "recording.jsonl") as recording:
        found = [m for m in messages(recording.lines(), None) if not isinstance(m, Bad)]
    intake = Intake(config.sensors, RecordedClock(), config.limits.payload, Quiet())
    rehearsal = Rehearsal(config, found[0].arrived)
    for message in found:
        for reading in intake.readings(message):
            rehearsal.feed(reading)
    rehearsal.advance(found[-1].arrived)
    expected = [
        json.loads(line) for line in (EXAMPLES / name / "journal.jsonl").read_text().splitlines()
    ]
    assert [
        (rfc3339(t.at), t.rule, dict(t.labels), t.event, t.severity, t.episode)
        for t in rehearsal.transitions
    ] == [
        tuple(line[key] for key in ("at", "rule", "labels", "event", "severity", "episode"))
        for line in expected
    ]


def test_delays_end_between_readings_and_everybody_hears_what_is_for_him(tmp_path):
    rehearsal = Rehearsal(configured(tmp_path), BEGIN)
    for minute, value in ((0, 75), (1, 75), (3, 95), (4, 50)):
        hear(rehearsal, minute, value)
    let_pass(rehearsal, 5)
    assert said(rehearsal, "phone") == [(2, "raised"), (3, "escalated"), (4, "cleared")]
    assert [(x.at - BEGIN) / MINUTE for x in rehearsal.transitions] == [2, 3, 4]


def test_reminders_and_what_cools_down_come_by_the_clock_alone(tmp_path):
    rehearsal = Rehearsal(configured(tmp_path), BEGIN)
    for minute in range(24):
        hear(rehearsal, minute, 75)
    hear(rehearsal, 24, 50)
    for minute in range(25, 50):
        hear(rehearsal, minute, 75)
    let_pass(rehearsal, 50)
    assert said(rehearsal, "phone") == [
        *[(2, "raised"), (12, "repeat"), (22, "repeat"), (24, "cleared")],
        (44, "raised"),  # not before 20 minutes are over, though it was on from 27 on
    ]


def test_what_is_gathered_goes_into_one_message(tmp_path):
    rehearsal = Rehearsal(configured(tmp_path), BEGIN)
    hear(rehearsal, 0, 95, "attic")
    hear(rehearsal, 1, 95, "cellar")
    for minute in range(2, 5):
        hear(rehearsal, minute, 95, "attic")
        hear(rehearsal, minute, 95, "cellar")
    let_pass(rehearsal, 5)
    (message,) = [x for x in rehearsal.said if x.notifier == "paper"]
    assert (message.at - BEGIN) // MINUTE == 5
    assert message.about == (
        ("loud", (("room", "attic"),)),
        ("loud", (("room", "cellar"),)),
    )
    assert message.note.title.startswith("2 messages; ")


def test_a_silence_holds_messages_until_it_ends(tmp_path):
    mute = Mute(1, "loud", (), BEGIN + MINUTE, BEGIN + 5 * MINUTE, "painters")
    rehearsal = Rehearsal(configured(tmp_path), BEGIN, [mute])
    for minute in range(6):
        hear(rehearsal, minute, 75)
    let_pass(rehearsal, 6)
    assert said(rehearsal, "phone") == [(5, "raised")]
    assert [t.at - BEGIN for t in rehearsal.transitions] == [2 * MINUTE]


def test_a_journal_hears_of_everything_and_of_silent_sensors(tmp_path):
    rehearsal = Rehearsal(configured(tmp_path), BEGIN)
    for minute in range(5):
        hear(rehearsal, minute, 95)
    let_pass(rehearsal, 12)
    assert said(rehearsal, "book") == [(0, "raised"), (9, "no_data"), (9, "raised")]


def test_a_reading_of_an_instant_comes_before_what_is_due_then(tmp_path):
    rehearsal = Rehearsal(configured(tmp_path), BEGIN)
    hear(rehearsal, 0, 75)
    hear(rehearsal, 1, 75)
    hear(rehearsal, 2, 65)
    let_pass(rehearsal, 2)
    assert rehearsal.transitions == []


def test_values_can_be_looked_at_and_what_is_not_valid_is_not_heard(tmp_path):
    rehearsal = Rehearsal(configured(tmp_path), BEGIN)
    attic = labels_of({"room": "attic"})
    assert rehearsal.alert("loud", attic) is None
    assert rehearsal.value("loud", attic) is None
    hear(rehearsal, 0, 64.5)
    hear(rehearsal, 1, 1000)
    let_pass(rehearsal, 1)
    assert rehearsal.value("loud", attic) == 64.5
    assert rehearsal.rejected == 1
    assert rehearsal.labels("loud") == [attic]
