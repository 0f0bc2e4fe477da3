"""The words of a rule: when they are used, what they know, and what happens when they fail."""

from dataclasses import replace
from zoneinfo import ZoneInfo

import pytest
from phones import HASTY, Phone, change, rule, tell, way
from waiting import Diary, eventually

from hushd.config.messages import VARIABLES
from hushd.config.records import Message
from hushd.core.readings import SECOND
from hushd.core.rules import Limit, Measure, Over, Rule
from hushd.core.transitions import Transition
from hushd.runtime.delivery import Delivery
from hushd.runtime.notes import Current, write
from hushd.runtime.store import VolatileStore
from hushd.runtime.writer import Writer

NIGHT = 1774731600 * SECOND  # 2026-03-28T22:00 in Berlin
MINUTE = 60 * SECOND
BERLIN = ZoneInfo("Europe/Berlin")
OWN = {
    "title": "{{ severity | upper }}: noise in room {{ room }}",
    "raise": "{{ value | round(1) }} {{ unit }} over {{ over }}, limit {{ limit }}, since"
    " {{ since | time }}.",
    "clear": "Quiet again after {{ lasted }}. Loudest {{ peak | round(1) }} {{ unit }}.",
    "no_data": "Room {{ room }} is silent since {{ since | time }}.",
}
RULE = Rule(
    name="night-noise",
    sensor="noise",
    each=("room",),
    measure=Measure("leq"),
    over=Over(span=15 * MINUTE),
    limits=(
        Limit("warning", "above", 40.0, 37.0),
        Limit("critical", "outside", (10.0, 50.0), (12.0, 45.0)),
    ),
)
LOUD = Transition(
    at=NIGHT + 5 * MINUTE,
    rule="night-noise",
    labels=(("room", "101"),),
    event="raised",
    severity="critical",
    was=None,
    value=52.3456,
    limit=50.0,
    episode=3,
    id="abc",
    reason="value",
    peak=52.3456,
    started=NIGHT + 5 * MINUTE,
    sensor="noise",
    measure="leq",
    over="15m",
    unit="dBA",
    samples=900,
    coverage=0.98,
    about="Guests sleep.",
    notify=(),
)
QUIET = replace(LOUD, at=NIGHT + 17 * MINUTE, severity=None, was="critical", value=36.0)


def writer(
    texts: dict[str, str] | None = None, link: str = "", warn: Diary | None = None
) -> Writer:
    return Writer(
        site="Hotel Adler",
        node="attic",
        zone=BERLIN,
        rules=(RULE,),
        messages={"night-noise": Message(OWN if texts is None else texts, link)},
        warn=None if warn is None else warn.warning,
    )


def told(transition: Transition, kind: str, **more: object) -> tuple[str, str]:
    note = writer().write(transition, kind, transition.severity, "k", **more)
    return note.title, note.text


@pytest.mark.parametrize("kind", ["raised", "raised_again", "escalated", "lowered", "repeat"])
def test_what_is_on_is_told_in_the_words_of_raise(kind):
    assert told(LOUD, kind) == (
        "CRITICAL: noise in room 101",
        "52.3 dBA over 15m, limit 50, since 22:05.",
    )


def test_what_is_over_is_told_in_the_words_of_clear():
    title = "OK: noise in room 101"
    assert told(QUIET, "cleared") == (title, "Quiet again after 12 min. Loudest 52.3 dBA.")


def test_repeat_has_words_of_its_own_and_the_time():
    note = writer({"repeat": "still, after {{ lasted }}"}).write(
        LOUD, "repeat", "critical", "k", now=LOUD.at + 45 * MINUTE
    )
    assert note.text == "still, after 45 min"
    assert note.title.startswith("Room 101: noise over 15m is still not well after 45 min")


def test_a_reminder_tells_how_it_stands_now():
    now, current = LOUD.at + 45 * MINUTE, Current(51.04, 60.5)
    note = writer({"repeat": "still {{ value | round(1) }}, worst {{ peak }}"}).write(
        LOUD, "repeat", "critical", "k", now=now, current=current
    )
    assert note.text == "still 51, worst 60.5"
    ours = writer({}).write(LOUD, "repeat", "critical", "k", now=now, current=current)
    assert (
        ours.title == "Room 101: noise over 15m is still 51 dBA after 45 min, limit 50 (critical)"
    )
    assert ours.text == (
        "Guests sleep.\nWorst so far: 60.5 dBA.\nSince 2026-03-28 22:05.\nRule: night-noise."
    )
    assert ours.record == LOUD.record()  # as in the journal


def test_silence_has_words_of_its_own():
    silent = replace(LOUD, rule="noise/no-data", value=None, limit=None, peak=None)
    assert told(silent, "raised") == (
        "CRITICAL: noise in room 101",
        "Room 101 is silent since 22:05.",
    )
    assert told(silent, "cleared")[0] == "Room 101: noise sends again after 0 s"


@pytest.mark.parametrize("kind", ["missed", "flapping", "steady", "data_back"])
def test_what_has_no_words_of_its_own_is_told_in_ours(kind):
    ours = write(QUIET, kind, None, "k", BERLIN, rule=RULE)
    assert told(QUIET, kind) == (ours.title, ours.text)


@pytest.mark.parametrize("reason", ["schedule", "rule_removed", "no_data_clear"])
def test_what_ended_without_being_well_is_not_told_as_quiet(reason):
    title, _ = told(replace(QUIET, reason=reason), "cleared")
    assert title.startswith("Room 101: noise over 15m: ")


