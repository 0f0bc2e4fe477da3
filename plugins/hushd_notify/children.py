"""Programs that are started for a note and do not outlive it."""

import atexit
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

from hushd.plugin import NotSentError

GRACE = 1.0  # seconds between the request to end and the end
DEATH = 5.0  # seconds that a killed process may take
TAIL = 4096  # bytes of what it prints that are kept: the last ones

#: what a child may know of our environment; no secret, and nothing of systemd's to us
KEPT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")


class Ended(NamedTuple):
    """How a program ended."""

    code: int  # negative: the signal that ended it
    output: bytes  # the end of what it printed


def environment(more: Mapping[str, str]) -> dict[str, str]:
    """Return what a child's environment is: little, and *more*."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {"PATH": os.defpath, **kept, **more}


def run(argv: Sequence[str], given: bytes, seconds: float, variables: Mapping[str, str]) -> Ended:
    """Run a program in a process group of its own, with *given* as its input.

    When it has ended, or when *seconds* are over, whatever is left of its group is ended:
    SIGTERM first, SIGKILL after a second.

    Raises:
        NotSentError: it could not be started.
        TimeoutError: it did not end in time.
    """
    until = time.monotonic() + seconds
    with _file(given) as file:
        try:
            child = subprocess.Popen(  # noqa: S603  a list of arguments out of the configuration
                list(argv),
                bufsize=0,
                stdin=file,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd="/",
                env=dict(variables),
                start_new_session=True,
            )
        except OSError as exc:
            raise NotSentError(f"cannot be started: {exc.strerror or exc}") from exc
    _running.add(child.pid)
    assert child.stdout is not None  # noqa: S101  it is a pipe
    tail = bytearray()
    output, end = child.stdout.fileno(), os.pidfd_open(child.pid)
    os.set_blocking(output, False)
    try:
        in_time = _listen(output, end, until, tail)
        if not in_time:
            _signal(child.pid, signal.SIGTERM)
            _listen(output, end, time.monotonic() + GRACE, tail)
    finally:
        # it has not been waited for: until then the number of the group is nobody else's
        _signal(child.pid, signal.SIGKILL)
        _running.discard(child.pid)
        _drain(output, tail)
        child.stdout.close()
        os.close(end)
        with suppress(subprocess.TimeoutExpired):
            child.wait(DEATH)
    if not in_time:
        raise TimeoutError(f"not done after {seconds:g} s, and ended")
    return Ended(child.returncode, bytes(tail))


@contextmanager
def _file(data: bytes) -> Iterator[int]:
    """Make a file in memory: unlike a pipe it can be left unread."""
    file = os.memfd_create("note")
    try:
        with open(file, "wb", closefd=False) as out:
            out.write(data)
        os.lseek(file, 0, os.SEEK_SET)
        yield file
    finally:
        os.close(file)


def _listen(output: int, end: int, until: float, tail: bytearray) -> bool:
    """Keep the end of what comes until the program ends; False: not before *until*."""
    waiting = select.poll()
    waiting.register(end, select.POLLIN)
    waiting.register(output, select.POLLIN)
    while (left := until - time.monotonic()) > 0:
        for number, _ in waiting.poll(left * 1000):
            if number == end:
                return True
            if not _part(output, tail):
                waiting.unregister(output)  # closed, but the program goes on
    return False


def _drain(output: int, tail: bytearray) -> None:
    """Take what is there now; somebody who left the group may still hold the other end."""
    until = time.monotonic() + GRACE
    while time.monotonic() < until and _part(output, tail):
        pass


def _part(output: int, tail: bytearray) -> bool:
    """Take one part of what was printed; False: there is none."""
    try:
        part = os.read(output, 65_536)
    except OSError:  # nothing now
        return False
    tail += part
    del tail[:-TAIL]
    return bool(part)


def _signal(group: int, signum: int) -> None:
    with suppress(OSError):  # nobody is left, or it is no longer ours
        os.killpg(group, signum)


#: groups whose leaders have not been waited for
_running: set[int] = set()


@atexit.register
def _end_all() -> None:
    """End what still runs when the daemon ends: its thread will not come to it any more."""
    for group in list(_running):
        _signal(group, signal.SIGTERM)
    until = time.monotonic() + GRACE
    while _running and time.monotonic() < until:  # by its thread, as long as there is one
        time.sleep(0.01)
    for group in list(_running):
        _signal(group, signal.SIGKILL)
