"""One worker with a store that lasts: what waits, comes back, is in doubt or given up."""

import threading
import time
from dataclasses import replace

import pytest
from memory_store import Disk, MemoryStore
from phones import HASTY, Lossy, Phone, Picky, again, change, keeping, make, post, rule, tell, way
from waiting import Diary, eventually

from hushd.core.rules import Notify
from hushd.plugin.records import Note, NotifierType, NotSentError
from hushd.runtime.delivery import Delivery, Patience, Way
from hushd.runtime.fortune import SHOWN
from hushd.runtime.logs import Quiet


def test_what_waited_before_the_start_is_told_first_and_as_late():
    disk, mail = Disk(), Phone()
    mail.failing = True
    delivery, store = keeping(disk, way("mail", mail), wall=-3 * 3600)
    post(delivery, store, change("warning"))
    eventually(lambda: mail.tried > 1)
    delivery.close(1)
    mail.failing = False
    delivery, store = keeping(disk, way("mail", mail))
    post(delivery, store, change("critical"))
    eventually(lambda: mail.kinds == ["raised", "escalated"])
    delivery.close(1)
    assert mail.heard[0].title.startswith("[late 3 h")
    assert not mail.heard[1].title.startswith("[late")
    assert disk.outbox == {}
    assert disk.told["mail"][("too-loud", (("room", "101"),))].level == "critical"


def test_what_was_decided_in_the_future_is_not_late():
    disk, mail = Disk(), Phone()
    store = MemoryStore(disk, lambda: time.time_ns() + 10**15)  # the clock was set back since
    store.commit([], [("mail", change("warning"))])
    delivery, _ = keeping(disk, way("mail", mail))
    eventually(lambda: mail.kinds == ["raised"])
    delivery.close(1)
    assert not mail.heard[0].title.startswith("[late")


def test_a_lost_answer_is_told_again_and_says_so():
    disk, mail = Disk(), Lossy()
    mail.lossy = True
    delivery, store = keeping(disk, way("mail", mail))
    post(delivery, store, change("warning"))
    eventually(lambda: len(mail.heard) == 2)
    delivery.close(1)
    assert [note.again for note in mail.heard] == [False, True]
    assert mail.heard[0].key == mail.heard[1].key
    assert disk.outbox == {}


def test_what_cannot_be_opened_leaves_no_doubt():
    disk, mail, doors = Disk(), Phone(), []

    def opened(options, context):
        doors.append(1)
        if len(doors) < 3:
            raise RuntimeError("no such directory")
        return mail

    delivery, store = keeping(disk, Way("mail", NotifierType("mail", "", opened), {}))
    post(delivery, store, change("warning"))
    eventually(lambda: len(mail.heard) == 1)
    delivery.close(1)
    assert not mail.heard[0].again


def test_what_a_hung_thread_was_at_may_have_been_told():
    disk, mail = Disk(), Phone()
    mail.hang = release = threading.Event()
    delivery, store = keeping(disk, way("mail", mail))
    post(delivery, store, change("warning"))
    eventually(lambda: (delivery.watch(), len(mail.heard) == 1)[1])
    assert mail.heard[0].again
    assert disk.outbox == {}
    release.set()  # what the old thread brings is nobody's concern any more
    eventually(lambda: mail.closed == 1)
    assert delivery.state()["mail"]["failures"] == 0
    delivery.close(1)


def test_a_slow_disk_is_not_the_notifier_s_fault():
    class Slow(MemoryStore):
        def claim(self, row: int) -> None:
            time.sleep(2 * HASTY.send)
            super().claim(row)

    disk, mail = Disk(), Phone()
    store = Slow(disk, time.time_ns)
    delivery = Delivery([way("mail", mail)], (rule(),), store, Quiet(), patience=HASTY)
    post(delivery, store, change("warning"))
    eventually(lambda: (delivery.watch(), len(mail.heard) == 1)[1])
    delivery.close(1)
    assert mail.opened == 1
    assert not mail.heard[0].again


