"""What is measured: one finite number of one series at one instant."""

from typing import NamedTuple

#: Label names and values of a series or an alert, sorted by name.
Labels = tuple[tuple[str, str], ...]

SECOND = 1_000_000_000  # all times in the core are integer nanoseconds


class Reading(NamedTuple):
    """One finite number of one series (a sensor and its labels) at one instant."""

    sensor: str
    labels: Labels
    at: int  # where it stands in its windows; ns since the epoch
    value: float  # in the sensor's unit
    arrived: int  # engine time when it came: equals `at` under `clock: stamps`


def labels_of(pairs: dict[str, str]) -> Labels:
    """Return *pairs* as labels."""
    return tuple(sorted(pairs.items()))
