"""``hushd explain`` beside a daemon that runs: what its rules match, and how they fare."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HUSHD = Path(sys.executable).parent / "hushd"

CONFIG = """\
version: 1
mqtt: {{host: 127.0.0.1, port: {port}}}
sensors:
  noise: {{topic: "hotel/{{floor}}/{{room}}/noise", unit: dBA}}
notifiers:
  desk: {{type: log}}
rules:
  loud:
    watch: noise
    where: {{floor: 1}}
    each: [room]
    measure: last
    warning: {{above: 70, clear: 60}}
    notify: [desk]
"""


def explain(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [HUSHD, "explain", *arguments],
        cwd=folder,
        env=os.environ | {"XDG_RUNTIME_DIR": str(folder), "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return " ".join(done.stdout.split())  # however it is wrapped


@pytest.mark.mosquitto
def test_a_daemon_that_runs_says_which_series_a_rule_matches(mosquitto, run, tmp_path, eventually):
    broker = mosquitto().start()
    daemon = run(CONFIG.format(port=broker.port))
    daemon.wait_for("mqtt.connected")
    assert "Matches now: 0 topics." in explain(tmp_path, "loud", "-c", "hushd.yaml")
    broker.publish(
        [("hotel/1/101/noise", "80"), ("hotel/1/102/noise", "50"), ("hotel/2/201/noise", "80")]
    )
    expected = (
        "Matches now: 2 topics (floor 1, room 101; floor 1, room 102)."
        " Its alerts: 1 warning (room 101), 1 ok."
    )
    eventually(lambda: expected in explain(tmp_path, "-c", "hushd.yaml"), what=expected)
    assert daemon.stop() == 0
    assert "not known: no daemon listens at" in explain(tmp_path, "-c", "hushd.yaml")
