"""Networks and brokers that fail: each heals, or what is wrong is said; no thread dies."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import pytest
from certificates import Authority
from waiting import Diary, eventually

from hushd.config.records import Mqtt, Tls
from hushd.runtime.connection import Pauses
from hushd.runtime.inbox import Inbox
from hushd.runtime.messages import Dropped, Message
from hushd.runtime.mqtt import MqttSource
from hushd.runtime.publisher import Publisher
from hushd.runtime.redelivery import Ring
from hushd.runtime.sessions import Memory

pytestmark = pytest.mark.mosquitto

HUSHD = Path(sys.executable).parent / "hushd"

CONFIG = """\
version: 1
mqtt: {{host: {host}, port: {port}, keepalive: 60s}}
sensors:
  noise: {{topic: "home/{{room}}/noise"}}
notifiers:
  evidence: {{type: journal, path: evidence.jsonl}}
rules:
  loud: {{watch: noise, measure: last, warning: {{above: 70}}, notify: [evidence]}}
"""

QUICK = Pauses(first=0.05, longest=0.2, refused=0.1)


class Ear(NamedTuple):
    """A source in this process."""

    source: MqttSource
    inbox: Inbox
    diary: Diary

    def hears(self, broker: Any, payload: str) -> None:
        """Say that a message published at *broker* comes here."""
        broker.publish([("home/attic/noise", payload)])
        eventually(lambda: payload.encode() in [m.payload for m in self._taken()])

    def takes(self, number: int) -> list[Message]:
        """Return so many messages."""
        heard: list[Message] = []
        eventually(lambda: heard.extend(self._taken()) or len(heard) >= number)
        return heard

    def _taken(self) -> list[Message]:
        event = self.inbox.take(0.1)
        return event if isinstance(event, list) else []

    @property
    def sound(self) -> bool:
        connection = self.source._connection
        return connection.alive and not connection.failures and not self.source.failures


@pytest.fixture
def listen() -> Iterator[Callable[..., Ear]]:
    """Return a function that makes a source."""
    with ExitStack() as stack:

        def make(
            port: int,
            *,
            filters: tuple[str, ...] = ("home/#",),
            host: str = "localhost",
            memory: Path | None = None,
            **more: Any,
        ) -> Ear:
            inbox, diary = Inbox(1000), Diary()
            source = MqttSource(
                Mqtt(host, port, keepalive=2 * 10**9, **more),
                filters,
                inbox,
                diary,
                client_id="hushd-test",
                memory=Memory(memory, "hushd-test", diary),
                waiting=1000,
                pauses=QUICK,
            )
            source.start()
            stack.callback(source.stop)
            return Ear(source, inbox, diary)

        yield make


# -- the network ---------------------------------------------------------------------------


@pytest.mark.parametrize("old", [False, True], ids=["5", "3.1.1"])
def test_half_open_connections_heal(old, mosquitto, proxy, listen):
    broker = mosquitto().start()
    between = proxy(broker.port, old=old)
    ear = listen(between.port)
    ear.diary.wait_for("mqtt.connected")
    between.mode = "hole"
    began = monotonic()
    ear.diary.wait_for("mqtt.disconnected")
    assert monotonic() - began < 5  # two keepalives, and a second
    broker.publish([("home/attic/noise", "meanwhile")])
    between.mode = "pass"
    eventually(lambda: b"meanwhile" in [m.payload for m in ear._taken()])
    assert ear.sound


def test_connections_that_are_torn_down_are_made_again(mosquitto, proxy, listen):
    broker = mosquitto().start()
    between = proxy(broker.port)
    ear = listen(between.port)
    for n in range(1, 4):
        ear.diary.wait_for("mqtt.connected", times=n)
        ear.hears(broker, f"message {n}")
        between.mode = "reset"
        ear.diary.wait_for("mqtt.disconnected", times=n)
        between.mode = "pass"
    ear.diary.wait_for("mqtt.connected", times=4)
    assert ear.sound


def test_a_network_that_swallows_everything_holds_no_farewell_of_the_daemon_up(
    mosquitto, proxy, run
):
    between = proxy(mosquitto().start().port)
    daemon = run(CONFIG.format(host="127.0.0.1", port=between.port))
    daemon.wait_for("mqtt.connected")
    between.mode = "hole"
    began = monotonic()
    assert daemon.stop() == 0
    assert monotonic() - began < 10


def test_a_name_server_that_says_nothing_holds_up_neither_answers_nor_the_end(run, tmp_path):
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"], check=False).returncode:
        pytest.skip("only root may give a process a name server of its own")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.9.9.9", 53))
        silent.settimeout(30)
        resolver = tmp_path / "resolv.conf"
        resolver.write_text("nameserver 127.9.9.9\noptions timeout:30 attempts:1\n")
        apart = f"mount --bind {resolver} /etc/resolv.conf && exec {HUSHD} run -c hushd.yaml"
        daemon = run(
            CONFIG.format(host="broker.example", port=1883),
            command=["unshare", "--mount", "sh", "-c", apart],
        )
        daemon.wait_for("hushd.started")
        assert b"broker" in silent.recv(512)  # it asks, and waits for half a minute
        status = subprocess.run(
            [HUSHD, "status", "-c", daemon.config],
            env=os.environ | {"XDG_RUNTIME_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
        assert "not reached yet" in status.stdout, status
        began = monotonic()
        assert daemon.stop() == 0
        assert monotonic() - began < 15


def test_a_network_that_swallows_everything_holds_no_end_up(mosquitto, proxy, listen):
    between = proxy(mosquitto().start().port)
    ear = listen(between.port)
    ear.diary.wait_for("mqtt.connected")
    between.mode = "hole"
    began = monotonic()
    ear.source.stop()
    assert monotonic() - began < 3


# -- the broker loses something --------------------------------------------------------------


@pytest.mark.parametrize("old", [False, True], ids=["5", "3.1.1"])
def test_what_the_broker_had_no_room_for_while_we_were_away_is_told(
    old, mosquitto, proxy, listen, tmp_path
):
    settings = ["allow_anonymous true", "max_queued_messages 10", "sys_interval 1"]
    broker = mosquitto(*settings).start()
    port, noted = proxy(broker.port, old=old).port, tmp_path / "mqtt-session.json"
    ear = listen(port, memory=noted)
    eventually(lambda: noted.exists() and json.loads(noted.read_text())["dropped"] == 0)
    ear.source.stop()
    broker.publish([("home/attic/noise", str(n)) for n in range(100)])
    ear = listen(port, memory=noted)
    heard, dropped = [], 0
    until = monotonic() + 15
    while len(heard) + dropped < 100 and monotonic() < until:
        match ear.inbox.take(0.1):
            case list() as batch:
                heard += [m.payload for m in batch]
                ear.source.acknowledge(batch)
            case Dropped(number):
                dropped += number
                ear.source.recorded()
    assert heard == [b"%d" % n for n in range(len(heard))]  # the newest are dropped
    assert (dropped, len(heard) + dropped) == (90, 100)
    ear.source.stop()
    ear = listen(port, memory=noted)  # it is told once
    ear.hears(broker, "and nothing more")
    assert ear.source._memory._unrecorded == 0
    assert json.loads(noted.read_text())["dropped"] == 90


@pytest.mark.parametrize("qos", [1, 2])  # of the publisher: 2 is acknowledged as 1 is
@pytest.mark.parametrize("old", [False, True], ids=["5", "3.1.1"])
def test_what_was_taken_and_not_acknowledged_comes_again_and_is_recognised(
    old, qos, mosquitto, proxy, listen
):
    broker = mosquitto().start()
    between = proxy(broker.port, old=old)
    ear, ring = listen(between.port), Ring(1000)
    ear.diary.wait_for("mqtt.connected")
    broker.publish([("home/attic/noise", "50")] * 20, qos=qos)  # they look all the same
    for one in ear.takes(20):
        ring.note(one)
    between.mode = "reset"
    ear.diary.wait_for("mqtt.disconnected")
    broker.publish([("home/attic/noise", "50")] * 5)
    between.mode = "pass"
    assert [ring.knows(one) for one in ear.takes(25)] == [True] * 20 + [False] * 5


# -- the broker says no ----------------------------------------------------------------------


def test_a_subscription_that_the_access_list_refuses_is_named(mosquitto, listen, tmp_path):
    plugins = [*Path("/usr/lib").glob("**/mosquitto_dynamic_security.so")]
    if not plugins:
        pytest.skip("this mosquitto has no access lists that refuse a subscription")
    access = {
        "defaultACLAccess": {
            "publishClientSend": True,
            "publishClientReceive": True,
            "subscribe": False,
            "unsubscribe": True,
        },
        "clients": [],
        "groups": [{"groupname": "all", "roles": [{"rolename": "guest"}]}],
        "roles": [
            {
                "rolename": "guest",
                "acls": [{"acltype": "subscribePattern", "topic": "home/#", "allow": True}],
            }
        ],
        "anonymousGroup": "all",
    }
    lists = tmp_path / "access.json"
    lists.write_text(json.dumps(access))
    broker = mosquitto(
        "allow_anonymous true", f"plugin {plugins[0]}", f"plugin_opt_config_file {lists}"
    ).start()
    ear = listen(broker.port, filters=("home/#", "secret/#"))
    fields = ear.diary.wait_for("mqtt.subscription_refused")
    assert (fields["filter"], fields["reason"]) == ("secret/#", "Not authorized")
    ear.hears(broker, "the other filter is read")
    assert ear.sound


# -- somebody else ---------------------------------------------------------------------------


@pytest.mark.parametrize("old", [False, True], ids=["5", "3.1.1"])
def test_w38_a_client_id_used_twice_is_said_once_by_each_and_the_rush_ends(
    old, mosquitto, proxy, listen
):
    broker = mosquitto().start()
    between = proxy(broker.port, old=old)
    ears = [listen(between.port), listen(between.port)]
    for ear in ears:
        assert "mqtt.client_id" in ear.diary.wait_for("mqtt.client_id_taken")["hint"]
    # each keeps away for two seconds at least, longer each time
    taken = [len(ear.diary.all("mqtt.connected")) for ear in ears]
    eventually(lambda: any(ear.source.link.connected for ear in ears))
    assert all(number < 12 for number in taken)
    assert [len(ear.diary.all("mqtt.client_id_taken")) for ear in ears] == [1, 1]
    assert all(ear.sound for ear in ears)


# -- TLS -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def authority(tmp_path_factory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


def encrypted(certificate: tuple[Path, Path], *more: str) -> list[str]:
    """Return mosquitto's settings for TLS."""
    return [
        f"certfile {certificate[0]}",
        f"keyfile {certificate[1]}",
        "allow_anonymous true",
        *more,
    ]


