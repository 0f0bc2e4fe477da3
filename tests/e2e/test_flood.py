"""More topics than anybody has sensors, and payloads that nobody can read: it costs little."""

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.mosquitto

CONFIG = """\
version: 1
mqtt: {{host: 127.0.0.1, port: {port}}}
internal: {{notify: [evidence]}}
sensors:
  noise: {{topic: "home/{{room}}/noise"}}
notifiers:
  evidence: {{type: journal, path: evidence.jsonl}}
rules:
  loud: {{watch: noise, measure: mean, over: 1h, warning: {{above: 70}}, notify: [evidence]}}
  now: {{watch: noise, measure: last, info: {{above: 80}}, notify: [evidence]}}
"""

SERIES = 10_000  # limits.series, when nobody says otherwise
ALLOWED = 256  # MB, as in the unit file
BOMB = "9" * 1_000_000


def most(pid: int) -> float:
    """Return the largest resident size that a process has had, in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
@pytest.mark.parametrize(
    ("topics", "bombs"),
    [(20_000, 20), pytest.param(100_000, 500, marks=pytest.mark.long)],
    ids=["short", "long"],
)
def test_g8_a_flood_of_topics_and_bombs_costs_a_bounded_memory_and_one_alert(
    topics, bombs, protocol, mosquitto, proxy, run, tmp_path, capsys
):
    broker = mosquitto().start()
    port = broker.port if protocol == "5" else proxy(broker.port, old=True).port
    daemon = run(CONFIG.format(port=port))
    daemon.wait_for("mqtt.connected", protocol=protocol)
    idle = most(daemon.child.pid)
    broker.publish([("home/known/noise", "50")])
    step = topics // bombs
    for begin in range(0, topics, step):
        broker.publish((f"home/{n}/noise", "50") for n in range(begin, begin + step))
        broker.publish([("home/known/noise", BOMB)])
    broker.publish([("home/known/noise", "90"), ("home/stranger/noise", "90")])
    daemon.wait_for("alert.changed", rule="now")
    limits = ["payload", "series"] if protocol == "3.1.1" else ["series"]
    for limit in limits:  # it looks once a second whether something was turned away
        daemon.wait_for("alert.changed", rule="internal/limit", labels={"limit": limit})
    peak = most(daemon.child.pid)
    assert daemon.stop() == 0
    with capsys.disabled():
        print(
            f"\n{topics} topics and {bombs} payloads of 1 MB over MQTT {protocol}: "
            f"{peak:.0f} MB at most, {idle:.0f} MB before, {len(daemon.log)} lines of log"
        )
    assert peak < ALLOWED

    # on MQTT 5 the broker keeps away what is longer than we take
    unread = bombs if protocol == "3.1.1" else 0
    [end] = daemon.logged("hushd.stopped")
    assert (end["readings"], end["rejected"]) == (topics + 3, topics + 2 - SERIES + unread)
    assert bool(daemon.logged("message.rejected", reason="payload_too_long")) == bool(unread)
    assert len(daemon.log) < 50
    lines = map(json.loads, (tmp_path / "evidence.jsonl").read_text().splitlines())
    told = [(line["rule"], line["labels"]) for line in lines if line["event"] == "raised"]
    assert sorted(told, key=str) == [
        *(("internal/limit", {"limit": limit}) for limit in limits),
        ("now", {"room": "known"}),
    ]
