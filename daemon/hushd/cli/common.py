"""What several commands share: subparsers, and reading a configuration."""

import argparse
import io
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hushd.config.records import Config


def command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    run: Callable[[argparse.Namespace], int],
) -> argparse.ArgumentParser:
    """Add the command *run*, named after the function; its docstring is the help text."""
    text = textwrap.dedent(f"    {run.__doc__}")
    made = commands.add_parser(
        run.__name__.replace("_", "-"),
        help=text.strip().split("\n", 1)[0].rstrip("."),
        description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.set_defaults(run=run)
    return made


def print_utf8() -> None:
    """Let standard output be UTF-8, whatever the locale: JSON is, and the same bytes always."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")


def add_where(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which running daemon is meant; without any, the only one."""
    parser.add_argument(
        "-c", "--config", type=Path, metavar="FILE", help="the daemon that runs with this"
    )
    parser.add_argument("--socket", type=Path, metavar="PATH", help="the daemon that listens there")


def read_config(path: Path, *, for_run: bool, changes: Sequence[str] = ()) -> "Config | None":
    """Return the configuration, or None after every problem in it was printed."""
    from hushd import config  # noqa: PLC0415  only for commands that need it

    try:
        return config.read(path, for_run=for_run, changes=changes)
    except config.ConfigError as exc:
        print(exc, file=sys.stderr)
    except OSError as exc:
        print(f"{path}: {exc.strerror or exc}", file=sys.stderr)
    return None
