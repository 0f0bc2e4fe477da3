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


def level(house: str, at: float, chance: random.Random) -> float:
    """Return how loud it is at *house*, *at* seconds after the demo began.

    >>> level("7", 8.0, random.Random(1)) > 80 > level("1", 8.0, random.Random(1))
    True
    """
    number, moment = divmod(at, ROUND)
    party = (3 + round(number)) % len(HOUSES)
    loud = [
        scene.level
        for scene in STORY
        if scene.begins <= moment < scene.ends
        and house == HOUSES[(party + scene.beside) % len(HOUSES)]
    ]
    return round(max([41.0, *loud]) + chance.gauss(0, 1.5), 1)


class Street:
    """Publishes what the sensors of the street measure, through a real MQTT client."""

    def __init__(self, host: str, port: int, watch: Callable[[Mapping[str, float]], None]) -> None:
        self._watch = watch
        self._over = threading.Event()
        self._client = paho.Client(CallbackAPIVersion.VERSION2)
        self._client.connect_async(host, port)
        self._thread = threading.Thread(target=self._run, name="street", daemon=True)

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
        began = due = time.monotonic()
        while not self._over.wait(max(0.0, due - time.monotonic())):
            levels = {house: level(house, due - began, chance) for house in HOUSES}
            for house, loud in levels.items():
                self._client.publish(
                    f"linden-street/{house}/noise", json.dumps({"level": loud}), qos=1
                )
            self._watch(levels)
            due += INTERVAL
