"""The ``hushd`` command: one module for each subcommand.

The modules import at their top only what every command needs; the rest of hushd is
imported when a command runs, so that ``hushd check`` pays for neither paho nor structlog.
"""

import argparse
import errno
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from hushd.cli import (
    ack,
    backup,
    check,
    demo,
    explain,
    notify_test,
    plugins,
    reload,
    replay,
    rule_tests,
    run,
    schema,
    silence,
    status,
    tune,
)
from hushd.cli.codes import OK, UNAVAILABLE, USAGE

COMMANDS = (
    run,
    status,
    tune,
    reload,
    silence,
    ack,
    backup,
    check,
    explain,
    notify_test,
    rule_tests,
    replay,
    demo,
    plugins,
    schema,
)

DESCRIPTION = """\
Watches sensors over MQTT and tells people when a rule is broken.

First look:  hushd demo
"""

EPILOG = """\
exit codes: 0 fine; 1 what was asked about is not so; 2 wrong usage;
            69 a service that is needed is not there; 78 bad configuration

hushd COMMAND --help says more of each."""


#: what writing fails with
WRITING = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}


class Version(argparse.Action):
    """Prints the version; it is looked up only when asked for."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[object] | None,
        option_string: str | None = None,
    ) -> None:
        """Print it and end."""
        from importlib.metadata import version  # noqa: PLC0415  see the module's docstring

        print(f"hushd {version('hushd')}")
        parser.exit(OK)


def parser() -> argparse.ArgumentParser:
    """Return what understands the command line."""
    top = argparse.ArgumentParser(
        prog="hushd",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument("--version", action=Version, nargs=0, help="print the version and exit")
    commands = top.add_subparsers(metavar="COMMAND", title="commands", required=True)
    for module in COMMANDS:
        module.add(commands)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    _stand_in_for_closed_streams()
    try:
        code = _run(argv)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has had enough, as with `hushd replay ... | head`
        _let_go_of_output()
        return OK
    except OSError as exc:  # a disk that is full, most likely
        with suppress(OSError):
            sys.stdout.flush()  # what is sound so far
        _let_go_of_output()
        where = exc.filename or ("standard output" if exc.errno in WRITING else "cannot go on")
        with suppress(OSError):
            print(f"hushd: {where}: {exc.strerror or exc}", file=sys.stderr)
        return UNAVAILABLE
    except KeyboardInterrupt:
        return 130
    return code


def _run(argv: Sequence[str] | None) -> int:
    if isinstance(sys.stdout, io.TextIOWrapper):  # a name that it cannot write ends no command
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        args = parser().parse_args(argv)
    except SystemExit as exc:  # argparse has said what it had to say
        return exc.code if isinstance(exc.code, int) else USAGE
    code: int = args.run(args)
    return code


def _stand_in_for_closed_streams() -> None:
    """Put something in the place of what the caller closed, as with ``hushd check FILE >&-``.

    Else the next file that is opened would be standard output.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))


def _let_go_of_output() -> None:
    """Write no more to standard output; the exit flushes, too."""
    with suppress(OSError):  # it may not be a file of the system
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
