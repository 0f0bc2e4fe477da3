"""``hushd status``."""

import argparse
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from hushd.cli.common import add_where, command

FEW = 3  # gaps, the newest
SHOWN = 20  # alerts and reasons; --json has more


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = command(commands, status)
    add_where(parser)
    parser.add_argument("--json", action="store_true", help="print all of it as one JSON object")


def status(args: argparse.Namespace) -> int:
    """Show how the running daemon fares.

    The connection to the broker, series, alerts that are on or pending, what was read and
    what was rejected and why, and each notifier.  Exit code 0 if a daemon answers, however
    it fares; 69 if none does.
    """
    from hushd.cli.asking import inquire, printable  # noqa: PLC0415  see hushd.cli

    def show(answer: Mapping[str, Any]) -> None:
        found = answer["status"]
        if args.json:
            print(json.dumps(found, indent=2, ensure_ascii=False))
        else:
            print("\n".join(printable(line) for line in lines(found, datetime.now(UTC))))

    return inquire(args, {"do": "status"}, show)


def lines(found: Mapping[str, Any], now: datetime) -> Iterator[str]:
    """Yield the status as people read it."""
    config, broker, readings = found["configuration"], found["broker"], found["readings"]
    yield f"hushd {found['version']}: {found['state']}, up {span(found['uptime_s'])}"
    yield (
        f"configuration  {config['path']}, read {_ago(config['read'], now)}:"
        f" {_number(config['rules'], 'rule')}, {_number(len(config['warnings']), 'warning')}"
    )
    stands = (
        f"connected, MQTT {broker['protocol']}"
        if broker["connected"]
        else f"not connected ({broker['reason']})"
    )
    since = span(_age(broker["since"], now))
    yield f"broker         {broker['host']}:{broker['port']}: {stands}, for {since}"
    series = found["series"]
    yield f"series         {series['number']} of at most {series['limit']}"
    yield (
        f"readings       {readings['accepted']} taken, {readings['rejected']['number']} rejected,"
        f" {readings['waiting']} waiting, {readings['dropped']} dropped"
    )
    yield from _rejects(readings["rejected"]["reasons"])
    yield f"store          {_store(found['store'])}"
    gaps = found["store"]["gaps"]
    for gap in gaps[-FEW:]:
        yield f"  readings are missing, noticed {_ago(gap['at'], now)}: {gap['why']}"
    yield from _alerts(found["alerts"], now)
    silences = found.get("silences", [])
    if silences:
        yield f"silences       {len(silences)}"
    for silence in silences[:SHOWN]:
        yield f"  {of_silence(silence)}"
    yield "notifiers" if found["notifiers"] else "notifiers      none"
    for name, state in found["notifiers"].items():
        yield f"  {name} ({state['type']}): {_notifier(state, now)}"
        for lost in state.get("untold", [])[:FEW]:
            yield f"    never told: {lost['rule']} ({lost['error']})"
    if found["log"]["dropped"]:
        yield f"log            {found['log']['dropped']} lines dropped: nobody read them in time"
    if found["troubles"]:
        yield "to see to"
        yield from (f"  {trouble}" for trouble in found["troubles"])
    if config["refused"]:
        yield from (f"  {line}" for line in config["refused"].splitlines())


def _store(store: Mapping[str, Any]) -> str:
    if store["path"] is None:
        return "none: a restart begins anew"
    return f"{store['path']}: " + ("degraded, not durable" if store["trouble"] else "all is kept")


def _rejects(reasons: list[dict[str, Any]]) -> Iterator[str]:
    for reject in reasons[:SHOWN]:
        words = reject["reason"].replace("_", " ")
        yield f"  {reject['number']} {words}" + (
            f" ({reject['sensor']})" if reject["sensor"] else ""
        )


def _alerts(alerts: Mapping[str, Any], now: datetime) -> Iterator[str]:
    states = ", ".join(f"{number} {state}" for state, number in alerts["states"].items())
    silent = f", {alerts['silent']} silent" if alerts["silent"] else ""
    yield f"alerts         {states or 'none yet'}{silent}"
    listed = alerts["listed"]
    for alert in listed[:SHOWN]:
        value = "" if alert["value"] is None else f": {alert['value']:.4g} {alert['unit']}".rstrip()
        if alert.get("conditions"):
            value = f": {', '.join(alert['conditions'])}"
        limit = "" if alert["limit"] is None else f", limit {alert['limit']:g}"
        since = "" if alert["since"] is None else f", for {span(_age(alert['since'], now))}"
        quiet = ", sends nothing" if alert["silent"] else ""
        gap = ", readings are missing" if alert["incomplete"] else ""
        minded = f", acknowledged: {alert['acknowledged']}" if alert.get("acknowledged") else ""
        held = ", silenced" if alert.get("silenced") else ""
        words = f"{value}{limit}{since}{quiet}{gap}{held}{minded}"
        yield f"  {alert['state']}  {named(alert)}{words}"
    more = max(0, len(listed) - SHOWN) + alerts["left_out"]
    if more:
        yield f"  and {more} more"


def _notifier(state: Mapping[str, Any], now: datetime) -> str:
    told = "nothing told yet"
    if state["told_at"] is not None:
        told = f"told something {_ago(state['told_at'], now)}"
    held = f" ({state['held']} held back)" if state["held"] else ""
    words = [told, f"{state['waiting']} waiting{held}"]
    if state["given_up"]:
        words.append(f"{state['given_up']} given up")
    if state["failures"]:
        times = _number(state["failures"], "time")
        words.append(f"failed {times}, last {_ago(state['failed_at'], now)}: {state['error']}")
    return ", ".join(words)


def of_silence(silence: Mapping[str, Any]) -> str:
    """Return a silence in one line."""
    what = named(silence) or "everything"
    return f"{silence['number']}: {what}, until {silence['until']}: {silence['comment']}"


def named(thing: Mapping[str, Any]) -> str:
    """Return rule and labels as the commands take them.

    >>> named({"rule": "loud", "labels": {"room": "101"}})
    'loud room=101'
    """
    labels = (f"{name}={value}" for name, value in thing["labels"].items())
    return " ".join(filter(None, (thing["rule"], *labels)))


def span(seconds: float) -> str:
    """Return a length of time in its two largest units.

    >>> span(42.3), span(754), span(90061)
    ('42s', '12m 34s', '1d 1h')
    """
    rest = max(0, round(seconds))
    parts: list[str] = []
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        number, rest = divmod(rest, size)
        if number or parts or unit == "s":
            parts.append(f"{number}{unit}")
    return " ".join(parts[:2])


def _age(stamp: str, now: datetime) -> float:
    """Return how long ago an instant was, in seconds."""
    return (now - datetime.fromisoformat(stamp[:19] + "+00:00")).total_seconds()


def _ago(stamp: str, now: datetime) -> str:
    return f"{span(_age(stamp, now))} ago"


def _number(number: int, what: str) -> str:
    return f"1 {what}" if number == 1 else f"{number} {what}s"
