"""One alert, written the obvious slow way from docs/alerts.md: the oracle of the tests.

Seconds, one label set, no windows; only the level changes and the silences are kept.
"""

from dataclasses import dataclass, field
from typing import Any

ORDER = ["info", "warning", "critical"]
HOLDS = {
    "above": lambda v, x: v > x,
    "below": lambda v, x: v < x,
    "at_least": lambda v, x: v >= x,
    "at_most": lambda v, x: v <= x,
    "outside": lambda v, x: v < x[0] or v > x[1],
    "inside": lambda v, x: x[0] <= v <= x[1],
}


@dataclass
class Model:
    """``limits``: severity -> (comparison, limit, clear, for, clear_for)."""

    limits: dict[str, tuple[str, Any, Any, float, float]]
    after: float | None = None
    state: dict[str, tuple[str, float]] = field(default_factory=dict)
    level: str | None = None
    stale: bool = False
    heard: float | None = None
    log: list[tuple[float, str, str | None]] = field(default_factory=list)

    def due(self) -> list[tuple[float, int, str]]:
        """What time alone will do: (when, silence before delays, to whom)."""
        found = []
        for severity, (_, _, _, wait, clear_wait) in self.limits.items():
            word, since = self.state.get(severity, ("off", 0.0))
            if word in ("pending", "clearing"):
                found.append((since + (wait if word == "pending" else clear_wait), 1, severity))
        if self.after is not None and self.heard is not None and not self.stale:
            found.append((self.heard + self.after, 0, ""))
        return sorted(found)

    def advance(self, now: float, *, inclusive: bool) -> None:
        """Run what is due before *now*, or until it."""
        while (due := self.due()) and (due[0][0] < now or (inclusive and due[0][0] == now)):
            when = due[0][0]
            for at, _, severity in due:
                if at == when:
                    self.happen(severity, when)
            self.settle(when)

    def happen(self, severity: str, when: float) -> None:
        """One thing that time does: silence (no severity), or the end of a delay."""
        if not severity:
            self.stale = True
            self.log.append((when, "no_data", self.level))
            for name, (word, _) in list(self.state.items()):
                if word == "pending":
                    self.state[name] = ("off", when)
                elif word == "clearing":
                    self.state[name] = ("on", when)
            return
        word, _ = self.state[severity]
        if word == "pending":
            self.switch_on(severity, when)
        elif word == "clearing":
            self.state[severity] = ("off", when)

    def switch_on(self, severity: str, when: float) -> None:
        """A severity goes on, and with it the milder ones."""
        self.state[severity] = ("on", when)
        for milder in ORDER[: ORDER.index(severity)]:
            if milder in self.limits and self.state.get(milder, ("off",))[0] in ("off", "pending"):
                self.state[milder] = ("on", when)

    def hear(self, now: float, value: float) -> None:
        """A reading: earlier deadlines first, then the value, then nothing until later."""
        self.advance(now, inclusive=False)
        self.heard = now
        if self.stale:
            self.stale = False
            self.log.append((now, "data_back", self.level))
        self.judge(now, value)

    def judge(self, now: float, value: float) -> None:
        """Let the limits see a value."""
        for severity in ORDER:
            if severity not in self.limits:
                continue
            comparison, bound, clear, wait, clear_wait = self.limits[severity]
            word, _ = self.state.get(severity, ("off", 0.0))
            loud = HOLDS[comparison](value, bound)
            quiet = not HOLDS[comparison](value, bound if clear is None else clear)
            if word == "off" and loud and wait:
                self.state[severity] = ("pending", now)
            elif word == "off" and loud:
                self.switch_on(severity, now)
            elif word == "pending" and not loud:
                self.state[severity] = ("off", now)
            elif word == "on" and quiet:
                self.state[severity] = ("clearing" if clear_wait else "off", now)
            elif word == "clearing" and not quiet:
                self.state[severity] = ("on", now)
        self.settle(now)

    def settle(self, now: float) -> None:
        """Note the level if it changed."""
        on = [s for s in ORDER if self.state.get(s, ("off",))[0] in ("on", "clearing")]
        level = on[-1] if on else None
        if level != self.level:
            up = level is not None and (
                self.level is None or ORDER.index(level) > ORDER.index(self.level)
            )
            word = (
                ("raised" if self.level is None else "escalated")
                if up
                else ("lowered" if level else "cleared")
            )
            self.log.append((now, word, level))
            self.level = level
