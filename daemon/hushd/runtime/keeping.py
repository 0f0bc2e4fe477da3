"""What a daemon begins with: what the one before it has kept, or nothing."""

import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hushd.config.records import Config
from hushd.core.engine import Engine
from hushd.core.readings import SECOND
from hushd.core.rules import DAY
from hushd.core.transitions import Transition, rfc3339
from hushd.runtime.clocks import Clock
from hushd.runtime.ledger import Gap, Ledger
from hushd.runtime.logs import Log
from hushd.runtime.redelivery import Mark
from hushd.runtime.store import Store, VolatileStore

SHOWN = 20  # gaps


class Beginning(NamedTuple):
    """Where to go on from."""

    store: Store
    engine: Engine
    owed: Sequence[Transition] = ()  # what the time away has changed
    packets: Sequence[Mark] = ()  # of messages that may come again
    troubles: bytes | None = None
    gaps: Sequence[Gap] = ()
    in_hand: bytes | None = None  # what was being judged when the last process ended
    damage: str = ""  # why what there was could not be used


def anew(config: Config) -> Beginning:
    """Begin with nothing, and keep nothing."""
    return Beginning(VolatileStore(), Engine(config.rules, config.catalog.aggregators))


def resume(config: Config, clock: Clock, state: Path, log: Log) -> Beginning:
    """Go on from what is kept in the directory *state*; the clock goes on, too.

    Raises:
        StoreError: the store cannot be used, and the daemon is not to run without.
    """
    ledger = Ledger(
        state / config.store.path,
        config.store,
        log,
        clock=config.clock,
        inbox=config.limits.inbox,
        stamp=clock.mark,
    )
    left = ledger.recover(config.rules, config.catalog.aggregators)
    ledger.bury_orphans(config.notifiers.keys(), time.time_ns() - DAY)
    away = clock.resume(left.clock or {})
    engine, now = left.engine, clock.now()
    owed: Sequence[Transition] = ()
    damage = ledger.opened.damage
    if damage:
        ledger.gap(now or 0, damage)
    if engine is None:
        engine = Engine(config.rules, config.catalog.aggregators)
    elif now is not None:
        # of what nobody keeps, neither the broker nor we, nothing is here
        kept = away <= config.mqtt.session_expiry and config.store.profile == "durable"
        owed = engine.resumed(
            now, gap=not kept or bool(damage), shift=clock.civil(0), trusted=not clock.why
        )
        log.info("hushd.resumed", away_s=round(away / SECOND, 1), series=engine.series)
    ledger.mind(engine)
    return Beginning(
        ledger, engine, owed, left.packets, left.troubles, left.gaps, left.in_hand, damage
    )


def shown(store: Store, gaps: "deque[Gap]") -> dict[str, Any]:
    """Return what `hushd status` tells of the store."""
    return {
        "path": str(store.path) if isinstance(store, Ledger) else None,
        "trouble": store.trouble,
        "gaps": [{"at": rfc3339(gap.wall - gap.wall % SECOND), "why": gap.why} for gap in gaps],
    }
