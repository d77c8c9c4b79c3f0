"""Data sources written for PySpark run unchanged. No session is needed: their code is plain Python."""

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock import ConfigError, InputPartition, Instant, Limits, Offsets, OffsetUpdates, SourcePartition
from penstock.offsets import updated
from penstock.schema import INT64, TIMESTAMP, struct
from penstock.testing import SourceSuite
from penstock_plugins.connectors.spark.source import SparkDataSource, SparkSource, SparkSourceConfig, SparkSourceReader

PLENTY = Limits(10_000, 1 << 20)
"""More than all rows, and no backlog (`test_spark_rounds`)."""

SOURCES = """
    import datetime as dt
    import pyarrow as pa
    from pyspark.sql.datasource import (
        DataSource, DataSourceStreamReader, InputPartition, SimpleDataSourceStreamReader,
    )
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxFiles

    called = []

    class Span(InputPartition):
        def __init__(self, start, end):
            self.start, self.end = start, end

    class Counting(DataSource):
        '''Ten more each time it is asked, in two partitions.'''
        def schema(self):
            return "n bigint not null, at timestamp"
        def streamReader(self, schema):
            return self.Reader(int(self.options.get("from", "0")), self.wrap, self.unwrap)
        def wrap(self, n):
            return {"n": n}
        def unwrap(self, offset):
            return offset["n"]
        class Reader(DataSourceStreamReader):
            def __init__(self, first, wrap, unwrap):
                self.first, self.wrap, self.unwrap = first, wrap, unwrap
            def initialOffset(self):
                return self.wrap(self.first)
            def latestOffset(self, start, limit):
                return self.wrap(min(30, self.unwrap(start) + 10))
            def partitions(self, start, end):
                a, b = self.unwrap(start), self.unwrap(end)
                return [Span(a, a + 5), Span(a + 5, b)]
            def read(self, partition):
                for n in range(partition.start, partition.end):
                    yield (n, dt.datetime.fromtimestamp(n, dt.timezone.utc))
            def commit(self, end):
                called.append(("commit", self.unwrap(end)))
            def stop(self):
                called.append(("stop",))

    class Nested(Counting):
        def wrap(self, n):
            return {"parts": [{"é": n}]}
        def unwrap(self, offset):
            return offset["parts"][0]["é"]

    class FieldCalledJson(Counting):
        def wrap(self, n):
            return {"json": str(n)}
        def unwrap(self, offset):
            return int(offset["json"])

    class BeforeSpark42(Counting):
        class Reader(Counting.Reader):
            def latestOffset(self):
                return self.wrap(30)

    class Limited(Counting):
        class Reader(Counting.Reader):
            def latestOffset(self, start, limit):
                called.append(limit)
                return self.wrap(self.unwrap(start) + limit.max_rows)

    class Picky(Counting):
        class Reader(Counting.Reader):
            def latestOffset(self, start, limit):
                called.append(limit)
                if not isinstance(limit, ReadAllAvailable):
                    raise ValueError("what is that")
                return self.wrap(30)

    class OwnLimit(Counting):
        class Reader(Counting.Reader):
            def getDefaultReadLimit(self):
                return ReadMaxFiles(3)
            def latestOffset(self, start, limit):
                called.append(limit)
                return self.wrap(30)

    class Arrow(Counting):
        class Reader(Counting.Reader):
            def read(self, partition):
                rows = list(super().read(partition))
                yield pa.RecordBatch.from_pylist([{"n": n, "at": at} for n, at in rows])

    class Simple(DataSource):
        def schema(self):
            return "n bigint not null, at timestamp"
        def simpleStreamReader(self, schema):
            return self.Reader()
        class Reader(SimpleDataSourceStreamReader):
            def initialOffset(self):
                return {"n": 0}
            def read(self, start):
                end = {"n": min(30, start["n"] + 10)}
                return self.readBetweenOffsets(start, end), end
            def readBetweenOffsets(self, start, end):
                return iter([(n, dt.datetime.fromtimestamp(n, dt.timezone.utc)) for n in range(start["n"], end["n"])])
            def commit(self, end):
                called.append(("commit", end["n"]))

    class Batch(DataSource):
        def schema(self):
            return "n bigint"

    class WithoutSchema(Counting):
        def schema(self):
            return DataSource.schema(self)

    class BadSchema(Counting):
        def schema(self):
            return "n nothing"
"""


@pytest.fixture(autouse=True)
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    (tmp_path / "some_sources.py").write_text(textwrap.dedent(SOURCES))
    monkeypatch.syspath_prepend(tmp_path)
    import some_sources  # type: ignore[import-not-found]

    yield some_sources
    del sys.modules["some_sources"]


class TestSparkDataSource(SourceSuite):
    plugin = SparkDataSource
    properties = {"data.source": "some_sources:Counting", "topic": "t"}  # noqa: RUF012


