"""Backlog of the demo: a million orders arrive in a topic at once, and Spark's workers help to deliver them."""

import random
import re
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

sys.path.append(str(Path(__file__).parents[1] / "shared"))
from local import last_bytes, say

__all__ = ["CONNECTOR", "OUT", "TOPIC", "Backlog", "create_topic", "free_ports", "report"]

CONNECTOR, TOPIC = "history-out", "history"
OUT = Path("penstock-demo/history-out.txt")
CALM = 3.0  # seconds from the start of the task to the arrival of the backlog
PATIENCE = 180.0  # seconds for each step
PERIOD = 0.2  # seconds between two looks at the task
_NUMBER = re.compile(rb"order_id=(\d+)")
_WORKERS = re.compile(r"^penstock_task_spark_workers\{.*\} ([0-9.]+)$", re.MULTILINE)


class Backlog(threading.Thread):
    """Writer of a backlog, which then reports what Spark does about it.

    Args:
        servers: the Kafka brokers.
        port: port of the metrics of the task that delivers the backlog.
        count: number of orders.
        stopping: set when the demo ends.
        note: called with each step, in words.
    """

    def __init__(
        self, servers: str, port: int, count: int, stopping: threading.Event, note: Callable[[str], None]
    ) -> None:
        super().__init__(name="backlog", daemon=True)
        self._servers, self._port, self._count = servers, port, count
        self._stopping, self._note = stopping, note

    def run(self) -> None:
        """Write the backlog, and report its steps until Spark has ended."""
        try:
            self._run()
        except KafkaException as e:
            self._note(f"The backlog is not written: {e}")

    def _run(self) -> None:
        if not self._await(f"{CONNECTOR} does not start", lambda: self._workers() is not None) or self._stopping.wait(
            CALM
        ):
            return
        first = written(self._servers)
        arrived = time.monotonic()
        self._note(f"A backlog arrives: {self._count:,} orders in topic '{TOPIC}'. {CONNECTOR} begins without Spark.")
        write(self._servers, first, self._count, self._stopping)
        last = written(self._servers)
        if not self._await("Spark does not start", self._workers):
            return
        begun, before, workers = time.monotonic(), delivered(), self._workers()
        self._note(
            f"Spark starts after {begun - arrived:.0f} s, with {workers} worker{'s' * (workers != 1)} in the task of "
            f"{CONNECTOR}. Delivered by then: {_rate(before - first, begun - arrived)}."
        )
        if not self._await("The backlog is not delivered", lambda: delivered() >= last):
            return
        ended = time.monotonic()
        with_spark = f"; with Spark {_rate(last - before, ended - begun)}" if before < last else ""
        self._note(f"The backlog is delivered, {ended - arrived:.0f} s after it arrived{with_spark}.")
        if self._await("Spark does not end", lambda: self._workers() == 0):
            self._note("Spark ends, because no backlog has needed it for 10 s (spec.spark.idleTimeout).")

    def _await(self, otherwise: str, claim: Callable[[], object]) -> bool:
        """Wait until the claim holds, and return whether it does; it need not if the demo ends."""
        end = time.monotonic() + PATIENCE
        while not claim():
            if self._stopping.wait(PERIOD):
                return False
            if time.monotonic() > end:
                self._note(f"{otherwise} within {PATIENCE:.0f} s.")
                return False
        return True

    def _workers(self) -> int | None:
        """Return the number of workers of the task's Spark session, 0 without one; None: the task does not answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/metrics", timeout=5) as answer:
                found = _WORKERS.search(answer.read().decode())
        except (OSError, urllib.error.URLError):
            return None
        return int(float(found[1])) if found else None


def _rate(records: int, seconds: float) -> str:
    return f"{records:,} orders, {records / max(seconds, 0.1):,.0f} a second"


def create_topic(servers: str) -> None:
    """Create the topic of the backlog, with one partition, unless it exists."""
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    if TOPIC not in admin.list_topics(timeout=30).topics:
        admin.create_topics([NewTopic(TOPIC, 1)])[TOPIC].result(30)


def write(servers: str, first: int, count: int, stopping: threading.Event) -> None:
    """Write orders whose numbers are their offsets."""
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "enable.idempotence": True,
            "linger.ms": 20,
            "batch.num.messages": 50_000,
            "compression.type": "lz4",
            "queue.buffering.max.messages": 200_000,
            "log_level": 0,
        }
    )
    draw = random.Random(first).random  # noqa: S311 (data for a demo)
    for number in range(first, first + count):
        value = b'{"order_id":%d,"latitude":%.3f,"longitude":%.3f}' % (number, 36 + 24 * draw(), -9 + 34 * draw())
        while True:
            try:
                producer.produce(TOPIC, value)
                break
            except BufferError:
                producer.poll(0.1)
        if number % 10_000 == 0 and stopping.is_set():
            break
    producer.flush(60)


def written(servers: str) -> int:
    """Return how many orders of backlogs are in Kafka.

    Raises:
        KafkaException: Kafka has not answered for half a minute; it elects leaders when it starts.
    """
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "demo-count", "log_level": 0})
    deadline = time.monotonic() + 30
    try:
        while True:
            try:
                _, end = consumer.get_watermark_offsets(TopicPartition(TOPIC, 0), timeout=30)
            except KafkaException:
                if time.monotonic() > deadline:
                    raise
                time.sleep(PERIOD)
            else:
                return int(end)
    finally:
        consumer.close()


def delivered() -> int:
    """Return how many orders of backlogs have arrived, which is the number after the last one: they arrive in order."""
    found = _NUMBER.findall(last_bytes(OUT)) if OUT.exists() else []
    return int(found[-1]) + 1 if found else 0


def report(servers: str) -> bool:
    """Count the orders of backlogs in Kafka and at the other end; print them, and return whether all have arrived."""
    count = written(servers)
    times = bytearray(count)
    lines = 0
    if OUT.exists():
        with OUT.open("rb") as file:
            for line in file:
                if found := _NUMBER.search(line):
                    lines += 1
                    times[int(found[1])] = 1
    absent = times.count(0)
    say(f"  topic '{TOPIC}': {count:,} records")
    say(f"  {OUT}: {lines:,} lines, {absent} missing, {lines - (count - absent)} written again")
    return absent == 0


def free_ports(count: int) -> int:
    """Return the first of consecutive ports that are free now."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            first = int(probe.getsockname()[1])
        try:
            for port in range(first + 1, first + count):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
        except (OSError, OverflowError):
            continue
        return first
