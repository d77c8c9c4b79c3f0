"""JsonConverter: messages under one schema are read by columns, and so as each by itself."""

import json
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.words import words

from penstock import Fields
from penstock_plugins.converters.json.converter import JsonConverter

from ..outcomes import outcome

_TIMESTAMP = {"type": "int64", "name": "org.apache.kafka.connect.data.Timestamp"}
_SCHEMAS: list[dict[str, Any]] = [
    {"type": "string"},
    {"type": "string", "optional": True},
    {"type": "string", "optional": True, "default": "d"},
    {"type": "int8"},
    {"type": "int32", "optional": True},
    {"type": "int64"},
    {"type": "float"},
    {"type": "double"},
    {"type": "boolean"},
    {"type": "bytes"},
    _TIMESTAMP,
    {**_TIMESTAMP, "optional": True},
    {**_TIMESTAMP, "type": "int32"},
    {"type": "int32", "name": "org.apache.kafka.connect.data.Date"},
    {"type": "int32", "name": "mine"},
    {"type": "int32", "name": "org.apache.kafka.connect.data.Time", "optional": True, "default": 5},
    {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}},
    {"type": "int64", "optional": True, "default": 7},
    {"type": "struct", "fields": [{"field": "x", "type": "int64"}]},
    {"type": "struct", "fields": [{**_TIMESTAMP, "field": "x"}]},
    {"type": "struct", "optional": True, "fields": [{"field": "x", "type": "double"}]},
    {"type": "array", "items": {"type": "double"}},
]
_NUMBERS = words("1 -1 127 128 1760000000000 2147483648 9223372036854775808 1.5 0.0 -0.0 -0 1e-400 0e0")
_OTHERS = words("""null true "a" "-0" "é" "YQ==" [] {"x":1} {"x":-0} [-0.0] {"x":2.5} {"x":{"x":1}}""")
_LONG = ["0." + "1" * 900, "0." + "1" * 1001, '"' + "x" * 1001 + '"']
_CELLS = st.sampled_from([*_NUMBERS, *_OTHERS, *_LONG])
_TAILS = st.sampled_from(["}", "}", "}", "}", "} ", "]", "", '},"payload":{"a":1,"b":2}}', "}}"])
_HEADS = st.sampled_from(
    ['{"schema":%s,"payload":'] * 4 + ['{ "schema":%s,"payload":', '{"payload":1,"schema":%s,"payload":']
)


def _enveloped() -> JsonConverter:
    made = JsonConverter()
    made.configure(JsonConverter.Config.parse({}), is_key=False)
    return made


def _bare() -> JsonConverter:
    made = JsonConverter()
    made.configure(JsonConverter.Config.parse({"schemas.enable": "false"}), is_key=False)
    return made


def _schema(**fields: dict[str, Any]) -> str:
    listed = [{**schema, "field": name} for name, schema in fields.items()]
    return json.dumps({"type": "struct", "fields": listed}, separators=(",", ":"))


@settings(max_examples=600, deadline=None)
@given(st.data())
def test_a_run_of_messages_is_read_as_each_of_them(data: st.DataObject) -> None:
    schema = _schema(a=data.draw(st.sampled_from(_SCHEMAS)), b=data.draw(st.sampled_from(_SCHEMAS)))
    other = _schema(a=data.draw(st.sampled_from(_SCHEMAS)), b=data.draw(st.sampled_from(_SCHEMAS)))
    schemas = st.sampled_from([schema, other]) if data.draw(st.integers(0, 3)) == 3 else st.just(schema)
    likely = data.draw(st.lists(_CELLS, min_size=1, max_size=2))  # or few batches would be by columns
    cell = st.sampled_from(likely) if data.draw(st.booleans()) else _CELLS
    row = st.builds(lambda a, b: f'{{"a":{a},"b":{b}}}', cell, cell) | st.sampled_from(
        ["null", '{"a":1}', '{"b":1,"a":1}']
    )
    head, tail = (
        part if data.draw(st.booleans()) else st.just(plain)
        for part, plain in ((_HEADS, '{"schema":%s,"payload":'), (_TAILS, "}"))
    )
    one = st.builds(lambda h, s, r, t: (h % s + r + t).encode(), head, schemas, row, tail)
    batch = data.draw(st.lists(one, min_size=1, max_size=4))
    plugin = _enveloped()
    if data.draw(st.booleans()):
        plugin, batch = _bare(), data.draw(st.lists(row.map(str.encode), min_size=1, max_size=4))
    fast = outcome(partial(plugin.to_connect_batch, "t", batch))
    exact = outcome(lambda: [plugin.to_connect("t", m) for m in batch])
    if isinstance(fast, tuple) and isinstance(exact, list):
        schemas, values = fast
        each = schemas if isinstance(schemas, list) else [schemas] * len(values)
        fast = list(zip(each, values, strict=True))
    assert repr(fast) == repr(exact)


