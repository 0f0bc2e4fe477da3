"""Threads that tell people, and what holds them back, reminds them, or stands in for them."""

import time
from dataclasses import replace
from time import sleep
from typing import Any

from memory_store import Disk, MemoryStore
from phones import HASTY, Lossy, Phone, change, post, rule
from waiting import eventually

from hushd.core.mutes import Ack, Mute
from hushd.core.reconcile import Told
from hushd.core.rules import Manner, Notify, Rate, Rule
from hushd.plugin.records import NotifierType
from hushd.runtime.delivery import Delivery, Way
from hushd.runtime.logs import Quiet

SECOND = 10**9
ONLY_MAIL: Notify = (("info", ("mail",)),)
ALERT = ("too-loud", (("room", "101"),))


def way(name: str, phone: Phone, **manner: Any) -> Way:
    return Way(name, NotifierType(name, "", phone.open), {}, manner=Manner(**manner))


def office(
    disk: Disk, *ways: Way, rules: tuple[Rule, ...] = (), **more: Any
) -> tuple[Delivery, MemoryStore]:
    patience = replace(HASTY, give_up=None)  # as each one's manner says
    store = MemoryStore(disk, time.time_ns)
    rules = rules or (rule(notify=ONLY_MAIL),)
    return Delivery(ways, rules, store, Quiet(), patience=patience, **more), store


def silence(seconds: float, number: int = 1) -> Mute:
    now = time.time_ns()
    return Mute(number, "", (), now, now + round(seconds * SECOND), "painters")


def loud(severity: Any = "warning", episode: int = 1, room: str = "101", **more: Any) -> Any:
    return change(severity, episode, room, **{"notify": ONLY_MAIL, **more})


def test_a_silence_that_ends_by_itself_wakes_those_who_tell():
    mail = Phone()
    delivery, store = office(Disk(), way("mail", mail))
    delivery.announce([silence(0.3)], [])
    post(delivery, store, loud())
    assert mail.heard == []
    assert delivery.state()["mail"]["held"] <= 1  # it has not looked yet, or it has
    eventually(lambda: mail.kinds == ["raised"])
    assert not mail.heard[0].title.startswith("[late")
    delivery.close(1)


def test_a_silence_that_somebody_ends_wakes_them_too():
    mail = Phone()
    delivery, store = office(Disk(), way("mail", mail))
    delivery.announce([silence(3600)], [])
    post(delivery, store, loud())
    eventually(lambda: delivery.state()["mail"]["held"] == 1)
    assert mail.heard == []
    delivery.announce([], [])
    eventually(lambda: mail.kinds == ["raised"])
    delivery.close(1)


def test_a_restart_inside_a_silence_is_as_quiet_as_the_silence():
    disk, mail = Disk(), Phone()
    delivery, store = office(disk, way("mail", mail))
    store.keep_mute(silence(3600))
    delivery.announce(store.mutes(), store.acks())
    post(delivery, store, loud())
    delivery.close(1)
    assert len(disk.outbox) == 1
    delivery, store = office(disk, way("mail", mail))
    eventually(lambda: delivery.state()["mail"]["held"] == 1)
    sleep(0.05)
    assert mail.heard == []
    delivery.announce([], [])
    eventually(lambda: mail.kinds == ["raised"] and not disk.outbox)
    delivery.close(1)


def test_an_alert_that_explains_others_holds_them_back_though_nobody_hears_of_it():
    mail = Phone()
    rules = (rule(notify=ONLY_MAIL), rule("gateway", ()))
    rules = (replace(rules[0], mute_while=("gateway",)), rules[1])
    delivery, store = office(Disk(), way("mail", mail), rules=rules)
    gateway = change("critical", rule="gateway", labels=(), notify=())
    post(delivery, store, loud(), gateway)  # at once: the one that explains counts
    eventually(lambda: delivery.state()["mail"]["held"] == 1)
    post(delivery, store, replace(gateway, severity=None, event="cleared"))
    eventually(lambda: mail.kinds == ["raised"])
    delivery.close(1)


def test_how_alerts_stood_before_the_start_counts():
    mail = Phone()
    rules = (replace(rule(notify=ONLY_MAIL), mute_while=("gateway",)), rule("gateway", ()))
    standing = [(("gateway", ()), "critical")]
    delivery, store = office(Disk(), way("mail", mail), rules=rules, standing=standing)
    post(delivery, store, loud())
    eventually(lambda: delivery.state()["mail"]["held"] == 1)
    assert mail.heard == []
    delivery.close(1)


