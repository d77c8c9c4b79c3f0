"""Sinks of frames that keep rows with the place that each had in Spark, and what kills Spark's workers meanwhile."""

import json
import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock import Config, FrameSink, Record, RetriableError, SinkConnector, TopicPartition, Transform, prop
from telling import JOURNAL, Teller, in_driver

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row


LARGE = 1_000
"""Rows of a frame that is one of a backlog."""


class PlacingConfig(Config):
    journal: str = JOURNAL
    folder: str = prop("folder", "", doc="Where rows and offsets are stored.")
    ordered: bool = prop("ordered", True, doc="Whether the order of records matters.")
    stores: bool = prop("stores", False, doc="Whether offsets are stored with the rows.")
    ends: str = prop("ends", "", doc="The signal that a large frame sends to a worker in its job, once.")
    waits: int = prop("waits", 0, doc="How many times a large frame asks to wait.")
    holds: bool = prop(
        "holds", False, doc="Whether the first large frame waits for a file `go` next to the file `holds`."
    )


class PlacingFrames(SinkConnector):
    """Keeps, of each frame, the columns and the rows of each of Spark's partitions; final with the commit."""

    Config = PlacingConfig

    def writes_anywhere(self, config: PlacingConfig) -> bool:
        return True

    def sink(self, config: PlacingConfig) -> FrameSink:
        return Placed(config)


class Placed(FrameSink):
    def __init__(self, config: PlacingConfig) -> None:
        self._config = config
        self._tell = Teller(config.journal)
        self._stored = Path(config.folder) / "stored.json"
        self._new: list[Any] = []
        self._waited = 0

    @property
    def ordered(self) -> bool:
        return self._config.ordered

    def open(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        self._new = []
        offsets = stored(self._stored)["offsets"]
        return {p: offsets[f"{p.topic}-{p.partition}"] for p in partitions if f"{p.topic}-{p.partition}" in offsets}

    def put_frame(self, frame: "DataFrame") -> None:
        from pyspark.sql.functions import spark_partition_id

        is_large = frame.count() > LARGE
        if is_large and self._config.holds:
            self._hold(Path(self._config.folder))
        if is_large and self._waited < self._config.waits:
            self._waited += 1
            raise RetriableError("not now", retry_after=0.1)
        if is_large and self._config.ends:
            mark, number = Path(self._config.folder) / "ended", signal.Signals[self._config.ends]
            frame.rdd.foreachPartition(partial(_end, str(mark), number))
        places: dict[int, list[Any]] = {}
        for row in frame.withColumn("place", spark_partition_id()).select("place", "p", "id").collect():
            places.setdefault(row["place"], []).append([row["p"], row["id"]])
        self._tell("frame", columns=frame.columns, rows=sum(map(len, places.values())))
        self._new.append({"columns": frame.columns, "places": [*places.values()]})

    def _hold(self, folder: Path) -> None:
        if not (folder / "holds").exists():
            (folder / "holds").touch()
            while not (folder / "go").exists():
                time.sleep(0.01)

    def commit(self, messages: Sequence[Any], offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        before = stored(self._stored)
        reached = {f"{t}-{p}": o for (t, p), o in offsets.items()} if self._config.stores else {}
        text = json.dumps({"frames": before["frames"] + self._new, "offsets": {**before["offsets"], **reached}})
        new = self._stored.with_suffix(".new")
        new.write_text(text)
        new.rename(self._stored)
        self._new = []
        return offsets


def stored(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {"frames": [], "offsets": {}}
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def _end(mark: str, number: signal.Signals, rows: "Iterator[Row]") -> None:
    if next(rows, None) is not None:
        _end_once(Path(mark), number)


def _end_once(mark: Path, number: signal.Signals = signal.SIGKILL) -> None:
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), number)


class DeadlyConfig(Config):
    mark: str = prop("mark", "", doc="A file that exists once a worker has ended.")
    id: int = prop("id", 0, doc="From this record on a worker is killed.")


class Deadly(Transform):
    """Kills the worker of Spark that it is in, once, at one record."""

    Config = DeadlyConfig

    def configure(self, config: DeadlyConfig) -> None:
        self._mark, self._id, self._driver = Path(config.mark), config.id, in_driver()

    def apply(self, record: Record) -> Record:
        if not self._driver and record.value["id"] >= self._id:
            _end_once(self._mark)
        return record
