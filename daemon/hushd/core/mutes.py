"""What people asked not to hear of for a while, and what they know already."""

from typing import NamedTuple

from hushd.core.readings import Labels


class Mute(NamedTuple):
    """A silence that somebody asked for: nobody hears of what matches, until it ends."""

    number: int
    rule: str  # "": any
    labels: Labels  # those that an alert must carry, with these values; (): any
    begins: int  # wall time, ns
    ends: int  # likewise
    comment: str

    def covers(self, rule: str, labels: Labels) -> bool:
        """Say whether an alert is meant.

        >>> Mute(1, "", (("room", "101"),), 0, 9, "painters").covers("loud", (("room", "102"),))
        False
        """
        return self.rule in ("", rule) and set(self.labels) <= set(labels)


class Ack(NamedTuple):
    """Somebody minds an alert: nobody is reminded of it in this episode."""

    rule: str
    labels: Labels
    episode: int
    at: int  # wall time, ns
    comment: str
