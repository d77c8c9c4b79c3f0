"""A sink that holds the partitions of a topic while the folder has a file of its name, and goes on with the others."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock import Config, RecordBatch, Reporter, Sink, SinkConnector, SinkTaskContext, TopicPartition, Writer, prop
from telling import JOURNAL, Teller


class HoldingConfig(Config):
    journal: str = JOURNAL
    folder: str = prop("folder", doc="Holds a file for each topic whose table is away.")

    def away(self, topic: str) -> bool:
        return (Path(self.folder) / topic).exists()


class HoldingSink(SinkConnector):
    """Writes each topic to a table of its own."""

    Config = HoldingConfig

    def sink(self, config: HoldingConfig) -> Sink:
        return Holding(config)

    def writer(self, config: HoldingConfig) -> Writer:
        return HoldingWriter(config)


class Holding(Sink):
    def __init__(self, config: HoldingConfig) -> None:
        self._config = config
        self._tell = Teller(config.journal)
        self._paused: set[TopicPartition] = set()

    def initialize(self, context: SinkTaskContext) -> None:
        self._context = context

    def commit(self, messages: Sequence[Any], offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        allowed = dict(offsets)
        for topic, partition, offset in (held for message in messages for held in message):
            of = TopicPartition(topic, partition)
            allowed[of] = min(offset, allowed[of])
            self._context.pause(of)
            self._paused.add(of)
            self._tell("paused", partition=[topic, partition], offset=offset)
        for of in [of for of in self._paused if not self._config.away(of.topic)]:
            self._context.resume(of)
            self._paused.remove(of)
            self._tell("resumed", partition=[*of])
        return allowed

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        self._paused.difference_update(partitions)


class HoldingWriter(Writer):
    def __init__(self, config: HoldingConfig) -> None:
        self._config = config
        self._tell = Teller(config.journal)

    def write(self, batches: Sequence[RecordBatch], report: Reporter) -> Any:
        held = []
        for batch in batches:
            topic, partition = batch.original_topic or "", batch.original_partition or 0
            offsets = batch.column("offset")
            if self._config.away(topic):
                held.append([topic, partition, offsets[0]])
            else:
                values = zip(offsets, batch.column("value"), strict=True)
                self._tell("put", records=[[topic, partition, offset, value, topic] for offset, value in values])
        return held or None
