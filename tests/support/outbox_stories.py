"""Stories of notes that fail and processes that end, and what judges how they were told.

A story is what happens to three alerts, when somebody asks for quiet, how a notifier takes each attempt, and after how many
steps each process ends.  Every step of store and notifier may be the last one: before what it
does, or after.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from memory_store import CrashError, Fuse, Fused
from waiting import eventually

from hushd.core.mutes import Mute
from hushd.core.reconcile import Told
from hushd.core.rules import Measure, Notify, Over, Rule, Severity
from hushd.core.transitions import Transition
from hushd.plugin.records import Context, Note, NotifierType, NotSentError, RefusedError
from hushd.runtime.delivery import Delivery, Patience, Way
from hushd.runtime.logs import Quiet
from hushd.runtime.store import Store

NAMED: Notify = (("warning", ("mail",)),)
IMPATIENT = Patience(first=0, longest=0, refused=0, give_up=10**9)
RULE = Rule("too-loud", "noise", ("room",), Measure("leq"), Over(), (), notify=NAMED)

#: what becomes of an attempt -> whether the note arrives, and what the notifier raises
ATTEMPTS: dict[str, tuple[bool, BaseException | None]] = {
    "told": (True, None),
    "the answer is lost": (True, TimeoutError("no answer")),
    "the note is lost": (False, ConnectionResetError("reset")),
    "not sent": (False, NotSentError("503")),
    "nobody there": (False, ConnectionRefusedError("refused")),
    "refused": (False, RefusedError("400")),
    "odd": (False, KeyError("odd")),
}
KEEPING_ORDER = [name for name in ATTEMPTS if name not in {"refused", "odd"}]


class Ear:
    """Takes notes as a story has it, then well."""

    def __init__(self, attempts: list[str]) -> None:
        self.heard: list[Note] = []
        self.tried: list[str] = []
        self.fuse = Fuse()
        self._attempts = iter(attempts)

    def open(self, options: Mapping[str, Any], context: Context) -> "Ear":
        """Return itself."""
        return self

    def send(self, note: Note) -> None:
        """Take an attempt."""
        self.fuse.burn()
        self.tried.append(note.key.removesuffix("-mail"))
        arrives, raised = ATTEMPTS[next(self._attempts, "told")]
        if arrives:
            self.heard.append(note)
        self.fuse.burn()
        if raised is not None:
            raise raised

    def close(self) -> None:
        """Do nothing."""


#: room, level, whether the rule names the notifier, and whether it is hushed from then on
Happening = tuple[str, Severity | None, bool, bool | None]


def happenings(story: list[Happening]) -> list[Transition | bool]:
    """Return what an engine makes of levels, and whether it is hushed from then on.

    What stays as it was is no transition.
    """
    levels: dict[str, Severity | None] = {}
    episodes: Counter[str] = Counter()
    happened: list[Transition | bool] = []
    for number, (room, level, named, hushed) in enumerate(story, 1):
        if hushed is not None:
            happened.append(hushed)
        was = levels.get(room)
        if level == was:
            continue
        levels[room] = level
        episodes[room] += was is None
        happened.append(
            replace(
                BLANK,
                at=number * 10**9,
                labels=(("room", room),),
                event="raised" if level else "cleared",
                severity=level,
                episode=episodes[room],
                id=f"{number}",
                notify=NAMED if named else (),
            )
        )
    return happened


BLANK = Transition(
    at=0,
    rule="too-loud",
    labels=(),
    event="raised",
    severity=None,
    was=None,
    value=72.3,
    limit=70.0,
    episode=0,
    id="",
    reason="value",
    peak=72.3,
    started=0,
    sensor="noise",
    measure="leq",
    over="5m",
    unit="dBA",
    samples=1,
    coverage=1.0,
    about="",
    notify=(),
)


def live(
    store: Store, ear: Ear, happening: "Happenings", *, every: bool, rule: Rule, last: bool
) -> list[str]:
    """Be a process until its fuse has burned down or all is told; return what was committed.

    What was decided and not committed is decided again by the next process: it is put back.
    """
    fused = Fused(store, ear.fuse)
    way = Way("mail", NotifierType("mail", "", ear.open, every=every), {})
    delivery = Delivery([way], [rule], fused, Quiet(), patience=IMPATIENT)
    posted: list[str] = []
    try:
        for transition in happening:
            if isinstance(transition, bool):
                hush(fused, delivery, hushed=transition)
                continue
            letters = delivery.letters([transition])
            before = fused.committed
            try:
                rows = fused.commit([transition], letters)
            finally:
                if fused.committed > before:
                    posted += [letter.id for _, letter in letters]
                else:
                    happening.put_back(transition)
            delivery.tell(letters, rows)
        if last:
            hush(fused, delivery, hushed=False)
    except CrashError:
        pass
    worker = delivery._workers["mail"]
    eventually(lambda: ear.fuse.blown or settled(worker.state(), hushed=not last))
    delivery.close()
    return posted


def settled(state: dict[str, Any], *, hushed: bool) -> bool:
    """Say whether nothing waits, but for what may be held back."""
    return bool(state["waiting"] == (state["held"] if hushed else 0))


def hush(store: Store, delivery: Delivery, *, hushed: bool) -> None:
    """Ask for quiet, or end it; forgotten if the process ends before it is kept."""
    if hushed:
        now = time.time_ns()
        store.keep_mute(Mute(1, "", (), now, now + 10**15, "painters"))
    else:
        store.drop_mute(1)
    delivery.announce(store.mutes(), store.acks())


class Happenings:
    """What is yet to happen."""

    def __init__(self, story: list[Transition | bool]) -> None:
        self._left = story[::-1]

    def __iter__(self) -> "Happenings":
        return self

    def __next__(self) -> Transition | bool:
        if not self._left:
            raise StopIteration
        return self._left.pop()

    def put_back(self, transition: Transition) -> None:
        """Let it happen again."""
        self._left.append(transition)


stories = st.lists(
    st.tuples(
        st.sampled_from(["101", "102", "103"]),
        st.sampled_from([None, "warning", "critical"]),
        st.sampled_from([True, True, True, False]),
        st.sampled_from([None, None, None, None, True, False]),
    ),
    min_size=1,
    max_size=12,
)
fuses = st.lists(st.integers(0, 25), max_size=5)


def tell(
    story: list[Transition | bool],
    attempts: list[str],
    ends: list[int],
    reopened: Callable[[], Store],
    *,
    every: bool,
    rule: Rule = RULE,
) -> tuple[Ear, list[str], Store]:
    """Return who heard it, what was posted, and what is kept in the end."""
    ear, happening, posted = Ear(attempts), Happenings(story), []
    for steps in (*ends, None):
        ear.fuse = Fuse(steps)
        store = reopened()
        posted += live(store, ear, happening, every=every, rule=rule, last=steps is None)
        store.close()
    return ear, posted, reopened()


def judge(
    happened: list[Transition | bool],
    ear: Ear,
    posted: list[str],
    left: Store,
    *,
    every: bool,
    ordered: bool,
) -> None:
    """Say whether what was heard keeps what is promised."""
    story = [one for one in happened if isinstance(one, Transition)]
    hushed = len(story) < len(happened)
    assert left.untold("mail") == []
    heard = ear.heard
    keys = [note.key.removesuffix("-mail") for note in heard]
    first: list[str] = []
    for key, note in zip(keys, heard, strict=True):
        if key in first:
            assert note.again, f"{key} came twice, and did not say so"
        else:
            first.append(key)
    first = [key for key in first if "-mail-" not in key]  # reminders were not posted
    assert set(first) <= set(posted)
    if ordered and not (hushed and not every):
        tried = [key for key in dict.fromkeys(ear.tried) if "-mail-" not in key]
        assert tried == sorted(tried, key=posted.index)
    if every:
        assert set(first) == set(posted)
        return
    known = left.told("mail")
    for room in {transition.labels for transition in story}:
        of_room = [transition for transition in story if transition.labels == room]
        told = known.get(("too-loud", room), Told())
        if of_room[-1].severity is None or of_room[-1].notify:
            assert told.level == of_room[-1].severity
            assert told.missed is None
            assert believed(heard, dict(room)) == of_room[-1].severity
        if not hushed and any(one.severity and one.notify for one in of_room):
            assert [note for note in heard if note.record["labels"] == dict(room)]


def believed(heard: list[Note], room: dict[str, str]) -> str | None:
    """Return what somebody believes who heard all that."""
    of_room = [note for note in heard if note.record["labels"] == room]
    if not of_room or of_room[-1].kind in {"cleared", "missed"}:
        return None
    return of_room[-1].severity
