"""Runs ``hushd`` with less patience than people have, and perhaps with a mistake in it.

    python child.py MISTAKE run -c FILE

A mistake is what somebody might have programmed; the torture must notice each.
"""

import functools
import sys
from collections.abc import Callable

from hushd.cli import main
from hushd.runtime import connection, daemon
from hushd.runtime.delivery import Patience


def none() -> None:
    """Change nothing."""


MISTAKES: dict[str, Callable[[], None]] = {"none": none}


def hurry() -> None:
    """Shorten the pauses after failures, so that more of them fit into a run."""
    daemon.serve = functools.partial(daemon.serve, patience=Patience(first=0.2, longest=1.0))
    connection.Pauses.__new__.__defaults__ = (0.1, 0.5, 5.0, 1.0, 5.0, 60.0, 60.0)


if __name__ == "__main__":
    hurry()
    MISTAKES[sys.argv.pop(1)]()
    sys.exit(main(sys.argv[1:]))
