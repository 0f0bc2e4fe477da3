"""``hushd explain``: each rule in plain sentences."""

import re
import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushd.cli import main
from hushd.cli.phrases import back, beyond
from hushd.cli.sentences import Writer
from hushd.cli.spells import DAYS, Almanac, days, spells
from hushd.config import Config, read_text
from hushd.core import limits
from hushd.core.rules import Comparison, Days, Limit
from hushd.core.times import parse_stamp
from hushd.plugin.loading import load
from hushd.runtime import control
from hushd.runtime.control import Control, name_for
from hushd.runtime.logs import Quiet
from hushd.runtime.messages import Ask

NOON = "2026-12-23T12:00:00+01:00"  # a Wednesday

CONFIG = """\
version: 1
site: {timezone: Europe/Berlin, holidays: [2026-12-25]}
sensors:
  noise: {topic: "hotel/{floor}/{room}/noise", unit: dBA, interval: 1m}
  street: {topic: "street/{room}/noise", unit: dBA, interval: 1m}
  heat: {topic: "heat/{area}"}
  door: {topic: door}
schedules:
  night: {from: 22:00, to: 06:00}
  evening: {from: 19:00, to: 22:00}
  rest-day: {days: "sun, holidays"}
  office:
    - {days: "mon-fri, not holidays", from: 08:00, to: 17:00}
    - {days: sat, from: 08:00, to: 12:00}
notifiers:
  desk: {type: log}
  phone: {type: log}
  lamp: {type: log}
defaults: {notify: [desk], no_data: ignore}
rules:
"""
SILENT = "Silence of the sensor means nothing."


def configured(rules: str, before: str = CONFIG) -> Config:
    return read_text("hushd.yaml", before + rules, load())


def explained(config: Config, name: str, at: str = NOON) -> list[str]:
    writer = Writer(config, Almanac(config.rules, parse_stamp(at)))
    rules = [*config.rules.rules, *config.resting]
    (rule,) = [rule for rule in rules if rule.name == name]
    return [f"- {text}" if item else text for text, item in writer.rule(rule)]


def said(body: str) -> list[str]:
    """Return the paragraphs of a rule whose keys are *body*."""
    rule = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return explained(configured(f"  it:\n{rule}"), "it")


HEAT = "watch: heat\nmeasure: mean\nover: 5m\n"


def test_a34_nobody_wonders_about_the_gap_between_limit_and_clear():
    first = said(HEAT + "warning: {above: 23, clear: 22}")[0]
    assert "raised above 23, cleared at 22 or less" in first


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ("{above: 23}", "warning raised above 23, cleared at 23 or less"),
        ("{above: 23, clear: 23}", "warning raised above 23, cleared at 23 or less"),
        ("{below: 20, clear: 21}", "warning raised below 20, cleared at 21 or more"),
        ("{below: 20}", "warning raised below 20, cleared at 20 or more"),
        ("{at_least: 25, clear: 20}", "warning raised at 25 or more, cleared below 20"),
        ("{at_least: 25}", "warning raised at 25 or more, cleared below 25"),
        ("{at_most: 5, clear: 6}", "warning raised at 5 or less, cleared above 6"),
        (
            "{outside: [0.5, 4.5], clear: [0.7, 4.0]}",
            "warning raised below 0.5 or above 4.5, cleared from 0.7 to 4",
        ),
        (
            "{inside: [10, 12], clear: [9, 13]}",
            "warning raised from 10 to 12, cleared below 9 or above 13",
        ),
        (
            "{above: 23, for: 5m, clear_for: 1h30m}",
            "warning raised above 23 for 5 min, cleared at 23 or less for 1 h 30 min",
        ),
    ],
)
def test_a_limit_says_where_it_begins_and_where_it_ends(limit, words):
    assert said(f"{HEAT}warning: {limit}")[0] == (
        f"For each area, the average of the last 5 min: {words}."
    )


