"""Trickle: 100 lines a second, one by one, and nothing at all: into a source's file, or into a sink's topic.

The latency of a line at the source is the time from before its append to the moment at which a `read_committed` consumer has
its record; at the sink, from before it is produced until it stands in the file. Both happen in this process, on one clock.
The CPU share is that of all processes of the side while the trickle lasts, and afterwards while nothing comes. Kafka Connect
delivers at least once here, without transactions.
"""

import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
from confluent_kafka import Producer
from tests.bench import data
from tests.bench.measured import Measured
from tests.bench.sides import Side, Work
from tests.bench.source_work import SETTLE, source_config
from tests.bench.topics import Topic
from tests.bench.tree import Memory

__all__ = ["Durations", "TrickleFigures", "run_sink_trickle", "run_trickle"]

_RATE: Final = 100
_PATIENCE: Final = 30.0
_CALM: Final = 60.0
_LOOK: Final = 0.002
_STRING: Final = "org.apache.kafka.connect.storage.StringConverter"


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
    """One run of one side with a source.

    Raises:
        RuntimeError: the side failed, or a line did not become a record, in order.
    """
    file = folder / "in.txt"
    file.write_text(data.FIRST + "\n")
    name = f"bench-trickle-{folder.name}"
    with (
        Topic(servers, name) as topic,
        side.run(Work("trickle", source_config(file, name)), folder) as measured,
        file.open("ab", buffering=0) as opened,
    ):
        first = _begun(measured, lambda: topic.end() > 0)
        with closing(_records(topic)) as come:
            return _figures(measured, durations, first, lambda line: opened.write(f"{line}\n".encode()), come)


def run_sink_trickle(side: Side, servers: str, folder: Path, durations: Durations) -> TrickleFigures:
    """One run of one side with a sink.

    Raises:
        RuntimeError: the side failed, or a record did not become a line, in order.
    """
    file = folder / "out.txt"
    name = f"bench-trickle-{folder.name}"
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 0})

    def send(line: str) -> None:
        producer.produce(name, line, partition=0)
        producer.poll(0)

    with Topic(servers, name):
        send(data.FIRST)
        with side.run(Work("trickle", _sink_config(file, name)), folder) as measured:
            first = _begun(measured, lambda: file.exists() and file.stat().st_size > 0)
            with closing(_lines(file)) as come:
                figures = _figures(measured, durations, first, send, come)
        producer.close()
    return figures


def _sink_config(file: Path, topic: str) -> dict[str, str]:
    return {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "file": str(file),
        "topics": topic,
        "key.converter": _STRING,
        "value.converter": _STRING,
    }


def _records(topic: Topic) -> Generator[Sequence[str], None, None]:
    """The lines of the records that come, as they come; none of them for a while is an empty sequence."""
    decode = msgspec.json.Decoder().decode
    with closing(topic.follower()) as consumer:
        while True:
            message = consumer.poll(0.2)
            good = message is not None and message.error() is None
            yield [decode(message.value() or b"").get("line")] if message is not None and good else []


def _lines(file: Path) -> Generator[Sequence[str], None, None]:
    """The lines that are added to a file."""
    with file.open() as opened:
        opened.read()
        rest = ""
        while True:
            *lines, rest = (rest + opened.read()).split("\n")
            yield lines
            time.sleep(_LOOK)


def _begun(measured: Measured, writes: Callable[[], bool]) -> float:
    """Wait for the first record and for all that still starts. Returns when the first record came."""
    first = measured.await_until("writing", writes)
    measured.await_up()
    time.sleep(SETTLE)
    return first


def _figures(
    measured: Measured,
    durations: Durations,
    first: float,
    send: Callable[[str], object],
    come: Iterator[Sequence[str]],
) -> TrickleFigures:
    trickle = _Trickle(send, come)
    trickle.run(measured, durations)
    roles = measured.tree.memory_by_role()
    idle_cpu = None
    if durations.idle:
        time.sleep(_CALM)
        before, begun = measured.tree.cpu(look=True), time.monotonic()
        time.sleep(durations.idle)
        idle_cpu = (measured.tree.cpu(look=True) - before) / (time.monotonic() - begun)
    latencies = sorted(trickle.latencies)
    return TrickleFigures(
        latencies[len(latencies) // 2],
        latencies[len(latencies) * 99 // 100],
        trickle.cpu,
        idle_cpu,
        trickle.memory,
        first - measured.started,
        {"memory": roles, "longest": latencies[-1], "log": measured.complaints()},
    )


class _Trickle:
    """Sends lines, and takes the time of those that come."""

    def __init__(self, send: Callable[[str], object], come: Iterator[Sequence[str]]) -> None:
        self._send = send
        self._come = come
        self._sent: list[float] = []
        self._failure: str | None = None
        self._all_sent = threading.Event()
        self.latencies: list[float] = []
        self.cpu = 0.0
        self.memory = Memory(0, 0)

    def run(self, measured: Measured, durations: Durations) -> None:
        """Write, and read at the same time."""
        reader = threading.Thread(target=self._read, name="trickle", daemon=True)
        reader.start()
        warm = round(durations.warm_up * _RATE)
        total = warm + round(durations.measured * _RATE)
        begun = due = time.monotonic()
        before = 0.0
        for number in range(total):
            if number == warm:
                before, begun = measured.tree.cpu(look=True), time.monotonic()
            time.sleep(max(0.0, due - time.monotonic()))
            line = data.line(number)
            self._sent.append(time.monotonic())
            self._send(line)
            due += 1 / _RATE
        self.cpu = (measured.tree.cpu(look=True) - before) / (time.monotonic() - begun)
        self.memory = measured.tree.memory()
        self._all_sent.set()
        reader.join(_PATIENCE)
        measured.check()
        if self._failure is not None or len(self.latencies) != total:
            raise RuntimeError(f"{measured.name}: {self._failure or f'{len(self.latencies)} of {total} records came'}")
        self.latencies = self.latencies[warm:]

    def _read(self) -> None:
        deadline = float("inf")
        while not (self._all_sent.is_set() and len(self.latencies) == len(self._sent)) and time.monotonic() < deadline:
            lines = next(self._come)
            now = time.monotonic()
            if self._all_sent.is_set() and deadline == float("inf"):
                deadline = now + _PATIENCE
            for line in lines:
                number = len(self.latencies)
                if line != data.line(number):
                    self._failure = f"record {number} is {line!r}"
                    return
                self.latencies.append(now - self._sent[number])
