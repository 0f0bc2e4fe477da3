"""What sensors, brokers and people with ill will may send, and what is to come of each.

Messages go to the sensors of :data:`SENSORS`.  Frames are what a broker puts on the wire.
"""

import json
import random
import struct
from collections.abc import Iterator
from typing import NamedTuple

#: as in a configuration; `plain` reads a number, `field` a field, `full` a time and a label too
SENSORS = """\
  plain: {topic: "plain/{room}"}
  field: {topic: "field/{room}", value: "json:v"}
  full: {topic: "full/{room}", value: "json:v", time: "json:t", labels: {zone: "json:z"}}
  whole: {topic: "whole/{path*}"}
"""

NOTHING = "nothing"  # neither a reading nor a reason: the field is not there


class Bad(NamedTuple):
    """A message that is odd in one way."""

    name: str
    topic: bytes
    payload: bytes
    outcome: str | float  # the reason, or the reading that it is after all


def _plain(name: str, payload: bytes, outcome: str | float) -> Bad:
    return Bad(f"number: {name}", b"plain/attic", payload, outcome)


def _field(name: str, payload: bytes, outcome: str | float) -> Bad:
    return Bad(f"json: {name}", b"field/attic", payload, outcome)


def _stamp(name: str, stamp: str, outcome: str | float) -> Bad:
    payload = f'{{"v": 50, "t": {stamp}, "z": "a"}}'
    return Bad(f"time: {name}", b"full/attic", payload.encode(), outcome)


def _label(name: str, label: object, outcome: str | float) -> Bad:
    payload = json.dumps({"v": 50, "t": NOW, "z": label})
    return Bad(f"label: {name}", b"full/attic", payload.encode(), outcome)


def _topic(name: str, topic: bytes, outcome: str | float) -> Bad:
    return Bad(f"topic: {name}", topic, b"50", outcome)


NOW = "2025-03-22T00:00:00Z"
AT = 1742601600 * 10**9  # the same

NUMBERS = [
    _plain("nothing", b"", "empty"),
    _plain("blanks", b" \t\r\n", "empty"),
    _plain("blanks around", b" 5 ", 5.0),
    _plain("a plus", b"+5", 5.0),
    _plain("minus nothing", b"-0", 0.0),
    _plain("an exponent", b"1e5", 100_000.0),
    _plain("beyond all floats", b"1e999", "not_finite"),
    _plain("below all floats", b"1e-999", 0.0),
    _plain("nan", b"NaN", "not_finite"),
    _plain("minus nan", b"-nan", "not_finite"),
    _plain("nan with a payload", b"nan(123)", "not_a_number"),
    _plain("infinity", b"-Infinity", "not_finite"),
    _plain("an underscore", b"1_000", "not_a_number"),
    _plain("a digit of another script", "\u0661".encode(), "not_a_number"),
    _plain("a wide digit", "\uff15".encode(), "not_a_number"),
    _plain("hexadecimal", b"0x10", "not_a_number"),
    _plain("a hexadecimal float", b"0x1p3", "not_a_number"),
    _plain("a comma", b"5,3", "not_a_number"),
    _plain("thousands", b"1,000.5", "not_a_number"),
    _plain("two numbers", b"5 3", "not_a_number"),
    _plain("two lines", b"5\n3", "not_a_number"),
    _plain("a unit", b"63.2 dB", "not_a_number"),
    _plain("true", b"true", "not_a_number"),
    _plain("null", b"null", "not_a_number"),
    _plain("a list", b"[5]", "not_a_number"),
    _plain("an object", b'{"v": 5}', "not_a_number"),
    _plain("unavailable", b"unavailable", "not_a_number"),
    _plain("bytes that are no text", b"\xff\xfe5", "not_a_number"),
    _plain("utf-16", "63".encode("utf-16"), "not_a_number"),
    _plain("a NUL behind it", b"63\x00", "not_a_number"),
    _plain("a byte order mark", b"\xef\xbb\xbf63", "not_a_number"),
    _plain("five thousand digits", b"9" * 5000, "not_finite"),
    _plain("sixty thousand digits behind the point", b"0." + b"3" * 60_000, 1 / 3),
    _plain("only signs", b"+-+-", "not_a_number"),
    _plain("only dots", b"." * 1000, "not_a_number"),
    _plain("an escape of a terminal", b"\x1b[2J\x1b]0;pwned\x07", "not_a_number"),
    _plain("a priority of the journal", b"<0>panic", "not_a_number"),
    _plain("a forged line", b'63\n{"event": "alert.changed"}', "not_a_number"),
    _plain("a format string", b"{0.__class__.__init__.__globals__}", "not_a_number"),
    _plain("a template", b"{{7*7}} ${7*7} %(x)s", "not_a_number"),
    _plain("a shell", b"$(reboot); `reboot`", "not_a_number"),
    _plain("too long", b"9" * 100_000, "payload_too_long"),
]

