"""The daemon tells of its own troubles, with a real broker and a real plugin that raises."""

import json

import pytest

pytestmark = pytest.mark.mosquitto

CONFIG = """\
version: 1
plugins: {{directory: plugins}}
limits: {{series: 1}}
internal: {{severity: critical, notify: [hook]}}
mqtt: {{host: 127.0.0.1, port: {port}}}
sensors:
  noise: {{topic: "home/{{room}}/noise", interval: 1s}}
notifiers:
  evidence: {{type: journal, path: evidence.jsonl}}
  hook: {{type: webhook, url: "{url}"}}
rules:
  odd: {{watch: noise, measure: superstitious, over: 10m, min_coverage: 0, warning: {{above: 70}}, notify: [evidence]}}
  loud: {{watch: noise, measure: last, warning: {{above: 70}}, notify: [evidence]}}
"""

PLUGIN = """\
from hushd.plugin import Aggregation, Aggregator, hookimpl


def unit(value):
    if value == 13:
        raise ValueError("13 brings bad luck")
    return value


@hookimpl
def hushd_aggregators():
    yield Aggregator("superstitious", Aggregation(float, unit, max, lambda p: p), "not 13")
"""


def test_w33_a_plugin_that_raises_is_named_and_the_rest_goes_on(
    mosquitto, receiver, run, eventually, tmp_path
):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins/superstitious.py").write_text(PLUGIN)
    broker = mosquitto().start()
    daemon = run(CONFIG.format(port=broker.port, url=receiver.url))
    daemon.wait_for("mqtt.connected")
    broker.publish([("home/attic/noise", "13")] * 30)
    broker.publish([("home/hall/noise", "50"), ("home/attic/noise", "75")])
    eventually(lambda: len(receiver.notes) == 2)
    assert sorted(note["title"] for note in receiver.notes) == [
        "Hushd: limit series is reached (critical)",
        "Hushd: plugin superstitious keeps failing and is left out for now (critical)",
    ]
    assert {note["severity"] for note in receiver.notes} == {"critical"}
    [rested] = daemon.logged("plugin.rested")
    assert rested["plugin"] == f"superstitious ({tmp_path}/plugins/superstitious.py)"
    assert rested["error"] == "superstitious: ValueError: 13 brings bad luck"
    assert daemon.stop() == 0
    lines = [json.loads(line) for line in (tmp_path / "evidence.jsonl").read_text().splitlines()]
    assert {(line["rule"], line["event"]) for line in lines} == {
        ("loud", "raised"),
        ("internal/plugin", "raised"),
        ("internal/limit", "raised"),
    }