def test_rules_without_words_and_troubles_of_our_own_are_told_in_ours():
    other = replace(LOUD, rule="other")
    ours = write(other, "raised", "critical", "k", BERLIN)
    assert writer().write(other, "raised", "critical", "k") == ours
    broker = replace(LOUD, rule="internal/broker", labels=())
    assert told(broker, "raised")[0] == "Hushd: no connection to the broker (critical)"


def test_a_link_stands_below_our_own_text():
    note = writer({}, "https://adler.example/night").write(LOUD, "raised", "critical", "k")
    assert note.text.endswith("\nMore: https://adler.example/night")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rule", "night-noise"),
        ("severity", "critical"),
        ("state", "firing"),
        ("value", "52.3456"),
        ("unit", "dBA"),
        ("limit", "50"),
        ("clear", "45"),
        ("over", "15m"),
        ("measure", "leq"),
        ("since", "2026-03-28 22:05"),
        ("lasted", "10 min"),
        ("peak", "52.3456"),
        ("samples", "900"),
        ("coverage", "0.98"),
        ("episode", "3"),
        ("site", "Hotel Adler"),
        ("node", "attic"),
        ("about", "Guests sleep."),
        ("link", "https://x.example"),
        ("late", "3 h"),
        ("event_id", "abc"),
        ("labels", "{'room': '101'}"),
    ],
)
def test_every_variable_has_its_value(name, value):
    note = writer({"raise": f"{{{{ {name} }}}}"}, "https://x.example").write(
        LOUD,
        "raised",
        "critical",
        "k",
        now=LOUD.at + 10 * MINUTE,
        late=(LOUD.at, LOUD.at + 180 * MINUTE),
    )
    assert note.text.splitlines()[0] == value
    assert name in VARIABLES


def test_the_table_of_variables_is_whole():
    table = test_every_variable_has_its_value.pytestmark[0].args[1]
    assert sorted(name for name, _ in table) == sorted(VARIABLES)


@pytest.mark.parametrize(
    ("changed", "clear"),
    [
        ({"limit": 10.0}, "12"),
        ({"severity": "warning", "limit": 40.0}, "37"),
        ({"limit": 41.0}, "unknown"),
        ({"rule": "other"}, "unknown"),
    ],
)
def test_clear_is_that_of_the_limit_that_was_crossed(changed, clear):
    transition = replace(LOUD, **changed)
    made = Writer(
        rules=(RULE,), messages={transition.rule: Message({"raise": "{{ clear }}"})}
    ).write(transition, "raised", "critical", "k")
    assert made.text == clear


def test_what_is_told_late_says_so_in_any_words():
    note = writer().write(LOUD, "raised", "critical", "k", late=(LOUD.at, LOUD.at + 180 * MINUTE))
    assert note.title == "[late 3 h] CRITICAL: noise in room 101"
    assert note.text.endswith("It happened at 2026-03-28 22:05; told at 2026-03-29 01:05.")


def test_a_label_called_like_a_variable_is_among_the_labels():
    odd = replace(LOUD, labels=(("value", "x"),))
    made = writer({"raise": "{{ value }} {{ labels.value }}"}).write(odd, "raised", None, "k")
    assert made.text == "52.3456 x"


@pytest.mark.parametrize("part", ["title", "raise"])
def test_a16_a_template_that_fails_is_told_in_our_words_with_the_error_and_logged_once(part):
    diary = Diary()
    made = writer({**OWN, part: "{{ 1 / 0 }}"}, warn=diary)
    ours = write(LOUD, "raised", "critical", "k", BERLIN, rule=RULE)
    for _ in range(50):
        note = made.write(LOUD, "raised", "critical", "k")
        assert note.title == ours.title
        assert note.text == (
            f"{ours.text}\nThe {part} of the message of rule night-noise cannot be written:"
            " ZeroDivisionError: division by zero."
        )
    assert [event for event, _ in diary.lines] == ["template.failed"]


def test_long_labels_make_no_long_messages():
    odd = replace(LOUD, labels=(("room", "x" * 100_000),))
    note = writer({"title": "{{ room }}", "raise": "{{ room }}"}).write(odd, "raised", None, "k")
    assert (len(note.title), len(note.text)) == (200, 1_000)


def test_a16_what_cannot_be_written_is_sent_once():
    diary, mail = Diary(), Phone()
    delivery = Delivery(
        [way("mail", mail)],
        (rule(),),
        VolatileStore(),
        diary,
        patience=HASTY,
        messages={"too-loud": Message({"title": "{{ room }}", "raise": "{{ 1 / 0 }}"})},
    )
    tell(delivery, [change("warning")])
    eventually(lambda: mail.heard)
    again_with = {"too-loud": Message({"title": "{{ room }}", "raise": "{{ severity }}"})}
    delivery.change([way("mail", mail)], [rule()], site="", zone=None, messages=again_with)
    tell(delivery, [change("critical")])
    eventually(lambda: len(mail.heard) > 1)
    delivery.close(1)
    first, second = mail.heard
    assert first.title.startswith("Room 101: ")
    assert first.text.endswith("cannot be written: ZeroDivisionError: division by zero.")
    assert (second.title, second.text) == ("101", "critical")
    assert len(diary.all("template.failed")) == 1
