"""A file that one process at a time holds: two daemons on one store would spoil it."""

import fcntl
import os
from pathlib import Path


class InUseError(Exception):
    """Another process holds it; the text says which, as far as it is known."""


class Lock:
    """Holds the file at *path* until released, or until the process ends in whatever way.

    The file itself stays: to remove it is to race with who is about to lock it.
    """

    def __init__(self, path: Path) -> None:
        """Take it.

        Raises:
            InUseError: another process has it.
            OSError: there can be no such file.
        """
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            holder = os.pread(self._file, 20, 0).decode("ascii", "replace").strip()
            os.close(self._file)
            who = f"process {holder}" if holder.isdigit() else "another process"
            raise InUseError(who) from exc
        except OSError:
            os.close(self._file)
            raise
        try:
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)
        except OSError:
            pass  # a full disk: it is held all the same, only without a name

    def release(self) -> None:
        """Let others have it."""
        os.close(self._file)
