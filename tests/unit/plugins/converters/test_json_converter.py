"""JsonConverter: the fast forms agree with the exact ones, and the exact ones with Jackson's habits."""

import math
import pickle
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.words import words

from penstock import (
    ConfigError,
    DataError,
    Fields,
    Float32,
    Float64,
    Instant,
    Int8,
    Int32,
    Int64,
    Schema,
    SchemaBuilderError,
    Type,
)
from penstock.schema import (
    BOOLEAN,
    DATE,
    FLOAT32,
    FLOAT64,
    INT8,
    INT32,
    INT64,
    OPTIONAL_STRING,
    STRING,
    TIME,
    TIMESTAMP,
    array_of,
    decimal,
    map_of,
    struct,
)
from penstock_plugins.converters.json import batch_writer
from penstock_plugins.converters.json.converter import JsonConverter
from penstock_plugins.converters.json.writer import JsonWriter

from ..outcomes import outcome


def converter(**texts: str) -> JsonConverter:
    made = JsonConverter()
    made.configure(JsonConverter.Config.parse({n.replace("_", "."): t for n, t in texts.items()}), is_key=False)
    return made


BARE = converter(schemas_enable="false")
ENVELOPED = converter()
KEEPING = converter(schemas_enable="false", replace_null_with_default="false")
FIXED = converter(schema_content='{"type":"struct","fields":[{"field":"a","type":"int32"}]}')

texts = st.text(st.characters(exclude_categories=()), max_size=6) | st.sampled_from(["é", "😀", "\x1f", "\\u001f", '"'])
keys = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)  # halves of pairs are written but not read
integers = st.sampled_from([0, 1, -1, 127, 128, 2**31, 2**63 - 1, -(2**63), 2**63])
floats = st.floats() | st.sampled_from([1e7, 1e-3, 9.9e-4, 2e23, -0.0])
odd_values: st.SearchStrategy[Any] = st.sampled_from(
    [Int8(1), Int32(2), Int64(3), Float32(1.1), Instant(5), Decimal("1.50"), b"\xff", None, 2**70, [], {}, "a", 1, True]
)

LEAVES: list[tuple[Schema, st.SearchStrategy[Any]]] = [
    (STRING, texts),
    (OPTIONAL_STRING, st.none() | texts),
    (Schema(Type.STRING, optional=True, default="d"), st.none() | texts),
    (INT8, st.integers(-128, 127)),
    (INT32, st.integers(-(2**31), 2**31 - 1) | st.builds(Int32, st.integers(0, 9))),
    (INT64, integers),
    (FLOAT64, floats),
    (FLOAT32, st.floats(width=32)),
    (BOOLEAN, st.booleans()),
    (Schema(Type.BYTES, optional=True), st.none() | st.binary(max_size=4)),
    (TIMESTAMP, st.builds(Instant, integers)),
    (DATE, st.builds(Instant, st.sampled_from([0, 86_400_000, 5]))),
    (TIME, st.builds(Instant, st.sampled_from([0, 86_400_000, -1]))),
    (decimal(2), st.sampled_from([Decimal("1.50"), Decimal("1.5")])),
]


@st.composite
def schemas_with_values(draw: st.DrawFn, depth: int = 2) -> tuple[Schema, st.SearchStrategy[Any]]:
    kind = draw(st.sampled_from(["leaf", "leaf", "struct", "struct", "array", "map"] if depth else ["leaf"]))
    if kind == "leaf":
        leaf: tuple[Schema, st.SearchStrategy[Any]] = draw(st.sampled_from(LEAVES))
        return leaf
    if kind == "struct":
        names = draw(st.lists(st.sampled_from(["a", "b.c", "é", 'q"', "😀"]), unique=True, max_size=3))
        parts = {n: draw(schemas_with_values(depth - 1)) for n in names}
        values: st.SearchStrategy[Any] = st.fixed_dictionaries({n: v for n, (_, v) in parts.items()})
        schema = struct({n: s for n, (s, _) in parts.items()}, optional=draw(st.booleans()))
        return schema, (st.none() | values if schema.optional else values)
    schema, inner = draw(schemas_with_values(depth - 1))
    if kind == "array":
        return array_of(schema), st.lists(inner, max_size=2)
    return map_of(STRING, schema), st.dictionaries(keys, inner, max_size=2)


