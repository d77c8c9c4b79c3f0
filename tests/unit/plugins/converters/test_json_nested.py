"""JsonConverter: nested values are written column by column, as each row by itself would be."""

from collections import OrderedDict
from collections.abc import Sequence
from decimal import Decimal
from functools import partial
from types import MappingProxyType
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import DataError, Fields, Float32, Instant, Int32, Record, RecordBatch, Same, Schema, Type
from penstock.schema import (
    BOOLEAN,
    BYTES,
    DATE,
    FLOAT32,
    FLOAT64,
    INT8,
    INT32,
    INT64,
    STRING,
    TIME,
    TIMESTAMP,
    Field,
    array_of,
    decimal,
    map_of,
    struct,
)
from penstock_plugins.converters.json.converter import JsonConverter
from penstock_plugins.converters.json.writer import JsonWriter
from penstock_runtime.pipeline.converters import Converters, convert_outgoing
from penstock_runtime.pipeline.error_tolerance import ErrorPolicy, RetryWithToleranceOperator, describe

from ..outcomes import outcome
from .debezium import EXTENDED, ORDERS, envelope, events

_DAY = 86_400_000
_WRONG = st.sampled_from(
    [Int32(2), Float32(1.1), Instant(5), Decimal("1.5"), b"\xff", None, 2**70, [], {}, {"a": 1}, [None], "a", 1, True]
)
_LEAVES: list[tuple[Schema, list[Any]]] = [
    (STRING, ["", "é", "😀", "\x1f", '"', "\ud800", "\\u001f"]),
    (BOOLEAN, [True, False]),
    (BYTES, [b"", b"\xfb\xff"]),
    (INT8, [0, -128, 127]),
    (INT32, [0, 2**31 - 1, Int32(7)]),
    (INT64, [0, -(2**63), 2**63 - 1]),
    (FLOAT32, [0.5, 0.1, float("nan")]),
    (FLOAT64, [0.5, -0.0, 2e23, float("inf")]),
    (TIMESTAMP, [Instant(0), Instant(-1)]),
    (DATE, [Instant(0), Instant(_DAY)]),
    (TIME, [Instant(0), Instant(_DAY - 1)]),
    (decimal(2), [Decimal("1.50"), Decimal("-0.01")]),
]


def _converter(**texts: str) -> JsonConverter:
    made = JsonConverter()
    made.configure(JsonConverter.Config.parse({n.replace("_", "."): t for n, t in texts.items()}), is_key=False)
    return made


_PLUGINS = {
    "bare": _converter(schemas_enable="false"),
    "enveloped": _converter(),
    "keeping nulls": _converter(schemas_enable="false", replace_null_with_default="false"),
    "numeric": _converter(schemas_enable="false", decimal_format="NUMERIC"),
}


def _each(plugin: JsonConverter, schema: Schema, rows: Sequence[Any]) -> list[bytes | None]:
    return [plugin.from_connect("t", schema, row) for row in rows]


def _changed(schema: Schema, **attributes: Any) -> Schema:
    return Schema(**{name: getattr(schema, name) for name in Schema.__dataclass_fields__} | attributes)


@st.composite
def _schemas_with_values(draw: st.DrawFn, depth: int = 3) -> tuple[Schema, st.SearchStrategy[Any]]:
    """A schema, and values that fit it, or nearly."""
    kind = draw(st.sampled_from(["leaf", "leaf", "struct", "struct", "array", "map"] if depth else ["leaf"]))
    if kind == "leaf":
        schema, cells = draw(st.sampled_from(_LEAVES))
        values: st.SearchStrategy[Any] = st.sampled_from(cells)
        if draw(st.booleans()):
            schema = _changed(schema, default=draw(values))
    elif kind == "struct":
        schema, values = draw(_structs_with_values(depth))
    elif kind == "array":
        items, inner = draw(_schemas_with_values(depth - 1))
        schema, values = array_of(items), st.lists(inner, max_size=3)
    else:
        items, inner = draw(_schemas_with_values(depth - 1))
        names = draw(st.sampled_from([STRING, STRING.as_optional(), _changed(STRING, name=DATE.name), INT32]))
        keys = st.sampled_from([1, Int32(1)] if names is INT32 else ["k", "é", "\x01", "null", None])
        schema, values = map_of(names, items), st.dictionaries(keys, inner, max_size=3)
    if draw(st.booleans()):
        schema = schema.as_optional()
    if schema.optional or schema.default is not None:
        values = st.none() | values
    return schema, values


