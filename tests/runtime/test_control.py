"""The control socket: a line asks, a line answers, and nobody can do harm with it."""

import json
import os
import queue
import socket
import stat
import threading
from collections.abc import Mapping
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from hushd.runtime import control
from hushd.runtime.control import Control, ask, lives, name_for, places
from hushd.runtime.logs import Quiet
from hushd.runtime.messages import Ask


class Diary(Quiet):
    def __init__(self) -> None:
        self.lines: list[tuple[str, dict[str, Any]]] = []

    def error(self, event: str, **fields: Any) -> None:
        self.lines.append((event, fields))

    warning = error


class Loop:
    """Stands in for the main loop: takes what is asked, and answers when it gets to it."""

    def __init__(self) -> None:
        self.asked: queue.SimpleQueue[Ask] = queue.SimpleQueue()
        self.diary = Diary()

    def serve(self, answer: Mapping[str, Any]) -> None:
        def run() -> None:
            self.asked.get(timeout=10).answer(answer)

        threading.Thread(target=run).start()


@pytest.fixture
def loop():
    return Loop()


@pytest.fixture
def door(tmp_path, loop):
    door = Control(tmp_path / "run/hushd.sock", loop.asked.put, loop.diary, answering=0.2)
    yield tmp_path / "run/hushd.sock"
    door.close()
    assert not (tmp_path / "run/hushd.sock").exists()


def eventually(condition) -> None:
    until = monotonic() + 10
    while not condition():
        assert monotonic() < until, "it did not come about"
        sleep(0.005)


def test_a_line_asks_and_a_line_answers(door, loop):
    loop.serve({"ok": True, "text": "a\nb", "far": 2**70})
    assert ask(door, {"do": "status"}) == {"ok": True, "text": "a\nb", "far": 2**70}


def test_only_its_user_may_ask(door):
    assert stat.S_IMODE(door.stat().st_mode) == 0o600
    assert stat.S_IMODE(door.parent.stat().st_mode) == 0o700


def test_a_stranger_is_not_answered_even_where_the_mode_lets_him_in(door, loop, monkeypatch):
    theirs, ours = socket.socketpair()
    with theirs, ours:
        assert control._user(ours) == os.geteuid()  # what the kernel says
    monkeypatch.setattr(control, "_user", lambda peer: 4711)
    with pytest.raises(OSError, match=r"broke off|reset|Broken"):
        ask(door, {"do": "status"})
    assert loop.asked.empty()
    assert loop.diary.lines == [("control.refused", {"user": 4711})]
    monkeypatch.undo()
    loop.serve({"ok": True})
    assert ask(door, {"do": "status"}) == {"ok": True}


def test_a_loop_that_is_busy_is_not_waited_for_for_ever(door):
    answer = ask(door, {"do": "status"})
    assert answer["code"] == 69
    assert "0.2 s" in answer["error"]


@pytest.mark.parametrize(
    "sent",
    [
        b"\n",
        b"nonsense\n",
        b"[1]\n",
        b"[" * 60_000 + b"\n",
        b"\xff\xfe\n",
        b'{"do": "status"',  # and no end: it is given up
        b"x" * 200_000,
    ],
)
def test_what_is_no_request_is_refused(sent, door, loop, monkeypatch):
    monkeypatch.setattr(control, "READING", 0.3)
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(str(door))
        try:
            peer.sendall(sent)
            answer = peer.makefile().readline()
        except (BrokenPipeError, ConnectionResetError):  # it did not read to the end
            answer = ""
    if answer:
        assert json.loads(answer)["code"] == 2
    assert loop.asked.empty()
    loop.serve({"ok": True})
    assert ask(door, {"do": "status"}) == {"ok": True}


def test_whoever_only_connects_keeps_nobody_out_for_long(door, loop, monkeypatch):
    monkeypatch.setattr(control, "READING", 0.2)
    idle = [socket.socket(socket.AF_UNIX) for _ in range(control.AT_ONCE + 3)]
    for peer in idle:
        peer.connect(str(door))
    loop.serve({"ok": True})

    def answered() -> bool:
        try:
            return ask(door, {"do": "status"}) == {"ok": True}
        except OSError:
            return False

    eventually(answered)
    for peer in idle:
        peer.close()


def test_a_large_answer_arrives_whole(door, loop):
    answer = {"ok": True, "listed": ["x" * 1000] * 5000}
    loop.serve(answer)
    assert ask(door, {"do": "status"}) == answer


def test_a_socket_that_was_left_behind_is_taken_over(tmp_path, loop):
    path = tmp_path / "hushd.sock"
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(path))
    assert path.is_socket()
    assert not lives(path)
    door = Control(path, loop.asked.put, loop.diary)
    loop.serve({"ok": True})
    assert ask(path, {}) == {"ok": True}
    door.close()


def test_two_daemons_do_not_take_each_other_s_place(door, loop):
    second = Control(door, loop.asked.put, loop.diary)
    assert loop.diary.lines[0][0] == "control.failed"
    assert "another hushd" in loop.diary.lines[0][1]["error"]
    second.close()
    loop.serve({"ok": True})
    assert ask(door, {}) == {"ok": True}  # the first still listens


def test_a_place_that_cannot_be_had_costs_nothing_else(loop):
    Control(Path("/proc/nowhere/hushd.sock"), loop.asked.put, loop.diary).close()
    assert [event for event, _ in loop.diary.lines] == ["control.failed"]


def test_a_path_too_long_for_a_socket_works_too(tmp_path, loop):
    path = tmp_path / ("x" * 120) / "hushd.sock"
    door = Control(path, loop.asked.put, loop.diary)
    loop.serve({"ok": True})
    assert ask(path, {}) == {"ok": True}
    assert lives(path)
    door.close()
    assert not lives(path)


@pytest.mark.parametrize("answer", [b"", b"half", b"[]\n"])
def test_an_answer_that_is_none_is_an_error(tmp_path, answer):
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "odd.sock"))
        listening.listen()

        def serve() -> None:
            peer, _ = listening.accept()
            with peer:
                peer.recv(1000)
                peer.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(OSError, match="it "):
            ask(tmp_path / "odd.sock", {})
        thread.join()


@pytest.mark.parametrize(
    ("variables", "root", "found"),
    [
        ({"RUNTIME_DIRECTORY": "/run/a:/run/b"}, True, ["/run/a", "/run/hushd"]),
        ({}, True, ["/run/hushd"]),
        ({"XDG_RUNTIME_DIR": "/run/user/7"}, True, ["/run/user/7/hushd", "/run/hushd"]),
        ({"HOME": "/home/assistant"}, False, ["/home/assistant/.local/state/hushd", "/run/hushd"]),
        ({"XDG_STATE_HOME": "/s"}, False, ["/s/hushd", "/run/hushd"]),
        ({"RUNTIME_DIRECTORY": "/run/hushd"}, True, ["/run/hushd"]),
    ],
)
def test_where_sockets_are(variables, root, found, monkeypatch):
    for name in ("RUNTIME_DIRECTORY", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(os, "geteuid", lambda: 0 if root else 1000)
    assert list(map(str, places())) == found


def test_the_name_says_which_configuration(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert name_for(Path("hotel.yaml")) == name_for(tmp_path / "hotel.yaml")
    assert name_for(Path("hotel.yaml")) != name_for(Path("other/hotel.yaml"))
    assert name_for(Path("hotel.yaml")).startswith("hotel-")
