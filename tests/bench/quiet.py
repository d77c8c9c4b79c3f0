"""Quiet connectors: many file sources of which each gets a line a second, under one `penstock run` or in one Connect worker.

Each has a file and a topic of its own; their lines are spread evenly over the second. Latency is the time from before the
append of a line to the moment at which a `read_committed` consumer has its record. CPU is that of all processes of the side,
while lines come and afterwards while none do; memory is that of the moment when the last line has been written.
"""

import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
from confluent_kafka import Consumer
from tests.bench import data
from tests.bench.measured import Measured
from tests.bench.sides import Side, Work
from tests.bench.source_work import SETTLE, source_config
from tests.bench.topics import Topics
from tests.bench.tree import Memory
from tests.bench.trickle import Durations

__all__ = ["QuietFigures", "run_quiet"]

_PATIENCE: Final = 30.0
_SECONDS_TO_START: Final = 3.0
"""For each connector: on two cores a hundred processes do not start at once."""

_CALM: Final = 60.0
"""After so many quiet seconds a source is asked as seldom as it will be."""


@dataclass(frozen=True)
class QuietFigures:
    """What one run of one side gave: seconds, shares of a core, bytes."""

    connectors: int
    p50: float
    p99: float
    cpu: float
    idle_cpu: float
    memory: Memory
    start: float
    detail: dict[str, Any]


def run_quiet(side: Side, servers: str, folder: Path, connectors: int, durations: Durations) -> QuietFigures:
    """One run of one side.

    Raises:
        RuntimeError: the side failed, or a line did not become a record, in the order of its file.
    """
    names = [f"bench-quiet-{folder.name}-{n}" for n in range(connectors)]
    files = [folder / f"{n}.txt" for n in range(connectors)]
    for file in files:
        file.write_text(data.FIRST + "\n")
    works = [Work("quiet", source_config(file, name)) for file, name in zip(files, names, strict=True)]
    with Topics(servers, names) as topics, side.run_all(works, folder) as measured:
        with closing(topics.follower(0)) as first:
            _await_all(measured, first, connectors)
        begun = time.monotonic() - measured.started
        time.sleep(SETTLE)
        with closing(topics.follower()) as consumer:
            lines = _Lines(files, consumer, names)
            cpu, roles = lines.run(measured, durations)
        memory = measured.tree.memory_by_role()
        time.sleep(_CALM)
        before, calm = measured.tree.cpu(look=True), time.monotonic()
        time.sleep(durations.idle)
        idle = (measured.tree.cpu(look=True) - before) / (time.monotonic() - calm)
        measured.check()
        latencies = sorted(lines.latencies)
        return QuietFigures(
            connectors,
            latencies[len(latencies) // 2],
            latencies[len(latencies) * 99 // 100],
            cpu,
            idle,
            measured.tree.memory(),
            begun,
            {"memory": memory, "cpu": roles, "longest": latencies[-1], "log": measured.complaints()},
        )


def _await_all(measured: Measured, consumer: Consumer, connectors: int) -> None:
    """Wait until each connector has written the line that its file began with."""
    found: set[str | None] = set()
    deadline = time.monotonic() + 60 + connectors * _SECONDS_TO_START
    while len(found) < connectors:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            found.add(message.topic())
        measured.check()
        if time.monotonic() > deadline:
            raise RuntimeError(f"{measured.name}: {len(found)} of {connectors} write\n{measured.log_end()}")


class _Lines:
    """Writes lines into all files in turn, and takes the time of the records."""

    def __init__(self, files: Sequence[Path], consumer: Consumer, topics: Sequence[str]) -> None:
        self._files = files
        self._consumer = consumer
        self._sent: dict[str | None, list[float]] = {topic: [] for topic in topics}
        self._come = dict.fromkeys(self._sent, 0)
        self._total = 0
        self._failure: str | None = None
        self._all_sent = threading.Event()
        self.latencies: list[float] = []

    def run(self, measured: Measured, durations: Durations) -> tuple[float, dict[str, float]]:
        """Write, and read at the same time.

        Returns:
            The share of a core, and the CPU seconds by what the processes are for.
        """
        warm = round(durations.warm_up) * len(self._files)
        self._total = warm + round(durations.measured) * len(self._files)
        reader = threading.Thread(target=self._read, name="quiet", daemon=True)
        reader.start()
        before: dict[str, float] = {}
        with ExitStack() as stack:
            opened = [stack.enter_context(file.open("ab", buffering=0)) for file in self._files]
            moments = [*self._sent.values()]
            begun = due = time.monotonic()
            for number in range(self._total):
                if number == warm:
                    before, begun = measured.tree.cpu_by_role(look=True), time.monotonic()
                time.sleep(max(0.0, due - time.monotonic()))
                index = number % len(opened)
                sent = moments[index]
                line = data.line(len(sent))
                sent.append(time.monotonic())
                opened[index].write(f"{line}\n".encode())
                due += 1 / len(opened)
        seconds = time.monotonic() - begun
        after = measured.tree.cpu_by_role(look=True)
        self._all_sent.set()
        reader.join(_PATIENCE)
        measured.check()
        if self._failure is not None or len(self.latencies) != self._total:
            come = f"{len(self.latencies)} of {self._total} records came"
            raise RuntimeError(f"{measured.name}: {self._failure or come}")
        self.latencies = self.latencies[warm:]
        roles = {role: round(spent - before.get(role, 0.0), 2) for role, spent in after.items()}
        return (sum(after.values()) - sum(before.values())) / seconds, roles

    def _read(self) -> None:
        decode = msgspec.json.Decoder().decode
        deadline = float("inf")
        while len(self.latencies) < self._total and time.monotonic() < deadline:
            message = self._consumer.poll(0.2)
            now = time.monotonic()
            if self._all_sent.is_set() and deadline == float("inf"):
                deadline = now + _PATIENCE
            if message is None or message.error() is not None:
                continue
            topic = message.topic()
            number = self._come[topic]
            if (line := decode(message.value() or b"").get("line")) != data.line(number):
                self._failure = f"record {number} of {topic} is {line!r}"
                return
            self._come[topic] = number + 1
            self.latencies.append(now - self._sent[topic][number])
