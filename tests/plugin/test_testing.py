"""The checks that plugins use must find each mistake that would give wrong alerts."""

from dataclasses import replace
from math import inf, nan

import pytest

from hushd.plugin import (
    MEAN,
    SUM,
    Aggregation,
    Aggregator,
    Decoder,
    MedianIndex,
    Parameter,
    Refused,
    Sample,
    Wanted,
    weighted_mean,
)
from hushd.plugin.testing import check_aggregator, check_decoder

PLAIN = Aggregation(
    lambda: -inf, lambda value: value, lambda a, b: a, lambda p: None if p == -inf else p
)


BARE = replace(MEAN, absorb=None, scan=None, result=None)


def appending():
    def combine(a, b):
        a.extend(b)
        return a

    return Aggregation(list, lambda value: [value], combine, lambda p: sum(p) if p else None)


def counting():
    calls = []

    def finalize(partial):
        calls.append(partial)
        return partial[1] / partial[0] + len(calls) if partial[0] else None

    return replace(BARE, finalize=finalize)


class Forgetful(MedianIndex):
    """A median that loses count when a reading leaves out of turn."""

    def remove(self, event_id, value):
        super().remove(event_id, value if event_id == self._oldest else nan)


class Plain(list):
    """A sorted list that does not keep NaN out."""

    def add(self, _event_id, value):
        self.append(value)

    def remove(self, _event_id, value):
        del self[self.index(value)]

    def value(self):
        return sorted(self)[(len(self) - 1) // 2] if self else None


class Fifo(MedianIndex):
    """A median for sensors that share one clock."""

    def remove(self, event_id, value):
        if event_id != self._oldest:
            raise KeyError(event_id)
        super().remove(event_id, value)


class Wordy(MedianIndex):
    """A median as text."""

    def value(self):
        return str(super().value())


@pytest.mark.parametrize(
    ("how", "broken"),
    [
        # max() is no monoid where a NaN is: its answer depends on the cut
        (replace(PLAIN, combine=max), "combine is not associative"),
        (
            replace(PLAIN, combine=lambda a, b: max(a, b) if -inf in {a, b} else (a + b) / 2),
            "combine is not associative",
        ),
        (Aggregation(lambda: 1.0, float, lambda a, b: a + b, lambda p: p), "the empty window: 1.0"),
        (
            Aggregation(lambda: -1e6, float, max, lambda p: None if p == -1e6 else p + 0 * p),
            "combine is not associative",
        ),
        (
            replace(
                PLAIN, empty=lambda: 50.0, combine=max, finalize=lambda p: p if p != 50 else None
            ),
            "empty() is not the identity",
        ),
        (appending(), "combine changes a partial"),
        (
            Aggregation(
                list,
                lambda value: [value],
                lambda a, b: a + b,
                lambda p: sum(p) if p else None,
                absorb=lambda partial, value: partial.append(value) or partial,
            ),
            "absorb changes the partial",
        ),
        (counting(), "empty() is not the identity: 7"),  # finalize has a memory
        (replace(BARE, finalize=lambda p: p[1] / p[0]), "finalize raised ZeroDivisionError"),
        (
            replace(BARE, finalize=lambda p: str(p[0]) if p[0] else None),
            "neither a number nor None",
        ),
        (replace(BARE, unit=lambda value: 1 / 0), "unit raised ZeroDivisionError"),
        (
            Aggregation(lambda: lambda: None, lambda v: lambda: v, lambda a, b: b, lambda p: p()),
            "a partial cannot be pickled",
        ),
        (replace(MEAN, absorb=lambda p, value: (p[0] + 1, p[1], p[2])), "absorb: "),
        (replace(MEAN, scan=lambda values: MEAN.scan(values)[:-1]), "scan gives 23 partials"),
        (replace(MEAN, scan=lambda values: MEAN.scan(values[::-1])), "scan, shortest first: "),
        (
            replace(MEAN, result=lambda front, middle, back: MEAN.result(front, front, back)),
            "result, cut",
        ),
        # sums of squares that are subtracted
        (
            Aggregation(
                lambda: (0, 0.0, 0.0),
                lambda x: (1, x, x * x),
                lambda a, b: (a[0] + b[0], a[1] + b[1], a[2] + b[2]),
                lambda p: (p[2] - p[1] * p[1] / p[0]) / (p[0] - 1) if p[0] > 1 else None,
            ),
            "combine is not associative",
        ),
        (Forgetful, ", not "),
        (Plain, ", not "),
        (Fifo, "remove raised KeyError: "),
        (Wordy, "value gives '"),
    ],
)
def test_a_mistake_is_found(how, broken):
    with pytest.raises(AssertionError) as caught:
        check_aggregator(Aggregator("mistaken", how, "for the test"))
    assert broken in str(caught.value)
    assert str(caught.value).startswith("mistaken: ")


def test_durations_and_arguments_are_tried_too():
    limit = Parameter("x")
    good = Aggregator(
        "good", lambda x: weighted_mean(lambda v: v > x), "", parameter=limit, wants="seconds"
    )
    check_aggregator(good)
    mistaken = replace(good, how=lambda x: replace(weighted_mean(float), scan=lambda v, s: []))
    with pytest.raises(AssertionError, match=r"good: 55\}: scan gives 0 partials"):
        check_aggregator(mistaken)
    tried = []
    bounded = replace(good, parameter=Parameter("x", 0, 100))
    check_aggregator(replace(bounded, how=lambda x: tried.append(x) or good.how(x)))
    assert tried == [0, 50, 100]
    with pytest.raises(AssertionError, match=r"good: 7\}"):
        check_aggregator(mistaken, 7)


def test_the_value_of_the_empty_window_must_be_the_one_announced():
    check_aggregator(Aggregator("sum", SUM, ""))
    with pytest.raises(AssertionError, match="sum: the empty window: None, not 0"):
        check_aggregator(Aggregator("sum", SUM, "", empty=0))


@pytest.mark.parametrize(
    ("decode", "broken"),
    [
        (lambda payload: [Sample(float(payload))], "raised ValueError"),
        (lambda payload: [Sample(float(len(payload) or "nan"))], "no finite number"),
        (lambda payload: [Sample(True)], "no finite number"),
        (lambda payload: [Sample(1, at=1.5)], "not whole nanoseconds"),
        (lambda payload: [Sample(1, labels=(("room", ""),))], "no text"),
        (lambda payload: [Sample(1, labels=(("room", "\ud800"),))], "no text"),
        (lambda payload: (Sample(1),), "not a list"),
        (lambda payload: None, "not a list"),
        (lambda payload: [1.0], "neither a Sample nor a Refused"),
        (lambda payload: [Refused(f"bad {payload!r}")], "no constant"),
        (lambda payload: [Refused("bad_" + payload.hex()[:8])], "reasons are not constants"),
        (lambda payload: [Refused("bad", "x" * 81)], "more than 80"),
    ],
)
def test_a_decoders_mistake_is_found(decode, broken):
    with pytest.raises(AssertionError) as caught:
        check_decoder(Decoder("mistaken", "", lambda _wanted: decode))
    assert broken in str(caught.value)
    assert str(caught.value).startswith("mistaken: ")


def test_a_decoder_with_a_memory_is_found():
    answers = iter(range(10**9))
    with pytest.raises(AssertionError, match="then"):
        check_decoder(Decoder("counter", "", lambda _wanted: lambda _: [Sample(next(answers))]))


def test_an_example_must_hold_a_sample():
    decoder = Decoder("deaf", "", lambda _wanted: lambda _: [])
    check_decoder(decoder, Wanted())
    with pytest.raises(AssertionError, match=r"deaf: b'63': gives \[\], no sample"):
        check_decoder(decoder, examples=[b"63"])
