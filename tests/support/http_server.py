"""A real HTTP server on the loopback: answers a POST to ``/STATUS`` with that status.

``?retry-after=SECONDS`` asks it to say so.
"""

import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class Seen(NamedTuple):
    """A request."""

    path: str
    headers: dict[str, str]
    body: bytes


class Server(ThreadingHTTPServer):
    """Keeps what it was asked."""

    daemon_threads = True

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen: list[Seen] = []
        self.released = threading.Event()  # what is slow ends when the server does
        self.port = self.server_address[1]
        if tls is not None:
            self.socket = tls.wrap_socket(
                self.socket, server_side=True, do_handshake_on_connect=False
            )
        self.url = f"{'http' if tls is None else 'https'}://localhost:{self.port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a client that hangs up is part of the test."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.send_error(405)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append(Seen(self.path, dict(self.headers), body))
        last = self.path.partition("?")[0].rpartition("/")[2]
        if last == "later":  # the note is taken; the answer takes longer than clients like
            self.server.released.wait(5)
        if last == "silent":
            self.server.released.wait(30)
        if last == "heading":  # a line of the head at a time, and never the last one
            self._drip(b"X-More: yes\r\n", b"HTTP/1.1 200 OK\r\n")
            return
        status = int(last) if last.isdecimal() else 200
        self.send_response(status)
        if status in {301, 302, 307, 308}:
            self.send_header("Location", f"{self.server.url}/elsewhere")
        _, asked, seconds = self.path.partition("?retry-after=")
        if asked:
            self.send_header("Retry-After", seconds)
        self.end_headers()
        if last == "endless":
            while not self.server.released.is_set():
                self.wfile.write(b"x" * 4096)
        elif last == "dripping":
            self._drip(b"x")
        self.wfile.write(b"as you like")

    def _drip(self, part: bytes, first: bytes = b"") -> None:
        self.wfile.write(first)
        until = time.monotonic() + 30
        while time.monotonic() < until and not self.server.released.wait(0.05):
            self.wfile.write(part)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  http.server's
        pass


@contextmanager
def serving(tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    """Run a server for as long as the context lasts."""
    server = Server(tls)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
