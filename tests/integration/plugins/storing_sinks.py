"""Sinks that keep offsets beside their data, that take frames, that fail on the way out."""

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock import (
    Config,
    DataError,
    FrameSink,
    RecordBatch,
    Reporter,
    RetriableError,
    Sink,
    SinkConnector,
    TopicPartition,
    Writer,
    prop,
)
from telling import JOURNAL, Teller, in_driver

OVER = 8.0
"""Seconds after which every other worker has ended its part of a batch, `batch.max.ms` and a write."""

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class StoreConfig(Config):
    journal: str = JOURNAL
    folder: str = prop("folder", "", doc="Holds a file of offsets and a file of lines for each partition.")
    once: int = prop("once", -1, doc="The first write of this partition in a worker of Spark asks to wait, once...")
    after: int = prop("after", 0, doc="... after as many more records of partition 0 are written, or its part is over.")
    report: str = prop("report", "", doc="The value that is handed back.")
    stop: str = prop("stop", "", doc="What stopping raises.")
    slow: float = prop("slow", 0.0, doc="How long, in seconds, a write takes in the driver.")


class StoringSink(SinkConnector):
    """Its writer stores lines and, with them, how far it is."""

    Config = StoreConfig

    def sink(self, config: StoreConfig) -> Sink:
        return Storing(config)

    def writer(self, config: StoreConfig) -> Writer:
        return StoringWriter(config)


class Storing(Sink):
    def __init__(self, config: StoreConfig) -> None:
        self._config = config
        self._tell = Teller(config.journal)

    def open(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        found = {p: stored(self._config.folder, p) for p in partitions}
        self._tell("open", offsets=list(found.values()))
        return {p: o for p, o in found.items() if o is not None}

    def commit(self, messages: Sequence[Any], offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        self._tell("commit", messages=len(messages), offsets={f"{t}-{p}": o for (t, p), o in offsets.items()})
        return offsets

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        self._tell("close", partitions=[f"{t}-{p}" for t, p in partitions])

    def stop(self) -> None:
        if self._config.stop:
            raise ValueError(self._config.stop)


class StoringWriter(Writer):
    def __init__(self, config: StoreConfig) -> None:
        self._config = config
        self._tell = Teller(config.journal)
        self._driver = in_driver()

    def write(self, batches: Sequence[RecordBatch], report: Reporter) -> Any:
        time.sleep(self._config.slow if self._driver else 0.0)
        for b in batches:
            of = TopicPartition(b.original_topic or "", b.original_partition or 0)
            offsets = b.column("offset")
            if not self._driver and self._config.once == of.partition:
                self._ask_to_wait(of)
            for record in b.records() if self._config.report else ():
                if record.value == self._config.report:
                    report(record, DataError("refused"))
            with (Path(self._config.folder) / f"{of.topic}-{of.partition}.lines").open("a") as lines:
                lines.write("".join(f"{o}\n" for o in offsets))
            store(self._config.folder, of, offsets[-1] + 1)
            self._tell("stored", process=os.getpid(), partition=of.partition, offset=offsets[-1] + 1)
        return 1

    def _ask_to_wait(self, of: TopicPartition) -> None:
        mark = Path(self._config.folder) / "asked"
        if mark.exists():
            return
        other, deadline = TopicPartition(of.topic, 0), time.monotonic() + OVER
        enough = (stored(self._config.folder, other) or 0) + self._config.after
        while (stored(self._config.folder, other) or 0) < enough and time.monotonic() < deadline:
            time.sleep(0.01)
        mark.touch()
        raise RetriableError("not now")


def stored(folder: str, of: TopicPartition) -> int | None:
    with suppress(FileNotFoundError):
        return int((Path(folder) / f"{of.topic}-{of.partition}").read_text())
    return None


def store(folder: str, of: TopicPartition, offset: int) -> None:
    new = Path(folder) / f"{of.topic}-{of.partition}.new"
    new.write_text(str(offset))
    new.rename(Path(folder) / f"{of.topic}-{of.partition}")


class FramesConfig(Config):
    journal: str = JOURNAL
    kill: bool = prop("kill", False, doc="Kill Spark's JVM before each frame is counted.")
    each: float = prop("each", 0.0, doc="How long, in seconds, a row takes.")


class CountingFrames(SinkConnector):
    """Tells how many rows each frame has."""

    Config = FramesConfig

    def sink(self, config: FramesConfig) -> Sink:
        return Frames(config)


class Frames(FrameSink):
    def __init__(self, config: FramesConfig) -> None:
        self._config = config
        self._tell = Teller(config.journal)

    def put_frame(self, frame: "DataFrame") -> None:
        if self._config.kill:
            gateway = frame.sparkSession.sparkContext._gateway
            assert gateway is not None
            gateway.proc.kill()
        self._tell("frame", rows=frame.count())


class RecordingFrames(SinkConnector):
    """Tells the columns, Spark's partitions and the rows of each frame, and the offsets of each commit."""

    Config = FramesConfig

    def sink(self, config: FramesConfig) -> Sink:
        return Recorded(config)


class Recorded(FrameSink):
    def __init__(self, config: FramesConfig) -> None:
        self._each = config.each
        self._tell = Teller(config.journal)

    def put_frame(self, frame: "DataFrame") -> None:
        time.sleep(self._each * frame.count())
        ids = [[row["id"] for row in rows] for rows in frame.rdd.glom().collect()]
        self._tell("frame", columns=frame.columns, partitions=len(ids), ids=[n for rows in ids for n in rows])

    def commit(self, messages: Sequence[Any], offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        self._tell("commit", offsets={f"{t}-{p}": o for (t, p), o in offsets.items()})
        return offsets
