"""The stream cut into packets, wherever the network has cut it before."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushd.runtime.framing import Framer, Packet, sound

LONGEST = 400


def varint(number: int) -> bytes:
    out = b""
    while True:
        number, low = divmod(number, 128)
        out += bytes([low | (128 if number else 0)])
        if not number:
            return out


def wire(packet: Packet, *, five: bool, properties: bytes = b"") -> bytes:
    body = struct.pack("!H", len(packet.topic)) + packet.topic
    if packet.qos:
        body += struct.pack("!H", packet.packet)
    if five:
        body += varint(len(properties)) + properties
    body += packet.payload
    first = 0x30 | packet.again << 3 | packet.qos << 1 | packet.retain
    return bytes([first]) + varint(len(body)) + body


@st.composite
def packets(draw):
    qos = draw(st.integers(0, 1))
    return Packet(
        draw(st.binary(max_size=20)),
        draw(st.binary(max_size=300)),
        qos,
        draw(st.booleans()),
        draw(st.integers(1, 65_535)) if qos else 0,
        bool(qos) and draw(st.booleans()),
    )


#: packets that are for paho: CONNACK, PUBACK, SUBACK, PINGRESP, a message of QoS 2
others = st.sampled_from(
    [
        b"\x20\x03\x00\x00\x00",
        b"\x40\x02\x00\x07",
        b"\x90\x04\x00\x01\x00\x01",
        b"\xd0\x00",
        b"\x34\x06\x00\x01a\x00\x07\x00",
    ]
)


@given(
    five=st.booleans(),
    stream=st.lists(st.one_of(packets(), others), max_size=12),
    properties=st.binary(max_size=200),
    data=st.data(),
)
def test_it_makes_no_difference_where_the_stream_is_cut(five, stream, properties, data):
    messages = [item for item in stream if isinstance(item, Packet)]
    whole = b"".join(
        wire(item, five=five, properties=properties) if isinstance(item, Packet) else item
        for item in stream
    )
    framer, found, at = Framer(five=five, longest=100_000), [], 0
    while at < len(whole):
        size = data.draw(st.integers(1, len(whole) - at))
        found += framer.feed(whole[at : at + size])
        at += size
    assert found == messages
    assert framer.control == b"".join(item for item in stream if isinstance(item, bytes))


@given(stream=st.binary(max_size=300), five=st.booleans(), size=st.integers(1, 50))
def test_no_stream_is_too_wild(stream, five, size):
    framer = Framer(five=five, longest=LONGEST)
    for at in range(0, len(stream), size):
        framer.feed(stream[at : at + size])
        assert len(framer._rest) < LONGEST + size


@pytest.mark.parametrize("size", [1, 7, 399, 400, 401, 5000])
def test_a_message_that_is_too_long_is_cut_off_and_the_next_one_read(size):
    long = Packet(b"a", b"9" * 2000, 1, False, 7, True)
    short = Packet(b"b", b"1", 0, False, 0, False)
    stream = wire(long, five=False) + wire(short, five=False)
    framer, found = Framer(five=False, longest=LONGEST), []
    for at in range(0, len(stream), size):
        found += framer.feed(stream[at : at + size])
        assert len(framer._rest) < LONGEST + size
    first, second = found
    assert first[:1] + first[2:] == long[:1] + long[2:]  # all but the payload
    assert long.payload.startswith(first.payload)
    assert len(first.payload) > LONGEST - 10
    assert second == short
    assert not framer.control


@pytest.mark.parametrize(
    "stream",
    [
        b"\x30\xff\xff\xff\xff\x01",  # a length of five bytes
        b"\x30\x02\x00\x09",  # a topic longer than its packet
        b"\x32\x03\x00\x01a",  # QoS 1 without an identifier
        b"\x30\x04\x00\x01a\x09",  # properties longer than the packet
        b"\x36\x06\x00\x01a\x00\x07\x00",  # QoS 3
        b"\x30\x00",  # nothing at all
        b"\xf0\x00",
    ],
)
def test_what_is_not_well_formed_is_left_to_paho(stream):
    framer = Framer(five=True, longest=LONGEST)
    assert framer.feed(stream) == []
    assert framer.control == stream


def test_this_paho_can_be_read_by_the_chunk():
    assert sound()