DOCUMENTS = [
    _field("brackets without end", b"[" * 60_000, "too_deep"),
    _field("objects without end", b'{"a":' * 12_000, "too_deep"),
    _field("brackets, closed", b"[" * 30_000 + b"]" * 30_000, "too_deep"),
    _field("more brackets than are read", b"[" * 100_000, "payload_too_long"),
    _field("five thousand digits", b'{"v": %s}' % (b"9" * 5000), "bad_json"),
    _field("four thousand digits", b'{"v": %s}' % (b"9" * 4000), "not_finite"),
    _field("NaN", b'{"v": NaN}', "not_finite"),
    _field("Infinity", b'{"v": -Infinity}', "not_finite"),
    _field("beyond all floats", b'{"v": 1e999}', "not_finite"),
    _field("minus nothing", b'{"v": -0}', 0.0),
    _field("a key twice", b'{"v": 1, "v": 2}', 2.0),
    _field("half a surrogate pair", b'{"v": "\\ud800"}', "not_a_number"),
    _field("half a surrogate pair elsewhere", b'{"x": "\\ud800", "v": 50}', 50.0),
    _field("a byte order mark", b'\xef\xbb\xbf{"v": 50}', 50.0),
    _field("utf-16", '{"v": 50}'.encode("utf-16"), "bad_utf8"),
    _field("utf-16 without a mark", '{"v": 50}'.encode("utf-16-le"), "bad_json"),
    _field("latin-1", '{"u": "°C", "v": 50}'.encode("latin-1"), "bad_utf8"),
    _field("a NUL in a text", b'{"x": "\x00", "v": 50}', "bad_json"),
    _field("NULs behind it", b'{"v": 50}\x00\x00', "bad_json"),
    _field("a huge text", b'{"x": "%s", "v": 50}' % (b"x" * 60_000), 50.0),
    _field("a huge key", b'{"%s": 1, "v": 50}' % (b"x" * 60_000), 50.0),
    _field("a number as a text", b'{"v": "50"}', 50.0),
    _field("an odd number as a text", b'{"v": "1_000"}', "not_a_number"),
    _field("a digit of another script as a text", '{"v": "\u0661"}'.encode(), "not_a_number"),
    _field("nothing as a text", b'{"v": ""}', "empty"),
    _field("null", b'{"v": null}', "null_value"),
    _field("true", b'{"v": true}', "not_a_number"),
    _field("a list", b'{"v": [50]}', "not_a_number"),
    _field("an object", b'{"v": {"v": 50}}', "not_a_number"),
    _field("another field", b'{"w": 50}', NOTHING),
    _field("a list at the top", b'[{"v": 50}]', NOTHING),
    _field("a number at the top", b"50", NOTHING),
    _field("null at the top", b"null", NOTHING),
    _field("cut short", b'{"v": 5', "bad_json"),
    _field("two documents", b'{"v": 1}{"v": 2}', "bad_json"),
    _field("single quotes", b"{'v': 50}", "bad_json"),
    _field("a comma too many", b'{"v": 50,}', "bad_json"),
    _field("a comment", b'{"v": 50} // loud', "bad_json"),
    _field("an escape that is none", b'{"v": "\\x41"}', "bad_json"),
    _field("a zero in front", b'{"v": 050}', "bad_json"),
    _field("a prototype", b'{"__proto__": {"v": 1}, "constructor": 1}', NOTHING),
    _field("YAML", b"v: !!python/object/apply:os.system [reboot]", "bad_json"),
    _field("a pickle", b"cos\nsystem\n(S'reboot'\ntR.", "bad_json"),
    _field("nothing", b"", "empty"),
]

