"""Workers: nobody waits for anybody, nothing is told twice, a failing one tries on."""

import re
import threading
from dataclasses import replace
from time import monotonic, sleep

import pytest
from phones import HASTY, T9, Phone, Picky, again, change, make, rule, tell, way
from waiting import Diary, eventually

from hushd.core.rules import Manner, Notify, Rule
from hushd.plugin.records import Note, NotifierType
from hushd.runtime.delivery import Delivery, Patience, Way
from hushd.runtime.errands import WAITING, Errands, Waiting
from hushd.runtime.logs import Quiet
from hushd.runtime.store import VolatileStore


@pytest.fixture
def office(request):
    """Return a function that makes a delivery with the notifiers given by name."""
    opened: list[Delivery] = []

    def make(
        *rules: Rule, every: str = "", patience: Patience = HASTY, **phones: Phone
    ) -> Delivery:
        ways = [
            Way(name, NotifierType(name, "", phone.open, every=name == every), {})
            for name, phone in phones.items()
        ]
        delivery = Delivery(ways, rules or (rule(),), VolatileStore(), Quiet(), patience=patience)
        opened.append(delivery)
        return delivery

    yield make
    for delivery in opened:
        delivery.close(1)


def test_t9_each_hears_what_concerns_it(office):
    mail, phone = Phone(), Phone()
    delivery = office(mail=mail, phone=phone)
    for severity in ("warning", "critical", "warning", None):
        tell(delivery, [change(severity)])
    eventually(lambda: len(mail.heard) == 4 and len(phone.heard) == 2)
    assert mail.kinds == ["raised", "escalated", "lowered", "cleared"]
    assert phone.kinds == ["raised", "cleared"]
    assert [note.severity for note in phone.heard] == ["critical", "critical"]


def test_in_order_while_it_can_be_reached(office):
    mail = Phone()
    delivery = office(mail=mail)
    story = [change(s, n) for n in range(1, 201) for s in ("warning", None)]
    tell(delivery, story)
    eventually(lambda: len(mail.heard) == 400)
    assert [note.record["episode"] for note in mail.heard] == [t.episode for t in story]
    assert len({note.key for note in mail.heard}) == 400


def test_what_changed_while_it_was_down_is_told_once_as_it_stands(office):
    mail = Phone()
    mail.failing = True
    delivery = office(mail=mail)
    tell(delivery, [change("warning", 1), change(None, 1)])
    story = [change("warning", 1, "102"), change(None, 1, "102"), change("critical", 2, "102")]
    for later in story:
        tried = mail.tried
        eventually(lambda: mail.tried > tried)  # noqa: B023  called before the next round
        tell(delivery, [later])
    mail.failing = False
    eventually(lambda: len(mail.heard) == 2)
    assert [(note.kind, note.record["labels"]) for note in mail.heard] == [
        ("missed", {"room": "101"}),
        ("raised", {"room": "102"}),
    ]


def test_one_that_fails_or_hangs_stops_no_other(office):
    mail, phone = Phone(), Phone()
    mail.failing = True
    phone.hang = release = threading.Event()
    third = Phone()
    notify: Notify = (("info", ("mail", "phone", "third")),)
    delivery = office(rule(notify=notify), mail=mail, phone=phone, third=third)
    tell(delivery, [change("warning", notify=notify)])
    eventually(lambda: third.kinds == ["raised"])
    release.set()


def test_a_worker_that_hangs_is_replaced_and_the_note_told_again(office):
    mail = Phone()
    mail.hang = release = threading.Event()
    delivery = office(mail=mail)
    tell(delivery, [change("warning")])

    def watched() -> bool:
        delivery.watch()
        return mail.kinds == ["raised"]

    eventually(watched)
    assert mail.opened == 2
    release.set()  # the old thread comes back, and nobody waits for it
    eventually(lambda: mail.closed == 1)
    tell(delivery, [change(None)])
    eventually(lambda: mail.kinds == ["raised", "cleared"])


def test_workers_are_not_replaced_without_end(office):
    mail = Phone()
    delivery = office(mail=mail, patience=replace(HASTY, send=0.01, replaced=2))
    releases = []
    tell(delivery, [change("warning")])
    for opened in (1, 2, 3):
        eventually(lambda: delivery.watch() is None and mail.opened == opened)  # noqa: B023  called before the next round
        mail.hang = threading.Event()
        releases.append(mail.hang)
        tell(delivery, [change("critical" if opened % 2 else "warning")])
        sleep(0.05)
    for _ in range(20):
        delivery.watch()
        sleep(0.005)
    assert mail.opened == 3
    for release in releases:
        release.set()


