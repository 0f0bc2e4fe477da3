"""What a window costs: against the textbook, against PyPI, against recomputing.

    python benchmarks/windows.py [--quick]

Every figure is the process's CPU time; candidates take turns in one run and each keeps its
best.  Only ratios within one run mean anything.  A target (T5 ...) is a ratio that the
design set itself; what is missed is printed as missed.
"""

import argparse
import math
import random
import sys
import time
import tracemalloc
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from math import log10

from hushd.core.aggregation import Aggregation
from hushd.core.heap_median import HeapMedian
from hushd.core.log import Log
from hushd.core.median_index import LARGE, MedianIndex
from hushd.core.order_index import OrderIndex
from hushd.core.two_stacks import TwoStacks
from hushd_acoustics.leq import LEQ, energy
from hushd_basic import MEAN
from hushd_basic.extremes import MAX
from hushd_spread.moments import VARIANCE

try:
    import rolling
    from river import stats, utils
    from sortedcontainers import SortedList
except ImportError as exc:
    sys.exit(f"{exc}: install the dependency group 'bench'")

Run = Callable[[list[float], int], float]  # (readings, width) -> seconds for the readings

SUM = Aggregation(lambda: 0.0, lambda x: x, lambda a, b: a + b, lambda p: p)
SECOND = 10**9
cpu = time.process_time

Energy = tuple[float, float]  # readings, total energy


def _scan_energy(values: Sequence[float]) -> list[Energy]:
    partials, n, total = [], 0.0, 0.0
    for x in reversed(values):
        n += 1.0
        total += energy(x)
        partials.append((n, total))
    return partials


#: the leq of readings that count alike, for structures that know no weights
LEVEL = Aggregation(
    lambda: (0.0, 0.0),
    lambda x: (1.0, energy(x)),
    lambda a, b: (a[0] + b[0], a[1] + b[1]),
    lambda p: 10.0 * log10(p[1] / p[0]) if p[1] > 0.0 else None,
    absorb=lambda p, x: (p[0] + 1.0, p[1] + energy(x)),
    result=lambda a, b, c: 10.0 * log10((a[1] + b[1] + c[1]) / (a[0] + b[0] + c[0])),
    scan=_scan_energy,
)

HOWS = {"max": MAX, "mean": MEAN, "variance": VARIANCE, "leq": LEVEL}

missed: list[str] = []


def slide_log(name: str, values: list[float], width: int) -> float:
    log = Log(covers=name == "weighed")
    view = (
        log.view(LEQ, "seconds", span=width)
        if name == "weighed"
        else log.view(HOWS[name], span=width)
    )
    append, value = log.append, view.value
    for at in range(width):
        append(at, 50.0, SECOND)
    value(width - 1)
    start = cpu()
    for at, x in enumerate(values, width):
        append(at, x, SECOND)
        value(at)
    return cpu() - start


def slide_two_stacks(name: str, values: list[float], width: int) -> float:
    window, stamps = TwoStacks(HOWS[name]), deque()
    for at in range(width):
        window.push(50.0)
        stamps.append(at)
    start = cpu()
    for at, x in enumerate(values, width):
        while stamps and stamps[0] <= at - width:
            stamps.popleft()
            window.pop()
        stamps.append(at)
        window.push(x)
        window.value()
    return cpu() - start


def slide_index(make: Callable[[], MedianIndex], values: list[float], width: int) -> float:
    index, held = make(), deque()
    # all give the lower median
    median = partial(index.lower, 50.0) if isinstance(index, OrderIndex) else index.value
    chance = random.Random(1)
    for at in range(width):
        held.append(chance.gauss(50, 10))
        index.add(at, held[-1])
    start = cpu()
    for at, x in enumerate(values, width):
        index.remove(at - width, held.popleft())
        held.append(x)
        index.add(at, x)
        median()
    return cpu() - start


def slide_three(values: list[float], width: int) -> float:
    """p10, p50 and p90 of one order index."""
    index, held = OrderIndex(10, 50, 90), deque()
    chance = random.Random(1)
    for at in range(width):
        held.append(chance.gauss(50, 10))
        index.add(at, held[-1])
    start = cpu()
    for at, x in enumerate(values, width):
        index.remove(at - width, held.popleft())
        held.append(x)
        index.add(at, x)
        index.lower(10)
        index.lower(50)
        index.lower(90)
    return cpu() - start


