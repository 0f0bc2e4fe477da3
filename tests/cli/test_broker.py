"""The demo's broker where there is none: it says what to install."""

import os
import sys

import pytest

from hushd.cli import broker


def test_neither_is_there(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda *a, **k: None)
    monkeypatch.setitem(sys.modules, "iotcore", None)
    with pytest.raises(broker.NoBrokerError) as caught, broker.broker():
        pass
    assert "apt-get install mosquitto" in str(caught.value)
    assert "iotcore" in str(caught.value)
    assert "--broker HOST" in str(caught.value)


def test_a_broker_that_ends_at_once(monkeypatch, tmp_path):
    program = tmp_path / "mosquitto"
    program.write_text("#!/bin/sh\necho no licence >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    wrong = pytest.raises(broker.NoBrokerError, match="ended at once: no licence")
    with wrong, broker.broker("mosquitto"):
        pass


def test_the_demo_without_a_broker_is_69(monkeypatch, capsys):
    from hushd.cli import main

    monkeypatch.setattr("shutil.which", lambda *a, **k: None)
    monkeypatch.setitem(sys.modules, "iotcore", None)
    assert main(["demo"]) == 69
    assert capsys.readouterr().err.startswith("hushd demo: the demo needs a broker: ")