@st.composite
def _structs_with_values(draw: st.DrawFn, depth: int = 3) -> tuple[Schema, st.SearchStrategy[Any]]:
    names = draw(st.lists(st.sampled_from(["a", "b", "b.c", "é", 'q"']), unique=True, max_size=4))
    parts = {name: draw(_schemas_with_values(depth - 1)) for name in names}
    if len(names) > 1 and draw(st.booleans()):
        parts[names[1]] = parts[names[0]]  # as before and after of a change event
    schema = Schema(Type.STRUCT, fields=tuple(Field(name, part) for name, (part, _) in parts.items()))
    if draw(st.integers(0, 19)) == 0:
        schema = _changed(schema, default={})
    whole = st.fixed_dictionaries({name: cells for name, (_, cells) in parts.items()})
    if draw(st.integers(0, 3)):
        return schema, whole
    some = st.fixed_dictionaries({}, optional={name: cells for name, (_, cells) in reversed(parts.items())})
    return schema, whole | some | whole.map(lambda row: {**row, "z": 1})


def _forms(rows: list[Any]) -> list[Any]:
    """The rows as a list, and as columns, once with all that is the same in every row held once."""
    fields = Fields.of(rows)
    if fields is None:
        return [rows]
    columns = {
        name: Same(column[0]) if all(cell is column[0] for cell in column) else column
        for name, column in fields.columns.items()
    }
    return [rows, Fields(fields.columns, len(rows)), Fields(columns, len(rows))]


@settings(max_examples=500, deadline=None)
@given(st.data())
def test_nested_rows_are_written_as_each_of_them(data: st.DataObject) -> None:
    schema, values = data.draw(_structs_with_values())
    batch = data.draw(st.lists(values, min_size=1, max_size=5))
    if data.draw(st.integers(0, 3)) == 0:
        row = data.draw(st.sampled_from(batch))
        row.update({name: data.draw(_WRONG) for name in list(row)[:1]})
    for plugin in _PLUGINS.values():
        each = outcome(partial(_each, plugin, schema, batch))
        for form in _forms(batch):
            whole = outcome(partial(plugin.from_connect_batch, "t", schema, form))
            # Any error makes the runtime convert the records one by one, and keep the errors of those.
            assert whole == each if isinstance(each, list) else isinstance(whole, type)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (array_of(STRING), "ab"),
        (array_of(STRING), ("a", "b")),
        (array_of(decimal(2)), {"a": 1}),
        (array_of(STRING), {"a"}),
        (array_of(STRING), [1]),
        (BYTES, bytearray(b"a")),
        (BYTES, memoryview(b"a")),
        (_changed(array_of(STRING), name=DATE.name), ["a"]),
        (map_of(STRING, STRING), OrderedDict(a="b")),
        (map_of(STRING, STRING), MappingProxyType({"a": "b"})),
        (map_of(STRING, STRING), {1: "b"}),
        (map_of(STRING, STRING), {None: "b"}),
        (map_of(STRING, decimal(2)), {"a": Decimal("1.234")}),
        (map_of(_changed(STRING, name=DATE.name), STRING), {"a": "b"}),
        (_changed(map_of(STRING, STRING), name=DATE.name), {"a": "b"}),
        (struct({"a": STRING}), OrderedDict(a="b")),
        (struct({"a": STRING}), ["b"]),
        (struct({"a": STRING}), {"b": "b"}),
        (struct({"a": STRING.as_optional()}), {"b": "b"}),
        (struct({"a": STRING}), {}),
        (struct({"a": STRING}, name=DATE.name), {"a": "b"}),
        (struct({"a": struct({"b": INT64})}), {"a": None}),
        (_changed(struct({"a": STRING}, optional=True), default={}), None),
    ],
)
def test_what_the_row_writer_refuses_is_refused_in_columns_at_any_depth(schema: Schema, value: Any) -> None:
    plugin = _PLUGINS["bare"]
    cases: list[tuple[Schema, Any]] = [
        (schema, value),
        (array_of(schema), [value]),
        (map_of(STRING, schema), {"k": value}),
        (struct({"x": schema}), {"x": value}),
        (struct({"x": struct({"y": schema}, optional=True)}), {"x": {"y": value}}),
    ]
    for outer, row in cases:
        with pytest.raises(DataError):
            plugin.from_connect("t", outer, row)
        with pytest.raises((DataError, TypeError)):
            plugin.from_connect_batch("t", outer, [row])


