"""``hushd ack``."""

import argparse
from collections.abc import Mapping
from typing import Any

from hushd.cli.common import add_where, command
from hushd.cli.silence import add_what
from hushd.cli.status import named


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = command(commands, ack)
    add_what(parser, help="the rule that fires, SENSOR/no-data or internal/...")
    parser.add_argument("--comment", required=True, metavar="TEXT", help="who does what about it")
    add_where(parser)


def ack(args: argparse.Namespace) -> int:
    """Say that somebody minds an alert that fires: nobody is reminded of it any more.

    That holds until it is over; that it gets worse, and that it is over, is told as always.
    Exit code 1 if nothing that is meant fires; 69 if no daemon answers.
    """
    from hushd.cli.asking import inquire, printable  # noqa: PLC0415  see hushd.cli

    def show(answer: Mapping[str, Any]) -> None:
        for alert in answer["acknowledged"]:
            print(printable(f"acknowledged {named(alert)} ({alert['severity']})"))

    labels = dict(args.label)
    request = {"do": "ack", "rule": args.rule, "labels": labels, "comment": args.comment}
    return inquire(args, request, show)
