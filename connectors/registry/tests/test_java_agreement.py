"""Avro as Java's AvroData makes it: the same schemas, letter by letter, the same bytes, the same values."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from penstock_plugins.converters.json.converter import JsonConverter
from penstock_registry.avro.from_schema import ANYTHING_JSON, avro_json
from penstock_registry.avro.reader import AvroReader
from penstock_registry.avro.settings import AvroSettings
from penstock_registry.avro.types import parse_avro
from penstock_registry.avro.writer import AvroWriter

CASES: Final = [json.loads(line) for line in Path(__file__).with_name("java_cases.jsonl").read_text().splitlines()]


def cases(direction: str) -> list[Any]:
    return [
        pytest.param(case, id=f"{case['name']}{', enhanced' * case['enhanced']}")
        for case in CASES
        if case["direction"] == direction
    ]


def enveloped() -> JsonConverter:
    converter = JsonConverter()
    converter.configure(JsonConverter.Config.parse({}), is_key=False)
    return converter


def settings(case: Any) -> AvroSettings:
    return AvroSettings(enhanced=case["enhanced"])


def test_no_case_failed_in_java() -> None:
    assert [case["name"] for case in CASES if "error" in case] == []


@pytest.mark.parametrize("case", cases("write"))
def test_values_have_the_schema_and_the_bytes_that_java_gives_them(case: Any) -> None:
    schema, value = enveloped().to_connect("t", json.dumps(case["envelope"]).encode())
    text = ANYTHING_JSON if schema is None else avro_json(schema, settings(case))
    assert text == case["avro"]
    writer = AvroWriter(schema, parse_avro(text), settings(case))
    expected = bytes.fromhex(case["hex"])
    if value is not None:
        assert writer.write(value) == expected
        assert writer.write_all([value, value]) == [expected, expected]


@pytest.mark.parametrize("case", [*cases("read"), *cases("write")])
def test_messages_have_the_schema_and_the_value_that_java_reads(case: Any) -> None:
    reader = AvroReader(parse_avro(case["avro"]), settings(case), None)
    message = bytes.fromhex(case["hex"])
    schema, value = reader.read(message)
    many_schema, many = reader.read_all([message, message])
    assert list(many) == [value, value]
    assert value is None or many_schema == schema
    if case["direction"] == "read":
        written = enveloped().from_connect("t", schema, value)
        assert written is not None
        assert json.loads(written) == case["envelope"]
