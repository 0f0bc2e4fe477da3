"""JSON in, samples or reasons out; shapes as real devices send them."""

import pytest

from hushd.core.times import stamp_parser
from hushd.plugin import Refused, Sample, Wanted
from hushd_payloads.json_payload import build

AT = 1_742_681_728 * 10**9  # 2025-03-22T22:15:28Z
auto = stamp_parser()


def decode(payload, value="v", time=None, **labels):
    wanted = Wanted(value, time, tuple(labels.items()), auto if time is not None else None)
    return build(wanted)(payload)


@pytest.mark.parametrize(
    ("payload", "answers"),
    [
        (b'{"v": 63.2}', [Sample(63.2)]),
        (b' \n{"v":63}\n', [Sample(63.0)]),
        (b'\xef\xbb\xbf{"v":63}', [Sample(63.0)]),  # a byte order mark
        (b'{"v": "63.2"}', [Sample(63.2)]),  # old firmware
        (b'{"v": " 1e3 "}', [Sample(1000.0)]),
        (b'{"v": 1, "v": 2}', [Sample(2.0)]),  # as everybody's JSON
        (b'{"w": NaN, "v": 1}', [Sample(1.0)]),  # one bad field does not cost the others
        (b'{"w": 1}', []),  # partial updates: absent is no fault
        (b"{}", []),
        (b"[]", []),
        (b"5", []),
        (b'{"v": null}', [Refused("null_value")]),
        (b'{"v": true}', [Refused("not_a_number", "true or false")]),
        (b'{"v": [1]}', [Refused("not_a_number", "a list")]),
        (b'{"v": {}}', [Refused("not_a_number", "an object")]),
        (b'{"v": "2.9(low battery)"}', [Refused("not_a_number", "2.9(low battery)")]),
        (b'{"v": ""}', [Refused("empty")]),
        (b'{"v": "nan"}', [Refused("not_finite", "nan")]),
        (b'{"v": "\\u0663"}', [Refused("not_a_number", "\u0663")]),
        (b'{"v": "\\ud800"}', [Refused("not_a_number", "\\ud800")]),  # no surrogate in a log
        (b'{"v": NaN}', [Refused("not_finite", "nan")]),
        (b'{"v": -Infinity}', [Refused("not_finite", "-inf")]),
        (b'{"v": 1e999}', [Refused("not_finite", "inf")]),
        (b'{"v": 1' + b"0" * 400 + b"}", [Refused("not_finite", "an integer beyond 1e308")]),
    ],
)
def test_a_field_is_read_or_refused(payload, answers):
    assert decode(payload) == answers


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", "empty"),
        (b"  ", "empty"),
        (b"hello", "bad_json"),
        (b'{"v": 1', "bad_json"),
        (b'{"v": nan}', "bad_json"),
        (b'{"v": 1} {"v": 2}', "bad_json"),
        (b"{v: 1}", "bad_json"),
        (b"9" * 5_000, "bad_json"),  # more digits than Python converts
        (b'{"v": "\xff"}', "bad_utf8"),
        (b'{"v": "\xed\xa0\x80"}', "bad_utf8"),
        (b"[" * 100_000, "too_deep"),
        (b'{"v":' * 100_000, "too_deep"),
    ],
)
def test_what_is_no_json_is_refused_never_raised(payload, reason):
    (refused,) = decode(payload)
    assert refused.reason == reason
    assert len(refused.detail) <= 80


def test_no_path_is_the_whole_payload():
    assert decode(b'"63.2"', "") == [Sample(63.2)]  # Home Assistant's statestream
    assert decode(b"63.2", "") == [Sample(63.2)]
    assert decode(b'"unavailable"', "") == [Refused("not_a_number", "unavailable")]


def test_a_list_gives_a_reading_for_each_element_with_its_own_time_and_labels():
    payload = (
        b'{"site": "bar", "data": ['
        b'{"at": "2025-03-22 22:15:27Z", "sensors": [{"id": 53, "value": 47.1}]},'
        b'{"at": "2025-03-22 22:15:28Z", "sensors": [{"id": 12, "value": 28}, {"id": 53, "value": 48}]}'
        b"]}"
    )
    assert decode(
        payload,
        "data[*].sensors[id=53].value",
        "data[*].at",
        site="site",
        id="data[*].sensors[id=53].id",
    ) == [
        Sample(47.1, AT - 10**9, (("site", "bar"), ("id", "53"))),
        Sample(48.0, AT, (("site", "bar"), ("id", "53"))),
    ]


def test_one_bad_element_does_not_cost_the_others():
    payload = b'[{"n": "laeq", "v": 63.2}, {"n": "laeq", "v": null}, {"n": "laeq"}, 5, {"n": "t", "v": 9}]'
    assert decode(payload, "[n=laeq].v") == [Sample(63.2), Refused("null_value")]


@pytest.mark.parametrize(
    ("time", "answer"),
    [
        (b"1742681728", Sample(1.0, AT)),
        (b'"1742681728"', Sample(1.0, AT)),
        (b"1742681728000", Sample(1.0, AT)),
        (b"1742681728000000128", Sample(1.0, AT + 128)),  # nanoseconds are kept exactly
        (b'"2025-03-22T23:15:28+01:00"', Sample(1.0, AT)),
        (b"null", Refused("no_time")),
        (b"true", Refused("bad_time")),
        (b"[1742681728]", Refused("bad_time")),
    ],
)
def test_a_time_is_read_or_its_reading_refused(time, answer):
    assert decode(b'{"v": 1, "t": %b}' % time, time="t") == [answer]


@pytest.mark.parametrize("time", [b'"yesterday"', b"NaN", b"1e999", b"-5", b"17"])
def test_a_time_that_is_none_says_why(time):
    (refused,) = decode(b'{"v": 1, "t": %b}' % time, time="t")
    assert refused.reason == "bad_time"
    assert refused.detail


def test_a_reading_whose_time_is_asked_for_and_absent_is_not_given_another():
    assert decode(b'{"v": 1}', time="t") == [Refused("no_time")]


@pytest.mark.parametrize(
    ("room", "answer"),
    [
        (b'"101"', Sample(1.0, None, (("room", "101"),))),
        (b"101", Sample(1.0, None, (("room", "101"),))),
        (b"false", Sample(1.0, None, (("room", "false"),))),
        (b"0", Sample(1.0, None, (("room", "0"),))),
        ('"Küche"'.encode(), Sample(1.0, None, (("room", "Küche"),))),
        (b'""', Refused("no_label", "room")),
        (b"null", Refused("no_label", "room")),
        (b"{}", Refused("no_label", "room")),
        (b'"a\\u0000b"', Refused("bad_label", "room: a\\x00b")),
        (b'"\\ud800"', Refused("bad_label", "room: \\ud800")),
        (b'"' + b"x" * 201 + b'"', Refused("bad_label", "room: " + "x" * 74)),
    ],
)
def test_a_label_is_read_or_its_reading_refused(room, answer):
    assert decode(b'{"v": 1, "r": %b}' % room, room="r") == [answer]


def test_a_time_in_another_list_is_a_mistake_of_the_configuration():
    with pytest.raises(ValueError, match=r'"b\[\*\]\.t" walks a list that the value does not'):
        build(Wanted("a[*].v", "b[*].t", stamp=int))
    with pytest.raises(ValueError, match="nothing that reads it"):
        build(Wanted("a", "t"))
