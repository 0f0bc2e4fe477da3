"""Real counterparts on the loopback interface: a broker, an HTTP server, the daemon itself."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from canaries import MARK
from fault_proxy import FaultProxy
from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion

HUSHD = Path(sys.executable).parent / "hushd"


def eventually(condition: Callable[[], Any], seconds: float = 15, what: str = "") -> Any:
    until = monotonic() + seconds
    while not (found := condition()):
        assert monotonic() < until, what or "it did not come about"
        sleep(0.01)
    return found


class Mosquitto:
    """Debian's mosquitto with a configuration of our own; may be stopped and started again."""

    def __init__(self, folder: Path, *lines: str) -> None:
        found = shutil.which("mosquitto", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
        if found is None:
            pytest.fail("mosquitto is missing: apt-get install mosquitto", pytrace=False)
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        self._program = found
        self._config = folder / f"mosquitto-{self.port}.conf"
        self._child: subprocess.Popen[bytes] | None = None
        settings = [
            f"listener {self.port} 127.0.0.1",
            "set_tcp_nodelay true",
            "max_queued_messages 500000",
            "max_inflight_messages 1000",
            *(lines or ["allow_anonymous true"]),
        ]
        if os.geteuid() == 0:
            settings.append("user root")  # else it could not read our folder
        self._config.write_text("\n".join(settings) + "\n")

    def start(self) -> "Mosquitto":
        self._child = subprocess.Popen(
            [self._program, "-c", self._config],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        eventually(self._listens, what="mosquitto does not listen")
        return self

    def stop(self) -> None:
        if self._child is not None:
            self._child.terminate()
            self._child.wait(10)
            self._child = None

    def publish(
        self, messages: Iterable[tuple[str, str]], *, retain: bool = False, qos: int = 1
    ) -> None:
        """Publish and return when the broker has them all."""
        client = paho.Client(CallbackAPIVersion.VERSION2)
        client.max_inflight_messages_set(1000)
        client.connect("127.0.0.1", self.port)
        client.loop_start()
        info = None
        for n, (topic, payload) in enumerate(messages, 1):
            info = client.publish(topic, payload, qos=qos, retain=retain)
            if n % 5000 == 0:
                info.wait_for_publish(60)  # paho keeps no more than 65535 waiting
        if info is not None:
            info.wait_for_publish(120)
        client.disconnect()
        client.loop_stop()

    def _listens(self) -> bool:
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


class Receiver(ThreadingHTTPServer):
    """Keeps what is posted to it; answers with ``status``."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.status = 200
        self.refused = 0
        self.notes: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/alerts"


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.server.status == 200:
            self.server.notes.append(body)
        else:
            self.server.refused += 1
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  http.server's
        pass


class Daemon:
    """``hushd run`` as a process; its log is JSON, as it is not on a terminal."""

    def __init__(
        self,
        folder: Path,
        config: str,
        command: Sequence[str | Path] = (),
        **environment: str,
    ) -> None:
        self.folder = folder
        self.config = folder / "hushd.yaml"
        self.config.write_text(config)
        self._log = folder / "log.jsonl"
        with self._log.open("wb") as log:
            self.child = subprocess.Popen(
                command or [HUSHD, "run", "-c", self.config],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env=os.environ | {"XDG_RUNTIME_DIR": str(folder)} | environment,
            )

    @property
    def log(self) -> list[dict[str, Any]]:
        lines = self._log.read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def logged(self, event: str, **fields: Any) -> list[dict[str, Any]]:
        return [
            line for line in self.log if line["event"] == event and fields.items() <= line.items()
        ]

    def wait_for(self, event: str, times: int = 1, **fields: Any) -> list[dict[str, Any]]:
        def there() -> list[dict[str, Any]] | None:
            assert self.child.poll() is None, self._log.read_text()
            found = self.logged(event, **fields)
            return found if len(found) >= times else None

        found: list[dict[str, Any]] = eventually(there, 120, f"no {event} in {self.log}")
        return found

    def stop(self, signum: int = signal.SIGTERM) -> int:
        if self.child.poll() is None:
            self.child.send_signal(signum)
        out, _ = self.child.communicate(timeout=20)
        assert out == b""  # standard output is not for logs
        assert MARK not in self._log.read_text()  # of a secret, whatever the test is about
        return self.child.returncode

    def kill(self) -> None:
        if self.child.poll() is None:
            self.child.kill()
            self.child.communicate()


@pytest.fixture
def mosquitto(tmp_path) -> Iterator[Callable[..., Mosquitto]]:
    """Return a function that makes a broker, not yet started; *lines* are its configuration."""
    with ExitStack() as stack:

        def make(*lines: str) -> Mosquitto:
            broker = Mosquitto(tmp_path, *lines)
            stack.callback(broker.stop)
            return broker

        yield make


@pytest.fixture
def proxy() -> Iterator[Callable[..., FaultProxy]]:
    """Return a function that puts a proxy in front of a port."""
    with ExitStack() as stack:

        def make(port: int, *, old: bool = False) -> FaultProxy:
            between = FaultProxy(port, old=old)
            stack.callback(between.close)
            return between

        yield make


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def run(tmp_path) -> Iterator[Callable[..., Daemon]]:
    """Return a function that runs the daemon with a configuration, in a folder for each."""
    with ExitStack() as stack:

        def start(config: str, folder: Path = tmp_path, **environment: str) -> Daemon:
            folder.mkdir(exist_ok=True)
            daemon = Daemon(folder, config, **environment)
            stack.callback(daemon.kill)
            return daemon

        yield start


@pytest.fixture(name="eventually")
def eventually_() -> Callable[..., Any]:
    """Return a function that waits for a condition, but not for ever."""
    return eventually
