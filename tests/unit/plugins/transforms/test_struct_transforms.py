"""Transforms that take structs and maps apart: the rules that the conformance cases leave open, and that the forms agree."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import (
    ConfigError,
    ConnectError,
    DataError,
    Fields,
    Instant,
    Int8,
    Record,
    RecordBatch,
    Same,
    Schema,
    SchemaBuilderError,
    Transform,
    Type,
)
from penstock.schema import BYTES, INT32, INT64, OPTIONAL_STRING, STRING, TIMESTAMP, array_of, map_of, struct
from penstock.testing import TransformSuite
from penstock_java_compat.hash_map import in_hash_order
from penstock_plugins.structs.schema_cache import SchemaCache
from penstock_plugins.transforms.cast import Cast
from penstock_plugins.transforms.extract_field import ExtractField
from penstock_plugins.transforms.flatten import Flatten
from penstock_plugins.transforms.header_from import HeaderFrom
from penstock_plugins.transforms.hoist_field import HoistField
from penstock_plugins.transforms.insert_field import InsertField
from penstock_plugins.transforms.mask_field import MaskField
from penstock_plugins.transforms.replace_field import ReplaceField
from penstock_plugins.transforms.set_schema_metadata import SetSchemaMetadata
from penstock_plugins.transforms.timestamp_converter import TimestampConverter
from penstock_plugins.transforms.value_to_key import ValueToKey

from ..outcomes import configured, outcome

SEVEN = Schema(Type.INT32, default=7)
MAYBE_SEVEN = replace(SEVEN, optional=True)
POINT = struct({"x": OPTIONAL_STRING, "n": MAYBE_SEVEN}, name="Point")
ROW = struct({"a": STRING, "n": MAYBE_SEVEN, "p": POINT.as_optional(), "t.s": TIMESTAMP.as_optional()}, name="Row")

RECORDS = [
    Record(topic="t", value={"a": "1", "n": 1, "p": {"x": "i", "n": 2}, "t.s": Instant(5)}, value_schema=ROW, key="k"),
    Record(topic="t", value={"a": "2", "n": None, "p": {"x": None, "n": None}, "t.s": None}, value_schema=ROW),
    Record(topic="t", value={"a": "3", "n": 3, "p": None, "t.s": None}, value_schema=ROW, offset=7, partition=1),
    Record(topic="t", value={"a": None, "n": 3, "p": None, "t.s": None}, value_schema=ROW),
    Record(topic="t", value=None, value_schema=ROW.as_optional()),
    Record(topic="t", value={"a": "1", "p": {"x": True, "y": {"z": [1]}}}, key={"a": "k", "p": None}),
    Record(topic="t", value={"a": "2", "p": {"x": 1.5, "y": {"z": None}}}, key={"a": 1, "n": {"x": {}}}),
    Record(topic="t", value={"a": None, "p": "no map"}, key={"a": "k", "p": {"x": 1}}),
    Record(topic="t", value={"a": 1, 2: "two"}),
    Record(topic="t", value={}),
    Record(topic="t", value={"a": Decimal(1)}),
    Record(topic="t", value="text", key={"x": "k", "n": 1}, key_schema=POINT),
    Record(topic="t", value="text", value_schema=STRING, key={"x": None, "n": None}, key_schema=POINT),
    Record(topic="t", value={"a": "b"}, value_schema=map_of(STRING, STRING)),
    Record(topic="t", value={"m": {}}, value_schema=struct({"m": map_of(STRING, STRING)})),
    Record(topic="t", value=None),
]


class TestExtractFieldSuite(TransformSuite):
    plugin = ExtractField
    fails_by = (ConnectError, TypeError, ValueError)
    properties = {"field": "n"}  # noqa: RUF012
    records = RECORDS


class TestExtractFieldOfKeysSuite(TestExtractFieldSuite):
    side = "key"


class TestExtractInnerFieldSuite(TransformSuite):
    plugin = ExtractField
    fails_by = (ConnectError, TypeError, ValueError)
    properties = {"field": "p.x", "field.syntax.version": "v2", "replace.null.with.default": "false"}  # noqa: RUF012
    records = RECORDS


class TestFlattenSuite(TransformSuite):
    plugin = Flatten
    fails_by = (ConnectError, TypeError)
    properties = {"delimiter": "_"}  # noqa: RUF012
    records = RECORDS


class TestFlattenOfKeysSuite(TestFlattenSuite):
    side = "key"


class TestReplaceFieldSuite(TransformSuite):
    plugin = ReplaceField
    fails_by = (ConnectError, TypeError)
    properties = {"exclude": "n", "renames": "a:b,p:a"}  # noqa: RUF012
    records = RECORDS


class TestReplaceFieldOfKeysSuite(TestReplaceFieldSuite):
    side = "key"


class TestReplaceFieldByWrongNamesSuite(TransformSuite):
    plugin = ReplaceField
    fails_by = (ConnectError, TypeError)
    properties = {"include": "n", "renames": "a:n"}  # noqa: RUF012
    records = RECORDS


class TestSetSchemaMetadataSuite(TransformSuite):
    plugin = SetSchemaMetadata
    properties = {"schema.name": "new", "schema.version": "3"}  # noqa: RUF012
    records = RECORDS


class TestSetSchemaMetadataOfKeysSuite(TestSetSchemaMetadataSuite):
    side = "key"


class TestValueToKeySuite(TransformSuite):
    plugin = ValueToKey
    properties = {"fields": "n,a"}  # noqa: RUF012
    records = RECORDS


class TestValueToSingleKeySuite(TransformSuite):
    plugin = ValueToKey
    properties = {"fields": "p", "replace.null.with.default": "false"}  # noqa: RUF012
    records = RECORDS


def of(value: Any, schema: Schema | None = None) -> Record:
    return Record(topic="t", value=value, value_schema=schema)


def made(plugin: Transform, record: Record) -> tuple[Any, Any]:
    """What is seen of the record afterwards."""
    result = plugin.apply(record)
    assert result is not None
    return result.value_schema, result.value


def columns(schema: Schema | None = None, **named: Any) -> RecordBatch:
    fields = Fields(named, 2)
    return RecordBatch(length=2, topic="t", value=fields, value_schema=schema)


words = st.sampled_from(["", "x", "yy"])
points = st.fixed_dictionaries({"x": st.none() | words, "n": st.none() | st.integers(-5, 5)})
rows = st.fixed_dictionaries(
    {"a": words | st.none(), "n": st.none() | st.integers(-5, 5), "p": st.none() | points, "t.s": st.none()}
)
maps = st.recursive(
    st.none() | words | st.integers(-5, 5) | st.just(Int8(1)) | st.lists(words, max_size=1) | st.just(Instant(5)),
    lambda inner: st.dictionaries(st.sampled_from(["a", "n", "p", "a.n"]), inner, max_size=3),
    max_leaves=6,
)
sides = st.sampled_from(
    [
        (ROW, rows),
        (ROW, rows),
        (ROW, st.none() | rows),
        (POINT, points),
        (None, maps),
        (None, maps),
        (STRING, words),
        (map_of(STRING, STRING), st.dictionaries(words, words)),
        (None, st.none()),
    ]
)
transforms = st.sampled_from(
    [
        (ExtractField, {"field": "n"}),
        (ExtractField, {"field": "p.n", "field.syntax.version": "V2"}),
        (Flatten, {}),
        (Flatten, {"delimiter": ""}),
        (ReplaceField, {"exclude": "a"}),
        (ReplaceField, {"include": "a,p", "renames": "p:n,a:p"}),
        (ReplaceField, {"renames": "a:b"}),
        (SetSchemaMetadata, {"schema.version": "9"}),
        (ValueToKey, {"fields": "n"}),
        (ValueToKey, {"fields": "p,n"}),
        (InsertField, {"topic.field": "n"}),
        (InsertField, {"topic.field": "t!"}),
    ]
)


@settings(max_examples=400, deadline=None)
@given(transforms, st.data(), st.booleans(), st.booleans(), st.sampled_from(["key", "value"]))
def test_a_batch_becomes_what_its_records_become(
    which: tuple[type[Transform], Mapping[str, str]], data: st.DataObject, fill: bool, same: bool, side: str
) -> None:
    cls, texts = which
    plugin = cls()
    plugin.side = side
    plugin.configure(plugin.Config.parse({"replace.null.with.default": str(fill), **texts}))
    schema, values = data.draw(sides)
    drawn = data.draw(st.lists(values, min_size=1, max_size=3))
    records = [
        Record(topic="t", key=v, key_schema=schema, value=v, value_schema=schema)
        for v in (drawn[:1] * len(drawn) if same else drawn)
    ]
    batch = RecordBatch.of(records)
    fields = Fields.of(batch.value or [])
    singly = outcome(lambda: [plugin.apply(r) for r in records])
    assert outcome(lambda: list(plugin.apply_batch(batch).records())) == singly
    if fields is not None:
        assert outcome(lambda: list(plugin.apply_batch(batch.replace(value=fields)).records())) == singly
        if same:
            constant = Fields({n: Same(c[0]) for n, c in fields.columns.items() if isinstance(c, list)}, len(fields))
            assert outcome(lambda: list(plugin.apply_batch(batch.replace(value=constant)).records())) == singly


# ExtractField


@pytest.mark.parametrize(("fill", "value"), [("true", 7), ("false", None)])
def test_a_null_is_extracted_as_the_default_where_that_is_wanted(fill: str, value: int | None) -> None:
    plugin = configured(ExtractField(), field="n", replace_null_with_default=fill)
    assert made(plugin, of({"x": None, "n": None}, POINT)) == (MAYBE_SEVEN, value)
    batch = plugin.apply_batch(columns(POINT, x=Same(None), n=[None, 3]))
    assert batch.value == [value, 3]


def test_a_field_that_a_struct_does_not_have_is_reported_with_those_that_it_has() -> None:
    plugin = configured(ExtractField(), field="y")
    with pytest.raises(ValueError, match=r"^Unknown field: y; the struct has x, n$"):
        plugin.apply(of({"x": None, "n": None}, POINT))
    wide = struct({f"f{n}": STRING for n in range(12)})
    key = configured(ValueToKey(), fields="y")
    with pytest.raises(DataError, match=r"^Field does not exist: y; the struct has f0, f1, .*, f9 and 2 more$"):
        key.apply(of(dict.fromkeys((f"f{n}" for n in range(12)), "a"), wide))


def test_an_empty_path_fails_on_records_and_not_before() -> None:
    plugin = configured(ExtractField(), field="", field_syntax_version="V2")
    for record in (of({"a": 1}), of({"x": None, "n": None}, POINT), of(None, STRING)):
        with pytest.raises(ValueError, match="Unknown field"):
            plugin.apply(record)
    assert made(plugin, of(None)) == (None, None)


def test_the_message_about_a_path_names_its_property() -> None:
    with pytest.raises(ConfigError) as e:
        ExtractField.Config.parse({"field": "`a", "field.syntax.version": "V2"}, "transforms.x.")
    assert [p.property for p in e.value.problems] == ["transforms.x.field"]


def test_an_extracted_column_is_handed_on_as_it_is() -> None:
    column = ["i", "ii"]
    batch = configured(ExtractField(), field="a").apply_batch(columns(a=column, b=Same(1)).replace(owned=True))
    assert batch.value is column
    assert not batch.owned, "containers inside a record belong to nobody"


# Flatten


@pytest.mark.parametrize(("swapped", "error"), [(False, SchemaBuilderError), (True, DataError)])
def test_what_cannot_be_flattened_is_reported_in_the_order_of_the_fields(swapped: bool, error: type[DataError]) -> None:
    fields = {"p": POINT, "p.x": STRING, "m": map_of(STRING, STRING)}
    schema = struct(dict(reversed(fields.items())) if swapped else fields)
    with pytest.raises(DataError) as e:
        configured(Flatten()).apply(of(dict.fromkeys(f.name for f in schema.fields), schema))
    assert type(e.value) is error


def test_columns_of_inner_structs_become_columns() -> None:
    batch = configured(Flatten()).apply_batch(columns(a=[1, 2], p=[{"x": 1, "q": {"y": 2}}, {"x": 3, "q": {"y": 4}}]))
    assert batch.fields is not None
    assert batch.fields.columns == {"a": [1, 2], "p.x": [1, 3], "p.q.y": [2, 4]}


def test_the_null_key_of_a_map_is_the_text_null_inside_and_null_outside() -> None:
    plugin = configured(Flatten())
    assert made(plugin, of({"a": {None: 1}, None: 2})) == (None, {"a.null": 1, None: 2})
    with pytest.raises(TypeError):
        plugin.apply(of({None: {"a": 1}}))


# ReplaceField


@pytest.mark.parametrize("text", ["a", "a:", "a:b:c", ":", "", "x:y,"])
def test_a_rename_is_a_pair(text: str) -> None:
    if text:
        with pytest.raises(ConfigError, match="Invalid rename mapping"):
            ReplaceField.Config.parse({"renames": text})
    else:
        assert ReplaceField.Config.parse({"renames": text}).renames == ()


@pytest.mark.parametrize("text", ["a:b:", "a:b::"])
def test_colons_behind_a_rename_do_not_count(text: str) -> None:
    assert made(configured(ReplaceField(), renames=text), of({"a": 1})) == (None, {"b": 1})


@pytest.mark.parametrize("name", ["exclude", "include"])
@pytest.mark.parametrize("text", ["a,a", "a,", ",a", "a,,b"])
def test_lists_of_names_have_each_once_and_no_empty_one(name: str, text: str) -> None:
    with pytest.raises(ConfigError, match="must not be"):
        ReplaceField.Config.parse({name: text})


def test_a_field_with_the_new_name_of_an_excluded_one_gets_its_value() -> None:
    schema = struct({"a": STRING, "b": STRING})
    plugin = configured(ReplaceField(), renames="a:b", exclude="a")
    assert made(plugin, of({"a": "of a", "b": "of b"}, schema)) == (struct({"b": STRING}), {"b": "of a"})
    batch = plugin.apply_batch(columns(schema, a=["of a", "also"], b=Same("of b")))
    assert batch.value == [{"b": "of a"}, {"b": "also"}]


@pytest.mark.parametrize(
    ("given_schema", "value", "wanted"),
    [
        (INT32, 1, INT64),
        (STRING, "x", BYTES),
        (INT64, 1, TIMESTAMP),
        (array_of(INT32), [1], array_of(INT64)),
        (map_of(STRING, INT32), {"k": 1}, map_of(STRING, INT64)),
        (struct({"x": INT32}), {"x": 1}, struct({"x": INT32}, name="other")),
        (INT32.as_optional(), None, INT32),
        (MAYBE_SEVEN, None, INT64),
    ],
)
def test_such_a_value_must_be_of_the_class_that_the_field_takes(
    given_schema: Schema, value: object, wanted: Schema
) -> None:
    plugin = configured(ReplaceField(), renames="a:b", exclude="a")
    record = of({"a": value, "b": None}, struct({"a": given_schema, "b": wanted}))
    with pytest.raises(DataError):
        plugin.apply(record)


@pytest.mark.parametrize(
    ("given_schema", "value", "wanted"),
    [
        (INT32.as_optional(), 1, INT32),
        (array_of(INT32), [], array_of(INT64)),
        (array_of(INT32), [1], array_of(INT32.as_optional())),
        (map_of(STRING, INT32), {"k": 1}, map_of(STRING, replace(INT32, name="n"))),
        (replace(STRING, name="n"), "x", STRING),
        (MAYBE_SEVEN, None, INT32),
    ],
)
def test_a_value_of_a_like_schema_is_taken(given_schema: Schema, value: object, wanted: Schema) -> None:
    plugin = configured(ReplaceField(), renames="a:b", exclude="a")
    _, new = made(plugin, of({"a": value, "b": None}, struct({"a": given_schema, "b": wanted})))
    assert new == {"b": 7 if value is None else value}


def test_columns_are_renamed_without_a_look_at_the_rows() -> None:
    column = [1, 2]
    batch = configured(ReplaceField(), renames="a:b", exclude="c").apply_batch(columns(a=column, c=Same(1)))
    assert batch.fields is not None
    assert batch.fields.columns["b"] is column
    assert list(batch.fields.columns) == ["b"]


@pytest.mark.parametrize(
    ("put", "found"),
    [
        ("BB,Aa,b,a", "BB,Aa,a,b"),  # the first two have one hash code
        ("k,a,k", "a,k"),
        (
            "zeta,alpha,😀,été,Aa,BB,k1,k2,k3,k4,customer_id,order_id,name,price",
            "zeta,Aa,BB,k1,k2,k3,k4,price,alpha,😀,name,customer_id,été,order_id",
        ),
    ],
)
def test_hash_order_is_that_of_java(put: str, found: str) -> None:
    assert in_hash_order(put.split(",")) == found.split(","), "as a HashMap of Java 17 prints its keys"


# SetSchemaMetadata and ValueToKey


def test_a_renamed_struct_keeps_all_else() -> None:
    schema = replace(POINT, optional=True, default={"x": "d", "n": 1}, doc="doc", parameters={"p": "1"}, version=4)
    plugin = configured(SetSchemaMetadata(), schema_name="New")
    assert made(plugin, of(None, schema)) == (replace(schema, name="New"), None)


def test_columns_without_a_null_to_fill_are_handed_on() -> None:
    batch = columns(POINT, x=["i", None], n=[1, 2])
    new = configured(SetSchemaMetadata(), schema_name="New").apply_batch(batch)
    assert new.fields is batch.fields
    assert new.value_schema == replace(POINT, name="New")


def test_columns_with_a_null_to_fill_are_filled() -> None:
    batch = columns(POINT, x=["i", None], n=[1, None])
    new = configured(SetSchemaMetadata(), schema_name="New").apply_batch(batch)
    assert new.value == [{"x": "i", "n": 1}, {"x": None, "n": 7}]


# Copies


@pytest.mark.parametrize(
    "plugin",
    [
        configured(ReplaceField(), exclude="a"),
        configured(SetSchemaMetadata(), schema_name="n"),
        configured(ValueToKey(), fields="p"),
        configured(InsertField(), topic_field="t"),
        configured(Cast(), spec="n:string"),
        configured(MaskField(), fields="n"),
        configured(HeaderFrom(), fields="n", headers="h", operation="move"),
        configured(TimestampConverter(), field="n", target_type="unix"),
    ],
    ids=lambda p: type(p).__name__,
)
def test_a_null_is_not_filled_with_a_struct(plugin: Transform) -> None:
    inner = replace(POINT, optional=True, default={"x": "d", "n": 1})
    record = of({"p": None, "n": 1}, struct({"p": inner, "n": INT64}))
    with pytest.raises(DataError, match="Struct schemas do not match"):
        plugin.apply(record)
    with pytest.raises(DataError, match="Struct schemas do not match"):
        plugin.apply_batch(RecordBatch.of([record, record]))


def test_a_header_takes_a_default_that_is_a_struct() -> None:
    default = {"x": "d", "n": 1}
    record = of({"p": None}, struct({"p": replace(POINT, optional=True, default=default)}))
    plugin = configured(HeaderFrom(), fields="p", headers="h", operation="move")
    for found in (plugin.apply(record), plugin.apply_batch(RecordBatch.of([record])).record(0)):
        assert found is not None
        assert found.headers[0].value == default


@pytest.mark.parametrize("fill", [True, False])
def test_a_null_in_a_required_field_is_refused_unless_a_default_fills_it(fill: bool) -> None:
    plugin = configured(SetSchemaMetadata(), schema_name="n", replace_null_with_default=str(fill))
    for schema, value in ((struct({"n": SEVEN}), {"n": 7}), (struct({"n": INT32}), None)):
        result = outcome(lambda schema=schema: plugin.apply(of({"n": None}, schema)).value)  # type: ignore[misc]
        assert result == (value if fill and value else DataError)


def test_a_struct_gets_no_field_without_a_name() -> None:
    plugin = configured(InsertField(), topic_field="!")
    assert made(plugin, of({"x": 1})) == (None, {"x": 1, "": "t"})
    with pytest.raises(SchemaBuilderError):
        plugin.apply(of({"x": None, "n": 1}, POINT))
    with pytest.raises(SchemaBuilderError):
        struct({"": STRING})


def test_only_a_map_is_hoisted_under_an_empty_name() -> None:
    plugin = configured(HoistField(), field="")
    assert made(plugin, of(1)) == (None, {"": 1})
    with pytest.raises(SchemaBuilderError):
        plugin.apply(of(1, INT64))
    with pytest.raises(SchemaBuilderError):
        plugin.apply_batch(RecordBatch.of([of(1, INT64)]))


def test_of_two_entries_with_one_flat_name_the_last_counts() -> None:
    plugin = configured(Flatten())
    for value, last in (({"n": {"x": 1}, "n.x": 2}, 2), ({"n.x": 2, "n": {"x": 1}}, 1)):
        assert made(plugin, of(value)) == (None, {"n.x": last})
        assert plugin.apply_batch(RecordBatch.of([of(value)] * 2)).value == [{"n.x": last}] * 2
        assert made(plugin, of({"m": value})) == (None, {"m.n.x": last})


def test_a_null_that_a_transform_added_has_the_order_of_a_hash_map_and_hides_no_value_from_flatten() -> None:
    cast, flatten = configured(Cast(), spec="n.x:string"), configured(Flatten())
    value = {"n": {"x": 1}, "n.x": None}
    added = made(cast, of({"n": {"x": 1}}))[1]
    assert list(added) == ["n.x", "n"]
    for batch in (RecordBatch.of([of({"n": {"x": 1}})] * 2), RecordBatch.of([of({"n": {"x": 1}}), of(value)])):
        assert next(map(list, cast.apply_batch(batch).value or ())) == ["n.x", "n"]
    assert made(flatten, of(added)) == (None, {"n.x": 1})


def test_a_schema_is_worked_on_once_and_what_fails_each_time() -> None:
    calls = []

    def work(schema: Schema) -> str:
        calls.append(schema)
        if schema is STRING:
            raise DataError("no")
        return str(schema.type)

    cache = SchemaCache(work)
    assert [cache[INT32], cache[INT64], cache[Schema(Type.INT32)]] == ["int32", "int64", "int32"]
    for _ in range(2):
        with pytest.raises(DataError):
            cache[STRING]
    assert calls == [INT32, INT64, STRING, STRING]


@pytest.mark.parametrize(("old", "new"), [("whitelist", "include"), ("blacklist", "exclude")])
def test_replace_field_refuses_a_name_that_would_let_all_fields_through(old: str, new: str) -> None:
    with pytest.raises(ConfigError, match=rf"transforms\.a\.{old}: .* write transforms\.a\.{new} instead"):
        ReplaceField.Config.parse({old: "id,email"}, "transforms.a.")
