"""A data source written for PySpark whose rows can be checked, in several partitions, whose readers a test can stop.

Row n says in which span of rows it lies, which is a partition of the reader, and which process has read it.
"""

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows
from pyspark.sql.types import StructType


class Span(InputPartition):
    def __init__(self, number: int, first: int, end: int) -> None:
        self.number, self.first, self.end = number, first, end


class Wide(DataSource):
    """Option `batch`: the most rows of one. Option `folder`, with the files `count` (the rows that there are), `spans` (into
    how many a batch is cut), `hold` (while it names the number of a span, that one waits after its last row)."""

    def schema(self) -> str:
        return "span string not null, n bigint not null, pid bigint not null"

    def streamReader(self, schema: StructType) -> "WideReader":  # noqa: N802 (PySpark's name)
        return WideReader(Path(self.options["folder"]), int(self.options["batch"]))


class WideReader(DataSourceStreamReader):
    def __init__(self, folder: Path, batch: int) -> None:
        self._folder, self._batch = folder, batch

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        return {"row": 0}

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        most = min(self._batch, limit.max_rows) if isinstance(limit, ReadMaxRows) else self._batch
        return {"row": min(int((self._folder / "count").read_text()), start["row"] + most)}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[Span]:
        first, rows = start["row"], end["row"] - start["row"]
        spans = int((self._folder / "spans").read_text())
        cuts = [first + rows * number // spans for number in range(spans + 1)]
        return [Span(number, *cuts[number : number + 2]) for number in range(spans)]

    def read(self, partition: InputPartition) -> Iterator[tuple[str, int, int]]:
        assert isinstance(partition, Span)
        for n in range(partition.first, partition.end):
            yield f"{partition.first}-{partition.end}", n, os.getpid()
        while self._waits(partition.number):
            (self._folder / f"hold.{partition.number}").write_text(str(os.getpid()))
            time.sleep(0.01)

    def _waits(self, number: int) -> bool:
        try:
            return str(number) in (self._folder / "hold").read_text().split()
        except FileNotFoundError:
            return False

    def commit(self, end: dict[str, Any]) -> None:
        with (self._folder / "commits").open("a") as told:
            told.write(f"{end['row']}\n")

    def stop(self) -> None:
        return
