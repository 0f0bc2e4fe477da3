from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushd.core.times import (
    DURATION_HINT,
    LONGEST,
    MILLISECOND,
    SECOND,
    duration,
    format_duration,
    parse_stamp,
    stamp_parser,
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")
INSTANT = 1_742_681_728  # 2025-03-22T22:15:28Z


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("500ms", 500 * MILLISECOND),
        ("5m", 300 * SECOND),
        ("5ms", 5 * MILLISECOND),  # not five minutes and a stray s
        ("1m5ms", 60 * SECOND + 5 * MILLISECOND),
        ("1d2h3m4s5ms", 93_784 * SECOND + 5 * MILLISECOND),
        ("90m", 5_400 * SECOND),
        ("007s", 7 * SECOND),
        ("0s", 0),
        ("36500d", LONGEST),
    ],
)
def test_duration(text, ns):
    assert duration(text) == ns


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5",
        "m",
        "5 m",
        "5M",
        "-5m",
        "1.5h",
        "5m5m",
        "5s1m",
        "5min",
        "\u0665m",
        "5m\n",
        "9" * 9999 + "d",
    ],
)
def test_a_duration_without_a_plain_number_and_unit_is_refused(text):
    with pytest.raises(ValueError) as caught:
        duration(text)
    assert str(caught.value) == DURATION_HINT


def test_a_duration_beyond_a_century_is_refused():
    with pytest.raises(ValueError, match="100 years"):
        duration("36500d1ms")


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0s"),
        (1, "0s"),  # cut to milliseconds
        (5_400 * SECOND, "1h30m"),
        (86_400 * SECOND, "1d"),
        (1_500 * MILLISECOND, "1s500ms"),
        (-90 * SECOND, "-1m30s"),
        (-1, "0s"),
    ],
)
def test_format_duration(ns, text):
    assert format_duration(ns) == text


