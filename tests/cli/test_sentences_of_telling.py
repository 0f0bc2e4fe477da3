"""Who is told of a rule, how often and when rather not, in plain sentences."""

import pytest
from explaining import BASE, CONFIG, NOON, SILENT, configured, explained, said

from hushd.cli.sentences import Writer
from hushd.cli.spells import Almanac
from hushd.core.times import parse_stamp


@pytest.mark.parametrize(
    ("silence", "words"),
    [
        ("ignore", SILENT),
        ("{after: 10m}", "If a room is silent for 10 min: no-data (warning) to desk."),
        (
            "{after: 10m, notify: [lamp]}",
            "If a room is silent for 10 min: no-data (warning) to lamp.",
        ),
        (
            "{after: 10m, notify: []}",
            "If a room is silent for 10 min: no-data (warning) to nobody.",
        ),
        ("{severity: critical}", "If a room is silent for 5 min: no-data (critical) to desk."),
        (
            "{after: 1d, level: clear}",
            "If a room is silent for 1 day: no-data (warning) to desk, and its alert ends.",
        ),
    ],
)
def test_it_says_what_silence_means(silence, words):
    assert said(f"{BASE}no_data: {silence}")[1] == words


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ("each: []", "If nothing is heard "),
        ("each: [floor, room]", "If one of them is silent "),
    ],
)
def test_silence_is_that_of_each_alert(keys, words):
    body = f"watch: noise\nmeasure: leq\nover: 5m\nwarning: {{above: 40}}\nno_data: {{}}\n{keys}"
    assert said(body)[1].startswith(words)


@pytest.mark.parametrize(
    ("expect", "keys", "words"),
    [
        ("[{room: 101}, {room: 102}]", "", " Also if never heard at all: room 101 and room 102."),
        (
            "[{room: 101}, {room: 102}]",
            "\nwhere: {room: 102}",
            " Also if never heard at all: room 102.",
        ),
        ("[{room: 101}, {floor: 2, room: 101}]", "", " Also if never heard at all: room 101."),
        (
            f"[{', '.join(f'{{room: {room}}}' for room in range(101, 109))}]",
            "",
            " Also if never heard at all: room 101, room 102, room 103, room 104, room 105 and 3 more.",
        ),
        ("[{room: 101}]", "\neach: []", ""),
    ],
)
def test_who_is_expected_is_missed_by_name(expect, keys, words):
    before = CONFIG.replace(
        "interval: 1m}\n  street", f"interval: 1m, expect: {expect}}}\n  street"
    )
    each = "" if "each" in keys else "\neach: [room]"
    body = (
        f"watch: noise\nmeasure: leq\nover: 5m\nwarning: {{above: 40}}\nno_data: {{}}{each}{keys}"
    )
    rule = "".join(f"    {line}\n" for line in body.splitlines())
    found = explained(configured(f"  it:\n{rule}", before), "it")[1]
    assert found.partition("to desk.")[2] == words


@pytest.mark.parametrize(
    ("interval", "long"),
    [
        (", interval: 1m", "for 5 min"),
        (", interval: 10m", "for 30 min"),
        ("", "for three times its usual pause, and at least 5 min"),
    ],
)
def test_a_silence_is_too_long_by_the_interval_of_the_sensor(interval, long):
    before = CONFIG.replace('heat/{area}"', f'heat/{{area}}"{interval}')
    rule = "  it: {watch: heat, measure: last, warning: {above: 9, clear: 8}, no_data: {}}"
    found = explained(configured(rule, before), "it")[1]
    assert found == f"If an area is silent {long}: no-data (warning) to desk."


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ("repeat: 2h", "Repeats every 2 hours."),
        ("repeat: [15m, 30m, 1h]", "Repeats after 15 min, 30 min, then every hour."),
        ("repeat: never", ""),
        (
            "cooldown: 20m",
            "For 20 min after people heard that it is over, a new one waits unless it is worse.",
        ),
        (
            "flapping: {changes: 6, within: 1h}",
            (
                "If it changes more than 6 times within 1 hour, that is told once, and then nothing"
                " until it is steady."
            ),
        ),
        ("mute_while: [other]", "While other is on for the same room, messages of this rule wait."),
        ("mute_while: [whole]", "While whole is on, messages of this rule wait."),
    ],
)
def test_it_says_how_often_people_are_told(keys, words):
    other = "watch: street, measure: last, warning: {above: 99, clear: 90}"
    lines = "".join(f"    {line}\n" for line in (BASE + keys).splitlines())
    config = configured(
        f"  it:\n{lines}  other: {{{other}, each: [room]}}\n  whole: {{{other}, each: []}}\n"
    )
    assert explained(config, "it")[1] == f"{SILENT} {words}".strip()


@pytest.mark.parametrize(
    ("notify", "words"),
    [
        ("[desk, phone]", "Told to desk and phone."),
        ("[]", "Told to nobody: it stands in the journal alone."),
        ("{warning: [desk]}", "Told to desk from warning up."),
        (
            "{info: [lamp], warning: [desk], critical: [phone]}",
            "Told to lamp from info up, to desk from warning up and to phone if critical.",
        ),
    ],
)
def test_it_says_who_is_told(notify, words):
    assert said(f"{BASE}critical: {{above: 50}}\nnotify: {notify}")[-1] == words


def test_silence_is_told_to_who_hears_of_its_severity():
    keys = "no_data: {after: 10m}\nnotify: {warning: [desk], critical: [phone]}"
    second = said(f"{BASE}critical: {{above: 50}}\n{keys}")[1]
    assert second == "If a room is silent for 10 min: no-data (warning) to desk."


def test_its_own_words_come_first_and_that_it_is_switched_off():
    assert said(f"{BASE}about: Guests must sleep.\nenabled: false")[:2] == [
        "It is switched off (enabled: false) and does nothing. Switched on:",
        "Guests must sleep.",
    ]


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ("", "told at any time"),
        (
            "quiet: night, quiet_except: critical",
            "quiet from 22:00 to 06:00 (Europe/Berlin; next: today 22:00) but for critical",
        ),
        (
            "quiet: not office, quiet_except: warning, quiet_summary: true",
            (
                "quiet at all times but Mondays to Fridays but not holidays from 08:00 to 17:00 and"
                " Saturdays from 08:00 to 12:00 (Europe/Berlin; next: today 17:00) but for warning"
                " and worse, and hears afterwards what came and went"
            ),
        ),
        ("clears: false", "does not hear that something is over"),
        ("rate_limit: 20 per 1h", "at most 20 messages in 1 hour"),
        ("batch: 30s", "what comes within 30 s is one message"),
        ("delivery: every", "hears every change in order"),
        ("fallback: phone", "what cannot be told for 1 day goes to phone"),
        ("fallback: phone, give_up_after: 6h", "what cannot be told for 6 hours goes to phone"),
    ],
)
def test_it_says_how_a_notifier_wants_to_be_told(keys, words):
    before = CONFIG.replace("desk: {type: log}", f"desk: {{type: log, {keys}}}")
    config = configured("  it: {watch: heat, measure: last, warning: {above: 9, clear: 8}}", before)
    writer = Writer(config, Almanac(config.rules, parse_stamp(NOON)))
    assert writer.notifier("desk") == f"desk (log): {words}."
    assert writer.hearers(config.rules.rules) == ["desk"] + ["phone"] * ("fallback" in keys)
