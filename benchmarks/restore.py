"""How long an engine takes to be as it was, and what keeping it costs: the core's share.

    python benchmarks/restore.py [--series N] [--window N] [--tail N] [--shared]

Each series has one rule over a window that holds so many readings; all are in rows of shards
but for a tail of readings that came later.  ``--shared``: one more rule pools all series, so
that all are one shard.  The store's part, SQLite, is not in these figures.
"""

import argparse
import gc
import json
import random
import time
from collections.abc import Callable
from typing import Any

from hushd.config import read_text
from hushd.core.engine import Engine
from hushd.core.readings import SECOND, Reading
from hushd.core.shards import Saved
from hushd.plugin.loading import load

CONFIG = """\
version: 1
sensors:
  noise: {{topic: "plant/{{machine}}/noise", interval: 1s}}
notifiers:
  nobody: {{type: log}}
rules:
  mean: {{watch: noise, measure: mean, over: {window}s, warning: {{above: 1e6}}, notify: [nobody]}}
"""
SHARED = """\
  all:
    watch: noise
    each: []
    measure: max
    over: {window}s
    warning: {{above: 1e6}}
    notify: [nobody]
"""


def stream(series: int, rounds: int) -> list[Reading]:
    """Return readings of the size and the jitter that a real network has."""
    chance = random.Random(1)
    began, found = 1_700_000_000 * SECOND, []
    labels = [(("machine", f"{n:05d}"),) for n in range(series)]
    for second in range(rounds):
        for n in range(series):
            arrived = began + second * SECOND + n * SECOND // series
            at = arrived - chance.randrange(5_000_000)
            found.append(Reading("noise", labels[n], at, round(chance.gauss(50, 5), 1), arrived))
    return found


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return seconds of processor time, and what came of it."""
    gc.collect()
    gc.disable()
    began = time.process_time()
    done = work()
    took = time.process_time() - began
    gc.enable()
    return took, done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--series", type=int, default=1000)
    parser.add_argument("--window", type=int, default=600, help="readings that each window holds")
    parser.add_argument("--tail", type=int, default=50_000, help="readings after the shards")
    parser.add_argument("--shared", action="store_true", help="one window of all, too")
    given = parser.parse_args()
    text = (CONFIG + SHARED * given.shared).format(window=given.window)
    config = read_text("restore", text, load())
    aggregators = config.catalog.aggregators
    readings = stream(given.series, given.window + given.tail // given.series)
    cut = len(readings) - given.tail
    engine = Engine(config.rules, aggregators)
    for reading in readings[:cut]:
        engine.process(reading)
    kept = sum(map(engine.weight, engine.shards()))
    saving, shards = timed(lambda: [engine.save_shard(name) for name in engine.shards()])
    for reading in readings[cut:]:
        engine.process(reading)
    writing, changes = timed(lambda: engine.changes(everything=True))
    state, alarms = json.loads(json.dumps([changes.state, changes.alarms]))
    saved = Saved(state, shards, alarms, readings[cut:])
    recovering, again = timed(lambda: Engine.recover(config.rules, aggregators, saved))
    alone, _ = timed(lambda: Engine.recover(config.rules, aggregators, saved._replace(readings=())))
    until = readings[-1].arrived + 1
    looking, told = timed(lambda: again.resumed(until, gap=False))
    size = sum(map(len, shards))
    print(f"{given.series} series, {kept} readings in {len(shards)} shards, tail of {given.tail}")
    print(f"{size / kept:.1f} bytes a reading in a shard")
    print(f"{saving / kept * 1e6:.2f} us a reading to save a shard")
    print(f"{writing * 1e3:.0f} ms to write all {len(alarms)} alarms anew")
    print(f"{recovering:.2f} s to recover, {alone:.2f} s of it without the tail")
    print(f"{looking:.2f} s for the first look at every window, {len(told)} transitions")


if __name__ == "__main__":
    main()
