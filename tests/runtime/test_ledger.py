"""The ledger: what is committed is there after a crash, and nothing else; the file stays small."""

import json
import sqlite3
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kept import (
    AGGREGATORS,
    BEGAN,
    RULES,
    Place,
    batch,
    feed,
    ids,
    messages,
    never_stopped,
    windows,
)
from play import engine, limit, rule, rules

from hushd.config.records import Store as Settings
from hushd.core.readings import SECOND
from hushd.core.reconcile import Told
from hushd.runtime import archive, ledger, outbox
from hushd.runtime.ledger import Ledger
from hushd.runtime.logs import Quiet
from hushd.runtime.redelivery import mark
from hushd.runtime.store import NOWHERE, Owed


@pytest.fixture
def short_log(monkeypatch):
    """Let the log be folded soon, a few shards at a time."""
    monkeypatch.setattr(archive, "FEW", 40)
    monkeypatch.setattr(archive, "AT_ONCE", 30)


def rows(place, table, what="count(*)"):
    raw = sqlite3.connect(place.folder / "hushd.db")
    found = raw.execute(f"SELECT {what} FROM {table}").fetchone()[0]
    raw.close()
    return found


# -- crashes and restarts ---------------------------------------------------------------


def test_after_a_crash_all_that_was_committed_is_there_and_no_more(tmp_path):
    place = Place(tmp_path)
    for _ in range(50):
        place.step()
    place.ledger.add(place.readings(), [])
    place.crash()
    assert place.at == 50
    whole, told = never_stopped(50)
    assert windows(place.engine) == windows(whole)
    assert ids(u.transition for u in place.ledger.untold("phone")) == ids(told)
    assert place.left.packets == [mark(m) for n in range(50) for m in of(n)][-100:]


def of(number):
    return messages(number, len(batch(1, number, 5)))


steps = st.lists(st.sampled_from(["step"] * 8 + ["wait", "stop", "crash", "reload"]), max_size=80)


