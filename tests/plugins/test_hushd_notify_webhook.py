"""The webhook against real HTTP servers, with and without TLS."""

import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator

import pytest
from certificates import Authority
from http_server import Server, serving

from hushd.plugin import Context, Note, NotSentError, RefusedError
from hushd_notify.web import ANSWER, seconds_of
from hushd_notify.webhook import WEBHOOK

CONTEXT = Context("hook", "Hotel Adler", print)
NOTE = Note("raised", "Küche: laut", "text", "warning", "k1", {"value": 72.3})
CANARY = "canary-of-the-hook"


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture(scope="module")
def authority(tmp_path_factory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"))


def options(url: str, **given: object) -> dict[str, object]:
    return {option.name: option.default for option in WEBHOOK.options} | {"url": url} | given


def send(url: str, **given: object) -> None:
    notifier = WEBHOOK.open(options(url, **given), CONTEXT)
    notifier.send(NOTE)
    notifier.close()


def faults(url: str, **given: object) -> list[tuple[str, str]]:
    assert WEBHOOK.check is not None
    return [(fault.option, fault.message) for fault in WEBHOOK.check(options(url, **given))]


def test_a_note_is_posted(server):
    send(f"{server.url}/hook/200?site=a", token="secret", headers={"X-House": "7"})
    ((path, headers, body),) = server.seen
    assert path == "/hook/200?site=a"
    assert headers["Host"] == f"localhost:{server.port}"
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
        "site": "Hotel Adler",
        "alert": {"value": 72.3},
    }


def test_what_no_utf_8_can_say_goes_out_as_an_escape(server):
    notifier = WEBHOOK.open(options(server.url), CONTEXT)
    notifier.send(NOTE._replace(title="Room \ud800", record={"labels": {"room": "\ud800"}}))
    assert json.loads(server.seen[0].body)["alert"]["labels"]["room"] == "\ud800"


@pytest.mark.parametrize("status", [201, 204])
def test_any_success_is_one(server, status):
    send(f"{server.url}/{status}")


@pytest.mark.parametrize("status", [301, 302, 307, 308, 400, 401, 403, 404, 410, 422])
def test_a_no_is_a_no_in_the_server_s_words(server, status):
    with pytest.raises(RefusedError, match=f"{status} .*: as you like"):
        send(f"{server.url}/{status}")
    assert len(server.seen) == 1  # a redirect is not followed


@pytest.mark.parametrize("status", [408, 425, 429, 500, 503])
def test_what_may_pass_is_tried_again(server, status):
    with pytest.raises(NotSentError, match=f"{status} .*: as you like") as caught:
        send(f"{server.url}/{status}")
    assert caught.value.retry_after == 0


@pytest.mark.parametrize("status", [502, 504, 524])
def test_whom_a_go_between_asked_in_vain_may_have_it(server, status):
    with pytest.raises(OSError, match=f"{status} .*: as you like") as caught:
        send(f"{server.url}/{status}")
    assert not isinstance(caught.value, NotSentError)


@pytest.mark.parametrize(("status", "seconds"), [(503, 120), (429, 120), (500, 0)])
def test_who_is_busy_says_for_how_long(server, status, seconds):
    with pytest.raises(NotSentError) as caught:
        send(f"{server.url}/{status}?retry-after=120")
    assert caught.value.retry_after == seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        (" 7 ", 7),
        ("Fri, 31 Dec 1999 23:59:59 GMT", 0),  # over already
        ("Thu, 01 Jan 1970 00:02:00 GMT", 20),
        ("", 0),
        ("-5", 0),
        ("1e9", 0),
        ("9" * 400, 0),
        ("soon", 0),
        ("Mon, 99 Foo 2024 99:99:99", 0),
    ],
)
def test_what_cannot_be_read_asks_for_nothing(text, seconds):
    now = 100.0 if "1970" in text else 2e9
    assert seconds_of(text, now) == seconds


