"""What a daemon has promised by what it sent: to the broker that it has a message, to people."""

import re
from collections import defaultdict

from torture.calls import Call, Sent

PUBACK = 0x40
_KEY = re.compile(rb"^Idempotency-Key: *([^\r\n]+)", re.IGNORECASE | re.MULTILINE)


class Promises:
    """Grows with each call.

    Args:
        broker: The port of the broker, to which the acknowledgements go in the order of the
            messages.
        receiver: The port of who is told by HTTP.
    """

    def __init__(self, broker: int, receiver: int) -> None:
        self.acknowledged = 0
        self.told: list[str] = []  # the key of each note, as often as it was sent
        self._broker = f":{broker}"
        self._receiver = f":{receiver}"
        self._packets: dict[str, bytearray] = defaultdict(bytearray)

    def happen(self, call: Call) -> None:
        """Take note of a call."""
        if not isinstance(call, Sent):
            return
        if call.connection.endswith(self._broker):
            begun = self._packets[call.connection]
            begun += call.data
            while (packet := _packet(begun)) is not None:
                self.acknowledged += packet[0] & 0xF0 == PUBACK
        elif call.connection.endswith(self._receiver) and (key := _KEY.search(call.data)):
            self.told.append(key[1].decode())


def _packet(begun: bytearray) -> bytes | None:
    """Take a whole MQTT packet out of the beginning of *begun*."""
    length = 0
    for n, byte in enumerate(begun[1:5]):
        length |= (byte & 0x7F) << 7 * n
        if not byte & 0x80:
            end = 2 + n + length
            if len(begun) < end:
                return None
            packet = bytes(begun[:end])
            del begun[:end]
            return packet
    return None
