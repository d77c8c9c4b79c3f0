"""A source whose records can be checked: record n of source partition p is `p:n`, in partition p of the topic."""

import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from pyspark import TaskContext

from penstock import (
    Config,
    InputPartition,
    Limits,
    Offset,
    Offsets,
    PartitionReader,
    RecordBatch,
    Source,
    SourceConnector,
    SourcePartition,
    prop,
)
from penstock.schema import STRING

_ENDLESS: Final = 1 << 60
_PORTION: Final = 500
_PACE: Final = 0.02
"""Seconds between batches of a source without an end: it has always more, but leaves others on the machine their part."""


class NumbersConfig(Config):
    topic: str = prop("topic", doc="Where to; it needs as many partitions as `partitions` says.")
    partitions: int = prop("partitions", 1, doc="How many source partitions.")
    spread: int = prop("spread", 0, doc="How many partitions the topic has, when those are fewer.")
    count: int = prop("count", _ENDLESS, doc="How many records each of them has.")
    size: int = prop("size", 0, doc="Bytes that each record is padded to.")
    hold: str | None = prop("hold", None, doc="While this file names a partition, its reader waits at the end.")
    astray: str | None = prop("astray", None, doc="A topic for what Spark's workers read.")
    dies_on_spark: bool = prop("dies.on.spark", False, doc="Workers of Spark are killed when they read.")
    own: list[str] = prop("own", [], doc="Set for each task.")


class Numbers(SourceConnector):
    Config: ClassVar[type[Config]] = NumbersConfig

    def task_configs(
        self, config: NumbersConfig, properties: Mapping[str, str], max_tasks: int
    ) -> Sequence[Mapping[str, str]]:
        tasks = min(max_tasks, config.partitions)
        return [{**properties, "own": ",".join(map(str, range(t, config.partitions, tasks)))} for t in range(tasks)]

    def reads_anywhere(self, config: NumbersConfig) -> bool:
        return True

    def source(self, config: NumbersConfig) -> "NumbersSource":
        return NumbersSource(config)

    def reader(self, config: NumbersConfig) -> "NumbersReader":
        return NumbersReader(config)


class NumbersSource(Source):
    def __init__(self, config: NumbersConfig) -> None:
        self._config = config
        self._own = {SourcePartition({"p": int(p)}): int(p) for p in config.own}

    def start(self, offsets: Offsets) -> None:
        return

    def latest_offsets(self, start: Offsets, limits: Limits) -> Offsets:
        if self._config.count == _ENDLESS:
            time.sleep(_PACE)
        each = max(1, limits.records // len(self._own))
        end: dict[SourcePartition, Offset] = {}
        for partition in self._own:
            at = _at(start.get(partition))
            if at < self._config.count:
                end[partition] = {"n": min(self._config.count, at + each)}
        return end

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        return [
            InputPartition({"p": self._own[p], "start": _at(start.get(p)), "end": _at(o)}, {p: o})
            for p, o in end.items()
            if p in self._own and _at(o) > _at(start.get(p))
        ]


class NumbersReader(PartitionReader):
    def __init__(self, config: NumbersConfig) -> None:
        self._config = config

    def read(self, partition: InputPartition) -> Iterator[RecordBatch]:
        p, at, end = (int(partition.data[k]) for k in ("p", "start", "end"))
        is_on_spark, topic = TaskContext.get() is not None, self._config.topic
        if self._config.dies_on_spark and is_on_spark:
            os.kill(os.getpid(), signal.SIGKILL)
        if self._config.astray is not None and is_on_spark:
            topic = self._config.astray
        while at < end:
            to = min(end, at + _PORTION)
            yield RecordBatch(
                length=to - at,
                topic=topic,
                partition=p % (self._config.spread or p + 1),
                value_schema=STRING,
                value=[f"{p}:{n}".ljust(self._config.size) for n in range(at, to)],
            )
            at = to
        self._wait(p)

    def _wait(self, partition: int) -> None:
        """After the records, so that the transaction is open and holds them."""
        if self._config.hold is None:
            return
        hold = Path(self._config.hold)
        while hold.exists() and str(partition) in hold.read_text().split():
            hold.with_suffix(f".{partition}").write_text(str(os.getpid()))
            time.sleep(0.01)


def _at(offset: Mapping[str, Any] | None) -> int:
    return int((offset or {}).get("n", 0))
