"""Ears: since when one of the sensors that a rule looks at is silent.

A rule with one window minds the silence of one sensor itself.  One with several has an ear
for each, and each has its say in when people hear that its sensor is silent.
"""

from hushd.core.rules import NoData, Rule
from hushd.core.silences import Silence, patience
from hushd.core.windows import Pool


class Ear:
    """What hears the readings that count together in one of a rule's windows."""

    __slots__ = (
        "_after",
        "_written",
        "key",
        "plan",
        "pool",
        "quiet_since",
        "sensor",
        "silence",
        "silent",
    )

    def __init__(self, plan: Rule, sensor: str, key: str, interval: int | None) -> None:
        """Hear of no pool yet; *interval*: the one that the sensor is configured with."""
        self.plan = plan
        self.sensor = sensor
        self.key = key  # of its pool
        self.pool: Pool | None = None
        self.silence: Silence | None = None
        self.quiet_since = 0
        self.silent = False
        no_data: NoData | None = plan.no_data
        self._written = no_data is None or no_data.after is not None
        self._after = None if no_data is None else no_data.after
        self.learn(interval)

    @property
    def patience_ends(self) -> int | None:
        """When the silence is, or was, too long; None: never, or not known yet."""
        return None if self._after is None else self.quiet_since + self._after

    @property
    def heard(self) -> int | None:
        """Engine time when its newest reading was judged."""
        return None if self.pool is None else self.pool.judged

    def learn(self, interval: int | None) -> None:
        """Bear a silence of some intervals, where the rule does not say how long."""
        if interval is None or self._written:
            return
        after = patience(interval)
        if after != self._after:
            self._after = after
            if self.silence is not None:
                self.silence.scheduled = None  # it may be due earlier

    def restart(self, at: int) -> None:
        """Count silence from *at*, unless it already counts from later."""
        self.quiet_since = max(self.quiet_since, at)

    def bear(self, at: int) -> None:
        """Let no silence be too long before *at*."""
        if self._after is not None and not self.silent:
            self.quiet_since = max(self.quiet_since, at - self._after)

    def catch_up(self, behind: int) -> None:
        """Derive what the pool's readings have changed, *behind* the engine's time."""
        if self.pool is None:
            return
        if self.pool.judged is not None:
            self.restart(self.pool.judged - behind)
        self.learn(self.pool.learned)

    def save(self) -> list[int | bool]:
        """Return since when it hears nothing, and whether for too long."""
        return [self.quiet_since, self.silent]

    def load(self, quiet_since: int, *, silent: bool) -> None:
        """Take that back."""
        self.quiet_since = quiet_since
        self.silent = silent and self.plan.no_data is not None