@given(steps, st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_no_crash_or_restart_or_reload_changes_what_is_told(tmp_path_factory, way, seed):
    before = archive.FEW, archive.AT_ONCE
    archive.FEW, archive.AT_ONCE = 40, 30
    try:
        place = Place(tmp_path_factory.mktemp("kept"), seed)
        for what in way:
            match what:
                case "step":
                    place.step()
                case "wait":  # for the next commit
                    place.step(commit=False)
                case "reload":
                    place.engine = type(place.engine).restore(
                        RULES, AGGREGATORS, place.engine.snapshot()
                    )
                    place.ledger.mind(place.engine)
                case _:
                    place.ledger.commit()
                    getattr(place, what)()
        place.ledger.commit()
        whole, told = never_stopped(place.at, seed)
        assert ids(place.told) == ids(told)
        if place.at:
            assert windows(place.engine) == windows(whole)
            place.crash()
            assert windows(place.engine) == windows(whole)
        place.ledger.close()
    finally:
        archive.FEW, archive.AT_ONCE = before


def test_other_rules_after_a_restart_find_the_windows_and_all_is_written_anew(tmp_path):
    place = Place(tmp_path)
    for _ in range(40):
        place.step()
    place.of = rules(
        rule(limit("warning", "above", 65.0, wait=2), name="loud", measure="max", span=20),
        interval=1,
    )
    place.crash()
    assert {alert.rule for alert in place.engine.alerts()} == {"loud"}
    assert place.ledger.wait() == 0
    place.ledger.commit()
    assert rows(place, "log", "sum(readings IS NOT NULL)") in {0, None} or rows(
        place, "meta WHERE key = 'folded'", "value"
    ) == rows(place, "log", "max(seq)")
    before = windows(place.engine)
    place.crash()
    assert windows(place.engine) == before


def test_the_same_rules_after_a_restart_write_nothing_anew(tmp_path):
    place = Place(tmp_path)
    for _ in range(10):
        place.step()
    place.crash()
    assert place.ledger.wait() is None
    logged = rows(place, "log")
    place.step()
    assert rows(place, "log") == logged + 1


def test_a_file_in_which_nothing_happened_begins_anew(tmp_path):
    place = Place(tmp_path)
    place.ledger.commit()
    place.stop()
    assert place.left.engine is None or place.left.engine.now is None
    assert not place.ledger.opened.fresh


# -- the size ---------------------------------------------------------------------------


def test_the_file_stops_growing_however_long_it_goes_on(tmp_path, short_log):
    place = Place(tmp_path)
    sizes = []
    for _ in range(6):
        for _ in range(100):
            place.step()
            for untold in place.ledger.untold("phone"):
                place.ledger.settle("phone", [untold.row])
        place.crash()
        sizes.append((tmp_path / "hushd.db").stat().st_size)
        assert rows(place, "log") <= 40
        assert rows(place, "shard") == 5
    assert max(sizes) < 300_000
    assert sizes[5] <= sizes[2] + 100_000  # the journal takes its part until it is full


def test_the_log_is_folded_a_little_at_a_time(tmp_path, short_log):
    place = Place(tmp_path, rooms=40)
    written = []
    for _ in range(60):
        before = place.ledger._archive._resting.copy()
        place.step()
        after = place.ledger._archive._resting
        written.append(sum(after.get(name) != seq for name, seq in before.items()))
    assert 0 < max(written) < 40


def test_series_that_come_and_go_leave_nothing_behind(tmp_path, short_log):
    place = Place(
        tmp_path, of=rules(rule(limit("warning", "above", 90.0), span=5), forget=20 * SECOND)
    )
    for number in range(3000):
        readings = [
            reading._replace(labels=(("room", f"{number}"),)) for reading in batch(1, number, 1)
        ]
        feed(place.engine, readings, number)
        place.ledger.add(readings, [])
        if number % 5 == 0:
            place.ledger.commit()
    assert rows(place, "shard") < 100
    assert rows(place, "alarm") < 100
    assert rows(place, "series") < 1200
    before = windows(place.engine)
    place.stop()
    assert windows(place.engine) == before


def test_an_idle_second_writes_nothing(tmp_path):
    place = Place(tmp_path)
    place.step()
    wal = tmp_path / "hushd.db-wal"
    before = wal.read_bytes()
    for _ in range(5):
        assert place.ledger.wait() is None
        assert place.ledger.commit() == []
    assert wal.read_bytes() == before


def test_time_alone_is_kept_once_a_minute_so_that_idleness_is_no_absence(tmp_path, monkeypatch):
    place = Place(tmp_path)
    place.step()
    monkeypatch.setattr(ledger, "SELDOM", 0.0)
    assert place.ledger.wait() is None  # no time has passed
    place.engine.advance(BEGAN + 90 * SECOND)
    assert place.ledger.wait() == 0
    place.ledger.commit()
    assert place.ledger.wait() is None
    place.crash()
    assert place.engine.now == BEGAN + 90 * SECOND


# -- when a commit is due -----------------------------------------------------------------


def test_a_commit_is_due_an_interval_after_the_first_that_waits(tmp_path):
    place = Place(tmp_path, commit_interval=10 * SECOND)
    place.ledger.commit()
    assert place.ledger.wait() is None
    place.step(commit=False)
    first = place.ledger.wait()
    assert 9 < first <= 10
    time.sleep(0.02)
    place.step(commit=False)
    assert place.ledger.wait() < first


def test_many_readings_or_half_an_inbox_of_messages_are_due_at_once(tmp_path):
    place = Place(tmp_path, commit_interval=10 * SECOND)
    place.ledger.commit()
    place.ledger.add([], messages(0, 24))
    assert place.ledger.wait() > 9
    place.ledger.add([], messages(1, 1))
    assert place.ledger.wait() == 0
    place.ledger.commit()
    place.ledger.add(batch(1, 1, 5) * 500, [])
    assert place.ledger.wait() == 0


def test_messages_of_qos_0_that_brought_nothing_wait_for_nothing(tmp_path):
    place = Place(tmp_path)
    place.ledger.commit()
    place.ledger.add([], [message._replace(qos=0) for message in messages(0, 3)])
    assert place.ledger.wait() is None


def test_another_engine_is_due_at_once(tmp_path):
    place = Place(tmp_path)
    place.step()
    place.ledger.mind(engine(RULES))
    assert place.ledger.wait() == 0


# -- what was decided -----------------------------------------------------------------------


@pytest.fixture
def told(tmp_path):
    """Return a place, some transitions, and the rows of their letters."""
    place = Place(tmp_path)
    while len(place.told) < 4:
        place.step()
    transitions = place.told[:4]
    kept = [place.ledger.commit((), [("mail", transition)])[0] for transition in transitions]
    return place, transitions, kept


def left(place, notifier="mail"):
    return [(u.row, u.attempts, u.unsure) for u in place.ledger.untold(notifier)]


@pytest.mark.parametrize(
    ("happened", "attempts", "unsure"),
    [
        ([], 0, False),
        (["claim"], 1, True),  # it may have arrived
        (["claim", "refused"], 1, False),
        (["claim", "lost"], 1, True),
        (["claim", "lost", "claim", "refused"], 2, True),  # the first one may have
        (["claim", "refused", "claim"], 2, True),
    ],
)
def test_after_a_crash_a_letter_waits_and_is_unsure_if(told, happened, attempts, unsure):
    place, _, kept = told
    for what in happened:
        if what == "claim":
            place.ledger.claim(kept[0])
        else:
            place.ledger.postpone(kept[0], unsure=what == "lost")
    place.crash()
    assert left(place)[0] == (kept[0], attempts, unsure)
    assert [row for row, *_ in left(place)] == kept


def test_what_is_settled_waits_no_more_and_what_somebody_knows_is_kept(told):
    place, transitions, kept = told
    alert = (transitions[0].rule, transitions[0].labels)
    place.ledger.settle("mail", kept[:2], (alert, Told(3, "warning", 2)))
    place.crash()
    assert [row for row, *_ in left(place)] == kept[2:]
    assert place.ledger.told("mail") == {alert: Told(3, "warning", 2)}
    assert place.ledger.told("phone") == {}
    place.ledger.settle("mail", [], (alert, Told(3, None, None)))
    assert place.ledger.told("mail") == {}


@pytest.mark.parametrize(
    ("known", "kept"),
    [
        (Told(3, "warning", at=7, repeats=2, worst="critical"), True),
        (Told(3, None, at=9, cleared=9), True),  # a cooldown goes by that
        (Told(3, None, 2, at=9), True),
        (Told(3, None, None, at=9, repeats=1, worst="critical"), False),
    ],
)
def test_what_somebody_knows_is_kept_whole_as_long_as_it_counts(told, known, kept):
    place, transitions, _ = told
    alert = (transitions[0].rule, transitions[0].labels)
    known = known._replace(last=transitions[0])
    place.ledger.settle("mail", [], (alert, Told(2, "info", last=transitions[1])))
    place.ledger.settle("mail", [], (alert, known))
    place.crash()
    assert place.ledger.told("mail") == ({alert: known} if kept else {})


def test_who_was_taken_out_and_is_back_has_all_that_waits(told):
    place, transitions, kept = told
    place.crash()
    kept += place.ledger.commit((), [("mail", transitions[0])])
    place.ledger.claim(kept[-1])  # by one who hung, and may have told it
    assert [row for row, *_ in left(place)] == kept
    assert [unsure for *_, unsure in left(place)] == [False] * 4 + [True]


def test_what_is_never_told_can_be_seen_and_waits_no_more(told):
    place, transitions, kept = told
    place.ledger.bury(kept[0], "refused: \udcff")
    place.crash()
    assert [row for row, *_ in left(place)] == kept[1:]
    raw = sqlite3.connect(tmp := place.folder / "hushd.db")
    notifier, data, error = raw.execute("SELECT notifier, data, error FROM dead").fetchone()
    raw.close()
    assert tmp.exists()
    assert (notifier, json.loads(data)["id"], error) == ("mail", transitions[0].id, "refused: ?")


def test_what_one_never_tells_is_for_another_in_the_same_moment(told):
    place, transitions, kept = told
    before = time.time_ns()
    row = place.ledger.bury(kept[0], "no such number", fallback="pager")
    place.crash()
    assert [row for row, *_ in left(place)] == kept[1:]
    (found,) = place.ledger.untold("pager")
    assert found == (row, transitions[0], found.since, 0, False, "mail")
    assert found.since >= before  # the other has its own time to try
    assert rows(place, "dead") == 1
    assert place.ledger.bury(row, "nor this one") == NOWHERE
    assert place.ledger.untold("pager") == []


def test_what_waits_for_a_notifier_that_is_gone_does_not_wait_for_ever(told):
    place, transitions, kept = told
    (other,) = place.ledger.commit((), [("pager", transitions[0])])
    later = time.time_ns() + 1
    place.ledger.bury_orphans({"mail", "phone"}, later - 10**15)  # it may come back
    place.ledger.bury_orphans({"mail", "phone", "pager"}, later)
    assert left(place, "pager") == [(other, 0, False)]
    place.ledger.bury_orphans({"mail", "phone"}, later)
    assert left(place, "pager") == []
    assert [row for row, *_ in left(place)] == kept
    assert rows(place, "dead", "group_concat(notifier)") == "pager"


def test_rows_of_what_is_not_kept_are_nobodys(told):
    place, _, kept = told
    place.ledger.claim(0)
    place.ledger.postpone(0, unsure=True)
    assert place.ledger.bury(0, "x", fallback="phone") == NOWHERE
    place.ledger.settle("mail", [0])
    place.crash()
    assert left(place) == [(row, 0, False) for row in kept]


def test_what_a_notifier_has_is_kept_in_place_of_what_was_there(told):
    place, transitions, kept = told
    alert = (transitions[0].rule, transitions[0].labels)
    place.ledger.settle("mail", [], (("other", ()), Told(1, "info", None)))
    fresh = place.ledger.keep(
        "mail",
        [Owed(transitions[1], 7, unsure=True), Owed(transitions[2], 8, instead="phone")],
        {alert: Told(1, None, 1)},
    )
    assert not set(fresh) & set(kept)
    place.crash()
    found = place.ledger.untold("mail")
    assert [(u.row, u.since, u.unsure, u.instead) for u in found] == [
        (fresh[0], 7, True, ""),
        (fresh[1], 8, False, "phone"),
    ]
    assert ids(u.transition for u in found) == ids(transitions[1:3])
    assert place.ledger.told("mail") == {alert: Told(1, None, 1)}


def test_the_journal_keeps_the_newest_and_what_somebody_has_yet_to_hear(told, monkeypatch):
    place, transitions, kept = told
    monkeypatch.setattr(outbox, "JOURNAL", 200)
    for _ in range(10):
        place.ledger.commit([transitions[0]] * 100)
    assert rows(place, "journal") <= 200 + 100 + 8
    place.crash()
    assert [row for row, *_ in left(place)] == kept


def test_of_what_was_never_told_the_newest_stay(told, monkeypatch):
    place, transitions, _ = told
    monkeypatch.setattr(outbox, "DEAD", 3)
    for number in range(6):
        (row,) = place.ledger.commit((), [("mail", transitions[0])])
        place.ledger.bury(row, str(number))
    assert rows(place, "dead", "group_concat(error)") == "3,4,5"


# -- beside the engine ----------------------------------------------------------------------


def test_troubles_gaps_and_the_clock_are_kept(tmp_path):
    place = Place(tmp_path)
    place.ledger.gap(BEGAN, "lost")
    assert place.ledger.wait() is not None
    place.ledger.commit(troubles=b"[1]")
    place.step()
    place.crash()
    assert place.left.troubles == b"[1]"
    assert [(gap.at, gap.why) for gap in place.left.gaps] == [(BEGAN, "lost")]
    assert place.left.clock == {"batch": 1}


def test_of_gaps_the_newest_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(ledger, "GAPS", 3)
    place = Place(tmp_path)
    for number in range(6):
        place.ledger.gap(number, "lost")
        place.ledger.commit()
    place.crash()
    assert [gap.at for gap in place.left.gaps] == [3, 4, 5]


def test_a_lost_session_leaves_no_mark_of_a_message(tmp_path):
    place = Place(tmp_path)
    place.step()
    place.step(commit=False)
    place.ledger.session_lost()
    place.ledger.commit()
    place.crash()
    assert place.left.packets == []
    place.step()
    place.crash()
    assert place.left.packets == [mark(message) for message in of(2)]


def test_marks_outlive_readings_that_are_folded_and_the_oldest_go(tmp_path, short_log):
    place = Place(tmp_path, rooms=1)
    sent = []
    for number in range(300):
        found = messages(number, 1)
        sent += found
        place.ledger.add([], found)
        place.step()
    place.stop()
    assert len(place.left.packets) == 100
    assert rows(place, "log") <= 110


# -- alerts only ----------------------------------------------------------------------------


def test_alerts_only_acknowledges_at_once_and_writes_no_readings(tmp_path):
    place = Place(tmp_path, profile="alerts-only", commit_interval=10 * SECOND)
    place.ledger.commit()
    wal = tmp_path / "hushd.db-wal"
    before, silent = wal.stat().st_size, 0
    for _ in range(200):
        number = len(place.told)
        place.step(commit=False)
        if len(place.told) == number:
            assert place.ledger.wait() == 0
            content = wal.read_bytes()
            assert place.ledger.commit() == []
            silent += wal.read_bytes() == content
            assert place.ledger.wait() is None
    assert silent > 100
    assert rows(place, "log") == 0
    assert before


def test_alerts_only_knows_after_a_crash_which_alerts_are_on_and_tells_nothing_twice(tmp_path):
    place = Place(tmp_path, profile="alerts-only")
    for _ in range(100):
        place.step(commit=False)
    on = {(a.rule, a.labels): a.episode for a in place.engine.alerts() if a.level is not None}
    assert on
    place.crash()
    again = {(a.rule, a.labels): a.episode for a in place.engine.alerts() if a.level is not None}
    assert again == on
    owed = place.engine.advance(place.engine.now)
    assert [t.event for t in owed if t.reason == "rule_removed"] == []


def test_alerts_only_writes_once_a_minute_what_is_no_alert(tmp_path, monkeypatch):
    place = Place(tmp_path, profile="alerts-only", of=rules(rule(limit("warning", "above", 1e9))))
    place.step()
    monkeypatch.setattr(ledger, "SELDOM", 0.0)
    place.step()
    monkeypatch.undo()
    place.step()
    place.crash()
    assert place.at == 2


def test_windows_are_kept_from_the_change_to_durable_on(tmp_path):
    place = Place(tmp_path, profile="alerts-only")
    for _ in range(30):
        place.step()
    place.ledger.change(Settings(), 50)
    place.ledger.commit()
    before = windows(place.engine)
    place.settings = Settings()
    place.crash()
    assert windows(place.engine) == before


def test_a_store_that_was_closed_takes_nothing_and_fails_nobody(tmp_path):
    place = Place(tmp_path)
    place.step()
    place.ledger.close()
    place.ledger.settle("phone", [1])
    assert place.ledger.told("phone") == {}
    assert not place.ledger.watch()
    place.ledger.close()
    again = Ledger(tmp_path / "hushd.db", Settings(), Quiet())
    again.close()


def test_what_was_decided_and_not_committed_is_decided_anew_after_a_mishap(tmp_path):
    """Else an alert would be on, and nobody had been told."""
    place = Place(tmp_path)
    for _ in range(40):
        place.step()
    committed = {(a.rule, a.labels): a.level for a in place.engine.alerts()}
    while {(a.rule, a.labels): a.level for a in place.engine.alerts()} == committed:
        feed(place.engine, place.readings(), place.at)
        place.at += 1
    place.ledger.abandon()
    place.ledger.close()
    place.start()
    assert {(a.rule, a.labels): a.level for a in place.engine.alerts()} == committed
