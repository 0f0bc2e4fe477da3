"""Nothing that is sent stops the daemon, and nothing is lost without a trace.

Each message becomes a reading, or is counted with its reason, or (where the field that is
asked for is not in it) is nothing at all; whatever came before, the next good one counts.
"""

import json
import math
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from time import monotonic

import bad_inputs
import pytest
from bad_inputs import AT, FRAMES, MESSAGES, NOTHING, SENSORS, Bad, Frame
from fake_broker import PUBACK, FakeBroker
from waiting import Diary, eventually

from hushd.config import read_text
from hushd.config.records import Config, Mqtt
from hushd.core.engine import Engine
from hushd.core.transitions import Transition
from hushd.plugin import load
from hushd.runtime.clocks import RecordedClock
from hushd.runtime.connection import Pauses
from hushd.runtime.inbox import Inbox
from hushd.runtime.intake import Intake
from hushd.runtime.messages import Message
from hushd.runtime.mqtt import MqttSource

QUICK = Pauses(first=0.02, longest=0.05, greeting=2, leave=0.2, refused=0.05)
GOOD = b"plain/good"

CONFIG = f"""\
version: 1
limits: {{series: 200}}
notifiers: {{phone: {{type: log}}}}
defaults: {{notify: [phone], no_data: ignore}}
sensors:
{SENSORS}
rules:
  plain: {{watch: plain, measure: max, over: 1 samples, warning: {{above: 40}}}}
  field: {{watch: field, measure: median, over: 5m, warning: {{above: 40}}}}
  full: {{watch: full, measure: mean, over: 5m, each: [room, zone], warning: {{above: 40}}}}
  whole: {{watch: whole, measure: leq, over: 20 samples, warning: {{above: 40}}}}
"""


class Line:
    """The daemon's line from the message to the transition, and what it counted."""

    def __init__(self) -> None:
        self.config: Config = read_text("x.yaml", CONFIG, load())
        self.diary = Diary()
        self.intake = Intake(
            self.config.sensors, RecordedClock(), self.config.limits.payload, self.diary
        )
        self.engine = Engine(self.config.rules, self.config.catalog.aggregators)
        self.told: list[Transition] = []
        self.nothing = 0

    def take(self, topic: bytes, payload: bytes, at: int = AT) -> list[float]:
        """Do as the loop does; return the values that were read."""
        before = self.intake.rejected.total()
        readings = self.intake.readings(Message(topic, payload, at))
        self.nothing += not readings and self.intake.rejected.total() == before
        for reading in readings:
            self.told += self.engine.process(reading)
        self.told += self.engine.advance(at)
        return [reading.value for reading in readings]


@pytest.mark.parametrize("bad", MESSAGES, ids=lambda bad: bad.name)
def test_each_is_a_reading_or_counted_with_its_reason(bad: Bad):
    line = Line()
    found = line.take(bad.topic, bad.payload)
    reasons = [reason for (_, reason), n in line.intake.rejected.items() for _ in range(n)]
    if isinstance(bad.outcome, float):
        assert (found, reasons) == ([bad.outcome], [])
    elif bad.outcome == NOTHING:
        assert (found, reasons) == ([], [])
    else:
        assert (found, reasons) == ([], [bad.outcome])
        said = line.diary.all("message.rejected")
        assert [entry["reason"] for entry in said] == [bad.outcome]
        assert len(json.dumps(said)) < 2500  # nobody fills the disk with one message
    assert line.take(GOOD, b"50") == [50.0]
    assert [t.rule for t in line.told if dict(t.labels).get("room") == "good"] == ["plain"]


def test_the_corpus_is_large_and_each_kind_of_it_has_a_name():
    names = [bad.name for bad in MESSAGES] + [frame.name for frame in FRAMES]
    assert len(set(names)) == len(names) >= 200


def test_all_of_them_together_add_up():
    line = Line()
    for bad in MESSAGES:
        line.take(bad.topic, bad.payload)
    outcomes = Counter(bad.outcome for bad in MESSAGES if isinstance(bad.outcome, str))
    reasons: Counter[str] = Counter()
    for (_, reason), n in line.intake.rejected.items():
        reasons[reason] += n
    assert reasons == outcomes - Counter({NOTHING: outcomes[NOTHING]})
    assert line.intake.accepted + reasons.total() + line.nothing == len(MESSAGES)


def check_mutants(number: int, seed: int) -> None:
    line = Line()
    for i, (topic, payload) in enumerate(bad_inputs.mutants(number, seed)):
        for value in line.take(topic, payload, AT + i * 10**6):
            assert math.isfinite(value), (topic, payload)
    line.take(GOOD, b"50", AT + number * 10**6)
    assert line.intake.accepted > number / 20  # else the mutants are too odd to test much
    assert line.intake.rejected.total() > number / 20
    assert line.intake.accepted + line.intake.rejected.total() + line.nothing == number + 1
    assert all(reason != "decoder_failed" for _, reason in line.intake.rejected)
    assert len({reason for _, reason in line.intake.rejected}) < 30  # they are constants
    assert line.engine.snapshot()  # whatever got in can be kept


def test_a_hundred_thousand_mutants_add_up():
    check_mutants(100_000, seed=1)


@pytest.mark.long
def test_two_million_mutants_add_up():
    check_mutants(2_000_000, seed=2)


# -- frames ------------------------------------------------------------------------------------


