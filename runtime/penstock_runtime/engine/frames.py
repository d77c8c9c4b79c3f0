"""From record batches to Spark DataFrames, for sinks that take a frame."""

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from penstock.batch import RecordBatch
from penstock.errors import ConnectError, DataError, RetriableError
from penstock.fields import Fields
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

Values = list[Any] | Fields


class FramePut:
    """Converts like a `SinkProcess`, and gives the sink one frame for each shape of value in a batch."""

    def __init__(self, process: SinkProcess, sink: FrameSink, spark: Spark) -> None:
        self._process = process
        self._sink = sink
        self._spark = spark

    def put(self, consumed: Sequence[Consumed]) -> Summary:
        """As `SinkProcess.put`."""
        summary = Summary()
        shapes: dict[Schema | None, list[Values]] = {}
        for one in consumed:
            batch = self._process.convert(one, summary)
            for schema, values in _by_shape(batch):
                shapes.setdefault(schema, []).append(values)
        if summary.dead_letters:
            self._process.finish(summary)
        started = time.perf_counter()
        for schema, parts in shapes.items():
            self._process.retrying(lambda s=schema, p=parts: self._put(s, p), summary)  # type: ignore[misc]
            summary.written += sum(map(len, parts))
        summary.spend("deliver", time.perf_counter() - started)
        return summary

    def close(self) -> None:
        """Let go of everything."""
        with suppress(Exception):
            self._process.close()

    def _put(self, schema: Schema | None, parts: Sequence[Values]) -> None:
        import pyarrow as pa

        from penstock.spark_schema import arrow_table, to_spark

        if any(None in values for values in parts if not isinstance(values, Fields)):
            raise DataError("A tombstone cannot become a row. Drop them: Filter with predicate RecordIsTombstone.")
        if schema is None:
            raise ConnectError(
                "A Spark sink needs values with a schema, and these have none. Use a converter that gives one: "
                "value.converter.schemas.enable=true, or value.converter.schema.content for messages without envelope."
            )
        shape = schema if schema.type is Type.STRUCT else struct({"value": schema})
        rows = parts if shape is schema else [[{"value": v} for v in values] for values in parts]
        # As one piece: Spark would make a partition, and so a file, of each.
        table = pa.concat_tables([arrow_table(shape, part) for part in rows]).combine_chunks()
        try:
            fields = cast("StructType", to_spark(shape))
            self._sink.put_frame(self._spark.session().createDataFrame(table, schema=fields))
        except RetriableError:
            raise
        except Exception as e:
            raise ConnectError(f"Exiting WorkerSinkTask due to unrecoverable exception. {describe(e)}") from e


def _by_shape(batch: RecordBatch) -> list[tuple[Schema | None, Values]]:
    if not batch.length:
        return []
    values = batch.column("value") if batch.fields is None else batch.fields
    if not isinstance(batch.value_schema, list):
        return [(batch.value_schema, values)]
    shapes: dict[Schema | None, list[Any]] = {}
    for schema, value in zip(batch.value_schema, values, strict=True):
        shapes.setdefault(schema, []).append(value)
    return list(shapes.items())
