"""Alertmanager itself is told, and says what it knows and what it told people."""

import json
import socket
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.error import HTTPError

import pytest
from certificates import Authority
from http_server import Server, serving
from hypothesis import given, settings
from hypothesis import strategies as st
from real_alertmanager import RealAlertmanager
from waiting import eventually

from hushd.plugin import Context, Note, NotSentError, RefusedError
from hushd_notify.alertmanager import ALERTMANAGER, RESERVED, identity

CANARY = "canary-of-the-bell"
CONTEXT = Context("bell", "Hotel Adler", print)
NOW = datetime.now(UTC).replace(microsecond=0)
BEGAN = NOW - timedelta(minutes=10)
#: bcrypt of "swordfish"
USER = "basic_auth_users: {hushd: $2b$04$abcdefghijklmnopqrstuugIEnm3ZbWF6xb2GcoE3L1CoGJFMKtu.}\n"


def note(
    kind: str, severity: str | None, *, rule: str = "loud", minutes: int = 10, **more: Any
) -> Note:
    """Return a note of what happened so many *minutes* after the alert began."""
    record = {
        "at": stamp(BEGAN + timedelta(minutes=minutes)),
        "started": stamp(BEGAN),
        "rule": rule,
        "labels": {"room": "101"},
        "event": kind,
        "severity": severity,
        "was": None,
        "value": 72.3,
        "limit": 70.0,
        "unit": "dBA",
        "episode": 3,
        "id": "k0",
    }
    return Note(kind, "Room 101: loud", "Since 22:30.", severity, "k1", record | more)


