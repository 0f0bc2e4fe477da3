"""``hushd schema``."""

import argparse
import json

from hushd.cli.codes import OK
from hushd.cli.common import command, print_utf8


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    command(commands, schema)


def schema(args: argparse.Namespace) -> int:  # noqa: ARG001  takes none
    """Print the JSON Schema of the configuration.

    Editors use it for completion and to mark mistakes while you type:

        hushd schema > hushd.schema.json
    """
    from hushd.config.schema import json_schema  # noqa: PLC0415  see hushd.cli

    print_utf8()
    print(json.dumps(json_schema(), indent=2, ensure_ascii=False))
    return OK