def compare(words: str, value: float) -> bool:
    """Say whether *value* is where *words* say, read as people read them."""
    (first, *more) = [float(text) for text in re.findall(r"-?[0-9.]+", words)]
    if words.startswith("from "):
        return first <= value <= more[0]
    if " or above " in words:
        return value < first or value > more[0]
    if words.endswith(" or more"):
        return value >= first
    if words.endswith(" or less"):
        return value <= first
    return value > first if words.startswith("above ") else value < first


quarters = st.integers(-40, 40).map(lambda number: number / 4)
pairs = st.tuples(quarters, quarters).map(lambda pair: (min(pair), max(pair)))
comparisons: tuple[Comparison, ...] = get_args(Comparison)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(comparisons), pairs, pairs, quarters)
def test_the_words_of_a_limit_are_true_of_every_value(comparison, bounds, clears, value):
    several = comparison in ("outside", "inside")
    limit = Limit(
        "warning",
        comparison,
        bounds if several else bounds[0],
        clears if several else clears[0],
    )
    assert compare(beyond(limit, ""), value) == limits.raises(limit)(value)
    assert compare(back(limit, ""), value) == limits.clears(limit)(value)


NOISE = "watch: noise\neach: [room]\nwarning: {above: 40}\n"
QUIET = "warning raised above 40 dBA, cleared at 40 or less."


@pytest.mark.parametrize(
    ("measure", "words"),
    [
        ("measure: leq\nover: 15m", "the energy average of the last 15 min"),
        ("measure: {ln: 90}\nover: 1h", "the level exceeded 90 % of the last hour"),
        ("measure: median\nover: 10 samples", "the median of the last 10 readings"),
        ("measure: max\nover: 1 samples", "the highest reading of the last 1 reading"),
        (
            "measure: {percentile: 95}\nover: 1d",
            "the value that 95 % of the readings in the last day stay at or below",
        ),
        ("measure: last", "each reading"),
    ],
)
def test_a_measure_is_said_in_words(measure, words):
    assert said(NOISE + measure)[0] == f"For each room, {words}: {QUIET}"


@pytest.mark.parametrize(
    ("measure", "words"),
    [
        (
            "{count_above: 85}\nwarning: {above: 10}",
            (
                "the number of readings above 85 dBA in the last 30 min:"
                " warning raised above 10, cleared at 10 or less."
            ),
        ),
        (
            "{time_above: 85}\nwarning: {above: 90s, clear: 1m}",
            (
                "the time above 85 dBA in the last 30 min:"
                " warning raised above 1 min 30 s, cleared at 1 min or less."
            ),
        ),
        (
            "rate\nwarning: {above: 0.5}",
            (
                "the change per second, from first to last, of the last 30 min:"
                " warning raised above 0.5 dBA/s, cleared at 0.5 or less."
            ),
        ),
        (
            "range\nwarning: {below: 0.1}",
            (
                "the range, highest less lowest, of the last 30 min:"
                " warning raised below 0.1 dBA, cleared at 0.1 or more."
            ),
        ),
    ],
)
def test_a_limit_has_the_unit_of_its_measure(measure, words):
    body = f"watch: noise\neach: [room]\nover: 30m\nmeasure: {measure}"
    assert said(body)[0] == f"For each room, {words}"


def test_every_measure_that_comes_with_hushd_has_its_words():
    assert [name for name, one in load().aggregators.items() if not one.phrase] == []


def test_a_measure_without_words_is_said_by_its_summary():
    config = configured("  it: {watch: heat, measure: mean, over: 5m, warning: {above: 1}}")
    mean = replace(config.catalog.aggregators["mean"], phrase="")
    catalog = replace(config.catalog, aggregators={"mean": mean})
    assert explained(replace(config, catalog=catalog), "it")[0].startswith(
        "For each area, the arithmetic mean (mean), of the last 5 min: "
    )


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ("", "For each floor and room, "),
        ("each: [room]", "For each room, "),
        ("each: []", "For all together, "),
        ("each: [room]\nwhere: {room: [101, 102]}", "For each of room 101 and 102, "),
        ("each: [room]\nwhere: {room: 101}", "For room 101, "),
        ("each: [room]\nwhere: {floor: [1, 2]}", "For each room where floor is 1 or 2, "),
        ("each: []\nwhere: {floor: 1}", "For all together where floor is 1, "),
    ],
)
def test_it_says_whose_alerts_there_are(keys, words):
    first = said(f"watch: noise\nmeasure: leq\nover: 5m\nwarning: {{above: 40}}\n{keys}")[0]
    assert first == f"{words}the energy average of the last 5 min: {QUIET}"


