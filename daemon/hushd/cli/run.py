"""``hushd run``."""

import argparse
import gc
import sys
import threading
from pathlib import Path

from hushd.cli.codes import BAD_CONFIG, OK, UNAVAILABLE
from hushd.cli.common import command, read_config


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = command(commands, run)
    parser.add_argument("-c", "--config", type=Path, metavar="FILE", required=True)
    parser.add_argument(
        "--socket", type=Path, metavar="PATH", help="where `hushd status` and `reload` ask"
    )


def run(args: argparse.Namespace) -> int:
    """Watch the sensors and tell people, until stopped.

    Logs to standard error: lines for people on a terminal, JSON elsewhere, fields in
    systemd's journal.  A broker that is not there is tried again for ever.  SIGTERM and
    Ctrl-C end it in order, with exit code 0; a second one ends it at once.  SIGHUP reads
    the configuration again; if it is not sound, the rules before it keep running.
    """
    config = read_config(args.config, for_run=True)
    if config is None:
        return BAD_CONFIG
    from hushd.config import read  # noqa: PLC0415  see hushd.cli
    from hushd.runtime import control, daemon, logs  # noqa: PLC0415  likewise
    from hushd.runtime.inbox import Inbox  # noqa: PLC0415  likewise
    from hushd.runtime.storefile import StoreError, StoreInUseError  # noqa: PLC0415  likewise
    from hushd.runtime.systemd import Manager  # noqa: PLC0415  likewise

    log, output = logs.open_log(sys.stderr, config.log.level, config.log.format)
    threading.excepthook = logs.last_words(log)
    inbox = Inbox(config.limits.inbox)
    _collect_seldom()
    code = OK
    with daemon.signals(inbox):
        for warning in config.warnings:
            log.warning("config.warned", problem=str(warning))
        try:
            daemon.serve(
                config,
                inbox,
                log,
                reread=lambda: read(args.config, for_run=True),
                control=args.socket or control.places()[0] / control.name_for(args.config),
                output=output,
                manager=Manager(),
                lasting=True,
            )
        except StoreInUseError as exc:
            log.error("store.in_use", error=str(exc))  # noqa: TRY400  the sentence says it all
            code = UNAVAILABLE
        except StoreError as exc:
            log.error("store.refused", error=str(exc))  # noqa: TRY400  likewise
            code = BAD_CONFIG
    output.writer.close()
    return code


def _collect_seldom() -> None:
    """Spare the daemon most searches for garbage: each is a pause, and it makes few cycles.

    What start-up made stays for good and is not looked through again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
