"""A source whose records can be counted, and which any executor may read, at a limited rate as external systems have."""

from typing import Any, Final

from .place import Connector, Place

__all__ = ["counting_source"]

_TEXT: Final = """
import os
import time

from penstock import Config, InputPartition, Source, SourceConnector, SourcePartition, PartitionReader, RecordBatch, prop
from penstock.schema import STRING


class CountingConfig(Config):
    topic: str = prop("topic", doc="Where to.")
    parts: int = prop("parts", 4, doc="How many source partitions.")
    count: int = prop("count", 1000, doc="How many records each of them has.")
    rate: int = prop("rate", 2000, doc="Records per second of each reader.")
    gate: str = prop("gate", "", doc="File in the task's pod; there are no records before it exists.")
    eats: int = prop("eats", 0, doc="MiB of memory that a reader fills in an executor.")


class Counting(SourceConnector):
    Config = CountingConfig

    def task_configs(self, config, properties, max_tasks):
        return [dict(properties)]

    def reads_anywhere(self, config):
        return True

    def source(self, config):
        return CountingSource(config)

    def reader(self, config):
        return CountingReader(config)


class CountingSource(Source):
    def __init__(self, config):
        self._config = config

    def start(self, offsets):
        return

    def latest_offsets(self, start, limits):
        if self._config.gate and not os.path.exists(self._config.gate):
            return {}
        each = max(1, limits.records // self._config.parts)
        parts = [(SourcePartition({"p": p}), p) for p in range(self._config.parts)]
        ends = {key: min(self._config.count, at(start.get(key)) + each) for key, p in parts}
        return {key: {"n": n} for key, n in ends.items() if n > at(start.get(key))}

    def partitions(self, start, end):
        return [
            InputPartition({"p": key["p"], "start": at(start.get(key)), "end": at(offset)}, {key: offset})
            for key, offset in end.items()
            if at(offset) > at(start.get(key))
        ]


class CountingReader(PartitionReader):
    def __init__(self, config):
        self._config = config

    def read(self, partition):
        eaten = []
        while "PENSTOCK_EXECUTOR" in os.environ and len(eaten) < self._config.eats:
            eaten.append(b"x" * (1 << 20))
        p, n, end = (int(partition.data[k]) for k in ("p", "start", "end"))
        while n < end:
            to = min(end, n + 500)
            time.sleep((to - n) / self._config.rate)
            values = [f"{p}:{number}" for number in range(n, to)]
            yield RecordBatch(length=to - n, topic=self._config.topic, value_schema=STRING, value=values)
            n = to


def at(offset):
    return int((offset or {}).get("n", 0))
"""


def counting_source(
    place: Place,
    *,
    name: str = "counted",
    count: int,
    rate: int = 4_000,
    gate: str = "",
    eats: int = 0,
    **spec: Any,
) -> Connector:
    """A source, not applied, of `count` records `<part>:<number>` in each of four parts, in batches of two seconds.

    It always has a full batch more, and so a backlog.

    Args:
        place: where.
        name: name of the Connector, and end of its topic.
        count: number of records of each part.
        rate: records per second of each reader.
        gate: file in the task's pod; there are no records before it exists.
        eats: MiB of memory that each reader fills in an executor.
        spec: other fields of its spec.
    """
    topic = f"{place.namespace}.{name}"
    config = {
        "topic": topic,
        "count": count,
        "rate": rate,
        "batch.max.records": 2 * rate,
        "gate": gate,
        "eats": eats,
        "value.converter": "StringConverter",
    }
    made = place.unapplied(name, "counting:Counting", config, template=place.plugin("counting", _TEXT), **spec)
    made.topic = topic
    return made
