"""The unit under a real systemd: ready, watched over, reloaded, killed, stopped, shut in.

`make install` puts it in place, and only what a caretaker has is used: systemctl, journalctl
and `hushd`.  See real_systemd.py for the machine it runs on.
"""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import real_systemd
from real_service import CONFIG, STATE, UNIT, Service
from real_systemd import Machine

REPO = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.mosquitto

#: a watchdog for people in a hurry
HASTY = "[Service]\nWatchdogSec=3\nTimeoutAbortSec=1\nRestartSec=100ms\n"


@pytest.fixture(scope="module")
def machine(tmp_path_factory) -> Iterator[Machine]:
    """Boot a machine, and install hushd there."""
    real_systemd.need()
    folder = tmp_path_factory.mktemp("machine")
    tree = folder / "tree"
    command = ["make", "--no-print-directory", "install", f"DESTDIR={tree}"]
    done = subprocess.run(
        command, cwd=REPO, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    with real_systemd.machine(folder / "root") as booted:
        booted.put(tree, "/")
        booted.run("systemctl", "daemon-reload")
        yield booted


@pytest.fixture
def service(machine) -> Iterator[Service]:
    """Return hushd with CONFIG, not started; a broker is at work."""
    machine.run("systemctl", "start", "mosquitto")
    new = Service(machine, "/opt/hushd")
    new.configure(CONFIG)
    yield new
    machine.try_to("systemctl", "kill", "--signal=CONT", "mosquitto")
    machine.run("systemctl", "stop", UNIT)
    machine.try_to("systemctl", "reset-failed")
    machine.run(
        "sh",
        "-c",
        f"rm -rf {STATE}/* /etc/systemd/system/{UNIT}.d /etc/hushd/plugins.d /etc/hushd/secrets/*;"
        "systemctl daemon-reload",
    )


# -- its life ------------------------------------------------------------------------------


def test_it_is_ready_and_says_how_it_fares_though_there_is_no_broker(service):
    service.machine.run("systemctl", "stop", "mosquitto")
    service.drop_in(HASTY)
    service.do("start")  # returns when it is ready
    assert service.show("ActiveState") == "active"
    assert service.show("StatusText").startswith("0 series, 0 alerts on")
    service.machine.eventually(lambda: "broker" in service.show("StatusText"))
    service.machine.run("systemctl", "start", "mosquitto")
    service.publish("80", "80", "80")
    service.tells("loud raised attic")
    service.machine.eventually(lambda: service.show("StatusText").startswith("1 series, 1 alerts"))


def test_a_configuration_that_is_not_sound_is_not_tried_again_and_again(service):
    service.configure("version: 2\n")
    assert service.machine.try_to("systemctl", "start", UNIT).returncode != 0
    assert service.show("ActiveState") == "failed"
    assert service.show("ExecMainStatus") == "78"
    assert service.show("NRestarts") == "0"
    assert "hushd.yaml:1:10: error:" in service.said()


def test_a_reload_that_fails_says_so_and_leaves_the_rules_at_work(service):
    service.do("start")
    service.publish("80", "80")
    service.configure(CONFIG.replace("above: 70", "abve: 70"))
    done = service.machine.try_to("systemctl", "reload", UNIT)
    assert done.returncode != 0
    assert 'did you mean "above"' in service.said()
    assert service.show("ActiveState") == "active"
    service.publish("80")  # the third, for a window that was kept
    service.tells("loud raised attic")

    service.configure(CONFIG.replace("above: 70", "above: 90"))
    service.do("reload")
    service.tells("loud raised attic", "loud cleared attic")
    assert service.show("NRestarts") == "0"


def test_it_is_started_again_when_it_is_killed(service):
    service.drop_in(HASTY)
    service.do("start")
    service.machine.run("systemctl", "kill", "--signal=KILL", UNIT)
    service.restarted(1)
    service.publish("80", "80", "80")
    service.tells("loud raised attic")


def test_it_takes_leave_in_time_though_broker_and_webhook_never_answer(service):
    hole = (
        "import socket, time; holes = [socket.create_server(('127.0.0.1', 8099))];"
        "time.sleep(600)  # the kernel takes connections, nobody answers"
    )
    service.machine.run("systemd-run", "--unit=hole", service.python, "-c", hole)
    service.configure(
        CONFIG.replace(
            "notifiers:", "notifiers:\n  hole: {type: webhook, url: 'http://127.0.0.1:8099/'}"
        ).replace("notify: [evidence]", "notify: [evidence, hole]")
    )
    service.do("start")
    service.publish("80", "80", "80")
    service.tells("loud raised attic")
    service.machine.run("systemctl", "kill", "--signal=STOP", "mosquitto")
    service.machine.run("systemctl", "stop", UNIT, timeout=10)
    assert service.show("Result") == "success"
    assert service.show("ExecMainStatus") == "0"
    service.machine.run("systemctl", "stop", "hole")


# -- watched over --------------------------------------------------------------------------

HANGING = '''\
"""A decoder that stands still at a certain payload."""

import threading

from hushd.plugin import Decoder, Sample, hookimpl


def stand_still(payload):
    if payload == b"stuck":
        threading.Event().wait()
    return [Sample(float(payload))]


@hookimpl
def hushd_decoders():
    yield Decoder("hanging", "hangs", lambda _: stand_still)
'''


def test_a_loop_that_is_stuck_is_taken_down_with_a_word_on_where(service):
    service.machine.write("/etc/hushd/plugins.d/hanging.py", HANGING)
    service.configure(
        CONFIG.replace("sensors:", "plugins: {directory: plugins.d}\nsensors:").replace(
            'noise"}', 'noise", value: hanging}'
        )
    )
    service.drop_in(HASTY)
    service.do("start")
    service.publish("80", "80", "80")
    service.tells("loud raised attic")
    service.publish("stuck", qos=0)
    service.restarted(1)
    said = service.said()
    assert "Fatal Python error: Aborted" in said
    assert re.search(r'File "/etc/hushd/plugins.d/hanging.py", line \d+ in stand_still', said)


def test_a_process_that_stands_still_is_taken_down(service):
    service.drop_in(HASTY)
    service.do("start")
    service.machine.run("systemctl", "kill", "--signal=STOP", UNIT)
    service.restarted(1)
    assert "Watchdog timeout" in service.said()
    assert service.status()["state"]  # it answers


# -- shut in -------------------------------------------------------------------------------


def test_its_user_exists_only_while_it_runs_and_owns_what_it_writes(service):
    service.do("start")
    service.publish("80", "80", "80")
    service.tells("loud raised attic")
    pid = service.show("MainPID")
    user = service.machine.path(f"/proc/{pid}").stat().st_uid
    assert 61184 <= user <= 65519  # the range that systemd lends from
    state = service.machine.path(STATE)
    assert state.stat().st_mode & 0o777 == 0o700
    owners = {path.stat().st_uid for path in (state, *state.rglob("*"))}
    assert owners == {user}
    assert {path.stat().st_mode & 0o077 for path in state.rglob("*")} == {0}
    assert service.inside("touch", f"{STATE}/here").returncode == 0
    for elsewhere in ("/etc/hushd/here", "/usr/here", "/var/lib/here"):
        assert service.inside("touch", elsewhere).returncode != 0, elsewhere
        done = service.inside("touch", elsewhere, root=True)  # not for want of rights alone
        assert "Read-only file system" in done.stderr, elsewhere
    assert service.inside("ls", "/root").returncode != 0


def test_a_secret_is_used_and_nobody_else_can_read_it(service):
    secret = "correct horse battery staple"
    machine = service.machine
    machine.write("/etc/hushd/secrets/mqtt", secret, 0o600)
    machine.write(
        "/etc/mosquitto/closed.conf",
        "listener 1884 127.0.0.1\npassword_file /etc/mosquitto/closed.pw\nuser mosquitto\n",
    )
    machine.run("mosquitto_passwd", "-c", "-b", "/etc/mosquitto/closed.pw", "hushd", secret)
    machine.run("chown", "mosquitto", "/etc/mosquitto/closed.pw")
    closed = ["mosquitto", "-c", "/etc/mosquitto/closed.conf"]
    machine.run("systemd-run", "--unit=closed", *closed)
    service.configure(
        CONFIG.replace(
            "host: 127.0.0.1",
            "host: 127.0.0.1, port: 1884, username: hushd, password: {credential: mqtt}",
        )
    )
    service.do("start")
    machine.eventually(lambda: service.status()["broker"]["connected"])
    assert "Permission denied" in service.inside("cat", "/etc/hushd/secrets/mqtt").stderr
    handed = f"/run/credentials/{UNIT}/secrets_mqtt"
    assert service.inside("cat", handed).stdout == secret
    assert "not authorised" not in service.said()
    assert secret not in service.said() + json.dumps(service.status())

    machine.write("/etc/hushd/secrets/mqtt", "incorrect", 0o600)
    service.do("restart")
    machine.eventually(lambda: service.status()["broker"]["refused"] or "refused" in service.said())
    assert not service.status()["broker"]["connected"]
    machine.run("systemctl", "stop", "closed")


def test_running_it_exposes_little(service):
    service.do("start")
    judged = service.machine.run("systemd-analyze", "security", "--no-pager", UNIT)
    exposure = re.search(rf"exposure level for {UNIT}: ([\d.]+)", judged)
    assert exposure is not None
    assert float(exposure[1]) <= 1.2


def test_with_the_drop_in_of_the_docs_it_talks_to_its_own_network_only(service):
    documented = (REPO / "systemd/README.md").read_text()
    (drop_in,) = re.findall(r"```ini\n(.*?)```", documented, re.DOTALL)
    service.drop_in(drop_in)
    machine = service.machine
    machine.run("ip", "address", "add", "203.0.113.1/32", "dev", "lo")
    machine.write("/etc/mosquitto/abroad.conf", "listener 1885 203.0.113.1\nallow_anonymous true\n")
    machine.run("systemd-run", "--unit=abroad", "mosquitto", "-c", "/etc/mosquitto/abroad.conf")
    abroad = CONFIG.replace("host: 127.0.0.1", "host: 203.0.113.1, port: 1885")
    service.configure(abroad)
    service.do("start")
    machine.eventually(lambda: service.journal("HUSHD_EVENT=mqtt.unreachable"))
    assert not service.status()["broker"]["connected"]
    service.configure(CONFIG)
    service.do("reload")
    service.publish("80", "80", "80")
    service.tells("loud raised attic")
    assert service.journal("HUSHD_EVENT=mqtt.connected", "HUSHD_BROKER=203.0.113.1:1885") == []

    service.machine.run("rm", f"/etc/systemd/system/{UNIT}.d/override.conf")
    service.machine.run("systemctl", "daemon-reload")
    service.configure(abroad)
    service.do("restart")
    machine.eventually(lambda: service.status()["broker"]["connected"])  # it was the drop-in
    machine.run("systemctl", "stop", "abroad")


def test_its_journal_can_be_searched_by_what_happened(service):
    service.do("start")
    service.publish("80", "80", "80")
    service.publish("80", "80", "80", room="hall")
    service.tells("loud raised attic", "loud raised hall")
    service.publish("not a number")
    service.machine.eventually(lambda: service.journal("HUSHD_SENSOR=noise"))
    (refused,) = service.journal("HUSHD_SENSOR=noise")
    assert refused["HUSHD_TOPIC"] == "home/attic/noise"
    assert refused["PRIORITY"] == "4"
    changed = service.journal("HUSHD_EVENT=alert.changed", "HUSHD_RULE=loud")
    rooms = [json.loads(entry["HUSHD_LABELS"])["room"] for entry in changed]
    assert rooms == ["attic", "hall"]
    assert service.journal("HUSHD_RULE=quiet") == []


def test_killed_it_knows_what_was_on_and_tells_nobody_twice(service):
    service.drop_in(HASTY)
    service.do("start")
    service.publish("80", "80", "80")
    service.tells("loud raised attic")
    service.publish("80", "80", room="hall")
    service.machine.run("systemctl", "kill", "--signal=KILL", UNIT)
    service.restarted(1)
    shown = service.machine.run("hushd", "status")
    assert "firing(warning)  loud room=attic" in shown  # before anything new has come
    service.publish("80")
    service.publish("80", room="hall")  # the third, for a window that was kept
    service.tells("loud raised attic", "loud raised hall")
    service.publish("60")
    service.tells("loud raised attic", "loud raised hall", "loud cleared attic")
