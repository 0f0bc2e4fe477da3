"""One notifier at work, in a thread of its own: claim, send, settle.

Before each attempt the store keeps that it begins, afterwards what came of it.  Should the
process end in between, nobody knows whether the note arrived: it is told again, and says so.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from hushd.core.readings import SECOND
from hushd.core.reconcile import Habit
from hushd.core.transitions import Transition
from hushd.plugin.records import Context, Note, Notifier, RefusedError
from hushd.runtime import heritage, joining
from hushd.runtime.desk import Desk
from hushd.runtime.errands import Buried, Deed, Errand, Errands, Item, Settled, Waiting
from hushd.runtime.fortune import DEFINITE, Fortune
from hushd.runtime.logs import Log
from hushd.runtime.notes import Current
from hushd.runtime.steady import Steady
from hushd.runtime.store import NOWHERE, Alert, Owed, Store
from hushd.runtime.veil import spoken
from hushd.runtime.ways import Patience, Way
from hushd.runtime.writer import Writer

LONGEST = 3600.0  # seconds to wait at once, whatever is due


#: Hands what is given up to the notifier of that name; it waits there from then on.
HandOn = Callable[[str, Waiting], None]


class Left(NamedTuple):
    """How much a worker could not tell before it had to end."""

    kept: int = 0  # waits in the store's outbox
    lost: int = 0


class Worker:
    """Runs the errands of one notifier.

    A thread cannot be ended from outside.  One that hangs in a plugin is therefore
    abandoned and replaced, with a notifier opened anew: ``_generation`` tells the old one,
    should it ever come back, that nobody waits for it.

    The store may wait for a disk, so it is never called under the lock, with one exception:
    `rekeep`.  It is safe because a store never calls a worker.
    """

    def __init__(
        self,
        way: Way,
        context: Context,
        store: Store,
        writer: Writer,
        patience: Patience,
        log: Log,
        *,
        clock: Steady,
        desk: Desk,
        habits: Mapping[str, Habit],
        hand_on: HandOn,
        current: Callable[[Alert], Current | None],
    ) -> None:
        self.name = way.name
        self._way = way
        self._context = context
        self._store = store
        self._writer = writer
        self._patience = patience
        self._log = log
        self._clock = clock
        self._hand_on = hand_on
        self._current_of = current
        self._errands = Errands(
            way.name,
            heritage.told(store, way.name, clock()),
            heritage.waiting(store, way.name, clock()),
            manner=way.how,
            habits=habits,
            desk=desk,
        )
        self._changed = threading.Condition()
        self._closing = False
        self._generation = 0
        self._current: frozenset[Waiting] = frozenset()  # what is being told
        self._busy_since: float | None = None  # the plugin is at it
        self._replaced: list[float] = []
        self._fortune = Fortune(patience)
        self._began = time.monotonic()
        self._news = False  # something was added since the last attempt
        self._changed_way = False
        self._complained = False  # that there is no thread to be had
        self._thread = self._start()

    # -- called by the loop ------------------------------------------------------------

    def add(self, happened: Iterable[tuple[Transition, int]]) -> None:
        """Add what has just happened, each with its row."""
        now = self._clock()
        self.take(Waiting(transition, now, row) for transition, row in happened)

    def take(self, waiting: Iterable[Waiting]) -> None:
        """Add what is to be told."""
        with self._changed:
            for one in waiting:
                self._errands.add(one)
            self._news = True
            self._changed.notify_all()

    def wake(self) -> None:
        """Look what is held back no more."""
        with self._changed:
            self._errands.look(self._clock())
            self._changed.notify_all()

    def change(
        self, way: Way, context: Context, writer: Writer, habits: Mapping[str, Habit]
    ) -> None:
        """Go on in another way, with the next delivery; what waits and was told stays."""
        with self._changed:
            self._writer = writer
            self._errands.follow(way.how, habits)
            self._changed.notify_all()
            if (way, context.site) == (self._way, self._context.site):
                return
            self._context = context
            self._way = way  # after the context: `_run` reads them the other way round
            self._changed_way = True
            self._changed.notify_all()

    def knows_of(self, transition: Transition) -> bool:
        """Say whether it knows of the alert, or may soon, and not that all is well again."""
        with self._changed:
            return self._errands.knows_of((transition.rule, transition.labels))

    def rekeep(self, *, adopt: bool = False) -> None:
        """Let the store, which had failed, keep all that waits and all that is known.

        Args:
            adopt: Take on first what is in the store, which another process has left there.

        The only place where the store is called under the lock: between the two, nothing
        may begin to wait or be settled.
        """
        with self._changed:
            if adopt:
                now = self._clock()
                self._errands.adopt(
                    heritage.told(self._store, self.name, now),
                    heritage.waiting(self._store, self.name, now),
                )
                self._changed.notify_all()
            letters = [
                Owed(
                    waiting.transition,
                    self._clock.on_the_wall(waiting.since),
                    waiting.unsure or waiting in self._current,
                    waiting.instead,
                )
                for waiting in self._errands.open
            ]
            self._errands.kept(self._store.keep(self.name, letters, self._errands.told))

    def state(self) -> dict[str, Any]:
        """Return how it fares."""
        with self._changed:
            since = self._busy_since
            return {
                "type": self._way.type.name,
                "waiting": len(self._errands),
                "held": self._errands.held,
                "given_up": self._errands.given_up,
                **self._fortune.state(),
                "stuck": self._stuck,
                "busy_s": None if since is None else round(time.monotonic() - since, 1),
            }

    @property
    def gone(self) -> bool:
        """Say whether nothing more is to be expected of it once it was closed."""
        with self._changed:
            return not self._thread.is_alive() or self._hangs

    @property
    def _stuck(self) -> bool:
        """Say whether its thread hangs or has died; a plugin can do both."""
        if not self._thread.is_alive():
            return not self._closing
        return self._hangs

    @property
    def _hangs(self) -> bool:
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
            for waiting in self._current:
                waiting.unsure = True
            self._current, self._busy_since = frozenset(), None
            self._generation += 1
            self._errands.failed(self._clock())
            self._thread = self._start()
            if self._complained:  # tried again at the next look
                return
            self._replaced.append(now)
        if died:
            self._log.error("notifier.died", notifier=self.name, hint="it began anew")
        else:
            self._log.error("notifier.hung", notifier=self.name, deadline_s=self._patience.send)

    def close(self) -> None:
        """Ask the thread to end once it has told what it can."""
        with self._changed:
            self._closing = True
            self._errands.hurry()
            self._changed.notify_all()

    def reopen(self) -> None:
        """Go on after all; a thread that is ending just now is replaced by ``watch``."""
        with self._changed:
            self._closing = False
            self._errands.hurry(hurry=False)
            if not self._thread.is_alive():
                self._generation += 1
                self._thread = self._start()

    def join(self, deadline: float) -> Left:
        """Wait for the thread until *deadline*; return how much was not told."""
        if self._thread.is_alive():
            self._thread.join(max(0.0, deadline - time.monotonic()))
        with self._changed:
            lost = sum(waiting.row == NOWHERE for waiting in self._errands.waiting)
            return Left(len(self._errands) - lost, lost)

    # -- the thread --------------------------------------------------------------------

    def _start(self) -> threading.Thread:
        """Return the thread, which could not be started where there are too many."""
        thread = threading.Thread(
            target=self._run, args=(self._generation,), name=f"notify-{self.name}", daemon=True
        )
        try:
            thread.start()
        except RuntimeError as exc:
            if not self._complained:
                self._log.error("notifier.not_started", notifier=self.name, error=str(exc))
            self._complained = True
        else:
            self._complained = False
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
            begun = False
            try:
                if notifier is None:
                    notifier = way.type.open(way.options, self._context)
                note = self._note(errand)
                begun = True
                notifier.send(note)
            except BaseException as exc:  # noqa: BLE001  it is the plugin's, be it SystemExit
                sure = not begun or isinstance(exc, DEFINITE)
                if not self._failed(generation, errand, exc, sure=sure):
                    break
            else:
                if not self._succeeded(generation, errand):
                    break
        self._let_go(notifier)

    def _note(self, errand: Errand) -> Note:
        """Return what to tell, as things stand now."""
        return joining.join([self._part(item) for item in errand.items])

    def _part(self, item: Item) -> Note:
        waiting = item.waiting
        # by the wall: the clock of the engine may be that of a recording
        wall, late = time.time_ns(), None
        age = self._clock() - waiting.since
        if age >= self._patience.late * SECOND and not self._way.how.every:  # as evidence is told
            late = (self._clock.on_the_wall(waiting.since), wall)
        current = self._current_of(waiting.alert)
        return joining.part(item, self.name, self._writer, now=wall, current=current, late=late)

    def _next(self, generation: int) -> Errand | None:
        """Wait for something to tell, and claim it; None: it is time to end."""
        while True:
            with self._changed:
                if generation != self._generation:
                    return None
                now = self._clock()
                errand = self._errands.next(now)
                deeds = self._errands.deeds()
                if errand is None and not deeds:
                    if self._closing:
                        return None
                    due = self._errands.deadline(now)
                    pause = LONGEST if due is None else max(0.0, (due - now) / SECOND)
                    self._changed.wait(min(pause, LONGEST))
                    continue
                if errand is not None:
                    self._current = frozenset(item.waiting for item in errand.items)
                    self._changed_way = self._news = False
            self._keep(deeds)
            if errand is not None and self._claimed(generation, errand):
                return errand

    def _claimed(self, generation: int, errand: Errand) -> bool:
        for item in errand.items:
            if item.waiting.row != NOWHERE:
                self._store.claim(item.waiting.row)
        with self._changed:
            if generation != self._generation:
                return False
            self._busy_since = time.monotonic()  # only now: a slow disk is not the plugin's fault
            return True

    def _keep(self, deeds: Sequence[Deed]) -> None:
        """Let the store keep what was decided."""
        for deed in deeds:
            match deed:
                case Settled(rows, news):
                    self._store.settle(self.name, rows, news)
                case Buried(waiting, error):
                    self._bury(waiting, error)

    def _bury(self, waiting: Waiting, error: str) -> None:
        transition = waiting.transition
        # what another could not tell, and this one cannot either, goes no further
        fallback = "" if waiting.instead else self._way.how.fallback or ""
        row = NOWHERE
        if waiting.row != NOWHERE:
            row = self._store.bury(waiting.row, error, fallback)
        if fallback:
            self._hand_on(fallback, Waiting(transition, self._clock(), row, instead=self.name))
        self._log.error(
            "notifier.given_up",
            notifier=self.name,
            rule=transition.rule,
            key=transition.id,
            error=error,
        )
        with self._changed:
            self._fortune.gave_up(transition, error)

    def _succeeded(self, generation: int, errand: Errand) -> bool:
        with self._changed:
            if generation != self._generation:
                return False
            self._current, self._busy_since = frozenset(), None
            self._fortune.succeeded()
            self._errands.done(errand, self._clock())
            deeds = self._errands.deeds()
        self._keep(deeds)
        self._log.debug(
            "notifier.told", notifier=self.name, kind=errand.kind, rule=errand.transition.rule
        )
        return True

    def _failed(self, generation: int, errand: Errand, exc: BaseException, *, sure: bool) -> bool:
        """Take note of a failure and pause; False: it is time to end."""
        refused = isinstance(exc, RefusedError)
        with self._changed:
            if generation != self._generation:
                return False
            self._current, self._busy_since = frozenset(), None
            for item in errand.items:
                item.waiting.unsure = item.waiting.unsure or not sure
            error = self._veiled(exc)
            pause = self._fortune.failed(exc, error)
            self._complain(pause, refused=refused)
            old = tuple(item for item in errand.items if self._too_old(item))
            if old:
                self._errands.give_up(Errand(old), error)
            deeds = self._errands.deeds()
        self._keep(deeds)
        for item in errand.items:
            if item not in old and item.waiting.row != NOWHERE:
                self._store.postpone(item.waiting.row, unsure=item.waiting.unsure)
        # what was refused, or is more than the plugin can take, goes to the end: one odd note
        # must not hold up all others
        odd = refused or not isinstance(exc, OSError)
        if not self._rested(generation, pause, last=errand if odd else None):
            return False
        with self._changed:
            hopeless = (
                refused
                and not self._closing
                and self._fortune.refusals >= len(self._errands) - self._errands.held
            )
        return not hopeless or self._rested(generation, self._patience.refused, until_news=True)

    def _rested(
        self,
        generation: int,
        seconds: float,
        *,
        last: Errand | None = None,
        until_news: bool = False,
    ) -> bool:
        """Pause, then look how things stand; False: it is time to end."""
        with self._changed:
            closing = self._closing  # each thing is tried once more at the end, and no more
            self._changed.wait_for(
                lambda: (
                    self._closing
                    or self._changed_way
                    or generation != self._generation
                    or (until_news and self._news)
                ),
                timeout=seconds,
            )
            if generation != self._generation:
                return False
            self._errands.failed(
                self._clock(), last
            )  # after the pause: what happened meanwhile counts too
            deeds = self._errands.deeds()
        self._keep(deeds)
        return not closing

    def _too_old(self, item: Item) -> bool:
        """Say whether to give up.

        Not in the first minutes of a process: after a long power cut the network takes a
        moment, too.
        """
        if not item.counts or time.monotonic() - self._began < self._patience.longest:
            return False
        bound = self._patience.give_up
        longest = self._way.how.give_up_after if bound is None else bound * SECOND
        return self._clock() - item.waiting.since >= longest

    def _complain(self, pause: float, *, refused: bool) -> None:
        """Log a failure; a refusal is for a person to put right."""
        if refused:
            self._log.error(
                "notifier.refused",
                notifier=self.name,
                error=self._fortune.error,
                failures=self._fortune.failures,
                hint=f"hushd notify-test {self.name} tries it at once",
            )
        else:
            self._log.warning(
                "notifier.failed",
                notifier=self.name,
                error=self._fortune.error,
                failures=self._fortune.failures,
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
