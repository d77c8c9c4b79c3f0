"""Rows that Spark's workers have made and that Spark keeps on disk: their bytes never pass through the driver.

The job of `fill` makes the rows. A frame is another job over the kept rows. If a block is lost, Spark tries to make it
again in this other job, from records whose offsets are not counted; the worker refuses this (`first_attempt.in_job`).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from penstock_runtime.spark.first_attempt import in_job

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = ["ANSWER", "KeptRows", "Row", "RowsEntry"]

Row = tuple[int, bytes]
"""Number and rows of one schema, as an Arrow stream; or `ANSWER` and the result for the driver."""
RowsEntry = Callable[[bytes], Iterator[Row]]
"""Function of a module that runs in a worker; it yields rows to keep and, last, its answer."""
ANSWER: Final = -1
_PART: Final = 1 << 32
"""Distance between the numbers of one part and those of the next."""
_GROUP: Final = "spark.jobGroup.id"


class KeptRows:
    """Rows of one batch, from `fill` to `remove`."""

    def __init__(self) -> None:
        self._rows: Any = None
        self._table: DataFrame | None = None

    def fill(self, session: "SparkSession", entry: RowsEntry, payloads: Sequence[bytes]) -> list[bytes]:
        """Make rows in workers, one part for each payload, and return their answers in order; a `Job`."""
        from pyspark import StorageLevel
        from pyspark.sql import DataFrame

        context = session.sparkContext
        parts = context.parallelize(list(enumerate(payloads)), len(payloads))
        guarded = partial(_numbered, partial(in_job, context.getLocalProperty(_GROUP), entry))
        self._rows = parts.flatMap(guarded).persist(StorageLevel.DISK_ONLY)
        # Does what `createDataFrame` does, without passing all rows through Python.
        java = context._jvm.SerDeUtil.toJavaArray(self._rows._to_java_object_rdd())  # type: ignore[union-attr] # noqa: SLF001
        schema = _schema().json()
        self._table = DataFrame(session._jsparkSession.applySchemaToPythonRDD(java.rdd(), schema), session)  # noqa: SLF001
        return [bytes(row["data"]) for row in self._table.where("number < 0").select("data").collect()]

    def frame(self, numbers: Iterable[tuple[int, int]], schema: "StructType") -> "DataFrame":
        """Return the rows of these numbers. Rows of one part are in one Spark partition, in their order.

        Args:
            numbers: parts, and numbers in them, of rows of one schema.
            schema: schema of the rows.
        """
        from pyspark.sql import DataFrame
        from pyspark.sql.udf import UserDefinedFunction
        from pyspark.util import PythonEvalType

        assert self._table is not None, "`fill` comes first"
        chosen = [part * _PART + number for part, number in numbers]
        table = self._table.where(f"number in ({', '.join(map(str, chosen))})").select("data")
        if len({number // _PART for number in chosen}) == 1:
            table = table.coalesce(1)  # an empty partition might become an empty file
        # PySpark's `mapInArrow` requires pandas without using it.
        udf = UserDefinedFunction(_opened, schema, name="rows", evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
        return DataFrame(table._jdf.mapInArrow(udf("data")._jc, False, None), table.sparkSession)  # noqa: SLF001

    def remove(self) -> None:
        """Remove the kept rows. Never raises: if the JVM is gone, its folder is removed with the task's."""
        rows, self._rows, self._table = self._rows, None, None
        if rows is not None:
            with suppress(Exception):
                rows.unpersist()


def _schema() -> "StructType":
    from pyspark.sql.types import BinaryType, LongType, StructType

    return StructType().add("number", LongType(), nullable=False).add("data", BinaryType(), nullable=False)


def _numbered(entry: RowsEntry, part: tuple[int, bytes]) -> Iterator[Row]:
    number, payload = part
    for row, data in entry(payload):
        yield (row if row == ANSWER else number * _PART + row), data


def _opened(batches: Iterator["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
    """Yield the rows of kept streams; runs in a worker."""
    import pyarrow as pa

    for batch in batches:
        for stream in batch.column(0):
            yield from pa.ipc.open_stream(stream.as_buffer())