def test_one_topic_without_labels_is_not_for_each_of_anything():
    first = said("watch: door\nmeasure: count\nover: 5m\nwarning: {above: 3}")[0]
    assert first.startswith("The number of readings in the last 5 min: ")


@pytest.mark.parametrize(
    ("during", "words"),
    [
        ("night", "from 22:00 to 06:00 (Europe/Berlin; next: today 22:00)"),
        (
            "not night",
            "at all times but from 22:00 to 06:00 (Europe/Berlin; now, until today 22:00)",
        ),
        (
            "office",
            (
                "Mondays to Fridays but not holidays from 08:00 to 17:00 and Saturdays from 08:00"
                " to 12:00 (Europe/Berlin; now, until today 17:00)"
            ),
        ),
        ("rest-day", "Sundays and holidays (Europe/Berlin; next: Fri 25 Dec (a holiday) 00:00)"),
    ],
)
def test_it_says_when_a_rule_judges(during, words):
    first = said(f"{NOISE}measure: leq\nover: 15m\nduring: {during}")[0]
    assert first == f"For each room, {words}, the energy average of the last 15 min: {QUIET}"


def test_limits_by_schedule_are_a_list_and_the_next_three_changes():
    assert said("""
watch: noise
each: [room]
measure: leq
over: 1h
clear_for: 5m
limits:
  - {during: night, warning: {above: 45, clear: 43}, critical: {above: 55}}
  - {during: evening, warning: {above: 60}}
  - {during: otherwise, warning: {above: 70}}
""") == [
        "For each room, the energy average of the last hour, by the first of these that is on:",
        (
            "- night, from 22:00 to 06:00: warning raised above 45 dBA, cleared at 43 or less"
            " for 5 min; critical raised above 55, cleared at 55 or less for 5 min"
        ),
        (
            "- evening, from 19:00 to 22:00: warning raised above 60 dBA, cleared at 60 or less"
            " for 5 min"
        ),
        "- otherwise: warning raised above 70 dBA, cleared at 70 or less for 5 min",
        (
            "Now (Europe/Berlin): otherwise; from today 19:00: evening; from today 22:00: night;"
            " from tomorrow 06:00: otherwise."
        ),
        SILENT,
        "Told to desk.",
    ]


def test_without_otherwise_there_are_times_without_a_limit():
    paragraphs = said("""
watch: noise
each: [room]
measure: leq
over: 1h
limits: [{during: night, warning: {above: 45}}]
""")
    assert paragraphs[2] == (
        "Now (Europe/Berlin): none; from today 22:00: night; from tomorrow 06:00: none;"
        " from tomorrow 22:00: night."
    )


def test_several_conditions_are_a_list():
    assert said("""
each: [room]
all:
  - {watch: noise, measure: leq, over: 10m, above: 65, clear: 62}
  - {watch: street, measure: max, over: 10m, below: 50, min_coverage: 0.75}
severity: critical
for: 2m
clear_for: 10m
""") == [
        (
            "For each room, critical raised when all of these hold for 2 min, cleared when not all"
            " of them do for 10 min:"
        ),
        "- the energy average of the last 10 min of noise above 65 dBA, until at 62 or less",
        (
            "- the highest reading of the last 10 min of street below 50 dBA, until at 50 or more"
            " (once readings cover 75 % of the last 10 min)"
        ),
        SILENT,
        "Told to desk.",
    ]


