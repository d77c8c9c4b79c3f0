"""DropHeaders, InsertHeader, HeaderFrom, HasHeaderKey: what the conformance cases leave open, and their batch forms."""

from typing import Any

import pytest

from penstock import ConfigError, ConnectError, DataError, Header, Int8, Plugin, Record, RecordBatch, Schema, Type
from penstock.fields import Fields, Same
from penstock.schema import INT8, INT64, STRING, struct
from penstock.testing import PredicateSuite, TransformSuite
from penstock_plugins.predicates import HasHeaderKey
from penstock_plugins.transforms.drop_headers import DropHeaders
from penstock_plugins.transforms.header_from import HeaderFrom
from penstock_plugins.transforms.insert_header import InsertHeader

ROW = struct(
    {"a": STRING, "n": Schema(Type.INT64, optional=True), "d": Schema(Type.STRING, optional=True, default="x")},
    name="Row",
    version=2,
)
A, B = Header("a", 1), Header("b", None, STRING)
RECORDS = [
    Record(topic="t", value={"a": "x", "n": 1, "d": None}, value_schema=ROW),
    Record(topic="t", value={"a": "y", "n": None, "d": "z"}, value_schema=ROW, headers=(A, B, A)),
    Record(topic="t", value={"a": None, "n": None, "d": "z"}, value_schema=ROW, headers=(B,)),
    Record(topic="t", value={"n": 5}, value_schema=struct({"n": INT64}), headers=(A,), key={"a": 1}),
    Record(topic="t", value={"a": "x", "n": 1}, key={"a": 2, "n": None}),
    Record(topic="t", value={"a": [1]}, headers=(Header("A", 1),)),
    Record(topic="t", value={}),
    Record(topic="t", value=None),
    Record(topic="t", value="text", value_schema=STRING, headers=(A,)),
]


class TestDropHeaders(TransformSuite):
    plugin = DropHeaders
    properties = {"headers": "a,z"}  # noqa: RUF012
    records = RECORDS


class TestInsertHeader(TransformSuite):
    plugin = InsertHeader
    properties = {"header": "a", "value.literal": "[1, 2]"}  # noqa: RUF012
    records = RECORDS


class TestHeaderFromByMoving(TransformSuite):
    plugin = HeaderFrom
    fails_by = (ConnectError, TypeError)
    properties = {"fields": "a,n,a", "headers": "x,y,x", "operation": "move"}  # noqa: RUF012
    records = RECORDS


class TestHeaderFromByMovingOfKeys(TestHeaderFromByMoving):
    side = "key"


class TestHeaderFromByCopying(TransformSuite):
    plugin = HeaderFrom
    fails_by = (ConnectError, TypeError)
    properties = {"fields": "a,d", "headers": "x,y", "operation": "copy"}  # noqa: RUF012
    records = RECORDS


class TestHeaderFromWithNullsKept(TransformSuite):
    plugin = HeaderFrom
    fails_by = (ConnectError, TypeError)
    properties = {  # noqa: RUF012
        "fields": "d",
        "headers": "x",
        "operation": "move",
        "replace.null.with.default": "false",
    }
    records = RECORDS


class TestHasHeaderKey(PredicateSuite):
    plugin = HasHeaderKey
    properties = {"name": "a"}  # noqa: RUF012
    records = RECORDS


def configured(plugin: type[Plugin], **texts: str) -> Any:
    made: Any = plugin()
    made.configure(plugin.Config.parse({name.replace("_", "."): text for name, text in texts.items()}))
    return made


def test_a_record_without_such_headers_is_left_as_it_is() -> None:
    plugin = configured(DropHeaders, headers="z")
    record = Record(topic="t", value=None, headers=(A,))
    assert plugin.apply(record) is record
    batch = RecordBatch(length=1, topic="t", value=None)
    assert plugin.apply_batch(batch) is batch


def test_a_batch_whose_last_headers_were_dropped_has_none() -> None:
    batch = RecordBatch(length=2, topic="t", value=None, headers=[(A,), ()])
    assert configured(DropHeaders, headers="a").apply_batch(batch).headers == ()


def test_the_type_of_an_inserted_header_follows_from_its_literal() -> None:
    made = configured(InsertHeader, header=" h ", value_literal=" 5 ").apply(
        Record(topic="t", value=None, headers=(A,))
    )
    assert made.headers == (A, Header("h", Int8(5), INT8))
    null = configured(InsertHeader, header="h", value_literal="null").apply(Record(topic="t", value=None))
    assert null.headers == (Header("h", None, None),)


def test_records_without_headers_share_the_inserted_one() -> None:
    made = configured(InsertHeader, header="h", value_literal="x").apply_batch(
        RecordBatch(length=3, topic="t", value=None)
    )
    assert len({id(headers) for headers in made.headers}) == 1


def test_a_header_takes_no_null_that_its_schema_does_not() -> None:
    plugin = configured(HeaderFrom, fields="a", headers="x", operation="move")
    with pytest.raises(DataError, match='required field: "a"'):
        plugin.apply(RECORDS[2])
    with pytest.raises(DataError, match='required field: "a"'):
        plugin.apply_batch(RecordBatch.of(RECORDS[1:3]))


def test_a_field_that_a_struct_does_not_have_is_a_fault() -> None:
    plugin = configured(HeaderFrom, fields="z", headers="x", operation="copy")
    with pytest.raises(TypeError, match="a, n, d"):
        plugin.apply(RECORDS[0])
    assert plugin.apply(RECORDS[4]).headers == (Header("x", None),)


def test_a_field_that_is_the_same_in_every_record_becomes_one_header() -> None:
    plugin = configured(HeaderFrom, fields="a", headers="x", operation="copy")
    made = plugin.apply_batch(RecordBatch(length=2, topic="t", value=Fields({"a": Same(1)}, 2)))
    assert made.headers[0][0] is made.headers[1][0]
    assert type(made.headers[0][0]) is Header


def test_no_record_has_a_header_where_none_has_any() -> None:
    plugin = configured(HasHeaderKey, name="a")
    assert plugin.test_batch(RecordBatch(length=2, topic="t", value=None)) is False
    assert plugin.test_batch(RecordBatch(length=2, topic="t", value=None, headers=[(A,), (B,)])) == [True, False]


@pytest.mark.parametrize(("plugin", "texts"), [(DropHeaders, {"headers": "a,a"}), (InsertHeader, {"header": "h"})])
def test_a_name_that_comes_twice_and_a_missing_literal_are_refused(plugin: type[Plugin], texts: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        plugin.Config.parse(texts)
