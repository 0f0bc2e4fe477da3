"""What holds messages back, whoever they are for: silences, quiet hours, other alerts.

To hold a message back is to do nothing: what was told stays what it was.  When the hold ends,
it is told how things stand then, if that is anything new.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from hushd.core.internal import PREFIX
from hushd.core.mutes import Ack, Mute
from hushd.core.readings import SECOND, Labels
from hushd.core.reconcile import rank
from hushd.core.rules import Manner, Rule, Severity
from hushd.core.schedules import Calendar
from hushd.core.transitions import Transition
from hushd.runtime.wishes import Alert

STEP = SECOND  # what the wall clock may differ by before all that is held back is looked at anew


class Hold(NamedTuple):
    """Nothing is to be said now."""

    until: int | None  # when to look again; None: not before the desk has changed
    quiet: bool = False  # only because these are the notifier's quiet hours


class Desk:
    """Knows what holds messages back; shared by all threads that tell people.

    Times are those of whoever asks.  Silences and schedules are by the wall clock, which is
    *ahead* of them.

    Attributes:
        version: Changes with everything that may end a hold early.
    """

    def __init__(
        self,
        calendar: Calendar | None = None,
        rules: Sequence[Rule] = (),
        *,
        ahead: Callable[[], int] = lambda: 0,
        clearing: Callable[[Alert], bool] = lambda _: False,
    ) -> None:
        self.version = 0
        self._lock = threading.Lock()
        self._ahead = ahead
        self._was_ahead = ahead()
        self._clearing = clearing
        self._mutes: tuple[Mute, ...] = ()
        self._acks: dict[Alert, int] = {}
        self._on: dict[str, set[frozenset[tuple[str, str]]]] = {}  # rule -> labels of what fires
        self.change(calendar, rules)

    def change(self, calendar: Calendar | None, rules: Sequence[Rule]) -> None:
        """Go by other schedules and rules."""
        with self._lock:
            self._calendar = calendar or Calendar((), ())
            self._mute_while = _mute_while(rules)
            self._masters = {name for names in self._mute_while.values() for name in names}
            self.version += 1

    def announce(self, mutes: Iterable[Mute], acks: Iterable[Ack]) -> None:
        """Go by these silences and acknowledgements, and no others."""
        with self._lock:
            self._mutes = tuple(mutes)
            self._acks = {(ack.rule, ack.labels): ack.episode for ack in acks}
            self.version += 1

    def note(self, transitions: Iterable[Transition]) -> bool:
        """Take note of what changed; True if that may hold others back, or no more."""
        return self.stand(((t.rule, t.labels), t.severity) for t in transitions)

    def stand(self, levels: Iterable[tuple[Alert, Severity | None]]) -> bool:
        """Take note of how alerts stand; True if that may hold others back, or no more."""
        news = False
        with self._lock:
            for (rule, labels), level in levels:
                on, found = self._on.setdefault(rule, set()), frozenset(labels)
                if (level is not None) == (found in on):
                    continue
                news = news or rule in self._masters
                (on.discard if level is None else on.add)(found)
            self.version += news
        return news

    def watch(self) -> bool:
        """Look whether the wall clock was set; True if so."""
        ahead = self._ahead()
        with self._lock:
            if abs(ahead - self._was_ahead) < STEP:
                return False
            self._was_ahead = ahead
            self.version += 1
            return True

    # -- asked by those who tell -------------------------------------------------------

    def hold(self, manner: Manner, alert: Alert, want: Severity | None, now: int) -> Hold | None:
        """Say whether *want* is to be held back from a notifier, and for how long."""
        rule, labels = alert
        with self._lock:
            wall = now + self._ahead()
            ends = [m.ends for m in self._mutes if m.covers(rule, labels) and m.begins <= wall]
            if ends and max(ends) > wall:
                return Hold(now + max(ends) - wall)
            if self._overshadowed(rule, labels):
                return Hold(None)
            return self._quiet(manner, want, now, wall)

    def quiet(self, manner: Manner, want: Severity | None, now: int) -> Hold | None:
        """Say whether these are the quiet hours of a notifier."""
        with self._lock:
            return self._quiet(manner, want, now, now + self._ahead())

    def acknowledged(self, alert: Alert, episode: int) -> bool:
        """Say whether somebody minds it."""
        with self._lock:
            return self._acks.get(alert) == episode

    def clearing(self, alert: Alert) -> bool:
        """Say whether it is about to be over."""
        return self._clearing(alert)

    def _overshadowed(self, rule: str, labels: Labels) -> bool:
        """Say whether an alert is on that explains this one, and is of the same place."""
        if rule.startswith(PREFIX):
            return False
        ours = frozenset(labels)
        masters = self._mute_while.get(rule, ())
        return any(theirs <= ours for master in masters for theirs in self._on.get(master, ()))

    def _quiet(self, manner: Manner, want: Severity | None, now: int, wall: int) -> Hold | None:
        if manner.quiet is None:
            return None
        if manner.quiet_except is not None and rank(want) >= rank(manner.quiet_except):
            return None
        try:
            timetable = self._calendar.during(manner.quiet)
        except KeyError:  # the configuration was read again, and the notifier is about to change
            return None
        if not timetable.at(wall):
            return None
        ends = timetable.until(wall)
        return Hold(None if ends is None else now + ends - wall, quiet=True)


def _mute_while(rules: Sequence[Rule]) -> Mapping[str, tuple[str, ...]]:
    """Return what holds back the alerts of each rule, and of the silence of each sensor.

    That a sensor is silent several rules may say: what holds back all of them holds that back.
    """
    found = {rule.name: rule.mute_while for rule in rules if rule.mute_while}
    for sensor in {sensor for rule in rules for sensor in rule.sensors}:
        watching = [rule for rule in rules if sensor in rule.sensors and rule.no_data is not None]
        if watching and (shared := set.intersection(*(set(x.mute_while) for x in watching))):
            found[f"{sensor}/no-data"] = tuple(sorted(shared))
    return found
