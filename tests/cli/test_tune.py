"""``hushd tune``: one rule, one recording, a range of limits."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushd.cli.tuning import limits
from hushd.core.rules import Limit

CONFIG = """\
version: 1
site: {timezone: Europe/Berlin}
sensors:
  noise: {topic: "home/{room}/noise", unit: dBA}
schedules:
  night: {from: 22:00, to: 06:00}
notifiers:
  desk: {type: log}
rules:
  loud:
    watch: noise
    measure: last
    warning: {above: 70, clear: 60}
    critical: {above: 90}
    notify: [desk]
  by-night:
    watch: noise
    measure: last
    limits:
      - {during: night, warning: {above: 50}}
      - {during: otherwise, warning: {above: 60}, critical: {above: 75}}
    notify: [desk]
  band: {watch: noise, measure: last, warning: {outside: [20, 80]}, notify: [desk]}
  cold: {watch: noise, measure: last, warning: {below: 45, clear: 50}, notify: [desk]}
  both:
    all:
      - {watch: noise, measure: last, above: 60}
      - {watch: noise, measure: last, above: 61}
    severity: warning
    notify: [desk]
"""
#: two rooms, a reading a minute from 20:55 on (21:55 in Berlin): minutes 1 to 3 and 5 to 7
LEVELS = {
    "attic": [50, 65, 65, 65, 50, 75, 75, 75, 50, 85],
    "cellar": [40, 40, 40, 40, 40, 40, 40, 40, 40, 40],
}


@pytest.fixture
def tune(hushd, tmp_path):
    (tmp_path / "hushd.yaml").write_text(CONFIG)
    (tmp_path / "day.jsonl").write_text(
        "".join(
            json.dumps(
                {
                    "at": f"2026-02-07T{20 + (55 + minute) // 60}:{(55 + minute) % 60:02}:00Z",
                    "topic": f"home/{room}/noise",
                    "payload": f"{LEVELS[room][minute]}",
                }
            )
            + "\n"
            for minute in range(10)
            for room in LEVELS
        )
    )
    return lambda *arguments: hushd("tune", *arguments, "-c", "hushd.yaml", "day.jsonl")


def rows(text: str) -> dict[float, list[str]]:
    """The table: limit -> the other columns."""
    found = {}
    for line in text.splitlines():
        if re.match(r" +-?[0-9]", line):
            limit, *others = re.split(r"  +", line.strip())
            found[float(limit)] = others
    return found


def test_each_limit_has_a_row_and_the_present_one_a_mark(tune):
    done = tune("loud")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "loud: warning above ... dBA\nheld as it is: last, clear 10 dBA on the quiet side\n"
    )
    table = rows(done.stdout)
    # `clear` is 10 below: 50 dB between the loud minutes clears any of these limits
    assert table[60.0] == ["3", "1", "6 min+", "3 min", "33.3%"]
    assert table[70.0] == ["2", "1", "3 min+", "3 min", "16.7%", "<- now"]
    assert table[80.0][:2] == ["1", "1"]
    assert "share is of what was recorded: 18 min in 2 places\n" in done.stdout
    assert all("<- now" not in row for at, row in table.items() if at != 70)


def test_the_row_of_the_present_limit_is_what_replay_says(tune, hushd):
    found = rows(tune("loud").stdout)[70.0]
    journal = hushd("replay", "-c", "hushd.yaml", "day.jsonl").stdout
    raised = [
        line
        for line in map(json.loads, journal.splitlines())
        if line["rule"] == "loud" and line["event"] == "raised"
    ]
    assert len(raised) == int(found[0])


def test_another_severity(tune):
    done = tune("loud", "--severity", "critical")
    assert done.stdout.startswith("loud: critical above ... dBA\nheld as it is: last\n")
    assert rows(done.stdout)[90.0][-1] == "<- now"


def test_less_than_a_limit_is_looked_for_in_the_lower_half(tune):
    table = rows(tune("cold").stdout)
    assert max(table) <= 50
    assert table[45.0][:2] == ["1", "1"]


def test_limits_by_schedule_are_tuned_one_schedule_at_a_time(tune):
    done = tune("by-night")
    assert done.returncode == 2
    assert "say which, as in --during night; there are: night, otherwise" in done.stderr
    table = rows(tune("by-night", "--during", "night").stdout)  # from 21:00 UTC on: minute 5
    assert table[50.0] == ["2", "1", "3 min+", "3 min", "16.7%", "<- now"]
    critical = tune("by-night", "--during", "otherwise", "--severity", "critical")
    assert rows(critical.stdout)[75.0] == ["0", "0", "-", "-", "0.0%", "<- now"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["lod"], 'there is no rule "lod"\n  hint: did you mean "loud"?'),
        (["loud", "--severity", "info"], '"loud" has no limit for info there'),
        (["by-night", "--during", "nigth"], '"by-night" has no limits during nigth'),
        (["band"], '"outside" has two ends'),
        (["both"], '"both" has several conditions'),
    ],
)
def test_what_cannot_be_tuned_says_so(tune, arguments: list[str], said: str):
    done = tune(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_a_recording_in_which_nothing_could_be_judged(hushd, tune, tmp_path):
    tune("loud")
    (tmp_path / "day.jsonl").write_text(
        '{"at": "2026-02-07T20:00:00Z", "topic": "home/attic/noise", "payload": "loud"}\n'
    )
    done = tune("loud")
    assert done.returncode == 2
    assert "could not be judged once" in done.stderr


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50),
    st.floats(-1e6, 1e6),
    st.sampled_from(["above", "at_most"]),
)
def test_the_range_holds_the_present_limit_and_is_short(values, bound, comparison):
    found = limits(Limit("warning", comparison, bound), values)
    assert bound in found
    assert found == sorted(set(found))
    assert len(found) <= 36
    worst = max(values) if comparison == "above" else min(values)
    assert min(found) - 1e-9 <= worst <= max(found) + 1e-9