def test_tls_is_spoken_and_the_broker_verified(authority, mosquitto, listen):
    broker = mosquitto(*encrypted(authority.issue())).start()
    ear = listen(broker.port, tls=Tls(ca=authority.ca))
    ear.diary.wait_for("mqtt.connected")
    assert ear.source._connection._client.socket().version() >= "TLSv1.2"
    assert ear.sound


@pytest.mark.parametrize("ingest", ["bulk", "plain"])
def test_a_flood_comes_through_tls_whole(ingest, authority, mosquitto, listen):
    # what is decrypted and not yet read does not show in a poll
    settings = encrypted(authority.issue())
    broker = mosquitto(*settings).start()
    ear = listen(broker.port, tls=Tls(ca=authority.ca), ingest=ingest)
    ear.diary.wait_for("mqtt.connected")
    other = Publisher(
        Mqtt("localhost", broker.port, tls=Tls(ca=authority.ca)), "flood", Diary(), pauses=QUICK
    )
    number, heard = 300, []
    for n in range(number):
        other.publish("home/attic/noise", b"%d " % n * 500, qos=n % 2)
    other.close(b"")
    until = monotonic() + 15
    while len(heard) < number and monotonic() < until:
        batch = ear._taken()
        ear.source.acknowledge(batch)
        heard += [int(m.payload.split()[0]) for m in batch]
    assert heard == list(range(number))


