"""``hushd plugins``."""

import argparse
from pathlib import Path

from hushd.cli.codes import NOT_SO, OK
from hushd.cli.common import command


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = command(commands, plugins)
    parser.add_argument("--directory", type=Path, metavar="DIR", help="drop-in plugins, too")


def plugins(args: argparse.Namespace) -> int:
    """Say which plugins are installed, from where, and what is broken and why.

    Exit code 1 if one is broken.
    """
    from typing import get_args  # noqa: PLC0415  see hushd.cli

    from hushd.plugin.catalog import Kind  # noqa: PLC0415  likewise
    from hushd.plugin.loading import load  # noqa: PLC0415  likewise

    catalog = load(args.directory)
    summaries = {
        (kind, name): record.summary
        for kind in get_args(Kind)
        for name, record in catalog.named(kind).items()
    }
    for plugin in catalog.plugins:
        print(f"{plugin.label}  {plugin.where}  {plugin.state}")
        for offer in plugin.offers:
            kind, name = offer.split(" ", 1)
            print(f"    {kind:<10} {name:<12} {summaries[kind, name]}")
    if not catalog.broken:
        return OK
    print()
    for label, reason in catalog.broken:
        print(f"broken: {label}: {reason}")
    return NOT_SO
