"""What a kept session keeps, what leaves it, and what hushd says of itself at the broker."""

import pytest
from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion

pytestmark = pytest.mark.mosquitto

CONFIG = """\
version: 1
mqtt: {{host: 127.0.0.1, port: {port}, client_id: hushd-test, ingest: {ingest}}}
limits: {{inbox: {inbox}}}
sensors:
  noise: {{topic: "{topic}"}}
  end: {{topic: end}}
notifiers:
  evidence: {{type: journal, path: evidence.jsonl}}
rules:
  loud: {{watch: noise, measure: mean, over: 10m, warning: {{above: 70}}, notify: [evidence]}}
  over: {{watch: end, measure: last, info: {{above: 0}}, notify: [evidence], no_data: ignore}}
"""


def config(
    port: int, topic: str = "home/{room}/noise", inbox: int = 10_000, ingest: str = "auto"
) -> str:
    return CONFIG.format(port=port, topic=topic, inbox=inbox, ingest=ingest)


@pytest.fixture(params=["5", "3.1.1"])
def door(request, proxy):
    """Return a function from a broker's port to one that speaks so much MQTT."""
    old = request.param == "3.1.1"
    return lambda port: proxy(port, old=True).port if old else port


def readings(daemon) -> tuple[int, int]:
    assert daemon.stop() == 0
    (line,) = daemon.logged("hushd.stopped")
    return line["readings"], line["rejected"]


@pytest.mark.parametrize(("inbox", "ingest"), [(10_000, "auto"), (50, "auto"), (50, "plain")])
def test_w35_ten_thousand_messages_pass_a_broker_that_sends_twenty_unasked(
    inbox, ingest, door, mosquitto, run
):
    broker = mosquitto("max_inflight_messages 20", "allow_anonymous true").start()
    port = door(broker.port)
    daemon = run(config(port, inbox=inbox, ingest=ingest))
    daemon.wait_for("mqtt.connected")
    broker.publish(
        [*((f"home/{n % 100}/noise", "50") for n in range(10_000)), ("end", "1")],
    )
    daemon.wait_for("alert.changed", rule="over")
    assert readings(daemon) == (10_001, 0)
    again = run(config(port))  # what was not acknowledged would come again
    again.wait_for("mqtt.connected", session="kept")
    broker.publish([("end", "0"), ("end", "1")])
    again.wait_for("alert.changed", rule="over")
    assert readings(again) == (2, 0)


def test_what_is_sent_while_we_are_away_waits_at_the_broker(door, mosquitto, run):
    broker = mosquitto().start()
    port = door(broker.port)
    daemon = run(config(port))
    daemon.wait_for("mqtt.connected", session="new")
    assert daemon.stop() == 0
    broker.publish([("home/attic/noise", "50"), ("end", "1")])
    daemon = run(config(port))
    daemon.wait_for("mqtt.connected", session="kept")
    daemon.wait_for("alert.changed", rule="over")
    assert readings(daemon) == (2, 0)


def test_w30_a_changed_list_of_topics_changes_the_kept_session(door, mosquitto, run):
    broker = mosquitto().start()
    port = door(broker.port)
    daemon = run(config(port, "a/{rest*}"))
    daemon.wait_for("mqtt.connected")
    assert daemon.stop() == 0
    daemon = run(config(port, "b/{rest*}"))
    daemon.wait_for("mqtt.unsubscribed", filter="a/#")
    daemon.wait_for("mqtt.connected", session="kept")
    broker.publish([("a/x", "1"), ("b/x", "2"), ("end", "1")])
    daemon.wait_for("alert.changed", rule="over")
    assert readings(daemon) == (2, 0)  # b/x and end: a/x would have been rejected, no_sensor


def test_a_broker_that_forgets_sessions_is_noticed(mosquitto, run):
    broker = mosquitto().start()  # it keeps nothing on its disk
    daemon = run(config(broker.port))
    daemon.wait_for("mqtt.connected")
    broker.stop()
    daemon.wait_for("mqtt.disconnected")
    broker.start()
    daemon.wait_for("mqtt.session_lost")
    daemon.wait_for("mqtt.connected", times=2)
    broker.publish([("end", "1")])  # it was subscribed again
    daemon.wait_for("alert.changed", rule="over")


def test_g5_a_session_that_is_lost_while_we_are_away_is_noticed(door, mosquitto, run):
    broker = mosquitto().start()
    port = door(broker.port)
    daemon = run(config(port))
    daemon.wait_for("mqtt.connected", session="new")
    assert not daemon.logged("mqtt.session_lost")
    assert daemon.stop() == 0
    broker.stop()
    broker.start()
    daemon = run(config(port))
    daemon.wait_for("mqtt.session_lost")
    daemon.wait_for("mqtt.connected", session="new")


def test_d12_what_the_broker_kept_is_no_reading_on_any_return(
    door, mosquitto, proxy, run, eventually
):
    broker = mosquitto().start()
    between = proxy(door(broker.port))
    broker.publish([("home/attic/noise", "99")], retain=True)
    daemon = run(config(between.port))
    daemon.wait_for("mqtt.connected")
    between.mode = "reset"
    # of the subscribing connection: the other one has a purpose
    eventually(lambda: [d for d in daemon.logged("mqtt.disconnected") if "purpose" not in d])
    between.mode = "pass"
    daemon.wait_for("mqtt.connected", times=2)
    broker.publish([("end", "1")])
    daemon.wait_for("alert.changed", rule="over")
    accepted, rejected = readings(daemon)
    # it came once, when the subscription was new; and again if that was not committed yet
    again = len(daemon.logged("message.rejected", reason="redelivered"))
    assert (accepted, rejected - again) == (1, 1)


def test_a_bomb_is_kept_away_by_the_broker(mosquitto, run):
    broker = mosquitto().start()
    daemon = run(config(broker.port))
    daemon.wait_for("mqtt.connected")
    broker.publish([("home/attic/noise", "9" * 1_000_000), ("end", "1")])
    daemon.wait_for("alert.changed", rule="over")
    assert readings(daemon) == (1, 0)


def test_a_publisher_at_qos_2_is_heard_at_qos_1(mosquitto, run):
    broker = mosquitto().start()
    daemon = run(config(broker.port))
    daemon.wait_for("mqtt.connected")
    broker.publish([("home/attic/noise", "50"), ("end", "1")], qos=2)
    daemon.wait_for("alert.changed", rule="over")
    assert readings(daemon) == (2, 0)


def test_the_status_topic_says_whether_anybody_listens(door, mosquitto, run, eventually):
    broker = mosquitto().start()
    heard: list[tuple[str, bytes]] = []
    client = paho.Client(CallbackAPIVersion.VERSION2)
    client.on_connect = lambda *_: client.subscribe("hushd/#", 1)
    client.on_message = lambda _client, _data, m: heard.append((m.topic, m.payload))
    client.connect("127.0.0.1", broker.port)
    client.loop_start()
    port = door(broker.port)
    daemon = run(config(port))
    topic = "hushd/hushd-test/status"
    eventually(lambda: heard == [(topic, b"online")])
    assert daemon.stop() == 0
    eventually(lambda: heard[1:] == [(topic, b"offline")])
    daemon = run(config(port))
    eventually(lambda: heard[2:] == [(topic, b"online")])
    daemon.kill()  # no farewell: the broker says it
    eventually(lambda: heard[3:] == [(topic, b"offline")])
    client.disconnect()
    client.loop_stop()
