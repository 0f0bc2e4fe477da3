"""Running rule tests, and saying what is not as it was expected."""

import textwrap
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, tzinfo
from typing import NamedTuple

from hushd.cli.rule_test_files import SILENCE, Point, RuleTest, Stretch
from hushd.core.readings import SECOND, Labels
from hushd.core.transitions import Transition
from hushd.runtime.rehearsal import Rehearsal, Said
from hushd.runtime.wording import quantity

BEFORE, AFTER = 3, 2  # changes that are shown around what was expected
WIDTH = 96
SHOWN = 12  # messages


class Failure(NamedTuple):
    """What is not as it was expected."""

    line: int
    what: str
    details: tuple[str, ...]


class Standing(NamedTuple):
    """How an alert stands."""

    state: str
    severity: str | None
    value: float | None
    no_data: bool


def run(test: RuleTest) -> list[Failure]:
    """Return what is not as a test expects it, in the order of the file."""
    rehearsal = Rehearsal(test.config, test.begin, test.mutes)
    points = sorted(test.points, key=lambda point: point.at)
    found: dict[Point, Standing | None] = {}
    looked = 0
    ends = [point.at for point in points] + [stretch.end for stretch in test.stretches]
    for reading in test.readings:
        while looked < len(points) and points[looked].at < reading.at:
            _look(rehearsal, points[looked], found)
            looked += 1
        rehearsal.feed(reading)
    for point in points[looked:]:
        _look(rehearsal, point, found)
    rehearsal.advance(max([rehearsal.now, *ends]))
    report = _Report(test, rehearsal)
    failures = [
        *(report.of_point(point, found[point]) for point in test.points),
        *(report.of_stretch(stretch) for stretch in test.stretches),
    ]
    return sorted((failure for failure in failures if failure), key=lambda failure: failure.line)


def _look(rehearsal: Rehearsal, point: Point, found: dict[Point, Standing | None]) -> None:
    rehearsal.advance(point.at)
    if point.rule.endswith(SILENCE):
        changes = rehearsal.changes(point.rule, point.labels)
        level = changes[-1].severity if changes else None
        found[point] = Standing("ok" if level is None else "firing", level, None, no_data=False)
        return
    alert = rehearsal.alert(point.rule, point.labels)
    if alert is None:
        found[point] = None
        return
    value = rehearsal.value(point.rule, point.labels)
    found[point] = Standing(alert.state.partition("(")[0], alert.level, value, alert.stale)


