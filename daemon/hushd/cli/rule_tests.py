"""``hushd test``."""

import argparse
import sys
from pathlib import Path

from hushd.cli.codes import BAD_CONFIG, NOT_SO, OK
from hushd.cli.common import command


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = command(commands, test)
    parser.add_argument(
        "files", metavar="FILE", type=Path, nargs="+", help="tests, as in night.test.yaml"
    )


def test(args: argparse.Namespace) -> int:
    """Try rules out on readings that are made up for it.

    Each test feeds values into the rules of a configuration and says how alerts are to stand,
    and who is to be told what, at which time.  The clock is virtual: a night takes
    milliseconds, nobody is told anything, nothing is kept.

    Exit code 0 if all is as expected, 1 if something is not, 78 if a file cannot be read.
    """
    from hushd.cli import rule_test_files, rule_test_runs  # noqa: PLC0415  see hushd.cli
    from hushd.cli.asking import printable  # noqa: PLC0415  see hushd.cli
    from hushd.config import ConfigError  # noqa: PLC0415  see hushd.cli

    code, passed, failed = OK, 0, 0
    for path in args.files:
        try:
            tests = rule_test_files.read(path)
        except (ConfigError, OSError, ValueError) as exc:
            shown = f"{path}: {exc.strerror or exc}" if isinstance(exc, OSError) else str(exc)
            print(shown, file=sys.stderr)
            code = BAD_CONFIG
            continue
        print(path)
        for one in tests:
            failures = rule_test_runs.run(one)
            print(printable(f"  {'failed' if failures else 'passed'}: {one.name}"))
            for failure in failures:
                print(printable(f"    {path}:{failure.line}: {failure.what}"))
                for line in failure.details:
                    print(printable(f"      {line}"))
            passed, failed = passed + (not failures), failed + bool(failures)
    if failed and code == OK:
        code = NOT_SO
    if passed or failed:
        print(f"{passed} passed, {failed} failed")
    return code
