"""``hushd backup``."""

import argparse
import contextlib
import os
import shutil
import sys
from pathlib import Path

from hushd.cli.codes import NOT_SO, OK, UNAVAILABLE
from hushd.cli.common import add_where, command


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = command(commands, backup)
    parser.add_argument("file", type=Path, metavar="FILE", help="where to; it must not exist yet")
    add_where(parser)


def backup(args: argparse.Namespace) -> int:
    """Write a copy of all that the running daemon keeps into FILE.

    The daemon goes on meanwhile, and the copy is of one instant.  FILE is only for its
    owner to read.  To go back to it: stop the daemon, put FILE in the place of hushd.db,
    delete hushd.db-wal and hushd.db-shm beside it, start the daemon.
    Exit code 1 if there is nothing to copy or FILE exists; 69 if no daemon answers.
    """
    from hushd.cli.asking import NobodyError, ask, told  # noqa: PLC0415  see hushd.cli

    target: Path = args.file
    try:
        written = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        print(f"hushd backup: {target}: there is such a file, it stays", file=sys.stderr)
        return NOT_SO
    whole = False
    with os.fdopen(written, "wb") as out:
        try:
            answer = ask(args, {"do": "backup"})
            if not answer.get("ok"):
                return told("backup", answer)
            _take(Path(str(answer["file"])), out.fileno())
            whole = True
        except NobodyError as exc:
            print(f"hushd backup: {exc}", file=sys.stderr)
            return UNAVAILABLE
        finally:
            if not whole:
                target.unlink(missing_ok=True)
    print(f"{target}: {target.stat().st_size:,} bytes")
    return OK


def _take(copy: Path, target: int) -> None:
    """Move what the daemon has written to where only we can write.

    The daemon may be locked into its state directory, so it writes the copy there; who may
    ask it may also read and remove that.  It is not believed more than that: a file that has
    not the name of such a copy is not touched.
    """
    if not _is_copy(copy):
        raise OSError(f"{copy}: that is no copy of a store")
    try:
        source = os.open(copy, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(source, "rb") as found, os.fdopen(os.dup(target), "wb") as out:
            shutil.copyfileobj(found, out, 1 << 20)
            out.flush()
            os.fsync(out.fileno())
    finally:
        with contextlib.suppress(OSError):
            copy.unlink()


def _is_copy(path: Path) -> bool:
    name, _, number = path.name.rpartition(".copy-")
    return path.is_absolute() and bool(name) and number.isdecimal()
