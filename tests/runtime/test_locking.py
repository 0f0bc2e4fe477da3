"""One process at a time holds a lock, and it is let go of with the process."""

import os
import signal
import subprocess
import sys

import pytest

from hushd.runtime.locking import InUseError, Lock

HOLD = """
import sys, time
from pathlib import Path
from hushd.runtime.locking import Lock
lock = Lock(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


def test_who_comes_second_hears_who_was_first_until_that_one_is_killed(tmp_path):
    path = tmp_path / "store.lock"
    first = subprocess.Popen([sys.executable, "-c", HOLD, path], stdout=subprocess.PIPE)
    try:
        assert first.stdout.readline() == b"held\n"
        with pytest.raises(InUseError, match=f"process {first.pid}"):
            Lock(path)
    finally:
        first.send_signal(signal.SIGKILL)
        first.wait()
        first.stdout.close()
    Lock(path).release()


def test_a_lock_that_was_released_can_be_had_again(tmp_path):
    path = tmp_path / "store.lock"
    Lock(path).release()
    lock = Lock(path)
    assert path.read_text() == f"{os.getpid()}\n"
    assert path.stat().st_mode & 0o777 == 0o600
    lock.release()


def test_a_lock_that_names_nobody_is_held_all_the_same(tmp_path):
    path = tmp_path / "store.lock"
    lock = Lock(path)
    path.write_text("")  # the disk was full when it was taken
    with pytest.raises(InUseError, match="another process"):
        Lock(path)
    lock.release()
