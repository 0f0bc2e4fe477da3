"""The laws of an aggregation and of a window index."""

import pickle
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from math import isclose, isfinite, isnan, nan
from random import Random
from typing import Any, NoReturn

from hushd.core.aggregation import Aggregation, Aggregator, IndexFactory, Wants

TOLERANCE = 1e-9  # floating-point sums depend on the order of adding in the last digits

_TREES = 8  # ways in which each stream is cut and put together again
_STEPS = 150  # readings that come or go in the check of an index
_EPOCH = 1_742_601_600 * 10**9
_ANY_ARGUMENT = 55.0  # where a parameter has no bounds: among the readings

Reading = tuple[Any, ...]  # the arguments of `unit`: a value, and what the aggregator wants


def check_aggregator(
    aggregator: Aggregator, argument: float | None = None, *, seed: int = 0
) -> None:
    """Raise AssertionError with the law that *aggregator* breaks, if it breaks one.

    An :class:`Aggregation` must be associative with ``empty()`` as its identity on both
    sides, must not change a partial that it is given, must agree with recomputing from
    scratch however the window is cut (also with its accelerators, and where the window
    holds a NaN), and its partials must be picklable.  A window index must agree with a new
    one that holds the same readings, whatever came and went before.

    Args:
        aggregator: What a plugin offers.
        argument: For a parameter; by default its bounds and their middle are tried.
        seed: Another one checks with other readings.
    """
    parameter = aggregator.parameter
    arguments = [argument]
    if parameter is not None and argument is None:
        arguments = [_ANY_ARGUMENT]
        if parameter.low is not None and parameter.high is not None:
            middle = (parameter.low + parameter.high) / 2
            arguments = [parameter.low, middle, parameter.high]
    for each in arguments:
        random = Random(seed)  # noqa: S311  readings are no secrets
        how = aggregator.build(each)
        name = aggregator.name if each is None else f"{{{aggregator.name}: {each:g}}}"
        if isinstance(how, Aggregation):
            _Algebra(name, how, aggregator).check(random)
        else:
            _check_index(name, how, aggregator.empty, random)


class _Algebra:
    """An aggregation under examination."""

    def __init__(self, name: str, how: Aggregation[Any], aggregator: Aggregator) -> None:
        self.name = name
        self.how = how
        self.wants = aggregator.wants
        self.nothing = aggregator.empty
        self.scale = 1.0

    def check(self, random: Random) -> None:
        """Try every law on every stream."""
        self.expect("the empty window", self.answer(self.how.empty()), self.nothing)
        for values in _streams(random):
            self.scale = max([1.0, *(abs(value) for value in values if isfinite(value))])
            readings = _readings(values, self.wants, random)
            self.check_combine(readings, random)
            self.check_absorb(readings)
            self.check_scan(readings)
            self.check_result(readings, random)
        self.expect("the empty window, in the end", self.answer(self.how.empty()), self.nothing)

    def check_combine(self, readings: Sequence[Reading], random: Random) -> None:
        """Cut the window in many ways: associativity, identity, no mutation."""
        units = [self.call("unit", *reading) for reading in readings]
        whole = reduce(self.combine, units)
        truth = self.answer(whole)
        for sides in ((self.how.empty(), whole), (whole, self.how.empty())):
            self.expect("empty() is not the identity", self.answer(self.combine(*sides)), truth)
        for _ in range(_TREES):
            parts = list(units)
            while len(parts) > 1:
                i = random.randrange(len(parts) - 1)
                parts[i : i + 2] = [self.combine(parts[i], parts[i + 1])]
            self.expect(
                f"combine is not associative: {_shown(readings)}", self.answer(parts[0]), truth
            )

    def check_absorb(self, readings: Sequence[Reading]) -> None:
        """Compare ``absorb`` with ``combine`` and ``unit``."""
        if self.how.absorb is None:
            return
        partial = self.how.empty()
        for n, reading in enumerate(readings, 1):
            before = self.dump(partial)
            absorbed = self.call("absorb", partial, *reading)
            if self.dump(partial) != before:
                self.fail("absorb changes the partial that it is given")
            partial = absorbed
            truth = self.answer(self.fold(readings[:n]))
            self.expect(f"absorb: {_shown(readings[:n])}", self.answer(partial), truth)

    def check_scan(self, readings: Sequence[Reading]) -> None:
        """Compare ``scan`` with the fold of every suffix; values may come as an array."""
        if self.how.scan is None:
            return
        columns = [list(column) for column in zip(*readings, strict=True)]
        packed = [array("d", columns[0]), *columns[1:]]
        for given in (columns, packed):
            partials = self.call("scan", *given)
            if len(partials) != len(readings):
                self.fail(f"scan gives {len(partials)} partials of {len(readings)} readings")
            for n, partial in enumerate(partials, 1):
                suffix = readings[len(readings) - n :]
                truth = self.answer(self.fold(suffix))
                self.expect(f"scan, shortest first: {_shown(suffix)}", self.answer(partial), truth)

    def check_result(self, readings: Sequence[Reading], random: Random) -> None:
        """Compare ``result`` with ``finalize`` and ``combine``; a part may be empty."""
        if self.how.result is None:
            return
        n = len(readings)
        for cuts in ((0, 0), (0, n), (n, n), *(_two_cuts(n, random) for _ in range(_TREES))):
            parts = [readings[: cuts[0]], readings[cuts[0] : cuts[1]], readings[cuts[1] :]]
            folds = [self.fold(part) for part in parts]
            truth = self.answer(self.fold(readings))
            self.expect(f"result, cut at {cuts}", self.call("result", *folds), truth)

    def fold(self, readings: Sequence[Reading]) -> Any:
        """Return the partial of *readings*: from scratch, the obvious way."""
        partial = self.how.empty()
        for reading in readings:
            partial = self.call("combine", partial, self.call("unit", *reading))
        return partial

    def combine(self, older: Any, younger: Any) -> Any:
        """Return the combination, and see that both parts stay as they were."""
        before = self.dump(older), self.dump(younger)
        both = self.call("combine", older, younger)
        if (self.dump(older), self.dump(younger)) != before:
            self.fail("combine changes a partial that it is given")
        return both

    def answer(self, partial: Any) -> Any:
        """Return the result of a partial, which must be a number or None."""
        found = self.call("finalize", partial)
        if not (found is None or type(found) in {int, float}):
            self.fail(f"finalize gives {found!r}: neither a number nor None")
        return found

    def call(self, part: str, *arguments: Any) -> Any:
        """Return what a part of the aggregation gives; it must not raise."""
        function: Callable[..., Any] = getattr(self.how, part)
        try:
            return function(*arguments)
        except Exception as exc:  # noqa: BLE001  whatever it is, it breaks the law
            self.fail(f"{part} raised {type(exc).__name__}: {exc}")

    def dump(self, partial: Any) -> bytes:
        """Return the partial as bytes: equal before and after means untouched."""
        try:
            return pickle.dumps(partial)
        except Exception as exc:  # noqa: BLE001  whatever it is, it breaks the law
            self.fail(f"a partial cannot be pickled: {exc}")

    def expect(self, what: str, found: Any, truth: Any) -> None:
        """Fail unless both are None, or NaN, or numbers as good as equal."""
        if not same(found, truth, self.scale):
            self.fail(f"{what}: {found!r}, not {truth!r}")

    def fail(self, why: str) -> NoReturn:
        """Raise with the aggregator's name."""
        raise AssertionError(f"{self.name}: {why}")