def test_who_waits_to_hear_hears_the_end_though_the_rule_names_it_no_more():
    disk, mail, phone = Disk(), Phone(), Phone()
    phone.failing = True
    delivery, store = keeping(disk, way("mail", mail), way("phone", phone))
    only_mail: Notify = (("warning", ("mail",)),)
    post(delivery, store, change("critical"))
    eventually(lambda: phone.tried > 0)
    post(delivery, store, change(None, notify=only_mail))
    phone.failing = False
    eventually(lambda: phone.kinds == ["missed"])
    # both at once: nobody was told of anything when the end was decided
    post(
        delivery,
        store,
        change("critical", 2),
        change(None, 2, notify=only_mail),
    )
    eventually(lambda: phone.kinds == ["missed", "raised", "cleared"])
    delivery.close(1)
    assert disk.outbox == {}


def test_one_that_is_always_refused_is_given_up_though_others_succeed():
    disk, mail, log = Disk(), Picky(), Diary()
    patience = replace(HASTY, refused=0.05, give_up=0.3)
    delivery, store = keeping(disk, way("mail", mail), log=log, patience=patience)
    post(delivery, store, change("warning"))
    rooms = iter(range(102, 10_000))
    eventually(
        lambda: (
            post(delivery, store, change("warning", room=str(next(rooms)))),
            disk.dead,
        )[1]
    )
    eventually(lambda: not disk.outbox)
    ((dead, error),) = disk.dead
    assert dict(dead.labels) == {"room": "101"}
    assert error == "400 what room is that?"
    state = delivery.state()["mail"]
    assert state["given_up"] == 1
    assert [{**shown, "at": 0} for shown in state["untold"]] == [
        {"at": 0, "rule": "too-loud", "labels": {"room": "101"}, "error": error}
    ]
    assert log.all("notifier.given_up")[0]["key"] == dead.id
    delivery.close(1)


def test_a_process_that_has_just_started_gives_nothing_up():
    disk, mail = Disk(), Phone()
    mail.failing = True
    patience = replace(HASTY, longest=60, give_up=60)  # after a weekend without power
    store = MemoryStore(disk, lambda: time.time_ns() - 10**15)
    store.commit([], [("mail", change("warning"))])
    delivery, _ = keeping(disk, way("mail", mail), patience=patience)
    eventually(lambda: mail.tried > 2)
    mail.failing = False
    eventually(lambda: mail.kinds == ["raised"])
    delivery.close(1)
    assert disk.dead == []


def test_the_newest_of_what_was_given_up_is_shown():
    disk, mail = Disk(), Phone()
    mail.failing = True
    patience = replace(HASTY, first=0, longest=0, give_up=0)
    delivery, store = keeping(disk, way("mail", mail), patience=patience)
    for room in range(SHOWN + 2):
        post(delivery, store, change("warning", room=str(room)))
        eventually(lambda: not disk.outbox)
    shown = delivery.state()["mail"]["untold"]
    assert [entry["labels"]["room"] for entry in shown] == ["6", "5", "4", "3", "2"]
    assert delivery.state()["mail"]["given_up"] == SHOWN + 2
    delivery.close(1)


def test_who_asks_not_to_be_tried_is_left_alone_but_not_for_ever():
    class Busy(Phone):
        def send(self, note: Note) -> None:
            self.tried += 1
            raise NotSentError("503", retry_after=1e9)

    mail, log = Busy(), Diary()
    delivery = make(mail, log, replace(HASTY, refused=0.2))
    tell(delivery, [change("warning")])
    eventually(lambda: mail.tried > 2)
    assert [line["retry_s"] for line in log.all("notifier.failed")][:2] == [0.2, 0.2]
    delivery.close(1)


