"""The loop: commit, acknowledge, tell, in that order; and it wakes when something is due."""

import threading
import time
from collections.abc import Sequence

import pytest

from hushd.config import read_text
from hushd.core.engine import Engine
from hushd.core.readings import Reading
from hushd.plugin.loading import load
from hushd.plugin.records import Note, NotifierType
from hushd.runtime.clocks import WallClock
from hushd.runtime.delivery import Delivery, Way
from hushd.runtime.inbox import Inbox
from hushd.runtime.intake import Intake
from hushd.runtime.logs import Quiet
from hushd.runtime.loop import Loop
from hushd.runtime.messages import Connected, Disconnected, Message
from hushd.runtime.store import VolatileStore

CONFIG = """\
version: 1
sensors:
  noise: {topic: "home/{room}/noise", interval: 1s}
  heat: {topic: "home/{room}/heat", interval: 1s, expect: [{room: cellar}]}
notifiers:
  phone: {type: log}
rules:
  hot: {watch: heat, measure: last, warning: {above: 40}, no_data: {after: 200ms}, notify: [phone]}
  loud: {watch: noise, measure: last, warning: {above: 70, for: 300ms}, notify: [phone]}
"""


class Place:
    """A loop whose neighbours write down what happens, in its order."""

    def __init__(self) -> None:
        config = read_text("hushd.yaml", CONFIG, load())
        self.happened: list[str] = []
        self.inbox = Inbox(1000)
        clock = WallClock()
        place = self

        class Store(VolatileStore):
            added = 0

            def add(self, readings: Sequence[Reading], batch: Sequence[Message]) -> None:
                super().add(readings, batch)
                self.added = len(readings)

            def commit(self, transitions=(), letters=(), troubles=None) -> list[int]:
                place.note(f"commit {self.added} {[t.event for t in transitions]}")
                self.added = 0
                return super().commit(transitions, letters, troubles)

        class Phone:
            def send(self, note: Note) -> None:
                place.note(f"tell {note.kind}")

            def close(self) -> None:
                pass

        self.delivery = Delivery(
            [Way("phone", NotifierType("phone", "", lambda *_: Phone()), {})],
            config.rules.rules,
            Store(),
            Quiet(),
        )
        self.loop = Loop(
            inbox=self.inbox,
            intake=Intake(config.sensors, clock, 1000, Quiet()),
            clock=clock,
            engine=Engine(config.rules, config.catalog.aggregators),
            store=Store(),
            delivery=self.delivery,
            acknowledge=lambda batch: self.note(f"acknowledge {len(batch)}"),
            watch=lambda: None,
            log=Quiet(),
        )
        self.thread = threading.Thread(target=self.loop.run)
        self._changed = threading.Condition()

    def note(self, what: str) -> None:
        with self._changed:
            self.happened.append(what)
            self._changed.notify_all()

    def wait_for(self, what: str) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: what in self.happened, 10), self.happened

    def send(self, level: str) -> None:
        self.inbox.offer(Message(b"home/attic/noise", level.encode(), time.time_ns(), 1, False, 7))


@pytest.fixture
def place():
    place = Place()
    place.thread.start()
    yield place
    place.inbox.on_stop(15, None)
    place.thread.join(10)
    place.delivery.close()
    assert not place.thread.is_alive()


def test_commit_then_acknowledge_then_nobody_is_told_before_it_is_kept(place):
    place.send("75")
    place.wait_for("acknowledge 1")
    place.wait_for("tell raised")  # 300 ms later, though nothing came
    assert place.happened == [
        "commit 1 []",
        "acknowledge 1",
        "commit 0 ['raised']",
        "tell raised",
    ]


def test_news_of_the_connection_reach_the_engine(place):
    place.inbox.announce(Connected())
    place.inbox.announce(Disconnected("gone"))
    time.sleep(0.4)
    assert place.happened == []


def test_silence_is_nobody_s_fault_while_the_broker_is_away(place):
    time.sleep(0.4)  # longer than the cellar may be silent
    assert place.happened == []
    place.inbox.announce(Connected())
    place.wait_for("tell raised")
    assert place.happened == ["commit 0 ['raised', 'no_data']", "tell raised"]


def test_it_sleeps_when_nothing_is_due(place):
    place.send("50")
    place.wait_for("acknowledge 1")
    began, used = time.monotonic(), time.process_time()
    time.sleep(0.5)
    assert time.process_time() - used < 0.5 * (time.monotonic() - began)
