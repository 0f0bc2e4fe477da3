"""Writes ``vN.db``, a small store of the present version, to be kept for good.

To be run once, when the tables have changed and before anybody else has the new version:

    python tests/runtime/stores/make.py

It holds something in every table: what a daemon leaves that was killed while a webhook had
not answered yet.
"""

from pathlib import Path

from hushd.config import read_text
from hushd.config.records import Store
from hushd.core.engine import Engine
from hushd.core.mutes import Ack, Mute
from hushd.core.readings import SECOND, Reading
from hushd.core.reconcile import Told
from hushd.core.transitions import Transition
from hushd.plugin.loading import load
from hushd.runtime.database import VERSION
from hushd.runtime.ledger import Ledger
from hushd.runtime.logs import Quiet
from hushd.runtime.messages import Message

CONFIG = """\
version: 1
sensors:
  noise: {topic: "home/{room}/noise", interval: 1s}
notifiers:
  phone: {type: log}
  mail: {type: log}
rules:
  loud: {watch: noise, measure: max, over: 30s, warning: {above: 70}, notify: [phone, mail]}
"""
BEGAN = 1_790_000_000 * SECOND
SECONDS = 100


def config():
    return read_text("hushd.yaml", CONFIG, load())


def level(room: int, second: int) -> float:
    """Return what is measured: the cellar (room 0) becomes loud."""
    return 75.5 if room == 0 and second >= 80 else 40.0 + (7 * room + second) % 20


def opened(path: Path) -> tuple[Ledger, Engine]:
    found = config()
    ledger = Ledger(path, Store(), Quiet(), stamp=lambda: {"engine": BEGAN})
    left = ledger.recover(found.rules, found.catalog.aggregators)
    engine = left.engine or Engine(found.rules, found.catalog.aggregators)
    ledger.mind(engine)
    return ledger, engine


def live(ledger: Ledger, engine: Engine, seconds: range) -> None:
    """Let time pass: one reading of each of three rooms a second, and all that comes of it."""
    for second in seconds:
        at = BEGAN + second * SECOND
        readings = [
            Reading("noise", (("room", str(room)),), at, level(room, second), at)
            for room in range(3)
        ]
        transitions: list[Transition] = []
        for reading in readings:
            transitions += engine.process(reading)
        transitions += engine.advance(at)
        message = Message(b"home/x/noise", b"%d" % second, at, qos=1, packet=second + 1)
        ledger.add(readings, [message])
        if second == 50:
            ledger.gap(at, "the broker has kept nothing while hushd was away")
        letters = [(name, transition) for transition in transitions for name in ("phone", "mail")]
        rows = ledger.commit(transitions, letters, troubles=b"[]")
        if rows:
            alert = (transitions[0].rule, transitions[0].labels)
            ledger.settle("phone", rows[:1], (alert, told(transitions[0])))
            ledger.claim(rows[1])
            extra = ledger.commit((), [("pager", transitions[0])])
            ledger.bury(extra[0], "no such number", fallback="mail")
            ledger.keep_mute(Mute(1, "loud", (("room", "1"),), at, at + SECOND, "painters"))
            ledger.keep_ack(Ack(*alert, 1, at, "somebody is on the way"))


def told(transition: Transition) -> Told:
    """Return what somebody knows who was reminded once."""
    at = transition.at + SECOND
    return Told(1, "warning", at=at, repeats=1, worst="warning", last=transition)


def write(path: Path) -> None:
    """Write a store that was closed once in order, and once not."""
    ledger, engine = opened(path)
    live(ledger, engine, range(40))
    ledger.close()
    ledger, engine = opened(path)
    live(ledger, engine, range(40, SECONDS))
    ledger._file.close()  # as if killed: nothing is folded


if __name__ == "__main__":
    target = Path(__file__).parent / f"v{VERSION}.db"
    write(target)
    for beside in ("lock", "ballast"):
        target.with_name(f"{target.name}.{beside}").unlink(missing_ok=True)
