"""Readings per second from a message to a judged rule, beside what cannot be avoided.

    python benchmarks/pipeline.py [--messages N] [--live]

One series a topic, a thousand topics, 125 bytes of JSON with a stamp.  The rows are one
run on one machine, the best of three; the ratios are what to compare between machines.
``--live`` goes through a real mosquitto, too: throughput and latency of a bare paho subscriber
that does nothing, and of the whole of hushd up to where an alert is decided.
"""

import argparse
import gc
import json
import multiprocessing
import socket
import statistics
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, NamedTuple

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
PROBE = 20  # of so many messages of the slow phase one raises an alert, or clears it
END_SENSOR = """\
  end: {topic: plant/end}
  probe: {topic: plant/probe}
notifiers:"""
END_RULE = """\
  end: {watch: end, measure: last, info: {above: 0}, notify: [nobody]}
  probe: {watch: probe, measure: last, info: {above: 0}, notify: [nobody]}
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


def sender(host: str, port: int, orders: Any) -> None:
    """Publish what is ordered, then the end; the receiver stops listening when it hears that."""
    client = paho.Client(CallbackAPIVersion.VERSION2)
    client.max_queued_messages_set(0)
    client.max_inflight_messages_set(1000)
    client.on_socket_open = lambda _client, _data, sock: sock.setsockopt(
        socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
    )
    client.connect(host, port)
    client.loop_start()
    topics = [f"plant/{n:04d}/noise" for n in range(TOPICS)]
    while order := orders.get():
        number, qos, pause = order
        due = time.monotonic()
        for n in range(number):
            if pause:
                due += pause
                time.sleep(max(0.0, due - time.monotonic()))
                if n % PROBE == 0:
                    value = repr(time.monotonic()) if n % (2 * PROBE) == 0 else "-1"
                    client.publish("plant/probe", value, qos)
                    continue
            client.publish(topics[n % TOPICS], payload(n), qos)
        client.publish("plant/end", b"1", 1).wait_for_publish(300)
        client.publish("plant/end", b"0", 1).wait_for_publish(300)


class Result(NamedTuple):
    """What a receiver got."""

    count: int
    cpu: float  # seconds
    took: float  # seconds, from the subscription on
    delays: list[float]  # from published to known, seconds


def bare(host: str, port: int, qos: int, order: Callable[[], None]) -> Result:
    """Let a subscriber that does nothing receive."""
    done, count, delays = threading.Event(), 0, []

    def on_message(_client: paho.Client, _data: object, message: paho.MQTTMessage) -> None:
        nonlocal count
        count += 1
        if message.topic == "plant/probe" and message.payload != b"-1":
            delays.append(time.monotonic() - float(message.payload))
        elif message.topic == "plant/end":
            done.set()

    client = paho.Client(CallbackAPIVersion.VERSION2)
    client.on_message = on_message
    client.on_connect = lambda *_: client.subscribe("plant/#", qos)
    client.on_subscribe = lambda *_: order()
    used, began = time.process_time(), time.monotonic()
    client.connect(host, port)
    client.loop_start()
    done.wait(300)
    used, took = time.process_time() - used, time.monotonic() - began
    client.disconnect()
    client.loop_stop()
    return Result(count, used, took, delays)


def whole(
    config: Config,
    host: str,
    port: int,
    ingest: Literal["bulk", "plain"],
    order: Callable[[], None],
) -> Result:
    """Let the whole of hushd receive; the time is up to where an alert is decided."""
    inbox, counted, delays = Inbox(1_000_000), 0, []

    class Diary(Quiet):
        def bind(self, **_: object) -> "Diary":
            return self

        def info(self, event: str, **fields: Any) -> None:
            nonlocal counted
            if event == "mqtt.connected":
                order()
            elif event == "alert.changed" and fields["change"] == "raised":
                if fields["rule"] == "probe":
                    delays.append(time.monotonic() - fields["value"])
                elif fields["rule"] == "end":
                    inbox.on_stop(15, None)
            elif event == "hushd.stopped":
                counted = fields["readings"]

    mqtt = Mqtt(
        host, port, client_id="hushd-bench", session_expiry=0, status_topic="", ingest=ingest
    )
    gc.collect()
    gc.freeze()  # what was left behind by the rows above is not looked through in this one
    used, began = time.process_time(), time.monotonic()
    serve(replace(config, mqtt=mqtt), inbox, Diary())
    return Result(counted, time.process_time() - used, time.monotonic() - began, delays)


def live(number: int) -> None:
    three = read_text("three", CONFIG.replace("notifiers:", END_SENSOR) + MORE + END_RULE, load())
    spawn = multiprocessing.get_context("spawn")
    orders = spawn.SimpleQueue()
    phases = [
        (f"{number:,} as fast as may be, sent at QoS 0", (number, 0, 0.0)),
        (f"{number // 4:,} as fast as may be, at QoS 1", (number // 4, 1, 0.0)),
        ("1,000 a second for 5 seconds, at QoS 1", (5000, 1, 0.001)),
    ]
    print("\nthrough mosquitto, from a Python publisher beside it; x: hushd to bare paho")
    columns = ("received", "us CPU each", "per second", "p50 ms", "p99 ms")
    print(f"{'':<42}" + "".join(f"{column:>12}" for column in columns))
    with broker("mosquitto", "max_queued_messages 1000000", "max_inflight_messages 1000") as (
        host,
        port,
        _,
    ):
        process = spawn.Process(target=sender, args=(host, port, orders), daemon=True)
        process.start()
        for name, (count, qos, pause) in phases:

            def order(what: tuple[int, int, float] = (count, qos, pause)) -> None:
                orders.put(what)

            print(name)
            rows = {
                "paho that does nothing": bare(host, port, qos, order),
                "hushd, 3 rules": whole(three, host, port, "bulk", order),
                "hushd, 3 rules, ingest: plain": whole(three, host, port, "plain", order),
            }
            table = {title: _figures(row) for title, row in rows.items()}
            floor = table["paho that does nothing"]
            for title, figures in table.items():
                print(f"  {title:<40}" + "".join(f"{figure:12,.1f}" for figure in figures))
                if figures is not floor:
                    ratios = [ours / its for ours, its in zip(figures, floor, strict=True)]
                    print(f"  {'':<39}x" + "".join(f"{ratio:12.2f}" for ratio in ratios))
        orders.put(None)
        process.join(10)


def _figures(row: Result) -> list[float]:
    out = [row.count, row.cpu / row.count * 1e6, row.count / row.took]
    if len(row.delays) > 1:
        cuts = statistics.quantiles(row.delays, n=100)
        out += [cuts[49] * 1e3, cuts[98] * 1e3]
    return out


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
