"""hushd's own troubles, as alerts: noted with their time, told like any other.

Two kinds of trouble are told apart.  One lasts until it is *over*: a broker that is away.
The other is made of mishaps, each over at once: a limit that turned a reading away.  It is
over when none was noted for a while.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from hushd.core.alerts import About, Alarm
from hushd.core.readings import Labels
from hushd.core.rules import Notify, Severity
from hushd.core.transitions import Transition

PREFIX = "internal/"

#: what it is, and the name of the label that says which
Kind = Literal["broker", "clock", "config", "gap", "limit", "notifier", "plugin", "store"]


@dataclass(slots=True)
class Trouble:
    """One trouble: its alert, and what is due by time alone."""

    alarm: Alarm
    why: str = ""
    raised_at: int | None = None  # when it will have lasted long enough to be told
    over_at: int | None = None  # when it will have been quiet for long enough

    def due(self) -> int | None:
        """Return when time alone changes something."""
        return self.raised_at if self.alarm.level is None else self.over_at


class Troubles:
    """All troubles there have been.  Pure: time is an argument, and never goes back.

    >>> troubles = Troubles("warning", ("phone",))
    >>> troubles.note(0, "broker", why="connection refused", after=30)
    []
    >>> [raised] = troubles.advance(35)
    >>> raised.rule, raised.event, raised.at, raised.about
    ('internal/broker', 'raised', 30, 'connection refused')
    >>> [t.event for t in troubles.over(60, "broker")]
    ['cleared']
    """

    def __init__(self, severity: Severity, notify: Sequence[str]) -> None:
        """Begin without any; *notify* are those who hear of them."""
        self._severity = severity
        self._notify = tuple(notify)
        self._troubles: dict[tuple[Kind, str], Trouble] = {}

    def change(self, severity: Severity, notify: Sequence[str]) -> None:
        """Let others hear of what is raised or cleared from now on."""
        self._severity = severity
        self._notify = tuple(notify)

    def note(
        self,
        now: int,
        kind: Kind,
        which: str = "",
        why: str = "",
        *,
        after: int = 0,
        quiet: int | None = None,
    ) -> list[Transition]:
        """Note a trouble; noting it again changes nothing but how long it goes on.

        Args:
            now: The time.
            kind: What it is.
            which: Of those there may be several of: its name.
            why: For people.
            after: How long it must last to be told.
            quiet: It is over when it was not noted for so long; None: when `over` says so.
        """
        told = self.advance(now)
        trouble = self._troubles.get((kind, which))
        if trouble is None:
            trouble = self._troubles[kind, which] = Trouble(_alarm(kind, which))
        if trouble.alarm.level is None:
            trouble.why = why
            if trouble.raised_at is None:
                trouble.raised_at = now + after
        trouble.over_at = None if quiet is None else now + quiet
        return told + self.advance(now)

    def over(self, now: int, kind: Kind, which: str = "") -> list[Transition]:
        """Note that a trouble is over, if there is one."""
        told = self.advance(now)
        trouble = self._troubles.get((kind, which))
        if trouble is None:
            return told
        trouble.raised_at = trouble.over_at = None
        if trouble.alarm.level is not None:
            told.append(self._change(trouble, now, None, "over"))
        return told

    def advance(self, now: int) -> list[Transition]:
        """Return what time alone has brought until *now*, each at its own time."""
        told = []
        for trouble in self._troubles.values():
            while (due := trouble.due()) is not None and due <= now:
                if trouble.alarm.level is None:
                    trouble.raised_at = None
                    told.append(self._change(trouble, due, self._severity, "trouble"))
                else:
                    trouble.over_at = None
                    told.append(self._change(trouble, due, None, "quiet"))
        return sorted(told, key=lambda t: (t.at, t.rule, t.labels))

    def deadline(self) -> int | None:
        """Return when `advance` next has something to do."""
        return min((x for t in self._troubles.values() if (x := t.due()) is not None), default=None)

    def known(self, kind: Kind) -> list[str]:
        """Return of which there are, or were, troubles of this *kind*."""
        return [which for found, which in self._troubles if found == kind]

    def alarms(self) -> Iterable[Alarm]:
        """Return the alerts that are on."""
        return [t.alarm for t in self._troubles.values() if t.alarm.level is not None]

    def save(self) -> bytes:
        """Return all troubles with their episodes; one that nobody was told of yet begins anew."""
        return json.dumps(
            [
                {
                    **trouble.alarm.save(),
                    "kind": kind,
                    "which": which,
                    "why": trouble.why,
                    "over_at": trouble.over_at,
                }
                for (kind, which), trouble in self._troubles.items()
            ],
            separators=(",", ":"),
        ).encode()

    def load(self, data: bytes) -> None:
        """Take back what `save` returned; a kind that is not known any more is left out."""
        for saved in json.loads(data):
            kind, which = saved["kind"], saved["which"]
            if kind not in get_args(Kind):
                continue
            trouble = self._troubles[kind, which] = Trouble(_alarm(kind, which), saved["why"])
            trouble.alarm.load(saved)
            trouble.alarm.about = About.load(saved["about"])
            trouble.over_at = saved["over_at"]

    def _change(self, trouble: Trouble, at: int, level: Severity | None, reason: str) -> Transition:
        alarm = trouble.alarm
        alarm.about = alarm.about._replace(about=trouble.why, notify=self._told_of(alarm))
        return alarm.change(at, level, reason)

    def _told_of(self, alarm: Alarm) -> Notify:
        """Return who hears of it: never a notifier of itself."""
        names = tuple(name for name in self._notify if not concerns(name, alarm.rule, alarm.labels))
        return ((self._severity, names),) if names else ()


def concerns(notifier: str, rule: str, labels: Labels) -> bool:
    """Say whether the alert is about that *notifier*, which therefore cannot tell of it.

    >>> concerns("mail", "internal/notifier", (("notifier", "mail"),))
    True
    """
    return rule == f"{PREFIX}notifier" and labels == (("notifier", notifier),)


def _alarm(kind: Kind, which: str) -> Alarm:
    labels: Labels = ((kind, which),) if which else ()
    return Alarm(f"{PREFIX}{kind}", labels, About("", "", "", "", "", ()), 0)
