"""When somebody is reminded of what he knows already, and until when it is too soon for more."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from hushd.core.readings import SECOND
from hushd.core.reconcile import Habit, Told, heard, reminder
from hushd.core.rules import Manner
from hushd.runtime.agenda import Agenda
from hushd.runtime.deeds import Item, Waiting
from hushd.runtime.desk import Desk
from hushd.runtime.wishes import Alert

CLEARING = 10 * SECOND  # how often to look whether what was about to be over still is

NO_HABIT = Habit()


class Reminders:
    """What time alone makes of what one notifier knows.

    People are reminded as often as the rule says: not while the alert is about to be over, and
    no more once somebody minds it.  A machine that forgets is told again and again what is on,
    whatever holds messages back from people: that is no news, and the end of a silence is.
    """

    def __init__(self, manner: Manner, habits: Mapping[str, Habit], desk: Desk) -> None:
        self._desk = desk
        self._repeats = Agenda()
        self._refreshes = Agenda()
        self._cooldowns = Agenda()
        self._ripe: dict[Alert, Waiting | None] = {}  # of what people are to be reminded now
        self._sent: dict[Alert, int] = {}  # when a machine was last told
        self._began: int | None = None
        self._inherited: set[Alert] = set()  # what another process told last
        self.follow(manner, habits)

    def follow(self, manner: Manner, habits: Mapping[str, Habit]) -> None:
        """Go by other habits; then `arrange` is due for all that is known."""
        self._manner = manner
        self._habits = habits

    def inherit(self, alerts: Iterable[Alert]) -> None:
        """Take note that another process has told of these."""
        self._inherited.update(alerts)

    def habit(self, alert: Alert) -> Habit:
        """Return how the alerts of its rule are told."""
        return self._habits.get(alert[0], NO_HABIT)

    def matters(self, alert: Alert) -> bool:
        """Say whether what was told of it may be told again."""
        return bool(self._manner.refresh or self.habit(alert).repeat)

    def learn(self, alert: Alert, told: Told | None, now: int | None = None) -> None:
        """Take note of what is known; *now*: it was just told."""
        self._ripe.pop(alert, None)
        self._inherited.discard(alert)
        if told is None or told.level is None:
            self._sent.pop(alert, None)
        elif now is not None:
            self._sent[alert] = now
        self.arrange(alert, told)

    def arrange(self, alert: Alert, told: Told | None) -> None:
        """Look at an alert again when it is time."""
        repeat = refresh = cooled = None
        if told is not None and told.last is not None and told.level is not None:
            repeat = reminder(told, self.habit(alert).repeat)
            if self._manner.refresh:
                refresh = self._sent.get(alert, told.at) + self._manner.refresh
        if told is not None and told.cleared is not None:
            cooled = told.cleared + self.habit(alert).cooldown
        self._repeats.set(alert, repeat)
        self._refreshes.set(alert, refresh)
        self._cooldowns.set(alert, cooled)

    def cooled(self, now: int) -> list[Alert]:
        """Return whose cooldown is over."""
        return self._cooldowns.due(now)

    def look(self, now: int) -> None:
        """Note of what people are to be reminded from now on."""
        self._began = now if self._began is None else self._began
        self._ripe.update((alert, None) for alert in self._repeats.due(now))

    def repeats(
        self, now: int, told: Mapping[Alert, Told], busy: Callable[[Alert], bool]
    ) -> Iterator[Item]:
        """Yield of what people are to be reminded; not what is *busy*: there is news of it."""
        for alert in list(self._ripe):
            item = None if busy(alert) else self._repeat(alert, told.get(alert), now)
            if item is None:
                del self._ripe[alert]
            else:
                yield item

    def _repeat(self, alert: Alert, told: Told | None, now: int) -> Item | None:
        at = None if told is None else reminder(told, self.habit(alert).repeat)
        if told is None or told.last is None or at is None:
            return None
        if self._desk.acknowledged(alert, told.episode):
            return None
        hold = self._desk.hold(self._manner, alert, told.level, now)
        if at > now or hold is not None:
            self._repeats.set(alert, at if hold is None else hold.until)
        elif self._desk.clearing(alert):
            self._repeats.set(alert, now + CLEARING)
        else:
            # what was due before the process began, the one before it may have been at
            unsure = alert in self._inherited and at <= (self._began or 0)
            waiting = self._ripe[alert] or Waiting(told.last, now, unsure=unsure)
            self._ripe[alert] = waiting
            known = heard(told, "repeat", told.episode, told.level, now)
            return Item(waiting, "repeat", told.level, known)
        return None

    def refresh(self, now: int, told: Mapping[Alert, Told]) -> Item | None:
        """Return of what a machine is to be reminded."""
        for alert in self._refreshes.due(now):
            known = told.get(alert)
            if known is not None and known.last is not None and known.level is not None:
                self._refreshes.set(alert, now)  # until it was told
                return Item(Waiting(known.last, now), "repeat", known.level, known, counts=False)
        return None

    def deadline(self) -> int | None:
        """Return when there may be something that there was not at the last `look`."""
        agendas = (self._repeats, self._refreshes, self._cooldowns)
        return min((at for a in agendas if (at := a.first()) is not None), default=None)
