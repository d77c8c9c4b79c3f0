"""The built-in plugins keep the promises that every plugin makes: they are run through the public suites."""

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from penstock import ConnectError, Float32, Header, Instant, Int8, Int16, Int32, Limits, Record, Schema, Type
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
    OPTIONAL_BYTES,
    OPTIONAL_STRING,
    STRING,
    TIME,
    TIMESTAMP,
    array_of,
    decimal,
    map_of,
    struct,
)
from penstock.testing import (
    ConverterSuite,
    PredicateSuite,
    SinkSuite,
    SourceSuite,
    TransformSuite,
    run_source,
    run_transform,
    run_writer,
)
from penstock_plugins.connectors.datagen.source import Datagen
from penstock_plugins.connectors.file.sink import FileStreamSink
from penstock_plugins.connectors.file.source import FileStreamSource
from penstock_plugins.connectors.spark.sink import SparkSink
from penstock_plugins.converters.json.converter import JsonConverter
from penstock_plugins.converters.primitive import (
    BooleanConverter,
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    LongConverter,
    ShortConverter,
)
from penstock_plugins.converters.text import ByteArrayConverter, StringConverter
from penstock_plugins.predicates import RecordIsTombstone, TopicNameMatches
from penstock_plugins.transforms.filter import Filter
from penstock_plugins.transforms.hoist_field import HoistField
from penstock_plugins.transforms.insert_field import InsertField
from penstock_plugins.transforms.regex_router import RegexRouter

POINT = struct({"x": INT64, "label": OPTIONAL_STRING}, name="Point")
RECORDS = [
    Record(topic="t", value={"x": 1, "label": None}, value_schema=POINT, key="k", key_schema=STRING, timestamp=5),
    Record(topic="t", value={"x": 2, "label": "é"}, value_schema=POINT, partition=3, offset=7, timestamp=6),
    Record(topic="t", value={"a": 1, "b": [True, None]}, headers=(Header("h", {"n": 1}),)),
    Record(topic="t", value={}, key={"id": Int8(1)}),
    Record(topic="other", value="text", value_schema=STRING),
    Record(topic="t", value=None, key=b"k", key_schema=BYTES),
    Record(topic="t", value=None, value_schema=POINT.as_optional()),
    Record(topic="t", value=[1.5], value_schema=array_of(FLOAT64), key={"x": 3, "label": ""}, key_schema=POINT),
    Record(topic="t", value=7, value_schema=INT64.as_optional()),
]


class TestFileStreamSource(SourceSuite):
    plugin = FileStreamSource
    limits = Limits(5, 60)

    @pytest.fixture
    def properties(self, tmp_path: Path) -> Mapping[str, str]:
        path = tmp_path / "in"
        path.write_bytes(b"".join(b"line %d\r\n" % i for i in range(40)) + b"\n\xff\n\nunfinished")
        return {"file": str(path), "topic": "t", "batch.size": "3"}


class TestDatagen(SourceSuite):
    plugin = Datagen
    properties = {"topic": "t", "rate": "0", "count": "4601", "partitions": "2", "key.field": "customer_id"}  # noqa: RUF012
    limits = Limits(1200, 1 << 30)


class TestEndlessDatagen(SourceSuite):
    plugin = Datagen
    properties = {"topic": "t", "rate": "0", "schema.type": "clickstream"}  # noqa: RUF012
    limits = Limits(300, 1 << 30)
    endless = True
    batches = 4


class TestFileStreamSink(SinkSuite):
    plugin = FileStreamSink

    @pytest.fixture
    def properties(self, tmp_path: Path) -> Mapping[str, str]:
        return {"file": str(tmp_path / "out")}

    def stored(self, properties: Mapping[str, str]) -> list[Any]:
        path = Path(properties["file"])
        return path.read_text().splitlines() if path.exists() else []


class TestFileStreamSinkWithoutFile(SinkSuite):
    plugin = FileStreamSink


class TestSparkSink(SinkSuite):
    plugin = SparkSink
    properties = {"path": "out"}  # noqa: RUF012


class TestHoistField(TransformSuite):
    plugin = HoistField
    properties = {"field": "f"}  # noqa: RUF012
    records = RECORDS


class TestHoistFieldOfKeys(TestHoistField):
    side = "key"


class TestInsertField(TransformSuite):
    plugin = InsertField
    properties = {"topic.field": "t!", "timestamp.field": "at", "static.field": "s", "static.value": "v"}  # noqa: RUF012
    records = RECORDS


class TestInsertFieldOfKeys(TestInsertField):
    side = "key"


class TestInsertFieldOfOffsets(TransformSuite):
    plugin = InsertField
    properties = {"offset.field": "o!", "partition.field": "p"}  # noqa: RUF012
    records = RECORDS


