"""What systemd hears, over a real datagram socket."""

import os
import socket
import time

import pytest

from hushd.runtime.systemd import Manager


@pytest.fixture
def heard(tmp_path):
    """Return the manager's end of the socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.bind(str(tmp_path / "notify"))
        end.settimeout(5)
        yield end


def manager(end: socket.socket, **more: str) -> Manager:
    return Manager({"NOTIFY_SOCKET": end.getsockname(), **more})


def test_each_message_is_one_datagram(heard):
    told = manager(heard)
    told.ready("5 series")
    told.beat("a\nSTATUS=forged")
    told.status("fine")
    told.stopping()
    assert [heard.recv(4096).decode() for _ in range(4)] == [
        "READY=1\nSTATUS=5 series",
        "WATCHDOG=1\nSTATUS=a STATUS=forged",
        "STATUS=fine",
        "STOPPING=1",
    ]


def test_a_reload_says_when_it_began(heard):
    manager(heard).reloading()
    first, second = heard.recv(4096).decode().split("\n")
    assert first == "RELOADING=1"
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    assert 0 <= now - int(second.removeprefix("MONOTONIC_USEC=")) < 5_000_000


def test_an_abstract_socket_is_found():
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.bind(f"\0hushd-test-{os.getpid()}")
        Manager({"NOTIFY_SOCKET": f"@hushd-test-{os.getpid()}"}).ready()
        assert end.recv(4096) == b"READY=1"


@pytest.mark.parametrize("address", ["", "/nowhere/at/all", "no\0path", "x" * 200])
def test_nobody_to_tell_is_no_error(address):
    Manager({"NOTIFY_SOCKET": address}).ready("fine")


def test_a_manager_that_reads_nothing_holds_nobody_up(heard, monkeypatch):
    monkeypatch.setattr("hushd.runtime.systemd.PATIENCE", 0.001)
    told = manager(heard)
    for _ in range(600):  # more than a socket's queue holds
        told.beat()


@pytest.mark.parametrize(
    ("variables", "seconds"),
    [
        ({"WATCHDOG_USEC": "30000000"}, 10),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}, 10),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, None),  # meant for another
        ({"WATCHDOG_USEC": "soon"}, None),
        ({}, None),
    ],
)
def test_how_often_it_must_beat(heard, variables, seconds):
    assert manager(heard, **variables).beat_s == seconds


def test_children_inherit_nothing_of_it(heard):
    variables = {"NOTIFY_SOCKET": heard.getsockname(), "WATCHDOG_USEC": "1", "WATCHDOG_PID": "1"}
    Manager(variables)
    assert variables == {}
