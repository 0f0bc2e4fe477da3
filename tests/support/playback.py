"""The examples of `config/examples`: their recordings, and what replaying them gives."""

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import cache
from math import log10
from pathlib import Path
from subprocess import run
from typing import Any, NamedTuple

from alert_model import Model

REPO = Path(__file__).resolve().parents[2]
EXAMPLES = REPO / "config/examples"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/hushd.yaml"))


def hushd(*words: str) -> str:
    """Run a command of hushd from the top of the repository; return what it prints."""
    argv = [str(Path(sys.executable).parent / "hushd"), *words]
    done = run(argv, cwd=REPO, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def replay(name: str) -> str:
    """Run the command that the head of an example gives; return the journal."""
    head = (EXAMPLES / name / "hushd.yaml").read_text()
    command = re.search(r"^# \$ hushd (replay .*)$", head, re.MULTILINE)
    assert command, f"{name} does not say how to replay it"
    return hushd(*shlex.split(command[1]))


#: the journal of an example, replayed once
journal: Callable[[str], str] = cache(replay)


def records(name: str) -> list[dict[str, Any]]:
    """The journal of an example, line by line."""
    return [json.loads(line) for line in journal(name).splitlines()]


def told(name: str, rule: str) -> list[tuple[Any, ...]]:
    """(at, value of the first label, event, severity) of each line of a rule."""
    return [
        (r["at"], next(iter(r["labels"].values()), ""), r["event"], r["severity"])
        for r in records(name)
        if r["rule"] == rule
    ]


def told_of(name: str, rule: str, label: str) -> list[tuple[Any, ...]]:
    """(at, event, severity) of each line of a rule for one value of its first label."""
    return [(at, event, level) for at, of, event, level in told(name, rule) if of == label]


class Heard(NamedTuple):
    """A message of a recording: when, in seconds since 1970, of what topic, what number."""

    at: float
    topic: str
    value: float


def heard(name: str, topic: str, field: str | None = None) -> list[Heard]:
    """The numbers of a recording in topics that end so, perhaps out of a field of JSON."""
    lines = (EXAMPLES / name / "recording.jsonl").read_text().splitlines()
    found = (json.loads(line) for line in lines)
    return [
        Heard(
            seconds(m["at"]),
            m["topic"],
            float(m["payload"] if field is None else json.loads(m["payload"])[field]),
        )
        for m in found
        if m["topic"].endswith(topic)
    ]


def seconds(text: str) -> float:
    """A time in the words of RFC 3339, in seconds since 1970."""
    return datetime.fromisoformat(text).timestamp()


def stamp(at: float) -> str:
    """A time as the journal writes it."""
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")


def energy(levels: Iterable[float]) -> float:
    """The energy mean of levels that stand for equally long."""
    powers = [10 ** (level / 10) for level in levels]
    return 10 * log10(sum(powers) / len(powers))


def window(readings: Iterable[Heard], at: float, span: float) -> list[float]:
    """The values of the *span* seconds up to *at*."""
    return [x.value for x in readings if at - span < x.at <= at]


def by_model(
    looks: Iterable[float],
    value: Callable[[float], float | None],
    limits: Callable[[float], dict[str, tuple[str, Any, Any, float, float]]],
) -> list[tuple[str, str, str | None]]:
    """What the model of an alert says: (at, event, severity).

    Args:
        looks: When it is judged: at readings, where a schedule turns, when something is old.
        value: The measure at a time; None: it cannot be judged.
        limits: Those that count at a time; none: it rests.
    """
    model, at = Model({}), 0.0
    for at in sorted(looks):
        model.advance(at, inclusive=False)
        now = limits(at)
        model.limits = now
        model.state = {name: state for name, state in model.state.items() if name in now}
        seen = value(at)
        if seen is None:
            model.settle(at)
        else:
            model.judge(at, seen)
    model.advance(at, inclusive=True)
    return [(stamp(when), event, level) for when, event, level in model.log]
