"""Engine time: the only place that knows what time it is.

All clocks give integer nanoseconds and never go back.  Windows, delays and silence are
measured in engine time, which no correction of the wall clock moves; `Clock.civil` turns it
into what people call the time, `Clock.stamp` does the reverse for times that others wrote.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeGuard

from hushd.core.readings import SECOND
from hushd.core.transitions import Transition
from hushd.runtime import trust

LEAP = 5 * SECOND  # a wall clock that moves by more is set, and not followed
PAUSE = SECOND // 10  # two clocks that were read further apart were not read at one time


class Stepped(NamedTuple):
    """Somebody set the wall clock."""

    by: int  # ns; less than 0: back


class Slept(NamedTuple):
    """The machine was suspended, and time went on."""

    span: int  # ns


class Stalled(NamedTuple):
    """The process did not get on, as if stopped; the machine did."""

    span: int  # ns


class Trusted(NamedTuple):
    """Whether the wall clock is to be believed has changed."""

    trusted: bool
    why: str  # it is not; "" if it is


class Forgotten(NamedTuple):
    """What was kept of the time before the start cannot be true."""

    why: str


News = Stepped | Slept | Stalled | Trusted | Forgotten


class Clock(Protocol):
    """Where engine time comes from."""

    @property
    def why(self) -> str:
        """Why the wall clock is not to be trusted, for people; "" while it is."""

    def arrival(self, received: int) -> int:
        """Return the engine time of a message *received* at that wall time."""

    def now(self) -> int | None:
        """Return how far the engine may be advanced; None: no further than readings took it."""

    def stamp(self, at: int) -> int:
        """Return the engine time of what others say was *at* that wall time."""

    def civil(self, at: int) -> int:
        """Return the wall time, as it is counted now, of what was *at* that engine time."""

    def look(self) -> Sequence[News]:
        """Return what was noticed since the last look.

        To be called once a second, and before the engine is advanced: who knows that the
        machine slept can keep the engine from taking that for the sensors' silence.
        """

    def mark(self) -> dict[str, Any]:
        """Return what `resume` needs after a restart, ready for JSON."""

    def resume(self, mark: Mapping[str, Any]) -> int:
        """Go on from a *mark*, before any time was asked for; return the ns since then."""


def dated(transition: Transition, clock: Clock) -> Transition:
    """Return the transition with its times as people call them."""
    at = clock.civil(transition.at)
    if at == transition.at:
        return transition
    started = transition.started
    return replace(transition, at=at, started=None if started is None else clock.civil(started))


#: Returns a time that nobody sets, and that (on Linux) goes on while the machine is suspended
_steady_ns: Callable[[], int] = partial(
    time.clock_gettime_ns, getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
)


class WallClock:
    """The daemon's time, ``clock: wall``.

    It goes at the pace of a steady clock, and shows what the wall clock shows: small
    corrections forward are followed, after small ones back it runs on at its own pace.  A
    leap of more than `LEAP` is not followed; only the difference is kept, for `civil` and
    `stamp`.  Nothing may happen, or happen twice, because somebody set a clock.

    No two arrivals are alike, and none is older than a time already handed out: the
    engine was promised that.
    """

    def __init__(
        self,
        wall: Callable[[], int] = time.time_ns,
        steady: Callable[[], int] = _steady_ns,
        awake: Callable[[], int] = time.monotonic_ns,
        boot: str | None = None,
        synchronised: Callable[[], bool] = trust.synchronised,
    ) -> None:
        """Begin at what *wall* shows.

        Args:
            wall: The wall clock.
            steady: Goes on while the machine is suspended, and is set by nobody.
            awake: Like *steady*, but stands still while the machine is suspended.
            boot: Names the run of the machine in which *steady* counts; None: the kernel's name.
            synchronised: Says whether a time server has set the wall clock.
        """
        self._wall = wall
        self._steady = steady
        self._awake = awake
        self._boot = trust.boot_id() if boot is None else boot
        self._synchronised = synchronised
        self._news: list[News] = []
        self._known: int | None = None  # a wall time that has passed, if the clock doubts it
        self._last = 0  # the newest time handed out
        self._shift = 0  # wall time - engine time; 0: they are one
        self._seen, self._shown = self._read()
        self._ahead = self._shown - self._seen  # engine time - steady time; only ever grows
        self._suspended = self._seen - awake()
        self.why = self._doubt()
        self._trusted = True  # as far as `look` has said

    def arrival(self, received: int) -> int:
        """Return that instant, or the next one after the last handed out.

        A message that seems to have come well before or after the last look at the clock may
        be the first to show that it was set.
        """
        at, last = received - self._shift, self._last
        if not -SECOND <= at - last <= SECOND:
            now = self._follow()
            at = min(received - self._shift, now)
        self._last = at = at if at > last else last + 1
        return at

    def now(self) -> int:
        """Return the time now."""
        self._last = max(self._last, self._follow())
        return self._last

    def stamp(self, at: int) -> int:
        """Return the engine time of that wall time."""
        return at - self._shift

    def civil(self, at: int) -> int:
        """Return the wall time of that engine time."""
        return at + self._shift

    def look(self) -> Sequence[News]:
        """Return what was noticed since the last look."""
        self.now()
        self.why = self._doubt()
        trusted = not self.why
        if trusted is not self._trusted:
            self._trusted = trusted
            self._news.append(Trusted(trusted, self.why))
        news, self._news = self._news, []
        return news

    def mark(self) -> dict[str, Any]:
        """Return where engine time stands, and what other clocks show at this instant."""
        return {
            "engine": self.now(),
            "boot": self._boot,
            "steady": self._seen,
            "wall": self._shown,
            "shift": self._shift,
            "known": self._known if self.why else self._shown,
        }

    def resume(self, mark: Mapping[str, Any]) -> int:
        """Go on from a *mark*: engine time has gone on by what was certainly the time away.

        While the machine ran, the steady clock knows that, whatever happened to the wall
        clock.  If it was started anew, only two wall times that are to be trusted tell; else
        no time has passed.
        """
        if not mark:
            return 0
        engine = mark.get("engine")
        if not _plausible(engine):
            self._news.append(Forgotten(f"engine time cannot be {engine!r}"))
            return 0
        self._seen, self._shown = self._read()
        away = self._since(mark)
        self._last = engine + away
        self._ahead = self._last - self._seen
        self._settle()
        return away

    def _follow(self) -> int:
        """Return the time that it is, after what the wall clock may have done."""
        steady, wall = self._read()
        if steady - self._seen > LEAP:
            self._notice_gap(steady)
        self._seen, self._shown = steady, wall
        moved = wall - self._shift - self._ahead - steady
        if abs(moved) > LEAP:
            self._news.append(Stepped(moved))
            self._known = None  # whoever set it will have known better
            self._settle()
        elif moved > 0:
            self._ahead += moved
        return steady + self._ahead

    def _since(self, mark: Mapping[str, Any]) -> int:
        """Return how much time has certainly passed since the mark; learn what it knows."""
        steady, wall, known = mark.get("steady"), mark.get("wall"), mark.get("known")
        if not (_plausible(steady) and _plausible(wall) and (known is None or _plausible(known))):
            self._news.append(Forgotten("the times of the last run cannot be true"))
            return 0
        if self._boot and mark.get("boot") == self._boot:
            away = self._seen - steady
            if away < 0:
                self._news.append(Forgotten("the last run seems to be yet to come"))
                return 0
            moved = self._shown - wall - away
            if abs(moved) > LEAP:
                self._news.append(Stepped(moved))
            elif known != wall:
                self._known = known
            self.why = self._doubt()
            return away
        self._known = known
        self.why = self._doubt()
        return 0 if self.why or known != wall else max(self._shown - wall, 0)

    def _settle(self) -> None:
        """Find anew how far the wall clock is from engine time; a small way is none."""
        shift = self._shown - self._seen - self._ahead
        self._shift = shift if abs(shift) > LEAP else 0

    def _notice_gap(self, steady: int) -> None:
        """Tell why nobody asked for the time for so long."""
        suspended = steady - self._awake()
        slept = suspended - self._suspended
        self._suspended = suspended
        if slept > LEAP:
            self._news.append(Slept(slept))
        stalled = steady - self._seen - max(slept, 0)
        if stalled > LEAP:
            self._news.append(Stalled(stalled))

    def _doubt(self) -> str:
        why = trust.doubt(self._shown, self._known, self._synchronised)
        if not why:
            self._known = None
        return why

    def _read(self) -> tuple[int, int]:
        """Return what the steady clock and the wall clock show at one time.

        If the process is stopped between the two, that is not the wall clock's doing.
        """
        for _ in range(3):
            steady, wall = self._steady(), self._wall()
            if self._steady() - steady <= PAUSE:
                break
        return steady, wall


def _plausible(at: Any) -> TypeGuard[int]:
    return isinstance(at, int) and not isinstance(at, bool) and 0 <= at < 1 << 62


class _Given:
    """A time that others wrote down: it is what they say, and nobody sets it."""

    why = ""

    def stamp(self, at: int) -> int:
        """Return that very time."""
        return at

    def civil(self, at: int) -> int:
        """Return that very time."""
        return at

    def look(self) -> Sequence[News]:
        """Return nothing."""
        return ()

    def mark(self) -> dict[str, Any]:
        """Return nothing: the engine knows how far it got."""
        return {}

    def resume(self, mark: Mapping[str, Any]) -> int:
        """Say that no time has passed: between two readings there is none."""
        return 0


class RecordedClock(_Given):
    """The time at which the messages of a recording came, for ``clock: wall`` in a replay.

    Several may have come at one instant: nothing is advanced to it before the next one.
    """

    def __init__(self) -> None:
        self._last = 0

    def arrival(self, received: int) -> int:
        """Return *received*, or the time of the newest message if that is later."""
        self._last = max(received, self._last)
        return self._last

    def now(self) -> int:
        """Return when the newest message came."""
        return self._last


class StampClock(_Given):
    """Engine time is the newest stamp in the payloads, ``clock: stamps``.

    It stands still between stamps, and so does all that waits for time to pass.
    """

    def arrival(self, received: int) -> int:
        """Return *received*; nobody asks, as readings without a stamp are refused."""
        return received

    def now(self) -> None:
        """Say that time passes by readings alone."""
        return
