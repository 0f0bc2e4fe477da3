"""``hushd silence`` and ``hushd silences``."""

import argparse
import json
import sys
from collections.abc import Mapping
from typing import Any

from hushd.cli.codes import USAGE
from hushd.cli.common import add_where, command
from hushd.cli.status import named, of_silence

FEW = 10  # alerts that are held; --json has all


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the commands."""
    parser = command(commands, silence)
    add_what(parser, nargs="?", help="a rule, SENSOR/no-data or internal/...; without: any")
    ends = parser.add_mutually_exclusive_group()
    ends.add_argument("--for", dest="span", metavar="DURATION", help="how long, as in 2h or 1d12h")
    ends.add_argument(
        "--until", metavar="TIME", help="as in 2026-12-24T08:00 or 08:00, in the site's time zone"
    )
    ends.add_argument("--end", type=int, metavar="NUMBER", help="end this silence, now")
    parser.add_argument("--comment", metavar="TEXT", help="why, for whoever comes next")
    add_where(parser)
    parser = command(commands, silences)
    add_where(parser)
    parser.add_argument("--json", action="store_true", help="print them as a JSON list")


def add_what(parser: argparse.ArgumentParser, **rule: Any) -> None:
    """Add what says which alerts are meant."""
    parser.add_argument("rule", metavar="RULE", **rule)
    parser.add_argument(
        "--label",
        action="append",
        default=[],
        type=label,
        metavar="NAME=VALUE",
        help="only alerts that carry this; may be given several times",
    )


def label(text: str) -> tuple[str, str]:
    """Return the name and the value of a label.

    >>> label("room=101")
    ('room', '101')

    Raises:
        argparse.ArgumentTypeError: there is no sign between them.
    """
    name, sign, value = text.partition("=")
    if not (name and sign):
        raise argparse.ArgumentTypeError(f'"{text}" is not as in room=101')
    return name, value


def silence(args: argparse.Namespace) -> int:
    """Let nobody hear of some alerts for a while, or end such a silence.

    Alerts are judged and in the journal as always; when the silence ends, people are told
    what is not as they last heard it.  It outlives a restart.

      hushd silence loud --label room=101 --for 2h --comment "painters in 101"
      hushd silence --end 1

    Exit code 1 if no alert can be meant, or there is no such silence; 2 without an end or a
    comment; 69 if no daemon answers.
    """
    from hushd.cli.asking import inquire  # noqa: PLC0415  see hushd.cli

    if args.end is not None:
        if args.rule or args.label or args.comment:
            return _wrong("--end takes the number of a silence and nothing else")
        return inquire(args, {"do": "silence-end", "number": args.end}, _show_end)
    if not (args.span or args.until):
        return _wrong("a silence needs an end: --for 2h, or --until TIME")
    if not args.comment:
        return _wrong('a silence needs a reason: --comment "why, and who asked"')
    request = {
        "do": "silence",
        "rule": args.rule or "",
        "labels": dict(args.label),
        "for": args.span,
        "until": args.until,
        "comment": args.comment,
    }
    return inquire(args, request, _show_begin)


def silences(args: argparse.Namespace) -> int:
    """List the silences there are, and the alerts that each holds back now.

    Exit code 0 if a daemon answers, 69 if none does.
    """
    from hushd.cli.asking import inquire, printable  # noqa: PLC0415  see hushd.cli

    def show(answer: Mapping[str, Any]) -> None:
        found = answer["silences"]
        if args.json:
            print(json.dumps(found, indent=2, ensure_ascii=False))
            return
        for one in found:
            print(printable(of_silence(one)))
            _show_held(one)
        if not found:
            print("no silence: people hear of everything")

    return inquire(args, {"do": "silences"}, show)


def _show_begin(answer: Mapping[str, Any]) -> None:
    from hushd.cli.asking import printable  # noqa: PLC0415  see hushd.cli

    print(printable(f"silence {of_silence(answer['silence'])}"))
    _show_held(answer["silence"])
    if answer.get("hint"):
        print(printable(f"hushd silence: note: {answer['hint']}"), file=sys.stderr)


def _show_end(answer: Mapping[str, Any]) -> None:
    from hushd.cli.asking import printable  # noqa: PLC0415  see hushd.cli

    print(printable(f"ended silence {of_silence(answer['silence'])}"))


def _show_held(one: Mapping[str, Any]) -> None:
    from hushd.cli.asking import printable  # noqa: PLC0415  see hushd.cli

    for alert in one["holds"][:FEW]:
        print(printable(f"  holds {named(alert)} ({alert['severity']})"))
    if len(one["holds"]) > FEW:
        print(f"  and {len(one['holds']) - FEW} more")


def _wrong(why: str) -> int:
    print(f"hushd silence: {why}", file=sys.stderr)
    return USAGE
