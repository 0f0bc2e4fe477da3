"""A real systemd for tests: process 1 of namespaces of its own, over a throw-away copy of ``/``.

The copy is an overlay: the machine's own files below, all that is written in memory above.
Processes, mounts, network, host name and control groups are its own, too, so nothing in
there can touch what is outside, and all of it is gone when its process 1 is killed.  What
is inside is reached through ``nsenter``, and its files through ``/proc/PID/root``.

It needs root, a mounted cgroup2 hierarchy and systemd's program; systemd need not run
outside.  Limits such as ``MemoryMax=`` are not enforced where their controllers are in a
version 1 hierarchy.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

SYSTEMD = Path("/lib/systemd/systemd")

#: namespaces that the machine has to itself
APART = ["--pid", "--fork", "--kill-child", "--mount", "--cgroup", "--uts", "--ipc", "--net"]

#: The first words of process 1: make the copy, give it what a kernel would, become systemd.
#: That its mounts are shared is what LoadCredential= relies on.
BOOT = """
set -e
read -r pid rest < /proc/self/stat  # as the outside calls it
mount -t tmpfs -o size=1g tmpfs "$FOLDER"
mkdir "$FOLDER/upper" "$FOLDER/work" "$FOLDER/root"
root="$FOLDER/root"
mount -t overlay -o "lowerdir=/,upperdir=$FOLDER/upper,workdir=$FOLDER/work" overlay "$root"
ip link set lo up
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for name in null zero full random urandom tty; do
    touch "$root/dev/$name"
    mount --bind "/dev/$name" "$root/dev/$name"
done
ln -s /proc/self/fd "$root/dev/fd"
ln -s fd/0 "$root/dev/stdin"
ln -s fd/1 "$root/dev/stdout"
ln -s fd/2 "$root/dev/stderr"
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
echo "$pid" > "$FOLDER.pid"
cd "$root"
pivot_root . mnt
umount --lazy /mnt
mount --make-rshared /
rm -f /usr/sbin/policy-rc.d  # here, packages may start their services
exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb \\
    "$SYSTEMD" --unit=basic.target --log-target=journal --show-status=0
"""

#: what has to work before it is worth a try, each step with its own complaint
TRIAL = """
mount -t tmpfs tmpfs /mnt && mkdir /mnt/upper /mnt/work /mnt/root &&
mount -t overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work overlay /mnt/root
"""


def missing() -> str:
    """Say why there can be no machine here; an empty text if there can."""
    if os.geteuid() != 0:
        return "a systemd of our own takes root"
    if not SYSTEMD.exists():
        return f"{SYSTEMD} is missing: apt-get install systemd"
    for program in ("unshare", "nsenter", "setpriv", "pivot_root", "ip"):
        if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") is None:
            return f"{program} is missing"
    if _cgroups() is None:
        return "no cgroup2 hierarchy is mounted in which a group could be made"
    command = ["unshare", *APART, "sh", "-c", TRIAL]
    tried = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    return f"no namespaces or no overlays: {tried.stderr.strip()}" if tried.returncode else ""


def need() -> None:
    """Skip a test where there can be no machine, but let CI not do so where it is root."""
    if why := missing():
        if os.environ.get("CI") == "true" and os.geteuid() == 0:
            pytest.fail(why, pytrace=False)
        pytest.skip(why)


class Machine:
    """A running systemd and what may be done with it."""

    def __init__(self, pid: int) -> None:
        self.root = Path(f"/proc/{pid}/root")
        self._enter = ["nsenter", "-t", str(pid), "-p", "-m", "-C", "-u", "-i", "-n", "--"]
        self._enter += ["env", "-i", "PATH=/usr/local/bin:/usr/sbin:/usr/bin", "LANG=C.UTF-8"]

    def try_to(
        self, *command: str, stdin: str = "", timeout: float = 60
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in there; whether it succeeds is the caller's business."""
        return subprocess.run(
            [*self._enter, *command],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )

    def run(self, *command: str, stdin: str = "", timeout: float = 60) -> str:
        """Run a command in there that must succeed; return what it prints."""
        done = self.try_to(*command, stdin=stdin, timeout=timeout)
        assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"
        return done.stdout

    def path(self, name: str) -> Path:
        """Return where the outside finds a file of the machine."""
        return self.root / name.lstrip("/")

    def put(self, source: Path, name: str) -> None:
        """Copy a file, or what is in a folder, to where the machine calls it *name*."""
        what = f"{source}/." if source.is_dir() else str(source)
        subprocess.run(["cp", "--archive", what, self.path(name)], check=True)

    def write(self, name: str, text: str, mode: int = 0o644) -> None:
        """Write a file in there, and make the folders for it."""
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)

    def show(self, unit: str, name: str) -> str:
        """Return a property of a unit."""
        return self.run("systemctl", "show", unit, "--property", name, "--value").strip()

    def journal(self, *matches: str) -> list[dict[str, Any]]:
        """Return the entries of the journal that match, oldest first."""
        self.run("journalctl", "--sync")
        lines = self.run("journalctl", "-o", "json", "--no-pager", *matches).splitlines()
        return [json.loads(line) for line in lines]

    def eventually(self, found: Any, seconds: float = 30, what: str = "") -> Any:
        """Return what *found* returns as soon as that is true; else show the journal's end."""
        until = monotonic() + seconds
        while not (value := found()):
            if monotonic() > until:
                end = self.run("journalctl", "--no-pager", "-n", "40")
                raise AssertionError(f"{what or 'it did not come about'}\n{end}")
            sleep(0.1)
        return value


