"""Messages to readings: each reject has its reason, and nobody's payload stops the rest.

W23, W33, W36 and A6 are rows of the design page on field reports.
"""

import json
from collections import Counter
from zoneinfo import ZoneInfo

import pytest
from waiting import Diary

from hushd.config.records import SensorConfig
from hushd.core.readings import SECOND, Reading
from hushd.core.times import stamp_parser
from hushd.core.topics import TopicTemplate
from hushd.plugin.loading import load
from hushd.plugin.records import Decode, Refused, Sample, Wanted
from hushd.runtime.clocks import Clock, RecordedClock, StampClock, WallClock
from hushd.runtime.intake import FAILURES, REST, Intake
from hushd.runtime.logs import Quiet
from hushd.runtime.messages import Message

DECODERS = load().decoders
AT = 1742601600 * SECOND
NUMBER = DECODERS["number"].build(Wanted())


def sensor(
    name: str = "noise", topic: str = "home/{room}/noise", decode: Decode = NUMBER, **more
) -> SensorConfig:
    return SensorConfig(name, TopicTemplate.parse(topic), "number", decode, **more)


def intake(*sensors: SensorConfig, clock: Clock | None = None, log: Quiet | None = None) -> Intake:
    wanted = {each.name: each for each in sensors or [sensor()]}
    return Intake(wanted, clock or RecordedClock(), 64, log or Quiet())


def message(payload: bytes, topic: bytes = b"home/attic/noise", at: int = AT, **more) -> Message:
    return Message(topic, payload, at, **more)


def values(taken: Intake, *payloads: bytes) -> list[float]:
    return [r.value for payload in payloads for r in taken.readings(message(payload))]


def test_a_reading():
    assert intake().readings(message(b"63.2")) == [
        Reading("noise", (("room", "attic"),), AT, 63.2, AT)
    ]


def test_live_messages_of_one_instant_arrive_one_after_the_other():
    taken = intake(clock=WallClock(lambda: AT, lambda: 0))
    readings = [taken.readings(message(b"1"))[0] for _ in range(3)]
    assert [r.arrived - AT for r in readings] == [1, 2, 3]  # AT itself was handed out


def test_a_message_goes_to_every_sensor_that_it_matches():
    taken = intake(
        sensor("noise"), sensor("all", "home/{rest*}"), sensor("other", "home/{room}/co2")
    )
    found = taken.readings(message(b"1"))
    assert [(r.sensor, r.labels) for r in found] == [
        ("noise", (("room", "attic"),)),
        ("all", (("rest", "attic/noise"),)),
    ]
    assert found[0].arrived == found[1].arrived
    assert taken.accepted == 2


@pytest.mark.parametrize(
    ("wrong", "who", "reason"),
    [
        (message(b"1", b"home/attic/co2"), "", "no_sensor"),
        (message(b"1", b"$SYS/home"), "", "no_sensor"),
        (message(b"1", b"home/\xff/noise"), "", "topic_not_utf8"),
        (message(b"1", b"home/\xed\xa0\x80/noise"), "", "topic_not_utf8"),  # half a surrogate pair
        (message(b"1", b"home/\x00/noise"), "", "topic_control"),
        (message(b"1", b"home/a\nb/noise"), "", "topic_control"),
        (message(b"1", b"home/\x7f/noise"), "", "topic_control"),
        (message(b"1", "home/\x9b2J/noise".encode()), "", "topic_control"),
        (message(b"1", b"home/+/noise"), "", "topic_wildcard"),
        (message(b"1", b"home/a#/noise"), "", "topic_wildcard"),
        (message(b"1", b"home/" + b"a" * 1014 + b"/noise"), "", "topic_too_long"),
        (message(b"1", b"home/noise" + b"/" * 63), "", "topic_too_deep"),
        (message(b"1", b"home/noise" + b"/" * 62), "", "no_sensor"),
        (message(b"9" * 65), "noise", "payload_too_long"),
        (message(b"1", retain=True), "noise", "retained"),
        (message(b"131"), "noise", "not_valid"),
        (message(b"19.9"), "noise", "not_valid"),
    ],
)
def test_each_reject_is_counted_by_sensor_and_reason(wrong, who, reason):
    taken = intake(sensor(valid=(20, 130)))
    assert taken.readings(wrong) == []
    assert taken.rejected == Counter({(who, reason): 1})
    assert len(taken.readings(message(b"50"))) == 1  # life goes on