@given(st.integers(0, LONGEST // MILLISECOND).map(lambda ms: ms * MILLISECOND))
def test_a_formatted_duration_reads_as_what_it_was(ns):
    assert duration(format_duration(ns)) == ns


@pytest.mark.parametrize(
    "value",
    [
        INSTANT,
        INSTANT * 1_000,
        INSTANT * 1_000_000,
        INSTANT * 1_000_000_000,
        float(INSTANT),
        float(INSTANT * 1_000_000_000),
        str(INSTANT),
        f" {INSTANT}000 ",
        "2025-03-22T22:15:28Z",
        "2025-03-22t22:15:28z",
        "2025-03-22 22:15:28Z",
        "2025-03-22T23:15:28+01:00",
        "2025-03-22T23:15:28.000+0100",
        "2025-03-22T20:45:28-01:30",
    ],
)
def test_one_instant_in_many_clothes(value):
    assert parse_stamp(value) == INSTANT * SECOND


@pytest.mark.parametrize(
    ("form", "value", "ns"),
    [
        ("ns", INSTANT * SECOND + 128, INSTANT * SECOND + 128),
        ("ns", str(INSTANT * SECOND + 128), INSTANT * SECOND + 128),
        ("s", 1_680_962_879.62, 1_680_962_879_620_000_000),  # not ...619999885
        ("s", "1680962879.123456789", 1_680_962_879_123_456_789),
        ("s", "1680962879.1234567899999", 1_680_962_879_123_456_789),  # cut, not rounded
        ("ms", 1_680_962_879_620.5, 1_680_962_879_620_500_000),
        ("us", "1680962879620000.5", 1_680_962_879_620_000_500),
        ("auto", "1680962879.5", 1_680_962_879_500_000_000),
        ("rfc3339", "2025-03-22T22:15:28.000000128Z", INSTANT * SECOND + 128),
        ("rfc3339", "2025-03-22T22:15:28.5Z", INSTANT * SECOND + SECOND // 2),
        ("rfc3339", "2016-12-31T23:59:60Z", 1_483_228_800 * SECOND),  # a leap second
    ],
)
def test_stamps_are_exact(form, value, ns):
    assert stamp_parser(form)(value) == ns


@pytest.mark.parametrize(
    ("form", "value", "why"),
    [
        ("auto", 0, "before 2000"),
        ("auto", -5, "before 2000"),
        ("auto", "1970-01-01T00:00:07Z", "before 2000"),
        ("auto", "2106-02-07T06:28:15Z", "after 2100"),
        ("s", INSTANT * 1000, "after 2100"),
        ("ms", INSTANT, "before 2000"),
        ("auto", "2025-03-22T22:15:28", "no time zone"),
        ("auto", "2025-03-22", "not a time"),
        ("auto", "22:15:28", "not a time"),
        ("auto", "2025-02-30T22:15:28Z", "not a time"),
        ("auto", "2025-W12-6T22:15:28Z", "not a time"),
        ("auto", "2025-03-22T22:15:28+24:00", "not a time"),
        ("auto", "2025-03-22T22:15:Z", "not a time"),  # Python would take it, as one with an offset
        ("auto", "yesterday", "not a time"),
        ("auto", "", "not a time"),
        ("auto", "٢٠٢٥-٠٣-٢٢T22:15:28Z", "not a time"),
        ("auto", float("nan"), "not a number"),
        ("auto", float("inf"), "not a number"),
        ("auto", 1e300, "after 2100"),
        ("auto", None, "not a number"),
        ("auto", True, "not a number"),
        ("s", [1], "not a number"),
        ("s", "1e9", "not a number"),
        ("s", "1_000_000_000", "not a number"),
        ("s", "9" * 5000, "not a number"),
        ("rfc3339", INSTANT, "not a text"),
    ],
)
def test_what_is_no_stamp_is_refused_with_the_reason(form, value, why):
    with pytest.raises(ValueError, match=why):
        stamp_parser(form)(value)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00", "9999-12-31T23:59:59"])
def test_the_ends_of_the_calendar_do_no_harm(text):
    with pytest.raises(ValueError, match="clock"):
        stamp_parser("auto", BERLIN)(text)


def test_a_civil_time_stands_in_the_zone():
    parse = stamp_parser("auto", BERLIN)
    assert parse("2025-03-22 23:15:28") == INSTANT * SECOND
    assert parse("2025-03-22T22:15:28Z") == INSTANT * SECOND  # its own offset counts
    twice = datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN)
    assert parse("2026-10-25 02:30:00") == int(twice.timestamp()) * SECOND  # the first of two


@given(
    st.datetimes(datetime(2000, 1, 2), datetime(2100, 12, 30)),  # noqa: DTZ001  a civil time
    st.integers(-14 * 60, 14 * 60),
    st.sampled_from("Tt "),
)
def test_rfc3339_agrees_with_datetime(civil, minutes, separator):
    aware = civil.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    expected = (aware - EPOCH) // timedelta(microseconds=1) * 1_000
    assert parse_stamp(aware.isoformat(separator)) == expected


@given(st.datetimes(datetime(2000, 1, 2), datetime(2100, 12, 30)))  # noqa: DTZ001  a civil time
def test_civil_times_agree_with_datetime(civil):
    civil = civil.replace(fold=0)
    expected = (civil.replace(tzinfo=BERLIN).astimezone(UTC) - EPOCH) // timedelta(microseconds=1)
    assert stamp_parser("rfc3339", BERLIN)(civil.isoformat()) == expected * 1_000


@given(st.integers(946_684_800 * 10**9, 4_133_980_800 * 10**9 - 1))
def test_no_unit_loses_a_digit(ns):
    seconds, rest = divmod(ns, 10**9)
    assert stamp_parser("ns")(ns) == ns
    assert stamp_parser("ns")(str(ns)) == ns
    assert stamp_parser("s")(f"{seconds}.{rest:09d}") == ns
    assert parse_stamp(f"{seconds}.{rest:09d}") == ns


@given(st.one_of(st.text(), st.integers(), st.floats(), st.none(), st.lists(st.integers())))
def test_only_value_errors_come_out(value):
    for form in ("auto", "s", "ms", "us", "ns", "rfc3339"):
        try:
            assert isinstance(stamp_parser(form, BERLIN)(value), int)
        except ValueError as exc:
            assert str(exc)  # noqa: PT017  any of two outcomes is fine