@pytest.mark.parametrize("name", ["customer-0", "7e100"])
def test_flat_structs_of_one_schema_are_held_as_columns_whatever_their_texts_look_like(name: str) -> None:
    schema = _schema(id={"type": "int64"}, name={"type": "string", "optional": True}, at=_TIMESTAMP)
    batch = [f'{{"schema":{schema},"payload":{{"id":{i},"name":"{name}","at":0}}}}'.encode() for i in range(3)]
    _, values = _enveloped().to_connect_batch("t", batch)
    assert isinstance(values, Fields)
    assert values.columns["id"] == [0, 1, 2]


@pytest.mark.parametrize("enveloped", [True, False])
def test_long_messages_and_structs_inside_are_held_as_columns_as_well(enveloped: bool) -> None:
    schema = _schema(text={"type": "string"}, inside={"type": "struct", "fields": [{**_TIMESTAMP, "field": "at"}]})
    payload = f'{{"text":"{"a1" * 2000}","inside":{{"at":5}}}}'
    batch = [(f'{{"schema":{schema},"payload":{payload}}}' if enveloped else payload).encode()] * 2
    plugin = _enveloped() if enveloped else _bare()
    found, values = plugin.to_connect_batch("t", batch)
    assert isinstance(values, Fields)
    assert repr((found, values[1])) == repr(plugin.to_connect("t", batch[1]))


@pytest.mark.parametrize("depth", [998, 999, 1000, 1001])
def test_a_run_of_deep_messages_is_read_as_each_of_them(depth: int) -> None:
    schema = '{"type":"array","items":{"type":"array","items":{"type":"int64"}}}'
    batch = [f'{{"schema":{schema},"payload":{"[" * depth}{"]" * depth}}}'.encode()] * 2
    plugin = _enveloped()
    each = outcome(lambda: [plugin.to_connect("t", m)[1] for m in batch])
    assert repr(outcome(lambda: plugin.to_connect_batch("t", batch)[1])) == repr(each)


@pytest.mark.parametrize("depth", [998, 999, 1000, 1001])
def test_what_a_later_field_hides_is_looked_at_as_well(depth: int) -> None:
    schema = _schema(a={"type": "array", "items": {"type": "int64"}})
    hidden = f'{{"a":{"[" * depth}{"]" * depth},"a":[1]}}'
    batch = [f'{{"schema":{schema},"payload":{hidden}}}'.encode()] * 2
    plugin = _enveloped()
    each = outcome(lambda: [plugin.to_connect("t", m)[1] for m in batch])
    assert repr(outcome(lambda: [*plugin.to_connect_batch("t", batch)[1]])) == repr(each)


@pytest.mark.parametrize("enveloped", [True, False])
def test_nulls_among_messages_are_nulls_without_a_schema(enveloped: bool) -> None:
    plugin = _enveloped() if enveloped else _bare()
    there = [
        f'{{"schema":{_schema(a={"type": t})},"payload":{{"a":1}}}}' if enveloped else '{"a":1}'
        for t in ("int8", "int32")
    ]
    batch = [None, there[0].encode(), None, there[1].encode(), there[0].encode(), None]
    schemas, values = plugin.to_connect_batch("t", batch)
    each = schemas if isinstance(schemas, list) else [schemas] * len(batch)
    assert repr(list(zip(each, values, strict=True))) == repr([plugin.to_connect("t", m) for m in batch])
    assert plugin.to_connect_batch("t", [None, None]) == (None, [None, None])
