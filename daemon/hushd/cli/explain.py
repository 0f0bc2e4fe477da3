"""``hushd explain``."""

import argparse
import re
import shutil
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hushd.cli.codes import BAD_CONFIG, OK, USAGE
from hushd.cli.common import command, read_config

if TYPE_CHECKING:
    from hushd.config.records import Config
    from hushd.core.rules import Rule

NARROW, WIDE = 40, 100  # columns, whatever the terminal has
_KEPT = "\N{NO-BREAK SPACE}"


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = command(commands, explain)
    parser.add_argument("rules", metavar="RULE", nargs="*", help="by name; all where none is named")
    parser.add_argument(
        "-c", "--config", type=Path, metavar="FILE", help="the configuration; else the daemon's"
    )
    parser.add_argument("--socket", type=Path, metavar="PATH", help="the daemon that listens there")
    parser.add_argument(
        "--at",
        metavar="TIME",
        help="as of another time, as in 2026-12-24T18:00, and without asking a daemon",
    )


def explain(args: argparse.Namespace) -> int:
    """Say in plain words what the rules of a configuration do.

    What is judged, when, by which limits, who is told and who is not; when schedules next
    begin and end; and, where a daemon runs with the configuration, what each rule matches.

      hushd explain -c hushd.yaml
      hushd explain night-noise -c hushd.yaml --at 2026-12-24T18:00

    Without -c it explains what the only running daemon was started with.  Exit code 2 for a
    rule that there is not, 78 if the configuration is not sound.
    """
    path = args.config
    if path is None:
        path, why = _running(args)
        if path is None:
            print(f"hushd explain: {why}\n  hint: or name it: -c FILE", file=sys.stderr)
            return USAGE
    config = read_config(path, for_run=False)
    if config is None:
        return BAD_CONFIG
    rules = [*config.rules.rules, *config.resting]
    if not rules:
        print("there are no rules")
        return OK
    if args.rules:
        unknown = [name for name in args.rules if name not in {rule.name for rule in rules}]
        if unknown:
            return _unknown(unknown[0], [rule.name for rule in rules])
        rules = [rule for rule in rules if rule.name in args.rules]
    try:
        at = time.time_ns() if args.at is None else _instant(args.at, config)
    except ValueError as exc:
        print(f"hushd explain: cannot read --at {args.at}: {exc}", file=sys.stderr)
        return USAGE
    known: Mapping[str, Any] | None = None
    why = ""
    if args.at is None:
        known, why = _known(args, path)
    from hushd.cli.asking import printable  # noqa: PLC0415  see hushd.cli

    blocks = ("\n".join(map(printable, block)) for block in _page(config, rules, at, known, why))
    print("\n\n".join(filter(None, blocks)))
    return OK


def _page(
    config: "Config", rules: "list[Rule]", at: int, known: Mapping[str, Any] | None, why: str
) -> Iterator[list[str]]:
    """Yield what is printed, the lines of one rule or section after those of another."""
    from hushd.cli.phrases import listed  # noqa: PLC0415  see hushd.cli
    from hushd.cli.sentences import Writer  # noqa: PLC0415  see hushd.cli
    from hushd.cli.spells import Almanac  # noqa: PLC0415  likewise

    width = max(NARROW, min(WIDE, shutil.get_terminal_size().columns))
    writer = Writer(config, Almanac(config.rules, at))
    for rule in rules:
        block = [f"{rule.name}: watches {listed(rule.sensors)}"]
        for text, item in writer.rule(rule):
            block += _wrapped(text, width, "  - " if item else "  ")
        if known is not None and rule not in config.resting:
            block += _wrapped(_matches(known.get(rule.name)), width)
        yield block
    hearers = writer.hearers(rules)
    yield _section("notifiers", map(writer.notifier, hearers), width)
    yield _section("schedules", writer.schedules(rules, hearers), width)
    yield _wrapped(why, width, "") if why else []


