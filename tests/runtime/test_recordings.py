"""Recordings: what is a message or a row, and what costs only its line."""

import io
import json
from zoneinfo import ZoneInfo

import pytest

from hushd.core.readings import SECOND
from hushd.runtime.messages import Message
from hushd.runtime.recordings import (
    Bad,
    Columns,
    Recording,
    Row,
    UnreadableError,
    ZonelessError,
    messages,
    rows,
)

MIDNIGHT = 1742601600 * SECOND  # 2025-03-22T00:00:00Z
BERLIN = ZoneInfo("Europe/Berlin")


def line(**fields) -> bytes:
    return json.dumps(
        {"at": "2025-03-22T00:00:00Z", "topic": "t", "payload": "1"} | fields
    ).encode()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (line(), Message(b"t", b"1", MIDNIGHT)),
        (line(at=1742601600), Message(b"t", b"1", MIDNIGHT)),
        (line(at="2025-03-22T01:00:00+01:00"), Message(b"t", b"1", MIDNIGHT)),
        (line(at="2025-03-22 01:00:00"), Message(b"t", b"1", MIDNIGHT)),  # in Berlin
        (
            b'{"at": 1742601600.000000128, "topic": "t", "payload": "1"}',
            Message(b"t", b"1", MIDNIGHT + 128),  # no float could hold it
        ),
        (
            b'{"at": 1.742601600e9, "topic": "t", "payload": "1"}',
            Message(b"t", b"1", MIDNIGHT),
        ),
        (line(retain=True, qos=1), Message(b"t", b"1", MIDNIGHT, 1, True)),
        (line(topic="zürich/1"), Message("zürich/1".encode(), b"1", MIDNIGHT)),
        (
            b'{"at": 1742601600, "topic": "t", "payload_base64": "AP8="}',
            Message(b"t", b"\x00\xff", MIDNIGHT),
        ),
    ],
)
def test_message(text, message):
    assert list(messages([text], BERLIN)) == [message]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"{", "not JSON"),
        (b"[]", "not a JSON object"),
        (b'{"topic": "t", "payload": ""}', 'no "at"'),
        (b'{"at": 1742601600, "payload": ""}', 'no "topic"'),
        (b'{"at": 1742601600, "topic": "t"}', 'one of "payload" and "payload_base64"'),
        (line(payload_base64="AA=="), 'one of "payload" and "payload_base64"'),
        (line(payload=63.2), "the payload is not text"),
        (line(at="yester\x1b[31mday"), r'"yester\x1b[31mday" not a time'),
        (line(at=True), '"True" not a'),
        (b'{"at": 1e999999999, "topic": "t", "payload": "1"}', "not a time"),
        (line(qos=3), '"qos" is 0, 1 or 2'),
        (line(qos=[]), '"qos" is 0, 1 or 2'),
        (line(qos=True), '"qos" is 0, 1 or 2'),
        (line(topic="\ud800"), "not UTF-8"),
        (b'{"at": "\xff', "not UTF-8"),
        (b"[" * 100_000, "nested too deep"),
    ],
)
def test_a_bad_line_costs_that_line(text, reason):
    first, bad, last = messages([line(), text, line()], None)
    assert isinstance(first, Message)
    assert isinstance(last, Message)
    assert isinstance(bad, Bad)
    assert bad.line == 2
    assert reason in bad.reason


def test_a_time_without_a_zone_is_not_guessed():
    with pytest.raises(ZonelessError):
        list(messages([line(at="2025-03-22 01:00:00")], None))


COLUMNS = Columns("noise", "datetime", "LEQ dB -A", {}, {})


def table(text: str, columns: Columns = COLUMNS) -> list[Row | Bad]:
    return list(rows(io.BytesIO(text.encode()), columns, BERLIN))


def test_blanks_around_headings_are_not_theirs():
    assert table("datetime, LEQ dB -A \n2025-03-22 01:00:00,44.085907\n") == [
        Row("noise", (), MIDNIGHT, 44.085907)
    ]


def test_labels_from_the_command_line_and_from_a_column():
    columns = Columns("co2", "time", "ppm", {"house": "a"}, {"room": "where"})
    text = 'time,where,ppm\r\n1742601600,"204",412\r\n1742601600,"0,17",\r\n'
    assert table(text, columns) == [
        Row("co2", (("house", "a"), ("room", "204")), MIDNIGHT, 412.0),
        Row("co2", (("house", "a"), ("room", "0,17")), MIDNIGHT, None),
    ]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("2025-03-22 01:00:00", "1 cells where the heading has 2"),
        ("soon,1", "not a time"),
        ("2025-03-22 01:00:00,1_000", '"1_000" is not a number'),
        ("2025-03-22 01:00:00,\u0661", "is not a number"),  # a digit, but not one of ours
        ('2025-03-22 01:00:00,"40,78"', '"40,78" is not a number: write it with a decimal point'),
        ("2025-03-22 01:00:00,40,78", "3 cells where the heading has 2"),
    ],
)
def test_a_bad_row_costs_that_row(row, reason):
    bad, good = table(f"datetime,LEQ dB -A\n{row}\n2025-03-22 01:00:00,1\n")
    assert isinstance(bad, Bad)
    assert bad.line == 2
    assert reason in bad.reason
    assert good == Row("noise", (), MIDNIGHT, 1.0)


def test_empty_cells_behind_the_last_heading_are_nothing():
    text = "\n\ndatetime,LEQ dB -A\n2025-03-22 01:00:00,1,, \n"  # as spreadsheets write them
    assert table(text) == [Row("noise", (), MIDNIGHT, 1.0)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("datetime;LEQ dB -A\n", 'its cells are separated by ";"'),
        ("datetime\tLEQ dB -A\n", "its cells are separated by tabs"),
        ("datetime,LEQ dB -A\r1,2\r", "carriage return alone"),
        ("date\x1b[31mtime\n", r'there are: "date\x1b[31mtime"'),
        ("x" * 200_000, "field larger"),
    ],
)
def test_what_is_no_such_table(text, said):
    with pytest.raises(UnreadableError) as caught:
        table(text)
    assert said in str(caught.value)


def test_a_column_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(UnreadableError, match='no column "datetime"; there are: "time", "level"'):
        table("time,level\n")
    with pytest.raises(UnreadableError, match='more than one column "datetime"'):
        table("datetime,datetime,LEQ dB -A\n")


def test_a_byte_order_mark_is_no_part_of_the_first_heading(tmp_path):
    path = tmp_path / "day.csv"
    path.write_bytes("\ufeffdatetime,LEQ dB -A\n2025-03-22 01:00:00,1\n".encode())
    with Recording(path) as recording:
        assert list(rows(recording.lines(), COLUMNS, BERLIN)) == [Row("noise", (), MIDNIGHT, 1.0)]
        assert recording.read == recording.size
