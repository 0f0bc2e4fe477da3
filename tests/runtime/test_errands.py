"""What is handed to the store of what one notifier was told, or need not be."""

import pytest
from phones import change

from hushd.core.reconcile import Habit, Told
from hushd.core.rules import Manner
from hushd.runtime import errands as module
from hushd.runtime.errands import TOO_MANY, Buried, Errands, Settled, Waiting

ALERT = ("too-loud", (("room", "101"),))
OTHER = ("too-loud", (("room", "102"),))
NOW = 1_000


def waiting(row: int, severity=None, episode: int = 1, room: str = "101", **more) -> Waiting:
    return Waiting(change(severity, episode, room, **more), row=row)


def errands(*rows: Waiting, told=None, every: bool = False) -> Errands:
    return Errands("mail", told or {}, rows, manner=Manner(every=every))


def test_what_was_told_is_settled_with_what_is_known_now():
    one = errands(waiting(1, "warning"))
    one.done(one.next(NOW), NOW)
    assert one.deeds() == [Settled((1,), (ALERT, Told(1, "warning", at=NOW, worst="warning")))]
    assert one.deeds() == []  # they are handed out once


def test_what_needs_no_telling_is_settled_without_a_word():
    one = errands(waiting(1), waiting(2, room="102"), waiting(3, "warning"))
    assert one.next(NOW).waiting.row == 3  # nobody knew that anything was wrong
    assert one.deeds() == [Settled((1, 2))]


def test_what_is_superseded_goes_with_what_was_missed():
    one = errands(
        waiting(1, "warning"), waiting(2, room="102"), waiting(3), waiting(4, "critical", 2)
    )
    one.failed(NOW)
    assert [left.row for left in one.waiting] == [2, 4]
    # should the process end now, the next one must know that an episode was missed
    assert one.deeds() == [Settled((1, 3), (ALERT, Told(0, None, 1)))]


def test_what_is_known_of_the_past_is_kept_when_the_rows_go_later():
    one = errands(waiting(1, "warning"))
    one.failed(NOW)
    assert one.deeds() == []  # the row says it still
    one.add(waiting(2))
    one.failed(NOW)
    assert one.deeds() == [Settled((1,), (ALERT, Told(0, None, 1)))]
    one.add(waiting(3, "warning", 2))
    one.failed(NOW)
    assert one.deeds() == [Settled((2,))]  # nothing new of the past


def test_what_is_given_up_leaves_what_is_known_as_it_was():
    one = errands(waiting(1, "warning"), told={ALERT: Told(0, None, 7)})
    errand = one.next(NOW)
    one.give_up(errand, "no")
    assert one.deeds() == [Buried(errand.waiting, "no"), Settled((), (ALERT, Told(0, None, None)))]
    assert (len(one), one.given_up, one.told) == (0, 1, {})


def test_a_journal_settles_each_and_knows_of_nothing():
    one = errands(waiting(1, "warning"), waiting(2), every=True)
    one.failed(NOW)
    for row in (1, 2):
        one.done(one.next(NOW), NOW)
        assert one.deeds() == [Settled((row,))]
    assert not one.knows_of(ALERT)


@pytest.mark.parametrize(
    ("rows", "told", "knows"),
    [
        ([], {}, False),
        ([], {ALERT: Told(1, "warning")}, True),
        ([], {ALERT: Told(1, None, 2)}, False),  # it was missed: it knows of nothing
        ([waiting(1, "warning")], {}, True),  # it will
        ([waiting(1, "warning", room="102")], {}, False),
    ],
)
def test_who_is_about_to_hear_of_it_knows_of_it(rows, told, knows):
    assert errands(*rows, told=told).knows_of(ALERT) == knows


def test_it_knows_no_more_once_the_end_was_told_or_nothing_is_left_to_tell():
    one = errands(waiting(1, "warning"), waiting(2), waiting(3, room="102"))
    assert one.knows_of(OTHER)
    while (errand := one.next(NOW)) is not None:
        one.done(errand, NOW)
    assert not one.knows_of(ALERT)
    assert not one.knows_of(OTHER)


def test_beyond_its_limit_the_oldest_is_buried(monkeypatch):
    monkeypatch.setattr(module, "WAITING", 2)
    first = waiting(1, "warning")
    one = errands(first, waiting(2), waiting(3, room="102"))
    assert one.deeds() == [Buried(first, TOO_MANY)]
    assert (len(one), one.given_up) == (2, 1)


