"""What can be meant is taken, and what never can is refused with a way out."""

import pytest
from play import limit, rule, rules

from hushd.runtime.reach import OutOfReachError, Reach

LIMIT = limit("warning", "above", 70.0)
LOUD = rule(LIMIT, after=60, where=(("floor", ("1",)), ("room", ("101", "102"))))
HOT = rule(LIMIT, name="hot", sensor="heat", each=("machine",), no_data=None)
REACH = Reach(rules(LOUD, HOT).rules)


@pytest.mark.parametrize(
    ("named", "labels"),
    [
        ("", {}),
        ("loud", {}),
        ("loud", {"room": "101"}),
        ("", {"room": "102"}),
        ("", {"machine": "whatever comes"}),
        ("noise/no-data", {"room": "101"}),
        ("internal/broker", {}),
        ("internal/notifier", {"notifier": "phone"}),
        ("", {"plugin": "mine"}),
    ],
)
def test_what_there_can_be_is_in_reach(named, labels):
    REACH.check(named, tuple(labels.items()))


@pytest.mark.parametrize(
    ("named", "labels", "said"),
    [
        ("lout", {}, 'there is no rule "lout"\n  hint: did you mean "loud"?'),
        ("heat/no-data", {}, 'there is no rule "heat/no-data"\n  hint: '),
        ("internal/brokers", {}, 'hint: did you mean "internal/broker"?'),
        ("loud", {"rom": "101"}, 'no label "rom"*hint: did you mean "room"?'),
        ("hot", {"room": "101"}, "known: machine"),
        ("loud", {"floor": "1"}, "known: room"),  # it is not among those that separate alerts
        ("loud", {"room": "1O1"}, 'no room=1O1*did you mean "101"?'),
        ("", {"room": "7"}, "no room=7: not one that any alert carries*known: 101, 102"),
        ("", {"room": "101", "machine": "a"}, "no alert carries all of room=101 machine=a"),
    ],
)
def test_what_there_cannot_be_is_not(named, labels, said):
    with pytest.raises(OutOfReachError) as caught:
        REACH.check(named, tuple(labels.items()))
    rest = str(caught.value)
    for part in said.split("*"):
        assert part in rest
        rest = rest.partition(part)[2]