def written(plugin: JsonConverter, schema: Schema | None, batch: list[Any]) -> object:
    return outcome(lambda: plugin.from_connect_batch("t", schema, batch))


def written_singly(plugin: JsonConverter, schema: Schema | None, batch: list[Any]) -> object:
    return outcome(lambda: [plugin.from_connect("t", schema, v) for v in batch])


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_writing_a_batch_under_a_schema_is_writing_each_value(data: st.DataObject) -> None:
    schema, values = data.draw(schemas_with_values())
    batch = data.draw(st.lists(values | odd_values if data.draw(st.booleans()) else values, min_size=1, max_size=4))
    for plugin in (BARE, ENVELOPED, KEEPING):
        assert written(plugin, schema, batch) == written_singly(plugin, schema, batch)


trees = st.recursive(
    texts | integers | floats | st.booleans() | odd_values,
    lambda t: st.lists(t, max_size=3) | st.dictionaries(texts | st.integers(0, 3), t, max_size=3),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(st.lists(trees, min_size=1, max_size=4))
def test_writing_a_batch_without_schema_is_writing_each_value(batch: list[Any]) -> None:
    for plugin in (BARE, ENVELOPED):
        assert written(plugin, None, batch) == written_singly(plugin, None, batch)


_PIECES = words(r"""
    1 -0 -0.0 1.5 -0.5 01 1e400 99999999999999999999 true null "a" "\ud800" [ ] { } , : "a": "b": x
    {"a":1} {"a":"é"} [-0.0] {"n":12345678901234567890}
""")
pieces = st.sampled_from([*_PIECES, " ", "\n"])
messages = st.none() | st.binary(max_size=4) | st.lists(pieces, max_size=6).map(lambda p: "".join(p).encode())
payloads = st.sampled_from(["1", "300", "1.5", '"a"', "null", '{"a":1}', '{"a":null}', '{"a":-0.0,"b":2}', "[1]", "{}"])
schema_texts = st.sampled_from(
    words("""
    {"type":"int8"} {"type":"string","optional":true} {"type":"double"} null {"type":"x"}
    {"type":"struct","fields":[{"field":"a","type":"double","optional":true}]}
    {"type":"struct","fields":[{"field":"a","type":"int32","optional":true,"default":4}]}
    {"type":"array","items":{"type":"int64"}}
    """)
)
envelopes = st.builds(lambda s, p: f'{{"schema":{s},"payload":{p}}}'.encode(), schema_texts, payloads)


def same(one: object, other: object) -> bool:
    """Equal in every type and sign, where Python's own equality mixes 1, 1.0 and true."""
    return repr(one) == repr(other)


_NUMBERS = words("""
    0 -0 0.0 -0.0 -0e5 1 1.0 1e2 9223372036854775807 9223372036854775808 1e400 1e-9999999999 0e9999999999 1e-400
    0.1234567890123456789012 null true "x" [] [-0.0]
""")
numbers = st.sampled_from([*_NUMBERS, "0." + "1" * 1001])
rows = st.builds(lambda a, b: f'{{"a":{a},"b":{b}}}'.encode(), numbers, numbers)


@settings(max_examples=500, deadline=None)
@given(st.lists(messages | envelopes, min_size=1, max_size=4) | st.lists(rows, min_size=1, max_size=4))
def test_reading_a_batch_is_reading_each_message(batch: list[bytes | None]) -> None:
    for plugin in (BARE, ENVELOPED, FIXED):
        fast = outcome(partial(plugin.to_connect_batch, "t", batch))
        exact = outcome(partial(lambda p: [p.to_connect("t", m) for m in batch], plugin))
        if isinstance(fast, tuple) and isinstance(exact, list):
            schemas, values = fast
            each = schemas if isinstance(schemas, list) else [schemas] * len(values)
            assert same(list(zip(each, values, strict=True)), exact)
        else:
            assert same(fast, exact)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_what_is_written_in_an_envelope_is_read_back(data: st.DataObject) -> None:
    schema, values = data.draw(schemas_with_values())
    value = data.draw(values)
    try:
        written = ENVELOPED.from_connect("t", schema, value)
    except DataError:
        return
    again, back = ENVELOPED.to_connect("t", written)
    assert again == schema
    # Reading turns -0.0 into 0.0; once read, nothing changes any more.
    assert same(ENVELOPED.to_connect("t", ENVELOPED.from_connect("t", again, back)), (again, back))


def test_a_batch_of_structs_is_written_by_msgspec(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> str:
        raise AssertionError("the exact way was taken")

    plugin = converter(schemas_enable="false")
    monkeypatch.setattr(JsonWriter, "write", never)
    schema = struct({"line": STRING, "n": INT64, "f": FLOAT64, "o": OPTIONAL_STRING})
    rows = [{"line": "é", "n": 1, "f": 1.5, "o": None}]
    assert plugin.from_connect_batch("t", schema, rows) == ['{"line":"é","n":1,"f":1.5,"o":null}'.encode()]


def test_only_the_lines_that_jackson_writes_otherwise_take_the_long_way() -> None:
    asked: list[int] = []

    def exactly(i: int) -> bytes:
        asked.append(i)
        return b"exact"

    assert batch_writer.encode_lines(["a", "\x01", "é", "😀"], exactly) == [b'"a"', b"exact", '"é"'.encode(), b"exact"]
    assert asked == [1, 3]


def test_a_dict_in_another_order_is_written_in_the_order_of_the_schema() -> None:
    schema = struct({"a": STRING, "b": STRING})
    assert BARE.from_connect_batch("t", schema, [{"b": "2", "a": "1"}]) == [b'{"a":"1","b":"2"}']


def test_a_field_that_the_schema_does_not_have_is_refused() -> None:
    with pytest.raises(DataError, match="z is not a valid field name"):
        BARE.from_connect("t", struct({"a": STRING}), {"a": "1", "z": "2"})


def test_reading_gives_containers_of_its_own_for_defaults() -> None:
    text = '{"type":"array","items":{"type":"int8"},"optional":true,"default":[1]}'
    plugin = converter(schema_content=text)
    schema, value = plugin.to_connect("t", b"null")
    assert schema is not None
    assert value == schema.default
    assert value is not schema.default


def test_schemas_are_remembered_up_to_the_size_of_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Schema] = []

    def default(_: JsonWriter, schema: Schema) -> str:
        written.append(schema)
        return '"x"'

    monkeypatch.setattr(JsonWriter, "default", default)
    plugin = converter(schemas_cache_size="2")
    schemas = [Schema(Type.STRING, default=text) for text in "abc"]
    for schema in (*schemas, schemas[2], schemas[0]):
        plugin.from_connect_batch("t", schema, ["x"])
    assert written == [*schemas, schemas[0]]


@pytest.mark.parametrize(
    "data",
    [
        rb'{"\ud83d":1}',
        rb'{"\udc00":1}',
        rb'{"\ud83d\n":1}',
        b'"\xed\xa0\xbd"',
        b'"\xc3"',
        b'{"\xff":1}',
        b"true\xc3\xa9",
        b"true\x7f",
        b'"a\xe2\x82"',
        "1a".encode("utf-32-be"),
        b"\0\0\0[\0\x11\0\0",
        "1".encode("utf-32-le") + b"\1",
    ],
)
def test_bytes_that_jackson_refuses_are_refused(data: bytes) -> None:
    with pytest.raises(DataError, match="serialization error"):
        BARE.to_connect("t", data)
    with pytest.raises(DataError, match="serialization error"):
        BARE.to_connect_batch("t", [data])


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (rb'{"\ud83d\ude00":"\ud83d"}', {"😀": "\ud83d"}),
        (b"true$", True),
        (b"[]\xff", []),
        ("[]".encode("utf-32-le") + b"\1", []),
        ('{"\\ud83d":1}'.encode("utf-16-be"), {"\ud83d": 1}),
    ],
)
def test_bytes_that_jackson_takes_are_taken(data: bytes, value: object) -> None:
    assert BARE.to_connect("t", data)[1] == value
    assert BARE.to_connect_batch("t", [data])[1][0] == value


