"""The algebra behind every sliding-window aggregate, and the record that offers one.

An aggregate that can be written as an aggregation costs O(1) amortised per reading,
whatever the window's length, because the two-stack core can slide it.  The words empty,
unit, combine and finalize follow Peters, "Two-Stack Sliding-Window Aggregation" (2026);
Tangwongsan, Hirzel & Schneider (VLDB Journal 30, 2021) call them identity, lift, combine
and lower.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, Protocol, TypeVar, runtime_checkable

P = TypeVar("P")

#: What ``unit`` is given beside the value: nothing, the seconds the reading stands for, or
#: its time in integer nanoseconds since the epoch.
Wants = Literal["value", "seconds", "time"]


@dataclass(frozen=True, slots=True)
class Aggregation(Generic[P]):
    """Four functions that turn any window into one number.

    ``combine`` is associative, has ``empty()`` as its identity, takes the older part
    first and never mutates either.  Value, partial and result may be three types.

    The other fields are accelerators: each must give what its default, made of the four,
    would give (the contract tests compare them), only faster.
    """

    empty: Callable[[], P]
    unit: Callable[..., P]  # unit(value), unit(value, seconds) or unit(value, at)
    combine: Callable[[P, P], P]
    finalize: Callable[[P], Any]
    #: ``absorb(partial, value[, extra])`` = ``combine(partial, unit(value[, extra]))``
    absorb: Callable[..., P] | None = None
    #: ``result(front, middle, back)`` = ``finalize(combine(combine(front, middle), back))``
    result: Callable[[P, P, P], Any] | None = None
    #: ``scan(values[, extras])``: the partials of every suffix, shortest first
    scan: Callable[..., list[P]] | None = None

    def of(self, change: Callable[[float], float]) -> "Aggregation[P]":
        """Return this aggregation over ``change(value)`` in place of each value."""
        unit = self.unit
        return Aggregation(
            self.empty,
            lambda value, *extra: unit(change(value), *extra),
            self.combine,
            self.finalize,
            result=self.result,
        )

    def then(self, change: Callable[[Any], Any]) -> "Aggregation[P]":
        """Return this aggregation with ``change`` applied to each result that is not None."""
        finalize, result = self.finalize, self.result

        def finish(answer: Any) -> Any:
            return None if answer is None else change(answer)

        return replace(
            self,
            finalize=lambda partial: finish(finalize(partial)),
            result=result and (lambda front, middle, back: finish(result(front, middle, back))),
        )


@runtime_checkable
class WindowIndex(Protocol):
    """What no associative ``combine`` can do: readings come and go one by one.

    The window calls ``add`` with strictly increasing ids, and ``remove`` once for each,
    with the same value; usually but not always the oldest first.
    """

    def add(self, event_id: int, value: float) -> None: ...
    def remove(self, event_id: int, value: float) -> None: ...
    def value(self) -> Any: ...


IndexFactory = Callable[[], WindowIndex]
How = Aggregation[Any] | IndexFactory


@dataclass(frozen=True, slots=True)
class Parameter:
    """The one argument of an aggregator, as in ``{percentile: 95}``; bounds are inclusive."""

    name: str
    low: float | None = None
    high: float | None = None
    unit: str = ""  # for messages: "%", "the sensor's unit"


@dataclass(frozen=True, slots=True)
class Aggregator:
    """An aggregate that rules may name: what a plugin offers.

    ``how`` is an :class:`Aggregation` or a factory of a :class:`WindowIndex`; with a
    ``parameter`` it is a function from the argument to one of the two.
    """

    name: str
    how: Any  # How, or Callable[[float], How] where there is a parameter
    summary: str
    unit: str = "{unit}"  # of the result: "{unit}/s", "s", "" for a plain number
    empty: float | None = None  # the value of an empty window, if it has one
    parameter: Parameter | None = None
    wants: Wants = "value"
    #: judged however few readings or little coverage there is (counts and durations)
    always: bool = False
    #: right for decibels; ``check`` warns of others such as an arithmetic mean
    energy: bool = True
    #: in a sentence, about the text {window}; {x} is the argument, {unit} the sensor's unit
    phrase: str = ""

    def build(self, argument: float | None = None) -> How:
        """Return how to compute it, for *argument* where the aggregator takes one."""
        how: How = self.how if self.parameter is None else self.how(argument)
        return how


def fold(aggregation: Aggregation[P], values: Iterable[Any]) -> P:
    """Return the partial of *values*, oldest first: the obvious slow way."""
    partial = aggregation.empty()
    for value in values:
        partial = aggregation.combine(partial, aggregation.unit(value))
    return partial


def recompute(aggregation: Aggregation[Any], values: Sequence[Any]) -> Any:
    """Return the aggregate of *values* from scratch: the oracle of the tests."""
    return aggregation.finalize(fold(aggregation, values))
