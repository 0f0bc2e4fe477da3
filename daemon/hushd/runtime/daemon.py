"""Puts the parts together and runs them: what ``hushd run`` and ``hushd demo`` have in common."""

import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from socket import gethostname
from types import FrameType
from typing import Any

from hushd.config import ConfigError
from hushd.config.records import Config, NotifierConfig
from hushd.config.secret import Secret
from hushd.core.alarms import Alarm
from hushd.core.engine import Engine
from hushd.core.readings import Labels
from hushd.core.schedules import Calendar
from hushd.core.transitions import Transition, rfc3339
from hushd.runtime import keeping, sessions, status
from hushd.runtime.broker import Broker
from hushd.runtime.clocks import Clock, StampClock, WallClock
from hushd.runtime.control import Control, refusal
from hushd.runtime.delivery import Delivery, Patience, Way
from hushd.runtime.inbox import Inbox
from hushd.runtime.intake import Intake
from hushd.runtime.ledger import Gap, Ledger
from hushd.runtime.logs import Log, Output
from hushd.runtime.loop import Loop
from hushd.runtime.matching import matches
from hushd.runtime.notes import Current
from hushd.runtime.redelivery import Ring
from hushd.runtime.silencing import Silencing
from hushd.runtime.suspects import Suspects
from hushd.runtime.systemd import Manager
from hushd.runtime.upkeep import Standing, Upkeep

STATUS_EVERY = 10.0  # seconds; where systemd waits for no beat


def serve(
    config: Config,
    inbox: Inbox,
    log: Log,
    *,
    patience: Patience | None = None,
    say: Callable[..., None] | None = None,
    reread: Callable[[], Config] | None = None,
    control: Path | None = None,
    output: Output | None = None,
    manager: Manager | None = None,
    observe: Callable[[Engine], None] | None = None,
    lasting: bool = False,
) -> None:
    """Run until the inbox brings a Stop; then take leave of everybody in order.

    Args:
        config: What to do.
        inbox: Where signals arrive, too.
        log: Where to report.
        patience: With notifiers that fail.
        say: Where the ``log`` notifier writes, if not to the log.
        reread: Reads the configuration again; without it there is no reload.
        control: Where to be asked, if anywhere.
        output: Behind the log; its level and format follow the configuration.
        manager: Who started the process.
        observe: Is shown the engine, to look at it and no more, whenever the loop has come by.
        lasting: Keep what happens on the disk, and go on from what is kept there.

    Raises:
        StoreError: the store cannot be used, and the daemon is not to run without.
    """
    daemon = Daemon(
        config,
        inbox,
        log,
        patience=patience,
        say=say,
        reread=reread,
        output=output,
        manager=manager or Manager({}),
        observe=observe,
        lasting=lasting,
    )
    daemon.run(control)


