"""Piling in a yard, by a model of the alert, three-valued logic, and by hand."""

from collections.abc import Callable

import pytest
from playback import by_model, energy, heard, records, seconds, told, told_of, window

NAME = "two-sensors"
ENDS = seconds("2026-02-10T18:00:00Z")  # the working hours of that Tuesday
ZONES = ["east", "west"]


def condition(
    topic: str, measure: Callable[[list[float]], float], limit: float, clear: float
) -> Callable[[float], bool | None]:
    """Say at each look, in order, whether a condition holds; None: nobody knows."""
    readings, on = heard(NAME, topic), False

    def holds(at: float) -> bool | None:
        nonlocal on
        values = window(readings, at, 600)
        if len(values) < 5:  # of ten: less than half full
            return None
        on = measure(values) > (clear if on else limit)
        return on

    return holds


@pytest.mark.parametrize(("zone", "changes"), [("east", 2), ("west", 0)])
def test_only_both_at_once_outside_working_hours_are_told(zone, changes):
    loud = condition(f"{zone}/noise", energy, 65, 62)
    shaking = condition(f"{zone}/ppv", max, 5, 4)

    def both(at: float) -> float | None:
        seen = (loud(at), shaking(at))
        if False in seen:
            return 0.0
        return None if None in seen else 1.0

    readings = [*heard(NAME, f"{zone}/noise"), *heard(NAME, f"{zone}/ppv")]
    looks = {ENDS, *(at for x in readings for at in (x.at, x.at + 600))}
    limits = {"critical": ("above", 0.5, 0.5, 120, 600)}
    expected = by_model(looks, both, lambda at: limits if at >= ENDS else {})
    assert told_of(NAME, "piling-nuisance", zone) == expected
    assert len(expected) == changes


@pytest.mark.parametrize(
    ("topic", "limit", "when"),
    [
        ("east/noise", 75, "17:30"),  # piling in working hours,
        ("east/ppv", 5, "17:30"),  # both at once
        ("east/noise", 75, "18:45"),  # a fan
        ("east/ppv", 5, "19:17"),  # a lorry
        ("west/noise", 75, "19:40"),  # loud in one zone
        ("east/ppv", 5, "19:40"),  # and shaking in the other
    ],
)
def test_one_alone_is_in_the_recording_and_is_not_told(topic, limit, when):
    at = seconds(f"2026-02-10T{when}:00Z")
    assert window(heard(NAME, topic), at, 60)[0] > limit
    assert not [r for r in records(NAME) if abs(seconds(r["at"]) - at) < 900]


def test_the_gateway_is_gone_and_piling_stays_on_until_it_is_heard_to_be_over():
    assert [(at[11:19], event) for at, _, event, _ in told(NAME, "piling-nuisance")] == [
        ("20:02:15", "raised"),  # loud at 20:00:05, shaking at 20:00:15, for 2m
        # it was over at 20:20, but from 20:24 to 20:40 nothing is heard.  Five quiet minutes
        # of noise are half a window; clear_for 10m
        ("20:54:05", "cleared"),
    ]
    assert [(at[11:19], event, level) for at, _, event, level in told(NAME, "gateway-offline")] == [
        ("20:28:25", "raised", "critical"),  # 5m after the last word, from the west
        ("20:40:05", "cleared", None),
    ]
