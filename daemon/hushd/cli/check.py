"""``hushd check``."""

import argparse
import sys
from pathlib import Path

from hushd.cli.codes import BAD_CONFIG, OK
from hushd.cli.common import command, read_config


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = command(commands, check)
    parser.add_argument("files", metavar="FILE", type=Path, nargs="+", help="configuration file")


def check(args: argparse.Namespace) -> int:
    """Say whether configuration files are sound.

    Contacts nothing and changes nothing.  Every problem is shown at once, with its
    place and a way out.  Exit code 0 if all files are sound, 78 if one is not.
    """
    code = OK
    for path in args.files:
        config = read_config(path, for_run=False)
        if config is None:
            code = BAD_CONFIG
            continue
        for warning in config.warnings:
            print(warning, file=sys.stderr)
        number = len(config.rules.rules)
        rules = "1 rule" if number == 1 else f"{number} rules"
        print(f"{path}: {rules}, {_problems(len(config.warnings))}")
    return code


def _problems(warnings: int) -> str:
    if not warnings:
        return "no problems"
    return "1 warning" if warnings == 1 else f"{warnings} warnings"