def test_a_journal_hears_every_transition_of_its_rules_and_of_their_silence(office):
    evidence, mail = Phone(), Phone()
    notify: Notify = (("critical", ("evidence",)), ("warning", ("mail",)))
    delivery = office(
        rule("too-loud", notify), rule("other", T9), every="evidence", evidence=evidence, mail=mail
    )
    story = [
        change("warning", notify=notify),
        change("warning", event="no_data", notify=()),
        change("warning", rule="other"),
        change("warning", rule="noise/no-data", notify=(("warning", ("mail",)),)),
        change(None, notify=notify),
    ]
    tell(delivery, story)
    eventually(lambda: len(evidence.heard) == 4)
    assert [note.record["rule"] for note in evidence.heard] == [
        "too-loud",
        "too-loud",
        "noise/no-data",
        "too-loud",
    ]
    assert evidence.kinds[1] == "no_data"


def test_a_journal_that_fails_loses_nothing(office):
    evidence = Phone()
    evidence.failing = True
    notify: Notify = (("info", ("evidence",)),)
    delivery = office(rule(notify=notify), every="evidence", evidence=evidence)
    tell(delivery, [change(s, n, notify=notify) for n in range(1, 20) for s in ("warning", None)])
    eventually(lambda: evidence.tried > 2)
    evidence.failing = False
    eventually(lambda: len(evidence.heard) == 38)
    assert [note.record["episode"] for note in evidence.heard] == sorted([*range(1, 20)] * 2)


def test_after_a_day_of_trying_it_is_given_up(office):
    mail = Phone()
    mail.failing = True
    delivery = office(mail=mail, patience=replace(HASTY, give_up=0.1))
    tell(delivery, [change("warning")])
    eventually(lambda: not len(delivery._workers["mail"]._errands))
    mail.failing = False
    tell(delivery, [change("warning", room="102")])
    eventually(lambda: mail.kinds == ["raised"])


def test_what_cannot_be_opened_is_opened_later(office):
    mail = Phone()
    attempts = []

    def opened(options, context):
        attempts.append(1)
        if len(attempts) < 3:
            raise OSError("no such directory")
        return mail.open(options, context)

    way = Way("mail", NotifierType("mail", "", opened), {})
    delivery = Delivery([way], (rule(),), VolatileStore(), Quiet(), patience=HASTY)
    tell(delivery, [change("warning")])
    eventually(lambda: mail.kinds == ["raised"])
    delivery.close()


def test_closing_tells_what_can_be_told_and_does_not_wait_for_the_rest(office):
    mail, phone, hung = Phone(), Phone(), Phone()
    phone.failing = True
    hung.hang = release = threading.Event()
    notify: Notify = (("info", ("mail", "phone", "hung")),)
    delivery = office(rule(notify=notify), mail=mail, phone=phone, hung=hung)
    tell(delivery, [change("warning", notify=notify, room=str(n)) for n in range(50)])
    began = monotonic()
    delivery.close(0.5)
    assert monotonic() - began < 2
    assert len(mail.heard) == 50
    assert mail.closed == 1
    release.set()


def test_the_oldest_are_given_up_before_memory_is():
    errands = Errands("mail", {}, manner=Manner(every=True))
    one = change("warning")
    for _ in range(WAITING + 3):
        errands.add(Waiting(one))
    assert len(errands) == WAITING
    assert errands.given_up == 3


# -- the configuration is read again ---------------------------------------------------


def test_a_notifier_that_did_not_change_is_not_opened_again(office):
    mail = Phone()
    ways = [Way("mail", NotifierType("mail", "", mail.open), {})]
    delivery = Delivery(ways, [rule()], VolatileStore(), Quiet(), patience=HASTY)
    tell(delivery, [change("warning")])
    eventually(lambda: len(mail.heard) == 1)
    again(delivery, *ways)
    tell(delivery, [change(None)])
    eventually(lambda: len(mail.heard) == 2)
    assert mail.opened == 1
    delivery.close(1)


