"""What people asked for while the daemon runs: silences, and alerts that somebody minds.

All of it is in memory, so that a disk that fails brings nobody back whom somebody has asked
to be quiet.  There are few, and they change seldom: each change writes all of them.
"""

import json
from collections.abc import Iterable

from hushd.core.mutes import Ack, Mute
from hushd.core.readings import Labels
from hushd.runtime.database import Database, plain

#: An alert: rule and labels.
Alert = tuple[str, Labels]


class Wishes:
    """Silences by their number, and acknowledgements by their alert."""

    def __init__(self) -> None:
        """Begin with nobody having asked for anything."""
        self._mutes: dict[int, Mute] = {}
        self._acks: dict[Alert, Ack] = {}

    def mutes(self) -> list[Mute]:
        """Return the silences, in the order of their numbers."""
        return [self._mutes[number] for number in sorted(self._mutes)]

    def keep_mute(self, mute: Mute) -> None:
        """Take on a silence; one of the same number is replaced."""
        self._mutes[mute.number] = mute

    def drop_mute(self, number: int) -> bool:
        """Forget a silence; False: there was none of that number."""
        return self._mutes.pop(number, None) is not None

    def acks(self) -> list[Ack]:
        """Return who minds what."""
        return list(self._acks.values())

    def keep_ack(self, ack: Ack) -> None:
        """Take on that somebody minds an alert."""
        self._acks[ack.rule, ack.labels] = ack

    def drop_acks(self, alerts: Iterable[Alert]) -> bool:
        """Forget who minded these alerts; False: nobody did."""
        gone = self._acks.keys() & set(alerts)
        for alert in gone:
            del self._acks[alert]
        return bool(gone)

    def adopt(self, found: Database) -> None:
        """Take on what is in a file; what is known already stays, under the number it has.

        Raises:
            sqlite3.Error: it cannot be read.
        """
        known = {mute._replace(number=0) for mute in self._mutes.values()}
        rows = found.execute("SELECT * FROM mutes ORDER BY number")
        for number, rule, labels, begins, ends, comment in rows.fetchall():
            mute = Mute(number, rule, _labels(labels), begins, ends, comment)
            if mute._replace(number=0) in known:
                continue
            if number in self._mutes:  # somebody was told that it is another
                mute = mute._replace(number=max(self._mutes) + 1)
            self.keep_mute(mute)
        for rule, labels, episode, at, comment in found.execute("SELECT * FROM acks"):
            ack = Ack(rule, _labels(labels), episode, at, comment)
            self._acks.setdefault((ack.rule, ack.labels), ack)

    def write(self, found: Database) -> None:
        """Write all of it, in place of what was there; the transaction is the caller's.

        Raises:
            sqlite3.Error: it cannot be written.
        """
        execute = found.execute
        execute("DELETE FROM mutes")
        for mute in self._mutes.values():
            row = (*mute[:2], _json(mute.labels), *mute[3:5], plain(mute.comment))
            execute("INSERT INTO mutes VALUES (?, ?, ?, ?, ?, ?)", row)
        execute("DELETE FROM acks")
        for ack in self._acks.values():
            minded = (ack.rule, _json(ack.labels), *ack[2:4], plain(ack.comment))
            execute("INSERT INTO acks VALUES (?, ?, ?, ?, ?)", minded)


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _labels(text: str) -> Labels:
    return tuple((name, value) for name, value in json.loads(text))
