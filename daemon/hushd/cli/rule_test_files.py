"""Files of rule tests: YAML in, tests that can be run out, every problem with its place."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hushd import config
from hushd.cli.rule_test_keys import AT, EXPECTATION, FILE
from hushd.cli.rule_test_keys import SILENCE as SILENCES
from hushd.cli.rule_test_words import LONGEST, TOO_LONG, Figure, When
from hushd.config.document import MAX_BYTES, parse
from hushd.config.problems import ConfigError, Mark, Report, Source, suggest
from hushd.config.records import Config
from hushd.config.scalars import BAD
from hushd.config.table import Section
from hushd.core.mutes import Mute
from hushd.core.readings import Labels, Reading

SILENCE = "/no-data"

Told = Mapping[str, tuple[str, ...]]


class Point(NamedTuple):
    """How an alert is to stand at one time; None: no matter."""

    line: int
    at: int
    rule: str
    labels: Labels
    state: str | None
    severity: str | None
    value: Figure | None
    no_data: bool | None


class Stretch(NamedTuple):
    """What is to be told from one time to another, both included."""

    line: int
    begin: int
    end: int
    rule: str  # "": no matter about which
    labels: Labels  # those that it must carry
    told: Told
    message: Mapping[str, str]


class RuleTest(NamedTuple):
    """One test."""

    name: str
    config: Config
    begin: int
    readings: Sequence[Reading]  # in order of time
    mutes: Sequence[Mute]
    points: Sequence[Point]
    stretches: Sequence[Stretch]


def read(path: Path) -> list[RuleTest]:
    """Return the tests of a file.

    Raises:
        ConfigError: there is anything wrong, in it or in a configuration that it names.
        OSError: it cannot be read.
    """
    report = Report()
    with path.open("rb") as file:
        root = parse(str(path), file.read(MAX_BYTES + 1), report)
    if root is None:
        report.error(Mark(Source(str(path)), 0, 0), "the file is empty", f"write {FILE.example}")
        raise ConfigError(report.problems)
    root.at = Mark(root.mark.source, 1, 1, len(root.mark.source.lines[0].rstrip()))
    found = FILE.read(root, report)
    tests: list[RuleTest] = []
    if found is not BAD and found["tests"]:
        configurations = _Configurations(path.parent, report)
        for _, section in found["tests"]:
            before = len(report.problems)
            rules = configurations.read(section)
            if rules is not None and section.ok("start"):
                test = _Reader(section, rules, report).test()
                if test is not None and len(report.problems) == before:
                    tests.append(test)
    report.stop_if_wrong()
    return tests


class _Configurations:
    """Those that the tests of a file name, each read once."""

    def __init__(self, folder: Path, report: Report) -> None:
        self._folder = folder
        self._report = report
        self._known: dict[Path, Config | None] = {}

    def read(self, section: Section) -> Config | None:
        """Return the one of a test; None: there is something wrong."""
        if not section["rules"]:
            return None
        path = self._folder / section["rules"]
        if path not in self._known:
            self._known[path] = self._read(path, section)
        return self._known[path]

    def _read(self, path: Path, section: Section) -> Config | None:
        if not path.is_file():
            self._report.error(section.place("rules"), f"there is no file {path}")
            return None
        try:
            return config.read(path)
        except ConfigError as exc:
            self._report.problems += exc.problems
            return None


class _Reader:
    """Holds one test against the configuration that it names."""

    def __init__(self, section: Section, rules: Config, report: Report) -> None:
        self._section = section
        self._config = rules
        self._report = report
        self._zone = rules.site.zone
        self._rules = {rule.name: rule for rule in rules.rules.rules}
        self._sensors = {sensor.name: sensor for sensor in rules.rules.sensors}
        self._begin = 0

    def test(self) -> RuleTest | None:
        """Return it; None where there is something wrong that hides the rest."""
        section = self._section
        begin = self._instant(section["start"], section.place("start"), None)
        if begin is None:
            return None
        self._begin = begin
        readings = [r for _, feed in section["feed"] or () for r in self._readings(feed)]
        points: list[Point] = []
        stretches: list[Stretch] = []
        for mark, one in section["expect"] or ():
            if "at" in one:
                points += self._point(one, mark)
            else:
                stretches += self._stretch(one, mark)
        return RuleTest(
            section["name"] or "",
            self._config,
            begin,
            sorted(readings, key=lambda reading: reading.at),
            [
                mute
                for number, (_, one) in enumerate(section["silences"] or (), 1)
                for mute in self._mute(one, number)
            ],
            points,
            stretches,
        )

    def _instant(self, when: When | None, mark: Mark, start: int | None) -> int | None:
        if when is None:
            return None
        try:
            return when.instant(self._zone, start)
        except ValueError as exc:
            self._report.error(mark, "this time cannot be", str(exc))
            return None

    def _time(self, section: Section, key: str) -> int | None:
        return self._instant(section[key], section.place(key), self._begin)

    def _span(self, section: Section, first: int | None, last: int | None, key: str) -> bool:
        """Say whether both are there, and in order."""
        if first is None or last is None:
            return False
        if last < first:
            self._report.error(section.place(key), "its end is before its beginning", "swap them")
        return last >= first

    # -- what happens ------------------------------------------------------------------

    def _readings(self, feed: Section) -> list[Reading]:
        labels = _pairs(feed["labels"])
        name = feed["sensor"]
        if not feed.ok("sensor", "labels", "at", "every", "values"):
            return []
        sensor = self._sensors.get(name)
        if sensor is None:
            self._unknown("sensor", name, feed.place("sensor"), self._sensors)
            return []
        self._hold(feed, sensor.labels, f"sensor {name}", (), whole=True)
        first = self._begin if "at" not in feed else self._time(feed, "at")
        if first is None:
            return []
        every = feed["every"]
        times = range(first, first + every * len(feed["values"]), every)
        if times and times[-1] > self._begin + LONGEST:
            self._report.error(feed.place("values"), "the last value comes too late", TOO_LONG)
            return []
        return [
            Reading(name, labels, at, value, at)
            for at, value in zip(times, feed["values"], strict=True)
            if value is not None
        ]

    def _mute(self, one: Section, number: int) -> list[Mute]:
        begins, ends = self._time(one, "from"), self._time(one, "to")
        rule = one["rule"] or ""
        if "rule" in one and not self._knows(one):
            return []
        self._hold(one, self._each(rule, one), _called(rule), SILENCES.keys, whole=False)
        if not self._span(one, begins, ends, "to"):
            return []
        assert begins is not None and ends is not None  # noqa: PT018, S101  `_span` says so
        return [Mute(number, rule, _pairs(one["labels"]), begins, ends, "a test")]

    # -- what is expected --------------------------------------------------------------

    def _point(self, one: Section, mark: Mark) -> list[Point]:
        rule = one["rule"]
        if "rule" not in one:
            self._report.error(mark, '"rule" is missing', "add rule: whose alert is looked at")
        if not rule or not self._knows(one):
            return []
        each = self._each(rule, one)
        self._hold(one, each, _called(rule), EXPECTATION.keys, whole=True)
        # what is misspelt stands among the labels, and has been complained about
        if not any(key in one for key in AT) and all(name in each for name in one["labels"]):
            hint = f"as in {EXPECTATION.example}"
            self._report.error(mark, "nothing is expected here", hint)
        if rule.endswith(SILENCE):
            for key in ("value", "no_data"):
                if key in one:
                    why = f"{rule} is ok or firing, and that is all there is to expect of it"
                    self._report.error(one.keys[key], f'"{key}" does not belong here', why)
        at = self._time(one, "at")
        if at is None:
            return []
        values = (one[key] for key in AT)
        return [Point(mark.line, at, rule, _pairs(one["labels"]), *values)]

    def _stretch(self, one: Section, mark: Mark) -> list[Stretch]:
        rule = one["rule"] or ""
        if "rule" in one and not self._knows(one):
            return []
        self._hold(one, self._each(rule, one), _called(rule), EXPECTATION.keys, whole=False)
        times: Sequence[tuple[Mark, When]] = one["between"] or ()
        if len(times) > 2:
            self._report.error(times[2][0], "more than two times", "write when it begins and ends")
        ends = [self._instant(when, place, self._begin) for place, when in times[:2]]
        first, last = ends if len(ends) == 2 else (None, None)
        told = {
            name: tuple(kind for _, kind in kinds)
            for name, (_, kinds) in (one["told"] or {}).items()
            if kinds is not BAD
        }
        message = {name: text for name, (_, text) in (one["message"] or {}).items()}
        for key in ("told", "message"):
            for name, (place, _) in (one[key] or {}).items():
                if name not in self._config.notifiers:
                    self._unknown("notifier", name, place, self._config.notifiers)
        if not self._span(one, first, last, "between"):
            return []
        assert first is not None and last is not None  # noqa: PT018, S101  `_span` says so
        return [Stretch(mark.line, first, last, rule, _pairs(one["labels"]), told, message)]

    # -- names -------------------------------------------------------------------------

    def _knows(self, section: Section) -> bool:
        """Say whether there is the rule, or the sensor whose silence is meant."""
        name = section["rule"]
        if name is None:
            return False
        silences = {
            f"{sensor}{SILENCE}" for rule in self._rules.values() for sensor in rule.sensors
        }
        if name in self._rules or name in silences:
            return True
        mark = section.place("rule")
        if any(rule.name == name for rule in self._config.resting):
            self._report.error(mark, f'rule "{name}" rests', "it says enabled: false")
        else:
            self._unknown("rule", name, mark, [*self._rules, *silences])
        return False

    def _unknown(self, what: str, name: str, mark: Mark, known: Any) -> None:
        hints = suggest(name, known) or (f"there are no {what}s",)
        self._report.error(mark, f'unknown {what} "{name}"', *hints)

    def _each(self, rule: str, section: Section) -> tuple[str, ...]:
        """Return the labels that separate the alerts of a rule, or of a silent sensor."""
        if not rule:
            return tuple(dict.fromkeys(x for one in self._rules.values() for x in one.each))
        if rule in self._rules:
            return self._rules[rule].each
        sensor, given = rule.removesuffix(SILENCE), set(section["labels"] or ())
        watching = [one for one in self._rules.values() if sensor in one.sensors]
        return next((x.each for x in watching if set(x.each) == given), watching[0].each)

    def _hold(
        self,
        section: Section,
        each: Sequence[str],
        whose: str,
        keys: Iterable[str],
        *,
        whole: bool,
    ) -> None:
        """Complain of labels that are not those of *each*; *whole*: all must be there."""
        given = section["labels"] or {}
        for name, (place, _) in given.items():
            if name not in each:
                hints = suggest(name, [*each, *keys])
                if not (hints and hints[0].startswith("did")):
                    hints = (f"its labels are {', '.join(each)}" if each else "it has no labels",)
                what = "no key, and no label" if keys else "no label"
                self._report.error(place, f'"{name}" is {what} of {whose}', *hints)
        for name in each if whole else ():
            if name not in given:
                hint = f"alerts of {whose} differ in {', '.join(each)}"
                if not keys:
                    hint = f"{whose} has {', '.join(each)}"
                self._report.error(section.mark, f'label "{name}" is missing', hint)


def _pairs(labels: Mapping[str, tuple[Mark, str]] | None) -> Labels:
    return tuple(sorted((name, value) for name, (_, value) in (labels or {}).items()))


def _called(rule: str) -> str:
    return f"rule {rule}" if rule else "any rule"