def test_one_that_changed_goes_on_where_it_was(office):
    old, new = Phone(), Phone()
    delivery = office(mail=old)
    tell(delivery, [change("warning")])
    eventually(lambda: len(old.heard) == 1)
    old.failing = True
    tell(delivery, [change("critical")])
    eventually(lambda: old.tried >= 2)
    again(delivery, way("mail", new))
    eventually(lambda: new.kinds == ["escalated"])  # that it was raised is known
    assert old.closed == 1


def test_a_change_is_tried_at_once_whatever_the_pause(office):
    old, new = Phone(), Phone()
    old.failing = True
    delivery = office(mail=old, patience=replace(HASTY, first=60, longest=60))
    tell(delivery, [change("warning")])
    eventually(lambda: delivery.state()["mail"]["failures"] == 1)
    again(delivery, way("mail", new))
    eventually(lambda: new.kinds == ["raised"])


def test_one_that_is_gone_tells_what_waits_and_ends(office):
    mail, phone = Phone(), Phone()
    mail.hang = threading.Event()
    delivery = office(mail=mail, phone=phone, patience=Patience())
    tell(delivery, [change("warning")])
    eventually(lambda: mail.tried == 1)
    again(delivery, way("phone", phone))
    assert list(delivery.state()) == ["phone"]
    tell(delivery, [change("critical")])
    eventually(lambda: phone.kinds == ["raised"])
    assert mail.heard == []


def test_who_was_told_hears_the_end_though_the_rule_names_it_no_more(office):
    mail, phone = Phone(), Phone()
    delivery = office(mail=mail, phone=phone)
    tell(delivery, [change("critical")])
    eventually(lambda: len(mail.heard) == len(phone.heard) == 1)
    tell(delivery, [change("warning", notify=(("warning", ("mail",)),))])
    tell(delivery, [change(None, notify=(("warning", ("mail",)),))])
    eventually(lambda: phone.kinds == ["raised", "cleared"])


def test_the_state_says_when_it_went_well_and_when_not(office):
    mail = Phone()
    delivery = office(mail=mail)
    assert delivery.state()["mail"] | {"busy_s": None} == {
        "type": "mail",
        "waiting": 0,
        "held": 0,
        "told_at": None,
        "failed_at": None,
        "error": "",
        "failures": 0,
        "given_up": 0,
        "untold": [],
        "stuck": False,
        "busy_s": None,
    }
    mail.failing = True
    tell(delivery, [change("warning")])
    eventually(lambda: delivery.state()["mail"]["error"] == "line is down")
    assert delivery.state()["mail"]["waiting"] == 1
    mail.failing = False
    eventually(lambda: delivery.state()["mail"]["told_at"] is not None)
    state = delivery.state()["mail"]
    assert state["told_at"] > state["failed_at"]
    assert (state["failures"], state["waiting"]) == (0, 0)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_dies_gets_a_successor_but_not_for_ever(office, monkeypatch):
    def settle(self, name, rows, news=None) -> None:
        if name == "mail":
            raise SystemExit

    monkeypatch.setattr(VolatileStore, "settle", settle)
    mail, phone = Phone(), Phone()
    delivery = office(mail=mail, phone=phone)
    for tries in range(1, HASTY.replaced + 2):
        tell(delivery, [change("critical" if tries % 2 else None)])
        eventually(lambda: delivery.state()["mail"]["stuck"])
        delivery.watch()
    delivery.watch()
    assert len(mail.heard) == HASTY.replaced + 1
    assert delivery.state()["mail"]["stuck"]
    assert not delivery.state()["phone"]["stuck"]
    assert phone.kinds[0] == "raised"


class OddError(BaseException):
    pass


@pytest.mark.parametrize("what", [SystemExit(3), KeyboardInterrupt(), OddError("odd")], ids=repr)
def test_whatever_a_plugin_raises_is_a_failure_and_no_more(office, what):
    class Moody(Phone):
        def open(self, options, context) -> Phone:
            super().open(options, context)
            if self.opened == 1:
                raise what
            return self

        def send(self, note: Note) -> None:
            if self.tried == 0:
                self.tried += 1
                raise what
            super().send(note)

        def close(self) -> None:
            super().close()
            raise what

    mail, phone = Moody(), Phone()
    delivery = office(mail=mail, phone=phone)
    tell(delivery, [change("critical")])
    eventually(lambda: mail.kinds == phone.kinds == ["raised"])
    assert not delivery.state()["mail"]["stuck"]
    delivery.close(1)
    assert mail.closed == 1


