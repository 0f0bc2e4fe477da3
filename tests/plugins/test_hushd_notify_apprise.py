"""Apprise itself, in the child that sends, against a real endpoint of ``json://``."""

import json
import subprocess
import sys
from collections.abc import Iterator
from time import monotonic

import pytest
from http_server import Server, serving

from hushd.plugin import Context, Note, RefusedError
from hushd_notify import sending, services
from hushd_notify.services import APPRISE, INSTALL

NOTE = Note("raised", "Room _a_ <x@y>: laut", "*Since* 22:30 & #.\nRule: r.", "warning", "k1", {})
CANARY = "canary-of-apprise"


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


def send(url: str, note: Note = NOTE, seconds: int = 20, **more: str) -> None:
    notifier = APPRISE.open(
        {"url": url, "timeout": seconds * 10**9, **more}, Context("phone", "Hotel Adler", print)
    )
    notifier.send(note)
    notifier.close()


def test_a_note_is_told_as_it_is(server):  # A47: labels with _ * < > & # .
    send(f"json://localhost:{server.port}/200")
    (seen,) = server.seen
    told = json.loads(seen.body)
    assert told["title"] == NOTE.title
    assert told["message"] == f"{NOTE.text}\nReference: k1"
    assert told["type"] == "warning"


def test_a47_markdown_is_ours_and_the_name_of_a_room_is_its_own(server):
    note = NOTE._replace(
        text="**Room _a_ <x@y> & #.** is loud\nRule: r.",
        record={"labels": {"floor": "1", "room": "_a_ <x@y> & #."}},
    )
    send(f"json://localhost:{server.port}/200?format=html", note, format="markdown")
    (seen,) = server.seen
    told = json.loads(seen.body)["message"]
    assert "<strong>Room _a_ &lt;x@y&gt; &amp; #.</strong> is loud<br" in told
    assert "</em>" not in told
    assert "<a" not in told


def test_a47_html_is_ours_and_the_name_of_a_room_is_its_own(server):
    note = NOTE._replace(
        text="<b>Room _a_ <x@y> & #.</b> is loud\nRule: r.",
        record={"labels": {"floor": "1", "room": "_a_ <x@y> & #."}},
    )
    send(f"json://localhost:{server.port}/200?format=html", note, format="html")
    (seen,) = server.seen
    told = json.loads(seen.body)["message"]
    assert "<b>Room _a_ &lt;x@y&gt; &amp; #.</b> is loud<br" in told


def test_a47_markdown_reaches_a_service_of_markdown_with_names_escaped(server):
    room = "_a_ * <x@y> & #."
    note = NOTE._replace(text=f"Room {room}\nis loud", record={"labels": {"room": room}})
    send(f"json://localhost:{server.port}/200?format=markdown", note, format="markdown")
    (seen,) = server.seen
    told = json.loads(seen.body)["message"]
    assert told.startswith("Room \\_a\\_ \\* &lt;x@y&gt; &amp; \\#.  \nis loud")


def test_it_is_imported_by_the_child_alone(server):
    """It is large, and stays in memory for good; so look at a process that did nothing else."""
    told = f"""
import sys
from hushd.plugin import Context
from hushd.plugin.records import Note
from hushd_notify.services import APPRISE
options = {{"url": "json://localhost:{server.port}/200", "timeout": 20 * 10**9}}
APPRISE.open(options, Context("phone", "", print)).send(Note("test", "t", "x", None, "k", {{}}))
sys.exit("apprise" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", told], check=False).returncode == 0
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("kind", "severity", "told"),
    [
        ("raised", "info", "info"),
        ("escalated", "critical", "failure"),
        ("cleared", "critical", "success"),
        ("missed", None, "success"),
        ("test", None, "info"),
    ],
)
def test_severities_become_what_apprise_calls_them(monkeypatch, kind, severity, told):
    given: list[dict] = []

    def run(argv, text, seconds, environment):
        given.append(json.loads(text))
        return _Ended()

    monkeypatch.setattr(services, "run", run)
    send("json://localhost", NOTE._replace(kind=kind, severity=severity))
    assert given[0]["type"] == told


class _Ended:
    code = 0
    output = b'{"state": "told", "said": ""}\n'


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_no_is_a_no(server, status):
    with pytest.raises(RefusedError, match=f"error={status}"):
        send(f"json://localhost:{server.port}/{status}")


@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_may_pass_is_tried_again(server, status):
    with pytest.raises(OSError, match=f"error={status}"):
        send(f"json://localhost:{server.port}/{status}")


def test_a_slow_answer_is_waited_for(server):  # A46: Apprise's own 4 s would send it twice
    send(f"json://localhost:{server.port}/later")
    assert len(server.seen) == 1


def test_the_deadline_is_one_in_all(server):
    began = monotonic()
    with pytest.raises(OSError, match=r"not done after 2 s"):
        send(f"json://localhost:{server.port}/dripping", seconds=2)
    assert monotonic() - began < 5


def test_a_url_that_apprise_does_not_know_is_refused(server):
    for url in (f"nope://{CANARY}", f"tgram://{CANARY}"):
        with pytest.raises(RefusedError, match="does not know this URL") as caught:
            send(url)
        assert CANARY not in str(caught.value)


def test_a_password_is_shown_nowhere(server):
    with pytest.raises(RefusedError) as caught:
        send(f"json://me:{CANARY}@localhost:{server.port}/401")
    assert CANARY not in str(caught.value)


def test_without_apprise_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(services, "find_spec", lambda name: None)
    assert APPRISE.check is not None
    (fault,) = APPRISE.check({"url": "json://localhost"})
    assert (fault.option, fault.hint) == ("type", INSTALL)
    monkeypatch.setitem(sys.modules, "apprise", None)
    state, said = sending.tell({"url": "json://localhost"})
    assert state == "refused"
    assert INSTALL in said
