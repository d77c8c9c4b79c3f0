"""Datagen: a source of random records, for demos, tests and measurements.

Record n of partition p depends only on the seed, p and n: two runs generate the same records, even if one was interrupted.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final, Self

from pydantic import model_validator

from penstock import (
    Config,
    ConfigError,
    ConnectError,
    Importance,
    InputPartition,
    Limits,
    Offset,
    Offsets,
    PartitionReader,
    Problem,
    RecordBatch,
    Source,
    SourceConnector,
    SourcePartition,
    prop,
)
from penstock.config import nearest
from penstock.rules import at_least, long, not_blank, words
from penstock_plugins.connectors.datagen.shapes import SHAPES, Draw

__all__ = ["Datagen", "DatagenConfig", "DatagenReader", "DatagenSource"]

_BLOCK: Final = 2000
"""Rows that are generated together. A different value would change the data of a seed."""
_RECORD_BYTES: Final = 200
"""Approximate size of a record in bytes."""
_STEPS_PER_SECOND: Final = 20
"""Steps per second in which records become due: a transaction for each record would cost brokers more than the record."""


class DatagenConfig(Config):
    topic: Annotated[str, not_blank] = prop("topic", doc="The topic to publish data to.", importance=Importance.HIGH)
    shape: Annotated[str, words(*SHAPES)] = prop(
        "schema.type", "orders", doc=f"The kind of records: {', '.join(SHAPES)}.", importance=Importance.HIGH
    )
    rate: float = prop(
        "rate",
        10.0,
        doc="Records per second that one task generates, counted from its start, in steps of 50 ms. 0: as fast as possible.",
        importance=Importance.HIGH,
        ge=0,
    )
    count: Annotated[int | None, at_least(0), long] = prop(
        "count", None, doc="Total number of records in all partitions. Default: unlimited."
    )
    seed: Annotated[int, long] = prop(
        "seed", 0, doc="Seed of the random data. The same seed generates the same records."
    )
    partitions: Annotated[int, at_least(1)] = prop(
        "partitions",
        1,
        doc="Number of source partitions, each with its own offset. They are distributed among the tasks and generated in "
        "parallel.",
        le=10_000,
    )
    key_field: str | None = prop("key.field", None, doc="The field that is also the record's key. Default: no key.")
    epoch: Annotated[int, long] = prop(
        "epoch.ms", 1_735_689_600_000, doc="The time, in milliseconds since 1970, at which the times in the data start."
    )
    step: Annotated[int, at_least(1)] = prop(
        "step.ms", 1000, doc="Milliseconds between the times in the data of two successive records of a partition."
    )
    task_partitions: list[str] = prop(
        "task.partitions",
        [],
        doc="Partitions that a task generates. The connector sets it for each task; do not set it yourself.",
        importance=Importance.LOW,
    )

    @model_validator(mode="after")
    def _key_is_a_field(self) -> Self:
        names = [f.name for f in SHAPES[self.shape].schema.fields]
        if self.key_field is not None and self.key_field not in names:
            near = nearest(self.key_field, names)
            hint = f"Did you mean {near}?" if near else f"It has {', '.join(names)}."
            raise ConfigError(Problem("key.field", f"{self.shape} has no field {self.key_field}. {hint}"))
        return self

    @property
    def assigned(self) -> tuple[int, ...]:
        """Return the partitions of this task."""
        return tuple(map(int, self.task_partitions)) or tuple(range(self.partitions))

    def quota(self, partition: int) -> int | None:
        """Return the total number of records of a partition; None if there is no limit."""
        if self.count is None:
            return None
        return self.count // self.partitions + (partition < self.count % self.partitions)


class Datagen(SourceConnector):
    """Generates typed random records."""

    Config: ClassVar[type[Config]] = DatagenConfig

    def task_configs(
        self, config: DatagenConfig, properties: Mapping[str, str], max_tasks: int
    ) -> Sequence[Mapping[str, str]]:
        """Assign the partitions to the tasks, round-robin."""
        tasks = min(max_tasks, config.partitions)
        assignments = (range(task, config.partitions, tasks) for task in range(tasks))
        return [{**properties, "task.partitions": ",".join(map(str, partitions))} for partitions in assignments]

    def reads_anywhere(self, config: DatagenConfig) -> bool:
        """Return True: records can be generated on any machine."""
        return True

    def source(self, config: DatagenConfig) -> "DatagenSource":
        return DatagenSource(config)

    def reader(self, config: DatagenConfig) -> "DatagenReader":
        return DatagenReader(config)

    def alter_offsets(self, config: DatagenConfig, offsets: Mapping[SourcePartition, Offset | None]) -> bool:
        """Accept record counts for existing partitions, and any deletion."""
        for partition, offset in offsets.items():
            if offset is not None:
                if set(partition) != {"datagen", "partition"}:
                    raise ConnectError("Partition objects should contain the keys 'datagen' and 'partition'")
                if partition["datagen"] != config.shape or partition["partition"] not in range(config.partitions):
                    raise ConnectError(
                        f"cannot set an offset of partition {dict(partition)}: this connector generates {config.shape} in "
                        f"partitions 0 to {config.partitions - 1}"
                    )
                _count(offset)
        return True


class DatagenSource(Source):
    """Driver half: counts the records that are due.

    Args:
        config: configuration of the task.
        clock: monotonic clock, in seconds.
    """

    def __init__(self, config: DatagenConfig, clock: Callable[[], float] = time.monotonic) -> None:
        self._config = config
        self._clock = clock
        self._partitions = [SourcePartition({"datagen": config.shape, "partition": p}) for p in config.assigned]
        self._began = 0.0
        self._base: list[int] = []

    def start(self, offsets: Offsets) -> None:
        """Record the start time and counts from which `latest_offsets` computes the due records."""
        self._began = self._clock()
        self._base = [_count(offsets.get(p)) for p in self._partitions]

    def latest_offsets(self, start: Offsets, limits: Limits) -> Offsets:
        """Return the counts that are due by the clock, spread evenly over the partitions."""
        config, shares = self._config, len(self._partitions)
        each = max(1, min(limits.records, limits.bytes // _RECORD_BYTES) // shares)
        due = int(int((self._clock() - self._began) * _STEPS_PER_SECOND) * config.rate / _STEPS_PER_SECOND)
        end: dict[SourcePartition, Offset] = {}
        for i, partition in enumerate(self._partitions):
            count = _count(start.get(partition))
            limit = count + each
            if config.rate:
                limit = min(limit, self._base[i] + due // shares + (i < due % shares))
            quota = config.quota(config.assigned[i])
            if quota is not None:
                limit = min(limit, quota)
            if limit > count:
                end[partition] = {"count": limit}
        return end

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        """Return one input partition for each partition with new records."""
        parts = []
        for partition, number in zip(self._partitions, self._config.assigned, strict=True):
            before, after = _count(start.get(partition)), _count(end.get(partition))
            if after > before:
                data = {"partition": number, "start": before, "end": after}
                parts.append(InputPartition(data, {partition: end[partition]}))
        return parts


class DatagenReader(PartitionReader):
    """Task half: makes the records."""

    def __init__(self, config: DatagenConfig) -> None:
        self._config = config
        self._shape = SHAPES[config.shape]
        self._last: dict[int, tuple[int, list[dict[str, Any]]]] = {}
        """Partly used block of each partition: at a low rate, many batches share a block."""
        key = self._shape.schema.field(config.key_field) if config.key_field is not None else None
        self._key_schema = key.schema if key is not None else None

    def read(self, partition: InputPartition) -> Iterator[RecordBatch]:
        """Yield the records, in blocks."""
        number, start, end = (int(partition.data[name]) for name in ("partition", "start", "end"))
        while start < end:
            block, skip = divmod(start, _BLOCK)
            take = min(end - start, _BLOCK - skip)
            whole = take == _BLOCK
            rows = self._draw(number, block) if whole else self._kept(number, block)[skip : skip + take]
            key = self._config.key_field
            yield RecordBatch(
                length=take,
                topic=self._config.topic,
                key=None if key is None else [row[key] for row in rows],
                key_schema=self._key_schema,
                value=rows,
                value_schema=self._shape.schema,
                owned=whole,
            )
            start += take

    def _draw(self, partition: int, block: int) -> list[dict[str, Any]]:
        draw = Draw(f"{self._config.seed}/{self._config.shape}/{partition}/{block}", _BLOCK)
        return self._shape.rows(draw, block * _BLOCK, self._config.epoch, self._config.step)

    def _kept(self, partition: int, block: int) -> list[dict[str, Any]]:
        kept = self._last.get(partition)
        if kept is None or kept[0] != block:
            kept = self._last[partition] = (block, self._draw(partition, block))
        return kept[1]


def _count(offset: Offset | None) -> int:
    count = (offset or {}).get("count", 0)
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise ConnectError(
            f"The value for the 'count' key in the offset is {count!r}; it must be a non-negative integer"
        )
    return count