TIMES = [
    _stamp("now", f'"{NOW}"', 50.0),
    _stamp("before there were clocks", "0", "bad_time"),
    _stamp("negative", "-1742601600", "bad_time"),
    _stamp("in a far future", '"9999-12-31T23:59:59Z"', "bad_time"),
    _stamp("beyond the calendar", '"99999-01-01T00:00:00Z"', "bad_time"),
    _stamp("the year nothing", '"0000-00-00T00:00:00Z"', "bad_time"),
    _stamp("of a clock that was never set", '"1970-01-01T00:00:07Z"', "bad_time"),
    _stamp("NaN", "NaN", "bad_time"),
    _stamp("Infinity", "Infinity", "bad_time"),
    _stamp("beyond all floats", "1e999", "bad_time"),
    _stamp("four thousand digits", "9" * 4000, "bad_time"),
    _stamp("four thousand digits as a text", f'"{"9" * 4000}"', "bad_time"),
    _stamp("five thousand digits as a text", f'"{"9" * 5000}"', "bad_time"),
    _stamp("true", "true", "bad_time"),
    _stamp("a list", "[1742601600]", "bad_time"),
    _stamp("null", "null", "no_time"),
    _stamp("nonsense", '"yesterday"', "bad_time"),
    _stamp("digits of another script", '"٢٠٢٥-03-22T00:00:00Z"', "bad_time"),
    _stamp("a month too many", '"2025-13-01T00:00:00Z"', "bad_time"),
    _stamp("the 30th of February", '"2025-02-30T00:00:00Z"', "bad_time"),
    _stamp("an offset of a week", '"2025-03-22T00:00:00+99:99"', "bad_time"),
    _stamp("no offset, and no zone", '"2025-03-22T00:00:00"', "bad_time"),
    _stamp("no seconds", '"2025-03-22T00:00:Z"', "bad_time"),
    _stamp("a NUL", '"2025-03-22T00:00:00Z\\u0000"', "bad_time"),
    _stamp("a forged line", '"2025\\n<0>panic"', "bad_time"),
]

LABELS = [
    _label("a line break", "a\nb", "bad_label"),
    _label("a carriage return and a header", "a\r\nBcc: everybody@example.org", "bad_label"),
    _label("an escape of a terminal", "\x1b[2J", "bad_label"),
    _label("an eight-bit escape", "\x9b2J", "bad_label"),
    _label("a NUL", "a\x00b", "bad_label"),
    _label("half a surrogate pair", "\ud800", "bad_label"),
    _label("ten thousand characters", "x" * 10_000, "bad_label"),
    _label("nothing", "", "no_label"),
    _label("null", None, "no_label"),
    _label("a list", ["a"], "no_label"),
    _label("a priority of the journal", "<0>panic", 50.0),
    _label("a format string", "{0.__class__}", 50.0),
    _label("a wide format string", "{:>9999999999}", 50.0),
    _label("a template", "{{7*7}}", 50.0),
    _label("a percent", "%s%n%(x)s", 50.0),
    _label("a shell", "$(reboot)", 50.0),
    _label("a path", "../../../etc/passwd", 50.0),
    _label("markup", "<script>alert(1)</script>", 50.0),
    _label("a text from right to left", "\u202egnp.exe", 50.0),
    _label("a flag", True, 50.0),
    _label("a huge number", 10**300, "bad_label"),
]

TOPICS = [
    _topic("bytes that are no UTF-8", b"plain/\xff\xfe", "topic_not_utf8"),
    _topic("UTF-8 cut short", b"plain/\xc3", "topic_not_utf8"),
    _topic("UTF-8 longer than needed", b"plain/\xc0\xaf", "topic_not_utf8"),
    _topic("half a surrogate pair", b"plain/\xed\xa0\x80", "topic_not_utf8"),
    _topic("U+0000", b"plain/a\x00b", "topic_control"),
    _topic("a line break", b"plain/a\n<0>panic", "topic_control"),
    _topic("an escape of a terminal", b"plain/\x1b[2J", "topic_control"),
    _topic("an eight-bit escape", "plain/\x9b2J".encode(), "topic_control"),
    _topic("65535 bytes", b"plain/" + b"x" * 65_529, "topic_too_long"),
    _topic("1024 bytes", b"plain/" + b"x" * 1018, 50.0),
    _topic("200 levels", b"whole" + b"/a" * 199, "topic_too_deep"),
    _topic("200 empty levels", b"whole" + b"/" * 199, "topic_too_deep"),
    _topic("64 levels", b"whole" + b"/a" * 63, 50.0),
    _topic("empty levels", b"whole///", 50.0),
    _topic("an empty label", b"plain/", 50.0),
    _topic("nothing", b"", "no_sensor"),
    _topic("a slash", b"/", "no_sensor"),
    _topic("the broker's own", b"$SYS/broker/uptime", "no_sensor"),
    _topic("a shared subscription", b"$share/group/plain/attic", "no_sensor"),
    _topic("a wildcard of one level", b"plain/+", "topic_wildcard"),
    _topic("a wildcard of all", b"whole/#", "topic_wildcard"),
    _topic("a level too many", b"plain/attic/more", "no_sensor"),
    _topic("another case", b"PLAIN/attic", "no_sensor"),
    _topic("a byte order mark", b"\xef\xbb\xbfplain/attic", "no_sensor"),
    _topic("a template", b"plain/{{7*7}}{0.__class__}%s", 50.0),
    _topic("a name of another script", "plain/屋根裏 🏠".encode(), 50.0),
    _topic("U+FFFF, which is no character", "plain/\uffff".encode(), 50.0),
]

