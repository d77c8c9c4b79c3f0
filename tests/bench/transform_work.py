"""Transforms as users run them: a topic with one partition, a converter, the transforms, a file.

A side is started on a topic of one record. Two further portions lie there in transactions that are still open. When the
first line is in the file, and nothing of the side is still starting, the first portion is shown: it warms up what a start
leaves cold (a JIT, Spark's workers). When its lines are there, and after a second of calm, the second one is shown: the
clock, and the account of CPU seconds, run from there to the moment at which the last line is in the file.
Lines are counted afterwards, and both sides must have written the same, the order of a map's fields apart.
"""

import os
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from tests.bench.measured import Measured
from tests.bench.sides import Side, Work
from tests.bench.source_work import spent
from tests.bench.topics import Hidden, Topic
from tests.bench.transform_cases import Case, Form, headers

__all__ = ["Point", "TransformFigures", "run_transforms"]

_CALM: Final = 1.0
_BLOCK: Final = 10_000
_PATIENCE: Final = 300.0
_EVERY: Final = 0.005
_MARKS: Final = bytes.maketrans(b"{}", b",,")


@dataclass(frozen=True)
class Point:
    """One case on records of one form."""

    case: Case
    form: Form

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.case.name}: {self.form.name}"


@dataclass(frozen=True)
class TransformFigures:
    """What one run of one side gave: records read, seconds, CPU seconds; `written` is a checksum of all lines."""

    point: str
    records: int
    seconds: float
    cpu: float
    written: int
    detail: dict[str, Any]

    @property
    def rate(self) -> float:
        """Records per second."""
        return self.records / self.seconds

    @property
    def cost(self) -> float:
        """CPU microseconds a record."""
        return self.cpu * 1e6 / self.records


def run_transforms(side: Side, servers: str, point: Point, count: int, folder: Path) -> TransformFigures:
    """One run of one side: `count` records to warm up, `count` that count.

    Raises:
        RuntimeError: the side failed, or wrote too much or too little.
    """
    file = _Lines(folder / "out.txt")
    name = f"bench-transforms-{folder.name}"
    every = point.case.every
    with Topic(servers, name) as topic:
        _hidden(servers, topic, point.form, 0, 1).show()
        warm, rest = (_hidden(servers, topic, point.form, 1 + i * count, 1 + (i + 1) * count) for i in range(2))
        with side.run(Work("transforms", _config(file.path, name, point)), folder) as measured:
            file.follow(measured, 1)
            measured.await_up()
            warm.show()
            file.follow(measured, 1 + count // every)
            time.sleep(_CALM)
            before = measured.tree.cpu_by_role(look=True)
            begun = time.monotonic()
            rest.show()
            ended, cpu = file.follow(measured, 1 + 2 * count // every)
            roles = spent(before, measured)
            complaints = measured.complaints()
    lines, written = _checksum(file.path)
    if lines != 1 + 2 * count // every:
        raise RuntimeError(f"{point.name}, {side.name}: {lines} lines of {1 + 2 * count // every}\n{complaints}")
    return TransformFigures(
        point.name, count, ended - begun, cpu - sum(before.values()), written, {"cpu": roles, "log": complaints}
    )


@lru_cache(maxsize=100)
def _values(start: int, end: int, form: Form) -> list[bytes]:
    """Made once for all runs on records of a form that follow each other."""
    return form.values(start, end)


def _hidden(servers: str, topic: Topic, form: Form, start: int, end: int) -> Hidden:
    hidden = Hidden(servers, topic, f"{topic.name}-{start}")
    for first in range(start, end, _BLOCK):
        last = min(end, first + _BLOCK)
        marks = None if headers(first, form) is None else [headers(n, form) or [] for n in range(first, last)]
        hidden.write(_values(first, last, form), marks)
    hidden.flush()
    return hidden


def _config(file: Path, topic: str, point: Point) -> dict[str, str]:
    return {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "file": str(file),
        "topics": topic,
        **point.form.converters,
        **point.case.config,
        "consumer.override.max.poll.records": "5000",
        "consumer.override.isolation.level": "read_committed",
    }


@dataclass
class _Lines:
    """A file that is written, and how many lines of it have been seen."""

    path: Path
    seen: int = 0
    _at: int = field(default=0)

    def follow(self, measured: Measured, count: int) -> tuple[float, float]:
        """Look until so many lines are there.

        Returns:
            The moment at which they were, and the CPU seconds of the measured side until then.

        Raises:
            RuntimeError: the measured side ended, or took too long.
        """
        deadline = time.monotonic() + _PATIENCE
        while True:
            now = time.monotonic()
            grown = self._size() > self._at
            cpu = measured.tree.cpu() if grown else 0.0
            if grown:
                self._read()
            if self.seen >= count:
                return now, cpu or measured.tree.cpu()
            if now > deadline:
                raise RuntimeError(f"{measured.name}: {self.seen} of {count} lines after {_PATIENCE:.0f} s")
            measured.check()
            time.sleep(_EVERY)

    def _size(self) -> int:
        try:
            return os.stat(self.path).st_size  # noqa: PTH116 (asked every few milliseconds)
        except FileNotFoundError:
            return 0

    def _read(self) -> None:
        with self.path.open("rb") as opened:
            opened.seek(self._at)
            for block in iter(lambda: opened.read(1 << 20), b""):
                self.seen += block.count(b"\n")
                self._at += len(block)


def _checksum(file: Path) -> tuple[int, int]:
    """How many lines there are, and a number that tells them from others; the order of fields in a line is left out."""
    count = sum_ = 0
    for line in _lines(file):
        parts = sorted(part.strip() for part in line.translate(_MARKS).split(b","))
        sum_ = zlib.crc32(b",".join(parts), sum_)
        count += 1
    return count, sum_


def _lines(file: Path) -> Iterator[bytes]:
    with file.open("rb") as opened:
        yield from opened
