"""Who hears of what, and the workers that tell them: none waits for another."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import tzinfo
from typing import Any

from hushd.config.records import Message
from hushd.core.mutes import Ack, Mute
from hushd.core.reconcile import Habit
from hushd.core.rules import Rule, Severity
from hushd.core.schedules import Calendar
from hushd.core.transitions import Transition
from hushd.plugin.records import Context, Publish, no_broker
from hushd.runtime import routing
from hushd.runtime.deeds import Waiting
from hushd.runtime.desk import Desk
from hushd.runtime.logs import Log
from hushd.runtime.notes import Current
from hushd.runtime.steady import Steady
from hushd.runtime.store import Alert, Letter, Store
from hushd.runtime.ways import Patience, Way
from hushd.runtime.worker import Worker
from hushd.runtime.writer import Writer

__all__ = ["Delivery", "Patience", "Way"]


class Delivery:
    """All workers, and who hears of what."""

    def __init__(
        self,
        ways: Sequence[Way],
        rules: Sequence[Rule],
        store: Store,
        log: Log,
        *,
        site: str = "",
        node: str = "",
        zone: tzinfo | None = None,
        messages: Mapping[str, Message] | None = None,
        patience: Patience | None = None,
        say: Callable[..., None] | None = None,
        publish: Publish = no_broker,
        calendar: Calendar | None = None,
        standing: Iterable[tuple[Alert, Severity | None]] = (),
        current: Callable[[Alert], Current | None] = lambda _: None,
    ) -> None:
        """Begin to tell what waits in the store.

        Args:
            ways: The notifiers.
            rules: All rules.
            store: Keeps what is told.
            log: Where to report.
            site: The name of the place.
            node: The name of this machine.
            zone: Where times are told.
            messages: The words of those rules that have their own.
            patience: How long to try.
            say: What a notifier logs with.
            publish: What it publishes with.
            calendar: The schedules of quiet hours.
            standing: How alerts stand, for those that hold others back.
            current: Says how an alert stands of which people are reminded; called by any thread.
        """
        self._current = current
        self._clock = Steady()
        self._desk = Desk(ahead=self._clock.ahead, clearing=self._clearing)
        self._patience = patience or Patience()
        self._publish = publish
        self._store = store
        self._log = log
        self._say = say or log.warning
        self._every: dict[str, frozenset[str]] = {}
        self._workers: dict[str, Worker] = {}
        self._leaving: list[Worker] = []
        # before anybody works: what is held back must not be told
        self._desk.stand(standing)
        self._desk.announce(store.mutes(), store.acks())
        self._node = node
        self.change(ways, rules, site=site, zone=zone, messages=messages, calendar=calendar)

    def change(
        self,
        ways: Sequence[Way],
        rules: Sequence[Rule],
        *,
        site: str,
        zone: tzinfo | None,
        messages: Mapping[str, Message] | None = None,
        calendar: Calendar | None = None,
    ) -> None:
        """Go on with other notifiers, rules, or another place.

        A notifier that keeps its name keeps what waits for it and what it was told.  One
        that is not among *ways* any more still hears of everything until `let_go`.
        """
        self._desk.change(calendar, rules)
        writer = Writer(
            site=site,
            node=self._node,
            zone=zone,
            rules=rules,
            messages=messages,
            warn=self._log.warning,
        )
        habits = {rule.name: Habit(rule.repeat, rule.cooldown) for rule in rules}
        for way in ways:
            context = Context(way.name, site, self._say, self._publish)
            worker = self._workers.get(way.name) or self._brought_back(way.name)
            if worker is None:
                worker = Worker(
                    way,
                    context,
                    self._store,
                    writer,
                    self._patience,
                    self._log,
                    clock=self._clock,
                    desk=self._desk,
                    habits=habits,
                    hand_on=self._hand_on,
                    current=self._current,
                )
            else:
                worker.change(way, context, writer, habits)
            self._workers[way.name] = worker
        self._wanted = {way.name for way in ways}
        self._every = {
            way.name: routing.followed_by(way.name, rules) for way in ways if way.how.every
        }

    def let_go(self) -> None:
        """Part with the notifiers that are wanted no more, once they told what they can."""
        for name in self._workers.keys() - self._wanted:
            worker = self._workers.pop(name)
            worker.close()
            self._leaving.append(worker)

    def state(self) -> dict[str, dict[str, Any]]:
        """Return how each notifier fares."""
        return {name: worker.state() for name, worker in self._workers.items()}

    def announce(self, mutes: Sequence[Mute], acks: Sequence[Ack]) -> None:
        """Hold back what people asked not to hear, remind nobody of what somebody minds."""
        self._desk.announce(mutes, acks)
        self._wake()

    def letters(self, transitions: Sequence[Transition]) -> list[Letter]:
        """Return who is to be told of what, for the store to keep before anybody is."""
        if self._desk.note(transitions):
            self._wake()
        return routing.letters(transitions, self._workers, self._every)

    def tell(self, letters: Sequence[Letter], rows: Sequence[int]) -> None:
        """Hand on what `letters` said, with the row of each in the store; never waits."""
        parts: dict[str, list[tuple[Transition, int]]] = {}
        for (name, transition), row in zip(letters, rows, strict=True):
            parts.setdefault(name, []).append((transition, row))
        for name, part in parts.items():
            self._workers[name].add(part)

    def rekeep(self, *, adopt: bool = False) -> None:
        """Let the store, which had failed, keep all that waits and all that is known.

        Args:
            adopt: What waits in the store, and is not known here, is told, too.
        """
        for worker in (*self._workers.values(), *self._leaving):
            worker.rekeep(adopt=adopt)

    def watch(self) -> None:
        """Look after the workers; called by the loop now and then."""
        if self._desk.watch():
            self._wake()
        for worker in self._workers.values():
            worker.watch()
        for worker in [worker for worker in self._leaving if worker.gone]:
            self._leaving.remove(worker)
            self._part(worker, time.monotonic())

    def close(self, timeout: float = 5.0) -> None:
        """Let the workers tell what they can within *timeout* seconds, all at once, and end."""
        workers = [*self._workers.values(), *self._leaving]
        for worker in workers:
            worker.close()
        deadline = time.monotonic() + timeout
        for worker in workers:
            self._part(worker, deadline)

    def _clearing(self, alert: Alert) -> bool:
        """Say whether an alert is about to be over."""
        current = self._current(alert)
        return current is not None and current.clearing

    def _wake(self) -> None:
        for worker in (*self._workers.values(), *self._leaving):
            worker.wake()

    def _hand_on(self, name: str, waiting: Waiting) -> None:
        """Let a notifier tell what another gave up; called by the other's thread."""
        worker = self._workers.get(name)
        if worker is not None:
            worker.take([waiting])

    def _brought_back(self, name: str) -> Worker | None:
        """Return the worker of a notifier that had been taken out and is not gone yet."""
        for worker in self._leaving:
            if worker.name == name:
                self._leaving.remove(worker)
                worker.reopen()
                return worker
        return None

    def _part(self, worker: Worker, deadline: float) -> None:
        """Wait until a worker has ended, or the time is up; say what it leaves."""
        left = worker.join(deadline)
        if left.lost:
            self._log.error(
                "notifier.left_untold",
                notifier=worker.name,
                transitions=left.lost,
                hint="they are lost: nothing keeps them",
            )
        if left.kept:
            self._log.warning(
                "notifier.left_untold",
                notifier=worker.name,
                transitions=left.kept,
                hint="they are kept, and told when hushd runs again",
            )
