"""``hushd reload``."""

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from hushd.cli.common import add_where, command


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    add_where(command(commands, reload))


def reload(args: argparse.Namespace) -> int:
    """Let the running daemon read its configuration again, and wait for the outcome.

    Windows and alerts of rules that did not change go on; alerts of rules that are gone
    end, and are told so.  If anything is wrong with the new configuration, every problem
    is shown, the old one keeps running, and the exit code is 78; 69 if no daemon answers.
    Secrets from systemd are those that it gave at the start.
    """
    from hushd.cli.asking import inquire  # noqa: PLC0415  see hushd.cli

    return inquire(args, {"do": "reload"}, _show)


def _show(answer: Mapping[str, Any]) -> None:
    for warning in answer.get("warnings", ()):
        print(warning, file=sys.stderr)
    print("the configuration was read again and is in force")
