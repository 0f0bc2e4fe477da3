"""No secret is shown: not by a command, not in the log, not in what is kept; whoever fails.

Every server here says back what it was told, and every notifier fails in its own way.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest
from canaries import CANARIES, in_files, sightings

pytestmark = pytest.mark.mosquitto

HUSHD = Path(sys.executable).parent / "hushd"
#: what holds the secrets because it must
KEPT = frozenset({"hushd.yaml", "inline.yaml", "mqtt.pw", "credentials", "bell", "passwords"})

CONFIG = """\
version: 1
mqtt: {{host: 127.0.0.1, port: {mqtt}, username: hushd, password: {{file: mqtt.pw}}}}
allow_exec: true
log: {{level: debug}}
sensors: {{noise: "home/{{room}}/noise"}}
notifiers:
  refusing: {{type: webhook, url: "{http}/401/${{HOOK}}?key=${{HOOK}}", token: {{env: TOKEN}}}}
  failing:
    type: webhook
    url: "{http}/500/${{HOOK}}"
    token: {{env: TOKEN}}
    headers: {{X-Key: {{credential: header}}, X-Plain: {inline}}}
  moved: {{type: webhook, url: "{http}/307/${{HOOK}}", token: {{env: TOKEN}}}}
  no-tls: {{type: webhook, url: "{https}/200/${{HOOK}}", token: {{env: TOKEN}}}}
  no-name: {{type: webhook, url: "http://nowhere.invalid/${{HOOK}}", token: {{env: TOKEN}}}}
  mail: {{type: email, host: 127.0.0.1, port: {smtp}, security: none, username: hushd,
    password: {{env: MAIL}}, from: a@example.org, to: [b@example.org]}}
  phone: {{type: apprise, url: {{env: PHONE}}}}
  bell: {{type: command, command: [{bell}], environment: {{BELL: {{env: BELL_SECRET}}}}}}
  panel: {{type: mqtt, topic: "alerts/{{rule}}"}}
  evidence: {{type: journal, path: state/evidence.jsonl}}
  screen: {{type: log}}
internal: {{notify: [evidence, screen]}}
rules:
  loud:
    watch: noise
    measure: last
    over: 1 samples
    warning: {{above: 70}}
    no_data: ignore
    notify: [refusing, failing, moved, no-tls, no-name, mail, phone, bell, panel, evidence, screen]
