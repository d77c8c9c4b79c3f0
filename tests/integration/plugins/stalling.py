"""A source and a sink that are held up for as long as a file is there."""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock import (
    Config,
    Limits,
    Offsets,
    OffsetUpdates,
    PartitionReader,
    PollingSource,
    Record,
    RecordBatch,
    Reporter,
    RetriableError,
    Sink,
    SinkConnector,
    Source,
    SourceConnector,
    SourcePartition,
    Writer,
    prop,
)

PARTITION = SourcePartition({"p": "a"})


class StallingConfig(Config):
    file: str = prop("hold", "", doc="While this file is there, a call does not return.")
    away: str = prop("away", "", doc="While this file is there, a call asks to wait for an hour.")
    begin: str = prop("begin", "", doc="While this file is there, the start does not return.")
    topic: str = prop("topic", "", doc="Where records go.")


def hold_start(config: StallingConfig) -> None:
    if config.begin:
        Path(config.begin).with_name("begun").touch()
    while config.begin and Path(config.begin).exists():
        time.sleep(0.1)


def hold(config: StallingConfig) -> None:
    if config.away and Path(config.away).exists():
        raise RetriableError("the outside is away", 3600.0)
    while config.file and Path(config.file).exists():
        time.sleep(0.1)


class StallingSource(SourceConnector):
    Config = StallingConfig

    def task_configs(
        self, config: StallingConfig, properties: Mapping[str, str], max_tasks: int
    ) -> Sequence[Mapping[str, str]]:
        return [dict(properties)]

    def source(self, config: StallingConfig) -> Source | PollingSource:
        return Polled(config)

    def reader(self, config: StallingConfig) -> PartitionReader:
        raise NotImplementedError


class Polled(PollingSource):
    def __init__(self, config: StallingConfig) -> None:
        self._config = config

    def start(self, offsets: Offsets) -> None:
        hold_start(self._config)

    def read(self, start: Offsets, limits: Limits) -> Iterator[tuple[RecordBatch | Sequence[Record], OffsetUpdates]]:
        hold(self._config)
        number = int((start.get(PARTITION) or {}).get("i", 0) or 0) + 1
        yield [Record(topic=self._config.topic, value=f"r{number}")], {PARTITION: {"i": number}}
        time.sleep(0.05)


class StallingSink(SinkConnector):
    Config = StallingConfig

    def sink(self, config: StallingConfig) -> Sink:
        return Begun(config)

    def writer(self, config: StallingConfig) -> Writer:
        return Writing(config)


class Begun(Sink):
    def __init__(self, config: StallingConfig) -> None:
        self._config = config

    def start(self) -> None:
        hold_start(self._config)


class Writing(Writer):
    def __init__(self, config: StallingConfig) -> None:
        self._config = config

    def write(self, batches: Sequence[RecordBatch], report: Reporter) -> Any:
        hold(self._config)
