"""The daemon as a service: asked, reloaded, watched over, and with a log that nobody reads."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import sysconfig
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

REPO = Path(__file__).resolve().parents[2]
HUSHD = Path(sys.executable).parent / "hushd"
UNIT = REPO / "systemd/hushd.service"

CONFIG = """\
version: 1
mqtt: {{host: 127.0.0.1, port: {port}}}
sensors:
  heat: {{topic: "home/{{room}}/heat"}}
  noise: {{topic: "home/{{room}}/noise"}}
notifiers:
  evidence: {{type: journal, path: evidence.jsonl}}
rules:
  hot: {{watch: heat, measure: min, over: 3 samples, min_samples: 3, warning: {{above: 30}}, notify: [evidence]}}
  loud: {{watch: noise, measure: min, over: 3 samples, min_samples: 3, warning: {{above: 70}}, notify: [evidence]}}
"""
NOWHERE = CONFIG.format(port=9)


def hushd(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [HUSHD, *arguments],
        cwd=folder,
        env=os.environ | {"XDG_RUNTIME_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def status(folder: Path) -> dict[str, Any]:
    done = hushd(folder, "status", "--json", "-c", "hushd.yaml")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def raised(folder: Path) -> list[str]:
    """Return what the rules told; hushd's own troubles depend on when it looks at itself."""
    path = folder / "evidence.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    told = [f"{r['rule']} {r['event']}" for r in map(json.loads, lines)]
    return [line for line in told if not line.startswith("internal/")]


# -- asked and reloaded ----------------------------------------------------------------


@pytest.mark.mosquitto
@pytest.mark.parametrize("by", ["command", "signal"])
def test_w60_a_reload_keeps_windows_and_w58_a_bad_one_changes_nothing(
    by, mosquitto, run, tmp_path, eventually
):
    broker = mosquitto().start()
    config = CONFIG.format(port=broker.port)
    daemon = run(config)
    daemon.wait_for("mqtt.connected")
    broker.publish([("home/attic/heat", "40"), ("home/attic/noise", "80")] * 2)
    eventually(lambda: status(tmp_path)["readings"]["accepted"] == 4)

    def reload(event: str) -> None:
        if by == "signal":
            daemon.child.send_signal(signal.SIGHUP)
            daemon.wait_for(event)
            return
        done = hushd(tmp_path, "reload", "-c", "hushd.yaml")
        assert done.returncode == {"config.reloaded": 0, "config.refused": 78}[event]
        assert ('did you mean "above"' in done.stderr) == (event == "config.refused")

    daemon.config.write_text(config.replace("above: 70", "abve: 70"))
    reload("config.refused")
    assert hushd(tmp_path, "check", "hushd.yaml").returncode == 78
    assert "not sound" in hushd(tmp_path, "status", "-c", "hushd.yaml").stdout
    daemon.config.write_text(
        config.replace("above: 70", "above: 75")
        .replace("rules:", "  spare: {type: log}\nrules:")
        .replace("sensors:", 'sensors:\n  dust: "home/{room}/dust"')
    )
    reload("config.reloaded")
    broker.publish([("home/attic/heat", "40"), ("home/attic/noise", "80")])
    eventually(lambda: raised(tmp_path) == ["hot raised", "loud raised"])
    eventually(lambda: broker_hands_on(broker, tmp_path))  # the new sensor is subscribed to
    assert len(daemon.logged("mqtt.connected")) == 1  # for which nobody hung up
    shown = hushd(tmp_path, "status", "-c", "hushd.yaml").stdout
    assert re.search(r"broker +127.0.0.1:\d+: connected, MQTT 5, for", shown)
    assert "firing(warning)  loud room=attic: 80, limit 75" in shown
    assert daemon.stop() == 0


def broker_hands_on(broker: Any, folder: Path) -> bool:
    before = status(folder)["readings"]["accepted"]
    broker.publish([("home/attic/dust", "1")])
    return bool(status(folder)["readings"]["accepted"] > before)


@pytest.mark.mosquitto
def test_a_reload_moves_to_another_broker(mosquitto, run, tmp_path, eventually):
    first, second = mosquitto().start(), mosquitto().start()
    daemon = run(CONFIG.format(port=first.port))
    daemon.wait_for("mqtt.connected")
    first.publish([("home/attic/heat", "40")] * 2)
    eventually(lambda: status(tmp_path)["readings"]["accepted"] == 2)
    daemon.config.write_text(CONFIG.format(port=second.port))
    assert hushd(tmp_path, "reload", "-c", "hushd.yaml").returncode == 0
    daemon.wait_for("mqtt.connected", times=2)
    second.publish([("home/attic/heat", "40")])
    eventually(lambda: raised(tmp_path) == ["hot raised"])
    assert status(tmp_path)["broker"]["port"] == second.port
    assert daemon.stop() == 0