def test_one_of_several_conditions():
    first = said("""
each: [room]
any:
  - {watch: noise, where: {room: 101}, measure: last, above: 65, clear: 62}
  - {watch: street, measure: last, above: 80, clear: 62}
severity: info
""")
    assert first[:3] == [
        "For each room, info raised when any of these holds, cleared when none of them does:",
        "- each reading of noise where room is 101 above 65 dBA, until at 62 or less",
        "- each reading of street above 80 dBA, until at 62 or less",
    ]


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (
            "{measure: {ln: 90}, over: 1h}",
            "the energy average of the last 5 min, less the level exceeded 90 % of the last hour",
        ),
        (
            "{watch: street, measure: leq, over: 5m}",
            (
                "the energy average of the last 5 min of noise, less the energy average of the last"
                " 5 min of street"
            ),
        ),
    ],
)
def test_a_measure_less_another(other, words):
    body = f"{NOISE}measure: leq\nover: 5m\nrelative_to: {other}"
    assert said(body)[0] == f"For each room, {words}: {QUIET}"


BASE = f"{NOISE}measure: leq\nover: 15m\n"


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ("min_coverage: 0.75", "Judged once readings cover 75 % of the last 15 min. "),
        ("min_coverage: 0", "Judged once there is one reading. "),
        (
            "min_coverage: 0.75\nmin_samples: 10",
            "Judged once readings cover 75 % of the last 15 min and there are 10 readings. ",
        ),
        (
            "during: night\nfresh_window: true",
            "Only what was heard since 22:00 counts. ",
        ),
        (
            "during: not night\nfresh_window: true",
            "Only what was heard since 06:00 counts. ",
        ),
        (
            "during: office\nfresh_window: true",
            "Only what was heard since 08:00 counts. ",
        ),
        (
            "during: not office\nfresh_window: true",
            "Only what was heard since then counts. ",
        ),
        ("min_samples: 1", ""),
    ],
)
def test_it_says_when_a_window_is_full_enough(keys, words):
    assert said(BASE + keys)[1] == words + SILENT


def test_a_fresh_window_of_limits_by_schedule():
    paragraphs = said("""
watch: noise
measure: leq
over: 1h
fresh_window: true
limits: [{during: night, warning: {above: 45}}, {during: otherwise, warning: {above: 60}}]
""")
    assert paragraphs[-2] == f"What was heard under other limits, or none, does not count. {SILENT}"


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


def test_a_silence_that_is_learned():
    assert said(f"{HEAT}warning: {{above: 40}}\nno_data: {{severity: info}}")[1] == (
        "If an area is silent for three times its usual pause, and at least 5 min:"
        " no-data (info) to desk."
    )


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


def test_schedules_say_their_next_three_changes_and_which_days_are_holidays():
    config = configured(
        "  it: {watch: heat, measure: last, during: rest-day, warning: {above: 9, clear: 8}}\n"
        "  at-night: {watch: heat, measure: last, during: night, warning: {above: 9, clear: 8}}\n"
    )
    writer = Writer(config, Almanac(config.rules, parse_stamp(NOON)))
    assert list(writer.schedules(config.rules.rules, [])) == [
        "night (Europe/Berlin): off now, on today 22:00, off tomorrow 06:00, on tomorrow 22:00.",
        (
            "rest-day (Europe/Berlin): off now, on Fri 25 Dec (a holiday) 00:00, off Sat 26 Dec 00:00,"
            " on Sun 27 Dec 00:00."
        ),
    ]


@pytest.mark.parametrize(
    ("days", "words"),
    [
        ("fri-mon", "Fridays to Mondays"),
        ("sat, sun", "Saturdays and Sundays"),
        ("mon, wed, fri", "Mondays, Wednesdays and Fridays"),
        ("holidays", "holidays"),
        ("mon-sun", "at all times"),
        ("not sun", "all days but not Sundays"),
    ],
)
def test_days_are_said_as_people_say_them(days, words):
    before = CONFIG.replace('days: "sun, holidays"', f'days: "{days}"')
    config = configured("  it: {watch: heat, measure: last, warning: {above: 9}}", before)
    assert spells(Almanac(config.rules, 0).named["rest-day"]) == words


