"""Who is told what: compare what a notifier was last told with what it should know.

Nothing is sent because something happened; it is sent because what somebody knows is no
longer so.  That is why an alert which changed while the mail server was down is told
once, as it then stands, and why nothing is told twice.
"""

from typing import Literal, NamedTuple

from hushd.core.rules import SEVERITIES, Notify, Severity
from hushd.core.transitions import Transition

#: ``missed``: it came and went while this notifier could not be reached.
Kind = Literal["raised", "raised_again", "escalated", "lowered", "cleared", "missed"]


class Told(NamedTuple):
    """What one notifier last heard of one alert."""

    episode: int = 0
    level: Severity | None = None  # None: that all is well
    missed: int | None = None  # the first episode that could not be told, if any
    at: int = 0  # when it last heard of it
    repeats: int = 0  # how often it was reminded since
    worst: Severity | None = None  # the worst it heard of in this episode
    cleared: int | None = None  # when it heard that all is well, while that counts for a cooldown
    last: Transition | None = None  # what it was told of, where that may be repeated


def wanted(notify: Notify, notifier: str, level: Severity | None) -> Severity | None:
    """Return what *notifier* should know of an alert at *level*; None: that all is well.

    A notifier listed at a severity hears of that severity and of everything worse.

    >>> wanted((("critical", ("phone",)),), "phone", "warning") is None
    True
    """
    if level is None:
        return None
    listed = (SEVERITIES.index(severity) for severity, names in notify if notifier in names)
    return level if SEVERITIES.index(level) >= min(listed, default=len(SEVERITIES)) else None


def reconcile(told: Told, episode: int, want: Severity | None) -> Kind | None:
    """Return what to tell so that the notifier knows *want*, or None if it knows already."""
    if want is None:
        if told.level is not None:
            return "cleared"
        return "missed" if told.missed is not None else None
    if told.level is None:
        return "raised"
    if told.episode != episode:
        return "raised_again"
    if told.level == want:
        return None
    worse = SEVERITIES.index(want) > SEVERITIES.index(told.level)
    return "escalated" if worse else "lowered"


def unreachable(told: Told, episode: int, want: Severity | None) -> Told:
    """Return *told* after *want* could not be said: remembers the first episode missed."""
    news = want is not None and (told.level is None or told.episode != episode)
    return told._replace(missed=episode) if news and told.missed is None else told
