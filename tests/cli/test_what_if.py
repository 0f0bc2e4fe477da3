"""``hushd replay --what-if``: two configurations, one recording."""

import json

import pytest

RULE = """\
version: 1
sensors:
  noise: {topic: "home/{room}/noise", unit: dBA}
notifiers:
  desk: {type: log}
rules:
  loud:
    watch: noise
    measure: last
    warning: {above: 70, clear: 60}
    notify: [desk]
  silent-street: {watch: noise, measure: last, info: {above: 200}, notify: [desk], no_data: ignore}
"""


@pytest.fixture
def street(hushd, tmp_path):
    """Minutes in which 65 dB, 75 dB and 85 dB were heard, in this order, three minutes each."""
    (tmp_path / "hushd.yaml").write_text(RULE)
    levels = [50, 65, 65, 65, 50, 75, 75, 75, 50, 85, 85, 85, 50, 50]
    (tmp_path / "day.jsonl").write_text(
        "".join(
            json.dumps(
                {
                    "at": f"2026-02-07T20:{minute:02}:00Z",
                    "topic": "home/attic/noise",
                    "payload": f"{level}",
                }
            )
            + "\n"
            for minute, level in enumerate(levels)
        )
    )

    def run(*changes: str):
        options = [text for each in changes for text in ("--what-if", each)]
        return hushd("replay", "-c", "hushd.yaml", "day.jsonl", *options)

    return run


def test_both_outcomes_stand_side_by_side(street):
    done = street("loud.warning.above=80")
    assert done.returncode == 0, done.stderr
    assert (
        done.stdout
        == """\
loud  Room attic
                                as it is           what if
  episodes                             2                 1
  time on                          6 min             3 min
  longest                          3 min             3 min
  worst                          warning           warning
  messages                             4                 2

where they differ:
  2026-02-07 20:05 to 20:08 UTC  loud  Room attic: warning, only as it is
"""
    )


def test_several_changes_make_one_alternative(street):
    done = street("loud.warning={above: 64, clear: 55}", "loud.for=2m")
    assert "  episodes                             2                 3\n" in done.stdout
    # each is on for the last of its three minutes
    assert "  time on                          6 min             3 min\n" in done.stdout


def test_what_changes_nothing_shows_no_difference(street):
    assert street("loud.warning.above=70").stdout == "no difference\n"
    assert street("silent-street.info.above=300").stdout == "no difference\n"


def test_what_is_still_on_at_the_end_says_so(street):
    done = street("loud.clear_for=1h")
    assert "8 min+\n" in done.stdout
    assert "warning, only what if, still on at the end" in done.stdout


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("lod.warning.above=68", 'there is no rule "lod"\n  hint: did you mean "loud"?'),
        ("loud.warning.abvoe=68", 'unknown key "abvoe"'),
        ("loud.warning.above=noisy", "--what-if loud.warning.above=noisy:1:8: error:"),
        ("loud.warning.clear=90", '"clear" is on the loud side of the limit'),
        ("loud.warning.above.more=1", '"warning.above.more" leads nowhere'),
        ("loud.notify.7=desk", "it is a list: write a number from 0 to 0"),
        ("loud", "write RULE.KEY=VALUE, as in night-noise.warning.above=42"),
        ("loud.limits.0.warning.above=3", "expected a list"),
    ],
)
def test_a_change_that_cannot_be_is_told_by_its_name(street, change: str, said: str):
    done = street(change)
    assert done.returncode == 2
    assert said in done.stderr
    assert f"--what-if {change}" in done.stderr
    assert done.stdout == ""


def test_a_trace_is_of_one_run(hushd, street):
    street()
    done = hushd(
        *("replay", "-c", "hushd.yaml", "day.jsonl", "--trace", "trace.jsonl"),
        *("--what-if", "loud.for=2m"),
    )
    assert done.returncode == 2
    assert "--trace is of one run" in done.stderr
