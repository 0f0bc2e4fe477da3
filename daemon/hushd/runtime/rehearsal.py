"""A daemon without a world: readings in, what changed and what people are told out.

The engine, who hears of what, what holds messages back and the words are those of the daemon
that runs; only the clock is virtual, the store and the threads are left out, and every message
arrives at once.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hushd.config.records import Config, NotifierConfig
from hushd.core.alerts import Alert
from hushd.core.engine import Engine
from hushd.core.mutes import Mute
from hushd.core.readings import SECOND, Labels, Reading
from hushd.core.reconcile import Habit
from hushd.core.schedules import Calendar
from hushd.core.transitions import Evaluation, Transition
from hushd.plugin.records import Note
from hushd.runtime import joining, routing
from hushd.runtime.deeds import Errand, Item, Waiting
from hushd.runtime.desk import Desk
from hushd.runtime.errands import Errands
from hushd.runtime.notes import Current
from hushd.runtime.store import Alert as Which
from hushd.runtime.ways import Patience
from hushd.runtime.writer import Writer

LATE = round(Patience().late * SECOND)


class Said(NamedTuple):
    """What one notifier was told."""

    at: int
    notifier: str
    note: Note
    about: tuple[Which, ...]  # several, where one message tells of them


class Rehearsal:
    """One run; its time never goes back.

    Attributes:
        transitions: What changed, in order.
        said: What was told, in order.
        rejected: How many readings were outside of what their sensor calls valid.
    """

    def __init__(self, config: Config, begin: int, mutes: Iterable[Mute] = ()) -> None:
        """Start at *begin*, with the silences that people will ask for."""
        rules = config.rules
        self.transitions: list[Transition] = []
        self.said: list[Said] = []
        self.rejected = 0
        self._valid = {name: sensor.valid for name, sensor in config.sensors.items()}
        self._seen: dict[Which, Evaluation] = {}
        self._engine = Engine(rules, config.catalog.aggregators)
        self._engine.trace = self._see
        self._desk = Desk(
            Calendar(rules.schedules, rules.holidays), rules.rules, clearing=self._is_clearing
        )
        self._desk.announce(mutes, ())
        self._writer = Writer(
            site=config.site.name,
            zone=config.site.zone,
            rules=rules.rules,
            messages=config.messages,
        )
        habits = {rule.name: Habit(rule.repeat, rule.cooldown) for rule in rules.rules}
        self._notifiers = {
            each.name: _Notifier(each, habits, self._desk) for each in config.notifiers.values()
        }
        self._followed = {
            name: routing.followed_by(name, rules.rules)
            for name, notifier in self._notifiers.items()
            if notifier.every
        }
        self.now = self._done = begin  # up to then all is done that was due
        self._take(self._engine.advance(begin))

    def feed(self, reading: Reading) -> None:
        """Let a reading arrive; what is due at that very instant is still to come."""
        self._pass(reading.arrived, inclusive=False)
        self._done = min(self._done, self.now - 1)
        valid = self._valid[reading.sensor]
        if valid is not None and not valid[0] <= reading.value <= valid[1]:
            self.rejected += 1
            return
        self._take(self._engine.process(reading))

    def advance(self, now: int) -> None:
        """Let time pass until *now*; every reading of then has arrived."""
        self._pass(now, inclusive=True)
        self._done = now
        self._take(self._engine.advance(now))

    def alert(self, rule: str, labels: Labels) -> Alert | None:
        """Return an alert, to look at; None: nothing was heard of it yet."""
        return next(
            (a for a in self._engine.alerts() if (a.rule, a.labels) == (rule, labels)), None
        )

    def labels(self, rule: str) -> list[Labels]:
        """Return the labels of all alerts that a rule has."""
        return [alert.labels for alert in self._engine.alerts() if alert.rule == rule]

    def value(self, rule: str, labels: Labels) -> float | None:
        """Return what a window said when it was last looked at, judged or not."""
        seen = self._seen.get((rule, labels))
        return None if seen is None else seen.value

    def changes(self, rule: str, labels: Labels) -> list[Transition]:
        """Return what changed of one alert."""
        return [t for t in self.transitions if (t.rule, t.labels) == (rule, labels)]

    # -- time --------------------------------------------------------------------------

    def _pass(self, until: int, *, inclusive: bool) -> None:
        """Do all that is due before *until*, in order of time: the engine, then the tellers."""
        while (at := self._due()) is not None and (at < until or (at == until and inclusive)):
            self.now = self._done = at
            self._take(self._engine.advance(at))
        self.now = until

    def _due(self) -> int | None:
        """Return when there is next something to do; who looks too early waits for others."""
        found = [self._engine.deadline(), *(n.due(self.now) for n in self._notifiers.values())]
        times = (max(at, self.now) for at in found if at is not None)
        return min((at for at in times if at > self._done), default=None)

    def _take(self, transitions: Sequence[Transition]) -> None:
        """Take in what changed, and tell what there is to tell."""
        self.transitions += transitions
        self._desk.note(transitions)
        for name, transition in routing.letters(transitions, self._notifiers, self._followed):
            self._notifiers[name].errands.add(Waiting(transition, self.now))
        for name, notifier in self._notifiers.items():
            for errand in notifier.tell(self.now):
                about = tuple(item.waiting.alert for item in errand.items)
                self.said.append(Said(self.now, name, self._note(notifier, errand), about))

    def _note(self, notifier: "_Notifier", errand: Errand) -> Note:
        return joining.join([self._part(notifier, item) for item in errand.items])

    def _part(self, notifier: "_Notifier", item: Item) -> Note:
        since, late = item.waiting.since, None
        if self.now - since >= LATE and not notifier.every:
            late = (since, self.now)
        current = self._stands(item.waiting.alert)
        return joining.part(
            item, notifier.name, self._writer, now=self.now, current=current, late=late
        )

    # -- asked by those who tell -------------------------------------------------------

    def _see(self, evaluation: Evaluation) -> None:
        self._seen[evaluation.rule, evaluation.labels] = evaluation

    def _stands(self, which: Which) -> Current | None:
        alert = self.alert(*which)
        if alert is None or alert.level is None:
            return None
        return Current(alert.last, alert.peak, alert.state.startswith("clearing"))

    def _is_clearing(self, which: Which) -> bool:
        current = self._stands(which)
        return current is not None and current.clearing


class _Notifier:
    """Tells at once whatever there is to tell."""

    def __init__(self, config: NotifierConfig, habits: dict[str, Habit], desk: Desk) -> None:
        self.name = config.name
        self.every = config.manner.every
        self.errands = Errands(config.name, {}, manner=config.manner, habits=habits, desk=desk)

    def knows_of(self, transition: Transition) -> bool:
        """Say whether it knows of the alert, or may soon."""
        return self.errands.knows_of((transition.rule, transition.labels))

    def due(self, now: int) -> int | None:
        """Return when it may have something to tell."""
        return self.errands.deadline(now)

    def tell(self, now: int) -> list[Errand]:
        """Return what is told now."""
        told = []
        while (errand := self.errands.next(now)) is not None:
            told.append(errand)
            self.errands.done(errand, now)
        self.errands.deeds()  # for a store, and there is none
        return told
