"""Batches of records as Spark's writers store them."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from penstock import ConfigError, ConnectError, Instant, Problem
from penstock.schema import DATE, INT64, STRING, TIMESTAMP, array_of, decimal, map_of, struct
from penstock.spark_schema import arrow_table, from_spark, to_spark
from penstock_plugins.spark_sink import SparkSink, SparkSinkConfig
from penstock_runtime.engine import class_archive

SHAPE = struct(
    {
        "id": INT64,
        "name": STRING.as_optional(),
        "day": DATE,
        "at": TIMESTAMP.as_optional(),
        "price": decimal(2),
        "tags": array_of(STRING),
        "more": map_of(STRING, INT64.as_optional()),
        "inner": struct({"x": INT64}, name="Inner", optional=True),
    }
)


def row(n: int) -> dict[str, Any]:
    return {
        "id": n,
        "name": None if n % 2 else f"é{n}",
        "day": Instant(86_400_000 * n),
        "at": Instant(n),
        "price": Decimal(n).scaleb(-2),
        "tags": [str(n)],
        "more": {"k": n},
        "inner": {"x": n},
    }


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    conf: dict[str, Any] = {
        **class_archive.settings("-XX:+UseSerialGC -XX:TieredStopAtLevel=1"),
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
    }
    session = SparkSession.builder.master("local[1]").config(map=conf).getOrCreate()
    yield session
    session.stop()


def frame(spark: Any, *numbers: int) -> Any:
    return spark.createDataFrame(arrow_table(SHAPE, [row(n) for n in numbers]), schema=to_spark(SHAPE))


def test_parquet_holds_every_batch_with_its_types(spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "out")
    sink = SparkSink().sink(SparkSinkConfig.parse({"path": path}))
    sink.put_frame(frame(spark, 1, 2))
    sink.put_frame(frame(spark, 3))
    found = spark.read.parquet(path)
    assert sorted(found.select("id", "name", "price", "tags", "more.k", "inner.x").collect()) == [
        (n, row(n)["name"], row(n)["price"], [str(n)], n, n) for n in (1, 2, 3)
    ]
    assert found.selectExpr("unix_date(day)", "unix_millis(at)").where("id = 2").collect() == [(2, 2)]
    kept = from_spark(found.schema)
    assert [f.name for f in kept.fields] == [f.name for f in SHAPE.fields]
    inner = kept.field("inner")
    assert inner is not None
    assert inner.schema.name == "Inner"


def test_options_and_partitioning_reach_the_writer(spark: Any, tmp_path: Path) -> None:
    texts = {"path": str(tmp_path / "out"), "format": "csv", "partition.by": "id", "spark.option.header": "true"}
    SparkSink().sink(SparkSinkConfig.parse(texts)).put_frame(frame(spark, 7).select("id", "price"))
    (file,) = (tmp_path / "out" / "id=7").glob("*.csv")
    assert file.read_text() == "price\n0.07\n"


def test_partitioning_by_a_field_that_is_not_there_says_so(spark: Any, tmp_path: Path) -> None:
    texts = {"path": str(tmp_path / "out"), "partition.by": "country"}
    with pytest.raises(ConnectError, match="names country; these records have the fields id, price"):
        SparkSink().sink(SparkSinkConfig.parse(texts)).put_frame(frame(spark, 7).select("id", "price"))


def test_file_formats_need_a_path() -> None:
    connector = SparkSink()
    assert list(connector.validate(SparkSinkConfig.parse({}))) == [
        Problem("path", "Format parquet writes files and needs a path.")
    ]
    assert list(connector.validate(SparkSinkConfig.parse({"format": "jdbc"}))) == []
    with pytest.raises(ConfigError):
        SparkSinkConfig.parse({"format": ""})