def config(name: str, **texts: str) -> SparkSourceConfig:
    return SparkSourceConfig.parse({"data.source": f"some_sources:{name}", "topic": "t", **texts})


def run(texts: SparkSourceConfig, start: Offsets, batches: int = 100) -> tuple[list[Any], Offsets]:
    """The partitions take the way through another process."""
    source, reader, at = SparkSource(texts), SparkSourceReader(texts), start
    source.start(at)
    values: list[Any] = []
    for _ in range(batches):
        end = source.latest_offsets(at, PLENTY)
        if not end:
            break
        (part,) = source.partitions(at, end)
        sent = msgspec.msgpack.decode(msgspec.msgpack.encode(part.data))
        for batch in reader.read(InputPartition(sent)):
            assert batch.value_schema == struct({"n": INT64, "at": TIMESTAMP.as_optional()})
            values += batch.column("value")
        assert part.offsets == end
        at = updated(at, end)
        source.commit(at)
    source.stop()
    source.stop()
    return values, at


@pytest.mark.parametrize("name", ["Counting", "Nested", "FieldCalledJson", "BeforeSpark42", "Arrow", "Simple"])
def test_every_kind_of_reader_gives_all_rows_and_resumes(name: str) -> None:
    texts = config(name)
    whole = [{"n": n, "at": Instant(n * 1000)} for n in range(30)]
    assert run(texts, {})[0] == whole
    if name != "BeforeSpark42":
        first, at = run(texts, {}, batches=1)
        assert first == whole[:10]
        assert run(texts, at)[0] == whole[10:]


@pytest.mark.parametrize(
    ("name", "offset"),
    [
        ("Counting", {"n": 10}),
        ("Nested", {"json": '{"parts":[{"é":10}]}'}),
        ("FieldCalledJson", {"json": '{"json":"10"}'}),
        ("Simple", {"n": 10}),
    ],
)
def test_offsets_are_flat_or_json(name: str, offset: dict[str, Any]) -> None:
    _, at = run(config(name), {}, batches=1)
    assert at == {SourcePartition({"source": f"some_sources:{name}"}): offset}


def test_the_reader_hears_of_commits_and_of_the_end(sources: Any) -> None:
    run(config("Counting"), {})
    assert sources.called == [("commit", 10), ("commit", 20), ("commit", 30), ("stop",)]


def test_options_reach_the_data_source() -> None:
    values, _ = run(config("Counting", **{"option.from": "25"}), {})
    assert [v["n"] for v in values] == [25, 26, 27, 28, 29]


def test_a_schema_of_the_user_goes_before_the_data_source() -> None:
    texts = config("WithoutSchema", **{"data.schema": "n bigint not null, at timestamp"})
    assert len(run(texts, {})[0]) == 30


@pytest.mark.parametrize(
    ("name", "where", "says"),
    [
        ("Nothing", "data.source", "cannot load some_sources:Nothing"),
        ("Span", "data.source", "is not a subclass of pyspark.sql.datasource.DataSource"),
        ("Batch", "data.source", "offers neither streamReader nor simpleStreamReader"),
        ("WithoutSchema", "data.schema", "has no schema; set one"),
        ("BadSchema", "data.schema", "type nothing is not supported"),
    ],
)
def test_what_cannot_stream_is_refused_at_validation(name: str, where: str, says: str) -> None:
    (problem,) = SparkDataSource().validate(config(name))
    assert problem.property == where
    assert says in problem.message


@pytest.mark.parametrize("path", ["no_such_module:X", "some_sources", "", ":"])
def test_a_wrong_path_is_refused(path: str) -> None:
    with pytest.raises(ConfigError, match=r"data\.source"):
        SparkSource(SparkSourceConfig.parse({"data.source": path, "topic": "t"})).start({})


def latest(name: str, times: int = 1) -> OffsetUpdates:
    source = SparkSource(config(name))
    source.start({})
    for _ in range(times):
        end = source.latest_offsets({}, Limits(7, 1 << 20))
    return end


def test_a_reader_without_a_limit_of_its_own_is_asked_for_the_rows_of_a_batch(sources: Any) -> None:
    assert list(latest("Limited").values()) == [{"n": 7}]


def test_a_reader_that_takes_no_limit_of_rows_is_asked_as_spark_asks_it_from_then_on(sources: Any) -> None:
    assert list(latest("Picky", 2).values()) == [{"n": 30}]
    assert [type(c).__name__ for c in sources.called] == ["ReadMaxRows", "ReadAllAvailable", "ReadAllAvailable"]


def test_a_readers_own_limit_is_kept(sources: Any) -> None:
    latest("OwnLimit")
    assert [type(c).__name__ for c in sources.called] == ["ReadMaxFiles"]
