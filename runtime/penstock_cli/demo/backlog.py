"""Backlog of a demo: many orders arrive in a topic at the same time, and Spark's workers help to deliver them."""

import re
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaException

from penstock_cli.demo.counts import last_in_file
from penstock_cli.demo.stop_signal import StopSignal
from penstock_cli.demo.topics import end_of, write_orders

__all__ = ["OUT", "TOPIC", "Backlog", "free_ports"]

CONNECTOR: Final = "history-out"
TOPIC: Final = "history"
OUT: Final = "history-out.txt"
CALM: Final = 3.0  # seconds from the start of the task to the arrival of the backlog
PATIENCE: Final = 180.0  # seconds for each step
PERIOD: Final = 0.2  # seconds between polls of the task
_WORKERS: Final = re.compile(r"^penstock_task_spark_workers\{.*\} ([0-9.]+)$", re.MULTILINE)


class Backlog(threading.Thread):
    """Thread that writes a backlog, and then reports how Spark delivers it.

    Args:
        servers: the Kafka brokers.
        port: port of the metrics of the task that delivers the backlog.
        out: file that the sink writes.
        count: number of orders.
        stopping: set when the demo ends.
        note: called with a message for each step.
    """

    def __init__(
        self,
        servers: str,
        port: int,
        out: Path,
        count: int,
        stopping: StopSignal,
        note: Callable[[str], None],
    ) -> None:
        super().__init__(name="backlog", daemon=True)
        self._servers, self._port, self._out, self._count = servers, port, out, count
        self._stopping, self._note = stopping, note

    def run(self) -> None:
        """Write the backlog, and report each step until Spark has stopped."""
        try:
            self._run()
        except KafkaException as e:
            self._note(f"cannot write the backlog: {e}")

    def _run(self) -> None:
        if not self._await(f"{CONNECTOR} did not start", lambda: self._workers() is not None) or self._stopping.wait(
            CALM
        ):
            return
        first = end_of(self._servers, TOPIC)
        arrived = time.monotonic()
        self._note(f"A backlog arrives: {self._count:,} orders in topic '{TOPIC}'. {CONNECTOR} starts without Spark.")
        write_orders(self._servers, TOPIC, range(first, first + self._count), self._stopping.is_set)
        last = end_of(self._servers, TOPIC)
        if not self._await("Spark did not start", self._workers):
            return
        begun, before, workers = time.monotonic(), self._delivered(), self._workers()
        self._note(
            f"Spark starts after {begun - arrived:.0f} s, with {workers} worker{'s' * (workers != 1)} in the task of "
            f"{CONNECTOR}. Delivered by then: {_rate(before - first, begun - arrived)}."
        )
        if not self._await("The backlog was not delivered", lambda: self._delivered() >= last):
            return
        ended = time.monotonic()
        with_spark = f"; with Spark {_rate(last - before, ended - begun)}" if before < last else ""
        self._note(f"The backlog is delivered, {ended - arrived:.0f} s after it arrived{with_spark}.")
        if self._await("Spark did not stop", lambda: self._workers() == 0):
            self._note("Spark stops after 10 s without a backlog (spec.spark.idleTimeout).")

    def _await(self, otherwise: str, claim: Callable[[], object]) -> bool:
        """Wait until `claim` is true, and return True. Return False after a timeout, or when the demo ends."""
        end = time.monotonic() + PATIENCE
        while not claim():
            if self._stopping.wait(PERIOD):
                return False
            if time.monotonic() > end:
                self._note(f"{otherwise} within {PATIENCE:.0f} s.")
                return False
        return True

    def _delivered(self) -> int:
        """Return the number of delivered orders. They arrive in order, so it is the number of the last order, plus 1."""
        return last_in_file(self._out) + 1

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


def free_ports(count: int) -> int:
    """Return the first of `count` consecutive ports that are free."""
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
