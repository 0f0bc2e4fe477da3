"""Who a daemon has to do with: a broker that keeps what it has, and a sensor that speaks."""

import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion
from waiting import eventually

from torture.story import TOPIC, Said

#: of the settings that make the promise hold; saves so often that a test need not wait
SETTINGS = """\
listener {port} 127.0.0.1
allow_anonymous true
persistence true
persistence_location {folder}/
autosave_interval 1
max_queued_messages 500000
max_inflight_messages 1000
set_tcp_nodelay true
"""


class Broker:
    """A mosquitto that keeps sessions over a restart."""

    def __init__(self, folder: Path) -> None:
        found = shutil.which("mosquitto", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
        if found is None:
            pytest.fail("mosquitto is missing: apt-get install mosquitto", pytrace=False)
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port: int = probe.getsockname()[1]
        self._program = found
        self._config = folder / "mosquitto.conf"
        settings = SETTINGS.format(port=self.port, folder=folder)
        if os.geteuid() == 0:
            settings += "user root\n"  # else it could not write to our folder
        self._config.write_text(settings)
        self._child: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start it, and return once it listens."""
        self._child = subprocess.Popen(
            [self._program, "-c", self._config],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        eventually(self._listens, what="mosquitto does not listen")

    def stop(self) -> None:
        """End it in order: it writes down what it holds."""
        if self._child is not None:
            with suppress(ProcessLookupError):
                self._child.send_signal(signal.SIGTERM)
            self._child.wait(20)
            self._child = None

    def kill(self) -> None:
        """End it without a word: what it had not written down is gone."""
        assert self._child is not None
        self._child.kill()
        self._child.wait(20)
        self._child = None

    def _listens(self) -> bool:
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


class Sensor:
    """Publishes at QoS 1, straight to the broker, and remembers in which order.

    While the broker restarts it keeps quiet, with nothing unanswered: what is published
    twice because an answer was lost is nobody's fault and would blur what is tested.
    """

    def __init__(self, port: int, sayings: Iterator[Said], rate: float) -> None:
        self.said: list[Said] = []
        self._sayings = sayings
        self._pause = 1 / rate
        self._port = port
        self._talking = threading.Event()
        self._over = threading.Event()
        self._turn = threading.Lock()
        self._client: paho.Client | None = None
        self._connect()
        self._thread = threading.Thread(target=self._talk, daemon=True)
        self._thread.start()

    def speak(self) -> None:
        """Begin, or go on."""
        if self._client is None:
            self._connect()
        self._talking.set()

    def hush(self) -> None:
        """Keep quiet, and return once the broker has all that was said."""
        self._talking.clear()
        with self._turn:
            if self._client is None:
                return
            eventually(lambda: not self._client._out_messages, 30, "the broker does not answer")  # type: ignore[union-attr]  # set above
            self._client.disconnect()
            self._client.loop_stop()
            self._client = None

    def speak_last(self, said: Said) -> None:
        """Say a last thing, and return when the broker has it."""
        self._connect()
        assert self._client is not None
        self._say(self._client, said).wait_for_publish(30)

    def close(self) -> None:
        """End."""
        self._over.set()
        self._talking.set()
        self._thread.join(10)
        if self._client is not None:
            self._client.disconnect()
            self._client.loop_stop()

    def _connect(self) -> None:
        client = paho.Client(CallbackAPIVersion.VERSION2)
        client.max_inflight_messages_set(500)
        client.connect("127.0.0.1", self._port)
        client.loop_start()
        self._client = client

    def _talk(self) -> None:
        for said in self._sayings:
            self._talking.wait()
            if self._over.wait(self._pause):
                return
            with self._turn:
                if self._talking.is_set() and self._client is not None:
                    self._say(self._client, said)

    def _say(self, client: paho.Client, said: Said) -> paho.MQTTMessageInfo:
        self.said.append(said)
        return client.publish(TOPIC.format(said.room), f"{said.value:g}", qos=1)
