"""Hours of work cost no memory: `make soak`, with MINUTES of it."""

import os
from pathlib import Path
from statistics import linear_regression
from time import monotonic, sleep

import pytest
from torture.world import world

MINUTES = float(os.environ.get("MINUTES") or 0)
pytestmark = [
    pytest.mark.long,
    pytest.mark.mosquitto,
    pytest.mark.skipif(not MINUTES, reason="make soak runs it, for MINUTES"),
]

WARM_UP = 0.5  # of the time: windows fill, caches grow to what they stay at
GROWTH = 4.0  # MB that chance may bring in a short run


def test_memory_stays(tmp_path):
    samples: list[tuple[float, float]] = []
    with world(tmp_path, 1, rate=200, memory=500) as there:
        began = monotonic()
        while (passed := monotonic() - began) < MINUTES * 60:
            sleep(1)
            samples.append((passed / 3600, resident(there.daemon.pid)))
            if len(samples) % 60 == 0:
                print(f"{passed / 60:.0f} min: {samples[-1][1]:.1f} MB", flush=True)
        said = len(there.sensor.said)
    settled = samples[round(len(samples) * WARM_UP) :]
    slope, _ = linear_regression(*zip(*settled, strict=True))
    grown = slope * (settled[-1][0] - settled[0][0])
    print(
        f"{said} readings in {MINUTES:g} minutes: {settled[0][1]:.1f} MB, then "
        f"{settled[-1][1]:.1f} MB; the slope is {slope:+.2f} MB an hour"
    )
    assert grown < GROWTH


def resident(pid: int) -> float:
    """Return how much memory a process has, in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
