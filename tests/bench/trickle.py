"""Trickle: 100 lines a second into the source's file, one by one, and nothing at all.

The latency of a line is the time from before its append to the moment at which a `read_committed` consumer has its record;
both happen in this process, on one clock. The CPU share is that of all processes of the side while the trickle lasts, and
afterwards while nothing comes. Kafka Connect delivers at least once here, without transactions.
"""

import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
from confluent_kafka import Consumer
from tests.bench import data
from tests.bench.measured import Measured
from tests.bench.sides import Side, Work
from tests.bench.source_work import SETTLE, source_config
from tests.bench.topics import Topic
from tests.bench.tree import Memory

__all__ = ["Durations", "TrickleFigures", "run_trickle"]

_RATE: Final = 100
_PATIENCE: Final = 30.0
_CALM: Final = 5.0


@dataclass(frozen=True)
class Durations:
    """Seconds: before the measure, of the measure, and of the idle time after it (0: none)."""

    warm_up: float
    measured: float
    idle: float


@dataclass(frozen=True)
class TrickleFigures:
    """What one run of one side gave: seconds, shares of a core, bytes."""

    p50: float
    p99: float
    cpu: float
    idle_cpu: float | None
    memory: Memory
    start: float
    detail: dict[str, Any]


def run_trickle(side: Side, servers: str, folder: Path, durations: Durations) -> TrickleFigures:
    """One run of one side.

    Raises:
        RuntimeError: the side failed, or a line did not become a record, in order.
    """
    file = folder / "in.txt"
    file.write_text(data.FIRST + "\n")
    name = f"bench-trickle-{folder.name}"
    with Topic(servers, name) as topic, side.run(Work("trickle", source_config(file, name)), folder) as measured:
        first = measured.await_until("writing", lambda: topic.end() > 0)
        measured.await_up()
        time.sleep(SETTLE)
        trickle = _Trickle(file, topic)
        trickle.run(measured, durations)
        roles = measured.tree.memory_by_role()
        idle_cpu = None
        if durations.idle:
            time.sleep(_CALM)
            before, begun = measured.tree.cpu(look=True), time.monotonic()
            time.sleep(durations.idle)
            idle_cpu = (measured.tree.cpu(look=True) - before) / (time.monotonic() - begun)
        complaints = measured.complaints()
    latencies = sorted(trickle.latencies)
    return TrickleFigures(
        latencies[len(latencies) // 2],
        latencies[len(latencies) * 99 // 100],
        trickle.cpu,
        idle_cpu,
        trickle.memory,
        first - measured.started,
        {"memory": roles, "longest": latencies[-1], "log": complaints},
    )


class _Trickle:
    def __init__(self, file: Path, topic: Topic) -> None:
        self._file = file
        self._consumer = topic.follower()
        self._sent: list[float] = []
        self._failure: str | None = None
        self._all_sent = threading.Event()
        self.latencies: list[float] = []
        self.cpu = 0.0
        self.memory = Memory(0, 0)

    def run(self, measured: Measured, durations: Durations) -> None:
        """Write, and read at the same time."""
        reader = threading.Thread(target=self._read, args=(self._consumer,), name="trickle", daemon=True)
        reader.start()
        warm = round(durations.warm_up * _RATE)
        total = warm + round(durations.measured * _RATE)
        with self._file.open("ab", buffering=0) as opened:
            begun = due = time.monotonic()
            before = 0.0
            for number in range(total):
                if number == warm:
                    before, begun = measured.tree.cpu(look=True), time.monotonic()
                time.sleep(max(0.0, due - time.monotonic()))
                text = (data.line(number) + "\n").encode()
                self._sent.append(time.monotonic())
                opened.write(text)
                due += 1 / _RATE
        self.cpu = (measured.tree.cpu(look=True) - before) / (time.monotonic() - begun)
        self.memory = measured.tree.memory()
        self._all_sent.set()
        reader.join(_PATIENCE)
        measured.check()
        if self._failure is not None or len(self.latencies) != total:
            raise RuntimeError(f"{measured.name}: {self._failure or f'{len(self.latencies)} of {total} records came'}")
        self.latencies = self.latencies[warm:]

    def _read(self, consumer: Consumer) -> None:
        decode = msgspec.json.Decoder().decode
        deadline = float("inf")
        while not (self._all_sent.is_set() and len(self.latencies) == len(self._sent)) and time.monotonic() < deadline:
            message = consumer.poll(0.2)
            now = time.monotonic()
            if self._all_sent.is_set() and deadline == float("inf"):
                deadline = now + _PATIENCE
            if message is None or message.error() is not None:
                continue
            number = len(self.latencies)
            line = decode(message.value() or b"").get("line")
            if line != data.line(number):
                self._failure = f"record {number} is {line!r}"
                break
            self.latencies.append(now - self._sent[number])
        consumer.close()
