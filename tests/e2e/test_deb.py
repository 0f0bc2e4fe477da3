"""The Debian package: built, installed, started, upgraded, removed and purged, under systemd."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import real_systemd
from real_service import CONFIG, STATE, UNIT, Service
from real_systemd import Machine

REPO = Path(__file__).resolve().parents[2]
LIBRARY = "/usr/lib/hushd"
LATER = "999"

pytestmark = pytest.mark.mosquitto


def built(folder: Path, **variables: str) -> Path:
    done = subprocess.run(
        ["make", "--no-print-directory", "deb"],
        cwd=REPO,
        env=os.environ | {"DEB_FOLDER": str(folder), "DEB_FLAGS": "-Zgzip -z1"} | variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return Path(done.stdout.split()[-1])


class Packages(NamedTuple):
    """Where a machine finds the package, and one that comes after it."""

    now: str
    later: str


@pytest.fixture(scope="module")
def machine(tmp_path_factory) -> Iterator[Machine]:
    """Boot a machine that has no hushd, but a broker."""
    real_systemd.need()
    if shutil.which("dpkg-deb") is None:
        pytest.skip("no Debian")
    with real_systemd.machine(tmp_path_factory.mktemp("machine") / "root") as booted:
        booted.run("systemctl", "start", "mosquitto")
        yield booted


@pytest.fixture(scope="module")
def packages(machine, tmp_path_factory) -> Packages:
    folder = tmp_path_factory.mktemp("packages")
    files = Packages("/tmp/now.deb", "/tmp/later.deb")
    machine.put(built(folder / "now"), files.now)
    machine.put(built(folder / "later", DEB_VERSION=LATER), files.later)
    return files


class Installed(Service):
    """hushd, as the package manager sees it."""

    def __init__(self, machine: Machine, package: str) -> None:
        super().__init__(machine, LIBRARY)
        self.first_words = self.dpkg("--install", package)

    def dpkg(self, *arguments: str) -> str:
        """Run dpkg, which must succeed; return what it and the package have to say."""
        done = self.machine.try_to("env", "DEBIAN_FRONTEND=noninteractive", "dpkg", *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def version(self) -> str:
        return self.machine.run("dpkg-query", "--show", "--showformat=${Version}", "hushd")

    def has(self, name: str) -> bool:
        return os.path.lexists(self.machine.path(name))


@pytest.fixture
def hushd(machine, packages) -> Iterator[Installed]:
    """Return hushd, freshly installed, with the sample of a configuration."""
    new = Installed(machine, packages.now)
    yield new
    new.dpkg("--purge", "hushd")
    machine.run("rm", "-rf", "/etc/hushd")  # what a test has put there


def written(machine: Machine) -> set[str]:
    """Return the names of all files, but for those that systemd and dpkg write for anybody."""
    found = machine.run("find", "/etc", "/usr", "/var", "/opt", "/run", "-xdev")
    for_anybody = (
        "/run/systemd/",
        "/var/lib/dpkg/",
        "/var/lib/systemd/",
        "/var/log/journal/",
        "/var/tmp/systemd-private-",
    )
    return {name for name in found.splitlines() if not name.startswith(for_anybody)}


def test_it_waits_for_a_configuration_and_starts_with_it(hushd):
    assert "write /etc/hushd/hushd.yaml, then: systemctl start hushd" in hushd.first_words
    assert hushd.show("UnitFileState") == "enabled"
    assert hushd.show("ActiveState") == "inactive"
    assert hushd.dpkg("--verify", "hushd") == ""  # each file is as the package has it
    traces = hushd.machine.try_to("grep", "-rl", "hushd-deb", LIBRARY).stdout
    assert traces == "", "it speaks of where it was built"
    assert hushd.machine.path("/etc/hushd/secrets").stat().st_mode & 0o777 == 0o700

    snippet = "/usr/share/doc/hushd/examples/mosquitto/hushd.conf"
    hushd.machine.run("cp", snippet, "/etc/mosquitto/conf.d/")
    hushd.machine.run("systemctl", "restart", "mosquitto")
    hushd.configure(CONFIG)
    hushd.do("start")
    hushd.publish("80", "80", "80")
    hushd.tells("loud raised attic")
    shown = hushd.machine.run("hushd", "status")
    assert "firing(warning)  loud room=attic: 80, limit 70" in shown
    compiled = hushd.machine.run("find", LIBRARY, "-name", "daemon.*.pyc")
    assert compiled, "each start would compile all of it"


def test_an_upgrade_keeps_configuration_and_state_and_starts_it_anew(hushd, packages):
    hushd.configure(CONFIG)
    hushd.do("start")
    hushd.publish("80", "80", "80")
    hushd.tells("loud raised attic")
    before = hushd.show("MainPID")

    hushd.dpkg("--install", packages.later)
    assert hushd.version() == LATER
    assert hushd.show("ActiveState") == "active"
    assert hushd.show("MainPID") != before
    assert hushd.machine.path("/etc/hushd/hushd.yaml").read_text() == CONFIG
    assert "firing(warning)  loud room=attic" in hushd.machine.run("hushd", "status")
    hushd.publish("80", "80", "80", room="hall")
    hushd.tells("loud raised attic", "loud raised hall")
    hushd.publish("60")
    hushd.tells("loud raised attic", "loud raised hall", "loud cleared attic")


def test_an_upgrade_takes_no_daemon_down_for_a_configuration_that_is_not_sound(hushd, packages):
    hushd.configure(CONFIG)
    hushd.do("start")
    before = hushd.show("MainPID")
    hushd.configure(CONFIG.replace("above: 70", "abve: 70"))
    said = hushd.dpkg("--install", packages.later)
    assert 'did you mean "above"' in said
    assert "not started anew" in said
    assert (hushd.show("ActiveState"), hushd.show("MainPID")) == ("active", before)
    hushd.publish("80", "80", "80")
    hushd.tells("loud raised attic")


def test_whoever_switched_it_off_finds_it_off_after_an_upgrade(hushd, packages):
    hushd.configure(CONFIG)
    hushd.machine.run("systemctl", "disable", "--now", UNIT)
    hushd.dpkg("--install", packages.later)
    assert (hushd.show("UnitFileState"), hushd.show("ActiveState")) == ("disabled", "inactive")


def test_a_plugin_of_the_configuration_never_runs_as_root_during_an_upgrade(hushd, packages):
    hushd.machine.write(
        "/etc/hushd/plugins.d/who.py",
        "import os, sys\nprint('I am', os.geteuid(), os.getegid(), os.getgroups(), file=sys.stderr)\n",
    )
    hushd.configure(CONFIG.replace("sensors:", "plugins: {directory: plugins.d}\nsensors:"))
    said = hushd.dpkg("--install", packages.later)
    assert "I am 65534 65534 []" in said
    assert hushd.show("ActiveState") == "active"


def test_removed_it_leaves_what_was_written_and_purged_it_leaves_nothing(machine, packages):
    before = written(machine)
    hushd = Installed(machine, packages.now)
    hushd.configure(CONFIG)
    machine.write("/etc/hushd/secrets/mqtt", "secret", 0o600)
    hushd.do("start")
    hushd.publish("80", "80", "80")
    hushd.tells("loud raised attic")

    hushd.dpkg("--remove", "hushd")
    assert hushd.show("ActiveState") == "inactive"
    assert not hushd.has(LIBRARY)
    assert not hushd.has("/usr/bin/hushd")
    assert hushd.told() == ["loud raised attic"]
    assert hushd.has("/etc/hushd/secrets/mqtt")
    hushd.dpkg("--install", packages.now)
    assert hushd.show("ActiveState") == "active"  # as before

    hushd.dpkg("--purge", "hushd")
    assert written(machine) == before
    assert not hushd.has(STATE)
    hushd.dpkg("--purge", "hushd")  # once more is once too often, and no fault
