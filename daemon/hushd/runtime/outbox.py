"""The tables of what happened and who is told: journal, outbox, told, dead letters.

Nothing here begins or ends a transaction, nor minds what fails: the ledger does.
"""

import json
import time
from collections import Counter
from collections.abc import Collection, Sequence

from hushd.core.reconcile import Told
from hushd.core.transitions import Transition
from hushd.runtime.database import Database
from hushd.runtime.store import NOWHERE, Alert, Letter, Owed, Untold

JOURNAL = 10_000  # transitions that are kept, beside those that somebody has yet to hear of
DEAD = 1_000  # what was never told
SLACK = 100  # more of them may pile up before the oldest go


class Outbox:
    """What is to be told, what was, and what never will be."""

    def __init__(self, database: Database, first: int = 1) -> None:
        """Begin with what the file holds.

        Args:
            database: The file.
            first: No row that is made from now on has a lower number; somebody may still hold
                one of an earlier file.
        """
        self._execute = database.execute
        self._journal = self._newest("journal")
        self._dead = self._newest("dead")
        self.next = max(first, self._newest("outbox") + 1)

    def wake(self) -> None:
        """Take what was being sent when the last process ended for what may have arrived."""
        self._execute("UPDATE outbox SET sending = 0, unsure = 1 WHERE sending")

    def doubt(self) -> None:
        """Take all that waits for what may have been told while nothing could be kept."""
        self._execute("UPDATE outbox SET sending = 0, unsure = 1")

    def write(self, transitions: Sequence[Transition], letters: Sequence[Letter]) -> list[int]:
        """Keep what happened and who is to hear of it; return the row of each letter."""
        rows = {transition: self._note(transition) for transition in transitions}
        posted = []
        now = time.time_ns()
        for notifier, transition in letters:
            if transition not in rows:
                rows[transition] = self._note(transition)
            posted.append(self._post(notifier, rows[transition], now))
        if transitions and self._journal % SLACK < len(transitions):
            self._execute(
                "DELETE FROM journal WHERE id <= ? AND id NOT IN (SELECT journal FROM outbox)",
                (self._journal - JOURNAL,),
            )
        return posted

    def told(self, notifier: str) -> dict[Alert, Told]:
        """Return what *notifier* knows."""
        found = self._execute(
            "SELECT rule, labels, episode, level, missed, at, repeats, worst, cleared, last"
            " FROM told WHERE notifier = ?",
            (notifier,),
        )
        return {
            (rule, _labels(labels)): Told(*known)._replace(last=last and _transition(last))
            for rule, labels, *known, last in found
        }

    def untold(self, notifier: str) -> list[Untold]:
        """Return what waits for *notifier*, whom nobody works for yet, oldest first."""
        found = self._execute(
            "SELECT outbox.id, data, since, attempts, sending OR unsure, instead"
            " FROM outbox JOIN journal ON journal.id = journal WHERE notifier = ?"
            " ORDER BY outbox.id",
            (notifier,),
        )
        return [
            Untold(row, _transition(data), since, attempts, bool(unsure), instead)
            for row, data, since, attempts, unsure, instead in found
        ]

    def claim(self, row: int) -> None:
        """Keep that an attempt begins."""
        self._execute("UPDATE outbox SET sending = 1, attempts = attempts + 1 WHERE id = ?", (row,))

    def postpone(self, row: int, *, unsure: bool) -> None:
        """Keep that an attempt failed; what was unsure before stays so."""
        self._execute(
            "UPDATE outbox SET sending = 0, unsure = max(unsure, ?) WHERE id = ?", (unsure, row)
        )

    def settle(self, notifier: str, rows: Sequence[int], news: tuple[Alert, Told] | None) -> None:
        """Keep that rows are done with, and what *notifier* now knows."""
        for row in rows:
            self._execute("DELETE FROM outbox WHERE id = ?", (row,))
        if news is not None:
            self._learn(notifier, *news)

    def bury(self, row: int, error: str, fallback: str) -> int:
        """Keep that this is never told, and why; return the row for *fallback*, if any."""
        handed_on = NOWHERE
        found = self._execute("SELECT notifier, journal FROM outbox WHERE id = ?", (row,))
        for notifier, journal in found.fetchall() if fallback else ():
            handed_on = self._post(fallback, journal, time.time_ns(), instead=notifier)
        self._dead += 1
        self._execute(
            "INSERT INTO dead SELECT ?, ?, notifier, data, ? FROM outbox JOIN journal"
            " ON journal.id = journal WHERE outbox.id = ?",
            (self._dead, time.time_ns(), error, row),
        )
        self._execute("DELETE FROM outbox WHERE id = ?", (row,))
        self._execute("DELETE FROM dead WHERE id <= ?", (self._dead - DEAD,))
        return handed_on

    def bury_orphans(self, names: Collection[str], before: int) -> Counter[str]:
        """Give up what has waited since *before* for notifiers that are not among *names*."""
        found = self._execute("SELECT id, notifier FROM outbox WHERE since < ?", (before,))
        orphans = [(row, notifier) for row, notifier in found.fetchall() if notifier not in names]
        for row, _ in orphans:
            self.bury(row, "there is no notifier of that name any more", "")
        return Counter(notifier for _, notifier in orphans)

    def keep(
        self,
        notifier: str,
        letters: Sequence[Owed],
        told: dict[Alert, Told],
    ) -> list[int]:
        """Keep all that waits for *notifier*, and all that it knows, in place of what was there."""
        self._execute("DELETE FROM outbox WHERE notifier = ?", (notifier,))
        self._execute("DELETE FROM told WHERE notifier = ?", (notifier,))
        for alert, known in told.items():
            self._learn(notifier, alert, known)
        return [
            self._post(
                notifier,
                self._note(owed.transition),
                owed.since,
                unsure=owed.unsure,
                instead=owed.instead,
            )
            for owed in letters
        ]

    def _note(self, transition: Transition) -> int:
        self._journal += 1
        self._execute(
            "INSERT INTO journal VALUES (?, ?, ?)",
            (self._journal, transition.at, _json(transition.save())),
        )
        return self._journal

    def _post(
        self, notifier: str, journal: int, since: int, *, unsure: bool = False, instead: str = ""
    ) -> int:
        row, self.next = self.next, self.next + 1
        self._execute(
            "INSERT INTO outbox VALUES (?, ?, ?, ?, 0, 0, ?, ?)",
            (row, notifier, journal, since, unsure, instead),
        )
        return row

    def _learn(self, notifier: str, alert: Alert, told: Told) -> None:
        rule, labels = alert
        key = (notifier, rule, _json(labels))
        if (told.level, told.missed, told.cleared) == (None, None, None):  # as if never told
            self._execute("DELETE FROM told WHERE (notifier, rule, labels) = (?, ?, ?)", key)
        else:
            last = None if told.last is None else _json(told.last.save())
            self._execute(
                "INSERT OR REPLACE INTO told VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*key, *told[:7], last),
            )

    def _newest(self, table: str) -> int:
        found = self._execute(f"SELECT max(id) FROM {table}").fetchone()  # noqa: S608  ours
        return found[0] or 0


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _transition(text: str) -> Transition:
    return Transition.load(json.loads(text))


def _labels(text: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in json.loads(text))
