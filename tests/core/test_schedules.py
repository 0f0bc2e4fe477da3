"""Schedules: what the clocks do to them, and what a timetable says of them at any time."""

from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushd.core.readings import SECOND
from hushd.core.rules import DAY, Days, During, Schedule, Span
from hushd.core.schedules import HORIZON, Calendar, Timetable, counts, interval

MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
BERLIN = "Europe/Berlin"


def wall(text: str) -> int:
    """Nanoseconds of a UTC time; what stands below the microsecond is added by hand."""
    return (
        (datetime.fromisoformat(text + "+00:00") - datetime(1970, 1, 1, tzinfo=UTC))
        // (timedelta(microseconds=1))
        * 1000
    )


def span(start: str = "00:00", end: str = "24:00", days: Days = Days(), zone: str = BERLIN) -> Span:  # noqa: B008  frozen
    """As a caretaker writes it."""
    minutes = [int(text[:2]) * 60 + int(text[3:]) for text in (start, end)]
    return Span(minutes[0], minutes[1], days, zone)


def timetable(*spans: Span, holidays: tuple[str, ...] = (), inverted: bool = False) -> Timetable:
    """That of a schedule of these spans."""
    return Calendar((Schedule("it", spans),), holidays).during(During("it", inverted))


NIGHT = span("22:00", "06:00")


@pytest.mark.parametrize(
    ("start", "end", "day", "begins", "is_over", "hours"),
    [
        ("22:00", "06:00", "2026-03-28", "2026-03-28T21:00", "2026-03-29T04:00", 7),
        ("22:00", "06:00", "2026-10-24", "2026-10-24T20:00", "2026-10-25T05:00", 9),
        ("22:00", "06:00", "2026-06-01", "2026-06-01T20:00", "2026-06-02T04:00", 8),
        ("02:30", "05:00", "2026-03-29", "2026-03-29T01:00", "2026-03-29T03:00", 2),
        ("02:30", "05:00", "2026-10-25", "2026-10-25T00:30", "2026-10-25T04:00", 3.5),
        ("02:15", "02:45", "2026-10-25", "2026-10-25T00:15", "2026-10-25T01:45", 1.5),
        ("01:00", "02:30", "2026-03-29", "2026-03-29T00:00", "2026-03-29T01:00", 1),
        ("01:00", "02:30", "2026-10-25", "2026-10-24T23:00", "2026-10-25T01:30", 2.5),
        ("00:00", "24:00", "2026-03-29", "2026-03-28T23:00", "2026-03-29T22:00", 23),
        ("00:00", "24:00", "2026-10-25", "2026-10-24T22:00", "2026-10-25T23:00", 25),
    ],
)
def test_what_the_clocks_of_berlin_do_to_a_span(start, end, day, begins, is_over, hours):
    found = interval(span(start, end), date.fromisoformat(day))
    assert found == (wall(begins), wall(is_over))
    assert found[1] - found[0] == hours * HOUR


@pytest.mark.parametrize(
    ("zone", "day", "begins", "is_over"),
    [
        # no midnight: at 24:00 it was 01:00
        ("America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00", "2018-11-05T02:00"),
        ("America/Sao_Paulo", "2018-11-03", "2018-11-03T03:00", "2018-11-04T03:00"),
        ("Asia/Beirut", "2020-03-29", "2020-03-28T22:00", "2020-03-29T21:00"),
        # two midnights: at 01:00 it was 00:00 again; both days have the hour
        ("America/Havana", "2026-11-01", "2026-11-01T04:00", "2026-11-02T05:00"),
        ("America/Havana", "2026-10-31", "2026-10-31T04:00", "2026-11-01T05:00"),
        # from the 29th to the 31st in one step
        ("Pacific/Apia", "2011-12-29", "2011-12-29T10:00", "2011-12-30T10:00"),
        ("Pacific/Apia", "2011-12-31", "2011-12-30T10:00", "2011-12-31T10:00"),
        # half an hour
        ("Australia/Lord_Howe", "2026-04-05", "2026-04-04T13:00", "2026-04-05T13:30"),
    ],
)
def test_a_whole_day_runs_from_midnight_to_midnight_whatever_midnight_is(
    zone, day, begins, is_over
):
    found = interval(span(zone=zone), date.fromisoformat(day))
    assert found == (wall(begins), wall(is_over))