"""

FAILING = ["refusing", "failing", "moved", "no-tls", "no-name", "mail", "phone", "bell"]

BELL = """\
#!/bin/sh
cat > /dev/null
echo "cannot ring with $BELL" >&2
exit 3
"""


class Echo(BaseHTTPRequestHandler):
    """Answers ``/STATUS/...`` with that status, and with all that it was told, three times."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        told = f"{self.path} {' '.join(self.headers.values())}"
        token = self.headers.get("Authorization", "").rpartition(" ")[2]
        said = f"{token} {quote(token, safe='')} {b64encode(token.encode()).decode()} {told}"
        first = self.path.split("/")[1]
        status = int(first) if first.isdecimal() else 401
        self.send_response(status, f"no, {token}")
        self.send_header("X-Echo", said)
        self.send_header("Location", f"/{token}")
        self.end_headers()
        self.wfile.write(said.encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  http.server's
        pass


@pytest.fixture
def echo() -> Iterator[int]:
    """Return the port of a server that says back what it hears."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a handshake is no HTTP
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def parrot() -> Iterator[int]:
    """Return the port of a mail server that refuses a password and says which."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                peer, _ = server.accept()
            except OSError:
                return
            with peer, peer.makefile("rwb", buffering=0) as line:
                line.write(b"220 parrot\r\n")
                while heard := line.readline().strip():
                    answer = b"535 5.7.8 no: " + heard.removeprefix(b"AUTH PLAIN ")
                    if heard.upper().startswith(b"EHLO"):
                        answer = b"250-parrot\r\n250 AUTH PLAIN"
                    line.write(answer + b"\r\n")

    threading.Thread(target=serve, daemon=True).start()
    yield server.getsockname()[1]
    server.shutdown(socket.SHUT_RDWR)
    server.close()


class Folder:
    """Where the daemon and the commands run, and all that they said."""

    def __init__(self, path: Path, mqtt: int, http: int, smtp: int) -> None:
        self.path = path
        self.said = b""
        (path / "state").mkdir()
        (path / "credentials").mkdir()
        for name, text in (
            ("mqtt.pw", CANARIES["mqtt"]),
            ("credentials/header", CANARIES["header"]),
            ("bell", BELL),
        ):
            (path / name).write_text(text)
            (path / name).chmod(0o700)
        self.config = CONFIG.format(
            mqtt=mqtt,
            http=f"http://127.0.0.1:{http}",
            https=f"https://127.0.0.1:{http}",
            smtp=smtp,
            bell=path / "bell",
            inline=CANARIES["inline"],
        )
        (path / "hushd.yaml").write_text(self.config)
        self.environment = {
            "HOOK": CANARIES["hook"],
            "TOKEN": CANARIES["token"],
            "MAIL": CANARIES["mail"],
            "BELL_SECRET": CANARIES["command"],
            "PHONE": f"json://me:{CANARIES['apprise']}@127.0.0.1:{http}/note",
            "CREDENTIALS_DIRECTORY": str(path / "credentials"),
            "PYTHONFAULTHANDLER": "1",
            "XDG_RUNTIME_DIR": str(path),
        }

    def hushd(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        done = subprocess.run(
            [HUSHD, *arguments],
            cwd=self.path,
            env=os.environ | self.environment,
            capture_output=True,
            check=False,
            timeout=120,
        )
        self.said += done.stdout + done.stderr
        return done

    def check(self) -> None:
        """See that no secret was said, and none is kept where it need not be."""
        assert sightings(self.said) == []
        assert in_files(self.path, KEPT) == []


def test_the_search_finds_a_secret_in_any_clothes():
    for name, canary in CANARIES.items():
        basic = b64encode(f"me:{canary}".encode())
        for form in (canary.encode(), quote(canary, safe="").encode(), basic, canary[7:].encode()):
            assert any(s.startswith(f"{name}:") for s in sightings(b"x" + form + b"y")), form
    assert sightings(b"nothing of the kind: *** c2FmZQ==") == []


def test_while_everything_fails(mosquitto, echo, parrot, run, tmp_path, eventually):
    broker = mosquitto().start()
    folder = Folder(tmp_path, broker.port, echo, parrot)
    assert folder.hushd("check", "hushd.yaml").returncode == 0
    for command in ("plugins", "schema"):
        assert folder.hushd(command).returncode == 0
    daemon = run(folder.config, **folder.environment)
    daemon.wait_for("mqtt.connected")
    broker.publish([("home/attic/noise", "80")])
    for name in FAILING:
        eventually(
            lambda name=name: (
                daemon.logged("notifier.failed", notifier=name)
                or daemon.logged("notifier.refused", notifier=name)
            ),
            60,
            f"{name} does not fail",
        )
    assert folder.hushd("status", "-c", "hushd.yaml").returncode == 0
    shown = json.loads(folder.hushd("status", "--json", "-c", "hushd.yaml").stdout)
    assert {n for n, state in shown["notifiers"].items() if state["failures"]} >= {*FAILING}
    for name in FAILING:
        assert folder.hushd("notify-test", name, "-c", "hushd.yaml").returncode in {1, 69}, name
    # a reload with an error in the very lines that hold secrets, and one that succeeds
    daemon.config.write_text(folder.config.replace("X-Plain: ", "X-Plain: ]"))
    assert folder.hushd("reload", "-c", "hushd.yaml").returncode == 78
    daemon.config.write_text(folder.config.replace("password: {file: mqtt.pw}", "pasword: x"))
    assert folder.hushd("reload", "-c", "hushd.yaml").returncode == 78
    folder.hushd("status", "-c", "hushd.yaml")
    evidence = tmp_path / "state/evidence.jsonl"  # a trouble of ours is an alert, told like others
    eventually(lambda: "internal/config" in evidence.read_text(), what="nobody hears of it")
    daemon.config.write_text(folder.config)
    assert folder.hushd("reload", "-c", "hushd.yaml").returncode == 0
    # the watchdog's end: every thread's stack, as the journal gets it
    daemon.child.send_signal(signal.SIGABRT)
    daemon.child.communicate(timeout=20)
    assert daemon.child.returncode == -signal.SIGABRT
    log = (tmp_path / "log.jsonl").read_bytes()
    assert b"Fatal Python error: Aborted" in log
    folder.check()


def test_a_broker_that_refuses_the_password(mosquitto, echo, parrot, run, tmp_path):
    passwords = tmp_path / "passwords"
    passwords.write_text("")
    passwords.chmod(0o600)
    broker = mosquitto("allow_anonymous false", f"password_file {passwords}").start()
    folder = Folder(tmp_path, broker.port, echo, parrot)
    daemon = run(folder.config, **folder.environment)
    daemon.wait_for("mqtt.refused")
    assert b"broker" in folder.hushd("status", "-c", "hushd.yaml").stdout
    folder.hushd("status", "--json", "-c", "hushd.yaml")
    assert daemon.stop() == 0
    folder.check()


@pytest.mark.parametrize(
    "wrong",
    [
        "mqtt: {{username: hushd, password: {mqtt}}}",
        "mqtt: {{url: 'mqtt://hushd:{inline}@broker.lan'}}",
        "mqtt: {{host: 'hushd:{inline}@broker.lan'}}",
        "mqtt: {{username: hushd, pasword: {inline}}}",
        "notifiers: {{a: {{type: webhook, url: 'https://me:{inline}@x.org/'}}}}",
        "notifiers: {{a: {{type: webhook, url: 'ftp://x.org/{hook}'}}}}",
        "notifiers: {{a: {{type: webhook, url: 'https://x.org', token: {inline}}}}}",
        "notifiers: {{a: {{type: email, password: {inline}}}}}",
        "notifiers: {{a: {{type: apprise, url: 'tgram://{apprise}/1', tiemout: 3s}}}}",
    ],
)
def test_a_secret_where_none_belongs_is_not_quoted(wrong, tmp_path):
    folder = Folder(tmp_path, 9, 9, 9)
    (tmp_path / "inline.yaml").write_text(f"version: 1\n{wrong.format(**CANARIES)}\n")
    for command in (("check", "inline.yaml"), ("run", "-c", "inline.yaml")):
        assert folder.hushd(*command).returncode == 78
    assert b"inline.yaml:2:" in folder.said  # it is told where
    folder.check()
