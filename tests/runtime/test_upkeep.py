"""hushd's own troubles: seen by looking at the parts, told through the others."""

import threading
from time import monotonic, sleep

import pytest

from hushd.config import read_text
from hushd.core.engine import Engine
from hushd.core.readings import SECOND
from hushd.plugin.loading import load
from hushd.plugin.records import Note, NotifierType
from hushd.runtime.delivery import Delivery, Patience, Way
from hushd.runtime.inbox import Inbox
from hushd.runtime.intake import Intake
from hushd.runtime.logs import Quiet
from hushd.runtime.messages import Message
from hushd.runtime.store import NOWHERE, VolatileStore
from hushd.runtime.upkeep import Bounds, Standing, Upkeep

CONFIG = """\
version: 1
limits: {series: 1, payload: 16B}
internal: {severity: critical, notify: [phone, mail]}
sensors:
  noise: {topic: "home/{room}/noise", value: bad}
notifiers:
  phone: {type: log}
  mail: {type: log}
rules:
  loud: {watch: noise, measure: bad, over: 10s, warning: {above: 70}, notify: [phone]}
"""

PLUGIN = """\
from hushd.plugin import Aggregation, Aggregator, Decoder, Sample, hookimpl


def finalize(partial):
    raise ValueError("no idea")


def decode(payload):
    return [Sample(float(payload))]


@hookimpl
def hushd_aggregators():
    yield Aggregator("bad", Aggregation(lambda: 0, float, max, finalize), "raises")


@hookimpl
def hushd_decoders():
    yield Decoder("bad", "raises at words", lambda wanted: decode)
"""

UP = Standing()
DOWN = Standing(broker="localhost:1883: connection refused")


class Clock:
    def __init__(self) -> None:
        self.second = 0.0

    def now(self) -> int:
        return round(self.second * SECOND)

    def arrival(self, received: int) -> int:
        return received


class Diary(Quiet):
    def __init__(self) -> None:
        self.lines: list[tuple[str, dict]] = []

    def warning(self, event: str, **fields) -> None:
        self.lines.append((event, fields))

    error = warning


class Place:
    """The parts, with a clock that is set by hand."""

    def __init__(self, folder) -> None:
        (folder / "odd.py").write_text(PLUGIN)
        self.config = read_text("hushd.yaml", CONFIG, load(folder))
        self.clock, self.diary, self.inbox = Clock(), Diary(), Inbox(2)
        self.engine = Engine(self.config.rules, self.config.catalog.aggregators)
        self.intake = Intake(self.config.sensors, self.clock, 16, Quiet())
        self.upkeep = Upkeep(self.config, self.clock, self.diary)
        self.upkeep.mind(self.engine, self.intake)
        self.standing, self.notifiers = UP, {}

    def send(self, second: float, payload: str, room: str = "attic") -> None:
        self.clock.second = max(second, self.clock.second)
        topic = f"home/{room}/noise".encode()
        for reading in self.intake.readings(
            Message(topic, payload.encode(), round(second * SECOND))
        ):
            self.engine.process(reading)

    def look(self, second: float) -> list[tuple]:
        self.clock.second = second
        told = self.upkeep.look(self.standing, self.notifiers, self.engine, self.intake, self.inbox)
        return [
            (t.at / SECOND, t.event, " ".join([t.rule, *(value for _, value in t.labels)]))
            for t in told
        ]


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def test_a_broker_that_is_away_for_half_a_minute(place):
    place.standing = DOWN
    assert place.look(0) == []
    assert place.look(29) == []
    assert place.look(31) == [(30, "raised", "internal/broker")]
    [alarm] = place.upkeep.alarms()
    assert alarm.about.about == "localhost:1883: connection refused"
    assert alarm.about.notify == (("critical", ("phone", "mail")),)
    place.standing = UP
    assert place.look(40) == [(40, "cleared", "internal/broker")]
    place.standing = DOWN
    assert place.look(50) == []
    place.standing = UP
    assert place.look(60) == []


def test_w33_a_plugin_whose_aggregator_was_put_to_rest(place):
    for second in range(19):
        place.send(second, "50")
    assert place.look(19) == []
    place.send(19, "50")
    assert place.look(20) == [(20, "raised", "internal/plugin odd")]
    [alarm] = place.upkeep.alarms()
    assert alarm.about.about == "bad: ValueError: no idea"
    assert [(event, fields["plugin"].split(" (")[0]) for event, fields in place.diary.lines] == [
        ("plugin.failed", "odd"),  # once a minute, not once a reading
        ("plugin.rested", "odd"),
    ]
    assert place.look(20 + 14 * 60) == []
    assert place.look(20 + 16 * 60) == [(20 + 15 * 60, "cleared", "internal/plugin odd")]