def test_no_bytes_under_a_fixed_schema_are_not_null() -> None:
    plugin = converter(schema_content='{"type":"int8","default":5}')
    assert plugin.to_connect("t", b"")[1] == 0
    assert plugin.to_connect("t", b"null")[1] == 5


def test_the_default_of_a_struct_cannot_be_written() -> None:
    schema = Schema(Type.STRUCT, default={}, optional=True)
    with pytest.raises(DataError, match="Mismatching schema"):
        ENVELOPED.from_connect("t", schema, {})
    assert BARE.from_connect("t", schema, {}) == b"{}"
    with pytest.raises(DataError, match="Mismatching schema"):
        BARE.from_connect("t", schema, None)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ('{"type":"struct","fields":[{"type":"int8","field":""}]}', "fieldName cannot be null"),
        ('{"type":"map","keys":{"type":"string"},"values":null}', "valueSchema cannot be null"),
    ],
)
def test_schemas_that_the_builder_refuses_are_its_errors(schema: str, message: str) -> None:
    with pytest.raises(SchemaBuilderError, match=message):
        ENVELOPED.to_connect("t", f'{{"schema":{schema},"payload":null}}'.encode())


@pytest.mark.parametrize("enabled", ["true", "false"])
def test_a_fixed_schema_must_be_one_even_where_it_is_not_used(enabled: str) -> None:
    with pytest.raises(ConfigError, match=r"schema\.content is not a schema"):
        converter(schema_content="{", schemas_enable=enabled)


