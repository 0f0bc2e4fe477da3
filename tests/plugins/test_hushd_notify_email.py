"""Mail against a real mail server that really speaks TLS."""

import socket
import threading
import time
from email.utils import parsedate_to_datetime

import pytest
from certificates import Authority
from mail_server import PASSWORD, mail_server

from hushd.plugin import Context, Note, NotSentError, RefusedError
from hushd_notify.mail import EMAIL

NOTE = Note(
    "raised", "Room Küche: noise over 5m is 72.3 dBA", "Since 22:30.\nRule: r.", "warning", "k1", {}
)
TO = ("caretaker@example.org", "owner@example.org")


@pytest.fixture(scope="module")
def authority(tmp_path_factory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"))


def options(**given: object) -> dict[str, object]:
    needed = {"host": "localhost", "from": "Hotel Ädler <hushd@example.org>", "to": TO}
    return {option.name: option.default for option in EMAIL.options} | needed | given


def send(note: Note = NOTE, log: object = print, **given: object) -> None:
    notifier = EMAIL.open(options(**given), Context("mail", "Hotel Adler", log))
    notifier.send(note)
    notifier.close()


def faults(**given: object) -> list[str]:
    assert EMAIL.check is not None
    return [f"{fault.option}: {fault.message}" for fault in EMAIL.check(options(**given))]


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_a_note_is_mailed(authority, security):
    at_once = security == "tls"
    with mail_server(authority.server(), at_once=at_once) as box:
        send(port=box.port, security=security, ca=str(authority.ca))
    (mail,) = box.mails
    assert box.encrypted == [True]
    assert box.receivers == [list(TO)]
    assert mail["Subject"] == NOTE.title
    assert str(mail["From"]) == "Hotel Ädler <hushd@example.org>"
    assert str(mail["To"]) == ", ".join(TO)
    assert mail["Message-ID"] == "<k1@example.org>"
    assert mail["Auto-Submitted"] == "auto-generated"
    assert abs(parsedate_to_datetime(mail["Date"]).timestamp() - time.time()) < 60
    assert mail.get_content_type() == "text/plain"
    assert mail.get_content().replace("\r\n", "\n") == (
        f"{NOTE.title}\n\nSince 22:30.\nRule: r.\n\n-- \nhushd, Hotel Adler\n"
    )


def test_the_same_note_has_the_same_id(authority):
    with mail_server(authority.server()) as box:
        for _ in range(2):
            send(port=box.port, ca=str(authority.ca))
    assert len({mail["Message-ID"] for mail in box.mails}) == 1


def test_a_long_title_stays_on_its_line():
    with mail_server() as box:
        for title in (f"Room 101: {'noise ' * 20}(worst 80 dBA)", "ä" * 500):
            send(NOTE._replace(title=title), port=box.port, security="none")
    long, longer = box.mails
    assert long["Subject"] == f"Room 101: {'noise ' * 20}(worst 80 dBA)"
    assert longer["Subject"] == "ä" * 199 + "…"
    assert longer.get_content().startswith("ä" * 500)


def test_a_password_goes_where_it_belongs(authority):
    login = {"username": "hushd", "password": PASSWORD, "ca": str(authority.ca)}
    with mail_server(authority.server(), login=True) as box:
        send(port=box.port, **login)
        with pytest.raises(RefusedError, match="535"):
            send(port=box.port, **(login | {"password": "wrong"}))
        with pytest.raises(RefusedError, match="530"):
            send(port=box.port, ca=str(authority.ca))
    assert set(box.users) == {"hushd"}
    assert len(box.mails) == 1


def test_one_that_cannot_prove_itself_gets_nothing(authority, tmp_path):
    stranger = Authority(tmp_path, "stranger")
    for at_once in (False, True):
        security = "tls" if at_once else "starttls"
        with mail_server(authority.server(), at_once=at_once, login=not at_once) as box:
            for given in (
                {"ca": None},
                {"ca": str(stranger.ca)},
                {"ca": str(authority.ca), "host": "127.0.0.1"},
            ):
                login = {"username": "hushd", "password": PASSWORD}
                with pytest.raises(RefusedError, match="certificate is not trusted"):
                    send(port=box.port, security=security, **login, **given)
        assert (box.mails, box.users) == ([], [])


def test_a_server_without_tls_gets_nothing_unless_it_is_meant(authority):
    with mail_server() as box:
        with pytest.raises(RefusedError, match="no STARTTLS"):
            send(port=box.port, ca=str(authority.ca))
        send(port=box.port, security="none")
    assert box.encrypted == [False]


@pytest.mark.parametrize(
    ("answer", "error"),
    [("451 try later", NotSentError), ("421 busy", NotSentError), ("554 no", RefusedError)],
)
def test_what_the_server_says_counts(answer, error):
    with mail_server() as box:
        box.answer = answer
        with pytest.raises(error, match=answer):
            send(port=box.port, security="none")


def test_receivers_are_refused_one_by_one():
    said: list[tuple[str, dict]] = []

    def log(event: str, **fields: object) -> None:
        said.append((event, fields))

    with mail_server() as box:
        box.refused = {TO[0]: "550 no such user"}
        send(port=box.port, security="none", log=log)  # one has it: again would be twice
        assert box.receivers == [[TO[1]]]
        ((event, fields),) = said
        assert event == "mail.receiver_refused"
        assert fields["receivers"] == [TO[0]]
        box.refused[TO[1]] = "450 come back"  # greylisted
        with pytest.raises(NotSentError, match="450 come back"):
            send(port=box.port, security="none")
        box.refused[TO[1]] = "550 nor this one"
        with pytest.raises(RefusedError, match="550 nor this one"):
            send(port=box.port, security="none")


def test_no_line_of_a_room_becomes_a_header():
    note = NOTE._replace(
        title="Room\r\nBcc: all@example.org\x00", text="a\r\n.\r\nb\ud800", key="\n"
    )
    with mail_server() as box:
        send(note, port=box.port, security="none")
    (mail,) = box.mails
    assert mail["Bcc"] is None
    assert mail["Subject"] == "Room Bcc: all@example.org"
    assert mail.get_content().splitlines()[2:5] == ["a", ".", "b"]
    assert box.receivers == [list(TO)]


def test_the_deadline_is_one_in_all():
    def drip(server: socket.socket) -> None:
        peer, _ = server.accept()
        with peer:
            peer.settimeout(0.05)
            peer.sendall(b"220-")
            while True:
                try:
                    if peer.recv(100) == b"":
                        return
                except TimeoutError:
                    peer.sendall(b"x")
                except OSError:
                    return

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=drip, args=(server,))
        thread.start()
        began = time.monotonic()
        with pytest.raises(NotSentError, match=r"not done after 0\.3 s"):
            send(port=server.getsockname()[1], security="none", timeout=300_000_000)
        assert time.monotonic() - began < 3
        thread.join()


