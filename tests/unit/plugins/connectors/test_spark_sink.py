"""Batches of records as Spark's writers store them."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from penstock import ConfigError, ConnectError, Instant, Problem, SinkTaskContext
from penstock.schema import DATE, INT64, STRING, TIMESTAMP, array_of, decimal, map_of, struct
from penstock.spark import arrow_table, from_spark, to_spark
from penstock_plugins.connectors.spark.sink import SparkSink, SparkSinkConfig, SparkWrite
from penstock_plugins.connectors.spark.staging import StagingFolder, folder_name, writes_files
from penstock_runtime.spark import class_archive

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


CONTEXT = SinkTaskContext("Orders=in/é " + "x" * 200, 0, "000000000007-000002-abc")


def write(texts: Mapping[str, str], context: SinkTaskContext = CONTEXT) -> SparkWrite:
    sink = SparkSink().sink(SparkSinkConfig.parse(texts))
    sink.initialize(context)
    sink.start()
    return sink


def test_parquet_holds_every_batch_with_its_types(spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "out")
    sink = write({"path": path})
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
    write(texts).put_frame(frame(spark, 7).select("id", "price"))
    (file,) = (tmp_path / "out" / "id=7").glob("*.csv")
    assert file.read_text() == "price\n0.07\n"


def test_partitioning_by_a_field_that_is_not_there_says_so(spark: Any, tmp_path: Path) -> None:
    texts = {"path": str(tmp_path / "out"), "partition.by": "country"}
    with pytest.raises(ConnectError, match="partition by country: the records have only the fields id, price"):
        write(texts).put_frame(frame(spark, 7).select("id", "price"))


def test_file_formats_need_a_path() -> None:
    connector = SparkSink()
    assert list(connector.validate(SparkSinkConfig.parse({}))) == [
        Problem("path", "Format parquet writes files and needs a path.")
    ]
    assert list(connector.validate(SparkSinkConfig.parse({"format": "jdbc"}))) == []
    with pytest.raises(ConfigError):
        SparkSinkConfig.parse({"format": ""})


# The staging folder


def files(folder: Path) -> set[str]:
    """All files, but checksums."""
    return {str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file() and not f.name.endswith(".crc")}


def left(folder: Path) -> set[str]:
    return {name for name in files(folder) if name.startswith("_")}


def numbered(spark: Any, *rows: tuple[int, str]) -> Any:
    return spark.createDataFrame(list(rows), "id long, at string")


@pytest.mark.parametrize("name", ["out", "a/b/not there yet", "x #%20[y]*{z}?=&é", "with:colon"])
@pytest.mark.parametrize("form", ["{}", "file:{}", "file://{}"])
def test_files_come_to_their_place_whatever_the_path_is_called(
    spark: Any, tmp_path: Path, name: str, form: str
) -> None:
    out = tmp_path / name
    sink = write({"path": form.format(out), "partition.by": "at"})
    rows = [(1, "plain"), (2, "2026-01-01 00:00:00/é=%"), (3, "")]
    sink.put_frame(numbered(spark, *rows))
    sink.put_frame(numbered(spark, (4, "plain")))
    assert len(left(out)) == 1  # the mark
    sink.stop()
    assert left(out) == set()
    assert [f.name for f in out.iterdir() if f.name.startswith("_")] == [folder_name(CONTEXT)]
    values = {(Path(f).parts[0]) for f in files(out)}
    assert values == {"at=plain", "at=2026-01-01 00%3A00%3A00%2Fé%3D%25", "at=__HIVE_DEFAULT_PARTITION__"}
    assert len(files(out)) == 4
    table = pq.ParquetDataset(str(out)).read().to_pydict()  # as others find it: what begins with `_` is passed over
    assert sorted(table["id"]) == [1, 2, 3, 4]


@pytest.mark.parametrize("kind", ["orc", "json", "csv", "text", "xml", "org.apache.spark.sql.parquet"])
def test_every_format_of_files_is_staged(spark: Any, tmp_path: Path, kind: str) -> None:
    out = tmp_path / "out"
    more = {"spark.option.rowTag": "row"} if kind == "xml" else {}
    sink = write({"path": str(out), "format": kind, **more})
    sink.put_frame(numbered(spark, (1, "a")).select("at"))
    assert left(out) == {f"{folder_name(CONTEXT)}/{CONTEXT.start_id}/_alive"}
    sink.stop()
    (file,) = files(out)
    assert file.startswith("part-")


def test_formats_that_commit_by_themselves_are_given_the_frame_as_it_is(spark: Any, tmp_path: Path) -> None:
    assert [writes_files(spark, f) for f in ("parquet", "JSON", "jdbc", "noop", "nothing")] == [
        True,
        True,
        *[False] * 3,
    ]
    sink = write({"path": str(tmp_path), "format": "noop"})
    sink.put_frame(numbered(spark, (1, "a")))
    sink.stop()
    assert list(tmp_path.iterdir()) == []


def test_what_several_write_into_one_folder_together_is_all_there(spark: Any, tmp_path: Path) -> None:
    """Two tasks, and a job of Spark's own that knows nothing of them."""
    sinks = [write({"path": str(tmp_path)}, replace(CONTEXT, task=task)) for task in range(2)]
    writers: list[Callable[[Any], None]] = [
        sinks[0].put_frame,
        sinks[1].put_frame,
        lambda rows: rows.write.mode("append").parquet(str(tmp_path)),
    ]

    def append(number: int) -> list[int]:
        taken = list(range(number * 12, number * 12 + 12))
        for n in taken:
            writers[number](numbered(spark, (n, "a")))
        return taken

    with ThreadPoolExecutor(len(writers)) as pool:
        written = {n for taken in pool.map(append, range(len(writers))) for n in taken}
    found = [r.id for r in spark.read.parquet(str(tmp_path)).collect()]
    assert written - set(found) == set()
    assert len(found) == len(written)


