"""Where relative paths of what is written lead, and what signals do."""

import os
import signal
from pathlib import Path

import pytest

from hushd.runtime.daemon import signals, state_directory
from hushd.runtime.inbox import Inbox
from hushd.runtime.messages import Stop


@pytest.mark.parametrize(
    ("variable", "path"),
    [("/var/lib/hushd", "/var/lib/hushd"), ("/a:/b", "/a"), ("", "."), (None, ".")],
)
def test_state_directory(monkeypatch, variable, path):
    if variable is None:
        monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    else:
        monkeypatch.setenv("STATE_DIRECTORY", variable)
    assert state_directory() == Path(path)


def test_a_second_signal_ends_it_at_once_but_not_before_the_terminal_is_given_back(monkeypatch):
    inbox, happened = Inbox(1), []
    monkeypatch.setattr(os, "_exit", happened.append)
    before = signal.getsignal(signal.SIGINT)
    with signals(inbox, lambda: happened.append("given back")):
        signal.raise_signal(signal.SIGINT)
        assert inbox.take(0) == Stop(signal.SIGINT)
        assert happened == []
        signal.raise_signal(signal.SIGTERM)
    assert happened == ["given back", 128 + signal.SIGTERM]
    assert signal.getsignal(signal.SIGINT) is before