def test_reminders_come_by_themselves_until_somebody_minds():
    mail, disk = Phone(), Disk()
    rules = (replace(rule(notify=ONLY_MAIL), repeat=(SECOND // 20,)),)
    delivery, store = office(disk, way("mail", mail), rules=rules)
    post(delivery, store, loud())
    eventually(lambda: len(mail.heard) >= 4)
    delivery.announce([], [Ack(*ALERT, 1, 0, "on my way")])
    sleep(0.1)
    heard = len(mail.heard)
    sleep(0.2)
    assert len(mail.heard) == heard
    assert mail.kinds == ["raised", *["repeat"] * (heard - 1)]
    assert len({note.key for note in mail.heard}) == heard
    assert disk.told["mail"][ALERT].repeats == heard - 1
    delivery.close(1)


def test_a_restart_reminds_of_what_was_told_before_it():
    mail, disk = Phone(), Disk()
    rules = (replace(rule(notify=ONLY_MAIL), repeat=(SECOND // 2,)),)
    delivery, store = office(disk, way("mail", mail), rules=rules)
    post(delivery, store, loud())
    eventually(lambda: mail.kinds == ["raised"])
    delivery.close(1)
    delivery, store = office(disk, way("mail", mail), rules=rules)
    eventually(lambda: mail.kinds[:2] == ["raised", "repeat"])
    delivery.close(1)


def test_a_clock_that_was_set_back_keeps_no_reminder_for_years():
    mail, disk = Phone(), Disk()
    future = time.time_ns() + 10**18
    disk.told["mail"] = {ALERT: Told(1, "warning", at=future, worst="warning", last=loud())}
    rules = (replace(rule(notify=ONLY_MAIL), repeat=(SECOND // 20,)),)
    delivery, _ = office(disk, way("mail", mail), rules=rules)
    eventually(lambda: mail.kinds[:1] == ["repeat"])
    delivery.close(1)


def test_a_batch_is_one_message_and_each_row_is_settled():
    mail, disk = Lossy(), Disk()
    mail.lossy = True
    delivery, store = office(disk, way("mail", mail, batch=SECOND // 5))
    post(delivery, store, *(loud(room=str(room)) for room in range(101, 131)))
    eventually(lambda: len(mail.heard) == 2 and not disk.outbox)
    note = mail.heard[1]
    assert note.again  # the answer to the first was lost
    assert note.text.splitlines()[-1] == "and 10 more"
    assert len(note.record["also"]) == 29
    assert len(disk.told["mail"]) == 30
    delivery.close(1)


def test_what_waits_in_a_batch_is_told_before_the_end():
    mail, disk = Phone(), Disk()
    delivery, store = office(disk, way("mail", mail, batch=3600 * SECOND))
    post(delivery, store, loud())
    delivery.close(5)
    assert mail.kinds == ["raised"]
    assert disk.outbox == {}


def test_what_the_rate_does_not_allow_is_kept():
    mail, disk = Phone(), Disk()
    delivery, store = office(disk, way("mail", mail, rate=Rate(1, 3600 * SECOND)))
    post(delivery, store, loud(), loud(room="102"))
    eventually(lambda: mail.kinds == ["raised"])
    delivery.close(1)
    assert len(disk.outbox) == 1


# -- whoever stands in -----------------------------------------------------------------

SOON = {"give_up_after": SECOND // 4, "fallback": "phone"}


def test_what_is_given_up_another_tells_and_also_that_it_is_over():
    disk, mail, phone = Disk(), Phone(), Phone()
    mail.failing = True
    delivery, store = office(disk, way("mail", mail, **SOON), way("phone", phone))
    post(delivery, store, loud())
    eventually(lambda: phone.kinds == ["raised"])
    assert "Told here because mail could not tell it." in phone.heard[0].text
    assert phone.heard[0].severity == "warning"
    eventually(lambda: not disk.outbox)
    assert [transition.severity for transition, _ in disk.dead] == ["warning"]
    mail.failing = False
    post(delivery, store, loud(None))
    eventually(lambda: phone.kinds == ["raised", "cleared"])
    assert "Told here" not in phone.heard[1].text
    delivery.close(1)


def test_who_stands_in_does_so_after_a_restart():
    disk, mail, phone = Disk(), Phone(), Phone()
    mail.failing = phone.failing = True
    delivery, store = office(disk, way("mail", mail, **SOON), way("phone", phone))
    post(delivery, store, loud(None, 2), loud("warning", 3))
    eventually(lambda: [row.instead for row in disk.outbox.values()] == ["mail"])
    delivery.close(1)
    phone.failing = False
    delivery, store = office(disk, way("mail", mail, **SOON), way("phone", phone))
    eventually(lambda: phone.kinds == ["raised"])
    assert "Told here because mail could not tell it." in phone.heard[0].text
    delivery.close(1)


def test_nobody_stands_in_for_who_stands_in():
    disk, mail, phone = Disk(), Phone(), Phone()
    mail.failing = phone.failing = True
    delivery, store = office(
        disk,
        way("mail", mail, **SOON),
        way("phone", phone, give_up_after=SECOND // 4, fallback="mail"),
    )
    post(delivery, store, loud())
    eventually(lambda: len(disk.dead) == 2)
    eventually(lambda: not disk.outbox)
    delivery.close(1)
    assert len(disk.dead) == 2


def test_a46_a_lost_answer_is_no_reason_to_have_another_tell_it():
    disk, mail, phone = Disk(), Lossy(), Phone()
    mail.lossy = True
    delivery, store = office(disk, way("mail", mail, fallback="phone"), way("phone", phone))
    post(delivery, store, loud())
    eventually(lambda: len(mail.heard) == 2)
    delivery.close(1)
    assert mail.heard[0].key == mail.heard[1].key
    assert phone.heard == []
