"""When Spark's workers take over from the driver: at a backlog that is worth a job of Spark's, which takes some 100 ms.

A source counts by the size that its batches have grown to, since it learns what lies ahead batch by batch; a sink counts by
its lag. The first backlog starts Spark, and the driver goes on until the session is there.
"""

from collections.abc import Iterable
from typing import Final

from penstock.source import InputPartition
from penstock_runtime.pipeline.batch_sizing import AdaptiveBatchSize
from penstock_runtime.pipeline.reports import Reports
from penstock_runtime.spark.session import Spark

__all__ = ["are_workers_ready", "is_sinks_backlog", "is_sources_backlog"]

_SCALE: Final = 3
"""The scale of a source's batches (`AdaptiveBatchSize.scale`) from which one is a backlog."""
_RECORDS: Final = 100_000
"""The lag of a sink, in records, from which it is one."""

_ROWS: Final = 20_000
"""The same of a sink of frames, which needs Spark in any case: what it makes itself is held in its memory."""


def is_sources_backlog(size: AdaptiveBatchSize, parts: Iterable[InputPartition]) -> bool:
    """Whether the parts of a source's batch are worth a job. A part that is local can be read in the driver only."""
    return size.scale >= _SCALE and not any(part.local for part in parts)


def is_sinks_backlog(lag: int | None, *, frames: bool = False) -> bool:
    """Whether a sink's lag, in records, is worth a job; None: it is not known."""
    return lag is not None and lag >= (_ROWS if frames else _RECORDS)


def are_workers_ready(spark: Spark, reports: Reports) -> bool:
    """Whether Spark is there for a backlog; starts it unless that is done, and reports which."""
    spark.start()
    ready = spark.ready
    reports.spark(up=ready)
    return ready
