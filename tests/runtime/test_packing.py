"""Readings and marks as bytes come back as they were, bit for bit, and stay small."""

import math
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushd.runtime.packing import Entry, pack_entries, pack_marks, unpack_entries, unpack_marks
from hushd.runtime.redelivery import Mark

NOW = 1_790_000_000 * 10**9

stamps = st.integers(946_684_800 * 10**9, 4_102_444_800 * 10**9)  # what a stamp may be
entries = st.builds(Entry, st.integers(1, 2**32 - 1), stamps, st.floats(), stamps)


def bits(entry):
    return entry._replace(value=struct.pack("<d", entry.value))


@given(st.lists(entries, max_size=30))
@settings(max_examples=100)
def test_readings_come_back_bit_for_bit(written):
    assert [bits(entry) for entry in unpack_entries(pack_entries(written))] == [
        bits(entry) for entry in written
    ]


@given(st.lists(st.builds(Mark, st.integers(0, 65_535), st.integers(0, 2**32 - 1)), max_size=30))
@settings(max_examples=50)
def test_marks_come_back(written):
    assert unpack_marks(pack_marks(written)) == written


def test_twenty_readings_of_a_second_take_little_room():
    second = [
        Entry(i, NOW + i * 50_000_000, round(40 + math.sin(i), 1), NOW + i * 50_000_000)
        for i in range(20)
    ]
    assert len(pack_entries(second)) <= 15 * 20


def test_a_reading_alone_is_not_made_larger_by_compressing_it():
    assert len(pack_entries([Entry(1, NOW, 41.5, NOW)])) == 1 + 2 + 8 + 8


@pytest.mark.parametrize(
    "data",
    [b"", b"\x00\x01", b"\x01no zlib", b"\x08" + bytes(17), pack_entries([Entry(1, 2, 3, 4)])[:-1]],
    ids=["nothing", "half a number", "not compressed", "a byte too few", "cut off"],
)
def test_what_are_no_readings_is_said_to_be_none(data):
    with pytest.raises(ValueError, match="no packed readings"):
        list(unpack_entries(data))


def test_what_are_no_marks_is_said_to_be_none():
    with pytest.raises(ValueError, match="no packed marks"):
        unpack_marks(bytes(7))
