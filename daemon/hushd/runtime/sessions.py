"""The session that the broker keeps for us: by what name, and with which subscriptions."""

import hashlib
import json
import socket
from collections.abc import Iterable
from pathlib import Path

from hushd.config.records import Mqtt
from hushd.runtime.logs import Log

MACHINE = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))


def client_id(mqtt: Mqtt, site: str) -> str:
    """Return the name of our session: as configured, else made of machine and site.

    It must never change by itself: under a new name the broker starts a new session, and
    keeps the old one's messages for nobody.  The machine's id is not shown, as its owner
    may have reasons (``man machine-id``); 18 characters are what any broker takes.
    """
    if mqtt.client_id:
        return mqtt.client_id
    for path in MACHINE:
        try:
            machine = path.read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            continue
        if machine:
            break
    else:
        machine = socket.gethostname()
    digest = hashlib.sha256(f"hushd\0{machine}\0{site}".encode(errors="surrogateescape"))
    return f"hushd-{digest.hexdigest()[:12]}"


class Memory:
    """Which filters the broker's session may hold, across restarts of ours.

    A kept session goes on with subscriptions that the configuration no longer has, and a
    broker cannot be asked for them.  So they are written down before they are asked for,
    in a file beside the other state.  If that cannot be written, filters taken out of the
    configuration while hushd is down go unnoticed; their messages are counted, and read
    by no sensor.

    Args:
        path: The file; None remembers for as long as the process lives.
        owner: Whose session it is: another broker or client id begins with nothing.
        log: Where to say that the file cannot be written.
    """

    def __init__(self, path: Path | None, owner: str, log: Log) -> None:
        self._path = path
        self._owner = owner
        self._log = log
        self.filters = self._load()

    def keep(self, filters: Iterable[str]) -> None:
        """Remember *filters* in place of what was."""
        kept = frozenset(filters)
        if kept == self.filters:
            return
        self.filters = kept
        if self._path is None:
            return
        text = json.dumps({"session": self._owner, "filters": sorted(kept)}, indent=1)
        try:
            beside = self._path.with_name(self._path.name + ".new")
            beside.write_text(text + "\n", encoding="utf-8")
            beside.replace(self._path)
        except OSError as exc:
            self._log.warning("mqtt.session_not_noted", path=str(self._path), error=str(exc))

    def _load(self) -> frozenset[str]:
        if self._path is None:
            return frozenset()
        try:
            noted = json.loads(self._path.read_text(encoding="utf-8"))
            if noted["session"] != self._owner:
                return frozenset()
            return frozenset(name for name in noted["filters"] if isinstance(name, str))
        except (OSError, ValueError, LookupError, TypeError):  # none yet, or not ours to mend
            return frozenset()


def distinct(filters: Iterable[str]) -> list[str]:
    """Return *filters* without those that another one covers.

    Some brokers send a message once for each subscription that it fits.

    >>> distinct(["home/+/noise", "home/#", "yard/noise", "home/+/noise"])
    ['home/#', 'yard/noise']
    """
    every = sorted(set(filters))
    return [
        name for name in every if not any(other != name and covers(other, name) for other in every)
    ]


def covers(wide: str, narrow: str) -> bool:
    """Say whether every topic that fits *narrow* fits *wide*, too.

    >>> covers("home/#", "home"), covers("home/+", "home/#"), covers("#", "$SYS/load")
    (True, False, False)
    """
    ours, theirs = wide.split("/"), narrow.split("/")
    if theirs[0].startswith("$") and ours[0] in {"#", "+"}:
        return False
    for i, level in enumerate(ours):
        if level == "#":
            return True
        if i >= len(theirs):
            return False
        if theirs[i] == "#" or (level not in {"+", theirs[i]}):
            return False
    return len(ours) == len(theirs)
