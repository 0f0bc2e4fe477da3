"""A yard where two sensors listen in each zone: for the tests of rules with several windows."""

from typing import Any

from play import S, limit

from hushd.core.readings import Reading
from hushd.core.rules import Input, Leaf, Measure, NoData, Over, Rule, Rules, Sensor


def look(sensor: str = "noise", measure: str = "last", **more: Any) -> Input:
    """A window; `span` in seconds, `argument` of the measure.  Any reading is enough to judge."""
    over = Over(_ns(more.pop("span", None)), more.pop("count", None))
    asked = Measure(measure, more.pop("argument", None))
    return Input(sensor, asked, over, **{"min_coverage": 0.0, **more})


def leaf(comparison: str, bound: Any, clear: Any = None, **more: Any) -> Leaf:
    """A condition; `less` is another window, the rest as for `look`."""
    less = more.pop("less", None)
    return Leaf(look(**more), limit("info", comparison, bound, clear), less)


def joined(join: Any, *leaves: Leaf, **more: Any) -> Rule:
    """A rule of conditions; `wait`, `clear_wait` and `after` in seconds."""
    waits = {name: more.pop(name, 0) for name in ("wait", "clear_wait")}
    holds = limit(more.pop("severity", "critical"), "at_least", 1.0, **waits)
    after = more.pop("after", None)
    more.setdefault("no_data", None if after is None else NoData(_ns(after)))
    first = leaves[0].input
    return Rule(
        **{"name": join, "each": ("zone",), "notify": (("info", ("foreman",)),), **more},
        sensor=first.sensor,
        measure=Measure(join),
        over=Over(),
        limits=(holds,),
        join=join,
        leaves=leaves,
    )


def yard(*of: Rule, expect: Any = (), forget: Any = 7 * 86_400, **sensor: Any) -> Rules:
    """Rules over the sensors `noise` and `vibration`; what they have in common, in seconds."""
    times: Any = {
        name: _ns(sensor.pop(name)) for name in ("lateness", "interval") if name in sensor
    }
    sensors = (
        Sensor("noise", ("zone",), "dBA", expect=expect, **times, **sensor),
        Sensor("vibration", ("zone",), "mm/s", **times, **sensor),
    )
    return Rules(sensors, of, forget=forget * S)


def heard(
    seconds: float, sensor: str, value: float, zone: str = "north", arrived: float | None = None
) -> Reading:
    """A reading; times in seconds."""
    came = seconds if arrived is None else arrived
    return Reading(sensor, (("zone", zone),), round(seconds * S), value, round(came * S))


def _ns(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * S)
