"""Records of several Kafka partitions as few frames, each of one schema, in the order that each partition has."""

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
"""A run, wherever its rows are."""


@dataclass(frozen=True, slots=True)
class Run:
    """Records of one partition that follow each other and have one schema.

    Attributes:
        source: the partition.
        offset: of the first of them.
        schema: of their values.
        values: of each record.
    """

    source: TopicPartition
    offset: int
    schema: Schema | None
    values: list[Any] | Fields

    def __len__(self) -> int:
        return len(self.values)


class Count(msgspec.Struct, array_like=True):
    """Records of one partition in one part: how many were read, their bytes, and how many failed."""

    read: int = 0
    bytes: int = 0
    failed: int = 0


class KeptRun(msgspec.Struct):
    """Rows of one partition that follow each other, of one schema.

    Attributes:
        number: under which they are kept, in their part of the batch.
        source: the partition.
        offset: of the first of them.
        schema: of the rows, as JSON.
        rows: how many.
        rest: the records of the partition from here to the end of the part.
        part: the number of that; the driver knows it.
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
    """A batch of one partition, cut where the schema changes."""
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
    """Frames, as the runs that each consists of: of one schema, and those of one partition in their order.

    Records of different partitions have no order between them, so at each step one schema is chosen, and every partition
    gives its leading runs of it. Chosen is the schema at the head of the partition that has most changes before it. Of two
    schemas no other way needs fewer frames; of k schemas there are at most k times as many frames as the partition with
    most changes would need alone. (The fewest are a shortest common supersequence, which is NP-hard to find.)

    Args:
        partitions: the runs of each partition, in order.
    """
    numbers: dict[Any, int] = {}
    known: dict[int, int] = {}

    def number(run: R) -> int:
        """The same for equal schemas; each object is hashed once, as that looks at all of its fields."""
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
