"""A sink that sets its positions between two batches, where a file says so."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock import Config, RecordBatch, Reporter, Sink, SinkConnector, SinkTaskContext, TopicPartition, Writer, prop
from telling import JOURNAL, Teller


class AttendingConfig(Config):
    journal: str = JOURNAL
    position: str = prop("position", doc="A file with the offset to go on at; it is removed.")


class AttendingSink(SinkConnector):
    Config = AttendingConfig

    def sink(self, config: AttendingConfig) -> Sink:
        return Attending(config)

    def writer(self, config: AttendingConfig) -> Writer:
        return AttendingWriter(config)


class Attending(Sink):
    def __init__(self, config: AttendingConfig) -> None:
        self._position = Path(config.position)
        self._tell = Teller(config.journal)
        self._open: list[TopicPartition] = []

    def initialize(self, context: SinkTaskContext) -> None:
        self._context = context

    def open(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        self._open += partitions
        return {}

    def attend(self) -> None:
        if self._position.exists():
            offset = int(self._position.read_text())
            self._position.unlink()
            self._context.seek(dict.fromkeys(self._open, offset))
            self._tell("set", offset=offset)

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        self._open = [of for of in self._open if of not in partitions]


class AttendingWriter(Writer):
    def __init__(self, config: AttendingConfig) -> None:
        self._tell = Teller(config.journal)

    def write(self, batches: Sequence[RecordBatch], report: Reporter) -> Any:
        for batch in batches:
            topic, partition = batch.original_topic, batch.original_partition
            values = zip(batch.column("offset"), batch.column("value"), strict=True)
            self._tell("put", records=[[topic, partition, offset, value, topic] for offset, value in values])