def same(found: Any, truth: Any, scale: float = 1.0) -> bool:
    """Say whether both are None, or NaN, or numbers as good as equal at this *scale*."""
    if found is None or truth is None:
        return found is truth
    if isnan(truth) or isnan(found):
        return isnan(truth) and isnan(found)
    return isclose(found, truth, rel_tol=TOLERANCE, abs_tol=TOLERANCE * scale)


def _check_index(name: str, factory: IndexFactory, nothing: Any, random: Random) -> None:
    for values in _streams(random):
        index = factory()
        live: list[tuple[int, float]] = []
        event_id = -1
        for step in range(_STEPS):
            doing = "remove" if live and random.random() < (0.3, 0.7)[2 * step // _STEPS] else "add"
            try:
                if doing == "remove":
                    gone, value = live.pop(
                        0 if random.random() < 0.8 else random.randrange(len(live))
                    )
                    index.remove(gone, value * 1.0)  # an equal number, not the same object
                else:
                    event_id += random.choice((1, 1, 1, 7))
                    live.append((event_id, random.choice(values)))
                    index.add(*live[-1])
                doing = "value"
                found = index.value()
                truth = _afresh(factory, live) if live else nothing
            except Exception as exc:
                raise AssertionError(f"{name}: {doing} raised {type(exc).__name__}: {exc}") from exc
            if not (found is None or type(found) in {int, float}):
                raise AssertionError(f"{name}: value gives {found!r}: neither a number nor None")
            if not same(found, truth):
                raise AssertionError(f"{name}: {found!r}, not {truth!r}, of {live}")


def _afresh(factory: IndexFactory, readings: Sequence[tuple[int, float]]) -> Any:
    """Return the value of a new index that holds *readings*."""
    index = factory()
    for event_id, value in readings:
        index.add(event_id, value)
    return index.value()


def _streams(random: Random) -> Iterator[list[float]]:
    """Yield readings of every kind that sensors send, and one that they must not."""
    levels = [round(random.uniform(30, 100), 1) for _ in range(24)]
    yield levels
    yield levels[:1]
    yield levels[:2]
    yield [random.choice((40.0, 40.5, 55.0)) for _ in range(20)]  # many alike
    yield [random.uniform(-50, 50) for _ in range(20)]
    yield [1e9 + random.randrange(4) for _ in range(20)]  # far from zero, close together
    yield [0.0, -0.0, 0.0]
    yield [*levels[:6], nan, *levels[6:12]]
    yield [nan, *levels[:4]]
    yield [*levels[:4], nan, nan]
    yield levels[::-1]


def _readings(values: Sequence[float], wants: Wants, random: Random) -> list[Reading]:
    if wants == "seconds":
        return [(value, random.choice((0.0, 0.125, 1.0, 60.0))) for value in values]
    if wants == "time":
        at = _EPOCH
        readings = []
        for value in values:
            at += random.choice((0, 125_000_000, 10**9, 60 * 10**9))  # 0: two at one instant
            readings.append((value, at))
        return readings
    return [(value,) for value in values]


def _two_cuts(n: int, random: Random) -> tuple[int, int]:
    first, second = sorted((random.randint(0, n), random.randint(0, n)))
    return first, second


def _shown(readings: Sequence[Reading]) -> str:
    shown = ", ".join(str(r[0] if len(r) == 1 else r) for r in readings[:6])
    return f"{shown}, ..." if len(readings) > 6 else shown
