"""``hushd tune``."""

import argparse
import sys

from hushd.cli.codes import BAD_CONFIG, OK, USAGE
from hushd.cli.common import command, print_utf8, read_config
from hushd.cli.replay import add_recording

SEVERITIES = ("info", "warning", "critical")


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = command(commands, tune)
    parser.add_argument("rule", metavar="RULE", help="the rule whose limit is sought")
    add_recording(parser)
    parser.add_argument("--severity", choices=SEVERITIES, help="else the mildest that it has")
    parser.add_argument(
        "--during", metavar="SCHEDULE", help="where its limits depend on that; or otherwise"
    )


def tune(args: argparse.Namespace) -> int:
    """Show how often and how long a rule would have been on, limit by limit.

    Takes a recording as `hushd replay` does, and a range of limits out of what the rule saw
    in it: from the middle of the values to the worst. All else stays as it is written.

      hushd tune too-loud -c hushd.yaml day.jsonl
      hushd tune site-boundary -c hushd.yaml week.jsonl --during night --severity critical
    """
    from hushd.cli import replaying, tuning  # noqa: PLC0415  see hushd.cli

    try:
        request = replaying.request(args)
    except replaying.UsageError as exc:
        print(f"hushd tune: {exc}", file=sys.stderr)
        return USAGE
    config = read_config(args.config, for_run=False)
    if config is None:
        return BAD_CONFIG
    print_utf8()
    try:
        tuning.tune(config, tuning.Asked(args.rule, args.severity, args.during), request)
    except replaying.UsageError as exc:
        print(f"hushd tune: {exc}", file=sys.stderr)
        return USAGE
    return OK