MESSAGES: list[Bad] = [*NUMBERS, *DOCUMENTS, *TIMES, *LABELS, *TOPICS]


def lawful(topic: bytes) -> bool:
    """Say whether a broker that keeps the law lets such a topic pass."""
    try:
        text = topic.decode()
    except UnicodeDecodeError:
        return False
    odd = any(c < " " or "\x7f" <= c <= "\x9f" or c in "+#\ufffe\uffff" for c in text)
    return bool(text) and not odd and not text.startswith("$") and text.count("/") < 200


class Frame(NamedTuple):
    """Bytes of a broker that is ill, where a packet should begin."""

    name: str
    data: bytes


def packet(kind: int, body: bytes) -> bytes:
    """Return a packet of MQTT: its first byte, its length, and what is in it."""
    length, head = len(body), bytearray([kind])
    while True:
        length, digit = length >> 7, length & 0x7F
        head.append(digit | 0x80 if length else digit)
        if not length:
            return bytes(head) + body


def publish(topic: bytes, payload: bytes) -> bytes:
    """Return a message of MQTT 5 at QoS 0."""
    return packet(0x30, struct.pack("!H", len(topic)) + topic + b"\x00" + payload)


_GOOD = publish(b"plain/attic", b"50")
FRAMES: list[Frame] = [
    Frame("packet type 0", b"\x00\x00"),
    Frame("AUTH that nobody asked for", b"\xf0\x02\x00\x00"),
    Frame("a CONNECT", packet(0x10, b"\x00\x04MQTT\x05\x02\x00\x3c\x00\x00\x00")),
    Frame("a second CONNACK", b"\x20\x03\x00\x00\x00"),
    Frame("a CONNACK that refuses", b"\x20\x03\x00\x87\x00"),
    Frame("an empty CONNACK", b"\x20\x00"),
    Frame("a CONNACK with half a property", b"\x20\x06\x00\x00\x03\x21\x00"),
    Frame("a PUBLISH of QoS 3", packet(0x36, b"\x00\x01a\x00\x01\x00x")),
    Frame("a PUBLISH of QoS 2", packet(0x34, b"\x00\x0bplain/attic\x00\x07\x0050")),
    Frame("QoS 1 with packet identifier 0", packet(0x32, b"\x00\x0bplain/attic\x00\x00\x0050")),
    Frame("a copy of QoS 0", packet(0x38, b"\x00\x0bplain/attic\x0050")),
    Frame("an empty PUBLISH", b"\x30\x00"),
    Frame("a PUBLISH of one byte", b"\x30\x01\x00"),
    Frame("a topic longer than its packet", b"\x30\x04\xff\xffab"),
    Frame("no packet identifier", b"\x32\x04\x00\x02ab"),
    Frame("half a packet identifier", b"\x32\x05\x00\x02ab\x00"),
    Frame("no properties", b"\x30\x04\x00\x02ab"),
    Frame("properties longer than the packet", b"\x30\x05\x00\x02ab\x7f"),
    Frame("a length of properties without end", b"\x30\x09\x00\x02ab\xff\xff\xff\xff\xff"),
    Frame("an unknown property", packet(0x30, b"\x00\x02ab\x02\xfe\x00x")),
    Frame("a topic alias that was not agreed on", packet(0x30, b"\x00\x00\x03\x23\x00\x0150")),
    Frame("a length of five bytes", b"\x30\xff\xff\xff\xff\x01"),
    Frame("a length of ten bytes", b"\x30" + b"\xff" * 10),
    Frame("a length longer than it need be", b"\x30\x93\x80\x80\x00" + _GOOD[2:]),
    Frame("256 MB announced", b"\x30\xff\xff\xff\x7f\x00\x01a\x00"),
    Frame("256 MB of SUBACK announced", b"\x90\xff\xff\xff\x7f\x00\x01"),
    Frame("cut short in its head", b"\x30"),
    Frame("cut short in its length", b"\x30\x80"),
    Frame("cut short in its topic", b"\x30\x13\x00\x0bplain"),
    Frame("a SUBACK that nobody waits for", packet(0x90, b"\xff\xff\x00\x01")),
    Frame("an empty SUBACK", b"\x90\x00"),
    Frame("a SUBACK with a code that is none", packet(0x90, b"\x00\x01\x00\x55")),
    Frame("an UNSUBACK that nobody waits for", packet(0xB0, b"\xff\xff\x00\x00")),
    Frame("a PUBACK that nobody waits for", b"\x40\x02\xff\xff"),
    Frame("an empty PUBACK", b"\x40\x00"),
    Frame("a PUBREC that nobody waits for", b"\x50\x02\xff\xff"),
    Frame("a PUBREL that nobody waits for", b"\x62\x02\xff\xff"),
    Frame("a PUBREL with wrong flags", b"\x60\x02\x00\x01"),
    Frame("a PUBCOMP that nobody waits for", b"\x70\x02\xff\xff"),
    Frame("a SUBSCRIBE", packet(0x82, b"\x00\x01\x00\x00\x01a\x00")),
    Frame("an UNSUBSCRIBE", packet(0xA2, b"\x00\x01\x00\x00\x01a")),
    Frame("a PINGREQ", b"\xc0\x00"),
    Frame("a PINGRESP that nobody waits for", b"\xd0\x00"),
    Frame("a PINGRESP with a body", b"\xd0\x05hello"),
    Frame("a farewell", b"\xe0\x00"),
    Frame("a farewell with a reason that is none", b"\xe0\x02\x55\x00"),
    Frame("a farewell with half a property", b"\xe0\x03\x00\x05\x1f"),
    Frame("an answer of a web server", b"HTTP/1.1 400 Bad Request\r\n\r\n"),
    Frame("the beginning of TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
    Frame("a thousand zeros", b"\x00" * 1000),
    Frame("a thousand ones", b"\xff" * 1000),
]

#: what mutants are made with: bytes that mean something to somebody
_SPICE = [
    *(bytes([n]) for n in (0, 9, 10, 13, 27, 34, 35, 37, 43, 44, 46, 47, 92, 127, 128, 155, 255)),
    *(b"{", b"}", b"[", b"]", b'"', b":", b"e", b"E", b"-", b"+", b"_", b"9" * 400, b"0x", b"NaN"),
    *(
        b"null",
        b"true",
        b"\\u0000",
        b"\\ud800",
        b'"v":',
        b'"t":',
        b'"z":',
        b"1e309",
        b"\xef\xbb\xbf",
    ),
]


def mutants(number: int, seed: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield so many topics and payloads, bred from those above: the same for the same seed."""
    dice = random.Random(seed)
    stock = [m for m in MESSAGES if len(m.payload) < 5000 and len(m.topic) < 5000]
    fine = [message for message in stock if isinstance(message.outcome, float)]
    for _ in range(number):
        parent, other = dice.choice(dice.choice((stock, fine))), dice.choice(stock)
        topic, payload = parent.topic, parent.payload
        if dice.random() < 0.1:
            topic = mutated(topic, other.topic, dice)
        yield topic[:65_535], mutated(payload, other.payload, dice)


def mutated(data: bytes, other: bytes, dice: random.Random) -> bytes:
    """Return *data* with a few changes."""
    out = bytearray(data)
    for _ in range(dice.choice((0, 1, 1, 1, 2, 4))):
        at = dice.randrange(len(out) + 1)
        match dice.randrange(5):
            case 0:
                out[at:at] = dice.choice(_SPICE)
            case 1:
                del out[at : at + dice.randrange(1, 8)]
            case 2 if at < len(out):
                out[at] ^= 1 << dice.randrange(8)
            case 3:
                out[at:] = other[dice.randrange(len(other) + 1) :]
            case _:
                out[at:at] = out[dice.randrange(len(out) + 1) :][: dice.randrange(1, 60)]
    return bytes(out)


def ill_frames(number: int, seed: int) -> Iterator[bytes]:
    """Yield so many frames, bred from those above and from a good one."""
    dice = random.Random(seed)
    stock = [*(frame.data for frame in FRAMES), *[_GOOD] * 10]
    for _ in range(number):
        yield mutated(dice.choice(stock), dice.choice(stock), dice)
