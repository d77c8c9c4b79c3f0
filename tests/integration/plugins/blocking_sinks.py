"""A sink that fails, and then does not let itself be closed."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from penstock import (
    Config,
    ConnectError,
    RecordBatch,
    Reporter,
    RetriableError,
    Sink,
    SinkConnector,
    TopicPartition,
    Writer,
    prop,
)
from telling import JOURNAL, Teller

FAILED: list[bool] = []
"""Whether this process's writer has."""


class BlockingConfig(Config):
    journal: str = JOURNAL
    blocks: str = prop(
        "blocks", "", doc="`commit`, `close`, `writer` or `stop`: never returns; `again`: asks to wait for ever."
    )


class BlockingSink(SinkConnector):
    Config = BlockingConfig

    def sink(self, config: BlockingConfig) -> Sink:
        return Blocking(config)

    def writer(self, config: BlockingConfig) -> Writer:
        return BlockingWriter(config)


class Blocking(Sink):
    def __init__(self, config: BlockingConfig) -> None:
        self._config = config

    def commit(self, messages: Sequence[Any], offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        block(self._config, "commit")
        if self._config.blocks == "again" and FAILED:
            raise RetriableError("the outside is away")
        return offsets

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        block(self._config, "close")

    def stop(self) -> None:
        block(self._config, "stop")


class BlockingWriter(Writer):
    def __init__(self, config: BlockingConfig) -> None:
        self._config = config

    def write(self, batches: Sequence[RecordBatch], report: Reporter) -> Any:
        for b in batches:
            if "boom" in b.column("value"):
                FAILED.append(True)
                raise ConnectError("the writer refused boom")

    def close(self) -> None:
        block(self._config, "writer")


def block(config: BlockingConfig, what: str) -> None:
    if config.blocks == what and FAILED:
        Teller(config.journal)("blocked", what=what)
        while True:
            time.sleep(3600)
