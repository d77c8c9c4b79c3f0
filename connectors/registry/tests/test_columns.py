"""Records that are read or written together, as columns, equal the same records read or written one by one."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from io import BytesIO
from typing import Any, Final

import pytest
from fastavro import schemaless_writer
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import DataError, Fields, Float32, Instant, Same, Schema
from penstock.schema import FLOAT32, INT32, INT64, STRING, TIMESTAMP, decimal, struct
from penstock_registry.avro.column_reader import column_reader
from penstock_registry.avro.column_writer import column_writer
from penstock_registry.avro.physical import physical_schema
from penstock_registry.avro.reader import AvroReader
from penstock_registry.avro.settings import AvroSettings
from penstock_registry.avro.types import AvroType, parse_avro
from penstock_registry.avro.wide_numbers import Varied, common_width, wide_numbers
from penstock_registry.avro.writer import AvroWriter

_EDGES: Final = [sign * (1 << bits) + more for bits in range(0, 63, 7) for sign in (1, -1) for more in (-1, 0, 1)]
_LONGS: Final = st.sampled_from([*_EDGES, (1 << 63) - 1, -(1 << 63)]) | st.integers(-(1 << 63), (1 << 63) - 1)
_TIMES: Final = st.integers(1 << 40, (1 << 41) - 2)
_NUMBERS: Final = _TIMES | _LONGS.filter(lambda number: number < (1 << 63) - 1)
_PAIR: Final = {
    "type": "record",
    "name": "Pair",
    "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": "string"}],
}
_VALUES: Final[list[tuple[Any, st.SearchStrategy[Any]]]] = [
    ("long", _LONGS),
    ("int", st.integers(-(1 << 31), (1 << 31) - 1)),
    ("boolean", st.booleans()),
    ("double", st.floats(allow_nan=False)),
    ("float", st.floats(width=32, allow_nan=False)),
    ("string", st.text(max_size=200)),
    ("bytes", st.binary(max_size=200)),
    ({"type": "enum", "name": "Suit", "symbols": ["HEARTS", "CLUBS"]}, st.sampled_from(["HEARTS", "CLUBS"])),
    ({"type": "fixed", "name": "Four", "size": 4}, st.binary(min_size=4, max_size=4)),
    ({"type": "long", "logicalType": "timestamp-millis"}, st.integers(0, 1 << 41)),
    ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, st.binary(min_size=1, max_size=4)),
    (["null", "string"], st.none() | st.text()),
    (["long", "null"], st.none() | _LONGS),
    (_PAIR, st.fixed_dictionaries({"a": st.integers(0, 9), "b": st.text()})),
    (["null", "Pair"], st.none() | st.fixed_dictionaries({"a": st.integers(0, 9), "b": st.text()})),
]
_SCHEMA: Final = {
    "type": "record",
    "name": "All",
    "fields": [{"name": f"f{i}", "type": of} for i, (of, _) in enumerate(_VALUES)],
}
_RECORDS: Final = st.fixed_dictionaries({f"f{i}": values for i, (_, values) in enumerate(_VALUES)})


def parsed(schema: Any) -> AvroType:
    """Return the type of a schema."""
    return parse_avro(json.dumps(schema))


def data_of(of: AvroType, record: Any) -> bytes:
    """Return a record in Avro, before logical types."""
    stream = BytesIO()
    schemaless_writer(stream, physical_schema(of), record)
    return stream.getvalue()


def together(reader: AvroReader, data: Sequence[bytes]) -> list[Any]:
    """Return the values of messages that are read together."""
    return list(reader.read_all(data)[1])


@settings(deadline=None)
@given(st.lists(_RECORDS, min_size=1, max_size=3))
def test_records_read_together_equal_records_read_singly(records: list[Any]) -> None:
    of = parsed(_SCHEMA)
    reader = AvroReader(of, AvroSettings(), None)
    data = [data_of(of, record) for record in records]
    assert column_reader(of) is not None
    assert repr(together(reader, data)) == repr([reader.read(each)[1] for each in data])


@settings(deadline=None)
@given(st.lists(_RECORDS, min_size=1, max_size=3))
def test_the_types_of_columns_are_those_of_their_values(records: list[Any]) -> None:
    of = parsed(_SCHEMA)
    reader = AvroReader(of, AvroSettings(), None)
    fields = reader.read_all([data_of(of, record) for record in records])[1]
    assert isinstance(fields, Fields)
    for name, column in fields.columns.items():
        assert fields.types(name) == frozenset(map(type, column))


@settings(deadline=None, max_examples=20)
@given(st.lists(st.lists(_NUMBERS, min_size=1, max_size=3), min_size=1, max_size=3), st.booleans())
def test_numbers_that_are_mostly_equally_wide_are_read_as_they_are(batches: list[list[int]], nulls: bool) -> None:
    fields = [{"name": "t", "type": ["null", "long"] if nulls else "long"}, {"name": "u", "type": "long"}]
    of = parsed({"type": "record", "name": "R", "fields": fields})
    reader = AvroReader(of, AvroSettings(), None)
    for numbers in batches:
        usual = [{"t": None if nulls and i % 7 == 3 else numbers[0], "u": numbers[-1] + i % 2} for i in range(150)]
        rare = [{"t": number, "u": number} for number in numbers[1:]]
        for records in (usual, [*usual, *rare], usual):
            data = [data_of(of, record) for record in records]
            assert together(reader, data) == records
            with pytest.raises(DataError):
                reader.read_all([*data, data[-1][:-1]])


@given(st.integers(0, (1 << 55) - 1), st.booleans())
def test_numbers_of_one_width_are_read_together(amount: int, negative: bool) -> None:
    numbers = [~amount if negative else amount] * 3
    size = common_width(numbers)
    stored = [data_of(AvroType("long"), number) for number in numbers]
    if size is None:
        assert not 3 <= len(stored[0]) <= 8
    else:
        assert wide_numbers([None, *stored], size) == [None, *numbers]
        for other in (stored[0][:-1], stored[0] + b"\0", b"\xff" * size, b"\1" * size):
            with pytest.raises(Varied):
                wide_numbers([*stored, other], size)


def test_data_after_the_id_of_a_schema_are_read_together_as_without_it() -> None:
    of = parsed({"type": "record", "name": "R", "fields": [{"name": "t", "type": "long"}]})
    reader = AvroReader(of, AvroSettings(), None)
    data = [data_of(of, {"t": (1 << 40) + i}) for i in range(150)]
    for _ in range(2):
        assert list(reader.read_all([b"\0\0\0\0\1" + each for each in data], 5)[1]) == together(reader, data)


@pytest.mark.parametrize("numbers", [[1 << 20, 1 << 40], [-(1 << 40), 1 << 40], [1 << 60], [1], [None], []])
def test_numbers_of_several_or_other_widths_are_read_singly(numbers: list[int | None]) -> None:
    assert common_width(numbers) is None


@settings(deadline=None)
@given(_RECORDS, st.data())
def test_damaged_data_is_read_together_only_as_it_is_read_singly(record: Any, draw: st.DataObject) -> None:
    of = parsed(_SCHEMA)
    reader = AvroReader(of, AvroSettings(), None)
    data = bytearray(data_of(of, record))
    more = [bytes(data)] * draw.draw(st.sampled_from((0, 100)))
    reader.read_all(more)
    data[draw.draw(st.integers(0, len(data) - 1))] = draw.draw(st.integers(0, 255))
    damaged = bytes(data[: draw.draw(st.integers(0, len(data)))])
    with suppress(DataError):
        *_, value = together(reader, [*more, damaged])
        assert repr(value) == repr(reader.read(damaged)[1])


@pytest.mark.parametrize("kind", ["long", "string", "double", "boolean", "bytes"])
def test_a_message_that_ends_early_fails_all_that_are_read_together(kind: str) -> None:
    of = parsed({"type": "record", "name": "R", "fields": [{"name": "n", "type": "long"}, {"name": "v", "type": kind}]})
    value = {"long": 1 << 50, "string": "abc", "double": 1.5, "boolean": True, "bytes": b"abc"}[kind]
    whole = data_of(of, {"n": 1 << 50, "v": value})
    reader = AvroReader(of, AvroSettings(), None)
    for length in range(len(whole)):
        with pytest.raises(DataError):
            reader.read_all([whole, whole[:length]])


@settings(deadline=None)
@given(st.lists(_RECORDS, min_size=1, max_size=3), st.sets(st.integers(0, len(_VALUES) - 1)))
def test_records_written_together_equal_records_written_by_fastavro(records: list[Any], same: set[int]) -> None:
    of = parsed(_SCHEMA)
    write = column_writer(of)
    assert write is not None
    for name in (f"f{number}" for number in same):
        records = [{**record, name: records[0][name]} for record in records]
    columns = {
        f"f{number}": Same(records[0][f"f{number}"]) if number in same else [record[f"f{number}"] for record in records]
        for number in range(len(_VALUES))
    }
    assert write(columns, len(records)) == [data_of(of, record) for record in records]


@settings(deadline=None)
@given(st.lists(_RECORDS, min_size=1, max_size=3))
def test_structs_written_together_equal_structs_written_singly(records: list[Any]) -> None:
    of = parsed(_SCHEMA)
    reader = AvroReader(of, AvroSettings(), None)
    writer = AvroWriter(reader.schema, of, AvroSettings())
    structs = [reader.read(data_of(of, record))[1] for record in records]
    assert writer.write_all(structs) == [writer.write(each) for each in structs]


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [(INT64, 1, 1 << 63), (INT32, 1, "1"), (STRING, "a", "\ud800"), (STRING, "a", None), (FLOAT32, Float32(1.0), "1")],
)
def test_a_value_that_does_not_fit_fails_all_that_are_written_together(schema: Schema, good: Any, bad: Any) -> None:
    kind = {"int64": "long", "int32": "int", "float32": "float"}.get(schema.type, schema.type)
    of = parsed({"type": "record", "name": "R", "fields": [{"name": "v", "type": kind}]})
    writer = AvroWriter(struct({"v": schema}, name="R"), of, AvroSettings())
    assert writer.write_all([{"v": good}]) == [writer.write({"v": good})]
    for values in ([{"v": good}, {"v": bad}], Fields({"v": Same(bad)}, 2)):
        with pytest.raises(DataError, match="cannot write a value as Avro"):
            writer.write_all(values)


@pytest.mark.parametrize(
    ("schema", "kind", "bad"),
    [
        (decimal(2), {"type": "fixed", "name": "F", "size": 8, "scale": 2}, Decimal("1.00")),
        (
            replace(decimal(2), optional=True),
            ["null", {"type": "fixed", "name": "F", "size": 8, "scale": 2}],
            Decimal("1.00"),
        ),
        (TIMESTAMP, "long", Instant(1 << 63)),
        (TIMESTAMP, "long", Instant(-(1 << 63) - 1)),
    ],
)
def test_a_logical_value_that_does_not_fit_fails_all_that_are_written_together(
    schema: Schema, kind: Any, bad: Any
) -> None:
    of = parsed({"type": "record", "name": "R", "fields": [{"name": "v", "type": kind}]})
    writer = AvroWriter(struct({"v": schema}, name="R"), of, AvroSettings())
    with pytest.raises(DataError, match="cannot write a value as Avro"):
        writer.write({"v": bad})
    with pytest.raises(DataError, match="cannot write a value as Avro"):
        writer.write_all([{"v": bad}, {"v": bad}])


@pytest.mark.parametrize(
    "field",
    [
        {"type": {"type": "fixed", "name": "F", "size": 4}, "default": "\u00ff"},
        {"type": "long", "default": 1 << 64},
    ],
)
def test_a_default_that_does_not_fit_fails_all_that_are_written_together(field: Any) -> None:
    of = parsed({"type": "record", "name": "R", "fields": [{"name": "v", "type": "int"}, {"name": "d", **field}]})
    writer = AvroWriter(struct({"v": INT32}, name="R"), of, AvroSettings())
    with pytest.raises(DataError, match="cannot write a value as Avro"):
        writer.write_all([{"v": 1}, {"v": 2}])


def test_a_default_of_a_union_that_begins_with_null_is_null() -> None:
    default = {"name": "d", "type": ["null", "double"], "default": 5.5}
    of = parsed({"type": "record", "name": "R", "fields": [{"name": "v", "type": "int"}, default]})
    writer = AvroWriter(struct({"v": INT32}, name="R"), of, AvroSettings())
    assert writer.write_all([{"v": 1}]) == [writer.write({"v": 1})] == [b"\2\0"]


@pytest.mark.parametrize("optional", [False, True])
def test_records_that_contain_empty_records_are_written_together(optional: bool) -> None:
    empty = {"type": "record", "name": "E", "fields": []}
    fields = [{"name": "v", "type": "int"}, {"name": "e", "type": ["null", empty] if optional else empty}]
    of = parsed({"type": "record", "name": "R", "fields": fields})
    writer = AvroWriter(
        struct({"v": INT32, "e": replace(struct({}, name="E"), optional=optional)}, name="R"), of, AvroSettings()
    )
    structs = [{"v": 1, "e": {}}, {"v": 2, "e": None if optional else {}}]
    assert writer.write_all(structs) == [writer.write(each) for each in structs]


@pytest.mark.parametrize(
    "kind", [{"type": "array", "items": "int"}, {"type": "map", "values": "int"}, ["int", "string"], "All"]
)
def test_records_with_other_types_are_left_to_fastavro(kind: Any) -> None:
    of = parsed({"type": "record", "name": "All", "fields": [{"name": "f", "type": kind}]})
    assert column_reader(of) is None
    assert column_writer(of) is None