def _section(title: str, texts: Iterable[str], width: int) -> list[str]:
    found = [line for text in texts for line in _wrapped(text, width)]
    return [title, *found] if found else []


def _wrapped(text: str, width: int, lead: str = "  ") -> list[str]:
    lines = textwrap.wrap(
        re.sub(r"(?<=\d) (?=\S)", _KEPT, text),  # a number stays with its unit
        width,
        initial_indent=lead,
        subsequent_indent=" " * len(lead),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_KEPT, " ") for line in lines]


def _matches(found: Mapping[str, Any] | None) -> str:
    """Return what a rule matches in the daemon that runs."""
    from hushd.cli.phrases import counted  # noqa: PLC0415  see hushd.cli

    if found is None:
        return "The running daemon does not have this rule: hushd reload."
    named = [_labels(one["labels"]) or one["sensor"] for one in found["series"]]
    text = f"Matches now: {counted(found['number'], 'topic')}{_few(named, found['number'])}."
    states = []
    for state, number in found["states"].items():
        among = [_labels(one["labels"]) for one in found["alerts"] if one["state"] == state]
        states.append(f"{number} {_state(state)}{_few(list(filter(None, among)), number)}")
    return f"{text} Its alerts: {', '.join(states)}." if states else text


def _few(named: list[str], number: int) -> str:
    """Return the first few of *number*, in parentheses."""
    if not named:
        return ""
    more = [f"and {number - len(named)} more"] if number > len(named) else []
    return f" ({'; '.join([*named, *more])})"


def _labels(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in labels.items())


def _state(state: str) -> str:
    """Return the state of an alert as people say it."""
    name, _, severity = state.rstrip(")").partition("(")
    plain = {
        "pending": "about to be raised",
        "clearing": f"{severity} and about to be cleared",
        "firing": severity,
        "warming": "not judged yet",
        "inactive": "at rest until a schedule begins",
        "suspended": "at rest until the clock can be trusted",
    }
    return plain.get(name, name)


def _running(args: argparse.Namespace) -> tuple[Path | None, str]:
    """Return the configuration of the daemon that runs, or why there is none."""
    from hushd.cli.asking import NobodyError, ask  # noqa: PLC0415  see hushd.cli

    try:
        answer = ask(args, {"do": "status"})
    except NobodyError as exc:
        return None, str(exc)
    if not answer.get("ok"):
        return None, str(answer.get("error", "the daemon does not say"))
    return Path(answer["status"]["configuration"]["path"]), ""


def _known(args: argparse.Namespace, path: Path) -> tuple[Mapping[str, Any] | None, str]:
    """Return what the daemon knows that runs with *path*, or why that is not known."""
    from hushd.cli.asking import NobodyError, ask  # noqa: PLC0415  see hushd.cli

    where = argparse.Namespace(config=path, socket=args.socket)
    try:
        answer = ask(where, {"do": "series"})
    except NobodyError as exc:
        first = str(exc).partition("\n")[0]
        return None, f"What the rules match now is not known: {first}"
    if not answer.get("ok"):
        return None, f"What the rules match now is not known: {answer.get('error')}"
    found: Mapping[str, Any] = answer["rules"]
    return found, ""


def _instant(text: str, config: "Config") -> int:
    from hushd.core.times import stamp_parser  # noqa: PLC0415  see hushd.cli

    whole = f"{text}:00" if len(text) == len("2026-12-24T18:00") else text
    return stamp_parser("rfc3339", config.site.zone or UTC)(whole)


def _unknown(name: str, known: list[str]) -> int:
    from hushd.config.problems import suggest  # noqa: PLC0415  see hushd.cli

    print(f'hushd explain: there is no rule "{name}"', file=sys.stderr)
    for hint in suggest(name, known) if known else ("there are no rules",):
        print(f"  hint: {hint}", file=sys.stderr)
    return USAGE