@pytest.mark.parametrize(
    ("host", "valid", "trusted", "reason", "hint"),
    [
        ("broker.lan", {}, True, "hostname mismatch", "a name that the broker's certificate holds"),
        ("localhost", {"days": -1}, True, "certificate has expired", "renew the broker's"),
        ("localhost", {"begins": 1}, True, "certificate is not yet valid", "clock"),
        ("localhost", {}, False, "unable to get local issuer certificate", "mqtt.tls.ca"),
    ],
    ids=["wrong host", "expired", "not yet valid", "unknown authority"],
)
def test_a_broker_that_proves_nothing_is_not_talked_to(
    host, valid, trusted, reason, hint, authority, mosquitto, listen, tmp_path
):
    issuer = Authority(tmp_path, "issuer")
    broker = mosquitto(*encrypted(issuer.issue(host, **valid))).start()
    ear = listen(broker.port, tls=Tls(ca=issuer.ca if trusted else authority.ca))
    fields = ear.diary.wait_for("mqtt.tls_failed")
    assert reason in fields["reason"].lower()
    assert hint in fields["hint"]
    eventually(lambda: ear.source._connection._tries >= 2)  # it is tried again
    assert not ear.diary.all("mqtt.connected")
    assert ear.sound


def test_a_handshake_that_stalls_is_given_up_and_tried_again(listen):
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it accepts, and says nothing
        ear = listen(silent.getsockname()[1], host="127.0.0.1", tls=Tls(insecure=True))
        ear.diary.wait_for("mqtt.unreachable")
        eventually(lambda: ear.source._connection._tries >= 2)
        assert ear.sound


