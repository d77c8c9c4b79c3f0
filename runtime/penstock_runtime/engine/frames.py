"""From record batches to Spark DataFrames, for sinks that take a frame."""

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from penstock.batch import RecordBatch
from penstock.errors import ConnectError, DataError, RetriableError
from penstock.schema import Schema, Type, struct
from penstock.sink import FrameSink
from penstock_runtime.engine.sink_process import SinkProcess
from penstock_runtime.engine.spark import Spark
from penstock_runtime.engine.summary import Summary
from penstock_runtime.engine.tolerance import describe
from penstock_runtime.kafka.consumers import Consumed

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

__all__ = ["FramePut"]


class FramePut:
    """Converts like a `SinkProcess`, and gives the sink one frame for each shape of value in a batch."""

    def __init__(self, process: SinkProcess, sink: FrameSink, spark: Spark) -> None:
        self._process = process
        self._sink = sink
        self._spark = spark

    def put(self, consumed: Sequence[Consumed]) -> Summary:
        """As `SinkProcess.put`."""
        summary = Summary()
        shapes: dict[Schema | None, list[Any]] = {}
        for one in consumed:
            batch = self._process.convert(one, summary)
            for schema, values in _by_shape(batch):
                shapes.setdefault(schema, []).extend(values)
        if summary.dead_letters:
            self._process.finish(summary)
        started = time.perf_counter()
        for schema, values in shapes.items():
            self._process.retrying(lambda s=schema, v=values: self._put(s, v), summary)  # type: ignore[misc]
            summary.written += len(values)
        summary.spend("deliver", time.perf_counter() - started)
        return summary

    def close(self) -> None:
        """Let go of everything."""
        with suppress(Exception):
            self._process.close()

    def _put(self, schema: Schema | None, values: Sequence[Any]) -> None:
        from penstock.spark_schema import arrow_table, to_spark

        if any(v is None for v in values):
            raise DataError("A tombstone cannot become a row. Drop them: Filter with predicate RecordIsTombstone.")
        if schema is None:
            raise ConnectError(
                "A Spark sink needs values with a schema, and these have none. Use a converter that gives one: "
                "value.converter.schemas.enable=true, or value.converter.schema.content for messages without envelope."
            )
        rows = values if schema.type is Type.STRUCT else [{"value": v} for v in values]
        shape = schema if schema.type is Type.STRUCT else struct({"value": schema})
        table = arrow_table(shape, rows)
        try:
            fields = cast("StructType", to_spark(shape))
            self._sink.put_frame(self._spark.session().createDataFrame(table, schema=fields))
        except RetriableError:
            raise
        except Exception as e:
            raise ConnectError(f"Exiting WorkerSinkTask due to unrecoverable exception. {describe(e)}") from e


def _by_shape(batch: RecordBatch) -> list[tuple[Schema | None, list[Any]]]:
    values = batch.column("value")
    if not isinstance(batch.value_schema, list):
        return [(batch.value_schema, values)] if values else []
    shapes: dict[Schema | None, list[Any]] = {}
    for schema, value in zip(batch.value_schema, values, strict=True):
        shapes.setdefault(schema, []).append(value)
    return list(shapes.items())
