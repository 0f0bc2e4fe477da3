"""``hushd replay``."""

import argparse
import sys
from pathlib import Path

from hushd.cli.codes import BAD_CONFIG, OK, USAGE
from hushd.cli.common import command, print_utf8, read_config


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = command(commands, replay)
    add_recording(parser)
    parser.add_argument("--trace", type=Path, metavar="FILE", help="write every evaluation there")
    parser.add_argument(
        "--what-if",
        metavar="RULE.KEY=VALUE",
        action="append",
        default=[],
        help="compare with a rule that says this, as in night-noise.warning.above=42",
    )


def add_recording(parser: argparse.ArgumentParser) -> None:
    """Add what tells of a recording, and of the configuration that it is for."""
    parser.add_argument("-c", "--config", type=Path, metavar="FILE", required=True)
    parser.add_argument("recording", type=Path, metavar="RECORDING", help=".jsonl or .csv")
    parser.add_argument(
        "--until", metavar="TIME", help="let the clock run on until then, after the last message"
    )
    table = parser.add_argument_group("for a .csv recording")
    table.add_argument("--sensor", metavar="NAME", help="whose readings these are")
    table.add_argument("--time", metavar="COLUMN", help="heading of the times")
    table.add_argument("--value", metavar="COLUMN", help="heading of the values")
    table.add_argument(
        "--label", metavar="NAME=VALUE", action="append", default=[], help="the same for every row"
    )
    table.add_argument(
        "--label-column",
        metavar="NAME=COLUMN",
        action="append",
        default=[],
        help="a label that stands in a column",
    )
    parser.add_argument(
        "--tz", metavar="ZONE", help="of times without an offset; else site.timezone counts"
    )


def replay(args: argparse.Namespace) -> int:
    """Run a recording through the rules on a virtual clock.

    Prints the journal: one JSON object a line for each change of an alert, and nothing
    else.  Two runs print the same bytes.  What was rejected, and why, is said on standard
    error.

    A .jsonl recording has one message a line:
        {"at": "2025-03-22T00:00:00Z", "topic": "home/attic/noise", "payload": "63.2"}
    A .csv recording has one reading a row:
        hushd replay -c hushd.yaml day.csv --sensor noise --time datetime --value level

    With --what-if, which may be given several times, it prints instead how that would have
    differed: episodes, time on and messages, side by side.
    """
    from hushd.cli import comparing, replaying  # noqa: PLC0415  see hushd.cli

    try:
        request = replaying.request(args)
    except replaying.UsageError as exc:
        print(f"hushd replay: {exc}", file=sys.stderr)
        return USAGE
    if args.what_if and args.trace:
        print("hushd replay: --trace is of one run, and --what-if makes two", file=sys.stderr)
        return USAGE
    config = read_config(args.config, for_run=False)
    if config is None:
        return BAD_CONFIG
    other = None
    if args.what_if:
        other = read_config(args.config, for_run=False, changes=args.what_if)
        if other is None:
            return USAGE
    print_utf8()
    try:
        if other is None:
            replaying.replay(config, request)
        else:
            comparing.compare(config, other, request)
    except replaying.UsageError as exc:
        print(f"hushd replay: {exc}", file=sys.stderr)
        return USAGE
    return OK