@pytest.mark.parametrize("form", ["bare", "enveloped"])
@pytest.mark.parametrize("ops", ["rrrr", "ccud", "rrcudd"], ids=["snapshot", "streaming", "both"])
def test_debezium_envelopes_are_written_without_the_row_writer(
    form: str, ops: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin, schema, batch = _PLUGINS[form], envelope(ORDERS), events(ORDERS, ops)
    each = _each(plugin, schema, batch)
    written: list[Any] = []
    write = JsonWriter.write

    def counted(self: JsonWriter, schema: Schema | None, value: Any) -> str:
        written.append(value)
        return write(self, schema, value)

    monkeypatch.setattr(JsonWriter, "write", counted)
    assert plugin.from_connect_batch("t", schema, batch) == each
    assert set(written) <= {None, "false", 3}  # the transaction of all rows, and defaults: once for each column


def test_only_decimals_of_debezium_envelopes_are_written_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    plugin, schema, batch = _PLUGINS["bare"], envelope(EXTENDED), events(EXTENDED, "ccuudd")
    each = _each(plugin, schema, batch)
    written: list[Schema | None] = []
    write = JsonWriter.write

    def counted(self: JsonWriter, schema: Schema | None, value: Any) -> str:
        written.append(schema)
        return write(self, schema, value)

    monkeypatch.setattr(JsonWriter, "write", counted)
    assert plugin.from_connect_batch("t", schema, batch) == each
    prices = sum(row[side]["price"] is not None for row in batch for side in ("before", "after") if row[side])
    assert written.count(EXTENDED["price"]) == prices
    assert len(written) < prices + 8


def test_a_default_in_the_middle_of_a_struct_is_written_for_its_nulls_only() -> None:
    schema = struct({"at": struct({"n": INT64, "s": Schema(Type.STRING, optional=True, default="d"), "t": STRING})})
    rows = [{"at": {"n": n, "s": text, "t": "t"}} for n, text in enumerate([None, "x", None])]
    assert _PLUGINS["bare"].from_connect_batch("t", schema, rows) == [
        b'{"at":{"n":0,"s":"d","t":"t"}}',
        b'{"at":{"n":1,"s":"x","t":"t"}}',
        b'{"at":{"n":2,"s":"d","t":"t"}}',
    ]
    assert _PLUGINS["keeping nulls"].from_connect_batch("t", schema, rows)[0] == b'{"at":{"n":0,"s":null,"t":"t"}}'


def _outgoing(plugin: JsonConverter, batch: RecordBatch) -> tuple[list[Any], list[tuple[int, str]]]:
    """The bytes of a batch's records, and the errors of those that failed."""
    operator = RetryWithToleranceOperator(ErrorPolicy(tolerate=True))
    converters = Converters(plugin, plugin, cast("Any", None), ("k", "v", "h"))
    out = convert_outgoing(converters, batch, operator)
    return list(out.value or []), [(f.position, describe(f.error)) for f in operator.failures]


def _one_by_one(plugin: JsonConverter, batch: RecordBatch) -> tuple[list[Any], list[tuple[int, str]]]:
    made: list[Any] = []
    errors: list[tuple[int, str]] = []
    for row, record in enumerate(batch.records()):
        data, failed = _outgoing(plugin, RecordBatch.of([record]))
        made += data
        errors += [(row, text) for _, text in failed]
    return made, errors


@pytest.mark.parametrize(
    ("side", "name", "value", "told"),
    [
        ("source", "lsn", "7", "Invalid type for INT64: class java.lang.String"),
        ("source", "table", None, "null value for field that is required"),
        ("after", "price", Decimal("1.234"), "Decimal value has mismatching scale"),
        ("after", "surprise", 1, "surprise is not a valid field name"),
        ("before", "tags", [1], "Invalid type for STRING: class java.lang.Long"),
    ],
)
def test_a_bad_row_among_debezium_envelopes_is_the_only_one_that_fails(
    side: str, name: str, value: Any, told: str
) -> None:
    fields = events(EXTENDED, "ccuudd")
    cast("list[dict[str, Any]]", fields.columns[side])[3][name] = value
    batch = RecordBatch(length=6, topic="t", value=fields, value_schema=envelope(EXTENDED))
    for plugin in (_PLUGINS["bare"], _PLUGINS["enveloped"]):
        made, errors = _outgoing(plugin, batch)
        assert (made, errors) == _one_by_one(plugin, batch)
        assert [row for row, _ in errors] == [3]
        assert told in errors[0][1]


@pytest.mark.parametrize("form", ["bare", "enveloped"])
def test_columns_of_two_schemas_are_written_without_dicts_of_their_rows(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = events(ORDERS, "ccud" * 3).merged(events(EXTENDED, "ccud" * 3), range(24))
    assert both is not None
    schemas: list[Schema | None] = [*[envelope(ORDERS)] * 12, *[envelope(EXTENDED)] * 12]
    batch = RecordBatch(length=24, topic="t", value=both, value_schema=schemas)
    each = _one_by_one(_PLUGINS[form], batch)

    def never(_: Fields) -> list[dict[str, Any]]:
        raise AssertionError("dicts were made")

    monkeypatch.setattr(Fields, "rows", never)
    assert _outgoing(_PLUGINS[form], RecordBatch(length=24, topic="t", value=both, value_schema=schemas)) == each


def test_a_tombstone_after_a_delete_is_no_bytes() -> None:
    schema = envelope(ORDERS)
    records = [Record(topic="t", value=row, value_schema=schema) for row in events(ORDERS, "ccudccudccudccud")]
    made, errors = _outgoing(_PLUGINS["enveloped"], RecordBatch.of([*records, Record(topic="t", value=None)]))
    assert made[-1] is None
    assert made[:-1] == [_PLUGINS["enveloped"].from_connect("t", schema, record.value) for record in records]
    assert not errors
