"""``hushd notify-test``: one note, now, and what came of it."""

from collections.abc import Iterator
from time import monotonic

import pytest
from http_server import Server, serving

from hushd.cli.broker import broker

CONFIG = """\
version: 1
mqtt: {{port: {port}, username: hushd, password: {{env: NOT_SET_HERE}}}}
sensors: {{noise: "home/{{room}}/noise"}}
notifiers:
  terminal: {{type: log}}
  hook: {{type: webhook, url: "${{HOOK}}"}}
  door: {{type: webhook, url: "http://localhost/", token: {{env: NOT_SET_HERE}}}}
  panel: {{type: mqtt}}
  bell: {{type: command, command: [/bin/sh, -c, "cat > {out}; echo $HUSHD_KIND; exit $CODE"],
         environment: {{CODE: {{env: CODE}}}}}}
  moody: {{type: moody}}
allow_exec: true
plugins: {{directory: plugins.d}}
defaults: {{notify: [terminal, hook, door, panel, bell, moody]}}
rules:
  loud: {{watch: noise, measure: last, warning: {{above: 70, clear: 65}}}}
"""

MOODY = """\
from hushd.plugin import NotifierType, hookimpl


def moody(options, context):
    raise SystemExit(3)


@hookimpl
def hushd_notifiers():
    yield NotifierType("moody", "ends whoever opens it", moody)
"""


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def test(hushd, tmp_path, monkeypatch):
    """Return a function that tries a notifier."""
    plugins = tmp_path / "plugins.d"
    plugins.mkdir(mode=0o755)
    (plugins / "moody.py").write_text(MOODY)
    (plugins / "moody.py").chmod(0o644)
    monkeypatch.delenv("NOT_SET_HERE", raising=False)
    monkeypatch.setenv("CODE", "0")

    def run(*arguments: str, port: int = 1):
        text = CONFIG.format(port=port, out=tmp_path / "out.json")
        (tmp_path / "hushd.yaml").write_text(text)
        return hushd("notify-test", *arguments, "-c", "hushd.yaml")

    return run


def test_what_was_taken(test, server, monkeypatch):
    monkeypatch.setenv("HOOK", f"{server.url}/200")
    done = test("hook", "--severity", "critical")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("hook (webhook): taken after ")
    (seen,) = server.seen
    assert b'"kind": "test"' in seen.body
    assert b'"severity": "critical"' in seen.body


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        (401, 1, "refused, nothing was delivered"),
        (503, 69, "failed, it is not known to have arrived"),
    ],
)
def test_what_was_not(test, server, monkeypatch, status, code, said):
    monkeypatch.setenv("HOOK", f"{server.url}/canary-of-the-url/{status}")
    done = test("hook")
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert str(status) in done.stderr
    assert "canary" not in done.stderr


def test_nobody_there(test, monkeypatch):
    monkeypatch.setenv("HOOK", "http://127.0.0.1:1/canary-of-the-url")
    done = test("hook")
    assert done.returncode == 69
    assert done.stderr.endswith("\n  Connection refused\n")  # and no [Errno 111]
    assert "canary" not in done.stderr


def test_only_its_own_secrets_must_be_there(test):
    done = test("door")
    assert done.returncode == 78
    assert "environment variable NOT_SET_HERE is not set" in done.stderr
    assert test("terminal").returncode == 0


def test_the_log_is_standard_output(test):
    done = test("terminal")
    assert done.stdout.startswith("alert.test notifier='terminal' title='Test of terminal")


def test_a_program(test, tmp_path, monkeypatch):
    assert test("bell").returncode == 0
    assert '"kind": "test"' in (tmp_path / "out.json").read_text()
    monkeypatch.setenv("CODE", "4")
    done = test("bell")
    assert done.returncode == 69
    assert "exit code 4: test" in done.stderr


@pytest.mark.mosquitto
def test_the_broker_of_the_configuration(test, monkeypatch):
    with broker("mosquitto") as address:
        done = test("panel", port=address.port)
        assert done.returncode == 1
        assert "mqtt.password: environment variable NOT_SET_HERE is not set" in done.stderr
        monkeypatch.setenv("NOT_SET_HERE", "canary")
        done = test("panel", port=address.port)
        assert (done.returncode, done.stderr) == (0, "")
    done = test("panel")
    assert done.returncode == 69
    assert "refused" in done.stderr


def test_a_plugin_that_ends_whoever_opens_it(test):
    began = monotonic()
    done = test("moody")
    assert done.returncode == 1
    assert "the notifier itself is broken" in done.stderr
    assert monotonic() - began < 20


def test_an_unknown_name_is_wrong_usage(test):
    done = test("hok")
    assert done.returncode == 2
    assert "there is no notifier hok" in done.stderr
    assert "names: bell, door, hook, moody, panel, terminal" in done.stderr


def test_a_bad_configuration(hushd, tmp_path):
    (tmp_path / "hushd.yaml").write_text("version: 2\n")
    assert hushd("notify-test", "x", "-c", "hushd.yaml").returncode == 78
