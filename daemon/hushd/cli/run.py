"""``hushd run``."""

import argparse
import sys
from pathlib import Path

from hushd.cli.codes import BAD_CONFIG, OK
from hushd.cli.common import command, read_config


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = command(commands, run)
    parser.add_argument("-c", "--config", type=Path, metavar="FILE", required=True)


def run(args: argparse.Namespace) -> int:
    """Watch the sensors and tell people, until stopped.

    Logs to standard error: lines for people on a terminal, JSON elsewhere.  A broker that
    is not there is tried again for ever.  SIGTERM and Ctrl-C end it in order, with exit
    code 0; a second one ends it at once.
    """
    config = read_config(args.config, for_run=True)
    if config is None:
        return BAD_CONFIG
    from hushd.runtime import daemon, logs  # noqa: PLC0415  see hushd.cli
    from hushd.runtime.inbox import Inbox  # noqa: PLC0415  likewise

    log, output = logs.open_log(sys.stderr, config.log.level, config.log.format)
    inbox = Inbox(config.limits.inbox)
    with daemon.signals(inbox):
        for warning in config.warnings:
            log.warning("config.warned", problem=str(warning))
        daemon.serve(config, inbox, log)
    output.writer.close()
    return OK
