"""Rows of a frame: records of one schema as an Arrow table, in the driver or in a Spark worker."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from penstock.errors import ConnectError, DataError
from penstock.fields import Fields
from penstock.schema import Schema, Type, struct
from penstock_runtime.sink.frame_runs import Run

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

__all__ = ["check", "shape_of", "stream_of", "table_of"]


def check(runs: Sequence[Run]) -> None:
    """Check records before any of their batch is written, because a batch that fails halfway is written again.

    Args:
        runs: runs of one schema.

    Raises:
        DataError: a value is a tombstone.
        ConnectError: the values have no schema.
    """
    if any(None in run.values for run in runs if not isinstance(run.values, Fields)):
        raise DataError(
            "cannot make a row of a tombstone; drop tombstones with the transform Filter and the predicate RecordIsTombstone"
        )
    if runs[0].schema is None:
        raise ConnectError(
            "cannot make rows of values without a schema; use a converter that provides one: "
            "value.converter.schemas.enable=true, or value.converter.schema.content for messages without envelope"
        )


def shape_of(schema: Schema) -> Schema:
    """Return the schema of the rows: a value that is not a struct becomes the only column, `value`."""
    return schema if schema.type is Type.STRUCT else struct({"value": schema})


def table_of(runs: Sequence[Run]) -> "pa.Table":
    """Return the rows of runs that `check` has accepted, in one chunk.

    Raises:
        DataError: a value does not match its schema.
    """
    import pyarrow as pa

    from penstock.spark import arrow_table

    schema = runs[0].schema
    assert schema is not None
    shape = shape_of(schema)
    rows = (run.values if shape is schema else [{"value": v} for v in run.values] for run in runs)
    return pa.concat_tables([arrow_table(shape, part) for part in rows]).combine_chunks()


def stream_of(table: "pa.Table", shape: Schema) -> bytes:
    """Return the table as an Arrow stream, with the types that Spark reads from a worker.

    Args:
        table: the rows.
        shape: schema of the rows.
    """
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema

    from penstock.spark import to_spark

    fields = cast("StructType", to_spark(shape))
    sink = pa.BufferOutputStream()
    plain = table.cast(to_arrow_schema(fields, timezone="UTC")).replace_schema_metadata(None)
    with pa.ipc.new_stream(sink, plain.schema) as stream:
        stream.write_table(plain)
    return bytes(sink.getvalue().to_pybytes())