def test_what_is_kept_anew_has_other_rows_and_no_old_deeds():
    one = errands(waiting(1, "warning"), waiting(2, room="102"), waiting(3))
    one.failed(NOW)
    one.kept([11, 12])
    assert [left.row for left in one.waiting] == [11, 12]
    assert one.deeds() == []
    one.add(waiting(13, "warning", 2))
    one.failed(NOW)
    assert one.deeds() == [Settled((12,))]  # what was missed is kept already


def test_what_may_have_been_heard_in_vain_is_put_right():
    critical = Told(1, "critical")
    lowered = waiting(1, "warning")
    one = errands(lowered, waiting(2, "critical"), told={ALERT: critical})
    lowered.unsure = True  # the answer was lost; then it was critical again
    one.failed(NOW)
    assert one.deeds() == []  # its row stays: should the process end now, the doubt does not
    errand = one.next(NOW)
    assert (errand.waiting.row, errand.kind, errand.severity) == (2, "escalated", "critical")
    one.done(errand, NOW)
    known = critical._replace(at=NOW, worst="critical")
    assert one.deeds() == [Settled((2, 1), (ALERT, known))]
    assert one.next(NOW) is None


def test_what_is_known_either_way_is_not_told():
    critical = Told(1, "critical")
    raised, lowered = waiting(1, "critical"), waiting(2, "warning")
    one = errands(raised, lowered, waiting(3, "critical"), told={ALERT: critical})
    raised.unsure = True
    one.failed(NOW)
    assert one.next(NOW) is None
    assert one.deeds() == [Settled((2, 3, 1))]


def test_a_doubt_keeps_its_row_before_what_came_after_it():
    doubt = waiting(2, "warning")
    one = errands(waiting(1, "warning", room="102"), doubt, waiting(3))
    doubt.unsure = True
    one.failed(NOW)
    assert [left.row for left in one.waiting] == [1, 3]
    assert [left.row for left in one.open] == [1, 2, 3]
    one.kept([11, 12, 13])
    assert doubt.row == 12
    first = one.next(NOW)
    one.done(first, NOW)
    assert one.next(NOW).kind == "missed"  # heard or not, both are said
    one.done(one.next(NOW), NOW)
    assert one.deeds()[-1] == Settled((13, 12), (ALERT, Told(1, None, None)))


def test_a_doubt_goes_with_what_is_given_up():
    doubt = waiting(1, "warning")
    one = errands(doubt, waiting(2, "critical"))
    doubt.unsure = True
    one.failed(NOW)
    errand = one.next(NOW)
    one.give_up(errand, "no")
    assert Settled((1,), (ALERT, Told(0, None, 1))) in one.deeds()
    assert one.open == []


def test_what_another_process_left_is_taken_on_where_nothing_is_known_since():
    one = errands(waiting(5, "critical", 2), told={OTHER: Told(3, "warning")})
    third = ("too-loud", (("room", "103"),))
    one.adopt(
        {OTHER: Told(9, "critical"), third: Told(4, "warning")},
        [waiting(1, "warning"), waiting(2, room="102"), waiting(3, room="103", episode=4)],
    )
    assert [left.row for left in one.waiting] == [5, 3]
    assert one.told == {OTHER: Told(3, "warning"), third: Told(4, "warning")}
    one.done(one.next(NOW), NOW)
    errand = one.next(NOW)
    assert (errand.kind, errand.waiting.row) == ("cleared", 3)


def test_evidence_is_taken_on_whole():
    one = errands(waiting(5, "critical", 2), every=True)
    one.adopt({}, [waiting(1, "warning"), waiting(2, room="102")])
    assert [left.row for left in one.waiting] == [5, 1, 2]


@pytest.mark.parametrize(("began", "unsure"), [(1_000, True), (900, False)])
def test_a_reminder_that_was_due_before_the_start_may_have_been_told(began, unsure):
    raised = waiting(1, "warning").transition
    told = {ALERT: Told(1, "warning", at=0, last=raised)}
    one = Errands("mail", told, habits={"too-loud": Habit((950,))})
    one.next(began)
    errand = one.next(NOW)
    assert (errand.kind, errand.waiting.unsure) == ("repeat", unsure)
    one.done(errand, NOW)
    assert not one.next(2 * NOW).waiting.unsure