def test_a_timestamp_under_another_type_is_a_timestamp_in_batches_too() -> None:
    data = b'{"schema":{"type":"boolean","name":"org.apache.kafka.connect.data.Timestamp"},"payload":5}'
    _, values = ENVELOPED.to_connect_batch("t", [data, data])
    assert [(type(v), v) for v in values] == [(Instant, 5)] * 2


def test_structs_of_one_schema_are_read_as_columns() -> None:
    schema = struct({"a": INT64, "at": TIMESTAMP})
    rows = [{"a": i, "at": Instant(i)} for i in range(3)]
    read, values = ENVELOPED.to_connect_batch("t", ENVELOPED.from_connect_batch("t", schema, rows))
    assert (read, list(values)) == (schema, rows)
    assert isinstance(values, Fields)
    assert values.columns["at"] == [Instant(0), Instant(1), Instant(2)]


def test_infinity_as_databases_have_it_is_written_and_read_as_any_moment_and_day() -> None:
    schema = struct({"at": TIMESTAMP, "day": DATE, "ats": array_of(TIMESTAMP)})
    ends = ((9_223_372_036_825_200_000, 2**31 - 1), (-9_223_372_036_832_400_000, -(2**31)))
    rows = [{"at": Instant(moment), "day": Instant(day * 86_400_000), "ats": [Instant(moment)]} for moment, day in ends]
    written = ENVELOPED.from_connect_batch("t", schema, rows)
    assert written == [ENVELOPED.from_connect("t", schema, row) for row in rows]
    read, values = ENVELOPED.to_connect_batch("t", written)
    assert (read, list(values)) == (schema, rows)
    assert [ENVELOPED.to_connect("t", data) for data in written] == [(schema, row) for row in rows]


def test_columns_of_decimals_and_dates_are_written_as_their_rows_are() -> None:
    schema = struct({"a": INT64, "price": decimal(2), "day": DATE, "x": FLOAT32})
    rows = [{"a": i, "price": Decimal(i).scaleb(-2), "day": Instant(i * 86_400_000), "x": i * 0.1} for i in range(3)]
    each = [ENVELOPED.from_connect("t", schema, row) for row in rows]
    assert ENVELOPED.from_connect_batch("t", schema, rows) == each
    fields = Fields.of(rows)
    assert fields is not None
    assert ENVELOPED.from_connect_batch("t", schema, fields) == each