def test_after_the_end_nobody_answers(run, tmp_path, eventually):
    daemon = run(NOWHERE)
    eventually(lambda: hushd(tmp_path, "status", "-c", "hushd.yaml").returncode == 0)
    assert daemon.stop() == 0
    done = hushd(tmp_path, "status", "-c", "hushd.yaml")
    assert done.returncode == 69
    assert "no daemon listens" in done.stderr
    assert list(tmp_path.glob("hushd/*")) == []


# -- systemd ---------------------------------------------------------------------------


class Systemd:
    """The service manager's end of the socket."""

    def __init__(self, folder: Path) -> None:
        self.way = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.address = f"@hushd-{os.getpid()}-{folder.name}"
        self.way.bind("\0" + self.address[1:])
        self.way.settimeout(20)

    def hears(self, word: str) -> list[str]:
        """Wait for a message with *word*; return its lines."""
        while True:
            lines = self.way.recv(1 << 16).decode().split("\n")
            if word in lines:
                return lines

    def silent_for(self, seconds: float) -> bool:
        """Wait until nothing was heard for so long; False if that does not come about."""
        until = monotonic() + 15
        self.way.settimeout(seconds)
        while monotonic() < until:
            try:
                self.way.recv(1 << 16)
            except TimeoutError:
                return True
        return False


@pytest.fixture
def systemd(tmp_path):
    manager = Systemd(tmp_path)
    yield manager
    manager.way.close()


def test_systemd_hears_of_its_whole_life(run, systemd, tmp_path):
    daemon = run(NOWHERE, NOTIFY_SOCKET=systemd.address, WATCHDOG_USEC="1500000")
    ready = systemd.hears("READY=1")  # though there is no broker
    assert ready[1].startswith("STATUS=0 series, 0 alerts on")
    assert "broker" in systemd.hears("WATCHDOG=1")[1]
    systemd.hears("WATCHDOG=1")
    assert hushd(tmp_path, "reload", "-c", "hushd.yaml").returncode == 0
    assert systemd.hears("RELOADING=1")[1].startswith("MONOTONIC_USEC=")
    systemd.hears("READY=1")
    daemon.child.send_signal(signal.SIGTERM)
    systemd.hears("STOPPING=1")
    assert daemon.child.wait(20) == 0
    daemon.stop()


HANGING = '''\
"""A decoder that never comes back."""

import threading

from hushd.plugin import Decoder, hookimpl


@hookimpl
def hushd_decoders():
    yield Decoder("hanging", "hangs", lambda _: lambda payload: threading.Event().wait())
'''


@pytest.mark.mosquitto
def test_a_loop_that_is_stuck_beats_no_more(mosquitto, run, systemd, tmp_path, eventually):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins/hanging.py").write_text(HANGING)
    broker = mosquitto().start()
    config = CONFIG.format(port=broker.port).replace(
        "version: 1", "version: 1\nplugins: {directory: plugins}"
    )
    config = config.replace('"home/{room}/heat"', '"home/{room}/heat", value: hanging')
    daemon = run(config, NOTIFY_SOCKET=systemd.address, WATCHDOG_USEC="1500000")
    daemon.wait_for("mqtt.connected")
    systemd.hears("WATCHDOG=1")
    broker.publish([("home/attic/heat", "40")])
    assert systemd.silent_for(3)
    daemon.kill()


def test_a_configuration_that_is_not_sound_is_78_and_no_start(run, systemd):
    daemon = run("version: 2\n", NOTIFY_SOCKET=systemd.address)
    assert daemon.child.wait(20) == daemon.stop() == 78
    assert systemd.silent_for(0.1)


