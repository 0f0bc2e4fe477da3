"""One notifier with a clock of its own: tells what it is to tell, or cannot, as a story has it."""

from collections.abc import Mapping, Sequence
from typing import Any

from phones import change

from hushd.core.mutes import Ack, Mute
from hushd.core.reconcile import Habit, Told
from hushd.core.rules import Manner, Measure, Notify, Over, Rule, Schedule, Severity
from hushd.core.schedules import Calendar
from hushd.core.transitions import Transition
from hushd.runtime.desk import Desk
from hushd.runtime.errands import Errand, Errands, Settled, Waiting
from hushd.runtime.store import Alert

SECOND = 10**9
MAIL: Notify = (("info", ("mail",)),)


def rule(name: str = "too-loud", **more: Any) -> Rule:
    """Return a rule that tells them by mail."""
    return Rule(name, "noise", ("room",), Measure("leq"), Over(), (), notify=MAIL, **more)


class Courier:
    """Errands that are run, in seconds, by a story.

    Attributes:
        said: What was told: when, of which kind, how bad.
        messages: The errands, for what several are in one.
    """

    def __init__(
        self,
        habit: Habit | None = None,
        manner: Manner | None = None,
        *,
        rules: Sequence[Rule] = (),
        schedules: Sequence[Schedule] = (),
        name: str = "mail",
    ) -> None:
        self.name = name
        self.manner = manner or Manner()
        self.habits = {"too-loud": habit or Habit()}
        self.clearing: set[Alert] = set()
        self.desk = Desk(Calendar(tuple(schedules), ()), rules, clearing=self._is_clearing)
        self.up = True
        self.now = 0
        self.said: list[tuple[int, str, Severity | None]] = []
        self.messages: list[Errand] = []
        self.mutes: list[Mute] = []
        self.acks: list[Ack] = []
        self._begin({})

    def _is_clearing(self, alert: Alert) -> bool:
        return alert in self.clearing

    def _begin(self, told: Mapping[Alert, Told], waiting: Sequence[Waiting] = ()) -> None:
        self.errands = Errands(
            self.name, told, waiting, manner=self.manner, habits=self.habits, desk=self.desk
        )

    @property
    def kinds(self) -> list[str]:
        """Return what was told, in order."""
        return [kind for _, kind, _ in self.said]

    def wait(self, until: float) -> "Courier":
        """Let time pass."""
        self._arrive(until)
        if self.up:
            self._tell()
        return self

    def _arrive(self, until: float) -> None:
        """Let time pass, up to what is due just then: what happens then comes first."""
        at, looks = round(until * SECOND), 0
        while self.up and (due := self.errands.deadline(self.now)) is not None and due < at:
            looks = 0 if due > self.now else looks + 1
            assert looks < 3, "it looks again and again, and finds nothing"
            self.now = max(self.now, due)
            self._tell()
        self.now = at

    def happen(
        self,
        at: float,
        severity: Severity | None,
        episode: int = 1,
        room: str = "101",
        **more: Any,
    ) -> "Courier":
        """Let an alert change."""
        self._arrive(at)
        more.setdefault("notify", MAIL)
        self.take(change(severity, episode, room, **more))
        return self

    def take(self, *transitions: Transition) -> None:
        """Take in what happens at once."""
        self.desk.note(transitions)
        for one in transitions:
            if self.name in {x for _, names in one.notify for x in names}:
                self.errands.add(Waiting(one, self.now))
        if self.up:
            self._tell()
        else:
            self.errands.failed(self.now)

    def be(self, at: float, *, up: bool) -> "Courier":
        """Let it be reached from then on, or not."""
        self._arrive(at)
        self.up = up
        return self.wait(at)

    def mute(self, at: float, until: float, rule: str = "", **labels: str) -> "Courier":
        """Let somebody ask for quiet."""
        self._arrive(at)
        pairs = tuple(sorted(labels.items()))
        ends = round(until * SECOND)
        self.mutes.append(Mute(len(self.mutes), rule, pairs, self.now, ends, "painters"))
        self.desk.announce(self.mutes, self.acks)
        return self.wait(at)

    def unmute(self, at: float) -> "Courier":
        """Let somebody end all quiet."""
        self._arrive(at)
        self.mutes.clear()
        self.desk.announce(self.mutes, self.acks)
        if not self.up:
            self.errands.failed(self.now)
        return self.wait(at)

    def mind(self, at: float, episode: int = 1, room: str = "101") -> "Courier":
        """Let somebody acknowledge an alert."""
        self._arrive(at)
        self.acks.append(Ack("too-loud", (("room", room),), episode, self.now, "on my way"))
        self.desk.announce(self.mutes, self.acks)
        return self.wait(at)

    def restart(self, at: float) -> "Courier":
        """Let the process end, and another go on with what was kept."""
        self._arrive(at)
        self._begin(self.errands.told, self.errands.open)
        return self.wait(at)

    def _tell(self) -> None:
        while (errand := self.errands.next(self.now)) is not None:
            seconds = round(self.now / SECOND)
            self.said += [(seconds, item.kind, item.severity) for item in errand.items]
            self.messages.append(errand)
            self.errands.done(errand, self.now)
        for deed in self.errands.deeds():
            assert isinstance(deed, Settled)
