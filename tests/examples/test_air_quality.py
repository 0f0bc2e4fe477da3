"""Stale air, by brute force."""

from collections.abc import Iterator
from csv import DictReader
from datetime import datetime, timedelta

import pytest
from playback import EXAMPLES, told, told_of

NAME = "air-quality"
SEVERITIES = [None, "info", "warning", "critical"]
LIMITS = {1: (1000, 900), 2: (1500, 1300), 3: (2500, 2000)}


def air(room: str) -> Iterator[tuple[datetime, float]]:
    with (EXAMPLES / NAME / "recording.csv").open() as lines:
        for row in DictReader(lines):
            if row["room"] == room and row["ppm"] and 300 <= float(row["ppm"]) <= 10000:
                yield datetime.fromisoformat(row["time"]), float(row["ppm"])


def stamp(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


def percentile(values: list[float], p: float) -> float:
    """Return the percentile with linear interpolation (R7)."""
    ordered, place = sorted(values), (len(values) - 1) * p / 100
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def levels(room: str) -> Iterator[tuple[datetime, int, int]]:
    """Yield when the level of the median of ten changes: the one before, the one after."""
    readings = list(air(room))
    on, level = dict.fromkeys(LIMITS, False), 0
    for i in range(9, len(readings)):
        median = sorted(x for _, x in readings[i - 9 : i + 1])[4]  # the lower one
        on = {n: median > LIMITS[n][on[n]] for n in on}
        now = max((n for n in on if on[n]), default=0)
        if now != level:
            yield readings[i][0], level, now
            level = now


def word(was: int, now: int) -> str:
    if not now:
        return "cleared"
    return "raised" if not was else "escalated" if now > was else "lowered"


@pytest.mark.parametrize(("room", "changes"), [("204", 6), ("017", 0), ("118", 8)])
def test_the_level_is_that_of_the_median_of_ten(room, changes):
    expected = [(stamp(at), word(was, now), SEVERITIES[now]) for at, was, now in levels(room)]
    assert len(expected) == changes
    seen = told_of(NAME, "stale-air", room)
    assert [x for x in seen if x[1] not in ("flapping", "steady")] == expected


def test_more_than_six_changes_in_an_hour_are_flapping_until_fewer_than_three():
    times = [at for at, *_ in levels("118")]

    def recent(at: datetime) -> int:
        return sum(at - timedelta(hours=1) < time <= at for time in times)

    begins = next(at for at in times if recent(at) > 6)
    minutes = (begins + timedelta(minutes=minute) for minute in range(120))
    ends = next(at for at in minutes if recent(at) < 3)
    assert [x for x in told(NAME, "stale-air") if x[2] in ("flapping", "steady")] == [
        (stamp(begins), "118", "flapping", "info"),
        (stamp(ends), "118", "steady", None),
    ]


@pytest.mark.parametrize(("room", "changes"), [("204", 2), ("017", 0), ("118", 0)])
def test_a_stuffy_lesson_is_a_percentile_of_45_minutes(room, changes):
    readings = list(air(room))
    expected, raised, quiet = [], False, 0
    for now, _ in readings:
        if now - readings[0][0] < timedelta(minutes=22):
            continue  # less than half full
        value = percentile(
            [x for at, x in readings if 0 <= (now - at).seconds < 2700 and at <= now], 90
        )
        quiet = quiet + 1 if value < 1500 else 0
        if not raised and value >= 2000:
            raised = True
            expected.append((stamp(now), "raised", "warning"))
        elif raised and quiet == 6:  # five minutes after the first
            raised = False
            expected.append((stamp(now), "cleared", None))
    assert len(expected) == changes
    assert told_of(NAME, "stuffy-lesson", room) == expected
