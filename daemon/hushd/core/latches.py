"""One latch per severity: the memory of a limit.

``off -> pending -> on -> clearing -> off``; data first, then one function for each of the
three things that can happen to a latch: a verdict, a deadline, silence.
"""

from enum import IntEnum

from hushd.core.limits import clears, raises
from hushd.core.rules import Limit


class State(IntEnum):
    """Of a latch; what is at least `ON` counts for the alert's level."""

    OFF = 0
    PENDING = 1
    ON = 2
    CLEARING = 3


class Latch:
    """One severity's memory: a state and since when."""

    __slots__ = ("clear_wait", "clears", "due", "limit", "raises", "since", "state", "wait")

    def __init__(self, limit: Limit) -> None:
        """Start off."""
        self.limit = limit
        self.raises = raises(limit)
        self.clears = clears(limit)
        self.wait = limit.wait
        self.clear_wait = limit.clear_wait
        self.state = State.OFF
        self.since = 0
        self.due: int | None = None  # when the state has lasted its delay

    def set(self, state: State, since: int) -> None:
        """Go to *state*."""
        self.state = state
        self.since = since
        if state is State.PENDING:
            self.due = since + self.wait
        elif state is State.CLEARING:
            self.due = since + self.clear_wait
        else:
            self.due = None

    def bear(self, at: int) -> None:
        """Let no delay have passed before now: it may be another than before."""
        delay = self.wait if self.state is State.PENDING else self.clear_wait
        self.set(self.state, max(self.since, at - delay))

    def judge(self, value: float, at: int) -> None:
        """Take an evaluable *value*; between clear and limit only `pending` moves."""
        state = self.state
        if state is State.OFF:
            if self.raises(value):
                self.set(State.PENDING if self.wait else State.ON, at)
        elif state is State.PENDING:
            if not self.raises(value):
                self.set(State.OFF, at)
        elif state is State.ON:
            if self.clears(value):
                self.set(State.CLEARING if self.clear_wait else State.OFF, at)
        elif not self.clears(value):
            self.set(State.ON, at)  # no `for` again; the clear timer starts over

    def expire(self, at: int) -> None:
        """Act on a delay that has passed *at* this instant."""
        if self.due == at:
            self.set(State.ON if self.state is State.PENDING else State.OFF, at)

    def fall_silent(self, at: int) -> None:
        """Take note that data stopped: nothing new is raised, nothing is cleared."""
        if self.state is State.PENDING:
            self.set(State.OFF, at)
        elif self.state is State.CLEARING:
            self.set(State.ON, at)