def test_a_mail_whose_receipt_is_lost_may_have_arrived():
    def take(server: socket.socket) -> None:
        peer, _ = server.accept()
        with peer, peer.makefile("rb") as said:
            peer.sendall(b"220 here\r\n")
            while said.readline() != b"data\r\n":
                peer.sendall(b"250 yes\r\n")
            peer.sendall(b"354 go on\r\n")
            while said.readline() != b".\r\n":  # the whole mail, and not a word more
                pass

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=take, args=(server,))
        thread.start()
        with pytest.raises(OSError, match="SMTPServerDisconnected") as caught:
            send(port=server.getsockname()[1], security="none")
        assert not isinstance(caught.value, NotSentError)
        thread.join()


def test_nobody_there():
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    with pytest.raises(NotSentError, match="refused"):
        send(port=port, security="none")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, []),
        ({"security": "none", "host": "localhost", "username": "a", "password": "b"}, []),
        (
            {"security": "none", "host": "mail.lan", "username": "a", "password": "b"},
            ["security: the password would travel for everybody to read"],
        ),
        ({"username": "a"}, ["username: username and password go together"]),
        ({"password": "b"}, ["password: username and password go together"]),
        ({"to": ()}, ["to: the list is empty"]),
        ({"to": ("a@b", "a b@c")}, ['to: "a b@c" is not an address of mail']),
        ({"from": "a@b\nBcc: c@d"}, ['from: "a@b Bcc: c@d" is not an address of mail']),
        ({"security": "none", "ca": "/x"}, ["ca: without TLS there is no certificate to check"]),
        (
            {"ca": "/no/such/file"},
            ["ca: cannot read certificates from the file: No such file or directory"],
        ),
    ],
)
def test_mistakes_are_found_when_the_configuration_is_read(given, said):
    assert faults(**given) == said