def test_pauses_double_and_are_anything_up_to_that(monkeypatch):
    bounds: list[tuple[float, float]] = []

    def uniform(low: float, high: float) -> float:
        bounds.append((low, high))
        return 0.001

    monkeypatch.setattr("hushd.runtime.fortune.random.uniform", uniform)
    mail = Phone()
    mail.failing = True
    delivery = make(mail, Diary(), replace(HASTY, first=5, longest=300))
    tell(delivery, [change("warning")])
    eventually(lambda: len(bounds) > 8)
    delivery.close(1)
    assert bounds[:9] == [(0, high) for high in (5, 10, 20, 40, 80, 160, 300, 300, 300)]


def test_a44_what_could_not_be_told_for_hours_is_told_once_and_as_late(monkeypatch):
    mail, log = Phone(), Diary()
    mail.failing = True
    delivery = make(mail, log, HASTY)
    tell(delivery, [change("warning"), change(None), change("critical", 2)])
    eventually(lambda: mail.tried > 3)
    clock = monotonic
    monkeypatch.setattr("hushd.runtime.worker.time.monotonic", lambda: clock() + 3 * 3600)
    mail.failing = False
    eventually(lambda: len(mail.heard) == 1)
    delivery.close(1)
    (note,) = mail.heard
    assert note.kind == "raised"
    assert note.title.startswith("[late 3 h")
    assert re.search(r"^It happened at .* UTC; told at .* UTC\.$", note.text, re.MULTILINE)


def test_a42_what_is_so_at_the_start_is_told_when_the_notifier_is_ready():
    mail, log = Phone(), Diary()
    mail.failing = True
    delivery = make(mail, log, HASTY)
    tell(delivery, [change("warning")])  # and nothing changes after that
    eventually(lambda: mail.tried > 5)
    mail.failing = False
    eventually(lambda: mail.kinds == ["raised"])
    assert not mail.heard[0].title.startswith("[late")  # within two minutes
    delivery.close(1)


def test_what_is_refused_holds_up_no_other_and_waits_for_news():
    mail, log = Picky(), Diary()
    delivery = make(mail, log, HASTY)
    tell(delivery, [change("warning"), change("warning", room="102")])
    eventually(lambda: mail.kinds == ["raised"])
    assert mail.heard[0].record["labels"] == {"room": "102"}
    eventually(lambda: len(log.all("notifier.refused")) == 2)  # at once, and after the other
    sleep(5 * HASTY.longest)  # an hour would pass
    assert len(log.all("notifier.refused")) == 2
    mail.odd = "nothing"  # somebody has seen to it
    tell(delivery, [change("warning", room="103")])
    eventually(lambda: len(mail.heard) == 3)
    assert log.all("notifier.failed") == []
    assert "notify-test mail" in log.all("notifier.refused")[0]["hint"]
    delivery.close(1)


def test_what_a_plugin_stumbles_over_holds_up_no_other():
    class Clumsy(Phone):
        def send(self, note: Note) -> None:
            if "room 101" in note.title.lower():
                raise KeyError("room")
            super().send(note)

    mail = Clumsy()
    delivery = make(mail, Diary(), HASTY)
    tell(delivery, [change("warning"), change("warning", room="102")])
    eventually(lambda: [note.record["labels"] for note in mail.heard] == [{"room": "102"}])
    delivery.close(1)


def test_closing_does_not_wait_for_an_hour_to_pass():
    mail, log = Picky(), Diary()
    delivery = make(mail, log, HASTY)
    tell(delivery, [change("warning")])
    eventually(lambda: log.all("notifier.refused"))
    began = monotonic()
    delivery.close(5)
    assert monotonic() - began < 2


def test_no_secret_is_shown_whoever_speaks_of_it():
    class Chatty(Phone):
        def send(self, note: Note) -> None:
            raise OSError("no answer from https://me:canary-1@bell.lan/hooks/canary-2?k=canary-3")

    log = Diary()
    secret = "https://me:canary-1@bell.lan/hooks/canary-2?k=canary-3"
    for secrets in ((secret,), ("canary-1", "canary-2", "canary-3")):
        delivery = make(Chatty(), log, HASTY, *secrets)
        tell(delivery, [change("warning")])
        eventually(lambda delivery=delivery: delivery.state()["mail"]["failures"])
        assert "canary" not in str(delivery.state())
        delivery.close(1)
    assert log.all("notifier.failed")
    assert "canary" not in str(log.lines)