class _Report:
    """Knows the words for what is not as it was expected."""

    def __init__(self, test: RuleTest, rehearsal: Rehearsal) -> None:
        self._rehearsal = rehearsal
        self._zone: tzinfo = test.config.site.zone or UTC
        self._units = {sensor.name: sensor.unit for sensor in test.config.rules.sensors}
        self._day = self._moment(test.begin).date()

    def of_point(self, point: Point, found: Standing | None) -> Failure | None:
        """Return what is wrong with an alert at a time."""
        if found is None:
            expected = [f"{name} {text}" for name, text, _, _ in _wishes(point, None)]
            there = [f"no such alert: nothing was heard of {_named('', point.labels) or 'it'}"]
            others = [_named("", labels) for labels in self._rehearsal.labels(point.rule)]
            if others:
                there += [f"there is one for {', '.join(others[:5])}"]
        else:
            wrong = [wish for wish in _wishes(point, found) if not wish[3]]
            if not wrong:
                return None
            expected = [f"{name} {text}" for name, text, _, _ in wrong]
            there = [f"{name} {text}" for name, _, text, _ in wrong]
        lines = [
            f"expected:  {', '.join(expected)}",
            f"there was: {', '.join(there)}",
            *self._around(point),
        ]
        what = f"at {self._time(point.at)}, {_named(point.rule, point.labels)}"
        return Failure(point.line, what, tuple(lines))

    def of_stretch(self, stretch: Stretch) -> Failure | None:
        """Return what is wrong with the messages between two times."""
        lines: list[str] = []
        for notifier in dict.fromkeys([*stretch.told, *stretch.message]):
            messages = self._messages(stretch, notifier)
            kinds = tuple(message.note.kind for message in messages)
            expected = stretch.told.get(notifier)
            if expected is not None and kinds != expected:
                lines.append(f"expected:  {notifier} is told {_listed(expected)}")
                lines.append(f"there was: {notifier} was told {_listed(kinds)}")
                lines += self._shown(messages, whole=False)
            text = stretch.message.get(notifier)
            if text is not None and not any(text in _text(message) for message in messages):
                lines.append(f'expected:  a message to {notifier} with "{text}"')
                lines.append(f"there was: {'none with it' if messages else 'no message'}")
                lines += self._shown(messages, whole=True)
        if not lines:
            return None
        about = f", {_named(stretch.rule, stretch.labels)}"
        what = f"between {self._time(stretch.begin)} and {self._time(stretch.end)}"
        return Failure(stretch.line, what + about.rstrip(", "), tuple(lines))

    def _messages(self, stretch: Stretch, notifier: str) -> list[Said]:
        return [
            said
            for said in self._rehearsal.said
            if said.notifier == notifier
            and stretch.begin <= said.at <= stretch.end
            and any(
                stretch.rule in ("", rule) and set(stretch.labels) <= set(labels)
                for rule, labels in said.about
            )
        ]

    def _shown(self, messages: Sequence[Said], *, whole: bool) -> Iterator[str]:
        for message in messages[:SHOWN]:
            note = message.note
            yield from _wrapped(f"  {self._time(message.at)} {note.kind}: {note.title}", 4)
            for line in note.text.splitlines() if whole else ():
                yield from _wrapped(f"    {line}", 4)
        if len(messages) > SHOWN:
            yield f"  and {len(messages) - SHOWN} more"

    def _around(self, point: Point) -> Iterator[str]:
        """Yield what changed of the alert before and after."""
        changes = self._rehearsal.changes(point.rule, point.labels)
        before = [change for change in changes if change.at <= point.at]
        after = [change for change in changes if change.at > point.at]
        if not changes:
            yield "nothing has changed of it"
        for change in (*before[-BEFORE:], *after[:AFTER]):
            yield f"  {self._time(change.at)} {self._change(change)}"

    def _change(self, change: Transition) -> str:
        words: list[str] = [change.event, *([change.severity] if change.severity else [])]
        if change.value is not None and change.event not in {"no_data", "data_back"}:
            words.append(f"at {quantity(change.value, change.unit)}")
            if change.limit is not None:
                words.append(f"(limit {quantity(change.limit)})")
        if change.reason not in {"value", "data", "no_data", "flapping", "steady"}:
            words.append(f"({change.reason.replace('_', ' ')})")
        return " ".join(words)

    def _moment(self, at: int) -> datetime:
        return datetime.fromtimestamp(at // SECOND, self._zone)

    def _time(self, at: int) -> str:
        """Return the time, and the day where it is not the one on which the test starts."""
        moment = self._moment(at)
        fraction = f".{at % SECOND:09d}".rstrip("0") if at % SECOND else ""
        day = "" if moment.date() == self._day else f"{moment:%Y-%m-%d} "
        return f"{day}{moment:%H:%M:%S}{fraction}"


#: what is looked at, what was expected, what there was, and whether that is the same
Wish = tuple[str, str, str, bool]


def _wishes(point: Point, found: Standing | None) -> Iterator[Wish]:
    """Yield all that is expected at a time."""
    state, severity, value, no_data = found or (None, None, None, None)
    if point.state is not None:
        yield "state", point.state, state or "", state == point.state
    if point.severity is not None:
        yield "severity", point.severity, severity or "none", severity == point.severity
    if point.value is not None:
        shown = "none" if value is None else f"{value:.10g}"
        yield "value", point.value.text, shown, point.value.met_by(value)
    if point.no_data is not None:
        yield "no_data", _flag(point.no_data), _flag(no_data), no_data == point.no_data


def _flag(flag: bool | None) -> str:
    return "true" if flag else "false"


def _named(rule: str, labels: Labels) -> str:
    """Return ``night-noise, room 101``."""
    return ", ".join([*([rule] if rule else []), *(f"{name} {value}" for name, value in labels)])


def _listed(kinds: Sequence[str]) -> str:
    return ", ".join(kinds) or "nothing"


def _text(message: Said) -> str:
    return f"{message.note.title}\n{message.note.text}"


def _wrapped(line: str, indent: int) -> list[str]:
    margin = " " * (len(line) - len(line.lstrip()))
    return textwrap.wrap(
        line.strip(),
        WIDTH,
        initial_indent=margin,
        subsequent_indent=margin + " " * indent,
        break_long_words=False,
    )