def test_w33_a_plugin_whose_decoder_was_put_to_rest(place):
    for n in range(99):
        place.send(n / 100, "loud")
    assert place.look(1) == []
    place.send(1, "loud")
    assert place.look(1) == [(1, "raised", "internal/plugin odd")]
    place.send(70, "loud")  # one more, after the rest, and it rests again
    place.send(71, "50")
    assert place.intake.rejected["noise", "decoder_resting"] == 1
    assert place.look(71) == []


@pytest.mark.parametrize("limit", ["series", "payload", "inbox"])
def test_a_limit_that_turned_something_away(place, limit):
    place.send(1, "50")
    assert place.look(1) == []
    if limit == "series":
        place.send(2, "50", room="hall")
    elif limit == "payload":
        place.send(2, "50.00000000000000")
    else:
        for _ in range(3):
            place.inbox.offer(Message(b"home/attic/noise", b"50", 0))
    assert place.look(3) == [(3, "raised", f"internal/limit {limit}")]
    assert place.look(4) == []
    assert place.look(1000) == [(903, "cleared", f"internal/limit {limit}")]


def state(*, failed: int | None = None, told: int | None = None, stuck: bool = False) -> dict:
    return {"failed_at": failed, "told_at": told, "error": "refused", "stuck": stuck}


def test_a_notifier_that_fails_for_five_minutes_or_hangs(place):
    place.notifiers = {"mail": state(failed=5, told=3), "phone": state(told=3)}
    assert place.look(0) == []
    assert place.look(301) == [(300, "raised", "internal/notifier mail")]
    [alarm] = place.upkeep.alarms()
    assert alarm.about.notify == (("critical", ("phone",)),)  # never through itself
    place.notifiers = {"mail": state(failed=5, told=6), "phone": state(told=3, stuck=True)}
    assert place.look(310) == [
        (310, "cleared", "internal/notifier mail"),
        (310, "raised", "internal/notifier phone"),
    ]
    del place.notifiers["phone"]  # the configuration has changed
    assert place.look(320) == [(320, "cleared", "internal/notifier phone")]


class Phone:
    """A notifier that fails when told so."""

    def __init__(self) -> None:
        self.heard: list[Note] = []
        self.failing = threading.Event()

    def open(self, options, context) -> "Phone":
        return self

    def send(self, note: Note) -> None:
        if self.failing.is_set():
            raise OSError("line is down")
        self.heard.append(note)

    def close(self) -> None:
        pass


def test_the_others_hear_of_a_notifier_that_fails_and_so_does_the_journal(place):
    phone, mail, evidence = Phone(), Phone(), Phone()
    mail.failing.set()
    delivery = Delivery(
        [
            Way("phone", NotifierType("phone", "", phone.open), {}),
            Way("mail", NotifierType("mail", "", mail.open), {}),
            Way("evidence", NotifierType("evidence", "", evidence.open, every=True), {}),
        ],
        (),
        VolatileStore(),
        Quiet(),
        patience=Patience(first=0.01, longest=0.02),
    )
    upkeep = Upkeep(place.config, place.clock, Quiet(), Bounds(failing=0, lost=0))

    def eventually(condition) -> None:
        until = monotonic() + 10
        while not condition():
            assert monotonic() < until
            place.clock.second += 1
            letters = delivery.letters(
                upkeep.look(
                    place.standing, delivery.state(), place.engine, place.intake, place.inbox
                )
            )
            delivery.tell(letters, [NOWHERE] * len(letters))
            sleep(0.005)

    place.standing = DOWN
    eventually(lambda: len(evidence.heard) == 2 and len(phone.heard) == 2)
    assert [note.title for note in phone.heard] == [
        "Hushd: no connection to the broker (critical)",
        "Hushd: notifier mail cannot tell anybody (critical)",
    ]
    assert phone.heard[1].text.startswith("line is down.\nSince 1970-01-01 00:00 UTC.\n")
    mail.failing.clear()
    eventually(lambda: len(phone.heard) == 3)
    assert phone.heard[2].title.startswith("Hushd: notifier mail works again after ")
    assert [note.record["rule"] for note in evidence.heard] == [
        "internal/broker",
        "internal/notifier",
        "internal/notifier",
    ]
    assert [note.record["rule"] for note in mail.heard] == ["internal/broker"]
    delivery.close()
