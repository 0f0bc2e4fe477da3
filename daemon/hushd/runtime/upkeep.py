"""What hushd notices about itself, for those who should hear of it.

The loop comes by once a second.  What was wrong in between is either still to be seen then
(a broker that is away, a notifier that fails) or was counted (readings turned away, a
plugin that was put to rest).
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hushd.config.records import Config
from hushd.core.alerts import Alarm
from hushd.core.engine import Engine
from hushd.core.internal import Kind as Trouble
from hushd.core.internal import Troubles
from hushd.core.readings import SECOND
from hushd.core.transitions import Transition
from hushd.core.windows import EVER, REST, Fault
from hushd.plugin.catalog import Kind
from hushd.runtime.clocks import Clock, WallClock
from hushd.runtime.inbox import Inbox
from hushd.runtime.intake import Intake
from hushd.runtime.logs import Log

MINUTE = 60 * SECOND


@dataclass(frozen=True, slots=True)
class Bounds:
    """When a trouble is one, and when it was one; in ns."""

    lost: int = 30 * SECOND  # the broker away
    failing: int = 5 * MINUTE  # a notifier
    quiet: int = 15 * MINUTE  # what comes and goes is over


@dataclass(frozen=True, slots=True)
class Standing:
    """How the parts stand: what is wrong with each, "" where all is well."""

    broker: str = ""
    clock: str = ""
    config: str = ""
    store: str = ""


class Upkeep:
    """Looks at all parts and holds what troubles there are.

    Args:
        config: Whom to tell, and what the plugins are called.
        clock: The engine's; where it knows no time of its own, the wall clock serves.
        log: Where to say more.
        bounds: When a trouble is one.
    """

    def __init__(
        self, config: Config, clock: Clock, log: Log, bounds: Bounds | None = None
    ) -> None:
        self._bounds = bounds or Bounds()
        self._clock: Clock = WallClock() if clock.now() is None else clock
        self._log = log
        self._troubles = Troubles(config.internal.severity, config.internal.notify)
        self._catalog = config.catalog
        self._limits = config.limits
        self._mishaps: dict[tuple[Trouble, str], str] = {}  # -> why, since the last look
        self._said: dict[str, int] = {}  # plugin -> when the log may speak of it again
        self._counted: Counter[str] = Counter()

    def change(self, config: Config) -> None:
        """Go on with another configuration."""
        self._troubles.change(config.internal.severity, config.internal.notify)
        self._catalog = config.catalog
        self._limits = config.limits

    def mind(self, engine: Engine, intake: Intake) -> None:
        """Hear of it when a plugin fails in one of these."""
        engine.on_fault = self.fault
        intake.on_rest = self.rested

    def fault(self, fault: Fault) -> None:
        """Take note that an aggregator raised."""
        label = self._plugin("aggregator", fault.aggregator)
        if fault.rests:
            self._rest(label, f"{fault.aggregator}: {fault.error}")
        elif self._said.get(label, EVER) <= fault.at:
            self._said[label] = fault.at + MINUTE
            self._log.warning(
                "plugin.failed",
                plugin=label,
                aggregator=fault.aggregator,
                labels=dict(fault.labels),
                error=fault.error,
            )

    def rested(self, decoder: str, error: str) -> None:
        """Take note that a decoder raised so often that it is not asked for a while."""
        self._rest(self._plugin("decoder", decoder), f"{decoder}: {error}")

    def _rest(self, label: str, why: str) -> None:
        name = label.partition(" (")[0]
        if ("plugin", name) not in self._mishaps:
            self._log.error("plugin.rested", plugin=label, error=why, rest_s=REST // SECOND)
        self.mishap("plugin", name, why)

    def mishap(self, kind: Trouble, which: str, why: str) -> None:
        """Take note of what is over as soon as it has happened."""
        self._mishaps[kind, which] = why

    def look(
        self,
        standing: Standing,
        notifiers: Mapping[str, Mapping[str, Any]],
        engine: Engine,
        intake: Intake,
        inbox: Inbox,
    ) -> list[Transition]:
        """Return what became a trouble, or is one no more."""
        now = self._clock.now()
        assert now is not None  # noqa: S101  see __init__
        told = self._troubles.advance(now)
        told += self._lasting(now, "broker", standing.broker, self._bounds.lost)
        told += self._lasting(now, "clock", standing.clock)
        told += self._lasting(now, "config", standing.config)
        told += self._lasting(now, "store", standing.store)
        told += self._look_at_notifiers(now, notifiers)
        told += self._look_at_limits(now, engine, intake, inbox)
        for (kind, which), why in self._mishaps.items():
            told += self._troubles.note(now, kind, which, why, quiet=self._bounds.quiet)
        self._mishaps.clear()
        return told

    def save(self) -> bytes:
        """Return the troubles, for after a restart."""
        return self._troubles.save()

    def load(self, data: bytes) -> None:
        """Go on with the troubles that `save` returned."""
        self._troubles.load(data)

    def _lasting(self, now: int, kind: Trouble, why: str, after: int = 0) -> list[Transition]:
        """Note a trouble that lasts until there is nothing wrong any more."""
        if not why:
            return self._troubles.over(now, kind)
        return self._troubles.note(now, kind, why=why.partition("\n")[0], after=after)

    def alarms(self) -> list[Alarm]:
        """Return the troubles there are now."""
        return list(self._troubles.alarms())

    def _look_at_notifiers(
        self, now: int, notifiers: Mapping[str, Mapping[str, Any]]
    ) -> list[Transition]:
        """Look for those that fail, or that hang so often that they are replaced no more."""
        told = []
        for name, state in notifiers.items():
            failed, succeeded = state["failed_at"], state["told_at"]
            if state["stuck"]:
                told += self._troubles.note(now, "notifier", name, "it does not answer")
            elif failed is not None and (succeeded is None or succeeded < failed):
                told += self._troubles.note(
                    now, "notifier", name, state["error"][:200], after=self._bounds.failing
                )
            else:
                told += self._troubles.over(now, "notifier", name)
        for gone in set(self._troubles.known("notifier")) - notifiers.keys():
            told += self._troubles.over(now, "notifier", gone)
        return told

    def _look_at_limits(
        self, now: int, engine: Engine, intake: Intake, inbox: Inbox
    ) -> list[Transition]:
        """Look for what was turned away since the last look because there is too much of it."""
        limits, turned = self._limits, _reasons(engine, intake)
        counts = {
            "series": (turned["too_many_series"], f"{limits.series} series are known"),
            "alerts_per_rule": (
                turned["too_many_alerts"],
                f"a rule has {limits.alerts_per_rule} alerts",
            ),
            "payload": (
                turned["payload_too_long"],
                f"a message holds more than {limits.payload} bytes",
            ),
            "inbox": (
                inbox.dropped,
                f"{limits.inbox} messages waited, and some of QoS 0 were lost",
            ),
        }
        told = []
        for limit, (number, why) in counts.items():
            if number > self._counted[limit]:
                told += self._troubles.note(now, "limit", limit, why, quiet=self._bounds.quiet)
            self._counted[limit] = number
        return told

    def _plugin(self, kind: Kind, name: str) -> str:
        """Return the label of the plugin that offers it: "rms (hushd-rms 0.3)"."""
        offer = f"{kind} {name}"
        labels = (plugin.label for plugin in self._catalog.plugins if offer in plugin.offers)
        return next(labels, name)


def _reasons(engine: Engine, intake: Intake) -> Counter[str]:
    counted: Counter[str] = Counter()
    for rejected in (engine.rejected, intake.rejected):
        for (_, reason), number in rejected.items():
            counted[reason] += number
    return counted
