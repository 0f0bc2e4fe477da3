"""Series: what arrives of one sensor with the same labels, put in order.

Late readings, duplicates and stamps from the future are decided here, before anything
reaches a window.  A reading that may still be overtaken waits in the engine's stage.
"""

from collections.abc import Sequence
from typing import Any

from hushd.core.intervals import Interval
from hushd.core.readings import Labels, Reading
from hushd.core.rules import Sensor

SAME_STAMP = 64  # values remembered at one stamp: a clock that stands still must not cost memory


def delay(sensor: Sensor) -> int:
    """Return how far the sensor's own time runs behind the engine's, in ns.

    Where an older reading may still come, a stamp is over only when the engine is more
    than `lateness` past it: the sensor's windows, latches and silences run that much later.
    """
    if sensor.lateness or sensor.duplicates in ("last", "max"):
        return sensor.lateness + 1
    return 0


def is_ahead(sensor: Sensor, reading: Reading) -> bool:
    """Say whether a stamp is further in the future than is believed."""
    return reading.at > reading.arrived + sensor.future


class Series:
    """The newest of one series, and how often it speaks."""

    __slots__ = (
        "_interval",
        "_newest",
        "_released",
        "_values",
        "gap",
        "heard",
        "labels",
        "pools",
        "sensor",
        "shard",
    )

    def __init__(self, sensor: Sensor, labels: Labels, pools: Sequence[Any]) -> None:
        """Start with nothing heard; *pools*: where its readings count."""
        self.sensor = sensor
        self.labels = labels
        self.pools = pools
        self.shard = ""  # its key; the engine sets it
        self.gap: int | None = None
        self.heard = 0  # engine time when its newest reading came, or was judged
        self._interval = Interval(sensor.interval)
        self._newest: int | None = None  # stamp, of all that came
        self._released: int | None = None  # stamp, of what has been judged
        self._values: list[float] = []  # at that stamp

    @property
    def interval(self) -> int | None:
        """Return its usual gap in ns, once known."""
        return self._interval.now

    @property
    def hold(self) -> int | None:
        """Return how long a reading stands for itself at most, in ns, once known."""
        if self.sensor.hold is not None:
            return self.sensor.hold
        interval = self._interval.now
        return None if interval is None else interval * 3 // 2

    @property
    def newest(self) -> int | None:
        """Return the stamp of the newest reading that was judged."""
        return self._released

    def refusal(self, reading: Reading) -> str | None:
        """Return why *reading* cannot be used as it arrives, or None."""
        at = reading.at
        if is_ahead(self.sensor, reading):
            return "future"
        newest = self._newest
        if newest is not None and at < newest - self.sensor.lateness:
            return "late"
        if self._released is not None and at < self._released:
            return "late"  # what came after it has been judged
        if newest is None or at > newest:
            self._newest = at
        return None

    def tie(self, reading: Reading, arrival: int) -> float:
        """Return what orders readings with one stamp, so that no accident of arrival does."""
        return arrival if self.sensor.duplicates == "last" else reading.value

    def admit(self, at: int, value: float) -> bool:
        """Note a reading that is judged now; False if it is one that was judged before."""
        released = self._released
        if released is not None and at == released:
            how = self.sensor.duplicates
            if how in ("last", "max") or (how == "drop" and value in self._values):
                return False
            self._values = [*self._values[-SAME_STAMP:], value]
            self.gap = 0
            return True
        if released is not None:
            self.gap = at - released
            self._interval.learn(self.gap)
        self._released = at
        self._values = [value]
        return True

    def save(self) -> dict[str, Any]:
        """Return the state for a snapshot."""
        return {
            "sensor": self.sensor.name,
            "labels": self.labels,
            "heard": self.heard,
            "gaps": self._interval.gaps,
            "newest": self._newest,
            "released": self._released,
            "values": self._values,
        }

    def load(self, saved: dict[str, Any]) -> None:
        """Take the state back."""
        self.heard = saved["heard"]
        self._interval = Interval(self.sensor.interval, saved["gaps"])
        self._newest = saved["newest"]
        self._released = saved["released"]
        self._values = saved["values"]
