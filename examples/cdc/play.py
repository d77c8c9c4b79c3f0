"""Script of the demo: orders change, the JVM of the connector is killed, records move again, a column is added."""

import json
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from typing import IO

import psutil
from confluent_kafka import Consumer
from events import Event, event_of, line, row
from shop import NEW_COLUMN, SEED, TOPIC, Shop

from penstock_cli.demo.screen import say
from penstock_cli.demo.stop_signal import StopSignal
from penstock_cli.demo.topics import watch

__all__ = ["Play"]

HOST_PROGRAM = "dev.penstock.host.Main"  # main class of the JVM that runs a Java plugin
PERIOD = 0.05  # seconds between two transactions
CALM = 10.0  # seconds of records before the kill, and between the kill and the new column
PATIENCE = 60.0  # seconds to wait for the snapshot, and for the last record


class Play:
    """Changes orders, follows the topic, and prints the progress.

    Args:
        begun: start of the demo, monotonic.
        shop: the shop whose orders change.
        process: the process of `penstock run`.
        log: output of the process.
        servers: the Kafka brokers.
    """

    def __init__(
        self, begun: float, shop: Shop, process: "subprocess.Popen[bytes]", log: IO[str], servers: str
    ) -> None:
        self._begun, self._shop, self._process, self._log, self._servers = begun, shop, process, log, servers
        self._state = ""
        self._consumer: Consumer | None = None
        self._arrived: set[object] = set()
        self._latest: dict[str, Event] = {}
        self._killed: float | None = None  # seconds since 1970, like the events; None: records have moved since
        self._shown, self._shown_count = float("inf"), 0

    def run(self, rate: int, seconds: float | None, stopping: StopSignal) -> None:
        """Run until stopped, or for `seconds` after the snapshot; then wait for the last record."""
        try:
            # An interrupted snapshot starts again, and includes the changes in between.
            if self._until(lambda: len(self._arrived) >= SEED or stopping.is_set()):
                self._change(rate, seconds, stopping)
                self._until(lambda: len(self._arrived) >= self._shop.changes)
                self._show()
        finally:
            if self._consumer is not None:
                self._consumer.close()

    def _change(self, rate: int, seconds: float | None, stopping: StopSignal) -> None:
        moving = self._shown = time.monotonic()
        self._note("Records move: the snapshot is in the topic. Now orders change.")
        end = float("inf") if seconds is None else moving + seconds
        calm = CALM if seconds is None else seconds / 3
        events = [(moving + calm, self._kill), (moving + calm * 2, self._add_column)]
        due = 0.0
        while not stopping.is_set() and self._process.poll() is None and (now := time.monotonic()) < end:
            due += rate * PERIOD
            self._shop.change(int(due))
            due -= int(due)
            if events and now >= events[0][0] and len(self._arrived) > SEED:
                events.pop(0)[1]()
            while (left := now + PERIOD - time.monotonic()) > 0:
                self._follow(left)
        self._note("No more changes. Waiting for the last record...")

    def _until(self, claim: Callable[[], bool]) -> bool:
        """Follow the topic until a condition holds; return False if it does not hold in time."""
        end = time.monotonic() + PATIENCE
        while not claim():
            if time.monotonic() > end or self._process.poll() is not None:
                return False
            self._follow(PERIOD)
        return True

    def _follow(self, seconds: float) -> None:
        """Read the records that arrive within some seconds."""
        for entry in self._log:
            self._print(entry)
        if self._consumer is None:
            self._consumer = watch(self._servers, TOPIC)
        if self._consumer is None:
            time.sleep(seconds)
            return
        for message in self._consumer.consume(500, seconds):
            if message.error() is None:
                self._see(event_of(message.value()))
        if time.monotonic() >= self._shown + 1 and self._arrived:
            self._show()

    def _print(self, entry: str) -> None:
        """Print the message of `penstock run` when the state of the task changes."""
        with suppress(ValueError):  # the line is incomplete, or not JSON
            event = json.loads(entry)
            if event.get("event") == "task" and event["state"] != self._state:
                self._state = event["state"]
                self._note(f"penstock: {event['message']}")

    def _see(self, event: Event) -> None:
        self._arrived.add(row(event)[0])
        self._latest[event["op"]] = event
        if self._killed is not None and event["ts_ms"] > self._killed * 1000:
            self._note(f"Records move again, {time.time() - self._killed:.1f} s after the kill.")
            self._killed = None

    def _show(self) -> None:
        now, count = time.monotonic(), len(self._arrived)
        text = f"{self._shop.changes:,} changes -> {count:,} in the topic"
        if now >= self._shown + 1:
            text += f" ({(count - self._shown_count) / (now - self._shown):,.0f} a second)"
        self._note(text)
        for event in self._latest.values():
            say(f"{'':9}   {line(event)}")
        self._shown, self._shown_count, self._latest = now, count, {}

    def _kill(self) -> None:
        for process in psutil.Process(self._process.pid).children(recursive=True):
            with suppress(psutil.Error):
                if HOST_PROGRAM in process.cmdline():
                    self._note(f"Fault: kill -9 {process.pid}, the JVM of Debezium, child of task {process.ppid()}")
                    self._killed = time.time()
                    process.kill()

    def _add_column(self) -> None:
        self._note(f"A new column: {NEW_COLUMN}")
        self._shop.add_column()

    def _note(self, text: str) -> None:
        say(f"{time.monotonic() - self._begun:7.1f} s {text}")
