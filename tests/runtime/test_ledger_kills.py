"""Killed at any moment, the ledger has what it said it has, and is as it was at some commit."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from kept import Place, ids, never_stopped, windows

from hushd.runtime.database import Database

SUPPORT = Path(__file__).parents[1] / "support"

LIVE = """
import os, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from hushd.runtime import archive, database
from kept import Place
archive.FEW, archive.AT_ONCE = 60, 40
place = Place(Path(sys.argv[2]), seed=int(sys.argv[3]))
{before}
while True:
    at = place.at
    rows = place.step(commit=at % 3 > 0)
    if at % 3 or rows:
        os.write(1, f"{{place.at}}\\n".encode())  # as a broker hears of it
    if at % 50 == 49:
        place.ledger.settle("phone", rows[:1])
    if at % 70 == 69:
        place.stop()
"""
CAREFUL = LIVE.format(before="")


def lived(program: str, folder: Path, seed: int, until: int) -> int:
    """Let a process live until it has done so many batches; return what it had committed last."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, SUPPORT, folder, str(seed)], stdout=subprocess.PIPE
    )
    heard = 0
    for line in process.stdout:
        heard = int(line)
        if heard >= until:
            break
    process.send_signal(signal.SIGKILL)
    for line in process.stdout:
        heard = int(line)
    process.stdout.close()
    assert process.wait() == -signal.SIGKILL
    return heard


def test_killed_again_and_again_it_goes_on_from_what_it_said_it_has(tmp_path):
    chance = random.Random(os.environ.get("SEED", "4"))
    until = 0
    for _ in range(8):
        until += chance.randrange(5, 90)
        heard = lived(CAREFUL, tmp_path, 1, until)
        place = Place(tmp_path)
        assert place.at >= heard
        whole, told = never_stopped(place.at)
        assert windows(place.engine) == windows(whole)
        kept = ids(u.transition for u in place.ledger.untold("phone"))
        assert kept == [each for each in ids(told) if each in set(kept)]
        assert len(told) - len(kept) <= place.at // 50 + 1  # those that were settled
        place.ledger.close()
        until = max(until, place.at)


def test_the_log_was_folded_meanwhile(tmp_path):
    lived(CAREFUL, tmp_path, 1, 150)
    found = Database(tmp_path / "hushd.db")
    assert found.meta("folded") > 0
    assert found.execute("SELECT count(*) FROM log").fetchone()[0] < 60
    found.close()


FORGETFUL = LIVE.format(
    before="""
save = archive.Archive._save
def forget(self, engine, name, out):
    save(self, engine, name, out)
    if out[-1].sql.startswith("INSERT OR REPLACE INTO shard"):
        out.pop()
archive.Archive._save = forget
"""
)


def test_a_ledger_that_forgets_to_write_shards_is_found_out(tmp_path):
    lived(FORGETFUL, tmp_path, 1, 60)
    place = Place(tmp_path)
    whole, _ = never_stopped(place.at)
    assert windows(place.engine) != windows(whole)
    place.ledger.close()


@pytest.mark.long
def test_two_hundred_kills(tmp_path):
    chance, reached = random.Random(7), [0] * 4
    for number in range(200):
        seed = number % 4
        folder = tmp_path / str(seed)
        heard = lived(CAREFUL, folder, seed, reached[seed] + chance.randrange(1, 60))
        place = Place(folder, seed)
        assert place.at >= heard
        whole, _ = never_stopped(place.at, seed)
        assert windows(place.engine) == windows(whole)
        place.ledger.close()
        reached[seed] = place.at
