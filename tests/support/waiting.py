"""What tests of threads and processes wait with: a condition, and a deadline."""

from collections.abc import Callable
from time import monotonic, sleep
from typing import Any

from hushd.runtime.logs import Quiet


def eventually(condition: Callable[[], Any], seconds: float = 15, what: str = "") -> Any:
    """Return what *condition* returns as soon as that is true."""
    until = monotonic() + seconds
    while not (found := condition()):
        assert monotonic() < until, what or "it did not come about"
        sleep(0.005)
    return found


class Diary(Quiet):
    """A log that keeps its lines."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, dict[str, Any]]] = []

    def bind(self, **fields: Any) -> "Diary":
        return self

    def info(self, event: str, **fields: Any) -> None:
        self.lines.append((event, fields))

    warning = error = info

    def all(self, event: str) -> list[dict[str, Any]]:
        """Return the fields of each line of that event."""
        return [fields for name, fields in self.lines if name == event]

    def wait_for(self, event: str, times: int = 1) -> dict[str, Any]:
        """Return the fields of the newest line of that event, once there are so many."""
        said = f"no {event} in {self.lines}"
        found: list[dict[str, Any]] = eventually(
            lambda: len(lines := self.all(event)) >= times and lines, what=said
        )
        return found[-1]
