"""Notes to a real mosquitto, over the daemon's own publisher."""

import json
from queue import Queue

import pytest
from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion

from hushd.cli.broker import broker
from hushd.config import Mqtt
from hushd.plugin import Context, Note, NotSentError, RefusedError
from hushd.runtime.logs import Quiet
from hushd.runtime.publisher import Publisher
from hushd_notify.mqtt import MQTT

NOTE = Note(
    "raised",
    "Room 3/4: laut",
    "text",
    "warning",
    "k1",
    {"rule": "too-loud", "labels": {"room": "3/4 #1", "floor": "+1"}},
)


def options(**given: object) -> dict[str, object]:
    return {option.name: option.default for option in MQTT.options} | given


def topic(template: str, note: Note = NOTE) -> str:
    sent: list[str] = []

    def publish(topic: str, payload: bytes, *, retain: bool = False) -> None:
        sent.append(topic)

    context = Context("panel", "Hotel Adler", print, publish)
    MQTT.open(options(topic=template), context).send(note)
    return sent[0]


@pytest.mark.mosquitto
def test_a_note_is_published_and_kept_where_that_is_wanted():
    heard: Queue[paho.MQTTMessage] = Queue()
    subscribed: Queue[bool] = Queue()
    with broker("mosquitto") as address:
        client = paho.Client(CallbackAPIVersion.VERSION2)
        client.on_message = lambda _client, _data, message: heard.put(message)
        client.on_subscribe = lambda *_: subscribed.put(True)
        client.connect(address.host, address.port)
        client.loop_start()
        client.subscribe("hushd/#", 1)
        subscribed.get(timeout=10)
        publisher = Publisher(Mqtt(address.host, address.port), "hushd-test", Quiet())
        context = Context("panel", "Hotel Adler", print, publisher.publish)
        try:
            MQTT.open(options(), context).send(NOTE)
            kept = MQTT.open(options(topic="hushd/{rule}", retain=True), context)
            kept.send(NOTE)
            kept.send(NOTE._replace(kind="test"))
            messages = [heard.get(timeout=10) for _ in range(3)]
            client.unsubscribe("hushd/#")
            client.subscribe("hushd/#", 1)
            again = heard.get(timeout=10)
        finally:
            publisher.close(b"")
            client.disconnect()
            client.loop_stop()
    assert messages[0].topic == "hushd/alert/too-loud/floor=%2B1,room=3%2F4 %231"
    assert json.loads(messages[0].payload) == {
        "kind": "raised",
        "title": "Room 3/4: laut",
        "text": "text",
        "severity": "warning",
        "key": "k1",
        "site": "Hotel Adler",
        "alert": NOTE.record,
    }
    assert messages[0].qos == 1
    assert (again.topic, again.retain) == ("hushd/too-loud", True)
    assert json.loads(again.payload)["kind"] == "raised"  # a test is never kept


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("a/b", "a/b"),
        ("{site}/{notifier}/{kind}/{severity}", "Hotel Adler/panel/raised/warning"),
        ("{rule}/{room}", "too-loud/3%2F4 %231"),
        ("{rule}/{wing}", "too-loud/-"),  # a rule without that label
    ],
)
def test_placeholders_are_filled_in(template, filled):
    assert topic(template) == filled


def test_what_a_payload_says_makes_no_level_of_its_own():
    odd = NOTE._replace(record={"rule": "r", "labels": {"room": "a\0\ud800/$b%"}})
    assert topic("x/{room}", odd) == "x/a%00%ED%A0%80%2F%24b%25"
    assert topic("x/{room}", NOTE._replace(record={"labels": {"room": ""}})) == "x/-"
    assert topic("x/{labels}", NOTE._replace(record={"labels": {}})) == "x/-"


def test_a_topic_that_is_too_long_is_refused():
    with pytest.raises(RefusedError, match="longer than 65535"):
        topic("{room}", NOTE._replace(record={"labels": {"room": "ä" * 40_000}}))


def test_without_a_connection_it_says_so():
    with pytest.raises(NotSentError, match="no connection to a broker"):
        MQTT.open(options(), Context("panel", "", print)).send(NOTE)


def test_what_the_broker_forbids_is_refused():
    def publish(topic: str, payload: bytes, *, retain: bool = False) -> None:
        raise PermissionError("not authorised")

    with pytest.raises(RefusedError, match="not authorised"):
        MQTT.open(options(), Context("panel", "", print, publish)).send(NOTE)


@pytest.mark.parametrize("template", ["a/+", "a/#", "$SYS/a", "a/{Room}", "a/{", "a\nb"])
def test_mistakes_are_found_when_the_configuration_is_read(template):
    assert MQTT.check is not None
    assert [fault.option for fault in MQTT.check(options(topic=template))] == ["topic"]
    assert list(MQTT.check(options())) == []
