"""Rows made by workers form the same frame as rows made by the driver, and are never made again."""

import os
import pickle
import sys
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final, cast

import pytest
from pyspark.errors import PySparkException

from penstock import ConnectError, Instant, TopicPartition
from penstock.schema import (
    BOOLEAN,
    BYTES,
    DATE,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    TIME,
    TIMESTAMP,
    array_of,
    decimal,
    map_of,
    struct,
)
from penstock.spark import to_spark
from penstock_runtime.sink.frame_rows import stream_of, table_of
from penstock_runtime.sink.frame_runs import Run
from penstock_runtime.spark import class_archive
from penstock_runtime.spark.jobs import has_lost_part
from penstock_runtime.spark.kept_rows import ANSWER, KeptRows

SHAPE: Final = struct(
    {
        "small": INT8,
        "short": INT16.as_optional(),
        "int": INT32,
        "id": INT64,
        "float": FLOAT32,
        "double": FLOAT64,
        "is": BOOLEAN,
        "name": STRING.as_optional(),
        "raw": BYTES,
        "day": DATE,
        "time": TIME,
        "at": TIMESTAMP.as_optional(),
        "price": decimal(2),
        "days": array_of(DATE),
        "more": map_of(STRING, TIMESTAMP.as_optional()),
        "inner": struct({"x": INT64, "of": array_of(STRING)}, name="Inner", optional=True),
    }
)


def row(n: int) -> dict[str, Any]:
    return {
        "small": n,
        "short": None,
        "int": n,
        "id": n,
        "float": n / 2,
        "double": n / 4,
        "is": n % 2 == 0,
        "name": f"é{n}",
        "raw": bytes([n]),
        "day": Instant(86_400_000 * n),
        "time": n,
        "at": Instant(n),
        "price": Decimal(n).scaleb(-2),
        "days": [Instant(86_400_000)],
        "more": {"k": Instant(n), "none": None},
        "inner": {"x": n, "of": ["a"]},
    }


def run(*numbers: int) -> Run:
    return Run(TopicPartition("t", 0), 0, SHAPE, [row(n) for n in numbers])


def payload(*runs: Run, answer: bytes = b"done") -> bytes:
    """For a worker that only hands on what it is given."""
    rows = [(number, stream_of(table_of([of]), SHAPE)) for number, of in enumerate(runs)]
    return pickle.dumps([*rows, (ANSWER, answer)])


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    conf: dict[str, Any] = {
        **class_archive.settings("-XX:+UseSerialGC -XX:TieredStopAtLevel=1"),
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.task.maxFailures": "1",
    }
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = SparkSession.builder.master("local[2]").config(map=conf).getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def kept(spark: Any) -> Iterator[KeptRows]:
    """Two parts: of the first rows 1 and 2, then 3; of the second row 4."""
    spark.sparkContext.setJobGroup("batch-1", "keeps")
    kept = KeptRows()
    payloads = [payload(run(1, 2), run(3), answer=b"a"), payload(run(4), answer=b"b")]
    assert kept.fill(spark, cast("Any", pickle.loads), payloads) == [b"a", b"b"]
    spark.sparkContext.setJobGroup("other", "a plugin's")
    yield kept
    kept.remove()


def test_kept_rows_equal_rows_made_by_the_driver(spark: Any, kept: KeptRows) -> None:
    fields = cast("Any", to_spark(SHAPE))
    frame = kept.frame([(0, 0), (0, 1), (1, 0)], fields)
    made = spark.createDataFrame(table_of([run(1, 2, 3, 4)]), schema=fields)
    assert frame.schema == made.schema
    assert frame.collect() == made.collect()
    assert frame.rdd.glom().map(len).collect() == [3, 1]


def test_frame_holds_only_the_chosen_rows_and_no_empty_partition(kept: KeptRows) -> None:
    frame = kept.frame([(1, 0)], cast("Any", to_spark(SHAPE)))
    assert frame.rdd.map(lambda r: r["id"]).glom().collect() == [[4]]


def test_rows_that_spark_has_lost_are_not_made_again_and_count_as_lost(spark: Any, kept: KeptRows) -> None:
    frame = kept.frame([(0, 0)], cast("Any", to_spark(SHAPE)))
    kept._rows.unpersist(blocking=True)
    with pytest.raises(Exception, match="Spark has lost rows") as raised:
        frame.collect()
    assert has_lost_part(raised.value)


def test_kept_rows_are_gone_after_remove(spark: Any, kept: KeptRows) -> None:
    assert spark.sparkContext._jsc.sc().getPersistentRDDs().size() == 1
    kept.remove()
    assert spark.sparkContext._jsc.sc().getPersistentRDDs().size() == 0


def test_error_of_a_plugin_is_not_a_lost_part() -> None:
    assert not has_lost_part(ValueError("refused"))


def fallen_back() -> None:
    try:
        raise PySparkException("Python worker exited unexpectedly (crashed)")
    except PySparkException:
        raise PermissionError("of a fallback") from None


def test_quoted_or_handled_error_is_not_a_lost_part() -> None:
    assert not has_lost_part(ValueError("invalid input for type integer: 'FetchFailed'"))
    with pytest.raises(PermissionError) as raised:
        fallen_back()
    assert isinstance(raised.value.__context__, PySparkException)
    assert not has_lost_part(raised.value)


def test_an_error_that_is_its_own_cause_is_read_once() -> None:
    error = ValueError("refused")
    error.__cause__ = error
    assert not has_lost_part(error)


def test_error_caused_by_a_lost_worker_is_a_lost_part() -> None:
    error = ConnectError("cannot write")
    error.__cause__ = PySparkException("Python worker exited unexpectedly (crashed)")
    assert has_lost_part(error)