@settings(max_examples=50, deadline=None)
@given(st.sets(st.integers(0, 6), min_size=1, max_size=6))
def test_days_that_are_said_as_a_row_are_all_of_them_and_no_other(weekdays):
    meant = set()
    for words in re.split(", | and ", days(Days(tuple(sorted(weekdays))))):
        first, _, last = words.partition(" to ")
        day, end = (DAYS.index(name.removesuffix("s")) for name in (first, last or first))
        meant.add(day)
        while day != end:
            day = (day + 1) % 7
            meant.add(day)
    assert meant == weekdays


def test_schedules_of_several_zones_name_them():
    before = CONFIG.replace(
        "night: {from: 22:00, to: 06:00}",
        "night: [{from: 22:00, to: 23:00}, {days: fri, from: 22:00, to: 06:00, timezone: Asia/Tokyo}]",
    )
    config = configured("  it: {watch: heat, measure: last, warning: {above: 9}}", before)
    assert spells(Almanac(config.rules, 0).named["night"]) == (
        "from 22:00 to 23:00 in Europe/Berlin"
        " and Fridays from 22:00 to 06:00 of the next day in Asia/Tokyo"
    )


def test_dates_of_another_year_have_one():
    config = configured("  it: {watch: heat, measure: last, warning: {above: 9}}")
    almanac = Almanac(config.rules, parse_stamp(NOON))
    assert almanac.instant(parse_stamp("2027-01-02T12:00:00Z"), "UTC") == "Sat 2 Jan 2027 12:00"


# -- the command -----------------------------------------------------------------------

