"""Schedules and holidays: what is written, what it becomes, and what can never be."""

import sys
from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushd.config import ConfigError, read_text
from hushd.config.language.words import DaysOfWeek
from hushd.config.schedules import Reach, reach
from hushd.core.rules import Days, During, Schedule, Span
from hushd.core.schedules import counts

HEAD = """\
version: 1
site: {timezone: Europe/Berlin}
sensors: {noise: "home/{room}/noise"}
notifiers: {phone: {type: log}}
"""
RULE = """\
rules:
  loud: {watch: noise, measure: max, over: 5m, during: night, warning: {above: 70}, notify: [phone]}
"""
WEEKEND, WORKDAYS = (5, 6), (0, 1, 2, 3, 4)


def schedule(text, catalog):
    (found,) = read_text(
        "x.yaml", f"{HEAD}schedules:\n  night: {text}\n{RULE}", catalog
    ).rules.schedules
    return found


def holidays(text, catalog):
    head = HEAD.replace("Berlin}", f"Berlin, holidays: {text}}}")
    config = read_text(
        "x.yaml", f'{head}schedules: {{night: {{days: "holidays"}}}}\n{RULE}', catalog
    )
    assert config.warnings == ()
    return config.rules.holidays


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("{from: 22:00, to: 06:00}", [Span(1320, 360, zone="Europe/Berlin")]),
        ("{from: 00:00, to: 24:00}", [Span(zone="Europe/Berlin")]),
        ("{}", [Span(zone="Europe/Berlin")]),
        ("{days: sat-sun}", [Span(days=Days(WEEKEND), zone="Europe/Berlin")]),
        ("{timezone: Asia/Tokyo}", [Span(zone="Asia/Tokyo")]),
        (
            "[{days: mon-fri, from: 08:00, to: 18:00}, {days: sat, from: 08:00, to: 13:00}]",
            [
                Span(480, 1080, Days(WORKDAYS), "Europe/Berlin"),
                Span(480, 780, Days((5,)), "Europe/Berlin"),
            ],
        ),
    ],
)
def test_a_schedule_is_its_spans(text, spans, catalog):
    assert schedule(text, catalog) == Schedule("night", tuple(spans))


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("mon", Days((0,))),
        ("mon-fri, sun", Days((0, 1, 2, 3, 4, 6))),
        ("fri-mon", Days((0, 4, 5, 6))),
        ("sun-sat", Days()),
        ("wed-wed", Days((2,))),
        ("sun, holidays", Days((6,), holidays=True)),
        ("holidays", Days((), holidays=True)),
        ("not holidays", Days(but_holidays=True)),
        ("not sat-sun", Days(but=WEEKEND)),
        ("mon-fri, not wed, not holidays", Days(WORKDAYS, but=(2,), but_holidays=True)),
        ("holidays, not sun", Days((), holidays=True, but=(6,))),
        ("  mon ,  not  tue ", Days((0,), but=(1,))),
    ],
)
def test_days_are_ranges_and_lists_and_what_is_excepted(text, days):
    assert DaysOfWeek().of(text) == days


@pytest.mark.parametrize(
    "text",
    ["", "mon-", "-mon", "mon tue", "mon,,tue", "not not mon", "Mon", "mon/fri", "holidays-mon"],
)
def test_what_is_no_list_of_days_is_refused(text):
    with pytest.raises(ValueError):
        DaysOfWeek().of(text)


def test_files_of_rules_d_may_add_schedules(tmp_path, catalog):
    from hushd.config import read

    (tmp_path / "hushd.yaml").write_text(HEAD + RULE)
    (tmp_path / "rules.d").mkdir()
    (tmp_path / "rules.d" / "when.yaml").write_text(
        "schedules: {night: {from: 22:00, to: 06:00}}\n"
    )
    (rule,) = read(tmp_path / "hushd.yaml").rules.rules
    assert rule.during == During("night")


def test_what_cannot_be_read_is_not_missed_a_second_time(catalog):
    with pytest.raises(ConfigError) as caught:
        read_text("x.yaml", f"{HEAD}schedules: night\n{RULE}", catalog)
    assert len(caught.value.problems) == 1


