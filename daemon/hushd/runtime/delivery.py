"""Telling people: one worker thread for each notifier, so that none waits for another."""

import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any

from hushd.core import internal
from hushd.core.rules import Rule
from hushd.core.transitions import Transition
from hushd.plugin.records import (
    Context,
    Note,
    Notifier,
    NotifierType,
    Publish,
    RefusedError,
    no_broker,
)
from hushd.runtime import notes
from hushd.runtime.errands import Errand, Errands
from hushd.runtime.logs import Log
from hushd.runtime.store import Store
from hushd.runtime.veil import spoken


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to try; in seconds."""

    send: float = 60.0  # one delivery; a worker that takes longer is replaced
    first: float = 5.0  # pause after a failure; doubles with each
    longest: float = 300.0
    refused: float = 3600.0  # pause after a refusal, unless there is something new to tell
    give_up: float = 86_400.0  # after the first failure of the same errand
    late: float = 120.0  # what waited longer is told as late
    replaced: int = 3  # hung threads an hour; each may stay in memory until the process ends


@dataclass(frozen=True, slots=True)
class Way:
    """A configured notifier: its name, its type and the options for it."""

    name: str
    type: NotifierType
    options: Mapping[str, Any]
    secrets: tuple[str, ...] = ()  # not to be shown, whoever speaks of them


class Worker:
    """Runs the errands of one notifier in a thread of its own.

    A thread cannot be ended from outside.  One that hangs in a plugin is therefore
    abandoned and replaced, with a notifier opened anew: ``_generation`` tells the old one,
    should it ever come back, that nobody waits for it.
    """

    def __init__(
        self,
        way: Way,
        context: Context,
        store: Store,
        zone: tzinfo | None,
        patience: Patience,
        log: Log,
    ) -> None:
        self.name = way.name
        self._way = way
        self._context = context
        self._store = store
        self._zone = zone
        self._patience = patience
        self._log = log
        self._errands = Errands(way.name, store.told(way.name), every=way.type.every)
        self._changed = threading.Condition()
        self._closing = False
        self._generation = 0
        self._busy_since: float | None = None
        self._replaced: list[float] = []
        self._failures = 0  # in a row
        self._refusals = 0  # likewise
        self._failing_since = 0.0
        self._news = False  # something was added since the last attempt
        self._changed_way = False
        self._told_at: int | None = None  # wall time of the last success, ns
        self._failed_at: int | None = None
        self._error = ""  # of the last failure
        self._thread = self._start()

    def add(self, transitions: Iterable[Transition]) -> None:
        """Add what has just happened."""
        with self._changed:
            for transition in transitions:
                self._errands.add(transition, time.monotonic())
            self._news = True
            self._changed.notify_all()

    def change(self, way: Way, context: Context, zone: tzinfo | None) -> None:
        """Go on in another way, with the next delivery; what waits and was told stays."""
        with self._changed:
            self._zone = zone
            if (way, context.site) == (self._way, self._context.site):
                return
            self._context = context
            self._way = way  # after the context: `_run` reads them the other way round
            self._errands.follow(every=way.type.every)
            self._changed_way = True
            self._changed.notify_all()

    def knows_of(self, transition: Transition) -> bool:
        """Say whether it was told of the alert, and not that all is well again."""
        with self._changed:
            return self._errands.knows_of((transition.rule, transition.labels))

    def state(self) -> dict[str, Any]:
        """Return how it fares."""
        with self._changed:
            since = self._busy_since
            return {
                "type": self._way.type.name,
                "waiting": len(self._errands),
                "told_at": self._told_at,
                "failed_at": self._failed_at,
                "error": self._error,
                "failures": self._failures,
                "given_up": self._errands.given_up,
                "stuck": self._stuck,
                "busy_s": None if since is None else round(time.monotonic() - since, 1),
            }

    @property
    def _stuck(self) -> bool:
        """Say whether its thread hangs or has died; a plugin can do both."""
        if not self._thread.is_alive():
            return not self._closing
        since = self._busy_since
        return since is not None and time.monotonic() - since >= self._patience.send

    def watch(self) -> None:
        """Replace the thread if it hangs or has died, but not for ever."""
        with self._changed:
            if not self._stuck:
                return
            now, died = time.monotonic(), not self._thread.is_alive()
            self._replaced = [at for at in self._replaced if now - at < 3600]
            if len(self._replaced) >= self._patience.replaced:
                return
            self._replaced.append(now)
            self._generation += 1
            self._busy_since = None
            self._errands.failed()
            self._thread = self._start()
        if died:
            self._log.error("notifier.died", notifier=self.name, hint="it began anew")
        else:
            self._log.error("notifier.hung", notifier=self.name, deadline_s=self._patience.send)

    def close(self) -> None:
        """Ask the thread to end once it has told what it can."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()

    def join(self, deadline: float) -> int:
        """Wait for the thread until *deadline*; return how many transitions were not told."""
        self._thread.join(max(0.0, deadline - time.monotonic()))
        with self._changed:
            return len(self._errands)

    def _start(self) -> threading.Thread:
        thread = threading.Thread(
            target=self._run, args=(self._generation,), name=f"notify-{self.name}", daemon=True
        )
        thread.start()
        return thread

    def _run(self, generation: int) -> None:
        """Tell what there is to tell until closed or replaced."""
        notifier: Notifier | None = None
        opened: Way | None = None
        while True:
            errand = self._next(generation)
            if errand is None:
                break
            way = self._way
            if way is not opened:
                self._let_go(notifier)
                notifier, opened = None, way
            try:
                if notifier is None:
                    notifier = way.type.open(way.options, self._context)
                notifier.send(self._note(errand))
            except BaseException as exc:  # noqa: BLE001  it is the plugin's, be it SystemExit
                if not self._failed(generation, errand, exc):
                    break
            else:
                if not self._succeeded(generation, errand):
                    break
        self._let_go(notifier)

    def _note(self, errand: Errand) -> Note:
        """Return what to tell, as things stand now."""
        key = f"{errand.transition.id}-{self.name}"
        note = notes.write(errand.transition, errand.kind, errand.severity, key, self._zone)
        waited = time.monotonic() - errand.since
        if waited < self._patience.late or self._way.type.every:
            return note
        now = time.time_ns()  # by the wall: the clock of the engine may be that of a recording
        return notes.late(note, now - round(waited * 10**9), now, self._zone)

    def _next(self, generation: int) -> Errand | None:
        """Wait for something to tell; None: it is time to end."""
        with self._changed:
            while generation == self._generation:
                errand = self._errands.next()
                if errand is not None:
                    self._busy_since = time.monotonic()
                    self._changed_way = self._news = False
                    return errand
                if self._closing:
                    return None
                self._changed.wait()
            return None

    def _succeeded(self, generation: int, errand: Errand) -> bool:
        with self._changed:
            if generation != self._generation:
                return False
            self._busy_since = None
            self._failures = self._refusals = 0
            self._told_at = time.time_ns()
            self._errands.done(errand)
        self._store.settle(self.name, (), (errand.alert, errand.told))
        self._log.debug(
            "notifier.told", notifier=self.name, kind=errand.kind, rule=errand.transition.rule
        )
        return True

    def _failed(self, generation: int, errand: Errand, exc: BaseException) -> bool:
        """Take note of a failure and pause; False: it is time to end."""
        with self._changed:
            if generation != self._generation:
                return False
            refused = isinstance(exc, RefusedError)
            self._busy_since = None
            if not self._failures:
                self._failing_since = time.monotonic()
            self._failures += 1
            self._refusals = self._refusals + 1 if refused else 0
            self._failed_at = time.time_ns()
            self._error = self._veiled(exc)
            pause = self._pause()
            self._complain(pause, refused=refused)
            if time.monotonic() - self._failing_since >= self._patience.give_up:
                self._failures = self._refusals = 0
                self._errands.give_up(errand)
                self._log.error(
                    "notifier.given_up",
                    notifier=self.name,
                    rule=errand.transition.rule,
                    key=errand.transition.id,
                )
                return not self._closing
            if self._closing:  # each thing is tried once more at the end, and no more
                self._errands.failed()
                return False
            self._rest(generation, pause)
            # after the pause: what happened meanwhile counts too.  What was refused, or is more
            # than the plugin can take, goes to the end: one odd note must not hold up all others
            odd = refused or not isinstance(exc, OSError)
            self._errands.failed(last=errand if odd else None)
            if refused and self._refusals >= len(self._errands):
                self._rest(generation, self._patience.refused, until_news=True)
                self._errands.failed()
            return generation == self._generation

    def _pause(self) -> float:
        """Return how long to wait: up to twice as long each time, so that no two keep step."""
        longest = self._patience.first * 2 ** min(self._failures - 1, 30)
        return random.uniform(0, min(longest, self._patience.longest))  # noqa: S311  no secret

    def _rest(self, generation: int, seconds: float, *, until_news: bool = False) -> None:
        self._changed.wait_for(
            lambda: (
                self._closing
                or self._changed_way
                or generation != self._generation
                or (until_news and self._news)
            ),
            timeout=seconds,
        )

    def _complain(self, pause: float, *, refused: bool) -> None:
        """Log a failure; a refusal is for a person to put right."""
        if refused:
            self._log.error(
                "notifier.refused",
                notifier=self.name,
                error=self._error,
                failures=self._failures,
                hint=f"hushd notify-test {self.name} tries it at once",
            )
        else:
            self._log.warning(
                "notifier.failed",
                notifier=self.name,
                error=self._error,
                failures=self._failures,
                retry_s=round(pause, 1),
            )

    def _veiled(self, exc: BaseException) -> str:
        return spoken(exc, self._way.secrets)

    def _let_go(self, notifier: Notifier | None) -> None:
        if notifier is None:
            return
        try:
            notifier.close()
        except BaseException as exc:  # noqa: BLE001  it is the plugin's, be it SystemExit
            self._log.warning("notifier.failed", notifier=self.name, error=self._veiled(exc))


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
        zone: tzinfo | None = None,
        patience: Patience | None = None,
        say: Callable[..., None] | None = None,
        publish: Publish = no_broker,
    ) -> None:
        self._patience = patience or Patience()
        self._publish = publish
        self._store = store
        self._log = log
        self._say = say or log.warning
        self._every: dict[str, frozenset[str]] = {}
        self._workers: dict[str, Worker] = {}
        self._leaving: list[Worker] = []
        self.change(ways, rules, site=site, zone=zone)

    def change(
        self, ways: Sequence[Way], rules: Sequence[Rule], *, site: str, zone: tzinfo | None
    ) -> None:
        """Go on with other notifiers, rules, or another place.

        A notifier that keeps its name keeps what waits for it and what it was told.  One
        that is not among *ways* any more still hears of everything until `let_go`.
        """
        for way in ways:
            context = Context(way.name, site, self._say, self._publish)
            worker = self._workers.get(way.name)
            if worker is None:
                self._workers[way.name] = Worker(
                    way, context, self._store, zone, self._patience, self._log
                )
            else:
                worker.change(way, context, zone)
        self._wanted = {way.name for way in ways}
        self._every = {way.name: _followed(way.name, rules) for way in ways if way.type.every}

    def let_go(self) -> None:
        """Part with the notifiers that are wanted no more, once they told what they can."""
        for name in self._workers.keys() - self._wanted:
            worker = self._workers.pop(name)
            worker.close()
            self._leaving.append(worker)

    def state(self) -> dict[str, dict[str, Any]]:
        """Return how each notifier fares."""
        return {name: worker.state() for name, worker in self._workers.items()}

    def tell(self, transitions: Sequence[Transition]) -> None:
        """Hand to each notifier what concerns it; never waits."""
        for name, worker in self._workers.items():
            followed = self._every.get(name)
            concerned = [
                transition
                for transition in transitions
                if any(name in names for _, names in transition.notify)
                or (followed is not None and _follows(name, followed, transition))
                or (transition.severity is None and worker.knows_of(transition))
            ]
            if concerned:
                worker.add(concerned)

    def watch(self) -> None:
        """Look after the workers; called by the loop now and then."""
        for worker in self._workers.values():
            worker.watch()

    def close(self, timeout: float = 5.0) -> None:
        """Let the workers tell what they can within *timeout* seconds, all at once, and end."""
        workers = [*self._workers.values(), *self._leaving]
        for worker in workers:
            worker.close()
        deadline = time.monotonic() + timeout
        for worker in workers:
            left = worker.join(deadline)
            if left:
                self._log.error("notifier.left_untold", notifier=worker.name, transitions=left)


def _follows(notifier: str, followed: frozenset[str], transition: Transition) -> bool:
    """Say whether a journal hears of it: of its rules, and of all troubles but its own."""
    if transition.rule.startswith(internal.PREFIX):
        return not internal.concerns(notifier, transition.rule, transition.labels)
    return transition.rule in followed


def _followed(notifier: str, rules: Sequence[Rule]) -> frozenset[str]:
    """Return the rules whose every transition *notifier* hears of, with the sensors' silence."""
    named = [rule for rule in rules if any(notifier in names for _, names in rule.notify)]
    return frozenset(
        {rule.name for rule in named} | {f"{rule.sensor}{notes.SILENCE}" for rule in named}
    )
