"""A silence has an end, a comment and something to be about; an acknowledgement, an alert."""

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from memory_store import Disk, MemoryStore

from hushd.config import read_text
from hushd.core.engine import Engine
from hushd.core.readings import SECOND, Reading
from hushd.plugin import load
from hushd.runtime import status
from hushd.runtime.logs import Quiet
from hushd.runtime.silencing import Silencing

CATALOG = load()
CONFIG = """\
version: 1
site: {timezone: Europe/Berlin}
sensors:
  noise: {topic: "home/{room}/noise"}
notifiers:
  phone: {type: log}
rules:
  loud: {watch: noise, measure: last, warning: {above: 70}, no_data: {after: 1h}, notify: [phone]}
"""


def at(text: str, zone: str = "UTC") -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()) * SECOND


NOON = at("2026-12-01T12:00")
HOUR = 3600 * SECOND


class Diary(Quiet):
    def __init__(self) -> None:
        self.lines: list[tuple[str, dict[str, Any]]] = []

    def info(self, event: str, **fields: Any) -> None:
        self.lines.append((event, fields))


class Place:
    """Two rooms, of which 101 is loud, and somebody who asks."""

    def __init__(self, config: str = CONFIG) -> None:
        self.config = read_text("hushd.yaml", config, CATALOG)
        self.engine = Engine(self.config.rules, CATALOG.aggregators)
        self.now = NOON
        self.disk = Disk()
        self.diary = Diary()
        self.heard: list[tuple[list[int], list[str]]] = []
        self.hear("101", 75.0)
        self.hear("102", 50.0)
        self.start()

    def start(self) -> None:
        """Begin, or begin again, with what is kept."""
        self.silencing = Silencing(
            self.config,
            MemoryStore(self.disk, lambda: self.now),
            lambda: status.known(self.engine),
            self.diary,
            lambda mutes, acks: self.heard.append(
                ([mute.number for mute in mutes], [ack.comment for ack in acks])
            ),
            lambda: self.now,
        )

    def hear(self, room: str, level: float) -> None:
        self.engine.process(Reading("noise", (("room", room),), self.now, level, self.now))

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        return self.silencing.answer({"do": do, **request})

    def silence(self, **request: Any) -> dict[str, Any]:
        return self.ask("silence", **{"for": "2h", "comment": "painters", **request})

    def events(self) -> list[str]:
        return [event for event, _ in self.diary.lines]


@pytest.fixture
def place():
    return Place()


def test_a_silence_is_kept_said_and_shown_with_what_it_holds(place):
    answer = place.silence(rule="loud", labels={"room": "101"})
    assert answer == {
        "ok": True,
        "silence": {
            "number": 1,
            "rule": "loud",
            "labels": {"room": "101"},
            "begins": "2026-12-01T12:00:00Z",
            "ends": "2026-12-01T14:00:00Z",
            "until": "2026-12-01 15:00",
            "comment": "painters",
            "holds": [{"rule": "loud", "labels": {"room": "101"}, "severity": "warning"}],
        },
        "hint": "",
    }
    assert place.ask("silences") == {"ok": True, "silences": [answer["silence"]]}
    assert place.heard == [([], []), ([1], [])]
    ((event, fields),) = place.diary.lines
    assert event == "silence.added"
    assert fields["until"] == "2026-12-01T14:00:00Z"


def test_it_outlives_a_restart_and_ends_by_itself(place):
    place.silence(rule="loud")
    place.now += 2 * HOUR - 1
    place.start()
    place.silencing.tidy()
    assert place.heard[-1] == ([1], [])
    place.now += 1
    place.silencing.tidy()
    assert place.heard[-1] == ([], [])
    assert place.events() == ["silence.added", "silence.ended"]
    assert place.ask("silences") == {"ok": True, "silences": []}
    place.silencing.tidy()
    assert place.events() == ["silence.added", "silence.ended"]


def test_it_is_ended_by_its_number_which_is_not_given_again(place):
    place.silence()
    place.silence(labels={"room": "102"})
    assert place.ask("silence-end", number=1)["silence"]["number"] == 1
    assert place.heard[-1] == ([2], [])
    assert place.ask("silence-end", number=1) == {
        "ok": False,
        "code": 1,
        "error": "there is no silence 1\n  hint: there are 2",
    }
    assert place.ask("silence-end", number=2)["ok"]
    assert place.ask("silence-end", number="x")["error"].endswith("hint: there is none")
    assert place.silence()["silence"]["number"] == 3


@pytest.mark.parametrize(
    ("until", "ends"),
    [
        ("2026-12-24T08:00", at("2026-12-24T07:00")),
        ("2026-12-24 08:00:30", at("2026-12-24T07:00:30")),
        ("2026-12-24T08:00Z", at("2026-12-24T08:00")),
        ("2026-12-24", at("2026-12-23T23:00")),
        ("14:00", at("2026-12-01T13:00")),
        ("13:00", at("2026-12-02T12:00")),  # it is 13:00 just now
        ("8:30", at("2026-12-02T07:30")),
        ("2027-10-31T02:30", at("2027-10-31T01:30")),  # twice that night: until the second
        ("2027-03-28T02:30", at("2027-03-28T01:30")),  # not at all that night
    ],
)
def test_until_is_by_the_clocks_of_the_site(place, until, ends):
    answer = place.silence(**{"for": None, "until": until})
    assert answer["silence"]["ends"] == datetime.fromtimestamp(ends // SECOND, UTC).strftime(
        "%Y-%m-%dT%H:%M:%SZ"
    )


