"""Messages of the plugin host become record batches; `runtime/java_host` writes them."""

from decimal import Decimal
from typing import Any

from penstock.fields import Fields
from penstock.record import Header
from penstock.schema import INT64, OPTIONAL_STRING, STRING, TIMESTAMP, Schema, decimal, struct
from penstock.values import Instant
from penstock_runtime.java_plugins.record_reader import RecordReader

LIST, CONSTANT, STRUCT = 0, 1, 2


def encoded(schema: Schema) -> list[Any]:
    """A schema as `SchemaTable.java` packs it."""
    fields = [[f.name, encoded(f.schema)] for f in schema.fields]
    parameters = None if schema.parameters is None else dict(schema.parameters)
    name = [schema.type.value, schema.optional, schema.name, schema.version, schema.doc, parameters]
    items = schema.items or schema.values
    return [*name, schema.default, items and encoded(items), schema.keys and encoded(schema.keys), fields]


def message(count: int, *, value: list[Any], key: list[Any] | None = None, **other: Any) -> list[Any]:
    """A message of records, by default of one topic, without keys and headers."""
    return [
        "records",
        1,
        1,
        count,
        other.get("topic", [CONSTANT, "orders"]),
        other.get("partition", [CONSTANT, None]),
        other.get("timestamp", [CONSTANT, None]),
        key or [[None, None, [CONSTANT, None]]],
        value,
        other.get("headers", [CONSTANT, []]),
        [],
        [other.get("reset", False), other.get("schemas", [])],
        100,
    ]


ORDER = struct({"id": INT64, "note": OPTIONAL_STRING})


def test_structs_of_one_schema_are_held_as_columns() -> None:
    columns = [STRUCT, None, [[LIST, [1, 2]], [CONSTANT, None]]]
    batch = RecordReader().batch(message(2, value=[[0, None, columns]], schemas=[encoded(ORDER)]))
    assert batch.value_schema == ORDER
    assert isinstance(batch.fields, Fields)
    assert batch.value == [{"id": 1, "note": None}, {"id": 2, "note": None}]
    assert (batch.topic, batch.key, batch.headers, batch.partition) == ("orders", None, (), None)


def test_a_nested_struct_is_missing_where_the_message_says_so() -> None:
    envelope = struct({"before": ORDER.as_optional(), "op": STRING})
    before = [STRUCT, [False, True, False], [[LIST, [7]], [LIST, ["x"]]]]
    columns = [STRUCT, None, [before, [LIST, ["c", "u", "c"]]]]
    batch = RecordReader().batch(message(3, value=[[0, None, columns]], schemas=[encoded(envelope)]))
    assert batch.value == [
        {"before": None, "op": "c"},
        {"before": {"id": 7, "note": "x"}, "op": "u"},
        {"before": None, "op": "c"},
    ]


def test_records_of_several_schemas_keep_their_order() -> None:
    other = struct({"name": STRING})
    groups = [
        [0, [0, 2], [STRUCT, None, [[LIST, [1, 3]], [CONSTANT, "n"]]]],
        [1, [1], [STRUCT, None, [[CONSTANT, "between"]]]],
        [None, [3], [CONSTANT, None]],
    ]
    topics = [LIST, ["orders", "others", "orders", "orders"]]
    batch = RecordReader().batch(message(4, value=groups, topic=topics, schemas=[encoded(ORDER), encoded(other)]))
    assert batch.value == [{"id": 1, "note": "n"}, {"name": "between"}, {"id": 3, "note": "n"}, None]
    assert batch.value_schema == [ORDER, other, ORDER, None]
    assert batch.topic == ["orders", "others", "orders", "orders"]


def test_logical_types_are_read_from_the_texts_and_numbers_of_their_columns() -> None:
    schema = struct({"amount": decimal(2, optional=True), "at": TIMESTAMP})
    columns = [STRUCT, None, [[LIST, ["1234E-2", None]], [CONSTANT, 1_700_000_000_000]]]
    batch = RecordReader().batch(message(2, value=[[0, None, columns]], schemas=[encoded(schema)]))
    first, second = batch.value or []
    assert (first["amount"], second["amount"]) == (Decimal("12.34"), None)
    assert type(first["at"]) is Instant


def test_a_schema_is_known_from_the_message_that_sent_it_on_until_numbers_begin_again() -> None:
    reader = RecordReader()
    reader.batch(message(1, value=[[0, None, [LIST, ["a"]]]], schemas=[encoded(STRING)]))
    assert reader.batch(message(1, value=[[0, None, [LIST, ["b"]]]])).value_schema is not None
    again = reader.batch(message(1, value=[[0, None, [LIST, [1]]]], schemas=[encoded(INT64)], reset=True))
    assert again.value_schema == INT64


def test_equal_schemas_within_a_schema_are_one_object_because_work_is_kept_by_schema() -> None:
    envelope = struct({"before": ORDER.as_optional(), "after": ORDER.as_optional()})
    batch = RecordReader().batch(
        message(1, value=[[0, None, [STRUCT, None, [[CONSTANT, None], [CONSTANT, None]]]]], schemas=[encoded(envelope)])
    )
    before, after = batch.value_schema.fields  # type: ignore[union-attr]
    assert before.schema is after.schema


def test_keys_are_rows() -> None:
    key = [[0, None, [STRUCT, None, [[LIST, [1, 2]], [CONSTANT, None]]]]]
    batch = RecordReader().batch(message(2, value=[[None, None, [CONSTANT, None]]], key=key, schemas=[encoded(ORDER)]))
    assert batch.key == [{"id": 1, "note": None}, {"id": 2, "note": None}]
    assert batch.value is None


def test_headers_that_all_records_share_are_one_tuple() -> None:
    reader = RecordReader()
    shared = reader.batch(
        message(2, value=[[None, None, [LIST, [1, 2]]]], headers=[CONSTANT, [["a", 0, "x"]]], schemas=[encoded(STRING)])
    )
    assert shared.headers == [(Header("a", "x", STRING),)] * 2
    each = reader.batch(message(2, value=[[None, None, [LIST, [1, 2]]]], headers=[LIST, [[["b", None, 1]], []]]))
    assert each.headers == [(Header("b", 1, None),), ()]