def stamp(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def options(url: str, **given: object) -> dict[str, object]:
    return {option.name: option.default for option in ALERTMANAGER.options} | {"url": url} | given


def send(url: str, *notes: Note, **given: object) -> None:
    notifier = ALERTMANAGER.open(options(url, **given), CONTEXT)
    for told in notes:
        notifier.send(told)
    notifier.close()


def faults(url: str = "http://localhost:9093", **given: object) -> list[tuple[str, str]]:
    assert ALERTMANAGER.check is not None
    return [(fault.option, fault.message) for fault in ALERTMANAGER.check(options(url, **given))]


@pytest.fixture(scope="module")
def people() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture(scope="module")
def shared(tmp_path_factory, people) -> Iterator[RealAlertmanager]:
    """One for all tests of rules of their own."""
    alertmanager = RealAlertmanager(tmp_path_factory.mktemp("am"), f"{people.url}/200").start()
    yield alertmanager
    alertmanager.stop()


@pytest.fixture
def start(tmp_path, people) -> Iterator[Callable[..., RealAlertmanager]]:
    """Return what starts one with settings of its own."""
    running: list[RealAlertmanager] = []

    def one(**given: str) -> RealAlertmanager:
        running.append(RealAlertmanager(tmp_path, f"{people.url}/200", **given))
        return running[-1].start()

    yield one
    for alertmanager in running:
        alertmanager.stop()


@pytest.fixture
def rule(request) -> str:
    """A name that no other test has."""
    return str(request.node.name)


def on(alertmanager: RealAlertmanager, rule: str) -> dict[str, dict[str, Any]]:
    """Return what Alertmanager says of a rule, by severity."""
    found = [alert for alert in alertmanager.alerts() if alert["labels"]["alertname"] == rule]
    by_severity = {alert["labels"]["severity"]: alert for alert in found}
    assert len(by_severity) == len(found), "two that differ in more than severity"
    return by_severity


def heard(people: Server, rule: str) -> list[tuple[str, str]]:
    """Return what people were told of a rule: state and severity, in order."""
    groups = [json.loads(seen.body) for seen in people.seen]
    return [
        (alert["status"], alert["labels"]["severity"])
        for group in groups
        for alert in group["alerts"]
        if alert["labels"]["alertname"] == rule
    ]


def test_what_is_raised_is_on(shared, rule):
    send(
        shared.url,
        note("raised", "warning", rule=rule),
        labels={"team": "night"},
        generator_url="https://hushd.example.org/",
    )
    (alert,) = on(shared, rule).values()
    assert alert["labels"] == {
        "alertname": rule,
        "severity": "warning",
        "site": "Hotel Adler",
        "room": "101",
        "team": "night",
    }
    assert alert["annotations"] == {
        "summary": "Room 101: loud",
        "description": "Since 22:30.",
        "value": "72.3",
        "limit": "70",
        "unit": "dBA",
        "episode": "3",
        "event_id": "k1",
    }
    assert moment(alert["startsAt"]) == BEGAN
    lasts = moment(alert["endsAt"]) - datetime.now(UTC)
    assert timedelta(hours=23) < lasts <= timedelta(days=1)
    assert alert["generatorURL"] == "https://hushd.example.org/"


def wait_for_people(alertmanager: RealAlertmanager, people: Server, rule: str) -> None:
    """Return when people would have heard of what was told before: they hear of something later."""
    later = f"after-{rule}-{len(people.seen)}"
    send(alertmanager.url, note("raised", "info", rule=later))
    eventually(lambda: heard(people, later))


def test_each_change_leaves_one_alert_on_and_the_end_none(shared, people, rule):
    told = []
    for kind, severity, was in [
        ("raised", "warning", None),
        ("escalated", "critical", "warning"),
        ("lowered", "warning", "critical"),
        ("escalated", "critical", "warning"),
        ("cleared", "critical", "critical"),
    ]:
        send(shared.url, note(kind, severity, rule=rule, was=was))
        expected = [] if kind == "cleared" else [severity]
        assert list(on(shared, rule)) == expected
        for alert in on(shared, rule).values():
            assert moment(alert["startsAt"]) == BEGAN
        newest = ("firing" if expected else "resolved", severity)
        told.append(newest)
        eventually(lambda newest=newest: heard(people, rule)[-2:].count(newest))
    assert set(heard(people, rule)) == {
        *[("firing", "warning"), ("firing", "critical")],
        *[("resolved", "warning"), ("resolved", "critical")],
    }, "nobody hears of the end of an info that never was"


def test_what_was_held_back_does_not_leave_the_old_one_on(shared, rule):
    send(shared.url, note("raised", "warning", rule=rule))
    # it rose to critical meanwhile, and this notifier was not told
    send(shared.url, note("lowered", "info", rule=rule, was="critical"))
    assert list(on(shared, rule)) == ["info"]


def test_one_that_is_raised_again_is_another_one(shared, rule):
    send(shared.url, note("raised", "warning", rule=rule))
    later = BEGAN + timedelta(minutes=5)
    send(shared.url, note("raised_again", "warning", rule=rule, started=stamp(later)))
    (alert,) = on(shared, rule).values()
    assert moment(alert["startsAt"]) == later


def test_other_alerts_of_the_rule_stay_as_they_are(shared, rule):
    for room in ("101", 'a "quoted\\\n{room}', "\ud800", ""):
        send(shared.url, note("raised", "warning", rule=rule, labels={"room": room}))
    assert len(shared.alerts()) >= 4
    left = {alert["labels"].get("room") for alert in shared.alerts()}
    assert left >= {"101", 'a "quoted\\\n{room}', "\ufffd", None}
    for room in ('a "quoted\\\n{room}', "\ud800", ""):
        changed = note("escalated", "critical", rule=rule, labels={"room": room}, was="warning")
        send(shared.url, changed)
        send(shared.url, note("cleared", "critical", rule=rule, labels={"room": room}))
    (alert,) = on(shared, rule).values()
    assert (alert["labels"]["room"], alert["labels"]["severity"]) == ("101", "warning")


def test_the_same_note_twice_changes_nothing(shared, rule):
    escalated = note("escalated", "critical", rule=rule, was="warning")
    send(shared.url, note("raised", "warning", rule=rule), escalated)
    first = on(shared, rule)
    send(shared.url, escalated._replace(again=True))
    second = on(shared, rule)
    for alert in (*first.values(), *second.values()):
        del alert["endsAt"], alert["updatedAt"]  # later by the moment between them
    assert first == second


def test_what_came_and_went_is_not_on(shared, people, rule):
    send(shared.url, note("missed", "warning", rule=rule))
    assert on(shared, rule) == {}
    wait_for_people(shared, people, rule)
    assert heard(people, rule) == []


def test_a_test_is_over_by_itself(shared, rule):
    test = Note("test", "Test of bell", "Nothing is wrong.", "info", "t1", {"rule": rule})
    send(shared.url, test)
    (alert,) = on(shared, rule).values()
    lasts = moment(alert["endsAt"]) - datetime.now(UTC)
    assert timedelta(0) < lasts <= timedelta(minutes=5)


def test_without_word_an_alert_ends_by_itself(shared, rule):
    raised = note("raised", "warning", rule=rule)
    send(shared.url, raised, refresh=10**9, expires=3 * 10**9)
    assert list(on(shared, rule)) == ["warning"]
    eventually(lambda: on(shared, rule) == {})


def test_readings_from_the_future_are_of_now(shared, rule):
    send(shared.url, note("raised", "warning", rule=rule, started=stamp(NOW + timedelta(days=1))))
    (alert,) = on(shared, rule).values()
    assert moment(alert["startsAt"]) <= datetime.now(UTC)
    send(shared.url, note("cleared", "warning", rule=rule, minutes=60 * 24))
    assert on(shared, rule) == {}


def test_a_silence_there_keeps_it_from_people_and_not_from_sight(shared, people, rule):
    shared.silence(rule, stamp(NOW), stamp(NOW + timedelta(hours=1)))
    send(shared.url, note("raised", "warning", rule=rule))
    assert on(shared, rule)["warning"]["status"]["state"] == "suppressed"
    send(shared.url, note("lowered", "info", rule=rule, was="critical"))
    assert list(on(shared, rule)) == ["info"]  # it finds the silenced one, too
    wait_for_people(shared, people, rule)
    assert heard(people, rule) == []


def test_what_it_forgot_is_back_with_the_next_repeat(start, people, rule):
    alertmanager = start()
    send(alertmanager.url, note("raised", "warning", rule=rule))
    eventually(lambda: heard(people, rule) == [("firing", "warning")])
    wait_for_people(alertmanager, people, rule)  # meanwhile it takes down what it told them
    alertmanager.stop()
    with pytest.raises(NotSentError, match="refused"):
        send(alertmanager.url, note("repeat", "warning", rule=rule))
    alertmanager.start()
    assert on(alertmanager, rule) == {}
    send(alertmanager.url, note("repeat", "warning", rule=rule))
    (alert,) = on(alertmanager, rule).values()
    assert moment(alert["startsAt"]) == BEGAN
    wait_for_people(alertmanager, people, rule)
    assert heard(people, rule) == [("firing", "warning")]  # nobody is woken for it


def test_who_heard_of_one_that_it_forgot_hears_of_its_end(start, people, rule):
    alertmanager = start()
    send(alertmanager.url, note("raised", "warning", rule=rule))
    eventually(lambda: heard(people, rule) == [("firing", "warning")])
    wait_for_people(alertmanager, people, rule)  # meanwhile it takes down what it told them
    alertmanager.stop()
    alertmanager.start()
    send(alertmanager.url, note("cleared", "warning", rule=rule))
    eventually(lambda: heard(people, rule)[1:] == [("resolved", "warning")])


def test_it_may_stand_below_another_address(start, rule):
    alertmanager = start(prefix="/am")
    send(f"{alertmanager.url}/", note("raised", "info", rule=rule))
    assert alertmanager.severities() == ["info"]


def test_a_wrong_address_is_refused(shared):
    with pytest.raises(RefusedError, match="404"):
        send(f"{shared.url}/elsewhere", note("raised", "info"))


def test_what_it_cannot_read_is_refused_in_its_words(shared):
    with pytest.raises(RefusedError, match=r"422 .*generatorURL"):
        send(shared.url, note("raised", "info"), generator_url="https://hushd.example.org/%zz")


def test_only_who_logs_in_is_heard(start, rule):
    alertmanager = start(web=USER)
    raised = note("raised", "info", rule=rule)
    for login in ({}, {"username": "hushd", "password": CANARY}, {"token": CANARY}):
        for told in (raised, note("escalated", "critical", rule=rule)):
            with pytest.raises(RefusedError, match="401") as caught:
                send(alertmanager.url, told, **login)
            assert CANARY not in repr(caught.value)
    login = {"username": "hushd", "password": "swordfish"}
    send(alertmanager.url, raised, note("escalated", "critical", rule=rule), **login)
    with pytest.raises(HTTPError, match="401"):  # nor does anybody else get in
        alertmanager.alerts()


def test_it_must_prove_who_it_is(start, tmp_path, rule):
    authority = Authority(tmp_path)
    certificate, key = authority.issue()
    web = f"tls_server_config: {{cert_file: {certificate}, key_file: {key}}}\n"
    alertmanager = start(web=web, ca=authority.ca)
    raised = note("raised", "info", rule=rule)
    with pytest.raises(RefusedError, match="certificate is not trusted"):
        send(alertmanager.url, raised)
    send(alertmanager.url, raised, ca=str(authority.ca))
    assert alertmanager.severities() == ["info"]


def test_a_token_goes_along():
    with serving() as server:
        send(server.url, note("raised", "info"), token="t0ken")
        ((path, headers, _),) = server.seen
    assert path == "/api/v2/alerts"
    assert headers["Authorization"] == "Bearer t0ken"


@pytest.mark.parametrize("kind", ["escalated", "cleared"])
def test_one_that_may_not_be_asked_is_told_of_each_end(kind):
    with serving() as server:  # it answers nothing but posts
        send(server.url, note(kind, "critical"))
        (posted,) = [json.loads(seen.body) for seen in server.seen]
    ends = {alert["labels"]["severity"]: moment(alert["endsAt"]) for alert in posted}
    assert list(ends) == ["info", "warning", "critical"]
    assert {severity for severity, end in ends.items() if end > datetime.now(UTC)} == (
        {"critical"} if kind == "escalated" else set()
    )


def test_nothing_is_told_where_the_question_gets_no_answer():
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"http://127.0.0.1:{mute.getsockname()[1]}"
        with pytest.raises(NotSentError, match="not done after"):
            send(url, note("escalated", "critical"), timeout=200_000_000)
        with pytest.raises(TimeoutError):  # it may have this one
            send(url, note("raised", "critical"), timeout=200_000_000)


NAMES = st.from_regex(r"(label_)?(alertname|severity|site|team|room|a)", fullmatch=True)


@settings(max_examples=300, deadline=None)
@given(
    st.dictionaries(NAMES, st.sampled_from(["1", "2"])),
    st.dictionaries(NAMES, st.sampled_from(["1", "2"])),
    st.dictionaries(NAMES.filter(lambda name: name not in RESERVED), st.just("static")),
)
def test_two_alerts_never_become_one(one, other, static):
    other = {name: other.get(name, value) for name, value in one.items()}  # as of one rule
    first, second = (
        identity({"rule": "loud", "labels": labels}, "Adler", static) for labels in (one, other)
    )
    assert (first == second) == (one == other)
    assert first.items() >= {"alertname": "loud", "site": "Adler", **static}.items()
    assert "severity" not in first


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ({"url": "ftp://a/b"}, "url"),
        ({"url": f"https://me:{CANARY}@example.org"}, "url"),
        ({"url": "http://localhost:9093/api/v2/alerts"}, "url"),
        ({"url": "http://localhost:9093/?x=1"}, "url"),
        ({"generator_url": "here"}, "generator_url"),
        ({"labels": {"severity": "page"}}, "labels"),
        ({"labels": {"alertname": "x"}}, "labels"),
        ({"labels": {"a-b": "x"}}, "labels"),
        ({"labels": {"__name__": "x"}}, "labels"),
        ({"token": f"{CANARY} x"}, "token"),
        ({"username": "me"}, "username"),
        ({"username": "me:you", "password": CANARY}, "username"),
        ({"username": "me", "password": CANARY, "token": CANARY}, "token"),
        ({"password": CANARY}, "password"),
        ({"ca": "/dev/null"}, "ca"),
        ({"refresh": 60 * 10**9, "expires": 179 * 10**9}, "expires"),
    ],
)
def test_a_mistake_is_told_where_it_was_made(given, option):
    assert [where for where, _ in faults(**given)] == [option]
    assert CANARY not in str(faults(**given))
    with pytest.raises(RefusedError, match=f"^{option}: "):
        ALERTMANAGER.open(options("http://localhost:9093") | given, CONTEXT)


def test_what_is_sound_is_no_mistake():
    assert faults() == []
    assert faults(labels={"team": "x"}, username="me", password="x") == []
    secret_not_there = options("https://example.org", username="me")
    del secret_not_there["password"]
    assert ALERTMANAGER.check is not None
    assert list(ALERTMANAGER.check(secret_not_there)) == []
