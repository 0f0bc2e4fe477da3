"""Limits and measures in plain words."""

import re
from dataclasses import replace
from typing import get_args

import pytest
from explaining import HEAT, NOISE, QUIET, configured, explained, said
from hypothesis import given, settings
from hypothesis import strategies as st

from hushd.cli.phrases import back, beyond
from hushd.core import limits
from hushd.core.rules import Comparison, Limit
from hushd.plugin.loading import load


def test_a34_nobody_wonders_about_the_gap_between_limit_and_clear():
    first = said(HEAT + "warning: {above: 23, clear: 22}")[0]
    assert "raised above 23, cleared at 22 or less" in first


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ("{above: 23}", "warning raised above 23, cleared at 23 or less"),
        ("{above: 23, clear: 23}", "warning raised above 23, cleared at 23 or less"),
        ("{below: 20, clear: 21}", "warning raised below 20, cleared at 21 or more"),
        ("{below: 20}", "warning raised below 20, cleared at 20 or more"),
        ("{at_least: 25, clear: 20}", "warning raised at 25 or more, cleared below 20"),
        ("{at_least: 25}", "warning raised at 25 or more, cleared below 25"),
        ("{at_most: 5, clear: 6}", "warning raised at 5 or less, cleared above 6"),
        (
            "{outside: [0.5, 4.5], clear: [0.7, 4.0]}",
            "warning raised below 0.5 or above 4.5, cleared from 0.7 to 4",
        ),
        (
            "{inside: [10, 12], clear: [9, 13]}",
            "warning raised from 10 to 12, cleared below 9 or above 13",
        ),
        (
            "{above: 23, for: 5m, clear_for: 1h30m}",
            "warning raised above 23 for 5 min, cleared at 23 or less for 1 h 30 min",
        ),
    ],
)
def test_a_limit_says_where_it_begins_and_where_it_ends(limit, words):
    assert said(f"{HEAT}warning: {limit}")[0] == (
        f"For each area, the average of the last 5 min: {words}."
    )


def compare(words: str, value: float) -> bool:
    """Say whether *value* is where *words* say, read as people read them."""
    (first, *more) = [float(text) for text in re.findall(r"-?[0-9.]+", words)]
    if words.startswith("from "):
        return first <= value <= more[0]
    if " or above " in words:
        return value < first or value > more[0]
    if words.endswith(" or more"):
        return value >= first
    if words.endswith(" or less"):
        return value <= first
    return value > first if words.startswith("above ") else value < first


quarters = st.integers(-40, 40).map(lambda number: number / 4)
pairs = st.tuples(quarters, quarters).map(lambda pair: (min(pair), max(pair)))
comparisons: tuple[Comparison, ...] = get_args(Comparison)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(comparisons), pairs, pairs, quarters)
def test_the_words_of_a_limit_are_true_of_every_value(comparison, bounds, clears, value):
    several = comparison in ("outside", "inside")
    limit = Limit(
        "warning",
        comparison,
        bounds if several else bounds[0],
        clears if several else clears[0],
    )
    assert compare(beyond(limit, ""), value) == limits.raises(limit)(value)
    assert compare(back(limit, ""), value) == limits.clears(limit)(value)


@pytest.mark.parametrize(
    ("measure", "words"),
    [
        ("measure: leq\nover: 15m", "the energy average of the last 15 min"),
        ("measure: {ln: 90}\nover: 1h", "the level exceeded 90 % of the last hour"),
        ("measure: median\nover: 10 samples", "the median of the last 10 readings"),
        ("measure: max\nover: 1 samples", "the highest reading of the last 1 reading"),
        (
            "measure: {percentile: 95}\nover: 1d",
            "the value that 95 % of the readings in the last day stay at or below",
        ),
        ("measure: last", "each reading"),
    ],
)
def test_a_measure_is_said_in_words(measure, words):
    assert said(NOISE + measure)[0] == f"For each room, {words}: {QUIET}"


@pytest.mark.parametrize(
    ("measure", "words"),
    [
        (
            "{count_above: 85}\nwarning: {above: 10}",
            (
                "the number of readings above 85 dBA in the last 30 min:"
                " warning raised above 10, cleared at 10 or less."
            ),
        ),
        (
            "{time_above: 85}\nwarning: {above: 90s, clear: 1m}",
            (
                "the time above 85 dBA in the last 30 min:"
                " warning raised above 1 min 30 s, cleared at 1 min or less."
            ),
        ),
        (
            "rate\nwarning: {above: 0.5}",
            (
                "the change per second, from first to last, of the last 30 min:"
                " warning raised above 0.5 dBA/s, cleared at 0.5 or less."
            ),
        ),
        (
            "range\nwarning: {below: 0.1}",
            (
                "the range, highest less lowest, of the last 30 min:"
                " warning raised below 0.1 dBA, cleared at 0.1 or more."
            ),
        ),
    ],
)
def test_a_limit_has_the_unit_of_its_measure(measure, words):
    body = f"watch: noise\neach: [room]\nover: 30m\nmeasure: {measure}"
    assert said(body)[0] == f"For each room, {words}"


def test_every_measure_that_comes_with_hushd_has_its_words():
    assert [name for name, one in load().aggregators.items() if not one.phrase] == []


def test_a_measure_without_words_is_said_by_its_summary():
    config = configured("  it: {watch: heat, measure: mean, over: 5m, warning: {above: 1}}")
    mean = replace(config.catalog.aggregators["mean"], phrase="")
    catalog = replace(config.catalog, aggregators={"mean": mean})
    assert explained(replace(config, catalog=catalog), "it")[0].startswith(
        "For each area, the arithmetic mean (mean), of the last 5 min: "
    )
