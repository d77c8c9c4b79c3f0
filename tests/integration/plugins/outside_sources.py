"""Sources whose outside a test takes away, holds up or lets overflow, by files in a folder."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from penstock import (
    Config,
    InputPartition,
    Limits,
    Offsets,
    PartitionReader,
    PollingSource,
    Record,
    RecordBatch,
    RetriableError,
    Source,
    SourceConnector,
    SourcePartition,
    prop,
)
from telling import JOURNAL, Teller


class OutsideConfig(Config):
    journal: str = JOURNAL
    topic: str = prop("topic", doc="Where records go.")
    folder: str = prop("folder", doc="While a file lies here, what has its name fails: `plan`, `read`.")
    polling: bool = prop("polling", default=False, doc="Be a source that knows its offsets only while it reads.")
    most: int = prop("most", 3, doc="How many records there are.")
    each: int = prop(
        "each", 1, doc="How many of them make a batch, or a portion of a polling source that never ends one."
    )
    blocks: str = prop("blocks", "", doc="`read` (after the first portion), `close` or `stop`: never returns.")
    tells: bool = prop("tells", default=True, doc="Whether each portion of a polling source has its offsets.")
    pace: float = prop("pace", 0.0, doc="Seconds for each record.")
    asked: float = prop("asked", 0.0, doc="Seconds that a planned source takes to say what there is.")


class Outside(SourceConnector):
    """Record n is `n`; the offset is `{"n": <the next>}`."""

    Config = OutsideConfig

    def source(self, config: OutsideConfig) -> Source | PollingSource:
        return Polled(config) if config.polling else Planned(config)

    def reader(self, config: OutsideConfig) -> PartitionReader:
        return Reader(config)


class _Way:
    def __init__(self, config: OutsideConfig) -> None:
        self.config = config
        self.partition = SourcePartition({"p": "a0"})
        self.tell = Teller(config.journal)

    def go(self, what: str) -> None:
        if (Path(self.config.folder) / what).exists():
            self.tell("away", what=what)
            raise RetriableError(f"the outside is away at {what}")

    def block(self, what: str) -> None:
        if self.config.blocks == what:
            self.tell("blocked", what=what)
            while True:
                time.sleep(3600)

    def at(self, offsets: Offsets) -> int:
        return int(offsets.get(self.partition, {}).get("n") or 0)

    def records(self, begin: int, end: int) -> list[Record]:
        time.sleep(self.config.pace * (end - begin))
        return [Record(topic=self.config.topic, value=str(n)) for n in range(begin, end)]


class Planned(Source):
    def __init__(self, config: OutsideConfig) -> None:
        self._way = _Way(config)

    def start(self, offsets: Offsets) -> None:
        self._way.tell("start", n=self._way.at(offsets))

    def latest_offsets(self, start: Offsets, limits: Limits) -> Offsets:
        self._way.go("plan")
        time.sleep(self._way.config.asked)
        end = min(self._way.config.most, self._way.at(start) + self._way.config.each)
        return {self._way.partition: {"n": end}}

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        return [InputPartition({"begin": self._way.at(start), "end": self._way.at(end)}, dict(end))]

    def commit(self, offsets: Offsets) -> None:
        self._way.tell("commit", n=self._way.at(offsets))

    def stop(self) -> None:
        self._way.block("stop")


class Reader(PartitionReader):
    def __init__(self, config: OutsideConfig) -> None:
        self._way = _Way(config)

    def read(self, partition: InputPartition) -> Iterator[RecordBatch | Sequence[Record]]:
        self._way.go("read")
        begin, end = partition.data["begin"], partition.data["end"]
        self._way.tell("read", begin=begin)
        for n in range(begin, end, 1000):
            yield self._way.records(n, min(n + 1000, end))
            self._way.block("read")

    def close(self) -> None:
        self._way.block("close")


class Polled(PollingSource):
    def __init__(self, config: OutsideConfig) -> None:
        self._way = _Way(config)

    def start(self, offsets: Offsets) -> None:
        self._way.tell("start", n=self._way.at(offsets))

    def read(self, start: Offsets, limits: Limits) -> Iterator[tuple[RecordBatch | Sequence[Record], Offsets]]:
        self._way.go("read")
        n, config = self._way.at(start), self._way.config
        if n < config.most:
            self._way.tell("read", begin=n)
        while n < config.most:
            end = min(config.most, n + config.each)
            offsets: dict[SourcePartition, Any] = {self._way.partition: {"n": end}}
            yield self._way.records(n, end), offsets if config.tells or end == config.most else {}
            n = end

    def commit(self, offsets: Offsets) -> None:
        self._way.tell("commit", n=self._way.at(offsets))