def test_a_certificate_that_was_renewed_counts_at_once(mosquitto, listen, tmp_path):
    authority = Authority(tmp_path)
    broker = mosquitto(*encrypted(authority.issue(days=-1))).start()
    ear = listen(broker.port, tls=Tls(ca=authority.ca))
    ear.diary.wait_for("mqtt.tls_failed")
    authority.issue()  # the same files
    broker.stop()
    broker.start()
    ear.diary.wait_for("mqtt.connected")


def test_insecure_talks_to_whoever_answers(authority, mosquitto, listen):
    broker = mosquitto(*encrypted(authority.issue("broker.lan"))).start()
    listen(broker.port, tls=Tls(insecure=True)).diary.wait_for("mqtt.connected")


def test_a_broker_that_asks_for_a_certificate_gets_it(authority, mosquitto, listen):
    demanding = [f"cafile {authority.ca}", "require_certificate true"]
    broker = mosquitto(*encrypted(authority.issue(), *demanding)).start()
    certificate, key = authority.issue("hushd")
    listen(broker.port, tls=Tls(ca=authority.ca, cert=certificate, key=key)).diary.wait_for(
        "mqtt.connected"
    )


def test_without_the_certificate_that_the_broker_asks_for_the_hint_is_tls(
    authority, mosquitto, listen
):
    demanding = [f"cafile {authority.ca}", "require_certificate true"]
    broker = mosquitto(*encrypted(authority.issue(), *demanding)).start()
    ear = listen(broker.port, tls=Tls(ca=authority.ca))
    eventually(lambda: any("mqtt.tls" in str(fields) for _, fields in ear.diary.lines))
    assert not ear.diary.all("mqtt.connected")
    assert ear.sound


def test_a_port_that_speaks_no_tls_is_named(mosquitto, listen):
    broker = mosquitto().start()
    ear = listen(broker.port, tls=Tls(insecure=True))
    eventually(
        lambda: any("mqtt.port" in str(f) or "its port" in str(f) for _, f in ear.diary.lines)
    )
    assert ear.sound


def test_no_thread_is_left(mosquitto, listen):
    before = threading.active_count()
    ear = listen(mosquitto().start().port)
    ear.diary.wait_for("mqtt.connected")
    ear.source.stop()
    eventually(lambda: threading.active_count() == before)
