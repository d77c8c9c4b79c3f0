"""Source: a file's lines through HoistField and two InsertField, as JSON into a topic with one partition.

A side is started on a file of one line. When that record can be read, and nothing of the side is still starting, the other
lines are appended at once, by a copy inside the kernel. The clock runs from the first byte of that copy to the moment at
which a `read_committed` reader could read the last record, and so does the account of CPU seconds. Content, count and order
are checked afterwards.
"""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
from tests.bench import data
from tests.bench.measured import Measured
from tests.bench.sides import CONVERTERS, Side, Work
from tests.bench.timeline import Timeline
from tests.bench.topics import Topic
from tests.bench.tree import Memory, PeakMemory

__all__ = ["SETTLE", "Figures", "append", "run_source", "source_config", "spent"]

SETTLE: Final = 3.0
"""Seconds of calm between a side's first record and its work."""


@dataclass(frozen=True)
class Figures:
    """What one run of one side gave: seconds, CPU seconds, peak memory in bytes; `start` only where it is measured."""

    records: int
    seconds: float
    cpu: float
    peak: Memory
    start: float | None
    detail: dict[str, Any]

    @property
    def rate(self) -> float:
        """Records per second."""
        return self.records / self.seconds


def source_config(file: Path, topic: str) -> dict[str, str]:
    """The connector, the same for both sides."""
    return {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "file": str(file),
        "topic": topic,
        **CONVERTERS,
        "transforms": "hoist,origin,topic",
        "transforms.hoist.type": "org.apache.kafka.connect.transforms.HoistField$Value",
        "transforms.hoist.field": "line",
        "transforms.origin.type": "org.apache.kafka.connect.transforms.InsertField$Value",
        "transforms.origin.static.field": "origin",
        "transforms.origin.static.value": "bench",
        "transforms.topic.type": "org.apache.kafka.connect.transforms.InsertField$Value",
        "transforms.topic.topic.field": "topic",
    }


def run_source(side: Side, servers: str, lines: Path, count: int, folder: Path) -> Figures:
    """One run of one side.

    Raises:
        RuntimeError: the side failed, or the topic holds anything else than it should.
    """
    file = folder / "in.txt"
    file.write_text(data.FIRST + "\n")
    name = f"bench-source-{folder.name}"
    work = Work("source", source_config(file, name))
    timeline = Timeline()
    with Topic(servers, name) as topic:
        with side.run(work, folder) as measured:
            first = measured.await_until("writing", lambda: topic.end() > 0)
            measured.await_up()
            time.sleep(SETTLE)
            before = measured.tree.cpu_by_role(look=True)
            with PeakMemory(measured.tree) as memory:
                begun = time.monotonic()
                append(lines, file)
                timeline.follow(measured, topic.end, at_least=count + 1)
            roles = spent(before, measured)
            complaints = measured.complaints()
        last = _check(topic, lines)
    reached = timeline.first(last + 1)
    return Figures(
        count,
        reached.at - begun,
        reached.cpu - sum(before.values()),
        memory.peak,
        first - measured.started,
        {"cpu": roles, "memory": memory.roles, "log": complaints},
    )


def append(lines: Path, file: Path) -> None:
    """Copy one file to the end of another inside the kernel."""
    source = os.open(lines, os.O_RDONLY)
    target = os.open(file, os.O_WRONLY)
    try:
        os.lseek(target, 0, os.SEEK_END)
        while os.copy_file_range(source, target, 1 << 30):
            pass
    finally:
        os.close(source)
        os.close(target)


def _check(topic: Topic, lines: Path) -> int:
    """Compare the topic, record by record, with what the lines must have become.

    Returns:
        The offset of the last record.

    Raises:
        RuntimeError: a record is missing, doubled, out of order or wrong.
    """
    expected = _expected(lines)
    decode = msgspec.json.Decoder().decode
    count = last = 0
    for offsets, values in topic.read():
        for offset, value in zip(offsets, values, strict=True):
            must = {"line": next(expected, None), "origin": "bench", "topic": topic.name}
            if decode(value) != must:
                raise RuntimeError(f"{topic.name}: record {count} at offset {offset} is {value!r}, not {must}")
            count, last = count + 1, offset
    missing = sum(1 for _ in expected)
    if missing:
        raise RuntimeError(f"{topic.name}: after {count} records {missing} are missing")
    return last


def _expected(lines: Path) -> Iterator[str]:
    yield data.FIRST
    for block in data.read_lines(lines):
        yield from block


def spent(before: dict[str, float], measured: Measured) -> dict[str, float]:
    """CPU seconds since `before`, by what the processes are for."""
    after = measured.tree.cpu_by_role(look=True)
    return {role: round(seconds - before.get(role, 0.0), 2) for role, seconds in after.items()}