def test_a_zone_that_is_misspelt_is_one_problem_however_many_schedules_need_it(catalog):
    text = HEAD.replace("Berlin", "Berln") + "schedules: {night: {days: sat}, day: {}}\n" + RULE
    with pytest.raises(ConfigError) as caught:
        read_text("x.yaml", text, catalog)
    assert [p.message for p in caught.value.problems] == ['unknown time zone "Europe/Berln"']


# --- holidays


def test_dates_are_holidays_each_once_and_in_order(catalog):
    assert holidays("[2027-01-01, 2026-12-25, 2027-01-01]", catalog) == ("2026-12-25", "2027-01-01")


def test_a_region_has_holidays_that_its_country_has_not(catalog):
    country = set(holidays("{country: DE}", catalog))
    berlin = set(holidays("{country: DE, region: BE, dates: [2026-12-24]}", catalog))
    assert country < berlin
    assert {"2026-03-08", "2026-12-24"} <= berlin - country  # Women's Day is Berlin's alone
    assert "2026-04-03" in country  # Good Friday


def test_a_region_may_be_a_number_and_a_country_a_word_of_yaml(catalog):
    assert "2026-12-26" in holidays("{country: FR, region: 57}", catalog)  # in Moselle
    assert "2026-12-26" not in holidays("{country: FR}", catalog)
    assert "2026-05-17" in holidays("{country: NO}", catalog)


def test_holidays_are_known_long_before_and_long_after(catalog):
    known = holidays("{country: FR}", catalog)
    assert known[0].startswith("2000-01-01")
    assert known[-1].startswith("2060-12-25")


def test_without_the_package_it_is_said_how_to_install_it(catalog, monkeypatch):
    monkeypatch.setitem(sys.modules, "holidays", None)
    with pytest.raises(ConfigError) as caught:
        holidays("{country: DE}", catalog)
    (problem,) = caught.value.problems
    assert "not installed" in problem.message
    assert 'pip install "hushd[holidays]"' in problem.hints[0]
    assert holidays("[2026-12-25]", catalog) == ("2026-12-25",)


def test_holidays_that_are_none_are_one_problem(catalog):
    text = f"{HEAD}schedules: {{night: {{days: holidays}}}}\n{RULE}"
    (problem,) = read_text("x.yaml", text, catalog).warnings
    assert problem.message == '"holidays" means no day'


# --- what never comes

MONDAY = date(2026, 6, 1)
WEEK = 7 * 1440


def spans():
    days = st.builds(
        Days,
        st.sets(st.integers(0, 6)).map(lambda s: tuple(sorted(s))),
        st.booleans(),
        st.sets(st.integers(0, 6), max_size=2).map(lambda s: tuple(sorted(s))),
        st.booleans(),
    )
    return st.builds(Span, st.integers(0, 1439), st.integers(0, 1440), days, st.just("UTC")).filter(
        lambda span: span.start != span.end
    )


def on(span, holidays):
    """Return the minutes of the second of three weeks in which a span is on."""
    minutes = set()
    for n in range(21):
        if counts(span.days, MONDAY + timedelta(n), holidays):
            end = span.end if span.end > span.start else span.end + 1440
            minutes |= {n * 1440 + minute for minute in range(span.start, end)}
    return {minute - WEEK for minute in minutes if WEEK <= minute < 2 * WEEK}


def minutes(bits):
    return {i for i in range(WEEK) if bits >> i & 1}


@settings(max_examples=30, deadline=None)
@given(st.lists(spans(), min_size=1, max_size=3), st.sets(st.integers(0, 20)))
def test_a_minute_that_cannot_be_never_is_and_one_that_is_certain_always_is(found, days):
    holidays = frozenset(MONDAY + timedelta(n) for n in days)
    real = set().union(*(on(span, holidays) for span in found))
    known = reach(tuple(found), holidays=True)
    assert minutes(known.certain) <= real <= minutes(known.possible)
    if not days:
        assert real == minutes(reach(tuple(found), holidays=False).possible)
    turned = known.turned()
    assert minutes(turned.certain) <= set(range(WEEK)) - real <= minutes(turned.possible)


def test_of_two_zones_nothing_is_known_of_a_minute():
    here, there = Reach("Europe/Berlin", 3, 1), Reach("Asia/Tokyo", 3, 1)
    joined = here.joined(there)
    assert joined.certain == 0
    assert joined.possible == (1 << WEEK) - 1