TWO = """\
  loud:
    about: Nobody should have to read a configuration to learn what happens at night.
    watch: noise
    each: [room]
    measure: leq
    over: 15m
    during: night
    warning: {above: 40, clear: 37}
  hot: {watch: heat, measure: last, warning: {above: 30, clear: 25}, notify: [lamp]}
"""
PRINTED = """\
loud: watches noise
  Nobody should have to read a configuration to learn what
  happens at night.
  For each room, from 22:00 to 06:00 (Europe/Berlin; next:
  today 22:00), the energy average of the last 15 min:
  warning raised above 40 dBA, cleared at 37 or less.
  Silence of the sensor means nothing.
  Told to desk.

notifiers
  desk (log): told at any time.

schedules
  night (Europe/Berlin): off now, on today 22:00, off
  tomorrow 06:00, on tomorrow 22:00.
"""


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A folder with ``hushd.yaml``, and no daemon that could be found."""
    monkeypatch.setattr(control, "places", lambda: [tmp_path / "run"])
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hushd.yaml").write_text(CONFIG + TWO)
    return tmp_path


def test_it_prints_the_rules_that_are_named_and_whoever_hears_of_them(folder, capsys):
    assert main(["explain", "loud", "-c", "hushd.yaml", "--at", "2026-12-23T12:00"]) == 0
    assert capsys.readouterr() == (PRINTED, "")


def test_it_prints_all_rules_and_that_no_daemon_runs(folder, capsys):
    assert main(["explain", "-c", "hushd.yaml"]) == 0
    out = capsys.readouterr().out
    assert re.findall(r"^(\w+): watches", out, re.MULTILINE) == ["loud", "hot"]
    last = " ".join(out.rpartition("\n\n")[2].split())
    assert last.startswith("What the rules match now is not known: no daemon listens at ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["lodu", "-c", "hushd.yaml"], 'no rule "lodu"\n  hint: did you mean "loud"?'),
        (["-c", "hushd.yaml", "--at", "tonight"], "cannot read --at tonight: "),
        ([], "no daemon runs"),
    ],
)
def test_what_it_cannot_explain_is_wrong_usage(arguments, said, folder, capsys):
    assert main(["explain", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert "hint: " in err or "--at" in err


def test_a_configuration_that_is_not_sound_is_78(folder, capsys):
    (folder / "hushd.yaml").write_text("version: 2\n")
    assert main(["explain", "-c", "hushd.yaml"]) == 78
    assert "error" in capsys.readouterr().err


def test_without_rules_there_is_nothing_to_explain(folder, capsys):
    (folder / "hushd.yaml").write_text("version: 1\nsensors: {}\nnotifiers: {}\nrules: {}\n")
    assert main(["explain", "-c", "hushd.yaml"]) == 0
    assert capsys.readouterr().out == "there are no rules\n"


KNOWN = {
    "loud": {
        "number": 7,
        "series": [
            {"sensor": "noise", "labels": {"floor": "1", "room": "101"}},
            {"sensor": "noise", "labels": {"floor": "1", "room": "1\x1b[2J"}},
        ],
        "states": {"firing(critical)": 1, "ok": 3, "pending": 1, "warming": 2},
        "alerts": [
            {"labels": {"room": "101"}, "state": "firing(critical)"},
            {"labels": {"room": "102"}, "state": "pending"},
        ],
    }
}
MATCHES = (
    "Matches now: 7 topics (floor 1, room 101; floor 1, room 1\N{REPLACEMENT CHARACTER}[2J;"
    " and 5 more). Its alerts: 1 critical (room 101), 3 ok, 1 about to be raised (room 102),"
    " 2 not judged yet."
)


@pytest.fixture
def answering(folder) -> Iterator[list[str]]:
    """A daemon's socket that knows one of the rules; holds what it was asked."""
    asked: list[str] = []
    status = {"configuration": {"path": str(folder / "hushd.yaml")}}
    answers: dict[str, dict[str, Any]] = {"series": {"rules": KNOWN}, "status": {"status": status}}

    def answer(ask: Ask) -> None:
        asked.append(ask.request["do"])
        found = {"ok": True, **answers[ask.request["do"]]}
        threading.Thread(target=ask.answer, args=(found,)).start()

    door = Control(folder / "run" / name_for(folder / "hushd.yaml"), answer, Quiet())
    yield asked
    door.close()


def test_a_daemon_says_what_each_rule_matches(answering, capsys):
    assert main(["explain", "-c", "hushd.yaml"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert MATCHES in out  # and what a label holds is not obeyed
    assert "Told to lamp. The running daemon does not have this rule: hushd reload." in out
    assert "not known" not in out


def test_without_a_configuration_it_explains_that_of_the_daemon(answering, capsys):
    assert main(["explain", "loud"]) == 0
    assert MATCHES in " ".join(capsys.readouterr().out.split())
    assert answering == ["status", "series"]


def test_another_time_is_no_matter_of_the_daemon(answering, capsys):
    assert main(["explain", "-c", "hushd.yaml", "--at", "2026-12-23T12:00:00Z"]) == 0
    assert "Matches now" not in capsys.readouterr().out
    assert answering == []


EXAMPLES = Path(__file__).parents[1] / "config/examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_each_example_of_the_language_can_be_explained(path, folder, capsys):
    # whoever explains it need not have the siren that it starts
    text = path.read_text().replace("/usr/local/bin/siren", shutil.which("true") or "")
    text = text.replace("version: 1\n", "version: 1\nallow_exec: true\n")
    (folder / "hushd.yaml").write_text(text)
    assert main(["explain", "-c", "hushd.yaml", "--at", "2026-12-23T12:00"]) == 0
    out = capsys.readouterr().out
    rules = re.findall(r"^  ([\w-]+):$", text.partition("\nrules:\n")[2], re.MULTILINE)
    assert re.findall(r"^([\w-]+): watches", out, re.MULTILINE) == rules != []
    assert max(map(len, out.splitlines())) <= 60
    assert not re.search(r"\bNone\b|\{|\}|  \S+  ", out)