def test_the_order_of_records_matters_to_tables_and_not_to_files() -> None:
    kinds = ("parquet", "JSON", "jdbc", "iceberg")
    assert [write({"path": "/x", "format": kind}).ordered for kind in kinds] == [False, False, True, True]


def test_a_life_removes_what_earlier_lives_of_its_task_have_left_and_nothing_else(spark: Any, tmp_path: Path) -> None:
    task = folder_name(CONTEXT)
    others = {
        f"{task}/000000000007-000003-later/1/part-0",
        f"{folder_name(replace(CONTEXT, task=1))}/0-0-a/1/part-0",
        f"{folder_name(replace(CONTEXT, connector='x'))}/0-0-a/1/part-0",
        "_temporary/0/task/part-0",
        "part-0",
    }
    for name in (*others, f"{task}/000000000007-000001-zzz/1/part-0", f"{task}/000000000006-000009-zzz/_alive"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    sink = write({"path": str(tmp_path)})
    sink.put_frame(numbered(spark, (1, "a")))
    sink.stop()
    found = files(tmp_path)
    (new,) = found - others
    assert others <= found
    assert new.startswith("part-00000")


def test_a_life_that_a_later_one_has_followed_moves_nothing_and_fails(spark: Any, tmp_path: Path) -> None:
    """Frozen between its job and the moves: what it lists may be half of what there was."""
    old = StagingFolder(spark, str(tmp_path), {}, CONTEXT)
    later = write({"path": str(tmp_path)}, replace(CONTEXT, start_id="000000000007-000003-x"))

    def save(folder: str) -> None:
        numbered(spark, (1, "old")).write.parquet(folder)
        later.put_frame(numbered(spark, (2, "later")))
        numbered(spark, (3, "old")).write.parquet(f"{folder}/more")

    with pytest.raises(ConnectError, match="perhaps by a later incarnation of this task"):
        old.write(save)
    with pytest.raises(ConnectError, match="perhaps by a later incarnation of this task"):
        old.write(lambda folder: numbered(spark, (4, "old")).write.parquet(folder))
    old.remove()
    assert [r.id for r in spark.read.parquet(str(tmp_path)).collect()] == [2]
    later.put_frame(numbered(spark, (5, "later")))
    later.stop()
    assert left(tmp_path) == set()


def test_moves_that_fail_half_way_leave_duplicates_at_most(spark: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "at=c").touch()  # no folder
    sink = write({"path": str(out), "partition.by": "at"})
    rows = numbered(spark, *((n, "abc"[n % 3]) for n in range(9)))
    with pytest.raises(ConnectError, match=r"(?s)cannot write to folder .*out of property `path`: .*at=c.*grant it"):
        sink.put_frame(rows)
    assert len(left(out)) == 1
    (out / "at=c").unlink()
    sink.put_frame(rows)
    sink.stop()
    found = [r.id for r in spark.read.parquet(str(out)).collect()]
    assert set(found) == set(range(9))
    assert found.count(2) == 1


def test_a_job_that_fails_leaves_nothing(spark: Any, tmp_path: Path) -> None:
    sink = write({"path": str(tmp_path / "out"), "format": "csv"})
    with pytest.raises(Exception, match="CSV"):  # which has no maps
        sink.put_frame(frame(spark, 1))
    assert len(left(tmp_path / "out")) <= 1
    assert {f for f in files(tmp_path / "out") if not f.startswith("_")} == set()
    sink.stop()


@pytest.mark.parametrize("path", ["nosuchfs://host/x", "/proc/nothing/there"])
def test_a_path_that_cannot_be_written_is_named_with_its_property(spark: Any, path: str) -> None:
    sink = write({"path": path})
    with pytest.raises(ConnectError, match=f"cannot (access|write to) folder {path} of property `path`: "):
        sink.put_frame(numbered(spark, (1, "a")))
    with suppress(Exception):
        sink.stop()


def test_a_path_that_is_a_file_is_named_with_its_property(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConnectError, match=r"cannot write to folder .*file of property `path`: "):
        write({"path": str(tmp_path / "file")}).put_frame(numbered(spark, (1, "a")))


@pytest.mark.parametrize(
    ("texts", "anywhere"),
    [
        ({"path": "/data/orders"}, False),
        ({"path": "file:///data/orders"}, False),
        ({"path": "s3a://lake/orders"}, True),
        ({"spark.option.path": "/data/orders"}, False),
        ({"format": "delta", "path": "/data/orders"}, False),
        ({"spark.option.Path": "/data/orders", "format": "org.example.Files"}, False),
        ({"format": "jdbc", "spark.option.url": "jdbc:postgresql://db/shop"}, True),
        ({"format": "jdbc", "spark.option.url": "jdbc:oracle:thin:@db:1521:shop"}, True),
        ({"format": "jdbc", "spark.option.URL": "jdbc:sqlite:/data/shop.db"}, False),
        ({}, False),
    ],
)
def test_what_lies_on_a_machines_own_disk_is_written_from_that_machine(
    texts: dict[str, str], *, anywhere: bool
) -> None:
    assert SparkSink().writes_anywhere(SparkSinkConfig.parse(texts)) is anywhere
