"""``hushd demo``."""

import argparse

from hushd.cli.codes import OK, UNAVAILABLE, USAGE
from hushd.cli.common import command


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = command(commands, demo)
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--broker", metavar="HOST[:PORT]", help="use this broker instead of one of its own"
    )
    which.add_argument("--embedded", choices=("mosquitto", "iotcore"), help="which broker to run")
    parser.add_argument(
        "--plain", action="store_true", help="write lines instead of drawing the whole screen"
    )
    parser.add_argument(
        "--seconds", type=_seconds, metavar="N", help="end by itself after N seconds"
    )


def _seconds(text: str) -> float:
    """Return a number of seconds to wait."""
    seconds = float(text)
    if not 0 < seconds <= 1e6:
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds from now")
    return seconds


def demo(args: argparse.Namespace) -> int:
    """Show it all at work: a simulated street, a broker, two rules, alerts as they come.

    Nothing needs to be set up: a broker of its own (mosquitto where it is installed, else
    the package iotcore) runs on 127.0.0.1 until the demo ends.  Ctrl-C ends it.
    On a terminal of at least 40 columns and 15 lines it fills the screen and leaves it as
    it was; elsewhere, and with --plain, it writes line after line.
    """
    import sys  # noqa: PLC0415  see hushd.cli

    from hushd.cli import showing  # noqa: PLC0415  likewise
    from hushd.cli.broker import NoBrokerError  # noqa: PLC0415  likewise

    try:
        showing.show(args.broker, args.embedded, args.seconds, plain=args.plain)
    except NoBrokerError as exc:
        print(f"hushd demo: {exc}", file=sys.stderr)
        return UNAVAILABLE
    except ValueError as exc:
        print(f"hushd demo: {exc}", file=sys.stderr)
        return USAGE
    return OK
