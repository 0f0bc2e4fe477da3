"""Every notifier of ours says of a note that it may have come before, where and only where so."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from http_server import serving
from mail_server import mail_server

from hushd.plugin import Context, Note, NotifierType, load
from hushd_notify.texts import AGAIN

CATALOG = load()
NOTE = Note("raised", "Room 101: loud", "Since 22:30.", "warning", "k1", {"rule": "too-loud"})

#: sends a note in some way, and returns all that its receiver got
Receive = Callable[[Path, NotifierType, Note], str]


def receive_log(tmp_path: Path, kind: NotifierType, note: Note) -> str:
    lines: list[Any] = []
    send(kind, note, log=lambda event, **fields: lines.append((event, fields)))
    return str(lines)


def receive_journal(tmp_path: Path, kind: NotifierType, note: Note) -> str:
    path = tmp_path / "evidence.jsonl"
    path.unlink(missing_ok=True)
    send(kind, note, path=str(path))
    return path.read_text()


def receive_mqtt(tmp_path: Path, kind: NotifierType, note: Note) -> str:
    sent: list[bytes] = []

    def publish(topic: str, payload: bytes, *, retain: bool = False) -> None:
        sent.append(payload)

    send(kind, note, publish=publish)
    return sent[0].decode()


def receive_webhook(tmp_path: Path, kind: NotifierType, note: Note) -> str:
    with serving() as server:
        send(kind, note, url=f"{server.url}/200")
        (seen,) = server.seen
    assert seen.headers["Idempotency-Key"] == "k1"
    headers = {k: v for k, v in seen.headers.items() if k not in {"Host", "Content-Length"}}
    return f"{headers} {seen.body.decode()}"


def receive_alertmanager(tmp_path: Path, kind: NotifierType, note: Note) -> str:
    with serving() as server:
        send(kind, note, url=server.url)
        ((alert,),) = [json.loads(seen.body) for seen in server.seen]
    del alert["startsAt"], alert["endsAt"]
    return str(alert)


def receive_command(tmp_path: Path, kind: NotifierType, note: Note) -> str:
    out, program = tmp_path / "out", tmp_path / "program"
    program.write_text(
        f"#!{sys.executable} -I\nimport os, sys\n"
        "told = {k: v for k, v in os.environ.items() if k.startswith('HUSHD_')}\n"
        "open(sys.argv[1], 'w').write(f'{told} {sys.stdin.read()}')\n"
    )
    program.chmod(0o755)
    send(kind, note, command=(str(program), str(out)))
    return out.read_text()


def receive_email(tmp_path: Path, kind: NotifierType, note: Note) -> str:
    given = {"host": "127.0.0.1", "from": "hushd@example.org", "to": ("a@example.org",)}
    with mail_server() as box:
        send(kind, note, port=box.port, security="none", **given)
        (mail,) = box.mails
    del mail["Date"]
    return mail.as_string()


def receive_apprise(tmp_path: Path, kind: NotifierType, note: Note) -> str:
    with serving() as server:
        send(kind, note, url=f"json://localhost:{server.port}/200")
        (seen,) = server.seen
    return str(json.loads(seen.body)["message"])


#: type -> how it is received, and what says that a note may have come before
RECEIVED: dict[str, tuple[Receive, list[str]]] = {
    "log": (receive_log, ["'possible_duplicate': True"]),
    "journal": (receive_journal, ['"possible_duplicate": true']),
    "mqtt": (receive_mqtt, ['"possible_duplicate": true']),
    "webhook": (
        receive_webhook,
        ["'X-Possible-Duplicate': 'true'", '"possible_duplicate": true'],
    ),
    "alertmanager": (receive_alertmanager, []),  # there, the same alert again is no other alert
    "command": (
        receive_command,
        ["'HUSHD_POSSIBLE_DUPLICATE': 'true'", '"possible_duplicate": true'],
    ),
    "email": (receive_email, ["X-Hushd-Possible-Duplicate: true\n", AGAIN]),
    "apprise": (receive_apprise, [AGAIN]),
}


def send(
    kind: NotifierType,
    note: Note,
    *,
    log: Callable[..., None] = print,
    publish: Any = None,
    **given: object,
) -> None:
    options = {option.name: option.default for option in kind.options} | given
    context = Context("one", "Hotel Adler", log)
    if publish is not None:
        context = Context("one", "Hotel Adler", log, publish)
    notifier = kind.open(options, context)
    notifier.send(note)
    notifier.close()


@pytest.fixture(params=sorted(RECEIVED))
def received(request, tmp_path) -> Iterator[tuple[Callable[[Note], str], list[str]]]:
    """Return a function that sends a note and returns what came, and the marks it may have."""
    receive, marks = RECEIVED[request.param]
    if request.param == "apprise":
        pytest.importorskip("apprise")
    return lambda note: receive(tmp_path, CATALOG.notifiers[request.param], note), marks


def test_what_may_have_come_before_says_so_and_nothing_else_does(received):
    receive, marks = received
    first, again = receive(NOTE), receive(NOTE._replace(again=True))
    for mark in marks:
        assert mark in again
        assert mark not in first
    assert "uplicate" not in first
    assert AGAIN not in first


def test_the_key_is_the_same(received):
    receive, _ = received
    if "k1" in receive(NOTE):  # a journal has the key of what happened instead
        assert "k1" in receive(NOTE._replace(again=True))


def test_every_one_of_ours_is_asked():
    ours = {name for name in CATALOG.notifiers if "(hushd " in CATALOG.sources[name]}
    assert ours == RECEIVED.keys()
