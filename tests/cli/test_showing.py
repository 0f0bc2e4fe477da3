"""What the demo shows comes from the engine itself, and looking changes nothing there."""

from play import AGGREGATORS, S

from hushd.cli.broker import Address
from hushd.cli.screen import PLAIN, Entry, House, Limit, Look
from hushd.cli.showing import Troubles, View, _settings
from hushd.core.engine import Engine
from hushd.core.readings import Reading

HERE = Address("127.0.0.1", 1883, "mosquitto")


def test_the_view_is_what_the_engine_holds():
    engine = Engine(_settings(HERE).rules, AGGREGATORS)
    view = View(HERE, Look(signs=PLAIN))
    told = []
    for n in range(20):
        for house, level in (("1", 40.0), ("7", 40.0 if n < 10 else 90.0)):
            at = n * S // 2
            told += engine.process(Reading("noise", (("house", house),), at, level, at))
    before = engine.snapshot()
    view.observe(engine)
    assert engine.snapshot() == before
    [alert] = [a for a in engine.alerts() if a.rule == "party" and a.labels == (("house", "7"),)]
    houses = {house.name: house for house in view._houses}
    assert houses["7"] == House("7", 90.0, alert.gauge.read(engine.now).value, alert.state)
    assert alert.state == told[-1].severity.join(["firing(", ")"])
    assert (houses["1"].now, houses["1"].state) == (40.0, "ok")
    assert houses["3"] == House("3")
    assert view._limits == (Limit("warning", 65.0), Limit("critical", 80.0))
    assert (view._window, view._unit) == ("leq over 5s", "dBA")


def test_alerts_and_troubles_stand_in_the_log():
    view = View(HERE, Look())
    view.alert("alert.raised", title="House 7 is loud")
    view.alert("alert.cleared", title="House 7 is quiet")
    Troubles(view.trouble).warning("mqtt.unreachable", hint="is it running?")
    assert [entry[1:] for entry in view.log] == [
        ("ALERT", "House 7 is loud"),
        ("OK", "House 7 is quiet"),
        ("NOTE", "mqtt.unreachable: hint: is it running?"),
    ]
    view.log.extend([Entry("", "OK", "")] * 1000)
    assert len(view.log) == 200  # it may run for days
    assert len(view.lines(80, 24)) == 24
