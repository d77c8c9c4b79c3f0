"""A source, a sink, a transform and a converter that end the process where a property says."""

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from penstock import (
    Config,
    Limits,
    Offsets,
    OffsetUpdates,
    PollingSource,
    Record,
    RecordBatch,
    Reporter,
    Sink,
    SinkConnector,
    Source,
    SourceConnector,
    SourcePartition,
    TopicPartition,
    Transform,
    Writer,
    prop,
)

PARTITION = SourcePartition({"p": "a"})


class ExitingConfig(Config):
    topic: str = prop("topic", "", doc="Where records go.")
    ends: str = prop("ends", "", doc="The call that ends the process.")
    how: str = prop("how", "0", doc="`os`: by os._exit, `parser`: as argparse does; else the argument of sys.exit.")


def end(config: ExitingConfig, call: str) -> None:
    if config.ends != call:
        return
    if config.how == "os":
        os._exit(0)
    if config.how == "parser":
        argparse.ArgumentParser("tool").parse_args(["--unknown"])
    sys.exit(int(config.how))


class ExitingSource(SourceConnector):
    Config = ExitingConfig

    def validate(self, config: ExitingConfig) -> Sequence[Any]:
        end(config, "validate")
        return []

    def source(self, config: ExitingConfig) -> Source | PollingSource:
        return Polled(config)

    def alter_offsets(self, config: ExitingConfig, offsets: OffsetUpdates) -> bool:
        end(config, "alter_offsets")
        return True


class Polled(PollingSource):
    def __init__(self, config: ExitingConfig) -> None:
        self._config = config

    def start(self, offsets: Offsets) -> None:
        end(self._config, "start")

    def read(self, start: Offsets, limits: Limits) -> Iterator[tuple[RecordBatch | Sequence[Record], OffsetUpdates]]:
        number = int((start.get(PARTITION) or {}).get("i") or 0)
        if number == 3:
            end(self._config, "read")
            return
        yield [Record(topic=self._config.topic, value=f"r{number}")], {PARTITION: {"i": number + 1}}

    def stop(self) -> None:
        end(self._config, "stop")


class ExitingSink(SinkConnector):
    Config = ExitingConfig

    def sink(self, config: ExitingConfig) -> Sink:
        return Committing(config)

    def writer(self, config: ExitingConfig) -> Writer:
        return Writing(config)


class Committing(Sink):
    def __init__(self, config: ExitingConfig) -> None:
        self._config = config

    def commit(self, messages: Sequence[Any], offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        end(self._config, "commit")
        return offsets


class Writing(Writer):
    def __init__(self, config: ExitingConfig) -> None:
        self._config = config

    def write(self, batches: Sequence[RecordBatch], report: Reporter) -> Any:
        if any("last" in batch.column("value") for batch in batches):
            end(self._config, "write")


class Exiting(Transform):
    """Ends the process for the value `last`."""

    Config = ExitingConfig

    def configure(self, config: ExitingConfig) -> None:
        self._config = config

    def apply(self, record: Record) -> Record | None:
        if record.value == "last":
            end(self._config, "apply")
        return record
