"""What the keys of a rule become: records, with what they inherit and what they mean together."""

import pytest

from hushd.config import ConfigError, read_text
from hushd.core.rules import (
    During,
    Flapping,
    Input,
    Leaf,
    Limit,
    Measure,
    NoData,
    Over,
    Regime,
)

MINUTE = 60 * 10**9
HOUR = 60 * MINUTE
HEAD = """\
version: 1
site: {timezone: Europe/Berlin}
sensors:
  noise: {topic: "hotel/{floor}/{room}/noise", unit: dBA}
  shake: {topic: "hotel/{room}/shake", unit: mm/s}
  outside: {topic: "hotel/outside/noise", unit: dBA}
schedules:
  night: {from: 22:00, to: 06:00}
  office: {days: mon-fri, from: 08:00, to: 17:00}
notifiers: {phone: {type: log}, desk: {type: log}}
"""
PLAIN = "watch: noise, measure: leq, over: 15m, notify: [phone]"
LEAVES = """
      - {watch: noise, measure: leq, over: 10m, above: 65, clear: 62}
      - {watch: shake, measure: max, over: 5m, min_coverage: 0.8, at_least: 5}
"""


def rules(text, catalog, head=HEAD):
    config = read_text("x.yaml", f"{head}rules:\n{text}", catalog)
    return {rule.name: rule for rule in config.rules.rules}


def rule(text, catalog, head=HEAD):
    """Return the only rule; *text* is what stands between its braces."""
    (found,) = rules(f"  loud: {{{text}}}\n", catalog, head).values()
    return found


def both(text, catalog, head=HEAD):
    """Return a rule of two conditions."""
    text = f"  loud:\n    all:{LEAVES}" + "".join(f"    {line}\n" for line in text.splitlines())
    (found,) = rules(f"{text}    notify: [phone]\n", catalog, head).values()
    return found


def refused(text, catalog, head=HEAD):
    with pytest.raises(ConfigError) as caught:
        rule(text, catalog, head)
    return [problem.message for problem in caught.value.problems]


def warned(text, catalog, head=HEAD):
    """Return what is said of rules, but for schedules and sensors that nobody uses."""
    config = read_text("x.yaml", f"{head}rules:\n{text}", catalog)
    idle = ("no rule watches", "nothing happens", "nobody is told through")
    return [p.message for p in config.warnings if not p.message.startswith(idle)]


def test_a_rule_that_says_nothing_of_it_is_always_on_and_never_repeats(catalog):
    found = rule(f"{PLAIN}, warning: {{above: 40}}", catalog)
    assert found.during is None
    assert found.repeat == ()
    assert found.mute_while == ()
    assert found.flapping is None
    assert (found.regimes, found.leaves, found.join, found.relative_to) == ((), (), "", None)
    assert (found.cooldown, found.fresh_window) == (0, False)


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("during: night", "during", During("night")),
        ("during: not office", "during", During("office", inverted=True)),
        ("during: always", "during", None),
        ("repeat: 1h", "repeat", (HOUR,)),
        ("repeat: [15m, 30m, 1h]", "repeat", (15 * MINUTE, 30 * MINUTE, HOUR)),
        ("repeat: never", "repeat", ()),
        ("cooldown: 20m", "cooldown", 20 * MINUTE),
        ("cooldown: 0s", "cooldown", 0),
        ("flapping: {changes: 6, within: 1h}", "flapping", Flapping(6, HOUR)),
        ("flapping: never", "flapping", None),
        ("during: night, fresh_window: true", "fresh_window", True),
    ],
)
def test_a_key_is_a_field(text, field, value, catalog):
    found = rule(f"{PLAIN}, warning: {{above: 40}}, {text}", catalog)
    assert getattr(found, field) == value
    # a default counts where the rule says nothing, and the rule's own word replaces it
    head = f"{HEAD}defaults: {{{text}}}\n"
    assert getattr(rule(f"{PLAIN}, warning: {{above: 40}}", catalog, head), field) == value
    other = (
        "defaults: {during: office, repeat: 5m, cooldown: 5m, "
        "flapping: {changes: 3, within: 1m}, fresh_window: false}\n"
    )
    found = rule(f"{PLAIN}, warning: {{above: 40}}, {text}", catalog, HEAD + other)
    assert getattr(found, field) == value


def test_limits_by_schedule_stand_in_their_order_and_share_the_delays_of_the_rule(catalog):
    found = rule(
        f"{PLAIN}, for: 1m, clear_for: 5m, limits: ["
        "{during: night, warning: {above: 45, clear: 43}, critical: {above: 55, for: 0s}},"
        "{during: not office, info: {above: 50}},"
        "{during: otherwise, warning: {above: 70}}]",
        catalog,
    )
    wait, clear = MINUTE, 5 * MINUTE
    assert found.limits == ()
    assert found.regimes == (
        Regime(
            During("night"),
            (
                Limit("warning", "above", 45.0, 43.0, wait, clear),
                Limit("critical", "above", 55.0, None, 0, clear),
            ),
        ),
        Regime(During("office", True), (Limit("info", "above", 50.0, None, wait, clear),)),
        Regime(None, (Limit("warning", "above", 70.0, None, wait, clear),)),
    )


