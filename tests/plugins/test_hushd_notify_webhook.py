"""The webhook against a real HTTP server."""

import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from hushd.plugin import Context, Note
from hushd_notify.webhook import ANSWER, WEBHOOK, RefusedError

CONTEXT = Context("hook", "here", print)
NOTE = Note("raised", "Küche: laut", "text", "warning", "k1", {"value": 72.3})


class Server(ThreadingHTTPServer):
    """Answers /STATUS with that status and keeps what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen: list[tuple[str, dict, bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append((self.path, dict(self.headers), body))
        last = self.path.rpartition("/")[2].partition("?")[0]
        status = int(last) if last.isdecimal() else 200
        self.send_response(status)
        if status in {301, 307}:
            self.send_header("Location", f"{self.server.url}/elsewhere")
        self.end_headers()
        if last == "endless":
            try:
                while True:
                    self.wfile.write(b"x" * 4096)
            except OSError:
                return
        if last == "dripping":
            try:
                for _ in range(600):
                    self.wfile.write(b"x")
                    time.sleep(0.05)
            except OSError:
                return
        self.wfile.write(b"as you like")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  http.server's
        pass


@pytest.fixture
def server():
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def send(url: str, **options: object) -> None:
    given = {option.name: option.default for option in WEBHOOK.options} | {"url": url} | options
    notifier = WEBHOOK.open(given, CONTEXT)
    notifier.send(NOTE)
    notifier.close()


def test_a_note_is_posted(server):
    send(f"{server.url}/hook/200?site=a", token="secret", headers={"X-House": "7"})
    ((path, headers, body),) = server.seen
    assert path == "/hook/200?site=a"
    assert headers["Idempotency-Key"] == "k1"
    assert headers["Authorization"] == "Bearer secret"
    assert headers["X-House"] == "7"
    assert headers["Content-Type"] == "application/json; charset=utf-8"
    assert json.loads(body) == {
        "kind": "raised",
        "title": "Küche: laut",
        "text": "text",
        "severity": "warning",
        "key": "k1",
        "alert": {"value": 72.3},
    }


@pytest.mark.parametrize("status", [201, 204])
def test_any_success_is_one(server, status):
    send(f"{server.url}/{status}")


@pytest.mark.parametrize("status", [301, 307, 400, 401, 404, 500, 503])
def test_anything_else_is_raised_with_the_server_s_words(server, status):
    with pytest.raises(RefusedError, match=f"{status} .*: as you like"):
        send(f"{server.url}/{status}")
    assert len(server.seen) == 1  # a redirect is not followed


def test_an_endless_answer_is_not_read_to_the_end(server):
    began = time.monotonic()
    send(f"{server.url}/endless")
    assert time.monotonic() - began < 5
    assert ANSWER < 1 << 20


def test_an_answer_that_drips_is_given_up(server):
    began = time.monotonic()
    with pytest.raises(OSError, match="did not end in time"):
        send(f"{server.url}/dripping", timeout=300_000_000)
    assert time.monotonic() - began < 5


def test_silence_is_given_up():
    with socket.create_server(("127.0.0.1", 0)) as mute:
        port = mute.getsockname()[1]
        with pytest.raises(OSError, match="timed out"):
            send(f"http://127.0.0.1:{port}/", timeout=200_000_000)


def test_nobody_there():
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    with pytest.raises(OSError, match="refused"):
        send(f"http://127.0.0.1:{port}/")


def test_what_is_not_http_is_an_error():
    def babble(server: socket.socket) -> None:
        peer, _ = server.accept()
        with peer:
            peer.recv(65536)
            peer.sendall(b"hello\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=babble, args=(server,))
        thread.start()
        with pytest.raises(OSError, match="not an answer"):
            send(f"http://127.0.0.1:{server.getsockname()[1]}/")
        thread.join()


@pytest.mark.parametrize("url", ["ftp://a/b", "file:///etc/passwd", "http:///x", "a.b/c", ""])
def test_other_addresses_are_refused(url):
    with pytest.raises(ValueError, match="http"):
        send(url)


def test_a_secret_does_not_stand_in_the_url():
    with pytest.raises(ValueError, match="token"):
        send("https://me:secret@example.org/")