def test_a_span_that_the_clocks_skip_is_none():
    assert interval(span("02:15", "02:45"), date(2026, 3, 29)) is None
    assert interval(span(zone="Pacific/Apia"), date(2011, 12, 30)) is None


def test_a17_a_night_is_on_over_midnight_and_off_at_its_last_instant():
    night = timetable(NIGHT)
    assert not night.at(wall("2026-06-01T19:59:59.999999") + 999)
    assert night.at(wall("2026-06-01T20:00"))
    assert night.at(wall("2026-06-01T21:59:59.900"))  # 23:59:59.9 in Berlin
    assert night.at(wall("2026-06-01T22:00"))  # 00:00:00
    assert night.at(wall("2026-06-02T03:59:59.999999") + 999)
    assert not night.at(wall("2026-06-02T04:00"))  # 06:00:00.0


@pytest.mark.parametrize(
    ("noon", "hours"), [("2025-03-29T12:00", 7), ("2025-10-25T12:00", 9), ("2025-06-01T12:00", 8)]
)
def test_d25_the_night_of_a_clock_change_lasts_seven_hours_or_nine(noon, hours):
    night = timetable(NIGHT)
    (begins, on), (is_over, off) = night.next_changes(wall(noon), 2)
    assert (is_over - begins, on, off) == (hours * HOUR, True, False)


def test_days_that_touch_have_no_turn_between_them():
    working = timetable(span(days=Days((0, 1, 2, 3, 4))))
    assert working.since(wall("2026-06-03T12:00")) == wall("2026-05-31T22:00")
    assert working.until(wall("2026-06-03T12:00")) == wall("2026-06-05T22:00")
    halves = timetable(span("06:00", "14:00"), span("14:00", "22:00"), span("13:00", "15:00"))
    assert halves.next_changes(wall("2026-06-03T00:00"), 3) == [
        (wall("2026-06-03T04:00"), True),
        (wall("2026-06-03T20:00"), False),
        (wall("2026-06-04T04:00"), True),
    ]


def test_spans_of_one_schedule_may_have_different_zones():
    both = timetable(span("08:00", "10:00"), span("08:00", "10:00", zone="Europe/London"))
    assert both.next_changes(wall("2026-06-03T00:00"), 2) == [
        (wall("2026-06-03T06:00"), True),
        (wall("2026-06-03T09:00"), False),
    ]


MAY_DAY = "2026-05-01"  # a Friday


@pytest.mark.parametrize(
    ("days", "day", "expected"),
    [
        (Days(), MAY_DAY, True),
        (Days((4,)), MAY_DAY, True),  # it is still a Friday
        (Days((6,)), MAY_DAY, False),
        (Days((6,), holidays=True), MAY_DAY, True),
        (Days((6,), holidays=True), "2026-05-08", False),
        (Days((), holidays=True), MAY_DAY, True),
        (Days((0, 1, 2, 3, 4), but_holidays=True), MAY_DAY, False),
        (Days((0, 1, 2, 3, 4), but_holidays=True), "2026-05-08", True),
        (Days(but=(4,)), "2026-05-08", False),
        (Days(but=(4,)), "2026-05-09", True),
        (Days((), holidays=True, but=(4,)), MAY_DAY, False),
    ],
)
def test_which_days_count(days, day, expected):
    day = date.fromisoformat(day)
    assert counts(days, day, frozenset({date.fromisoformat(MAY_DAY)})) is expected
    found = interval(span(days=days), day, frozenset({date.fromisoformat(MAY_DAY)}))
    assert (found is not None) is expected


def test_a_night_belongs_to_the_day_on_which_it_begins():
    fridays = timetable(span("22:00", "06:00", Days((4,))))
    assert fridays.next_changes(wall("2026-06-01T00:00"), 2) == [
        (wall("2026-06-05T20:00"), True),
        (wall("2026-06-06T04:00"), False),
    ]


