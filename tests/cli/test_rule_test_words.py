"""The short texts of rule tests: series, times by the clocks of a place, numbers as written."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushd.cli.rule_test_words import MOST, Exactly, Moment, Series
from hushd.config.document import Node, scalar
from hushd.config.scalars import NOWHERE

BERLIN = ZoneInfo("Europe/Berlin")
SECOND = 10**9


def series(text: str) -> tuple[float | None, ...]:
    return Series().take(scalar(text, NOWHERE))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("30", (30,)),
        ("30x2", (30, 30, 30)),
        ("55+0.1x3", (55, 55.1, 55.2, 55.3)),
        ("1-0.5x4", (1, 0.5, 0, -0.5, -1)),
        ("-5x1", (-5, -5)),
        ("-5+2.5x2", (-5, -2.5, 0)),
        ("-1-1x1", (-1, -2)),
        ("+3", (3,)),
        (".5x1", (0.5, 0.5)),
        ("1e3", (1000,)),
        ("_", (None,)),
        ("_x3", (None, None, None)),
        ("30x0", (30,)),
        ("1 _ 2", (1, None, 2)),
        ("  1   2 ", (1, 2)),
    ],
)
def test_a_series_is_written_as_promtool_has_it(text, values):
    assert series(text) == values


def test_thirty_x_eighteen_is_nineteen_values():
    assert len(series("30x18 55x120 _x60 30x200")) == 19 + 121 + 60 + 201


@pytest.mark.parametrize(
    "text", ["30y", "30x", "x5", "30+1", "30+x5", "_5", "__", "nan", "inf", "30 x5", "30x-1", "1,5"]
)
def test_what_is_no_series_says_how_to_write_one(text):
    with pytest.raises(ValueError, match=r"write values with blanks between"):
        series(text)


def test_a_series_that_would_fill_the_memory_is_refused():
    assert len(series(f"1x{MOST - 1}")) == MOST
    with pytest.raises(ValueError, match="more than 1000000 values"):
        series(f"1x{MOST - 1} 1")
    with pytest.raises(ValueError, match="more than 1000000 values"):
        series("_x9999999")


@given(
    start=st.integers(-10_000, 10_000),
    step=st.integers(0, 1_000),
    sign=st.sampled_from("+-"),
    number=st.integers(0, 50),
)
@settings(max_examples=50)
def test_steps_of_tenths_are_tenths(start, step, sign, number):
    found = series(f"{start / 10}{sign}{step / 10}x{number}")
    way = 1 if sign == "+" else -1
    assert found == tuple((start + way * step * i) / 10 for i in range(number + 1))


def instant(text: str, zone: ZoneInfo = BERLIN, start: str | None = "2026-03-28T21:55:00") -> str:
    begin = None if start is None else Moment(whole=True).of(start).instant(zone)
    at = Moment().of(text).instant(zone, begin)
    return f"{datetime.fromtimestamp(at / SECOND, UTC):%d %H:%M:%S}"


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("21:55", "28 20:55:00"),
        ("21:59", "28 20:59:00"),
        ("22:07:30", "28 21:07:30"),
        ("21:54", "29 19:54:00"),  # was over at the start, and clocks have turned since
        ("01:00", "29 00:00:00"),
        ("06:00", "29 04:00:00"),
        ("2026-03-29T06:00:00", "29 04:00:00"),
        ("2026-03-29 06:00", "29 04:00:00"),
        ("2026-03-29T06:00:00Z", "29 06:00:00"),
        ("2026-03-29T06:00:00-03:00", "29 09:00:00"),
        ("2026-03-31T12:00", "31 10:00:00"),
    ],
)
def test_a_time_is_by_the_clocks_of_the_place(text, utc):
    assert instant(text) == utc


def test_an_hour_that_clocks_repeat_is_the_first_that_is_still_to_come():
    assert instant("02:30", start="2026-10-24T22:00:00") == "25 00:30:00"
    assert instant("02:30", start="2026-10-25T02:45:00+02:00") == "25 01:30:00"
    assert instant("2026-10-25T02:30:00", start="2026-10-25T02:45:00+02:00") == "25 01:30:00"


def test_parts_of_a_second_are_kept():
    assert Moment(whole=True).of("2026-03-28T21:55:00.000000001").instant(BERLIN) % SECOND == 1


def test_what_was_before_the_start_cannot_be():
    with pytest.raises(ValueError, match="before the start"):
        instant("2026-03-28T21:54:59")


@pytest.mark.parametrize(
    "text", ["24:00", "9:00", "22:60", "22:00Z", "2026-02-30T12:00", "2026-03-28", "now"]
)
def test_what_is_no_time_is_refused(text):
    with pytest.raises(ValueError, match=r"write|no such day"):
        Moment().of(text)


def test_a_test_lasts_at_most_a_year():
    assert instant("2027-03-29T20:00:00") == "29 18:00:00"
    with pytest.raises(ValueError, match="at most a year"):
        instant("2027-03-30T00:00:00")


@pytest.mark.parametrize(
    "text", ["1999-12-31T23:59", "9999-12-31T23:59:00-14:00", "0001-01-01T00:00"]
)
def test_a_year_is_one_of_ours(text):
    with pytest.raises(ValueError, match="from 2000 to 2100"):
        Moment(whole=True).of(text)


def test_a_start_says_its_day():
    with pytest.raises(ValueError, match="a day and a time"):
        Moment(whole=True).of("22:00")


@pytest.mark.parametrize(
    ("text", "yes", "no"),
    [
        ("40.5", [40.5, 40.4501, 40.5499, 40.55], [40.44, 40.56, None]),
        ("40.50", [40.504, 40.496], [40.51]),
        ("40", [40, 40.00003], [40.001, 39.9]),
        ("0", [0], [1e-9]),
        ("-3.2", [-3.24], [3.2]),
        ("1e3", [1000.0005], [1000.1]),
    ],
)
def test_a_number_is_meant_as_exactly_as_it_is_written(text, yes, no):
    figure = Exactly().take(scalar(text, NOWHERE))
    assert [found for found in yes if not figure.met_by(found)] == []
    assert [found for found in no if figure.met_by(found)] == []


def test_a_text_is_no_number():
    with pytest.raises(ValueError, match=r"such as 40\.5"):
        Exactly().take(Node("text", NOWHERE, "40", "40"))