def test_the_valid_range_includes_its_ends():
    assert values(intake(sensor(valid=(20, 130))), b"20", b"130") == [20.0, 130.0]


def test_retained_messages_count_where_that_is_wanted():
    taken = intake(sensor(retained="use"))
    assert len(taken.readings(message(b"1", retain=True))) == 1


def test_w23_a6_what_is_no_number_is_no_data():
    taken = intake()
    odd = [b"nan", b"NaN", b"inf", b"-inf", b"1e999", b"", b"1_0", b"true", b"\xff", b"unavailable"]
    assert values(taken, b"1", b"2", *odd, b"3") == [1.0, 2.0, 3.0]
    assert taken.accepted == 3
    assert taken.rejected.total() == len(odd)
    assert {who for who, _ in taken.rejected} == {"noise"}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (float("nan"), "not_finite"),
        (float("-inf"), "not_finite"),
        (True, "not_finite"),
        ("63.2", "not_a_number"),
        (None, "not_a_number"),
        (10**400, "not_a_number"),
    ],
)
def test_a_decoder_is_not_trusted(value, reason):
    taken = intake(sensor(decode=lambda payload: [Sample(value), Sample(5.0)]))
    assert values(taken, b"") == [5.0]
    assert taken.rejected == Counter({("noise", reason): 1})


def fussy(payload: bytes) -> list[Sample | Refused]:
    if payload == b"13":
        raise RuntimeError("thirteen")
    return [Sample(float(payload))]


@pytest.mark.parametrize(
    "answer",
    [
        None,
        42,
        [42],
        [None],
        [(61.0, None, ())],
        [Refused(7)],
        [Sample(1.0, 1.5)],
        [Sample(1.0, 1 << 62)],
        [Sample(1.0, None, ("room",))],
        [Sample(1.0, None, ((["a"], "b"),))],
    ],
)
def test_a_decoder_whose_answer_is_none_fails(answer):
    taken = intake(sensor(decode=lambda payload: answer if payload == b"0" else [Sample(1.0)]))
    assert taken.readings(message(b"0")) == []
    assert taken.rejected == Counter({("noise", "decoder_failed"): 1})
    assert len(taken.readings(message(b"1"))) == 1


def test_a_decoder_that_would_end_the_daemon_fails():
    def leave(payload: bytes) -> list[Sample | Refused]:
        raise SystemExit

    taken = intake(sensor(decode=leave))
    assert taken.readings(message(b"0")) == []
    assert taken.rejected == Counter({("noise", "decoder_failed"): 1})


def test_one_bad_sender_hides_no_other_in_the_log():
    diary = Diary()
    taken = intake(sensor("noise"), sensor("air", "home/{room}/co2"), log=diary)
    for _ in range(50):
        taken.readings(message(b"x"))
    taken.readings(message(b"x", b"home/attic/co2"))
    taken.readings(message(b"nan"))
    taken.readings(message(b"nan", at=AT + 60 * SECOND))
    taken.readings(message(b"x", at=AT + 60 * SECOND))
    assert [
        (line["sensor"], line["reason"], line["rejected"]) for line in diary.all("message.rejected")
    ] == [
        ("noise", "not_a_number", 1),
        ("air", "not_a_number", 1),
        ("noise", "not_finite", 1),
        ("noise", "not_finite", 2),
        ("noise", "not_a_number", 51),
    ]


def test_w33_a_decoder_that_raises_costs_that_message():
    diary = Diary()
    taken = intake(sensor(decode=fussy), log=diary)
    assert values(taken, b"12", b"13", b"14", b"13") == [12.0, 14.0]
    assert taken.rejected == Counter({("noise", "decoder_failed"): 2})
    ((event, fields),) = diary.lines  # once a minute, not once a message
    assert event == "message.rejected"
    assert fields["detail"] == "RuntimeError: thirteen"


