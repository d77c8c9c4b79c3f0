"""Schemas at the edges of what Avro and Connect can represent."""

import json
from typing import Any

import pytest

from penstock import DataError, Schema
from penstock.schema import INT32, INT64, OPTIONAL_STRING, STRING, array_of, map_of, struct
from penstock_registry.avro.from_schema import avro_json
from penstock_registry.avro.reader import AvroReader
from penstock_registry.avro.settings import AvroSettings
from penstock_registry.avro.to_schema import connect_schema
from penstock_registry.avro.types import parse_avro
from penstock_registry.avro.writer import AvroWriter

PLAIN = AvroSettings()


def written(schema: Schema, value: Any, settings: AvroSettings = PLAIN) -> Any:
    """Convert a value to a message and back, and return the result."""
    of = parse_avro(avro_json(schema, settings))
    message = AvroWriter(schema, of, settings).write(value)
    assert message is not None
    return AvroReader(of, settings, None).read(message)[1]


def test_a_schema_that_contains_itself_is_refused_by_name() -> None:
    fields = [{"name": "next", "type": ["null", "Node"]}, {"name": "n", "type": "int"}]
    of = parse_avro(json.dumps({"type": "record", "name": "Node", "namespace": "shop", "fields": fields}))
    with pytest.raises(DataError, match=r"the record shop\.Node contains itself"):
        connect_schema(of, PLAIN)


def test_structs_without_a_name_are_numbered() -> None:
    schema = struct({"a": struct({"x": INT32}), "b": struct({"y": INT32}, optional=True), "c": struct({"x": INT32})})
    text = avro_json(schema, PLAIN)
    assert [n for n in ("ConnectDefault2", "ConnectDefault3", "ConnectDefault4") if n in text] == [
        "ConnectDefault2",
        "ConnectDefault3",
    ]
    assert written(schema, {"a": {"x": 1}, "b": None, "c": {"x": 2}}) == {"a": {"x": 1}, "b": None, "c": {"x": 2}}


def test_different_types_of_one_name_are_refused() -> None:
    schema = struct(
        {"a": struct({"x": INT32}, name="shop.In"), "b": struct({"y": INT32}, name="shop.In")}, name="shop.Out"
    )
    with pytest.raises(DataError, match=r"two different types have the name shop\.In"):
        avro_json(schema, PLAIN)
    within = struct({"a": struct({"x": INT32}, name="shop.Out")}, name="shop.Out")
    with pytest.raises(DataError, match=r"a struct with the name shop\.Out contains another struct"):
        avro_json(within, PLAIN)


def test_names_that_are_not_valid_are_refused_or_scrubbed() -> None:
    schema = struct({"order-id": INT64, "2nd": STRING, "größe €": INT32}, name="my-shop.or der")
    with pytest.raises(DataError, match=r"the name 'order-id' is not valid in Avro.*scrub\.invalid\.names=true"):
        avro_json(struct({"order-id": INT64}, name="shop.Order"), PLAIN)
    scrubbing = AvroSettings(scrub=True)
    read = written(schema, {"order-id": 1, "2nd": "a", "größe €": 2}, scrubbing)
    assert read == {"order_id": 1, "x2nd": "a", "gr_C3_B6_C3_9Fe__E2_82_AC": 2}
    assert '"name":"or_der","namespace":"my_shop"' in avro_json(schema, scrubbing)


def test_maps_with_optional_keys_may_be_maps_of_avro() -> None:
    schema = map_of(OPTIONAL_STRING, INT32)
    assert json.loads(avro_json(schema, PLAIN))["type"] == "array"
    assert json.loads(avro_json(schema, AvroSettings(optional_keys=True)))["type"] == "map"
    assert written(schema, {"a": 1, None: 2}) == {"a": 1, None: 2}


def test_names_and_parameters_may_be_left_out() -> None:
    schema = struct({"a": Schema(INT32.type, name="shop.Count", doc="How many.", version=2)}, name="shop.Row")
    assert "connect." not in avro_json(schema, AvroSettings(metadata=False))


def test_a_null_under_a_default_is_the_default_unless_it_may_stay() -> None:
    schema = struct({"a": Schema(STRING.type, optional=True, default="x")}, name="shop.Row")
    assert written(schema, {"a": None}) == {"a": "x"}
    assert written(schema, {"a": None}, AvroSettings(null_stays=True)) == {"a": None}


@pytest.mark.parametrize(
    "text", ["", "{", "5", '{"type": "shop.Unknown"}', '{"type": "record", "name": "R"}', "[" * 9_999]
)
def test_a_text_that_is_no_schema_is_refused(text: str) -> None:
    with pytest.raises(DataError, match="cannot read an Avro schema"):
        parse_avro(text)


def test_nested_arrays_and_maps_are_read_as_they_were_written() -> None:
    schema = struct({"m": map_of(STRING, array_of(map_of(INT32, array_of(OPTIONAL_STRING))))}, name="shop.Row")
    value = {"m": {"k": [{1: ["a", None]}, {}], "j": []}}
    assert written(schema, value) == value
