"""Puts the parts together and runs them: what ``hushd run`` and ``hushd demo`` have in common."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from hushd.config.records import Config, NotifierConfig
from hushd.core.engine import Engine
from hushd.runtime.clocks import Clock, StampClock, WallClock
from hushd.runtime.delivery import Delivery, Patience, Way
from hushd.runtime.inbox import Inbox
from hushd.runtime.intake import Intake
from hushd.runtime.logs import Log
from hushd.runtime.loop import Loop
from hushd.runtime.mqtt import MqttSource
from hushd.runtime.store import VolatileStore


def serve(
    config: Config,
    inbox: Inbox,
    log: Log,
    *,
    patience: Patience | None = None,
    say: Callable[..., None] | None = None,
) -> None:
    """Run until the inbox brings a Stop; then take leave of everybody in order.

    Args:
        config: What to do.
        inbox: Where signals arrive, too.
        log: Where to report.
        patience: With notifiers that fail.
        say: Where the ``log`` notifier writes, if not to the log.
    """
    clock: Clock = StampClock() if config.clock == "stamps" else WallClock()
    engine = Engine(config.rules, config.catalog.aggregators)
    intake = Intake(config.sensors, clock, config.limits.payload, log)
    store = VolatileStore()
    delivery = Delivery(
        [
            Way(notifier.name, notifier.type, _options(notifier))
            for notifier in config.notifiers.values()
        ],
        config.rules.rules,
        store,
        log,
        site=config.site.name,
        zone=config.site.zone,
        patience=patience,
        say=say,
    )
    source = MqttSource(
        config.mqtt, (sensor.template.filter for sensor in config.sensors.values()), inbox, log
    )
    log.info("hushd.started", rules=len(config.rules.rules), sensors=len(config.sensors))
    try:
        Loop(
            inbox=inbox,
            intake=intake,
            clock=clock,
            engine=engine,
            store=store,
            delivery=delivery,
            acknowledge=source.acknowledge,
            watch=source.watch,
            log=log,
        ).run()
    finally:
        inbox.close()
        source.stop()
        delivery.close()
        store.close()
        log.info(
            "hushd.stopped",
            readings=intake.accepted,
            rejected=sum(intake.rejected.values()) + sum(engine.rejected.values()),
        )


def _options(notifier: NotifierConfig) -> dict[str, Any]:
    """Return the options as the plugin takes them: secrets revealed, paths where they belong."""
    options = notifier.revealed()
    for option in notifier.type.options:
        if option.kind == "path" and options.get(option.name) is not None:
            options[option.name] = str(state_directory() / options[option.name])
    return options


def state_directory() -> Path:
    """Return where relative paths of what is written lead: systemd's choice, else here."""
    return Path(os.environ.get("STATE_DIRECTORY", "").split(":")[0])


@contextmanager
def signals(inbox: Inbox) -> Iterator[None]:
    """Let SIGTERM and SIGINT end the loop in order, a second one at once; SIGHUP reloads."""
    asked = False

    def stop(signum: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            os._exit(128 + signum)
        asked = True
        inbox.on_stop(signum, frame)

    before = {
        signal.SIGTERM: signal.signal(signal.SIGTERM, stop),
        signal.SIGINT: signal.signal(signal.SIGINT, stop),
        signal.SIGHUP: signal.signal(signal.SIGHUP, inbox.on_reload),
    }
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