def test_without_a_time_zone_of_the_site_it_is_utc_and_says_so():
    place = Place(CONFIG.replace("site: {timezone: Europe/Berlin}\n", ""))
    answer = place.silence(**{"for": "", "until": "13:00"})
    assert answer["silence"]["until"] == "2026-12-01 13:00 UTC"


@pytest.mark.parametrize(
    ("wrong", "code", "said"),
    [
        ({"for": ""}, 2, "a silence needs an end"),
        ({"for": "2"}, 2, "no end: "),
        ({"for": "0s"}, 2, "its end is past: 2026-12-01 13:00"),
        ({"for": "367d"}, 2, "at most a year"),
        ({"for": "", "until": "tomorrow"}, 2, "no end: not a time"),
        ({"for": "", "until": "2026-12-01T12:59"}, 2, "its end is past"),
        ({"for": "", "until": "0001-01-01T00:00"}, 2, "no end: not a time"),
        ({"for": "", "until": "9999-12-31T23:59"}, 2, "at most a year"),
        ({"comment": " \n"}, 2, "a comment is needed"),
        ({"comment": "x" * 501}, 2, "at most 500 characters"),
        ({"rule": "lout"}, 1, 'did you mean "loud"?'),
        ({"labels": {"rooms": "101"}}, 1, 'did you mean "room"?'),
        ({"rule": 7}, 2, "a rule is a text"),
        ({"labels": ["room"]}, 2, "a rule is a text"),
        ({"labels": {"room": 101}}, 2, "a rule is a text"),
    ],
)
def test_what_is_wrong_is_refused_and_nothing_is_kept(place, wrong, code, said):
    answer = place.silence(**wrong)
    assert (answer["ok"], answer["code"]) == (False, code)
    assert said in answer["error"]
    assert place.ask("silences")["silences"] == []


@pytest.mark.parametrize(
    ("labels", "hint"),
    [
        ({}, ""),
        ({"room": "102"}, ""),
        ({"room": "1O1"}, 'no alert has had room=1O1 so far; did you mean "101"?'),
        ({"notifier": "phone"}, "no alert matches it so far"),
    ],
)
def test_a_room_that_nobody_heard_of_yet_is_taken_with_a_hint(place, labels, hint):
    assert place.silence(labels=labels)["hint"] == hint


def test_a_silence_may_be_about_a_sensor_that_sends_nothing(place):
    place.now += 2 * HOUR
    place.engine.advance(place.now)
    assert [held["rule"] for held in place.silence(rule="noise/no-data")["silence"]["holds"]] == [
        "noise/no-data",
        "noise/no-data",
    ]


def test_the_rules_of_the_day_say_what_can_be_meant(place):
    place.silence(rule="loud")
    changed = CONFIG.replace("loud:", "noisy:")
    place.silencing.change(read_text("hushd.yaml", changed, CATALOG))
    assert place.silence(rule="loud")["code"] == 1
    assert place.silence(rule="noisy")["ok"]
    assert len(place.ask("silences")["silences"]) == 2


# -- acknowledgements ------------------------------------------------------------------------


def test_who_minds_an_alert_does_so_until_it_is_over(place):
    answer = place.ask("ack", rule="loud", comment="somebody is on the way")
    assert answer == {
        "ok": True,
        "acknowledged": [{"rule": "loud", "labels": {"room": "101"}, "severity": "warning"}],
    }
    assert place.heard[-1] == ([], ["somebody is on the way"])
    place.start()
    place.silencing.tidy()
    assert place.heard[-1] == ([], ["somebody is on the way"])
    place.now += SECOND
    place.hear("101", 50.0)
    place.silencing.tidy()
    assert place.heard[-1] == ([], [])
    assert place.events() == ["alert.acknowledged"]


def test_in_the_next_episode_nobody_minds_it_yet(place):
    place.ask("ack", rule="loud", comment="seen")
    for level in (50.0, 80.0):
        place.now += SECOND
        place.hear("101", level)
    place.silencing.tidy()
    assert place.silencing.acks() == []


@pytest.mark.parametrize(
    ("request_", "code", "said"),
    [
        ({"labels": {"room": "102"}}, 1, "loud room=102 does not fire*firing now: loud room=101"),
        ({"rule": "noise/no-data"}, 1, "noise/no-data does not fire"),
        ({"rule": "lout"}, 1, 'did you mean "loud"?'),
        ({"comment": ""}, 2, "a comment is needed"),
    ],
)
def test_only_what_fires_can_be_acknowledged(place, request_, code, said):
    answer = place.ask("ack", **{"rule": "loud", "comment": "seen", **request_})
    assert answer["code"] == code
    for part in said.split("*"):
        assert part in answer["error"]
    assert place.silencing.acks() == []


def test_the_status_says_what_is_silenced_and_who_minds_it(place):
    place.silence(rule="loud")
    place.ask("ack", rule="loud", comment="seen")
    mutes = MemoryStore(place.disk, lambda: 0).mutes()
    (shown,) = status.alerts(place.engine, (), mutes, place.silencing.acks())["listed"]
    assert (shown["silenced"], shown["acknowledged"]) == (True, "seen")
    (shown,) = status.alerts(place.engine)["listed"]
    assert (shown["silenced"], shown["acknowledged"]) == (False, None)
