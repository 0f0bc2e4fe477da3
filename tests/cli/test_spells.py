"""Schedules in plain words, and when they next change."""

import re

import pytest
from explaining import CONFIG, NOON, configured
from hypothesis import given, settings
from hypothesis import strategies as st

from hushd.cli.sentences import Writer
from hushd.cli.spells import DAYS, Almanac, days, spells
from hushd.core.rules import Days
from hushd.core.times import parse_stamp


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