def test_limits_by_schedule_are_advised_as_those_of_a_rule_are(catalog):
    text = (
        "  loud: {watch: noise, measure: mean, over: 10s, notify: {critical: [phone]}, limits: ["
        "{during: night, info: {above: 50, for: 1m}, warning: {above: 45, for: 1m}},"
        "{during: otherwise, warning: {above: 70}}]}\n"
    )
    assert warned(text, catalog) == [
        '"mean" takes decibels for plain numbers: loud moments count too little',
        "this rule is never critical: nobody listed here hears of it",
        "warning is reached where info is not",
        "a value that hovers at the limit will raise and clear this again and again",
    ]


def test_a_duration_may_be_the_limit_of_a_schedule_where_the_measure_is_one(catalog):
    limits = "limits: [{during: night, warning: {above: 2m}}]"
    text = "watch: noise, measure: {time_above: 60}, over: 15m, notify: [phone]"
    found = rule(f"{text}, {limits}", catalog)
    assert found.regimes[0].limits[0].limit == 120.0
    assert refused(f"{PLAIN}, {limits}", catalog) == ["a duration, but the measure is none"]


@pytest.mark.parametrize(
    ("limits", "never"),
    [
        ("{during: night, W}, {during: otherwise, W}", 0),
        ("{during: night, W}, {during: office, W}, {during: otherwise, W}", 0),
        ("{during: night, W}, {during: night, W}", 1),
        ("{during: otherwise, W}, {during: night, W}, {during: office, W}", 2),
        ("{during: night, W}, {during: not night, W}, {during: office, W}", 1),
        ("{during: not office, W}, {during: night, W}", 1),  # offices are shut by 17:00
        ("{during: not night, W}, {during: office, W}", 1),
        ("{during: office, W}, {during: not night, W}", 0),
    ],
)
def test_limits_that_never_get_their_turn_are_told(limits, never, catalog):
    text = f"  loud: {{{PLAIN}, limits: [{limits.replace('W', 'warning: {above: 40}')}]}}\n"
    said = [m for m in warned(text, catalog) if m.startswith("these limits never count")]
    assert len(said) == never


# --- several conditions


def test_a_rule_of_several_conditions_has_their_windows_and_one_limit(catalog):
    found = both("severity: critical\nfor: 2m\nclear_for: 10m\nmin_samples: 3", catalog)
    assert found.join == "all"
    assert found.each == ("room",)  # the only label that both have
    assert found.sensor == "noise"
    assert found.limits == (Limit("critical", "at_least", 1.0, None, 2 * MINUTE, 10 * MINUTE),)
    noise = Input("noise", Measure("leq"), Over(10 * MINUTE), (), 3, 0.5)
    shake = Input("shake", Measure("max"), Over(5 * MINUTE), (), 3, 0.8)
    assert found.leaves == (
        Leaf(noise, Limit("critical", "above", 65.0, 62.0)),
        Leaf(shake, Limit("critical", "at_least", 5.0)),
    )
    assert found.inputs == (noise, shake)


def test_any_is_read_as_all_is(catalog):
    (found,) = rules(
        f"  loud:\n    any:{LEAVES}    severity: info\n    notify: [phone]\n", catalog
    ).values()
    assert (found.join, len(found.leaves)) == ("any", 2)


def test_a_condition_has_its_own_filter_and_its_own_comparison(catalog):
    (found,) = rules(
        "  loud:\n    all:\n"
        "      - {watch: noise, where: {floor: 1}, measure: leq, over: 10m, above: 10,\n"
        "         relative_to: {watch: outside, measure: leq, over: 1h}}\n"
        "      - {watch: noise, measure: max, over: 10m, above: 80}\n"
        "    each: []\n    severity: info\n    notify: [phone]\n",
        catalog,
    ).values()
    first, second = found.leaves
    assert first.input.where == (("floor", ("1",)),)
    assert first.less == Input("outside", Measure("leq"), Over(HOUR))
    assert (second.input.where, second.less) == ((), None)
    assert found.sensors == ("noise", "outside")


def test_silence_of_each_sensor_is_looked_at(catalog):
    head = HEAD.replace("unit: mm/s", "unit: mm/s, interval: 20m")
    text = f"  loud:\n    all:{LEAVES}    severity: info\n    notify: [phone]\n"
    said = warned(f"{text}    no_data: {{after: 10m}}\n", catalog, head)
    assert said == ["shorter than the interval of shake: every gap is a silence"]


def test_what_only_a_condition_or_a_comparison_looks_at_is_watched(catalog):
    text = (
        f"  both:\n    all:{LEAVES}    severity: info\n    notify: [phone, desk]\n"
        "  inside: {watch: noise, each: [], measure: leq, over: 5m, during: night,\n"
        "    relative_to: {watch: outside, measure: leq, over: 5m},\n"
        "    warning: {above: 10}, notify: [phone]}\n"
        "  day: {watch: noise, measure: leq, over: 5m, during: office,\n"
        "    warning: {above: 10}, notify: [phone]}\n"
    )
    assert read_text("x.yaml", f"{HEAD}rules:\n{text}", catalog).warnings == ()