def test_what_a_failed_store_did_not_keep_is_kept_when_it_is_back():
    disk, mail, log = Disk(), Phone(), Diary()
    delivery, _ = keeping(disk, way("mail", mail), log=log)
    tell(delivery, [change("warning", room="99")])  # nothing is kept of that, nor of what follows
    eventually(lambda: mail.kinds == ["raised"])
    disk.told.clear()
    mail.failing = True
    mail.hang = release = threading.Event()
    tell(delivery, [change("warning"), change("critical", room="102")])
    eventually(lambda: mail.tried == 2)  # one is at it just now
    delivery.rekeep()
    assert [row.transition.labels for row in disk.outbox.values()] == [
        (("room", "101"),),
        (("room", "102"),),
    ]
    assert [row.unsure for row in disk.outbox.values()] == [True, False]
    assert [dict(labels) for _, labels in disk.told["mail"]] == [{"room": "99"}]
    release.set()
    mail.failing = False
    eventually(lambda: len(mail.heard) == 3 and not disk.outbox)
    delivery.close(1)
    assert len(disk.told["mail"]) == 3
    assert log.all("notifier.left_untold") == []


@pytest.mark.parametrize(("kept", "hint"), [(True, "they are kept"), (False, "they are lost")])
def test_the_end_says_whether_what_is_left_is_kept(kept, hint):
    mail, log = Phone(), Diary()
    mail.failing = True
    delivery, store = keeping(Disk(), way("mail", mail), log=log)
    if kept:
        post(delivery, store, change("warning"))
    else:
        tell(delivery, [change("warning")])
    delivery.close(1)
    (line,) = log.all("notifier.left_untold")
    assert line["transitions"] == 1
    assert line["hint"].startswith(hint)


def test_where_there_is_no_thread_to_be_had_one_is_tried_for(monkeypatch):
    started, log = threading.Thread.start, Diary()

    def start(self) -> None:
        if self.name == "notify-mail":
            raise RuntimeError("can't start new thread")
        started(self)

    monkeypatch.setattr(threading.Thread, "start", start)
    mail, phone = Phone(), Phone()
    delivery, store = keeping(Disk(), way("mail", mail), way("phone", phone), log=log)
    post(delivery, store, change("critical"))
    eventually(lambda: phone.kinds == ["raised"])
    for _ in range(2 * HASTY.replaced):
        delivery.watch()
    assert delivery.state()["mail"]["stuck"]
    assert len(log.all("notifier.not_started")) == 1
    monkeypatch.setattr(threading.Thread, "start", started)
    delivery.watch()
    eventually(lambda: mail.kinds == ["raised"])
    delivery.close(1)


def test_one_that_is_gone_is_forgotten_once_it_has_ended():
    mail, phone = Phone(), Phone()
    delivery, store = keeping(Disk(), way("mail", mail), way("phone", phone))
    for _ in range(3):
        again(delivery, way("phone", phone))
        eventually(lambda: (delivery.watch(), not delivery._leaving)[1])
        again(delivery, way("phone", phone), way("mail", mail))
    post(delivery, store, change("warning"))
    eventually(lambda: mail.kinds == ["raised"])
    delivery.close(1)


def test_one_that_comes_back_before_it_is_gone_goes_on_where_it_was():
    old, new, phone = Phone(), Phone(), Phone()
    old.hang = release = threading.Event()
    disk = Disk()
    delivery, store = keeping(disk, way("mail", old), way("phone", phone), patience=Patience())
    post(delivery, store, change("warning"), change("critical"))
    eventually(lambda: old.tried == 1)
    again(delivery, way("phone", phone))
    again(delivery, way("phone", phone), way("mail", new))
    release.set()  # the old one fails: what it was at may have been told
    eventually(lambda: (delivery.watch(), new.kinds == ["raised"])[1])
    post(delivery, store, change(None))
    eventually(lambda: new.kinds == ["raised", "cleared"])
    delivery.close(1)
    assert disk.outbox == {}
