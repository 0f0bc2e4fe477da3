"""Room to be given back when a disk is full: a full one cannot even forget what is old."""

import os
from contextlib import suppress
from pathlib import Path

SIZE = 2 << 20  # bytes
SPARE = 16 << 20  # bytes that must be free before some are put by


class Ballast:
    """A file of `SIZE` bytes that says nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def take_on(self) -> None:
        """Put room by, if there is enough; where there is not, or no such file, do without."""
        with suppress(OSError):
            if self._path.exists():
                return
            disk = os.statvfs(self._path.parent)
            if disk.f_bavail * disk.f_frsize < SPARE:
                return
            file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                os.posix_fallocate(file, 0, SIZE)
            except OSError:
                self._path.unlink()  # half of it is none
                raise
            finally:
                os.close(file)

    def drop(self) -> bool:
        """Give the room back; False if there is none."""
        try:
            self._path.unlink()
        except OSError:
            return False
        return True
