"""At wall clock, from a real broker to everybody's ear: raised and cleared, within seconds.

The source is accelerated: a loud second is what a loud quarter of an hour would be.
"""

import json
import threading
from collections.abc import Iterator
from time import monotonic

import pytest
from certificates import Authority
from http_server import serving
from mail_server import PASSWORD, mail_server
from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion
from processes import alive

pytestmark = pytest.mark.mosquitto

DEADLINE = 5.0  # seconds from the last loud reading to the last ear

CONFIG = """\
version: 1
site: {{name: Hotel Adler, timezone: Europe/Berlin}}
mqtt: {{host: 127.0.0.1, port: {mqtt}}}
allow_exec: true
sensors: {{noise: {{topic: "hotel/{{room}}/noise", unit: dBA, interval: 20ms}}}}
notifiers:
  desk: {{type: webhook, url: "{hook}", token: {{env: DESK}}}}
  caretaker:
    type: email
    host: localhost
    port: {smtp}
    ca: ca.pem
    username: hushd
    password: {{env: MAIL}}
    from: hushd@example.org
    to: [caretaker@example.org]
  panel: {{type: mqtt, topic: "alerts/{{rule}}/{{room}}"}}
  phone: {{type: apprise, url: {{env: PHONE}}}}
  stuck: {{type: command, command: [/bin/sh, -c, "echo $$ > {pid}; sleep 600"], timeout: 50s}}
  evidence: {{type: journal, path: evidence.jsonl}}
rules:
  loud:
    watch: noise
    measure: leq
    over: 500ms
    min_coverage: 0.2
    warning: {{above: 70, clear: 65}}
    no_data: ignore
    notify: [stuck, desk, caretaker, panel, phone, evidence]
"""


class Source:
    """A noise sensor that speaks fifty times a second, on a thread of its own."""

    def __init__(self, port: int) -> None:
        self.level = 40.0
        self.heard: list[tuple[str, dict]] = []
        self._ended = threading.Event()
        self._client = paho.Client(CallbackAPIVersion.VERSION2)
        self._client.on_message = lambda _client, _data, message: self.heard.append(
            (message.topic, json.loads(message.payload))
        )
        self._client.connect("127.0.0.1", port)
        self._client.subscribe("alerts/#", 1)
        self._client.loop_start()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.wait(0.02):
            self._client.publish("hotel/101/noise", f"{self.level}", qos=1)

    def close(self) -> None:
        self._ended.set()
        self._thread.join()
        self._client.disconnect()
        self._client.loop_stop()


@pytest.fixture
def source(mosquitto) -> Iterator[tuple[Source, int]]:
    broker = mosquitto().start()
    source = Source(broker.port)
    yield source, broker.port
    source.close()


def test_everybody_hears_of_it(source, run, eventually, tmp_path):
    sensor, port = source
    authority = Authority(tmp_path)
    with serving() as desk, serving() as phone, mail_server(authority.server(), login=True) as box:
        daemon = run(
            CONFIG.format(
                mqtt=port, hook=f"{desk.url}/alerts", smtp=box.port, pid=tmp_path / "pid"
            ),
            DESK="canary-of-the-desk",
            MAIL=PASSWORD,
            PHONE=f"json://me:canary-of-the-phone@localhost:{phone.port}/note",
        )
        daemon.wait_for("mqtt.connected")

        def everybody(times: int) -> bool:
            ears = (desk.seen, phone.seen, box.mails, sensor.heard)
            return all(len(ear) >= times for ear in ears)

        took = {}
        for times, (word, level) in enumerate({"raised": 80.0, "cleared": 40.0}.items(), 1):
            began = monotonic()
            sensor.level = level
            eventually(lambda times=times: everybody(times), DEADLINE, f"not all heard {word}")
            took[word] = monotonic() - began
        # one hangs all the while: it delays nobody, and not the end either
        assert daemon.logged("notifier.failed") == daemon.logged("notifier.refused") == []
        began = monotonic()
        assert daemon.stop() == 0
        assert monotonic() - began < 8
        group = int((tmp_path / "pid").read_text())
        eventually(lambda: not alive(group), 2, "a program outlives the daemon")
    hooks = [json.loads(seen.body) for seen in desk.seen]
    phones = [json.loads(seen.body) for seen in phone.seen]
    records = [json.loads(line) for line in (tmp_path / "evidence.jsonl").read_text().splitlines()]
    assert [record["event"] for record in records] == ["raised", "cleared"]
    assert [note["kind"] for note in hooks] == ["raised", "cleared"]
    assert [note["alert"] for note in hooks] == records
    assert [topic for topic, _ in sensor.heard] == ["alerts/loud/101"] * 2
    assert [note["alert"] for _, note in sensor.heard] == records
    titles = [note["title"] for note in hooks]
    assert titles[0].startswith("Room 101: noise over 500ms is ")
    assert titles[1].startswith("Room 101: noise over 500ms is ")
    assert "all well again" in titles[1]
    assert [note["title"] for note in phones] == titles
    assert [note["type"] for note in phones] == ["warning", "success"]
    assert [mail["Subject"] for mail in box.mails] == titles
    assert box.encrypted == [True, True]
    assert [seen.headers["Authorization"] for seen in desk.seen] == [
        "Bearer canary-of-the-desk"
    ] * 2
    keys = [seen.headers["Idempotency-Key"] for seen in desk.seen]
    assert keys == [f"{record['id']}-desk" for record in records]
    assert [mail["Message-ID"] for mail in box.mails] == [
        f"<{record['id']}-caretaker@example.org>" for record in records
    ]
    assert "canary" not in (tmp_path / "log.jsonl").read_text()
