"""``hushd notify-test``."""

import argparse
import sys
from pathlib import Path

from hushd.cli.codes import BAD_CONFIG, NOT_SO, OK, UNAVAILABLE, USAGE
from hushd.cli.common import command, read_config

SEVERITIES = ("info", "warning", "critical")


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = command(commands, notify_test)
    parser.add_argument("name", metavar="NAME", help="the notifier, as the configuration names it")
    parser.add_argument("-c", "--config", type=Path, metavar="FILE", required=True)
    parser.add_argument(
        "--severity", choices=SEVERITIES, default="warning", help="default: warning"
    )


def notify_test(args: argparse.Namespace) -> int:
    """Send one test message through a notifier and say what came of it.

    It needs no running daemon, and contacts nothing but what that notifier tells through.
    Run it as the user that the daemon runs as, with the same secrets at hand.  Exit code 0
    if the message was taken, 1 if it was refused, 69 if nobody answered in time.
    """
    config = read_config(args.config, for_run=False)
    if config is None:
        return BAD_CONFIG
    notifier = config.notifiers.get(args.name)
    if notifier is None:
        known = ", ".join(sorted(config.notifiers)) or "none"
        print(f"hushd notify-test: there is no notifier {args.name}", file=sys.stderr)
        print(f"  hint: {args.config} names: {known}", file=sys.stderr)
        return USAGE
    from hushd.runtime import trial  # noqa: PLC0415  see hushd.cli
    from hushd.runtime.logs import Quiet  # noqa: PLC0415  likewise

    try:
        outcome = trial.send_test(config, args.name, args.severity, _say, Quiet())
    except LookupError as exc:
        print(f"hushd notify-test: {args.name}: {exc.args[0]}", file=sys.stderr)
        return BAD_CONFIG
    way = f"{args.name} ({notifier.type.name})"
    if outcome.state == "told":
        print(f"{way}: taken after {outcome.took:.1f} s")
        return OK
    verdict, code = {
        "refused": ("refused, nothing was delivered", NOT_SO),
        "failed": ("failed, it is not known to have arrived", UNAVAILABLE),
        "broken": ("the notifier itself is broken", NOT_SO),
    }[outcome.state]
    print(f"{way}: {verdict}, after {outcome.took:.1f} s", file=sys.stderr)
    print(f"  {outcome.said}", file=sys.stderr)
    return code


def _say(event: str, **fields: object) -> None:
    """Write what the ``log`` notifier says, and what others have to remark."""
    told = " ".join(f"{key}={value!r}" for key, value in fields.items() if value is not None)
    print(f"{event} {told}")