@pytest.mark.parametrize(
    "data",
    [b'{"%s":1}' % (b"a" * 50_001), b'{"%s":1}' % ("é".encode() * 25_001), b"0.1e2147483648"],
    ids=["name", "name in bytes", "exponent"],
)
def test_what_is_longer_than_jackson_takes_is_refused_in_batches_too(data: bytes) -> None:
    for read in (BARE.to_connect, lambda topic, message: BARE.to_connect_batch(topic, [message])):
        with pytest.raises(DataError):
            read("t", data)


@pytest.mark.parametrize(
    ("word", "number"), [("NaN", float("nan")), ("Infinity", float("inf")), ("-Infinity", -float("inf"))]
)
@pytest.mark.parametrize("kind", ["float", "double"])
def test_numbers_that_are_written_as_words_are_read_back(kind: str, word: str, number: float) -> None:
    plugin = converter(
        schema_content=f'{{"type":"struct","fields":[{{"field":"a","type":"{kind}"}},{{"field":"b","type":"{kind}"}}]}}'
    )
    messages = [f'{{"a":"{word}","b":"nan"}}'.encode(), b'{"a":1.5,"b":1.5}']
    for some in (messages, messages[:1]):
        _, values = plugin.to_connect_batch("t", some)
        assert same(values[0], {"a": number, "b": 0.0})
    assert same(plugin.to_connect("t", messages[0])[1], {"a": number, "b": 0.0})


def test_the_low_bits_of_a_whole_number_know_the_number() -> None:
    texts = [b'{"a":[18446744073709551615]}', b'{"a":[1]}']
    for value in (BARE.to_connect("t", texts[0])[1], BARE.to_connect_batch("t", texts)[1][0]):
        (number,) = value["a"]
        assert (type(number), number, number.exact) == (Int64, -1, 2**64 - 1)
        assert pickle.loads(pickle.dumps(number)).exact == 2**64 - 1  # on its way to a worker of Spark
        assert BARE.from_connect("t", None, value) == b'{"a":[-1]}'
    plugin = converter(schema_content='{"type":"int64"}')
    for _, value in (plugin.to_connect("t", b"9223372036854775808"), plugin.to_connect("t", b"5")):
        assert getattr(value, "exact", None) == (2**63 if value < 0 else None)
    assert Int64(5).exact is None


def test_an_infinity_of_a_finite_number_knows_the_number() -> None:
    texts = [b'{"a":[-1e400]}', b'{"a":[1.5]}']
    for value in (BARE.to_connect("t", texts[0])[1], BARE.to_connect_batch("t", texts)[1][0]):
        (number,) = value["a"]
        assert (type(number), number, number.exact) == (Float64, -math.inf, Decimal("-1E+400"))
        assert pickle.loads(pickle.dumps(number)).exact == Decimal("-1E+400")  # on its way to a worker of Spark
        assert BARE.from_connect("t", None, value) == b'{"a":["-Infinity"]}'
    for kind, text in (("float", b"1e39"), ("double", b"1e309")):
        plugin = converter(schema_content=f'{{"type":"{kind}"}}')
        schema, value = plugin.to_connect("t", text)
        assert (value, value.exact) == (math.inf, Decimal(text.decode()))
        assert str(plugin.from_connect("t", schema, value)).endswith('"payload":"Infinity"}\'')
        _, (value, word, plain) = plugin.to_connect_batch("t", [text, b'"Infinity"', b"1.5"])
        assert (value.exact, word, plain) == (Decimal(text.decode()), math.inf, 1.5)
        assert type(word) is type(plain) is float
    assert Float64(5).exact is None


def test_whole_numbers_beyond_every_float_are_infinite() -> None:
    plugin = converter(schema_content='{"type":"double"}')
    assert plugin.to_connect("t", b"-" + b"9" * 400) == (Schema(Type.FLOAT64), float("-inf"))
