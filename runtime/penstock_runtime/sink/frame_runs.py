"""Combine records of several Kafka partitions into few frames of one schema each, in the order of each partition."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any, Protocol, TypeVar

import msgspec

from penstock.batch import RecordBatch
from penstock.fields import Fields
from penstock.schema import Schema
from penstock.sink import TopicPartition

__all__ = ["Count", "KeptRun", "R", "Run", "merged", "runs_of"]


class _Run(Protocol):
    @property
    def schema(self) -> Any: ...
    def __len__(self) -> int: ...


R = TypeVar("R", bound=_Run)
"""Run whose rows are in this process (`Run`) or kept by Spark (`KeptRun`)."""


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive records of one partition that have one schema.

    Attributes:
        source: the partition.
        offset: offset of the first record.
        schema: schema of the values.
        values: value of each record.
    """

    source: TopicPartition
    offset: int
    schema: Schema | None
    values: list[Any] | Fields

    def __len__(self) -> int:
        return len(self.values)


class Count(msgspec.Struct, array_like=True):
    """Counts of one partition in one part: records read, their bytes, and failed records."""

    read: int = 0
    bytes: int = 0
    failed: int = 0


class KeptRun(msgspec.Struct):
    """Consecutive rows of one partition that have one schema.

    Attributes:
        number: key of the rows within their part of the batch.
        source: the partition.
        offset: offset of the first row.
        schema: schema of the rows, as JSON.
        rows: number of rows.
        rest: counts of the partition from here to the end of the part.
        part: number of the part, set by the driver.
    """

    number: int
    source: tuple[str, int]
    offset: int
    schema: str
    rows: int
    rest: Count
    part: int = 0

    def __len__(self) -> int:
        return self.rows


def runs_of(source: TopicPartition, batch: RecordBatch) -> list[Run]:
    """Split a batch of one partition where the schema changes."""
    if not batch.length:
        return []
    values = batch.column("value") if batch.fields is None else batch.fields
    offsets = batch.column("offset")
    schemas = batch.value_schema
    if not isinstance(schemas, list):
        return [Run(source, offsets[0], schemas, values)]
    starts = [0, *(row for row in range(1, len(schemas)) if schemas[row] is not schemas[row - 1])]
    ends = [*starts[1:], len(schemas)]
    return [
        Run(source, offsets[start], schemas[start], values[start:end]) for start, end in zip(starts, ends, strict=True)
    ]


def merged(partitions: Iterable[Sequence[R]]) -> list[list[R]]:
    """Return frames as lists of runs: each frame has one schema, and runs of one partition keep their order.

    Records of different partitions are not ordered relative to each other. Each step therefore chooses one schema, and takes
    the leading runs with this schema from every partition. It chooses the schema at the head of the partition with the most
    remaining changes. For two schemas, this gives the fewest possible frames; for k schemas, at most k times as many as the
    partition with the most changes requires. (The minimum is a shortest common supersequence, which is NP-hard to find.)

    Args:
        partitions: the runs of each partition, in order.
    """
    numbers: dict[Any, int] = {}
    known: dict[int, int] = {}

    def number(run: R) -> int:
        """Return the same number for equal schemas. Hash each object once, because a hash visits all of its fields."""
        found = known.get(id(run.schema))
        if found is None:
            found = known[id(run.schema)] = numbers.setdefault(run.schema, len(numbers))
        return found

    queues = [
        [
            (schema, [run for _, run in group])
            for schema, group in groupby(((number(r), r) for r in runs), itemgetter(0))
        ]
        for runs in partitions
    ]
    for queue in queues:
        queue.reverse()
    frames = []
    while queues := [queue for queue in queues if queue]:
        most = max(map(len, queues))
        heads = Counter(queue[-1][0] for queue in queues)
        chosen = max(
            {queue[-1][0] for queue in queues if len(queue) == most}, key=lambda schema: (heads[schema], -schema)
        )
        frames.append([run for queue in queues if queue[-1][0] == chosen for run in queue.pop()[1]])
    return frames
