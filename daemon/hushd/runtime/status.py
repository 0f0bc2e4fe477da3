"""How the daemon fares, in a form that goes through JSON: what `hushd status` shows."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hushd.core.alerts import Alarm, Alert, rank
from hushd.core.compounds import CompoundAlert
from hushd.core.engine import Engine
from hushd.core.latches import State
from hushd.core.mutes import Ack, Mute
from hushd.core.readings import Labels
from hushd.core.transitions import rfc3339
from hushd.runtime.wording import condition

SHOWN = 1000  # alerts and reasons; the rest is only counted


def known(engine: Engine, ours: Iterable[Alarm] = ()) -> list[Alarm]:
    """Return every alert there is, silent sensors and our own troubles included, each once."""
    every = list(engine.alerts())
    silences = {id(alert.silence): alert.silence for alert in every if alert.silence is not None}
    return [*every, *silences.values(), *ours]


def alerts(
    engine: Engine,
    ours: Iterable[Alarm] = (),
    mutes: Sequence[Mute] = (),
    acks: Iterable[Ack] = (),
) -> dict[str, Any]:
    """Return how many alerts there are in which state, and those that are not ok, worst first.

    Args:
        engine: Has most of them.
        ours: Those of hushd's own troubles; they are listed too.
        mutes: The silences there are.
        acks: Who minds which of them.
    """
    minded = {(ack.rule, ack.labels, ack.episode): ack.comment for ack in acks}
    every = list(engine.alerts())
    states = Counter(alert.state.partition("(")[0] for alert in every)
    silences: dict[tuple[str, Labels], Alarm] = {
        (alert.silence.rule, alert.labels): alert.silence
        for alert in every
        if alert.silence is not None and alert.silence.level is not None
    }
    notable: list[Alarm] = [
        *(alert for alert in every if alert.level is not None or alert.state == "pending"),
        *silences.values(),
        *ours,
    ]
    notable.sort(key=lambda alarm: (-rank(alarm.level), alarm.rule, alarm.labels))
    return {
        "states": dict(sorted(states.items())),
        "silent": len(silences),
        "listed": [
            {
                **_alarm(alarm),
                "silenced": any(mute.covers(alarm.rule, alarm.labels) for mute in mutes),
                "acknowledged": minded.get((alarm.rule, alarm.labels, alarm.episode)),
            }
            for alarm in notable[:SHOWN]
        ],
        "left_out": max(0, len(notable) - SHOWN),
    }


def _alarm(alarm: Alarm) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "rule": alarm.rule,
        "labels": dict(alarm.labels),
        "state": f"firing({alarm.level})",
        "severity": alarm.level,
        "value": None,
        "limit": alarm.crossed,
        "unit": alarm.about.unit,
        "peak": alarm.peak,
        "since": None if alarm.started is None else rfc3339(alarm.started),
        "episode": alarm.episode,
        "silent": False,
        "incomplete": False,
    }
    if isinstance(alarm, Alert):
        shown |= {
            "state": alarm.state,
            "value": alarm.last,
            "silent": alarm.stale,
            "incomplete": alarm.incomplete,
        }
        if isinstance(alarm, CompoundAlert) and (parts := alarm.parts):
            conditions = [condition(part) for part in parts]
            shown |= {"value": None, "limit": None, "peak": None, "conditions": conditions}
        if alarm.started is None:
            began = [x.since for x in alarm.latches if x.state is State.PENDING]
            shown["since"] = rfc3339(min(began)) if began else None
    return shown


def rejects(*counts: Mapping[tuple[str, str], int]) -> dict[str, Any]:
    """Return what was not used, by sensor and reason, the most frequent first."""
    total: Counter[tuple[str, str]] = Counter()
    for count in counts:
        total.update(count)
    return {
        "number": total.total(),
        "reasons": [
            {"sensor": sensor, "reason": reason, "number": number}
            for (sensor, reason), number in total.most_common(SHOWN)
        ],
    }


def notifiers(states: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return how notifiers fare, their times as people write them."""
    return {
        name: {
            **state,
            "told_at": _time(state["told_at"]),
            "failed_at": _time(state["failed_at"]),
        }
        for name, state in states.items()
    }


def _time(at: int | None) -> str | None:
    return None if at is None else rfc3339(at - at % 10**9)


def troubles(status: Mapping[str, Any]) -> list[str]:
    """Return what a person may have to see to, in a few words each."""
    found = []
    broker = status["broker"]
    if not broker["connected"]:
        found.append(f"broker {broker['host']}:{broker['port']}: {broker['reason']}")
    found += [f"the broker does not let us read {name}" for name in broker["refused"]]
    for name, state in status["notifiers"].items():
        if state["stuck"]:
            found.append(f"notifier {name} hangs in its plugin")
        elif state["failures"]:
            found.append(f"notifier {name}: {state['error']} ({state['failures']} times)")
    if status["store"]["trouble"]:
        found.append(f"degraded: not durable: {status['store']['trouble']}")
    if status["clock"]["trouble"]:
        found.append(f"the clock of this machine cannot be trusted: {status['clock']['trouble']}")
    if status["configuration"]["refused"]:
        found.append("the configuration on the disk is not sound: the one before it runs")
    return found


def line(series: int, engine: Engine, waiting: int, found: Iterable[str]) -> str:
    """Return it all in one line, for systemd."""
    firing = sum(1 for alert in engine.alerts() if alert.level is not None)
    words = [f"{series} series, {firing} alerts on, {waiting} notes waiting", *found]
    return "; ".join(words)[:500]
