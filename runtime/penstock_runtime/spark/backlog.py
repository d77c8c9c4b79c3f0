"""Conditions for moving work from the driver to Spark's workers: a backlog that is worth a Spark job of about 100 ms.

A source is judged by the size that its batches have grown to, because it learns batch by batch how much it can read; a sink
by its lag. The first backlog starts Spark, and the driver continues until the session is ready.
"""

from collections.abc import Iterable
from typing import Final

from penstock.source import InputPartition
from penstock_runtime.pipeline.batch_sizing import AdaptiveBatchSize
from penstock_runtime.pipeline.reports import Reports
from penstock_runtime.spark.session import Spark

__all__ = ["are_workers_ready", "is_sinks_backlog", "is_sources_backlog"]

_SCALE: Final = 3
"""Minimum scale of a source's batches (`AdaptiveBatchSize.scale`) that counts as a backlog."""
_RECORDS: Final = 100_000
"""Minimum lag of a sink, in records, that counts as a backlog."""

_ROWS: Final = 20_000
"""Same for a sink of frames, which needs Spark in any case: frames that the driver makes are held in its memory."""


def is_sources_backlog(size: AdaptiveBatchSize, parts: Iterable[InputPartition]) -> bool:
    """Return whether the parts of a source's batch are worth a job. Local parts can be read only in the driver."""
    return size.scale >= _SCALE and not any(part.local for part in parts)


def is_sinks_backlog(lag: int | None, *, frames: bool = False) -> bool:
    """Return whether a sink's lag, in records, is worth a job; None: the lag is unknown."""
    return lag is not None and lag >= (_ROWS if frames else _RECORDS)


def are_workers_ready(spark: Spark, reports: Reports) -> bool:
    """Start Spark for a backlog unless it has started, and report and return whether it is ready."""
    spark.ask()
    ready = spark.ready
    reports.spark(spark.workers)
    return ready
