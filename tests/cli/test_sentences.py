"""What a rule judges, when and for whom, in plain sentences."""

import pytest
from explaining import BASE, NOISE, QUIET, SILENT, said


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ("", "For each floor and room, "),
        ("each: [room]", "For each room, "),
        ("each: []", "For all together, "),
        ("each: [room]\nwhere: {room: [101, 102]}", "For each of room 101 and 102, "),
        ("each: [room]\nwhere: {room: 101}", "For room 101, "),
        ("each: [room]\nwhere: {floor: [1, 2]}", "For each room where floor is 1 or 2, "),
        ("each: []\nwhere: {floor: 1}", "For all together where floor is 1, "),
    ],
)
def test_it_says_whose_alerts_there_are(keys, words):
    first = said(f"watch: noise\nmeasure: leq\nover: 5m\nwarning: {{above: 40}}\n{keys}")[0]
    assert first == f"{words}the energy average of the last 5 min: {QUIET}"


def test_one_topic_without_labels_is_not_for_each_of_anything():
    first = said("watch: door\nmeasure: count\nover: 5m\nwarning: {above: 3}")[0]
    assert first.startswith("The number of readings in the last 5 min: ")


@pytest.mark.parametrize(
    ("during", "words"),
    [
        ("night", "from 22:00 to 06:00 (Europe/Berlin; next: today 22:00)"),
        (
            "not night",
            "at all times but from 22:00 to 06:00 (Europe/Berlin; now, until today 22:00)",
        ),
        (
            "office",
            (
                "Mondays to Fridays but not holidays from 08:00 to 17:00 and Saturdays from 08:00"
                " to 12:00 (Europe/Berlin; now, until today 17:00)"
            ),
        ),
        ("rest-day", "Sundays and holidays (Europe/Berlin; next: Fri 25 Dec (a holiday) 00:00)"),
    ],
)
def test_it_says_when_a_rule_judges(during, words):
    first = said(f"{NOISE}measure: leq\nover: 15m\nduring: {during}")[0]
    assert first == f"For each room, {words}, the energy average of the last 15 min: {QUIET}"


def test_limits_by_schedule_are_a_list_and_the_next_three_changes():
    assert said("""
watch: noise
each: [room]
measure: leq
over: 1h
clear_for: 5m
limits:
  - {during: night, warning: {above: 45, clear: 43}, critical: {above: 55}}
  - {during: evening, warning: {above: 60}}
  - {during: otherwise, warning: {above: 70}}
""") == [
        "For each room, the energy average of the last hour, by the first of these that is on:",
        (
            "- night, from 22:00 to 06:00: warning raised above 45 dBA, cleared at 43 or less"
            " for 5 min; critical raised above 55, cleared at 55 or less for 5 min"
        ),
        (
            "- evening, from 19:00 to 22:00: warning raised above 60 dBA, cleared at 60 or less"
            " for 5 min"
        ),
        "- otherwise: warning raised above 70 dBA, cleared at 70 or less for 5 min",
        (
            "Now (Europe/Berlin): otherwise; from today 19:00: evening; from today 22:00: night;"
            " from tomorrow 06:00: otherwise."
        ),
        SILENT,
        "Told to desk.",
    ]


def test_without_otherwise_there_are_times_without_a_limit():
    paragraphs = said("""
watch: noise
each: [room]
measure: leq
over: 1h
limits: [{during: night, warning: {above: 45}}]
""")
    assert paragraphs[2] == (
        "Now (Europe/Berlin): none; from today 22:00: night; from tomorrow 06:00: none;"
        " from tomorrow 22:00: night."
    )


def test_several_conditions_are_a_list():
    assert said("""
each: [room]
all:
  - {watch: noise, measure: leq, over: 10m, above: 65, clear: 62}
  - {watch: street, measure: max, over: 10m, below: 50, min_coverage: 0.75}
severity: critical
for: 2m
clear_for: 10m
""") == [
        (
            "For each room, critical raised when all of these hold for 2 min, cleared when not all"
            " of them do for 10 min:"
        ),
        "- the energy average of the last 10 min of noise above 65 dBA, until at 62 or less",
        (
            "- the highest reading of the last 10 min of street below 50 dBA, until at 50 or more"
            " (once readings cover 75 % of the last 10 min)"
        ),
        SILENT,
        "Told to desk.",
    ]


def test_one_of_several_conditions():
    first = said("""
each: [room]
any:
  - {watch: noise, where: {room: 101}, measure: last, above: 65, clear: 62}
  - {watch: street, measure: last, above: 80, clear: 62}
severity: info
""")
    assert first[:3] == [
        "For each room, info raised when any of these holds, cleared when none of them does:",
        "- each reading of noise where room is 101 above 65 dBA, until at 62 or less",
        "- each reading of street above 80 dBA, until at 62 or less",
    ]


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (
            "{measure: {ln: 90}, over: 1h}",
            "the energy average of the last 5 min, less the level exceeded 90 % of the last hour",
        ),
        (
            "{watch: street, measure: leq, over: 5m}",
            (
                "the energy average of the last 5 min of noise, less the energy average of the last"
                " 5 min of street"
            ),
        ),
    ],
)
def test_a_measure_less_another(other, words):
    body = f"{NOISE}measure: leq\nover: 5m\nrelative_to: {other}"
    assert said(body)[0] == f"For each room, {words}: {QUIET}"


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ("min_coverage: 0.75", "Judged once readings cover 75 % of the last 15 min. "),
        ("min_coverage: 0", "Judged once there is one reading. "),
        (
            "min_coverage: 0.75\nmin_samples: 10",
            "Judged once readings cover 75 % of the last 15 min and there are 10 readings. ",
        ),
        (
            "during: night\nfresh_window: true",
            "Only what was heard since 22:00 counts. ",
        ),
        (
            "during: not night\nfresh_window: true",
            "Only what was heard since 06:00 counts. ",
        ),
        (
            "during: office\nfresh_window: true",
            "Only what was heard since 08:00 counts. ",
        ),
        (
            "during: not office\nfresh_window: true",
            "Only what was heard since then counts. ",
        ),
        ("min_samples: 1", ""),
    ],
)
def test_it_says_when_a_window_is_full_enough(keys, words):
    assert said(BASE + keys)[1] == words + SILENT


def test_a_fresh_window_of_limits_by_schedule():
    paragraphs = said("""
watch: noise
measure: leq
over: 1h
fresh_window: true
limits: [{during: night, warning: {above: 45}}, {during: otherwise, warning: {above: 60}}]
""")
    assert paragraphs[-2] == f"What was heard under other limits, or none, does not count. {SILENT}"
