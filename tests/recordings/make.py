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
    """Return a moment of a day, or of the night after it: 25:30 is half past one."""
    hours, _, rest = clock.partition(":")
    days, hour = divmod(int(hours), 24)
    at = datetime.fromisoformat(f"{day}T{hour:02d}:{rest}")
    return at.replace(tzinfo=UTC) + timedelta(days=days)


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
    """Return three class rooms over a double lesson.

    The sensor of one has its moods; in another, somebody fights for fresh air.
    """
    chance, draught, lines = Random(3), Random(7), ["time,room,ppm"]
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
        opened = 20 <= minute < 78 and minute // 7 % 2 == 0
        level = 1180 if 20 <= minute < 78 and not opened else 760
        lines.append(f"{at},118,{round(level + draught.uniform(-30, 30))}")
    return "\n".join(lines) + "\n"


#: of a level, how far what is measured strays
NOISE = 1.5


def uneasy(
    chance: Random, readings: Iterator[tuple[datetime, float]], by: float = NOISE
) -> Iterator[tuple[datetime, float]]:
    """Let readings stray from their story."""
    return ((at, max(level + chance.uniform(-by, by), 0)) for at, level in readings)


def hotel_night_noise() -> str:
    """Return a night in three rooms, 21:30 to 06:15 in Berlin, which is 20:30 to 05:15 in UTC."""
    day, chance = "2026-02-13", Random(8)
    rooms: dict[str, Story] = {
        "101": [("20:30", 31), ("20:40", 72), ("20:59", 31), ("28:20", 46)],
        "102": [("20:30", 30), ("24:05", 47), ("24:17", 59), ("24:35", 41), ("24:55", 30)],
        "103": [("20:30", 32), ("25:30", None), ("26:40", 32)],
    }
    return messages(
        {
            f"hotel/1/{room}/noise": uneasy(chance, told(day, story, "29:15", 60, first=5 + 20 * i))
            for i, (room, story) in enumerate(rooms.items())
        },
        lambda level: json.dumps({"level": round(level, 1)}),
    )


def site_boundary() -> str:
    """Return 17:30 on Saturday to 08:45 on Sunday in Madrid; at 01:00 UTC the clocks skip an hour."""
    day, chance = "2026-03-28", Random(9)
    points: dict[str, Story] = {
        "north": [
            ("16:30", 68),  # 17:30, work
            ("18:30", 40),  # 19:30
            ("21:00", 51),  # 22:00, a pump
            ("23:30", 38),
            ("25:30", 62),  # 03:30, a generator
            ("26:00", 38),
            ("28:00", 48),  # 06:00, the pump
            ("29:05", 42),
            ("30:00", 66),  # 08:00, work
        ],
        "south": [("16:30", 52), ("18:30", 40)],
    }
    return messages(
        {
            f"site/{point}/noise": uneasy(chance, told(day, story, "30:45", 60, first=10 + 30 * i))
            for i, (point, story) in enumerate(points.items())
        },
        lambda level: f"{level:.1f}",
    )


def two_sensors() -> str:
    """Return an evening in two zones of a yard; nothing at all is heard from 20:24 to 20:40."""
    day, chance = "2026-02-10", Random(10)
    gone: Story = [("20:24", None), ("20:40", 48)]
    still: Story = [("20:24", None), ("20:40", 0.4)]
    stories: dict[str, Story] = {
        "yard/east/noise": [
            ("16:30", 48),
            ("17:00", 80),  # piling, within working hours
            ("17:40", 48),
            ("18:30", 78),  # a fan
            ("19:00", 48),
            ("20:00", 80),  # piling
            ("20:20", 48),
            *gone,
        ],
        "yard/east/ppv": [
            ("16:30", 0.4),
            ("17:00", 7),
            ("17:40", 0.4),
            ("19:15", 8),  # a lorry
            ("19:20", 0.4),
            ("19:35", 8),
            ("19:45", 0.4),
            ("20:00", 7),
            ("20:20", 0.4),
            *still,
        ],
        "yard/west/noise": [("16:30", 47), ("19:30", 78), ("19:50", 47), *gone],
        "yard/west/ppv": [("16:30", 0.3), *still],
    }
    return messages(
        {
            topic: uneasy(chance, told(day, story, "21:30", 60, first=5 + 10 * i), by=0.3)
            for i, (topic, story) in enumerate(stories.items())
        },
        lambda level: f"{level:.1f}",
    )


def machine_band() -> str:
    """Return 05:30 to 09:30 of a Monday in São Paulo, three hours behind UTC."""
    day, chance = "2026-03-09", Random(11)
    pumps: dict[str, Story] = {
        "p1": [("08:30", 0.1), ("08:55", 2.1), ("10:30", 5.3), ("10:50", 8.6), ("10:56", 2.6)],
        "p2": [("08:30", 0.1), ("09:20", 2.2), ("11:30", 4.2), ("12:00", 2.2)],
        "p9": [("08:30", 0.1), ("11:00", 9.5), ("11:10", 0.1)],
    }
    series = {
        f"plant/{pump}/vibration": uneasy(
            chance, told(day, story, "12:30", 30, first=3 + 10 * i), by=0.1
        )
        for i, (pump, story) in enumerate(pumps.items())
    }
    slams = [(f"10:{5 + i:02d}:17", 80.0 if i % 4 == 3 else 92.0) for i in range(20)]
    doors = {"plant/p1/slam": ((moment(day, clock), level) for clock, level in slams)}
    lines = messages(series, lambda level: f"{level:.2f}").splitlines(keepends=True)
    lines += messages(doors, lambda level: json.dumps({"peak": level})).splitlines(keepends=True)
    return "".join(sorted(lines))  # they begin with their time


def short_term_rental() -> str:
    """Return 20:00 to 09:00 in a flat in Lisbon, which in winter goes by UTC."""
    story: Story = [
        ("20:00", 44),
        ("21:00", 61),  # dinner
        ("21:50", 44),
        ("22:40", 56),  # a long talk
        ("23:25", 41),
        ("24:30", 72),  # a party
        ("24:52", 36),
        ("29:00", None),  # somebody needs the plug
        ("30:30", 38),
        ("31:45", 58),  # breakfast
        ("32:30", 44),
    ]
    readings = uneasy(Random(12), told("2026-02-14", story, "33:00", 60, first=20))
    return messages({"flat/living-room/noise": readings}, lambda level: f"{level:.1f}")


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
    EXAMPLES / "loud-room/recording.jsonl": loud_room,
    EXAMPLES / "three-severities/recording.jsonl": three_severities,
    EXAMPLES / "air-quality/recording.csv": stale_air,
    EXAMPLES / "hotel-night-noise/recording.jsonl": hotel_night_noise,
    EXAMPLES / "site-boundary/recording.jsonl": site_boundary,
    EXAMPLES / "two-sensors/recording.jsonl": two_sensors,
    EXAMPLES / "machine-band/recording.jsonl": machine_band,
    EXAMPLES / "short-term-rental/recording.jsonl": short_term_rental,
    RECORDINGS / "hovering-levels.csv": hovering_levels,
    RECORDINGS / "clock-steps-back.csv": clock_steps_back,
    RECORDINGS / "month-with-gaps.csv": month_with_gaps,
}


if __name__ == "__main__":
    for path, make in FILES.items():
        path.write_bytes(make().encode())
        print(path.relative_to(REPO), path.stat().st_size)
