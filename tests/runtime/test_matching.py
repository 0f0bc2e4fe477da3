"""What a daemon says of the series that its rules match."""

from hushd.config import read_text
from hushd.core.engine import Engine
from hushd.core.readings import SECOND, Reading
from hushd.plugin.loading import load
from hushd.runtime.matching import NAMED, matches

CONFIG = """\
version: 1
site: {timezone: Europe/Berlin}
sensors:
  noise: {topic: "{floor}/{room}/noise"}
  shake: {topic: "{room}/shake"}
schedules:
  night: {from: 22:00, to: 06:00}
defaults: {notify: []}
notifiers: {}
rules:
  loud: {watch: noise, each: [room], measure: last, warning: {above: 70, clear: 60}}
  upstairs: {watch: noise, where: {floor: 2}, measure: last, warning: {above: 70, clear: 60}}
  by-night: {watch: noise, measure: last, during: night, warning: {above: 70, clear: 60}}
  both:
    each: [room]
    all:
      - {watch: noise, measure: last, above: 70}
      - {watch: shake, measure: last, above: 5}
    severity: warning
"""


def heard(*readings: tuple[str, dict[str, str], float]) -> Engine:
    config = read_text("hushd.yaml", CONFIG, load())
    engine = Engine(config.rules, config.catalog.aggregators)
    for number, (sensor, labels, value) in enumerate(readings):
        at = (43_200 + number) * SECOND  # noon
        engine.process(Reading(sensor, tuple(sorted(labels.items())), at, value, at))
    return engine


def test_a_rule_matches_what_its_sensor_where_and_each_let_in():
    engine = heard(
        ("noise", {"floor": "1", "room": "101"}, 80),
        ("noise", {"floor": "2", "room": "201"}, 80),
        ("shake", {"room": "201"}, 9),
    )
    found = matches(engine)
    assert {name: rule["number"] for name, rule in found.items()} == {
        "loud": 2,
        "upstairs": 1,
        "by-night": 2,
        "both": 3,
    }
    assert found["both"]["series"][2] == {"sensor": "shake", "labels": {"room": "201"}}
    assert found["both"]["alerts"] == [{"labels": {"room": "201"}, "state": "firing(warning)"}]
    assert found["upstairs"]["series"] == [
        {"sensor": "noise", "labels": {"floor": "2", "room": "201"}}
    ]


def test_it_says_how_the_alerts_of_a_rule_fare():
    engine = heard(
        ("noise", {"floor": "1", "room": "101"}, 80),
        ("noise", {"floor": "2", "room": "201"}, 50),
    )
    found = matches(engine)
    assert found["loud"]["states"] == {"firing(warning)": 1, "ok": 1}
    assert found["loud"]["alerts"] == [{"labels": {"room": "101"}, "state": "firing(warning)"}]
    assert found["by-night"]["states"] == {"inactive": 2}


def test_it_names_the_first_few_and_counts_the_rest():
    rooms = [{"floor": "1", "room": f"{room:03}"} for room in range(NAMED + 3)]
    found = matches(heard(*(("noise", labels, 80) for labels in rooms)))["loud"]
    assert found["number"] == NAMED + 3
    assert [series["labels"] for series in found["series"]] == rooms[:NAMED]
    assert len(found["alerts"]) == NAMED
    assert found["states"] == {"firing(warning)": NAMED + 3}


def test_nothing_was_heard_yet():
    assert matches(heard())["loud"] == {"number": 0, "series": [], "states": {}, "alerts": []}
