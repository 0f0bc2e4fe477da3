"""A broker for the demo: mosquitto where it is installed, else the package iotcore.

Either runs as a child process on a free port of 127.0.0.1 and ends with us.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

HOST = "127.0.0.1"
START = 10.0  # seconds that a broker may take
SBIN = ("/usr/local/sbin", "/usr/sbin", "/sbin")  # where Debian keeps it; not on everybody's PATH

CONFIG = """\
listener {port} {host}
allow_anonymous true
persistence false
set_tcp_nodelay true
log_dest stderr
log_type error
log_type warning
"""


#: Runs "$@" until it or we are gone: however we end, reading from us comes to an end.
#: Started in a session of its own, so that Ctrl-C reaches us alone, and we end in order.
WARD = """
exec 3<&0
"$@" </dev/null &
child=$!
{ cat <&3; kill $child; } >/dev/null 2>&1 &
wait $child
"""


class Address(NamedTuple):
    """Where a broker listens, and which it is."""

    host: str
    port: int
    name: str


class NoBrokerError(Exception):
    """There is no broker to be had; the message says what to install."""


@contextmanager
def broker(
    which: Literal["mosquitto", "iotcore"] | None = None, *settings: str
) -> Iterator[Address]:
    """Run a broker for as long as the context lasts.

    Args:
        which: One of the two; None takes what is there, mosquitto first.
        settings: More lines for mosquitto's configuration.

    Raises:
        NoBrokerError: neither is installed, or it does not start.
    """
    program = shutil.which("mosquitto", path=os.pathsep.join([os.environ.get("PATH", ""), *SBIN]))
    if which == "mosquitto" or (which is None and program is not None):
        if program is None:
            raise NoBrokerError("mosquitto is not installed: apt-get install mosquitto")
        with _mosquitto(program, settings) as address:
            yield address
    else:
        with _iotcore() as address:
            yield address


def free_port() -> int:
    """Return a port of the loopback interface that nobody uses now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def _mosquitto(program: str, settings: Sequence[str]) -> Iterator[Address]:
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="hushd-") as folder:
        path = Path(folder, "mosquitto.conf")
        lines = [CONFIG.format(port=port, host=HOST), *settings, ""]
        path.write_text("\n".join(lines), encoding="utf-8")
        Path(folder).chmod(0o755)  # started by root it changes to its own user, then reads it
        child = subprocess.Popen(  # noqa: S603  a program we looked up, with our own file
            ["/bin/sh", "-c", WARD, "ward", program, "-c", str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            _await(port, child)
            yield Address(HOST, port, "mosquitto")
        finally:
            try:
                child.communicate(timeout=5)  # closes what it waits at
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.communicate()


def _await(port: int, child: "subprocess.Popen[bytes]") -> None:
    """Return as soon as *child* listens."""
    until = time.monotonic() + START
    while time.monotonic() < until:
        if child.poll() is not None:
            said = child.stderr.read().decode(errors="replace").strip() if child.stderr else ""
            raise NoBrokerError(f"mosquitto ended at once: {said}")
        try:
            with socket.create_connection((HOST, port), timeout=1):
                return
        except OSError:
            time.sleep(0.02)
    raise NoBrokerError(f"mosquitto does not listen after {START:.0f} seconds")


@contextmanager
def _iotcore() -> Iterator[Address]:
    try:
        from iotcore import Broker  # noqa: PLC0415  an optional extra
    except ImportError:
        raise NoBrokerError(
            "the demo needs a broker: apt-get install mosquitto, or pip install 'hushd[demo]' "
            "(that is iotcore); or use yours: hushd demo --broker HOST"
        ) from None
    child = Broker(port=free_port(), listen=HOST)
    # the child inherits this, so that Ctrl-C reaches us alone: a little later, but it does
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        child.start(START)
    except (RuntimeError, OSError) as exc:
        raise NoBrokerError(f"iotcore does not start: {exc}") from exc
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    try:
        yield Address(HOST, child.port, "iotcore")
    finally:
        child.stop()
