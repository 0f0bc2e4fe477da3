"""The work of ``hushd tune``: one rule on a recording, with one limit after the other."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from hushd.cli import episodes as on
from hushd.cli.episodes import Episode, episodes
from hushd.cli.phrases import number, span, unit_of
from hushd.cli.replaying import Playback, Request, UsageError
from hushd.config.problems import suggest
from hushd.config.records import Config
from hushd.core.engine import Engine
from hushd.core.hours import hours_of
from hushd.core.places import over_text
from hushd.core.readings import SECOND
from hushd.core.rules import Limit, Regime, Rule, Severity
from hushd.core.schedules import Calendar
from hushd.core.transitions import Evaluation, Transition

STEPS = 16  # limits that are tried, more or less
REST = {"warming", "inactive", "suspended"}  # nothing is judged


class Asked(NamedTuple):
    """Which limit is to be tuned."""

    rule: str
    severity: Severity | None  # None: the mildest that there is
    during: str | None


class Row(NamedTuple):
    """What one limit would have done."""

    limit: float
    found: list[Episode]
    places: int  # label sets


def tune(config: Config, asked: Asked, recording: Request) -> None:
    """Print what each limit of a range would have done.

    Raises:
        UsageError: there is no such limit, or the recording cannot be read.
    """
    rule = _rule(config, asked.rule)
    regime, limit = _limit(rule, asked)
    seen = _Values(config, rule, regime)
    playback = Playback(config, recording)
    end = _run(playback, config, [_with(rule, regime, limit)], trace=seen.note)
    if not seen.values:
        playback.account()
        raise UsageError(f'"{rule.name}" could not be judged once: there is nothing to tune by')
    tried = limits(limit, seen.values)
    clones = {
        bound: replace(_with(rule, regime, _moved(limit, bound)), name=f"{rule.name}@{bound!r}")
        for bound in tried
    }
    changes: list[Transition] = []
    _run(Playback(config, recording), config, list(clones.values()), changes=changes)
    found = episodes(changes, end)
    rows = []
    for bound, clone in clones.items():
        places = [each for (name, _), each in found.items() if name == clone.name]
        rows.append(Row(bound, [one for each in places for one in each], len(places)))
    unit = unit_of(rule.inputs[0], config.catalog, _unit(config, rule))
    for line in (*head(rule, limit, regime, unit), *table(rows, limit, seen.length)):
        print(line)
    where = "place" if seen.places == 1 else f"{seen.places} places"
    print(f"share is of what was recorded: {span(seen.length // SECOND * SECOND)} in {where}")
    playback.account()


def limits(limit: Limit, values: Sequence[float]) -> list[float]:
    """Return round numbers to try: over the half of *values* that is nearest to too much.

    The present limit is always among them.
    """
    assert isinstance(limit.limit, float)  # noqa: S101  pairs were refused
    ordered = sorted(values)
    middle, upwards = ordered[len(ordered) // 2], limit.comparison in ("above", "at_least")
    low, high = (middle, ordered[-1]) if upwards else (ordered[0], middle)
    low, high = min(low, limit.limit), max(high, limit.limit)
    step = _round_step((high - low) / STEPS)
    first, last = math.floor(low / step), math.ceil(high / step)
    return sorted({*(round(n * step, 9) for n in range(first, last + 1)), limit.limit})


def head(rule: Rule, limit: Limit, regime: Regime, unit: str) -> Iterator[str]:
    """Yield what is tuned, and what is held fixed."""
    when = f" during {regime.during}" if regime.during else ""
    comparison = limit.comparison.replace("_", " ")
    yield f"{rule.name}: {limit.severity} {comparison} ... {unit}".rstrip() + when
    over = over_text(rule.over)
    held = [f"{rule.measure} over {over}" if over else str(rule.measure)]
    if limit.wait:
        held.append(f"for {span(limit.wait)}")
    if limit.clear_wait:
        held.append(f"clear_for {span(limit.clear_wait)}")
    if isinstance(limit.clear, float) and isinstance(limit.limit, float):
        distance = number(round(abs(limit.limit - limit.clear), 9), unit)
        held.append(f"clear {distance} on the quiet side")
    yield f"held as it is: {', '.join(held)}"
    yield ""


def table(rows: Sequence[Row], limit: Limit, length: int) -> Iterator[str]:
    """Yield a line for each limit; *length* is that of all that was recorded, in all places."""
    yield f"{'limit':>10}{'episodes':>10}{'places':>8}{'time on':>14}{'longest':>14}{'share':>8}"
    for row in rows:
        share = sum(one.length for one in row.found) / length if length else 0.0
        mark = "  <- now" if row.limit == limit.limit else ""
        yield (
            f"{row.limit:>10g}{len(row.found):>10}{row.places:>8}{on.total(row.found) or '-':>14}"
            f"{on.longest(row.found) or '-':>14}{share:>8.1%}{mark}"
        )


class _Values:
    """What a rule saw whenever it could judge, and for how long it looked."""

    def __init__(self, config: Config, rule: Rule, regime: Regime) -> None:
        calendar = Calendar(config.rules.schedules, config.rules.holidays)
        self._hours = hours_of(rule, calendar)
        self._regime = rule.choices.index(regime)
        self.values: list[float] = []
        self._spans: dict[object, tuple[int, int]] = {}

    @property
    def places(self) -> int:
        """How many label sets there are."""
        return len(self._spans)

    @property
    def length(self) -> int:
        """How long was recorded, of all label sets together."""
        return sum(last - first for first, last in self._spans.values())

    def note(self, evaluation: Evaluation) -> None:
        """Take note of a look."""
        first, _ = self._spans.get(evaluation.labels, (evaluation.at, 0))
        self._spans[evaluation.labels] = first, evaluation.at
        if self._hours is not None and self._hours.regime(evaluation.at) != self._regime:
            return
        if evaluation.value is not None and evaluation.state not in REST:
            self.values.append(evaluation.value)


def _run(
    playback: Playback,
    config: Config,
    rules: Sequence[Rule],
    *,
    trace: Callable[[Evaluation], None] | None = None,
    changes: list[Transition] | None = None,
) -> int:
    """Let *rules* alone judge a recording; return when it ends."""
    engine = Engine(replace(config.rules, rules=tuple(rules)), config.catalog.aggregators)
    engine.trace = trace
    kept = [] if changes is None else changes
    ended = 0

    def finish(end: int) -> None:
        nonlocal ended
        ended = end
        kept.extend(engine.advance(end))

    playback.play(lambda reading: kept.extend(engine.process(reading)), finish)
    return ended


def _rule(config: Config, name: str) -> Rule:
    found = {rule.name: rule for rule in config.rules.rules}
    if name not in found:
        hint = "".join(f"\n  hint: {text}" for text in suggest(name, found))
        raise UsageError(f'there is no rule "{name}"{hint}')
    if found[name].leaves:
        raise UsageError(
            f'"{name}" has several conditions, and so no one limit to tune\n'
            "  hint: tune each as a rule of its own, or try replay --what-if"
        )
    return found[name]


def _limit(rule: Rule, asked: Asked) -> tuple[Regime, Limit]:
    """Return the limit that is meant, and when it counts."""
    names = [_name(regime) for regime in rule.choices]
    if len(names) > 1 and asked.during is None:
        raise UsageError(
            f'"{rule.name}" has limits by schedule\n'
            f"  hint: say which, as in --during {names[0]}; there are: {', '.join(names)}"
        )
    if asked.during is not None and asked.during not in names:
        raise UsageError(f'"{rule.name}" has no limits during {asked.during}')
    regime = rule.choices[0 if asked.during is None else names.index(asked.during)]
    severities = {limit.severity: limit for limit in regime.limits}
    if asked.severity is not None and asked.severity not in severities:
        raise UsageError(f'"{rule.name}" has no limit for {asked.severity} there')
    limit = severities[asked.severity] if asked.severity else regime.limits[0]
    if isinstance(limit.limit, tuple):
        raise UsageError(
            f'"{limit.comparison}" has two ends, and one number does not move both\n'
            f"  hint: try replay --what-if {rule.name}.{limit.severity}.{limit.comparison}=[LOW, HIGH]"
        )
    return regime, limit


def _name(regime: Regime) -> str:
    return str(regime.during or "otherwise")


def _with(rule: Rule, regime: Regime, limit: Limit) -> Rule:
    """Return the rule with that one limit, which counts when it did."""
    if not rule.regimes:
        return replace(rule, limits=(limit,))
    others = (replace(each, limits=(limit,) if each is regime else ()) for each in rule.regimes)
    return replace(rule, regimes=tuple(others))


def _moved(limit: Limit, bound: float) -> Limit:
    """Return the limit at *bound*, with `clear` as far from it as it was."""
    if not (isinstance(limit.clear, float) and isinstance(limit.limit, float)):
        return replace(limit, limit=bound)
    return replace(limit, limit=bound, clear=bound + limit.clear - limit.limit)


def _unit(config: Config, rule: Rule) -> str:
    return next((each.unit for each in config.rules.sensors if each.name == rule.sensor), "")


def _round_step(least: float) -> float:
    """Return the least of 1, 2, 5, 10, 20 ... that is not less.

    >>> _round_step(0.3), _round_step(7), _round_step(0)
    (0.5, 10.0, 1.0)
    """
    if least <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * n for n in (1.0, 2.0, 5.0, 10.0) if power * n >= least * (1 - 1e-9))
