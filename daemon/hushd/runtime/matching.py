"""Which series the rules match, and how their alerts fare: what `hushd explain` asks for."""

from collections import Counter, defaultdict
from typing import Any

from hushd.core.alerts import Alert
from hushd.core.engine import Engine
from hushd.core.rules import Rule

Known = dict[str, list[dict[str, str]]]  # by sensor, the labels of its series
NAMED = 5  # series, and alerts that are not ok, of each rule; the rest is only counted


def matches(engine: Engine) -> dict[str, dict[str, Any]]:
    """Return of each rule its series and its alerts, numbers and the first few by label."""
    known: Known = defaultdict(list)
    for sensor, labels in sorted(engine.met()):
        known[sensor].append(dict(labels))
    alerts: dict[str, list[Alert]] = defaultdict(list)
    for alert in engine.alerts():
        alerts[alert.rule].append(alert)
    return {
        rule.name: {**_series(rule, known), **_alerts(alerts[rule.name])}
        for rule in engine.rules.rules
    }


def _series(rule: Rule, known: Known) -> dict[str, Any]:
    found = [
        (sensor, labels)
        for sensor in rule.sensors
        for labels in known[sensor]
        if _lets_in(rule, sensor, labels)
    ]
    return {
        "number": len(found),
        "series": [{"sensor": sensor, "labels": labels} for sensor, labels in found[:NAMED]],
    }


def _lets_in(rule: Rule, sensor: str, labels: dict[str, str]) -> bool:
    """Say whether one of the rule's windows takes the readings of a series."""
    return all(label in labels for label in rule.each) and any(
        window.sensor == sensor
        and all(labels.get(label) in values for label, values in window.where)
        for window in rule.inputs
    )


def _alerts(found: list[Alert]) -> dict[str, Any]:
    states = Counter(alert.state for alert in found)
    notable = [alert for alert in found if alert.level is not None or alert.state == "pending"]
    notable.sort(key=lambda alert: (alert.state, alert.labels))
    return {
        "states": dict(sorted(states.items())),
        "alerts": [
            {"labels": dict(alert.labels), "state": alert.state} for alert in notable[:NAMED]
        ],
    }
