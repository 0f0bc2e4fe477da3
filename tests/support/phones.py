"""Notifiers that fail, hang or refuse when told so, and what tells them."""

import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from memory_store import Disk, MemoryStore

from hushd.core.rules import Measure, Notify, Over, Rule, Severity
from hushd.core.transitions import Transition
from hushd.plugin.records import Context, Note, NotifierType, RefusedError
from hushd.runtime.delivery import Delivery, Patience, Way
from hushd.runtime.logs import Log, Quiet
from hushd.runtime.store import NOWHERE, VolatileStore

T9: Notify = (("warning", ("mail",)), ("critical", ("phone",)))
HASTY = Patience(send=0.3, first=0.02, longest=0.05, give_up=60)


def change(
    severity: Severity | None, episode: int = 1, room: str = "101", **more: Any
) -> Transition:
    """Return that it has become too loud in a room, or is no more."""
    transition = Transition(
        at=episode * 10**9,
        rule="too-loud",
        labels=(("room", room),),
        event="raised" if severity else "cleared",
        severity=severity,
        was=None,
        value=72.3,
        limit=70.0,
        episode=episode,
        id=f"{room}-{episode}-{severity}",
        reason="value",
        peak=72.3,
        started=episode * 10**9,
        sensor="noise",
        measure="leq",
        over="5m",
        unit="dBA",
        samples=1,
        coverage=1.0,
        about="",
        notify=T9,
    )
    return replace(transition, **more)


class Phone:
    """A notifier that fails, hangs or is slow when told so."""

    def __init__(self) -> None:
        self.heard: list[Note] = []
        self.tried = 0
        self.failing = False
        self.hang: threading.Event | None = None
        self.opened = 0
        self.closed = 0

    def open(self, options: Mapping[str, Any], context: Context) -> "Phone":
        self.opened += 1
        return self

    def send(self, note: Note) -> None:
        self.tried += 1
        if self.hang is not None:
            hang, self.hang = self.hang, None
            hang.wait(20)
            raise RuntimeError("too late for anybody")
        if self.failing:
            raise OSError("line is down")
        self.heard.append(note)

    def close(self) -> None:
        self.closed += 1

    @property
    def kinds(self) -> list[str]:
        return [note.kind for note in self.heard]


class Picky(Phone):
    """Refuses what is about one room, for good."""

    odd = "room 101"

    def send(self, note: Note) -> None:
        if self.odd in note.title.lower():
            self.tried += 1
            raise RefusedError("400 what room is that?")
        super().send(note)


class Lossy(Phone):
    """Takes the note, and its answer is lost, when told so."""

    lossy = False

    def send(self, note: Note) -> None:
        super().send(note)
        if self.lossy:
            self.lossy = False
            raise TimeoutError("no answer")


def rule(name: str = "too-loud", notify: Notify = T9) -> Rule:
    """Return a rule that tells them."""
    return Rule(name, "noise", ("room",), Measure("leq"), Over(), (), notify=notify)


def way(name: str, phone: Phone, **options: Any) -> Way:
    """Return how one of them is told."""
    return Way(name, NotifierType(name, "", phone.open), options)


def make(phone: Phone, log: Log, patience: Patience, *secrets: str) -> Delivery:
    """Return a delivery to one of them that nothing keeps."""
    way = Way("mail", NotifierType("mail", "", phone.open), {}, secrets)
    return Delivery([way], (rule(),), VolatileStore(), log, patience=patience)


def keeping(
    disk: Disk, *ways: Way, log: Log | None = None, patience: Patience = HASTY, wall: int = 0
) -> tuple[Delivery, MemoryStore]:
    """Return a delivery that a store keeps; its clock is *wall* seconds ahead."""
    store = MemoryStore(disk, lambda: time.time_ns() + wall * 10**9)
    return Delivery(ways, (rule(),), store, log or Quiet(), patience=patience), store


def again(delivery: Delivery, *ways: Way, site: str = "") -> None:
    """Have the configuration read again."""
    delivery.change(ways, [rule()], site=site, zone=None)
    delivery.let_go()


def tell(delivery: Delivery, transitions: list[Transition]) -> None:
    """Tell without a store that keeps anything."""
    letters = delivery.letters(transitions)
    delivery.tell(letters, [NOWHERE] * len(letters))


def post(delivery: Delivery, store: MemoryStore, *transitions: Transition) -> None:
    """Commit, then tell."""
    letters = delivery.letters(transitions)
    delivery.tell(letters, store.commit(transitions, letters))
