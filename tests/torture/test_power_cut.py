"""The plug is pulled at any moment: what was acknowledged is there, what was told is known.

A daemon at work is recorded, system call by system call.  Then its files are made again as a
disk may hold them when the power fails, with any sector that was not synced there, torn or
missing, and the next start looks what it finds.
"""

import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from torture.cuts import cut, record
from torture.outcome import seed

pytestmark = pytest.mark.mosquitto

BROKEN = ("unusable", "acknowledged and missing", "never said", "told and unknown")


@pytest.fixture
def memory() -> Iterator[Path]:
    """Return a folder in memory, where syncs cost nothing."""
    shared = Path("/dev/shm")
    folder = tempfile.mkdtemp(dir=shared if shared.is_dir() else None)
    yield Path(folder)
    shutil.rmtree(folder)


def power_cuts(number, seconds, tmp_path, memory, mistake="none"):
    if shutil.which("strace") is None:
        pytest.fail("strace is missing: apt-get install strace", pytrace=False)
    chosen = seed()
    recording = record(tmp_path, chosen, seconds=seconds, mistake=mistake)
    found = cut(recording, number, random.Random(chosen), memory)
    figures = f"seed {chosen}: {number} power cuts in {len(recording.calls)} calls: {dict(found)}"
    print(figures)
    assert found["acknowledged"] > 100, figures
    assert found["told"] > 10, figures
    return {what: found[what] for what in BROKEN if found[what]}, figures


def test_a_power_cut_breaks_no_promise(tmp_path, memory):
    broken, figures = power_cuts(400, 5, tmp_path, memory)
    assert not broken, figures


@pytest.mark.long
def test_thousands_of_power_cuts_break_no_promise(tmp_path, memory):
    broken, figures = power_cuts(2000, 20, tmp_path, memory)
    assert not broken, figures


def test_a_commit_that_is_not_synced_does(tmp_path, memory):
    broken, figures = power_cuts(40, 5, tmp_path, memory, mistake="normal")
    assert "acknowledged and missing" in broken, figures
    assert "told and unknown" in broken, figures
