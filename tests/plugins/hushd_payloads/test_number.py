"""A bare number is read strictly: what Python's float() takes is not what a sensor means."""

import pytest

from hushd.plugin import Refused, Sample, Wanted
from hushd_payloads.number import build


@pytest.mark.parametrize(
    ("payload", "value"),
    [
        (b"63.2", 63.2),
        (b" 6.3", 6.3),
        (b"63\r\n", 63.0),
        (b"-38.4", -38.4),
        (b"+5", 5.0),
        (b".5", 0.5),
        (b"5.", 5.0),
        (b"1e3", 1000.0),
        (b"1E-3", 0.001),
        (b"007", 7.0),
        (b"0", 0.0),
        (b"63.300000000000004", 63.300000000000004),
        (b"1e-999", 0.0),
    ],
)
def test_a_number_is_read(payload, value):
    assert build(Wanted())(payload) == [Sample(value)]


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", "empty"),
        (b" \r\n", "empty"),
        (b"nan", "not_finite"),
        (b"-inf", "not_finite"),  # a dead microphone; as 0 energy it would lower a Leq
        (b"Infinity", "not_finite"),
        (b"1e999", "not_finite"),
        (b"9" * 400, "not_finite"),
        (b"1_0", "not_a_number"),
        (b"0x1F", "not_a_number"),
        ("\u0663".encode(), "not_a_number"),  # float() reads the Arabic 3
        (b"true", "not_a_number"),
        (b"ON", "not_a_number"),
        (b"40,78", "not_a_number"),  # 40.78 or 4078?
        (b"63.2 dB", "not_a_number"),
        (b"63.2 64.1", "not_a_number"),
        (b'"63.2"', "not_a_number"),  # JSON: ask for `json`
        (b"63.2\x00", "not_a_number"),
        (b"--5", "not_a_number"),
        (b"1e", "not_a_number"),
        (b".", "not_a_number"),
        (b"unavailable", "not_a_number"),
        (b"\xff\xfe", "not_a_number"),
        (b"\xef\xbb\xbf63", "not_a_number"),
    ],
)
def test_what_is_no_finite_number_is_refused(payload, reason):
    (refused,) = build(Wanted())(payload)
    assert refused.reason == reason


def test_the_detail_shows_what_was_seen_but_not_all_of_it():
    assert build(Wanted())(b" 63.2 dB ") == [Refused("not_a_number", "63.2 dB")]
    assert build(Wanted())(b"\x1b[2Jhi") == [Refused("not_a_number", "\\x1b[2Jhi")]
    (refused,) = build(Wanted())(b"x" * 65_536)
    assert refused.detail == "x" * 80


@pytest.mark.parametrize(
    ("wanted", "hint"),
    [
        (Wanted("level"), 'write "number", or "json:level" for a field of a JSON object'),
        (Wanted(time="ts", stamp=int), "a bare number has no time and no labels in it"),
        (Wanted(labels=(("room", "r"),)), "a bare number has no time and no labels in it"),
    ],
)
def test_a_bare_number_has_nothing_else_to_ask_for(wanted, hint):
    with pytest.raises(ValueError, match=hint):
        build(wanted)