class TestRegexRouter(TransformSuite):
    plugin = RegexRouter
    fails_by = (ConnectError, TypeError)
    properties = {"regex": "(o)(.*)", "replacement": "$2-$1"}  # noqa: RUF012
    records = [*RECORDS, Record(topic=None, value=1)]  # noqa: RUF012


class TestFilter(TransformSuite):
    plugin = Filter
    records = RECORDS
    drops_all = True


class TestTopicNameMatches(PredicateSuite):
    plugin = TopicNameMatches
    properties = {"pattern": "o.*"}  # noqa: RUF012
    records = RECORDS


class TestRecordIsTombstone(PredicateSuite):
    plugin = RecordIsTombstone
    records = RECORDS


VALUES: list[tuple[Schema | None, Any]] = [
    (None, None),
    (None, "é\ud83d"),
    (None, 1),
    (None, -(2**63)),
    (None, True),
    (None, 1.5),
    (None, float("nan")),
    (None, Float32(1.5)),
    (None, Int16(1)),
    (None, Int32(1)),
    (None, b"\x00\xff"),
    (None, {"a": [1, None, {"b": "c"}]}),
    (None, []),
    (STRING, "text"),
    (STRING, "more"),
    (STRING, None),
    (OPTIONAL_STRING, None),
    (Schema(Type.STRING, default="d", optional=True), None),
    (INT8, 127),
    (INT8, 128),
    (INT8, "no"),
    (INT64, 2**63 - 1),
    (FLOAT32, 0.5),
    (FLOAT64, 1e300),
    (BOOLEAN, False),
    (BYTES, b"\x00"),
    (OPTIONAL_BYTES, None),
    (decimal(2), Decimal("1.50")),
    (DATE, Instant(86_400_000)),
    (TIME, Instant(5)),
    (TIMESTAMP, Instant(-5)),
    (array_of(INT64), [1, 2]),
    (map_of(STRING, INT64), {"a": 1}),
    (map_of(INT8, STRING), {1: "a"}),
    (POINT, {"x": 1, "label": None}),
    (POINT, {"x": 2, "label": "a"}),
    (POINT, {"x": None, "label": "a"}),
    (POINT, {"x": "1", "label": "a"}),
]


class TestStringConverter(ConverterSuite):
    plugin = StringConverter
    values = VALUES


class TestJsonConverter(ConverterSuite):
    plugin = JsonConverter
    values = VALUES
    messages = (
        *ConverterSuite.messages,
        b'{"schema":{"type":"int8","optional":false},"payload":300}',
        b'{"schema":{"type":"int8","optional":false},"payload":null}',
        b'{"schema":null,"payload":{"a":1}}',
        b'{"schema":{"type":"nothing"},"payload":1}',
    )


class TestJsonConverterWithoutSchemas(TestJsonConverter):
    properties = {"schemas.enable": "false"}  # noqa: RUF012


class TestByteArrayConverter(ConverterSuite):
    plugin = ByteArrayConverter
    values = VALUES


class TestBooleanConverter(ConverterSuite):
    plugin = BooleanConverter
    values = VALUES
    messages = (*ConverterSuite.messages, b"\x00", b"\x01", b"\x02", b"\x01\x01")


class TestShortConverter(ConverterSuite):
    plugin = ShortConverter
    values = (*VALUES, (INT16, 2), (INT16.as_optional(), None))


class TestIntegerConverter(ConverterSuite):
    plugin = IntegerConverter
    values = (*VALUES, (INT32, 2), (INT32.as_optional(), None))


class TestLongConverter(ConverterSuite):
    plugin = LongConverter
    values = VALUES


class TestFloatConverter(ConverterSuite):
    plugin = FloatConverter
    values = (*VALUES, (FLOAT32, 1e300))
    messages = (*ConverterSuite.messages, b"\x7f\x80\0\0", b"\x7f\xc0\0\0")


class TestDoubleConverter(ConverterSuite):
    plugin = DoubleConverter
    values = VALUES


def test_the_harness_runs_one_plugin(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("a\nb\n")
    records = run_source(FileStreamSource, {"file": str(tmp_path / "in"), "topic": "t"})
    assert [r.value for r in records] == ["a", "b"]
    hoisted = run_transform(HoistField, {"field": "f"}, records)
    assert [r.value for r in hoisted if r is not None] == [{"f": "a"}, {"f": "b"}]
    keyed = run_transform(HoistField, {"field": "f"}, [r.replace(key=1) for r in records], side="key")
    assert [r.key for r in keyed if r is not None] == [{"f": 1}, {"f": 1}]
    assert run_transform(Filter, {}, records) == [None, None]
    assert run_writer(FileStreamSink, {"file": str(tmp_path / "out")}, [records, []]) == []
    assert (tmp_path / "out").read_text() == "a\nb\n"