@contextmanager
def machine(folder: Path) -> Iterator[Machine]:
    """Boot a systemd in a new *folder*, and take it away again with everything it runs."""
    folder.mkdir(exist_ok=True)
    group = _cgroups()
    assert group is not None, missing()
    group /= f"hushd-test-{os.getpid()}-{folder.name}"
    group.mkdir()
    said = folder.with_name(f"{folder.name}.log")
    environment = os.environ | {
        "FOLDER": str(folder),
        "SYSTEMD": str(SYSTEMD),
        "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin",
    }
    # it enters its group before the group becomes the root of its namespace, and does not
    # outlive who started it
    enter = f'echo $$ > "{group}/cgroup.procs"; exec setpriv --pdeathsig KILL unshare "$@"'
    with said.open("wb") as log:
        outer = subprocess.Popen(
            ["sh", "-c", enter, "sh", *APART, "--propagation=private", "bash", "-c", BOOT],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
        )
    try:
        yield _booted(outer, folder, said)
    finally:
        outer.kill()  # --kill-child: process 1 goes with it, and all others go with that
        outer.wait(10)
        _remove(group)


def _booted(outer: subprocess.Popen[bytes], folder: Path, said: Path) -> Machine:
    number = folder.with_name(f"{folder.name}.pid")
    until = monotonic() + 60
    state = "no process 1"
    while monotonic() < until and outer.poll() is None:
        if number.exists() and (text := number.read_text().strip()):
            new = Machine(int(text))
            state = new.try_to("systemctl", "is-system-running").stdout.strip()
            if state in {"running", "degraded"}:
                return new
        sleep(0.05)
    raise AssertionError(f"systemd does not come up: {state}; {said.read_text()}")


def _cgroups() -> Path | None:
    """Return where the cgroup2 hierarchy is mounted and may be written to."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, where, kind, *_ = line.split()
        if kind == "cgroup2" and os.access(where, os.W_OK):
            return Path(where)
    return None


def _remove(group: Path) -> None:
    """Remove a control group and those below, as soon as the dead have left them."""
    until = monotonic() + 10
    while group.exists() and monotonic() < until:
        for folder, _, _ in os.walk(group, topdown=False):
            with suppress(OSError):
                Path(folder).rmdir()
        sleep(0.02)
    assert not group.exists(), f"{group} is still in use"
