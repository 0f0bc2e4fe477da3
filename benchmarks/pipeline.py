"""Readings per second from a message to a judged rule, beside what cannot be avoided.

    python benchmarks/pipeline.py [--messages N] [--live]

One series a topic, a thousand topics, 125 bytes of JSON with a stamp.  The rows are one
run on one machine, the best of three; the ratios are what to compare between machines.
``--live`` adds a flood through a real mosquitto: a bare paho subscriber that does nothing,
and the whole of hushd up to the alert.
"""

import argparse
import json
import multiprocessing
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion

from hushd.cli.broker import broker
from hushd.config import Config, Mqtt, read_text
from hushd.core.engine import Engine
from hushd.plugin.loading import load
from hushd.runtime.clocks import WallClock
from hushd.runtime.daemon import serve
from hushd.runtime.inbox import Inbox
from hushd.runtime.intake import Intake
from hushd.runtime.logs import Quiet
from hushd.runtime.messages import Message

TOPICS = 1000
CONFIG = """\
version: 1
sensors:
  noise:
    topic: "plant/{machine}/noise"
    value: json:measurement.level
    interval: 1s
notifiers:
  nobody: {type: log}
rules:
  mean: {watch: noise, measure: mean, over: 30s, warning: {above: 1e6}, notify: [nobody]}
"""
MORE = """\
  max: {watch: noise, measure: max, over: 30s, warning: {above: 1e6}, notify: [nobody]}
  min: {watch: noise, measure: min, over: 30s, warning: {below: -1e6}, notify: [nobody]}
"""
END_SENSOR = """\
  end: {topic: plant/end}
notifiers:"""
END_RULE = """\
  end: {watch: end, measure: last, info: {above: 0}, notify: [nobody]}
"""


def payload(n: int) -> bytes:
    record = {
        "device": f"sensor-{n % TOPICS:04d}",
        "measurement": {"level": 40 + n % 37 / 10, "battery": 3.61, "unit": "dBA"},
        "seq": n,
        "firmware": "2.7.1",
    }
    return json.dumps(record).encode()


def messages(number: int) -> list[Message]:
    began = time.time_ns() - number * 1_000_000
    topics = [f"plant/{n:04d}/noise".encode() for n in range(TOPICS)]
    return [Message(topics[n % TOPICS], payload(n), began + n * 1_000_000) for n in range(number)]


def best(work: Callable[[], object], number: int) -> float:
    """Return microseconds a message, the best of three."""
    times = []
    for _ in range(3):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times) / number * 1e6


def judge(config: Config, batch: list[Message], *, judged: bool) -> None:
    clock = WallClock()
    intake = Intake(config.sensors, clock, config.limits.payload, Quiet())
    engine = Engine(config.rules, config.catalog.aggregators)
    for message in batch:
        for reading in intake.readings(message):
            if judged:
                engine.process(reading)
    if intake.accepted != len(batch):
        sys.exit(f"not all were read: {intake.rejected}")


def offline(number: int) -> None:
    catalog = load()
    one = read_text("one", CONFIG, catalog)
    three = read_text("three", CONFIG + MORE, catalog)
    batch = messages(number)
    rows = {
        "json.loads of the payload": best(lambda: [json.loads(m.payload) for m in batch], number),
        "intake: topic, decode, checks": best(lambda: judge(one, batch, judged=False), number),
        "intake, engine, 1 aggregate, 1 rule": best(lambda: judge(one, batch, judged=True), number),
        "intake, engine, 3 aggregates, 3 rules": best(
            lambda: judge(three, batch, judged=True), number
        ),
    }
    floor = rows["json.loads of the payload"]
    print(f"{number} messages, {TOPICS} series, {len(batch[0].payload)} bytes of JSON; one core")
    print(f"{'':<40} {'us each':>8} {'per second':>11} {'x json.loads':>13}")
    for name, cost in rows.items():
        print(f"{name:<40} {cost:8.2f} {1e6 / cost:11,.0f} {cost / floor:13.1f}")


def flood(host: str, port: int, batch: list[Message], begin: Any, heard: Any) -> None:
    """Publish at QoS 0 as fast as the broker takes it, then the end, until it is heard."""
    client = paho.Client(CallbackAPIVersion.VERSION2)
    client.max_queued_messages_set(0)
    client.connect(host, port)
    client.loop_start()
    while True:
        begin.wait()
        begin.clear()
        for message in batch:
            client.publish(message.topic.decode(), message.payload)
        heard.clear()
        while not heard.wait(0.5):
            client.publish("plant/end", b"1", qos=1).wait_for_publish(60)


def bare(host: str, port: int, begin: Any) -> tuple[int, float, float]:
    """Return how many messages a subscriber that does nothing gets, its CPU time, and the time."""
    done, count = threading.Event(), 0

    def on_message(_client: paho.Client, _data: object, message: paho.MQTTMessage) -> None:
        nonlocal count
        count += 1
        if message.topic == "plant/end":
            done.set()

    client = paho.Client(CallbackAPIVersion.VERSION2)
    client.on_message = on_message
    client.on_connect = lambda *_: client.subscribe("plant/#")
    client.on_subscribe = lambda *_: begin.set()
    used, began = time.process_time(), time.monotonic()
    client.connect(host, port)
    client.loop_start()
    done.wait(300)
    used, took = time.process_time() - used, time.monotonic() - began
    client.disconnect()
    client.loop_stop()
    return count - 1, used, took


def whole(config: Config, host: str, port: int, begin: Any) -> tuple[int, float, float]:
    """Return the same for the whole of hushd; an alert tells it the end."""
    inbox, counted = Inbox(1_000_000), 0

    class Diary(Quiet):
        def bind(self, **_: object) -> "Diary":
            return self

        def info(self, event: str, **fields: Any) -> None:
            nonlocal counted
            if event == "mqtt.connected":
                begin.set()
            elif event == "alert.changed":
                inbox.on_stop(15, None)
            elif event == "hushd.stopped":
                counted = fields["readings"] - 1

    used, began = time.process_time(), time.monotonic()
    serve(replace(config, mqtt=Mqtt(host, port)), inbox, Diary())
    return counted, time.process_time() - used, time.monotonic() - began


def live(number: int) -> None:
    three = read_text("three", CONFIG.replace("notifiers:", END_SENSOR) + MORE + END_RULE, load())
    spawn = multiprocessing.get_context("spawn")
    begin, heard = spawn.Event(), spawn.Event()
    with broker("mosquitto", "max_queued_messages 1000000") as (host, port, _):
        sender = spawn.Process(
            target=flood, args=(host, port, messages(number), begin, heard), daemon=True
        )
        sender.start()
        rows = {}
        for name, run in (
            ("paho that does nothing", lambda: bare(host, port, begin)),
            ("hushd, 3 aggregates, 3 rules", lambda: whole(three, host, port, begin)),
        ):
            rows[name] = run()
            heard.set()
            time.sleep(1)
        sender.kill()
    print(f"\n{number} messages through mosquitto at QoS 0, from a Python publisher beside it")
    print(f"{'':<40} {'received':>9} {'us CPU each':>12} {'per second':>11} {'x paho':>7}")
    floor = rows["paho that does nothing"][1] / rows["paho that does nothing"][0]
    for name, (count, used, took) in rows.items():
        cost = used / count
        print(f"{name:<40} {count:9} {cost * 1e6:12.1f} {count / took:11,.0f} {cost / floor:7.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--live", action="store_true", help="through a real mosquitto, too")
    args = parser.parse_args()
    offline(args.messages)
    if args.live:
        live(args.messages)


if __name__ == "__main__":
    main()