def test_an_endless_answer_is_not_read_to_the_end(server):
    began = time.monotonic()
    send(f"{server.url}/endless")
    assert time.monotonic() - began < 5
    assert ANSWER < 1 << 20


@pytest.mark.parametrize("how", ["dripping", "heading", "silent"])
def test_the_deadline_is_one_in_all(server, how):
    began = time.monotonic()
    with pytest.raises(TimeoutError, match=r"not done after 0\.3 s"):
        send(f"{server.url}/{how}", timeout=300_000_000)
    assert time.monotonic() - began < 3


def test_the_deadline_holds_for_a_handshake_that_never_comes(authority):
    with (
        socket.create_server(("127.0.0.1", 0)) as mute,
        pytest.raises(NotSentError, match="not done after"),
    ):
        send(
            f"https://localhost:{mute.getsockname()[1]}/",
            timeout=200_000_000,
            ca=str(authority.ca),
        )


def test_nobody_there():
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    with pytest.raises(NotSentError, match="refused"):
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
        with pytest.raises(OSError, match="not an answer") as caught:
            send(f"http://127.0.0.1:{server.getsockname()[1]}/")
        assert not isinstance(caught.value, NotSentError)  # who says that it was not taken?
        thread.join()


def test_a_name_that_leads_nowhere():
    with pytest.raises(NotSentError):
        send("http://nobody.invalid/")


def test_a_server_that_proves_itself_is_told(authority):
    with serving(authority.server()) as server:
        send(f"{server.url}/200", ca=str(authority.ca))
        assert len(server.seen) == 1


def test_one_that_cannot_is_not(authority, tmp_path):
    stranger = Authority(tmp_path, "stranger")
    with serving(authority.server()) as server:
        for ca in (None, str(stranger.ca)):  # the system's, and another one
            with pytest.raises(RefusedError, match="certificate is not trusted"):
                send(f"{server.url}/200", ca=ca)
        with pytest.raises(RefusedError, match="IP address mismatch"):
            send(f"https://127.0.0.1:{server.port}/200", ca=str(authority.ca))
    with serving(authority.server("other.example")) as server:
        with pytest.raises(RefusedError, match="Hostname mismatch"):
            send(f"{server.url}/200", ca=str(authority.ca))
        assert server.seen == []


def test_no_tls_where_it_should_be_is_an_error(server, authority):
    with pytest.raises(NotSentError) as caught:  # never told in clear instead
        send(f"https://localhost:{server.port}/200", ca=str(authority.ca))
    assert isinstance(caught.value.__cause__, ssl.SSLError)
    assert server.seen == []


def test_proxies_of_the_environment_are_not_asked(server, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    send(f"{server.url}/200")
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    "url", ["ftp://a/b", "file:///etc/passwd", "http:///x", "a.b/c", "http://h:0/", "data:,x"]
)
def test_other_addresses_are_a_mistake(url):
    assert faults(url) == [("url", "this is not the address of an HTTP server")]
    with pytest.raises(RefusedError, match="url: this is not the address"):
        send(url)


@pytest.mark.parametrize(
    ("url", "given", "option"),
    [
        (f"https://me:{CANARY}@example.org/", {}, "url"),
        (f"https://example.org/{CANARY} x", {}, "url"),
        (f"https://example.org:{CANARY}/", {}, "url"),
        ("https://example.org/", {"token": f"{CANARY}\r\nX: y"}, "token"),
        ("https://example.org/", {"headers": {"X-Key": f"{CANARY}\n"}}, "headers"),
        ("https://example.org/", {"headers": {"X Key": CANARY}}, "headers"),
        ("https://example.org/", {"ca": "/dev/null"}, "ca"),
    ],
)
def test_a_mistake_is_told_without_the_secret(url, given, option):
    assert [where for where, _ in faults(url, **given)] == [option]
    with pytest.raises(RefusedError) as caught:
        send(url, **given)
    assert CANARY not in f"{caught.value!r} {faults(url, **given)}"
    assert faults("https://example.org/") == []