def slide_sorted_list(values: list[float], width: int) -> float:
    chance = random.Random(1)
    held = deque(chance.gauss(50, 10) for _ in range(width))
    ordered = SortedList(held)
    start = cpu()
    for x in values:
        ordered.remove(held.popleft())
        held.append(x)
        ordered.add(x)
        ordered[(width - 1) // 2]
    return cpu() - start


def slide_rolling(make: Callable[..., Iterable[float]], values: list[float], width: int) -> float:
    chance = random.Random(1)
    window = make([chance.gauss(50, 10) for _ in range(width)], window_size=width)
    deque(window, maxlen=0)
    window.extend(values)
    start = cpu()
    deque(window, maxlen=0)
    return cpu() - start


def slide_river(make: Callable[[int], object], values: list[float], width: int) -> float:
    window = make(width)
    chance = random.Random(1)
    for _ in range(width):
        window.update(chance.gauss(50, 10))
    start = cpu()
    for x in values:
        window.update(x)
        window.get()
    return cpu() - start


def slide_recomputing(name: str, values: list[float], width: int) -> float:
    how = HOWS[name]
    held = deque([50.0] * width, maxlen=width)
    start = cpu()
    for x in values:
        held.append(x)
        part = how.empty()
        for each in held:
            part = how.combine(part, how.unit(each))
        how.finalize(part)
    return cpu() - start


def compare(runs: dict[str, tuple[Run, int]], width: int, repeats: int) -> dict[str, float]:
    """Return each candidate's best nanoseconds per reading; they take turns."""
    best = dict.fromkeys(runs, math.inf)
    chance = random.Random(2)
    values = [chance.gauss(50, 10) for _ in range(max(n for _, n in runs.values()))]
    for _ in range(repeats):
        for name, (run, n) in runs.items():
            best[name] = min(best[name], run(values[:n], width) / n * 1e9)
    return best


def verdict(target: str, what: str, measured: float, limit: float, *, least: bool = False) -> None:
    """Print whether *measured* is at most (or at least) *limit*."""
    passed = measured >= limit if least else measured <= limit
    if not passed:
        missed.append(target)
    bound = ">=" if least else "<="
    state = "PASS" if passed else "miss"
    print(f"  {target:<4}{what:<58}{measured:>10.2f}  {bound} {limit:<8g} {state}")


def costs(n: int, repeats: int, widths: list[int]) -> None:
    print(f"\nnanoseconds per reading (append and query), {n} readings, best of {repeats}")
    print(f"  {'':<22}" + "".join(f"{f'w={w:,}':>14}" for w in widths))
    table: dict[str, dict[int, float]] = {}
    for width in widths:
        runs: dict[str, tuple[Run, int]] = {}
        for name in HOWS:
            runs[f"{name}: log"] = (partial(slide_log, name), n)
            # at least one whole turn: its pause comes once in every window's length
            runs[f"{name}: two stacks"] = (partial(slide_two_stacks, name), max(n, width))
            if width <= 1000:
                runs[f"{name}: recomputing"] = (partial(slide_recomputing, name), 20_000 // width)
        runs["leq, weighed: log"] = (partial(slide_log, "weighed"), n)
        runs["max: rolling"] = (partial(slide_rolling, rolling.Max), n)
        runs["variance: rolling"] = (partial(slide_rolling, rolling.Var), n)
        if width <= 10_000:
            runs["variance: river"] = (
                partial(slide_river, lambda w: utils.Rolling(stats.Var, window_size=w)),
                n // 4,
            )
        for name, best in compare(runs, width, repeats).items():
            table.setdefault(name, {})[width] = best
    for name in sorted(table):
        row = table[name]
        cells = "".join(f"{row[w]:>14,.0f}" if w in row else f"{'-':>14}" for w in widths)
        print(f"  {name:<22}{cells}")
    print()
    middle, large = widths[1], max(w for w in widths if w <= 100_000)
    for name, limit in [("max", 1.4), ("variance", 1.1), ("leq", 1.45)]:
        for width in (widths[0], middle, large):
            ratio = table[f"{name}: log"][width] / table[f"{name}: two stacks"][width]
            verdict("T5", f"{name}, w={width:,}: log / two stacks", ratio, limit)
    for name in HOWS:
        row = table[f"{name}: log"]
        verdict("T6", f"{name}: w={large:,} / w={widths[0]:,}", row[large] / row[widths[0]], 1.15)


def medians(n: int, repeats: int, large: int) -> None:
    print(f"\nmedian, nanoseconds per reading, {n} readings, best of {repeats}")
    order = partial(OrderIndex, 50.0)
    found = {}
    for width in (100, 1000, 10_000, large):
        runs: dict[str, tuple[Run, int]] = {
            "order index": (partial(slide_index, order), n),
            f"production (to {LARGE})": (partial(slide_index, MedianIndex), n),
            "heap median, literal": (partial(slide_index, HeapMedian), n),
            "sortedcontainers": (slide_sorted_list, n),
            "rolling": (partial(slide_rolling, rolling.Median), n if width < 10**5 else n // 8),
            "river": (partial(slide_river, lambda w: stats.RollingQuantile(0.5, w)), n),
            "three order percentiles": (slide_three, n),
        }
        found[width] = compare(runs, width, repeats)
    print(f"  {'':<26}" + "".join(f"{f'w={w:,}':>14}" for w in found))
    for name in runs:
        print(f"  {name:<26}" + "".join(f"{row[name]:>14,.0f}" for row in found.values()))
    print()
    big, small = found[large], found[1000]
    for peer, limit in [("sortedcontainers", 1.5), ("rolling", 5), ("river", 2)]:
        gain = big[peer] / big["order index"]
        verdict("T12", f"w={large:,}: {peer} / order index", gain, limit, least=True)
    peers = [("rolling", 1.4), ("sortedcontainers", 1.7), (f"production (to {LARGE})", 1.6)]
    for peer, limit in peers:
        gain = small[peer] / small["order index"]
        verdict("T14", f"w=1,000: {peer} / flat order index", gain, limit, least=True)
    print(f"      (w=1,000: river is {small['order index'] / small['river']:.1f} times faster)")
    gain = 3 * big["heap median, literal"] / big["three order percentiles"]
    verdict("T16", f"w={large:,}: three heap indexes / one order index", gain, 2, least=True)


def worst(act: Callable[[], Callable[[int], None]], start: int, n: int, replays: int) -> float:
    """Return the microseconds of the slowest call, each call's time the least over replays."""
    least = array("q", [1 << 60]) * n
    clock = time.perf_counter_ns
    for _ in range(replays):
        step = act()
        for i in range(n):
            begin = clock()
            step(start + i)
            least[i] = min(least[i], clock() - begin)
    return max(least) / 1000


def pauses(width: int, median_widths: list[int], n: int, replays: int) -> None:
    print(f"\nworst single reading, microseconds ({n} readings, least of {replays} replays)")

    def log(how: Aggregation) -> Callable[[int], None]:
        log = Log()
        view = log.view(how, span=width)
        for at in range(width):
            log.append(at, 50.0)
        view.value(width - 1)

        def step(at: int) -> None:
            log.append(at, at * 0.5)
            view.value(at)

        return step

    def two_stacks(how: Aggregation) -> Callable[[int], None]:
        window = TwoStacks(how)
        for _ in range(width):
            window.push(50.0)

        def step(at: int) -> None:
            window.pop()
            window.push(at * 0.5)
            window.value()

        return step

    def median(width: int) -> Callable[[int], None]:
        chance = random.Random(3)
        index, held = MedianIndex(), deque()
        for at in range(width):
            held.append(chance.gauss(50, 10))
            index.add(at, held[-1])

        def step(at: int) -> None:
            index.remove(at - width, held.popleft())
            held.append(chance.gauss(50, 10))
            index.add(at, held[-1])
            index.value()

        return step

    for name in ("max", "variance"):
        ours = worst(partial(log, HOWS[name]), width, n, replays)
        theirs = worst(partial(two_stacks, HOWS[name]), width, 200, 2)
        verdict("T7", f"{name}, w={width:,}: microseconds", ours, 150)
        verdict("T7", f"{name}, w={width:,}: two stacks / log", theirs / ours, 300, least=True)
    for w in median_widths:
        slowest = worst(partial(median, w), w, n, replays)
        verdict("T13", f"median, w={w:,}: microseconds", slowest, 300)


def counted(width: int, n: int) -> None:
    calls = 0

    def combine(a: float, b: float) -> float:
        nonlocal calls
        calls += 1
        return a + b

    log = Log()
    view = log.view(replace(SUM, combine=combine), span=width)
    for at in range(width):
        log.append(at, 1.0)
    view.value(width - 1)
    calls = most = total = 0
    for at in range(width, width + n):
        for act in (partial(log.append, at, 1.0), partial(view.value, at)):
            calls = 0
            act()
            most = max(most, calls)
            total += calls
    print(f"\ncombinations, w={width:,}, none accelerated: {total / n:.2f} per reading")
    verdict("T8", "most combinations in one append or query", most, 128 + 16)


def memory(n: int) -> None:
    print(f"\nbytes per reading held, w={n:,}")

    def held(make: Callable[[], object]) -> float:
        tracemalloc.start()
        kept = make()
        size = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        del kept
        return size / n

    def log(*names: str) -> Log:
        log = Log(covers="weighed" in names)
        views = [
            log.view(LEQ, "seconds", span=n * SECOND)
            if name == "weighed"
            else log.view(HOWS[name], span=n * SECOND)
            for name in names
        ]
        for i in range(n):
            log.append(i * SECOND, i / 7, SECOND)
        for view in views:
            view.value((n - 1) * SECOND)
        return log

    def two_stacks(name: str) -> object:
        window, stamps = TwoStacks(HOWS[name]), deque()
        for i in range(n):
            window.push(i / 7)
            stamps.append(i * SECOND)
        window.pop()
        return window, stamps

    def river() -> object:
        window = utils.TimeRolling(stats.Var, period=timedelta(days=9999))
        start = datetime(2026, 1, 1)  # noqa: DTZ001  as river's own examples do
        for i in range(n):
            window.update(i / 7, t=start + timedelta(seconds=i))
        return window

    one = {name: held(partial(log, name)) for name in ("max", "variance")}
    three = held(partial(log, "max", "mean", "variance"))
    weighed = held(partial(log, "max", "variance", "weighed"))
    for what, each in [*one.items(), ("max, mean, variance", three)]:
        verdict("T9", f"log, {what}", each, 22)
    print(f"      with what each reading covers, max, variance, leq: {weighed:.1f}")
    for name, limit in [("max", 3), ("variance", 7)]:
        gain = held(partial(two_stacks, name)) / one[name]
        verdict("T9", f"{name}: two stacks and stamps / log", gain, limit, least=True)
    verdict(
        "T9", "variance: river TimeRolling / log", held(river) / one["variance"], 10, least=True
    )


def many_windows(n: int, repeats: int) -> None:
    print("\nten windows over one series, variance, asked every ten readings")
    spans = [100 * 2**i for i in range(10)]

    def shared(values: list[float], _: int) -> float:
        log = Log()
        views = [log.view(VARIANCE, span=span) for span in spans]
        start = cpu()
        for at, x in enumerate(values):
            log.append(at, x)
            if at % 10 == 0:
                for view in views:
                    view.value(at)
        return cpu() - start

    def apart(values: list[float], _: int) -> float:
        windows = [(span, TwoStacks(VARIANCE), deque()) for span in spans]
        start = cpu()
        for at, x in enumerate(values):
            for span, window, stamps in windows:
                while stamps and stamps[0] <= at - span:
                    stamps.popleft()
                    window.pop()
                stamps.append(at)
                window.push(x)
                if at % 10 == 0:
                    window.value()
        return cpu() - start

    best = compare({"log": (shared, n), "two stacks": (apart, n)}, 0, repeats)
    print(f"  log {best['log']:,.0f} ns, ten two stacks {best['two stacks']:,.0f} ns per reading")
    gain = best["two stacks"] / best["log"]
    verdict("T10", "ten two stacks / one log", gain, 2.2, least=True)


def gap(width: int, repeats: int) -> None:
    ours = theirs = math.inf
    for _ in range(repeats):
        log = Log()
        view = log.view(VARIANCE, span=width)
        window = TwoStacks(VARIANCE)
        for at in range(width):
            log.append(at, 1.0)
            window.push(1.0)
        view.value(width)
        start = cpu()
        log.append(width * 9, 1.0)
        view.value(width * 9)
        ours = min(ours, cpu() - start)
        start = cpu()
        for _ in range(width):
            window.pop()
        window.push(1.0)
        window.value()
        theirs = min(theirs, cpu() - start)
    print(f"\na silence longer than the window, w={width:,}: {ours * 1e6:,.0f} microseconds")
    verdict("T11", "two stacks / log", theirs / ours, 50, least=True)


def records(events: int) -> None:
    print(f"\nmost records of the heap median, W=1,000, {events:,} readings")
    chance = random.Random(4)
    streams: dict[str, Callable[[int], float]] = {
        "rising": lambda i: i,
        "falling": lambda i: -i,
        "sawtooth": lambda i: i % 3000,
        "random": lambda _: chance.random(),
    }
    for name, stream in streams.items():
        index, held, most = MedianIndex(), deque(), 0
        for i in range(events):
            held.append(stream(i))
            index.add(i, held[-1])
            if i >= 1000:
                index.remove(i - 1000, held.popleft())
            most = max(most, index.records)
        verdict("T15", name, most, 2 * 1001 + 64)


#: what, aggregation, width, readings, the last windows' results
RIGHT = [
    ("max with a NaN", "max", 3, [5.0, math.nan, 7.0, 1.0, 2.0, 3.0, 4.0], [None, None, 7, 3, 4]),
    ("sum after a NaN", "sum", 2, [math.nan, 1.0, 2.0, 3.0], [3, 5]),
    ("sum after an infinity", "sum", 2, [math.inf, 1.0, 2.0, 3.0], [3, 5]),
    ("sum after 1e17", "sum", 2, [0.1, 1e17, 0.1, 0.2, 0.3], [0.3, 0.5]),
    ("variance after 1e9", "variance", 3, [1e9, 1.0, 2.0, 3.0, 4.0, 5.0], [1, 1]),
    ("variance after 1e16", "variance", 3, [1e16, 1.0, 2.0, 3.0, 4.0, 5.0], [1, 1]),
    ("median with a NaN", "median", 3, [1.0, math.nan, 2.0, 3.0, 4.0, 5.0], [3, 4]),
]


def _agrees(results: list[float | None], expected: list[float | None]) -> bool:
    tail = results[-len(expected) :]
    return all(
        (want is None and (got is None or got != got))
        or (want is not None and got is not None and math.isclose(got, want, rel_tol=1e-9))
        for got, want in zip(tail, expected, strict=True)
    )


def suite() -> None:
    print("\nwindows that held something bad and no longer do")
    ours = {"max": MAX, "sum": SUM, "variance": VARIANCE, "median": MedianIndex}
    peers = {
        "rolling": {
            "max": rolling.Max,
            "sum": rolling.Sum,
            "variance": rolling.Var,
            "median": rolling.Median,
        },
        "river": {
            "max": stats.RollingMax,
            "sum": lambda w: utils.Rolling(stats.Sum, window_size=w),
            "variance": lambda w: utils.Rolling(stats.Var, window_size=w),
            "median": lambda w: stats.RollingQuantile(0.5, w),
        },
    }
    right = 0
    for what, name, width, values, expected in RIGHT:
        log = Log(chunk=2)
        view = log.view(ours[name], count=width)
        results = []
        for at, x in enumerate(values):
            log.append(at, x)
            results.append(view.value(at))
        good = _agrees(results, expected)
        right += good
        states = [f"log {'right' if good else 'WRONG'}"]
        for peer, makes in peers.items():
            try:
                if peer == "rolling":
                    results = list(makes[name](values, window_size=width))
                else:
                    window, results = makes[name](width), []
                    for x in values:
                        window.update(x)
                        results.append(window.get())
                state = "right" if _agrees(results, expected) else "wrong"
            except BaseException as exc:  # noqa: BLE001  river panics with a BaseException
                state = type(exc).__name__
            states.append(f"{peer} {state}")
        print(f"  {what:<24}{', '.join(states)}")
    verdict("T19", "right, of all", right / len(RIGHT), 1, least=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="under a minute; shorter windows")
    quick = parser.parse_args().quick
    started = cpu()
    print(f"Python {sys.version.split()[0]}, {'quick' if quick else 'full'}")
    suite()
    if quick:
        costs(10_000, 3, [100, 1000, 10_000, 100_000])
        medians(8_000, 2, 100_000)
        counted(100_000, 2_000)
        memory(30_000)
        many_windows(10_000, 2)
        gap(100_000, 2)
        pauses(100_000, [100_000], 3_000, 4)
        records(100_000)
    else:
        costs(30_000, 5, [100, 1000, 10_000, 100_000, 1_000_000])
        medians(30_000, 3, 100_000)
        counted(1_000_000, 5_000)
        memory(100_000)
        many_windows(50_000, 5)
        gap(100_000, 5)
        pauses(1_000_000, [100_000, 1_000_000], 5_000, 5)
        records(10_000_000)
    print(f"\n{cpu() - started:.0f} s of CPU; missed: {', '.join(sorted(set(missed))) or 'none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