# --- one window less another


def test_a_comparison_is_with_the_same_sensor_unless_it_says_another(catalog):
    found = rule(
        f"{PLAIN}, where: {{floor: 1}}, min_coverage: 0.8, warning: {{above: 10}}, "
        "relative_to: {measure: {percentile: 50}, over: 1d}",
        catalog,
    )
    where = (("floor", ("1",)),)
    assert found.relative_to == Input(
        "noise", Measure("percentile", 50.0), Over(24 * HOUR), where, 1, 0.8
    )
    assert found.inputs[0] == Input("noise", Measure("leq"), Over(15 * MINUTE), where, 1, 0.8)


def test_the_other_window_may_be_as_full_and_as_wide_as_it_says(catalog):
    found = rule(
        f"{PLAIN}, where: {{floor: 1}}, each: [room], warning: {{above: 10}}, relative_to: "
        "{watch: shake, where: {room: attic}, measure: max, over: 20 samples, min_samples: 5}",
        catalog,
    )
    where = (("room", ("attic",)),)
    assert found.relative_to == Input("shake", Measure("max"), Over(None, 20), where, 5, 0.0)


def test_a_comparison_of_durations_has_a_duration_for_a_limit(catalog):
    text = "watch: noise, measure: {time_above: 60}, over: 1h, notify: [phone], "
    other = "relative_to: {measure: {time_above: 60}, over: 2h}, warning: {above: 5m}"
    assert rule(text + other, catalog).limits[0].limit == 300.0


# --- what is held back


def test_a_rule_may_be_muted_by_one_that_rests(catalog):
    found = rules(
        f"  loud: {{{PLAIN}, warning: {{above: 40}}, mute_while: [off, off]}}\n"
        f"  off: {{{PLAIN}, warning: {{above: 40}}, enabled: false}}\n",
        catalog,
    )
    assert found["loud"].mute_while == ("off",)


@pytest.mark.parametrize(
    ("each", "said"),
    [("[]", False), ("[room]", False), ("[floor]", True), ("[floor, room]", True)],
)
def test_a_rule_can_only_be_muted_by_labels_that_it_has(each, said, catalog):
    text = (
        f"  loud: {{{PLAIN}, each: [room], warning: {{above: 40}}, mute_while: [other]}}\n"
        f"  other: {{{PLAIN}, each: {each}, warning: {{above: 40}}}}\n"
    )
    never = [m for m in warned(text, catalog) if "never mutes" in m]
    assert bool(never) is said


def test_words_and_a_link_are_kept_for_those_that_have_any(catalog):
    text = (
        f'  loud: {{{PLAIN}, warning: {{above: 40}}, message: {{title: "{{{{ rule }}}}"}}}}\n'
        f"  linked: {{{PLAIN}, warning: {{above: 40}}, link: https://example.org}}\n"
        f"  plain: {{{PLAIN}, warning: {{above: 40}}}}\n"
    )
    messages = read_text("x.yaml", f"{HEAD}rules:\n{text}", catalog).messages
    assert messages.keys() == {"loud", "linked"}
    assert (messages["loud"].texts, messages["loud"].link) == ({"title": "{{ rule }}"}, "")
    assert (messages["linked"].texts, messages["linked"].link) == ({}, "https://example.org")
    head = HEAD + 'defaults: {message: {title: "{{ rule }}", clear: over}}\n'
    messages = read_text("x.yaml", f"{head}rules:\n{text}", catalog).messages
    assert messages["plain"].texts == {"title": "{{ rule }}", "clear": "over"}
    assert messages["loud"].texts == {"title": "{{ rule }}"}  # replaced whole


# --- what must exist


@pytest.mark.parametrize(
    ("wheres", "missed"),
    [
        ([""], 0),
        (["where: {floor: 1},"], 1),
        (["where: {floor: [1, 2]},"], 0),
        (["where: {floor: 1},", "where: {floor: 2},"], 0),
        (["where: {room: attic},"], 2),
    ],
)
def test_a_series_that_no_rule_looks_at_is_not_missed(wheres, missed, catalog):
    expect = "interval: 10s, expect: [{floor: 1, room: 101}, {floor: 2, room: 201}]"
    head = HEAD.replace('room}/noise", ', f'room}}/noise", {expect}, ')
    text = "".join(
        f"  r{i}: {{{PLAIN}, {where} warning: {{above: 40}}}}\n" for i, where in enumerate(wheres)
    )
    said = [m for m in warned(text, catalog, head) if "leaves this series out" in m]
    assert len(said) == missed


def test_no_data_of_the_defaults_counts_for_conditions_too(catalog):
    head = HEAD + "defaults: {no_data: {after: 3m}}\n"
    assert both("severity: info", catalog, head).no_data == NoData(3 * MINUTE)


def test_a_flat_line_is_a_range_that_stays_small(catalog):
    text = (
        "  stuck: {watch: noise, measure: range, over: 1h, notify: [phone],\n"
        "    warning: {at_most: 0.1, clear: 0.5}, critical: {at_most: 0}}\n"
    )
    assert warned(text, catalog) == []