def test_w33_a_decoder_that_always_raises_rests_and_others_do_not():
    diary = Diary()
    taken = intake(sensor("a", decode=fussy), sensor("b"), log=diary)
    for _ in range(FAILURES):
        assert [r.sensor for r in taken.readings(message(b"13"))] == ["b"]
    assert [r.sensor for r in taken.readings(message(b"14"))] == ["b"]
    assert taken.rejected["a", "decoder_resting"] == 1
    assert "decoder.rested" in [event for event, _ in diary.lines]
    assert len(taken.readings(message(b"14", at=AT + REST))) == 2  # tried again


def stamped() -> Decode:
    return DECODERS["json"].build(Wanted("level", "ts", (), stamp_parser()))


NANOSECONDS = 1525356000_123_456_128


@pytest.mark.parametrize(
    ("stamp", "at"),
    [
        (1525356000, 1525356000 * SECOND),
        (1525356000123, 1525356000_123_000_000),
        (1525356000123456, 1525356000_123_456_000),
        (NANOSECONDS, NANOSECONDS),
        (str(NANOSECONDS), NANOSECONDS),
        ("2018-05-03T16:00:00.123456128+02:00", NANOSECONDS),
    ],
)
def test_w36_all_ways_to_write_an_instant_are_one(stamp, at):
    taken = intake(sensor(decode=stamped()))
    payload = json.dumps({"level": 50, "ts": stamp}).encode()
    assert [(r.at, r.arrived) for r in taken.readings(message(payload))] == [(at, AT)]


def test_w36_a_stamp_that_cannot_be_read_is_not_replaced_by_now():
    taken = intake(sensor(decode=stamped()))
    assert taken.readings(message(b'{"level": 50, "ts": "soon"}')) == []
    assert taken.rejected.total() == 1


def test_under_stamps_a_reading_arrives_at_its_stamp():
    taken = intake(sensor(decode=stamped()), clock=StampClock())
    (reading,) = taken.readings(message(b'{"level": 50, "ts": 1525356000}'))
    assert reading.at == reading.arrived == 1525356000 * SECOND


def test_under_stamps_a_reading_without_one_is_refused():
    taken = intake(clock=StampClock())
    assert values(taken, b"50") == []
    assert taken.rejected == Counter({("noise", "no_stamp"): 1})


def test_labels_of_the_payload_join_those_of_the_topic_and_do_not_replace_them():
    def decode(payload: bytes) -> list[Sample | Refused]:
        return [Sample(1.0, None, (("room", "x"), ("zone", "z")))]

    (reading,) = intake(sensor(decode=decode)).readings(message(b""))
    assert reading.labels == (("room", "attic"), ("zone", "z"))


@pytest.mark.parametrize(
    ("value", "reason"),
    [(None, "empty"), (float("nan"), "not_finite"), (-1.0, "not_valid")],
)
def test_a_row_passes_the_same_checks(value, reason):
    taken = intake(sensor(valid=(0, 100)))
    assert taken.row("noise", (), AT, value) == []
    assert taken.rejected == Counter({("noise", reason): 1})
    assert taken.row("noise", (), AT, 5.0) == [Reading("noise", (), AT, 5.0, AT)]


def test_d10_null_in_every_other_message_is_no_reading_and_no_zero():
    decode = DECODERS["json"].build(Wanted("temperature"))
    taken = intake(sensor("air", "home/{room}/noise", decode))
    sent = [b'{"temperature": 21.5}', b'{"temperature": null}', b'{"humidity": 40}']
    assert values(taken, *sent) == [21.5]
    assert taken.rejected == {("air", "null_value"): 1}


def test_d14_a_time_without_a_zone_is_read_in_the_one_that_is_configured():
    berlin = stamp_parser("auto", ZoneInfo("Europe/Berlin"))
    decode = DECODERS["json"].build(Wanted("t", "Time", stamp=berlin))
    taken = intake(sensor("air", "home/{room}/noise", decode))
    (reading,) = taken.readings(message(b'{"Time": "2025-03-22T01:00:00", "t": 20.6}'))
    assert reading.at == AT  # midnight in UTC
    zoneless = DECODERS["json"].build(Wanted("t", "Time", stamp=stamp_parser()))
    taken = intake(sensor("air", "home/{room}/noise", zoneless))
    assert taken.readings(message(b'{"Time": "2025-03-22T01:00:00", "t": 20.6}')) == []
    assert taken.rejected == {("air", "bad_time"): 1}
