"""Tells the daemon's own log."""

from collections.abc import Mapping
from typing import Any

from hushd.plugin import Context, Note, NotifierType


class Log:
    """One line of the log for each note."""

    def __init__(self, context: Context) -> None:
        self._log = context.log
        self._name = context.name

    def send(self, note: Note) -> None:
        """Write *note* as one line."""
        more = {"possible_duplicate": True} if note.again else {}
        self._log(
            f"alert.{note.kind}",
            notifier=self._name,
            title=note.title,
            severity=note.severity,
            rule=note.record.get("rule"),
            labels=note.record.get("labels"),
            value=note.record.get("value"),
            key=note.key,
            **more,
        )

    def close(self) -> None:
        """Do nothing: the log is the daemon's."""


def _open(options: Mapping[str, Any], context: Context) -> Log:  # noqa: ARG001  takes none
    return Log(context)


LOG = NotifierType("log", "a line in the daemon's own log", _open)
