"""Backlog of a demo: orders arrive in a topic together, and Spark's workers help to deliver them."""

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
PERIOD: Final = 0.2  # seconds between two looks at the task
_WORKERS: Final = re.compile(r"^penstock_task_spark_workers\{.*\} ([0-9.]+)$", re.MULTILINE)


class Backlog(threading.Thread):
    """Writer of a backlog, which then reports what Spark does about it.

    Args:
        servers: the Kafka brokers.
        port: port of the metrics of the task that delivers the backlog.
        out: the file at the other end.
        count: number of orders.
        stopping: set when the demo ends.
        note: called with each step, in words.
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
        first = end_of(self._servers, TOPIC)
        arrived = time.monotonic()
        self._note(f"A backlog arrives: {self._count:,} orders in topic '{TOPIC}'. {CONNECTOR} begins without Spark.")
        write_orders(self._servers, TOPIC, range(first, first + self._count), self._stopping.is_set)
        last = end_of(self._servers, TOPIC)
        if not self._await("Spark does not start", self._workers):
            return
        begun, before, workers = time.monotonic(), self._delivered(), self._workers()
        self._note(
            f"Spark starts after {begun - arrived:.0f} s, with {workers} worker{'s' * (workers != 1)} in the task of "
            f"{CONNECTOR}. Delivered by then: {_rate(before - first, begun - arrived)}."
        )
        if not self._await("The backlog is not delivered", lambda: self._delivered() >= last):
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

    def _delivered(self) -> int:
        """Return how many orders have arrived, which is the number after the last one: they arrive in order."""
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
