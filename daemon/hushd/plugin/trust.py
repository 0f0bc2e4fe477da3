"""Whose files may be run: those that nobody but root and we ourselves could have written.

A file is as safe as the folders above it: who may write one of those puts another file in
its place.  A folder such as ``/tmp``, where each may only touch what is his own (the sticky
bit), does no harm above, but is no place to look for plugins.
"""

import os
import stat
from pathlib import Path

_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def distrust(path: Path) -> str:
    """Return why *path* may not be run, or searched for what is; empty: it may.

    Raises:
        OSError: it is not there, or cannot be looked at.
    """
    real = path.resolve(strict=True)
    # the folders that a link leads through count like those that it leads to
    for place in dict.fromkeys([real, *real.parents, *path.absolute().parents]):
        status = place.stat()
        if status.st_uid not in {0, os.geteuid()}:
            return f"{place} belongs to user {status.st_uid}; it must be root's or the daemon's"
        if status.st_mode & _OTHERS and (place == real or not status.st_mode & stat.S_ISVTX):
            return f"{place} is writable by others; chmod go-w it"
    return ""