class Wire:
    """A source at a broker that is ill."""

    def __init__(self, ingest: str) -> None:
        self.broker = FakeBroker(present=True)
        self.inbox = Inbox(100_000)
        self.diary = Diary()
        self.source = MqttSource(
            Mqtt("127.0.0.1", self.broker.port, keepalive=5 * 10**9, ingest=ingest),
            ("plain/+", "field/+", "full/+", "whole/#"),
            self.inbox,
            self.diary,
            client_id="h",
            waiting=1000,
            pauses=QUICK,
        )
        self.source.start()
        self._number = 0

    def close(self) -> None:
        self.source.stop()
        self.broker.close()

    def send(self, data: bytes) -> None:
        with suppress(OSError):  # it was hung up on, and has not noticed
            self.broker.send(data)

    def next_good_one(self) -> bool:
        """Say whether a good message comes through, if need be on the next connection."""
        self._number += 1
        payload = str(self._number).encode()
        until, hung_up = monotonic() + 15, False
        patience = monotonic() + 0.5
        while monotonic() < until:
            self.send(bad_inputs.publish(GOOD, payload))
            event = self.inbox.take(0.05)
            while event is not None:
                if isinstance(event, list) and any(m.payload == payload for m in event):
                    return True
                event = self.inbox.take(0.02)
            if not hung_up and monotonic() > patience:  # it waits for the rest of a packet
                hung_up = True
                with suppress(OSError):
                    self.broker.hang_up()
        return False


@pytest.fixture
def wire() -> Iterator[Callable[..., Wire]]:
    """Return a function that connects a source, in one of the two ways to read."""
    with ExitStack() as stack:

        def make(ingest: str) -> Wire:
            made = Wire(ingest)
            stack.callback(made.close)
            return made

        yield make


@pytest.fixture
def dead(monkeypatch) -> list[str]:
    """Return the threads that die while the test runs."""
    found: list[str] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: found.append(repr(args)))
    return found


@pytest.mark.parametrize("ingest", ["bulk", "plain"])
@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: frame.name)
def test_no_frame_ends_a_thread_and_the_next_good_message_counts(frame: Frame, ingest, wire, dead):
    line = wire(ingest)
    assert line.next_good_one()
    line.send(frame.data)
    assert line.next_good_one(), line.diary.lines
    assert line.source.alive
    assert line.source.failures == 0
    assert dead == []


def check_frames(line: Wire, frames: Iterable[bytes], dead: list[str]) -> None:
    for frame in frames:
        line.send(frame)
        assert line.next_good_one(), (frame, line.diary.lines[-5:])
        assert line.source.alive
    assert line.source.failures == 0
    assert dead == []


@pytest.mark.parametrize("ingest", ["bulk", "plain"])
def test_ill_frames_end_no_thread(ingest, wire, dead):
    for seed in range(5):  # who is hung up on too often keeps away: begin anew now and then
        check_frames(wire(ingest), bad_inputs.ill_frames(4, seed), dead)


@pytest.mark.long
@pytest.mark.parametrize("ingest", ["bulk", "plain"])
def test_many_ill_frames_end_no_thread(ingest, wire, dead):
    for seed in range(100, 300):
        line = Wire(ingest)
        try:
            check_frames(line, bad_inputs.ill_frames(4, seed), dead)
        finally:
            line.close()


def check_messages(line: Wire, number: int) -> None:
    """Send whole messages with odd insides, and account for each."""
    taken, judged = 0, Line()
    assert line.next_good_one()
    messages = list(bad_inputs.mutants(number, seed=number))
    frames = [bad_inputs.publish(*message) for message in messages]
    sender = threading.Thread(
        target=lambda: [line.send(b"".join(frames[i : i + 100])) for i in range(0, number, 100)]
    )
    sender.start()
    until = monotonic() + 120
    while taken < number and monotonic() < until:
        event = line.inbox.take(0.2)
        if not isinstance(event, list):
            continue
        for message in event:
            assert message.topic == messages[taken][0]
            assert message.payload == messages[taken][1]
            judged.take(message.topic, message.payload)
            taken += 1
    sender.join()
    assert taken == number
    assert judged.intake.accepted + judged.intake.rejected.total() + judged.nothing == number
    assert line.next_good_one()
    assert line.inbox.dropped == 0
    assert line.source.failures == 0


@pytest.mark.parametrize("ingest", ["bulk", "plain"])
def test_whole_messages_come_through_as_they_are(ingest, wire, dead):
    check_messages(wire(ingest), 5_000)
    assert dead == []


@pytest.mark.long
def test_a_hundred_thousand_messages_come_through_as_they_are(wire, dead):
    check_messages(wire("bulk"), 100_000)
    assert dead == []


def test_what_is_acknowledged_is_what_came(wire):
    """A bad message of QoS 1 is acknowledged like any other: else it would come again for ever."""
    line, judged = wire("bulk"), Line()
    assert line.next_good_one()
    bad = [each for each in MESSAGES if len(each.payload) < 60_000]
    for packet, each in enumerate(bad, 1):
        head = len(each.topic).to_bytes(2, "big") + each.topic + packet.to_bytes(2, "big") + b"\x00"
        line.send(bad_inputs.packet(0x32, head + each.payload))
    taken: list[Message] = []
    until = monotonic() + 30
    while len(taken) < len(bad) and monotonic() < until:
        event = line.inbox.take(0.2)
        if isinstance(event, list):
            for message in event:
                judged.take(message.topic, message.payload)
            taken += event
            line.source.acknowledge(event)
    assert len(taken) == len(bad)
    eventually(lambda: len(line.broker.kinds(PUBACK)) == len(bad))
