"""The session that the broker keeps for us: by what name, and with which subscriptions."""

import hashlib
import json
import os
import socket
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

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
    """What must be remembered of the broker across restarts of ours.

    That it keeps a session for us, so that its loss is noticed.  Which filters that session
    may hold: it goes on with subscriptions that the configuration no longer has, and a broker
    cannot be asked for them, so they are written down before they are asked for.  And how
    many messages it had dropped when we last heard of it.

    That messages are missing is announced to the loop, which puts it into the store.  Should
    the process end before it is there, it is announced again by the next one: so nothing is
    taken as said until ``recorded`` is called.

    It is a file beside the other state.  If that cannot be written, all of this is known for
    as long as the process lives.

    Args:
        path: The file; None remembers for as long as the process lives.
        owner: Whose session it is: another broker or client id begins with nothing.
        log: Where to say that the file cannot be written.
    """

    def __init__(self, path: Path | None, owner: str, log: Log) -> None:
        self.filters: frozenset[str] = frozenset()
        self._path = path
        self._owner = owner
        self._log = log
        self._lock = threading.Lock()  # the loop and the connection's thread come by
        self._met = False  # the broker keeps a session of ours
        self._lost = False  # it did not, and that is not in the store
        self._dropped: int | None = None  # by the broker, as it has counted them
        self._recorded: int | None = None  # of these, those that are in the store
        self._unrecorded = 0  # pieces of news that were announced and are not in the store
        self._written = ""  # what is in the file
        self._failing = False  # it could not be written, and that is said
        self._load()

    def greeted(self, *, present: bool) -> bool:
        """Take note that the broker let us in; say whether the session is as we left it.

        So it is where there was none yet.  *present*: the broker says that it has kept one.
        """
        with self._lock:
            gone = self._met and not present
            if not present:
                self.filters = frozenset()
            kept = not (gone or (self._lost and not self._unrecorded))
            if not kept:
                self._lost = True
                self._unrecorded += 1
            self._met = True
            self._write()
            return kept

    def forget(self) -> None:
        """Take note that the broker keeps no session for us, as we did not ask for one."""
        with self._lock:
            if self._met or self.filters:
                self._met, self.filters = False, frozenset()
                self._write()

    def keep(self, filters: Iterable[str]) -> None:
        """Remember *filters* in place of what the session was known to hold."""
        with self._lock:
            self._met, self.filters = True, frozenset(filters)
            self._write()

    def count(self, dropped: int) -> int:
        """Take note how many messages the broker has dropped; return how many more these are.

        It counts from 0 again when it is started, so a smaller number is all new.  When we
        hear of it for the first time nothing is: that was before our time.
        """
        with self._lock:
            before, self._dropped = self._dropped, dropped
            more = 0 if before is None else dropped - before if dropped >= before else dropped
            if more:
                self._unrecorded += 1
            elif not self._unrecorded:
                self._recorded = dropped
                self._write()
            return more

    def recorded(self) -> None:
        """Take note that one piece of news is in the store."""
        with self._lock:
            if not self._unrecorded:  # another broker's
                return
            self._unrecorded -= 1
            if not self._unrecorded:
                self._lost, self._recorded = False, self._dropped
                self._write()

    def _state(self) -> dict[str, Any]:
        return {
            "session": self._owner,
            "met": self._met,
            "lost": self._lost,
            "filters": sorted(self.filters),
            "dropped": self._recorded,
        }

    def _write(self) -> None:
        """Write the file if anything has changed; an old one or a new one is there at any time."""
        text = json.dumps(self._state(), indent=1) + "\n"
        if self._path is None or text == self._written:
            return
        try:
            beside = self._path.with_name(self._path.name + ".new")
            with beside.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self._path)
            folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as exc:
            if not self._failing:
                self._failing = True
                self._log.warning("mqtt.session_not_noted", path=str(self._path), error=str(exc))
        else:
            self._written, self._failing = text, False

    def _load(self) -> None:
        if self._path is None:
            return
        try:
            text = self._path.read_text(encoding="utf-8")
            noted = json.loads(text)
            if noted["session"] != self._owner:
                return
            self.filters = frozenset(name for name in noted["filters"] if isinstance(name, str))
            self._met = bool(noted.get("met", self.filters))  # a file of before says no more
            self._lost = bool(noted.get("lost", False))
            dropped = noted.get("dropped")
            self._dropped = self._recorded = dropped if isinstance(dropped, int) else None
            self._written = text
        except (OSError, ValueError, LookupError, TypeError):  # none yet, or not ours to mend
            return


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