def test_a_night_before_a_holiday_runs_into_it_and_one_on_it_is_its_own():
    nights = timetable(
        span("22:00", "06:00", Days(but_holidays=True)), holidays=(MAY_DAY,)
    )  # the night of 30 April goes on until the morning of 1 May; that of 1 May is left out
    assert nights.next_changes(wall("2026-04-30T12:00"), 3) == [
        (wall("2026-04-30T20:00"), True),
        (wall("2026-05-01T04:00"), False),
        (wall("2026-05-02T20:00"), True),
    ]
    holiday_nights = timetable(span("22:00", "06:00", Days((), holidays=True)), holidays=(MAY_DAY,))
    assert holiday_nights.next_changes(wall("2026-04-30T12:00"), 9) == [
        (wall("2026-05-01T20:00"), True),
        (wall("2026-05-02T04:00"), False),
    ]


def test_always_and_never_have_no_turn():
    now = wall("2026-06-01T00:00")
    always = Calendar((), ()).during(None)
    never = timetable(span(days=Days(())))
    for table, on in ((always, True), (never, False), (timetable(span()), True)):
        assert table.at(now) is on
        assert table.until(now) is None
        assert table.since(now) == now - HORIZON
        assert table.next_changes(now, 3) == []


def test_what_lies_beyond_the_horizon_is_not_seen_from_before_and_is_from_within():
    far = timetable(span(days=Days((), holidays=True), zone="UTC"), holidays=("2030-01-01",))
    turn = wall("2030-01-01T00:00")
    for ahead, seen in ((1, turn), (HORIZON, turn), (HORIZON + 1, None), (3 * HORIZON, None)):
        assert far.until(turn - ahead) == seen
    over = turn + DAY
    for after in (0, HORIZON - 1, HORIZON, HORIZON + 1, 3 * HORIZON):
        assert far.since(over + after) == max(over, over + after - HORIZON)


def test_a_schedule_that_there_is_not_is_an_error_and_one_that_there_is_is_shared():
    calendar = Calendar((Schedule("night", (NIGHT,)),), ())
    assert calendar.during(During("night")) is calendar.during(During("night"))
    assert calendar.during(During("night")) is not calendar.during(During("night", inverted=True))
    with pytest.raises(KeyError, match="nigth"):
        calendar.during(During("nigth"))


# Against a slow way to say the same: minute by minute, from what clocks show.

#: Zone and a date on which its clocks do something; the last three are there for their offsets.
PLACES = [
    (BERLIN, "2026-03-29"),
    (BERLIN, "2026-10-25"),
    ("America/Sao_Paulo", "2018-11-04"),
    ("America/Sao_Paulo", "2018-02-18"),
    ("America/Havana", "2026-11-01"),
    ("America/St_Johns", "2010-11-07"),
    ("Asia/Beirut", "2020-03-29"),
    ("Asia/Beirut", "2020-10-25"),
    ("Australia/Lord_Howe", "2026-04-05"),
    ("Australia/Lord_Howe", "2026-10-04"),
    ("Africa/Casablanca", "2026-02-15"),
    ("Africa/Casablanca", "2026-03-22"),
    ("Pacific/Apia", "2011-12-30"),
    ("Pacific/Kiritimati", "2026-01-01"),
    ("Asia/Kathmandu", "2026-01-01"),
    ("UTC", "2026-01-01"),
]
SEEN = 4  # days around the date at which the oracle looks at clocks
JUDGED = 2  # days around it whose minutes are compared: no span there began earlier than it saw


@cache
def clocks(zone: str, start: datetime) -> list[datetime]:
    """What is shown at each minute that the oracle sees."""
    moments = (start + timedelta(minutes=i) for i in range(2 * SEEN * 1440))
    return [moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None) for moment in moments]


def covered(shown: list[datetime], it: Span, day: date) -> range:
    """The minutes of the span that starts on *day*, by what is *shown* at each."""
    begin = datetime.combine(day, time()) + timedelta(minutes=it.start)
    end = begin + timedelta(minutes=(it.end - it.start - 1) % 1440 + 1)
    inside = [i for i, clock in enumerate(shown) if begin <= clock < end]
    if not inside:
        return range(0)
    # Clocks that are set back show the end twice, and it is over only the second time.
    return range(inside[0], max(inside[-1] + 1, *(i for i, x in enumerate(shown) if x == end), 0))


