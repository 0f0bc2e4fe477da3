"""The street of ``hushd demo``: five houses, one noise sensor each, and neighbours."""

import json
import random
import threading
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion

HOUSES = ("1", "3", "5", "7", "9")
INTERVAL = 0.5  # seconds between the readings of a sensor
ROUND = 40.0  # seconds after which the story begins again, at another house


class Scene(NamedTuple):
    """Something that happens in every round."""

    begins: float
    ends: float
    level: float  # dBA
    beside: int = 0  # houses away from the one with the party


STORY = (
    Scene(1.0, 5.0, 74.0),  # the first guests
    Scene(5.0, 14.0, 86.0),  # now they dance
    Scene(24.0, 24.6, 99.0, beside=2),  # somebody slams a door
)


#: seconds into the round, and what a passer-by would say; as in Scene, houses away from the party
MOMENTS = (
    (0.0, "All is quiet in Linden Street.", 0),
    (1.0, "The first guests arrive at house {}.", 0),
    (5.0, "Now they dance at house {}.", 0),
    (14.0, "The guests go; the window remembers.", 0),
    (19.0, "All is quiet again.", 0),
    (24.0, "Somebody slams a door at house {}.", 2),
    (26.0, "The bang fades from the windows.", 0),
    (33.0, "Everybody sleeps.", 0),
)


def moment(at: float) -> str:
    """Return what happens in the street, *at* seconds after the demo began, in a sentence.

    >>> moment(8.0), moment(48.0)
    ('Now they dance at house 7.', 'Now they dance at house 9.')
    """
    party, now = _party(at)
    _, sentence, beside = [each for each in MOMENTS if each[0] <= now][-1]
    return sentence.format(HOUSES[(party + beside) % len(HOUSES)])


def _party(at: float) -> tuple[int, float]:
    """Return where the party of this round is, and how far the round is."""
    number, now = divmod(at, ROUND)
    return (3 + round(number)) % len(HOUSES), now


def level(house: str, at: float, chance: random.Random) -> float:
    """Return how loud it is at *house*, *at* seconds after the demo began.

    >>> level("7", 8.0, random.Random(1)) > 80 > level("1", 8.0, random.Random(1))
    True
    """
    party, now = _party(at)
    loud = [
        scene.level
        for scene in STORY
        if scene.begins <= now < scene.ends
        and house == HOUSES[(party + scene.beside) % len(HOUSES)]
    ]
    return round(max([41.0, *loud]) + chance.gauss(0, 1.5), 1)


class Street:
    """Publishes what the sensors of the street measure, through a real MQTT client."""

    def __init__(self, host: str, port: int, watch: Callable[[Mapping[str, float]], None]) -> None:
        self._watch = watch
        self._over = threading.Event()
        self._began: float | None = None
        self._client = paho.Client(CallbackAPIVersion.VERSION2)
        self._client.connect_async(host, port)
        self._thread = threading.Thread(target=self._run, name="street", daemon=True)

    @property
    def moment(self) -> str:
        """What happens now, in a sentence."""
        began = self._began
        return "" if began is None else moment(time.monotonic() - began)

    def begin(self) -> None:
        """Let the story begin."""
        self._client.loop_start()
        self._thread.start()

    def end(self) -> None:
        """End it."""
        self._over.set()
        self._thread.join(2)
        self._client.disconnect()
        self._client.loop_stop()

    def _run(self) -> None:
        while not self._client.is_connected():
            if self._over.wait(0.05):
                return
        chance = random.Random(7)  # noqa: S311  levels are not secrets
        began = due = self._began = time.monotonic()
        while not self._over.wait(max(0.0, due - time.monotonic())):
            levels = {house: level(house, due - began, chance) for house in HOUSES}
            for house, loud in levels.items():
                self._client.publish(
                    f"linden-street/{house}/noise", json.dumps({"level": loud}), qos=1
                )
            self._watch(levels)
            due += INTERVAL
