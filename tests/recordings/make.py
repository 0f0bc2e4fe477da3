"""Make the synthetic recordings: the same bytes each time it is run.

    python tests/recordings/make.py

They show the kinds of fact that real recordings are full of, in a few kilobytes: levels
that hover at a limit, a clock that steps back, gaps, empty cells, negative readings.
"""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from math import sin, tau
from pathlib import Path
from random import Random

REPO = Path(__file__).resolve().parents[2]
EXAMPLES = REPO / "config/examples"
RECORDINGS = REPO / "tests/recordings"

#: when a level begins ("22:05" or "22:05:30") and what it is; None: silence
Story = list[tuple[str, float | None]]


def moment(day: str, clock: str) -> datetime:
    return datetime.fromisoformat(f"{day}T{clock}").replace(tzinfo=UTC)


def stamp(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


def told(
    day: str, story: Story, until: str, every: int, first: int = 0
) -> Iterator[tuple[datetime, float]]:
    """Yield the readings of a story, one each *every* seconds, *first* seconds in."""
    at, steps = moment(day, story[0][0]), [(moment(day, clock), level) for clock, level in story]
    at += timedelta(seconds=first)
    while at <= moment(day, until):
        level = [level for begin, level in steps if begin <= at][-1]
        if level is not None:
            yield at, level
        at += timedelta(seconds=every)


def messages(
    series: dict[str, Iterator[tuple[datetime, float]]], payload: Callable[[float], str]
) -> str:
    """Return a recording of messages, ordered by arrival."""
    lines = sorted(
        (at, topic, payload(level)) for topic, readings in series.items() for at, level in readings
    )
    return "".join(
        json.dumps({"at": stamp(at), "topic": topic, "payload": text}) + "\n"
        for at, topic, text in lines
    )


def loud_room() -> str:
    """Return a party in the kitchen, and one slammed door in the hall."""
    day, chance = "2026-02-07", Random(1)
    party: Story = [("20:00", 46.0), ("20:10", 78.0), ("20:16", 46.0)]
    slam: Story = [("20:00", 41.0), ("20:12", 83.0), ("20:12:10", 41.0)]
    return messages(
        {
            "home/kitchen/noise": (
                (at, level + round(chance.uniform(-2, 2), 1))
                for at, level in told(day, party, "20:25", every=10)
            ),
            "home/hall/noise": told(day, slam, "20:25", every=10, first=3),
        },
        lambda level: f"{level:.1f}",
    )


def three_severities() -> str:
    """Return a night in two rooms of a hotel; tests/test_examples.py tells what happens."""
    day = "2026-02-07"
    loud: Story = [
        ("22:00", 37.0),
        ("22:05", 60.0),
        ("22:10", 75.0),
        ("22:12", 48.0),
        ("22:16", 37.0),
        ("22:20:10", None),
        ("22:26", 37.0),
    ]
    short: Story = [("22:00", 37.0), ("22:08", 60.0), ("22:08:30", 37.0)]
    return messages(
        {
            "hotel/1/101/noise": told(day, loud, "22:30", every=10),
            "hotel/1/102/noise": told(day, short, "22:30", every=10, first=3),
        },
        lambda level: json.dumps({"level": level, "battery": 97}),
    )


def stale_air() -> str:
    """Return two class rooms over a double lesson; the sensor of one has its moods."""
    chance, lines = Random(3), ["time,room,ppm"]
    start = moment("2026-02-09", "08:00")
    for minute in range(170):
        at = stamp(start + timedelta(minutes=minute))
        lesson = min(minute, 90)  # then somebody opens the windows
        upper = 480 + 24 * lesson - (55 * (minute - 90) if minute > 90 else 0)
        lower = 450 + 5 * lesson
        for room, level in (("204", max(upper, 430)), ("017", lower)):
            text = str(round(level + chance.uniform(-30, 30)))
            if room == "017" and minute in {40, 41, 77}:
                text = "0"  # what this sensor says while it calibrates itself
            elif room == "017" and minute == 60:
                text = ""
            lines.append(f"{at},{room},{text}")
    return "\n".join(lines) + "\n"


def hovering_levels() -> str:
    """Return half an hour at 1 Hz whose five-minute level hovers at 55 dB."""
    chance, lines = Random(4), ["time,level"]
    start = moment("2026-01-15", "12:00")
    for second in range(2400):
        slow = 1.1 * sin(tau * second / 1000) + 1.3 * sin(tau * second / 310)
        level = 52.6 + slow + chance.gauss(0, 1.6) + (9 if chance.random() < 0.04 else 0)
        at = start + timedelta(seconds=second)
        lines.append(f"{at.replace(tzinfo=None).isoformat(' ')},{level:.1f}")
    return "\n".join(lines) + "\n"


def clock_steps_back() -> str:
    """Return a machine's temperatures each 5 minutes; at 03:00 its clock goes back to 02:00."""
    chance, lines = Random(5), ["timestamp,value"]
    start = moment("2026-01-07", "00:00")
    steps = [*range(36), *range(24, 84)]  # 00:00-02:55, then 02:00-06:55
    for i, step in enumerate(steps):
        at = start + timedelta(minutes=5 * step)
        value = 84 + 6 * sin(tau * i / 40) + chance.gauss(0, 0.7)
        lines.append(f"{at.replace(tzinfo=None).isoformat(' ')},{value:.8f}")
    lines.insert(20, lines[19])  # sent twice
    return "\n".join(lines) + "\n"


def month_with_gaps() -> str:
    """Return a month as an instrument exports it: a preamble, gaps, empty cells, negatives."""
    chance = Random(6)
    lines = [
        "\ufeffSerial ID: Example 01",
        "Instrument Data Export",
        "8/1/2026 to 8/31/2026",
        "(UTC-05:00) Eastern Time (US & Canada)",
        "Averaging period: 60 minutes",
        "",
        "Time,NO2 (ppb),PM2.5 (µg/m³),Inlet",
    ]
    start = moment("2026-08-01", "00:00")
    for hour in range(31 * 24):
        if 520 <= hour < 538 or hour in {600, 601}:
            continue  # switched off
        at = start + timedelta(hours=hour)
        no2 = 6 + 7 * sin(tau * hour / 24) + chance.gauss(0, 2)
        cells = ["" if hour in {0, 1, 333} else f"{no2:.1f}", f"{chance.gauss(9, 2):.1f}"]
        when = f"{at.month}/{at.day}/{at.year} {at.hour}:{at.minute:02d}"
        lines.append(",".join([when, *cells, "Sample"]))
    return "\r\n".join(lines) + "\r\n"


FILES = {
    EXAMPLES / "1-loud-room.jsonl": loud_room,
    EXAMPLES / "2-three-severities.jsonl": three_severities,
    EXAMPLES / "3-stale-air.csv": stale_air,
    RECORDINGS / "hovering-levels.csv": hovering_levels,
    RECORDINGS / "clock-steps-back.csv": clock_steps_back,
    RECORDINGS / "month-with-gaps.csv": month_with_gaps,
}


if __name__ == "__main__":
    for path, make in FILES.items():
        path.write_bytes(make().encode())
        print(path.relative_to(REPO), path.stat().st_size)