def wanted(days: Days, holidays: list[date], around: date) -> list[date]:
    """The dates that count, of those that the oracle sees."""
    seen = [around + timedelta(days=i) for i in range(-SEEN, SEEN + 1)]
    named = {x for x in seen if x.weekday() in days.weekdays}
    excepted = {x for x in seen if x.weekday() in days.but}
    named |= set(holidays) if days.holidays else set()
    excepted |= set(holidays) if days.but_holidays else set()
    return sorted(named - excepted)


@st.composite
def spans(draw: st.DrawFn, zone: str) -> Span:
    """Any, and rather often one that begins or ends where clocks are set."""
    edges = st.sampled_from([0, 1, 30, 60, 90, 120, 150, 180, 1380, 1381, 1410, 1439])
    start = draw(edges | st.integers(0, 1439))
    end = draw((edges | st.integers(0, 1440) | st.just(1440)).filter(lambda x: x != start))
    weekdays = draw(st.sampled_from([tuple(range(7)), tuple(range(5)), (4, 6), ()]))
    but = draw(st.sampled_from([(), (), (6,)]))
    return Span(start, end, Days(weekdays, draw(st.booleans()), but, draw(st.booleans())), zone)


@pytest.mark.parametrize(("zone", "around"), PLACES)
@given(data=st.data())
@settings(max_examples=8, deadline=None)
def test_a_schedule_is_on_when_the_clocks_say_so_and_turns_only_then(zone, around, data):
    day = date.fromisoformat(around)
    start = datetime.combine(day, time(), UTC) - timedelta(days=SEEN)
    zones = st.sampled_from([zone, zone, zone, "Asia/Kathmandu"])
    its = data.draw(st.lists(zones.flatmap(spans), max_size=3), "spans")
    near = st.integers(-JUDGED, JUDGED).map(lambda i: day + timedelta(days=i))
    holidays = data.draw(st.lists(near, max_size=2), "holidays")
    inverted = data.draw(st.booleans(), "inverted")

    on = [inverted] * (2 * SEEN * 1440)
    for it in its:
        for one in wanted(it.days, holidays, day):
            for i in covered(clocks(it.zone, start), it, one):
                on[i] = not inverted

    zero = wall(start.replace(tzinfo=None).isoformat())
    table = timetable(*its, holidays=tuple(map(str, holidays)), inverted=inverted)
    first, last = ((SEEN + side * JUDGED) * 1440 for side in (-1, 1))
    for i in data.draw(st.permutations((range(first, last), range(last - 1, first, -1)))):
        for minute in i:
            assert table.at(zero + minute * MINUTE) is on[minute], clocks(zone, start)[minute]
            assert table.at(zero + (minute + 1) * MINUTE - 1) is on[minute]

    turns = [i for i in range(first + 1, last) if on[i] != on[i - 1]]
    changes = table.next_changes(zero + first * MINUTE, len(turns) + 1)
    assert changes[: len(turns)] == [(zero + i * MINUTE, on[i]) for i in turns]
    for following in changes[len(turns) :]:
        assert following[0] >= zero + last * MINUTE
    now = data.draw(st.integers(zero + first * MINUTE, zero + last * MINUTE - 1), "now")
    later = [zero + i * MINUTE for i in turns if zero + i * MINUTE > now]
    earlier = [zero + i * MINUTE for i in turns if zero + i * MINUTE <= now]
    if later:
        assert table.until(now) == later[0]
    if earlier:
        assert table.since(now) == earlier[-1]


@given(
    its=st.lists(st.sampled_from([BERLIN, "Pacific/Apia"]).flatmap(spans), min_size=1, max_size=3),
    looks=st.lists(st.integers(wall("2011-11-01T00:00"), wall("2012-03-01T00:00")), max_size=12),
    inverted=st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_a_turn_is_where_it_differs_whatever_was_asked_before(its, looks, inverted):
    table = timetable(*its, inverted=inverted)
    for now in looks:
        until, since, on = table.until(now), table.since(now), table.at(now)
        fresh = timetable(*its, inverted=inverted)
        assert (fresh.at(now), fresh.until(now), fresh.since(now)) == (on, until, since)
        assert since <= now
        if until is not None:
            assert table.at(until) is not table.at(until - 1) is on
            assert table.since(until) == until
            assert table.since(until - 1) == since
        if since > now - HORIZON:
            assert table.at(since - 1) is not table.at(since) is on
            assert table.until(since - 1) == since
