"""A receiver that fails at random, and knows better than the sender what it has taken."""

import json
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from torture.story import RULES, Change
from torture.verdict import Heard

REFUSED, UNANSWERED, HUNG_UP = 0.05, 0.03, 0.03  # how often each comes about
FLAG = "X-Possible-Duplicate"


class Taken(NamedTuple):
    """A note that was taken, even if the sender got no answer."""

    kind: str
    heard: Heard


class Webhook(ThreadingHTTPServer):
    """Answers 503, lets its client wait too long, or hangs up; else keeps what was posted.

    What hangs or hangs up was taken before.
    """

    daemon_threads = True

    def __init__(self, chance: random.Random) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.moody = True
        self.refused = 0
        self.unanswered = 0
        self.ended = threading.Event()
        self._taken: dict[str, list[Taken]] = {}
        self._chance = chance
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def taken(self, name: str) -> list[Taken]:
        """Return what was posted to /NAME, in order."""
        with self._lock:
            return list(self._taken.get(name, ()))

    def take(self, name: str, flagged: bool, body: bytes) -> str:
        """Return what becomes of a note: refused, unanswered, hung up, or taken."""
        with self._lock:
            mood = self._chance.random() if self.moody else 1.0
            if mood < REFUSED:
                self.refused += 1
                return "refused"
            if (taken := read(body, flagged)) is not None:
                self._taken.setdefault(name, []).append(taken)
            if mood < REFUSED + UNANSWERED + HUNG_UP:
                self.unanswered += 1
                return "unanswered" if mood < REFUSED + UNANSWERED else "hung up"
            return "taken"

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a client that is killed is part of the test."""


def read(body: bytes, flagged: bool) -> Taken | None:
    """Return what a note says; None if it is of no rule of ours."""
    note = json.loads(body)
    record = note["alert"]
    if record["rule"] not in RULES:
        return None
    return Taken(note["kind"], Heard(Change.of_record(record), note["key"], flagged))


class Handler(BaseHTTPRequestHandler):
    server: Webhook

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        flagged = self.headers.get(FLAG) is not None
        match self.server.take(self.path.strip("/"), flagged, body):
            case "refused":
                self.send_response(503)
            case "unanswered":
                self.server.ended.wait(3)
                return
            case "hung up":
                return
            case _:
                self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  http.server's
        pass


@contextmanager
def listening(chance: random.Random) -> Iterator[Webhook]:
    """Run a receiver for as long as the context lasts."""
    server = Webhook(chance)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.ended.set()
        server.shutdown()
        thread.join()
        server.server_close()
