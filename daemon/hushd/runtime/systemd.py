"""What systemd hears of the daemon: sd_notify(3) in a few lines, without a dependency.

A message is a datagram of ``NAME=value`` lines to the socket that ``NOTIFY_SOCKET`` names.
Nothing here raises: a manager that cannot be told must not cost a reading.
"""

import os
import socket
import time
from collections.abc import MutableMapping

PATIENCE = 0.5  # seconds that the socket may take; systemd reads it at once


class Manager:
    """The service manager that started this process, or nobody.

    The variables are taken out of the environment, as a child that inherited them could
    speak in the daemon's name.

    Attributes:
        beat_s: How often `beat` must be called, or None where nobody waits for it.
    """

    def __init__(self, environ: MutableMapping[str, str] = os.environ) -> None:
        address = environ.pop("NOTIFY_SOCKET", "")
        self._address = f"\0{address[1:]}" if address[:1] == "@" else address
        within = environ.pop("WATCHDOG_USEC", "")
        meant = environ.pop("WATCHDOG_PID", "") in {"", str(os.getpid())}
        self.beat_s: float | None = None
        if self._address and meant and within.isdecimal():
            self.beat_s = int(within) / 3e6

    def ready(self, status: str = "") -> None:
        """Say that the daemon does its work; also at the end of a reload."""
        self._tell("READY=1", *_status(status))

    def beat(self, status: str = "") -> None:
        """Say that the daemon still gets on, and how."""
        self._tell("WATCHDOG=1", *_status(status))

    def status(self, status: str) -> None:
        """Say how it is, and no more."""
        self._tell(*_status(status))

    def reloading(self) -> None:
        """Say that the configuration is read again; `ready` ends it."""
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self._tell("RELOADING=1", f"MONOTONIC_USEC={now}")

    def stopping(self) -> None:
        """Say that the daemon takes leave."""
        self._tell("STOPPING=1")

    def _tell(self, *lines: str) -> None:
        if not self._address or not lines:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as way:
                way.settimeout(PATIENCE)
                way.connect(self._address)
                way.sendall("\n".join(lines).encode())
        except (OSError, ValueError):  # nobody is there: there is no one to tell
            return


def _status(text: str) -> list[str]:
    return [f"STATUS={' '.join(text.split())}"] if text else []
