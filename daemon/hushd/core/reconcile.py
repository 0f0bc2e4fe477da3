"""Who is told what: compare what a notifier was last told with what it should know.

Nothing is sent because something happened; it is sent because what somebody knows is no
longer so.  That is why an alert which changed while the mail server was down is told
once, as it then stands, and why nothing is told twice.
"""

from typing import Literal, NamedTuple

from hushd.core.rules import SEVERITIES, Notify, Severity
from hushd.core.transitions import Event, Transition

#: ``missed``: it came and went while this notifier could not be reached.  ``flapping``: it
#: changes too often, and how it stands is told once it is steady.  ``repeat``: it is still on.
Kind = Literal[
    "raised", "raised_again", "escalated", "lowered", "cleared", "missed", "flapping", "repeat"
]

#: The episode of what is known to be flapping: whatever it is afterwards, it is another.
FLAPPING = 0


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


class Habit(NamedTuple):
    """How often, and how soon again, the alerts of one rule are told."""

    repeat: tuple[int, ...] = ()  # pauses between reminders; the last goes on
    cooldown: int = 0  # pause after it was told that all is well


def rank(severity: Severity | None) -> int:
    """Return how bad it is; 0 is well."""
    return 0 if severity is None else SEVERITIES.index(severity) + 1


def wanted(notify: Notify, notifier: str, level: Severity | None) -> Severity | None:
    """Return what *notifier* should know of an alert at *level*; None: that all is well.

    A notifier listed at a severity hears of that severity and of everything worse.

    >>> wanted((("critical", ("phone",)),), "phone", "warning") is None
    True
    """
    if level is None:
        return None
    listed = (rank(severity) for severity, names in notify if notifier in names)
    return level if rank(level) >= min(listed, default=len(SEVERITIES) + 1) else None


def reconcile(
    told: Told, episode: int, want: Severity | None, *, flapping: bool = False
) -> Kind | None:
    """Return what to tell so that the notifier knows *want*, or None if it knows already.

    >>> reconcile(Told(1, "warning"), 2, "warning")
    'raised_again'
    """
    if flapping:
        knows = told.level is not None and told.episode == FLAPPING
        return None if knows or (told.level is None and want is None) else "flapping"
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
    return "escalated" if rank(want) > rank(told.level) else "lowered"


def heard(told: Told, kind: Kind | Event, episode: int, want: Severity | None, now: int) -> Told:
    """Return what the notifier knows that knew *told*, once it was told *kind* of *want*."""
    if kind == "repeat":
        return told._replace(at=now, repeats=told.repeats + 1)
    anew = told.level is None or kind == "raised_again"
    worst = want if want is not None and (anew or rank(want) > rank(told.worst)) else told.worst
    cleared = now if kind == "cleared" else told.cleared if want is None else None
    return Told(FLAPPING if kind == "flapping" else episode, want, None, now, 0, worst, cleared)


def cooling(told: Told, want: Severity | None, now: int, cooldown: int) -> int | None:
    """Return until when *want* is held back, so soon after all was well; None: it is not.

    What is worse than all that was told before is never held back.
    """
    if told.level is not None or told.cleared is None or rank(want) > rank(told.worst):
        return None
    end = told.cleared + cooldown
    return end if now < end else None


def reminder(told: Told, repeat: tuple[int, ...]) -> int | None:
    """Return when the notifier is to be reminded; None: never.

    >>> reminder(Told(1, "warning", at=100, repeats=7), (10, 20, 30))
    130
    """
    if told.level is None or told.episode == FLAPPING or not repeat:
        return None
    return told.at + repeat[min(told.repeats, len(repeat) - 1)]


def unreachable(told: Told, episode: int, want: Severity | None) -> Told:
    """Return *told* after *want* could not be said: remembers the first episode missed."""
    news = want is not None and (told.level is None or told.episode != episode)
    return told._replace(missed=episode) if news and told.missed is None else told