class Daemon:
    """The parts at work, and how they change when the configuration does."""

    def __init__(
        self,
        config: Config,
        inbox: Inbox,
        log: Log,
        *,
        patience: Patience | None,
        say: Callable[..., None] | None,
        reread: Callable[[], Config] | None,
        output: Output | None,
        manager: Manager,
        observe: Callable[[Engine], None] | None = None,
        lasting: bool = False,
    ) -> None:
        self._config = config
        self._inbox = inbox
        self._log = log
        self._reread = reread
        self._output = output
        self._manager = manager
        self._began = time.monotonic()
        self._began_at = self._read_at = time.time_ns()
        self._refused = ""  # what was wrong with the configuration at the last reload
        self._told_systemd = 0.0
        self._clock: Clock = StampClock() if config.clock == "stamps" else WallClock()
        start = (
            keeping.resume(config, self._clock, state_directory(), log)
            if lasting
            else keeping.anew(config)
        )
        self._store, self._engine, self._owed = start.store, start.engine, start.owed
        self._gaps = deque(start.gaps, keeping.SHOWN)
        self._ring = Ring(config.limits.inbox)
        self._ring.load(start.packets)
        self._intake = self._make_intake(config)
        self._broker = Broker(config, inbox, log, state_directory() if lasting else None)
        self._upkeep = Upkeep(config, self._clock, log)
        self._upkeep.mind(self._engine, self._intake)
        if start.troubles is not None:
            self._upkeep.load(start.troubles)
        if start.damage:
            self._miss("store", start.damage)
        self._current: Mapping[tuple[str, Labels], Current] = {}
        self._delivery = Delivery(
            ways(config),
            config.rules.rules,
            self._store,
            log,
            site=config.site.name,
            node=gethostname(),
            zone=config.site.zone,
            messages=config.messages,
            patience=patience,
            say=say,
            publish=self._broker.publish,
            calendar=Calendar(config.rules.schedules, config.rules.holidays),
            standing=[((alarm.rule, alarm.labels), alarm.level) for alarm in self._known()],
            current=self._stands,
        )
        self._silencing = Silencing(config, self._store, self._known, log, self._delivery.announce)
        self._loop = Loop(
            inbox=inbox,
            intake=self._intake,
            clock=self._clock,
            engine=self._engine,
            store=self._store,
            delivery=self._delivery,
            acknowledge=self._broker.acknowledge,
            watch=self._watch,
            log=log,
            ring=self._ring,
            suspects=Suspects(start.in_hand),
            reload=self.reload,
            answer=self.answer,
            upkeep=self._look_at_ourselves,
            troubles=self._upkeep.save,
            mishap=self._miss,
            recorded=self._broker.recorded,
            observe=observe,
        )

    def run(self, control: Path | None) -> None:
        """Work until told to stop, and be asked meanwhile at *control*."""
        config = self._config
        door = None if control is None else Control(control, self._inbox.ask, self._log)
        self._broker.start()
        self._log.info("hushd.started", rules=len(config.rules.rules), sensors=len(config.sensors))
        self._manager.ready(self._line())
        try:
            self._loop.run(self._owed)
        except BaseException:
            self._store.abandon()
            raise
        finally:
            self._manager.stopping()
            if door is not None:
                door.close()
            self._inbox.close()
            self._broker.stop()
            self._delivery.close()
            self._broker.close()
            self._store.close()
            self._log.info(
                "hushd.stopped",
                readings=self._intake.accepted,
                rejected=self._intake.rejected.total() + self._engine.rejected.total(),
            )

    # -- called by the loop ------------------------------------------------------------

    def answer(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the answer to a request from the control socket."""
        try:
            match request.get("do"):
                case "status":
                    return {"ok": True, "status": self.status()}
                case "series":
                    return {"ok": True, "rules": matches(self._engine)}
                case "reload":
                    return self.reload()
                case "backup":
                    return self._backup()
                case "silence" | "silence-end" | "silences" | "ack":
                    return self._silencing.answer(request)
                case other:
                    return refusal(2, f'this hushd cannot "{str(other)[:40]}"')
        except Exception as exc:  # noqa: BLE001  a question must not end the daemon
            self._log.error("control.failed", error=f"{type(exc).__name__}: {exc}")
            return refusal(1, f"{type(exc).__name__}: {exc}")

    def reload(self) -> Mapping[str, Any]:
        """Read the configuration again and go on with it; if it is not sound, as before."""
        if self._reread is None:
            self._log.warning("hushd.reload_ignored")
            return refusal(1, "there is no configuration to read again")
        self._manager.reloading()
        try:
            return self._reload(self._reread)
        finally:
            self._manager.ready(self._line())

    def _reload(self, reread: Callable[[], Config]) -> Mapping[str, Any]:
        try:
            config = reread()
            if config.clock != self._config.clock:
                raise ValueError(
                    f"{config.path}: error: the clock cannot change while hushd runs\n"
                    "  hint: restart it; windows and alerts begin anew then"
                )
            if config.store.path != self._config.store.path:
                raise ValueError(
                    f"{config.path}: error: the store cannot move while hushd runs\n"
                    "  hint: stop it, move the file to where it is to be, and start it"
                )
            engine = Engine.restore(
                config.rules, config.catalog.aggregators, self._engine.snapshot()
            )
            intake = self._make_intake(config)
            told_by = ways(config)
        except Exception as exc:  # noqa: BLE001  whatever it is, the old rules keep running
            expected = isinstance(exc, ConfigError | OSError | LookupError | ValueError)
            self._refused = str(exc) if expected else f"{type(exc).__name__}: {exc}"
            self._log.error(
                "config.refused", problems=self._refused, hint="the rules before it keep running"
            )
            return refusal(78, self._refused)
        before, self._config = self._config, config
        intake.accepted, intake.rejected = self._intake.accepted, self._intake.rejected
        self._engine, self._intake = engine, intake
        self._read_at, self._refused = time.time_ns(), ""
        if self._output is not None:
            self._output.change(config.log.level, config.log.format)
        for warning in config.warnings:
            self._log.warning("config.warned", problem=str(warning))
        site = config.site
        self._delivery.change(
            told_by,
            config.rules.rules,
            site=site.name,
            zone=site.zone,
            messages=config.messages,
            calendar=Calendar(config.rules.schedules, config.rules.holidays),
        )
        self._upkeep.change(config)
        self._upkeep.mind(engine, intake)
        self._silencing.change(config)
        if isinstance(self._store, Ledger):
            self._store.change(config.store, config.limits.inbox)
        self._store.mind(engine)
        self._loop.change(engine, intake)
        self._delivery.let_go()
        self._inbox.resize(config.limits.inbox)
        self._follow(before, config)
        self._log.info(
            "config.reloaded",
            rules=len(config.rules.rules),
            sensors=len(config.sensors),
            notifiers=len(config.notifiers),
        )
        return {"ok": True, "warnings": [str(warning) for warning in config.warnings]}

    def _follow(self, before: Config, config: Config) -> None:
        """Listen to what is wanted now, at the broker that is named now."""
        same_name = before.site.name == config.site.name  # the client id is made of it
        old, new = before.limits, config.limits  # of these, the connection is told
        same_limits = (old.payload, old.inbox) == (new.payload, new.inbox)
        same_broker = plain(before.mqtt) == plain(config.mqtt) and same_limits
        if same_broker and same_name:
            self._broker.listen(config)
            return
        if session_of(before) != session_of(config):
            self._ring.clear()
            self._store.session_lost()
        self._broker.move(config)

    def _watch(self) -> None:
        """Look after the broker, and let systemd know that the loop has come by.

        Not when the source's thread cannot be brought back.  A notifier that hangs is no
        reason to begin anew with empty windows: it costs no other, and status shows it.
        """
        self._broker.watch()
        self._current = {  # for those who remind people; they have no engine at hand
            (alert.rule, alert.labels): Current(
                alert.last, alert.peak, alert.state.startswith("clearing")
            )
            for alert in self._engine.alerts()
            if alert.plan.repeat and alert.level is not None
        }
        if self._store.watch():
            self._rekeep()
        self._silencing.tidy()
        now = time.monotonic()
        if self._broker.alive and now - self._told_systemd >= (
            self._manager.beat_s or STATUS_EVERY
        ):
            self._told_systemd = now
            self._manager.beat(self._line())

    def _rekeep(self) -> None:
        """Let the store, which is there again, keep all there is."""
        store = self._store
        strange = isinstance(store, Ledger) and store.strange
        if strange:
            self._silencing.announce()  # before anybody tells what waits in it
        self._delivery.rekeep(adopt=strange)
        if isinstance(store, Ledger) and strange:
            self._miss("store", store.opened.damage)

    def _look_at_ourselves(self) -> list[Transition]:
        """Return which troubles of our own began or ended."""
        link, mqtt = self._broker.link, self._config.mqtt
        standing = Standing(
            broker="" if link.connected else f"{mqtt.host}:{mqtt.port}: {link.reason}",
            clock=self._clock.why,
            config=self._refused,
            store=self._store.trouble,
        )
        return self._upkeep.look(
            standing, self._delivery.state(), self._engine, self._intake, self._inbox
        )

    def _miss(self, which: str, why: str) -> None:
        """Let people know that readings are missing."""
        self._gaps.append(Gap(0, time.time_ns(), why))
        self._upkeep.mishap("gap", which, why)

    def _backup(self) -> Mapping[str, Any]:
        """Write a copy of the store beside it, for whoever asked to take away."""
        if not isinstance(self._store, Ledger):
            return refusal(1, "this hushd keeps nothing")
        copy = self._store.path.with_name(f"{self._store.path.name}.copy-{time.time_ns()}")
        try:
            self._store.backup(copy)
        except OSError as exc:
            copy.unlink(missing_ok=True)
            return refusal(1, str(exc))
        return {"ok": True, "file": str(copy)}

    # -- how it fares --------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        """Return all that `hushd status` shows."""
        config, link = self._config, self._broker.link
        now = self._engine.now
        found: dict[str, Any] = {
            "version": _version(),
            "pid": os.getpid(),
            "started": _second(self._began_at),
            "uptime_s": round(time.monotonic() - self._began, 1),
            "configuration": {
                "path": str(config.path.resolve()),
                "read": _second(self._read_at),
                "rules": len(config.rules.rules),
                "sensors": len(config.sensors),
                "warnings": [str(warning) for warning in config.warnings],
                "refused": self._refused,
            },
            "broker": {
                "host": config.mqtt.host,
                "port": config.mqtt.port,
                "connected": link.connected,
                "protocol": link.protocol,
                "since": _second(round(link.since) * 10**9 or self._began_at),
                "reason": "" if link.connected else link.reason,
                "refused": self._broker.refused,
            },
            "time": None if now is None else rfc3339(self._clock.civil(now)),
            "clock": {"trouble": self._clock.why},
            "store": keeping.shown(self._store, self._gaps),
            "series": {"number": self._engine.series, "limit": config.limits.series},
            "alerts": status.alerts(
                self._engine, self._upkeep.alarms(), self._store.mutes(), self._store.acks()
            ),
            "silences": self._silencing.shown(),
            "readings": {
                "accepted": self._intake.accepted,
                "rejected": status.rejects(self._intake.rejected, self._engine.rejected),
                "waiting": self._inbox.waiting,
                "dropped": self._inbox.dropped,
            },
            "notifiers": status.notifiers(self._delivery.state()),
            "log": {"dropped": 0 if self._output is None else self._output.writer.dropped},
        }
        found["troubles"] = status.troubles(found)
        found["state"] = "degraded" if found["troubles"] else "ok"
        return found

    def _stands(self, alert: tuple[str, Labels]) -> Current | None:
        """Return how an alert stood when last looked at; called by any thread."""
        return self._current.get(alert)

    def _known(self) -> list[Alarm]:
        return status.known(self._engine, self._upkeep.alarms())

    def _line(self) -> str:
        """Return how it fares in one line, for systemd."""
        states = self._delivery.state()
        link = self._broker.link
        words = [] if link.connected else [f"broker: {link.reason}"]
        if self._store.trouble:
            words.append("degraded: not durable")
        words += [f"{name} fails" for name, state in states.items() if state["failures"]]
        if self._refused:
            words.append("configuration on the disk not sound")
        waiting = sum(state["waiting"] for state in states.values())
        return status.line(self._engine.series, self._engine, waiting, words)

    # -- made of the configuration -------------------------------------------------------

    def _make_intake(self, config: Config) -> Intake:
        return Intake(config.sensors, self._clock, config.limits.payload, self._log)


def ways(config: Config) -> list[Way]:
    """Return how people are told."""
    return [way(notifier) for notifier in config.notifiers.values()]


def way(notifier: NotifierConfig) -> Way:
    """Return how one notifier tells.

    Raises:
        LookupError: a secret was not there when the configuration was read.
    """
    return Way(
        notifier.name, notifier.type, _options(notifier), notifier.secrets(), notifier.manner
    )


def session_of(config: Config) -> tuple[str, str, int]:
    """Return what names our session, and where."""
    mqtt = config.mqtt
    return sessions.client_id(mqtt, config.site.name), mqtt.host, mqtt.port


def plain(value: Any) -> Any:
    """Return a record of the configuration so that two can be compared, secrets and all."""
    if isinstance(value, Secret):
        return None if value.missing else value.reveal()
    if is_dataclass(value) and not isinstance(value, type):
        return [plain(getattr(value, field.name)) for field in fields(value)]
    return value


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


@cache
def _version() -> str:
    return version("hushd")


def _second(at: int) -> str:
    return rfc3339(at - at % 10**9)


@contextmanager
def signals(inbox: Inbox, at_once: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Let SIGTERM and SIGINT end the loop in order, a second one at once; SIGHUP reloads.

    *at_once* is called before such an end.
    """
    asked = False

    def stop(signum: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            at_once()
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