def judged(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["systemd-analyze", *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except FileNotFoundError:
        pytest.fail("systemd-analyze is missing: apt-get install systemd", pytrace=False)


def test_systemd_finds_no_fault_in_the_unit(tmp_path):
    here = UNIT.read_text().replace("/opt/hushd/bin/hushd", str(HUSHD))
    (tmp_path / "hushd.service").write_text(here)
    done = judged("verify", "--man=no", str(tmp_path / "hushd.service"))
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_unit_exposes_little():
    done = judged("security", "--offline=true", "--threshold=12", str(UNIT))
    assert done.returncode == 0, done.stdout
    exposure = re.search(r"exposure level for hushd.service: ([\d.]+)", done.stdout)
    assert exposure is not None
    assert float(exposure[1]) <= 1.2


# -- a log that nobody reads --------------------------------------------------------------


def fill(pipe: int) -> None:
    """Write until there is no room: from now on, a write waits for ever."""
    os.set_blocking(pipe, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(pipe, b"x" * 65536)
    os.set_blocking(pipe, True)


@pytest.mark.mosquitto
@pytest.mark.parametrize("log", ["blocked", "closed", "full"])
def test_a_log_that_cannot_be_written_holds_nothing_up(log, mosquitto, tmp_path, eventually):
    broker = mosquitto().start()
    config = tmp_path / "hushd.yaml"
    config.write_text(CONFIG.format(port=broker.port) + "log: {level: debug}\n")
    reading, writing = os.pipe()
    if log == "full":
        os.close(writing)
        writing = os.open("/dev/full", os.O_WRONLY)
    elif log == "closed":
        os.close(reading)
    else:
        fill(writing)
    child = subprocess.Popen(
        [HUSHD, "run", "-c", config],
        cwd=tmp_path,
        stderr=writing,
        stdin=subprocess.DEVNULL,
        env=os.environ | {"XDG_RUNTIME_DIR": str(tmp_path)},
    )
    os.close(writing)
    try:
        eventually(lambda: list(tmp_path.glob("hushd/*.sock")))
        eventually(lambda: status(tmp_path)["broker"]["connected"])
        loud, quiet = ("home/attic/noise", "80"), ("home/attic/noise", "60")
        broker.publish(([loud] * 3 + [quiet] * 3) * 50)
        eventually(lambda: len(raised(tmp_path)) == 100)
        if log != "blocked":  # there, lines wait
            assert status(tmp_path)["log"]["dropped"] > 100
        began = monotonic()
        child.send_signal(signal.SIGTERM)
        assert child.wait(10) == 0
        assert monotonic() - began < 6
    finally:
        child.kill()
        child.wait()
        if log != "closed":
            os.close(reading)


# -- installed -------------------------------------------------------------------------


def make(*arguments: str) -> str:
    done = subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=REPO,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_is_installed_and_taken_away_again(tmp_path):
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=REPO, capture_output=True, check=True)
    wheel = next(tmp_path.glob("*.whl"))
    tree = tmp_path / "tree"
    install = [
        "install",
        f"DESTDIR={tree}",
        f"SOURCE={wheel}",
        "INSTALL_FLAGS=--no-index --no-deps",
    ]
    assert "systemctl enable --now hushd" in make(*install)

    assert (tree / "usr/local/bin/hushd").readlink() == Path("/opt/hushd/bin/hushd")
    assert (tree / "opt/hushd/bin/hushd").read_text().startswith("#!/opt/hushd/bin/python")
    unit = (tree / "usr/local/lib/systemd/system/hushd.service").read_text()
    assert "\nExecStart=/opt/hushd/bin/hushd run -c /etc/hushd/hushd.yaml\n" in unit
    etc = tree / "etc/hushd"
    assert (etc / "hushd.yaml").read_text() == (REPO / "config/hushd.yaml").read_text()
    assert (etc / "secrets").stat().st_mode & 0o777 == 0o700
    assert (etc / "hushd.yaml").stat().st_mode & 0o777 == 0o644
    (python,) = (tree / "opt/hushd/lib").glob("python3*")
    # the dependencies, as this environment has them
    (python / "site-packages/more.pth").write_text(sysconfig.get_path("purelib") + "\n")
    said = subprocess.run(
        [tree / "opt/hushd/bin/python", "-m", "hushd", "--version"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert said.stdout.startswith("hushd ")

    (etc / "hushd.yaml").write_text("version: 1\n")
    make(*install, "VENV=/srv/hushd")  # again, and elsewhere
    assert (etc / "hushd.yaml").read_text() == "version: 1\n"  # what was written there stays
    unit = (tree / "usr/local/lib/systemd/system/hushd.service").read_text()
    assert "\nExecReload=/srv/hushd/bin/hushd reload -c /etc/hushd/hushd.yaml\n" in unit

    make("uninstall", f"DESTDIR={tree}", "VENV=/srv/hushd")
    make("uninstall", f"DESTDIR={tree}")
    left = {str(path.relative_to(tree)) for path in tree.rglob("*") if not path.is_dir()}
    assert left == {"etc/hushd/hushd.yaml", "etc/hushd/hushd.schema.json"}
