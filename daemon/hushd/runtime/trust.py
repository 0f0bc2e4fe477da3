"""Whether the wall clock may be believed: a small board without a battery wakes up in the past.

The kernel could be asked whether it is synchronised, but the service may not ask
(``ProtectClock=yes`` takes ``adjtimex``); systemd-timesyncd leaves a file, and whatever else
sets the clock is noticed by :class:`~hushd.runtime.clocks.WallClock`, for it is set in a leap.
"""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from hushd.core.readings import SECOND
from hushd.core.transitions import rfc3339

#: No clock that is earlier can be right; to be moved with every release
RELEASED = round(datetime(2026, 12, 1, tzinfo=UTC).timestamp()) * SECOND

SLACK = 60 * SECOND  # a clock may be set back by so much between two runs

_SYNCHRONIZED = Path("/run/systemd/timesync/synchronized")
_BOOT = Path("/proc/sys/kernel/random/boot_id")


def doubt(wall: int, known: int | None, synchronised: Callable[[], bool]) -> str:
    """Return why the wall clock is not to be trusted, for people; "": it is.

    Args:
        wall: The time it shows.
        known: A time that has certainly passed; None: nothing is known.
        synchronised: Says whether it was set by a time server since the machine started.
            If it was, it is *known* that was wrong.
    """
    if wall < RELEASED:
        return f"it shows {_minute(wall)}, before this hushd was released"
    if known is not None and wall < known - SLACK and not synchronised():
        return f"it shows {_minute(wall)}, but it was {_minute(known)} already"
    return ""


def synchronised() -> bool:
    """Say whether systemd-timesyncd has set the clock since the machine started."""
    return _SYNCHRONIZED.exists()


def boot_id() -> str:
    """Return what names this run of the machine; "" where there is no such thing.

    The service may not read the kernel's file (``ProcSubset=pid``); its unit passes it on.
    """
    try:
        name = os.environ.get("HUSHD_BOOT_ID") or _BOOT.read_text(encoding="ascii")
    except OSError:
        return ""
    return name.strip().replace("-", "")


def _minute(at: int) -> str:
    return rfc3339(at - at % (60 * SECOND))
