"""JSON Schemas as Confluent's JsonSchemaData makes them: the same text, letter by letter, the same values and schemas.

The cases hold what its version 8 makes of each schema and value. Cases to read have Connect's schema as `shape` writes it.
"""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pytest

from penstock import Schema
from penstock_plugins.converters.json.converter import JsonConverter
from penstock_registry.json_schema.config import JsonSchemaConverterConfig
from penstock_registry.json_schema.from_schema import json_schema_text
from penstock_registry.json_schema.reader import JsonReader
from penstock_registry.json_schema.settings import JsonSettings
from penstock_registry.json_schema.types import parse_json_schema
from penstock_registry.json_schema.writer import JsonWriter
from penstock_registry.references import Reference

CASES: Final = [
    json.loads(line) for line in Path(__file__).with_name("json_schema_cases.jsonl").read_text().splitlines()
]


def cases(direction: str) -> list[Any]:
    return [pytest.param(case, id=str(n)) for n, case in enumerate(CASES) if case["direction"] == direction]


def settings(case: Any) -> JsonSettings:
    return JsonSchemaConverterConfig.parse(
        {"schema.registry.url": "http://registry", **case.get("config", {})}
    ).settings


@pytest.fixture
def enveloped() -> JsonConverter:
    converter = JsonConverter()
    converter.configure(JsonConverter.Config.parse({}), is_key=False)
    return converter


def shape(schema: Schema) -> str:
    """Write a schema: type, `?` if it is optional, its attributes, and what it contains."""
    text = str(schema.type) + "?" * schema.optional
    for name, value in (("name", schema.name), ("v", schema.version), ("doc", schema.doc)):
        text += f" {name}={value}" if value is not None else ""
    if schema.parameters:
        text += f" params={{{', '.join(f'{name}={value}' for name, value in sorted(schema.parameters.items()))}}}"
    if schema.default is not None:
        text += f" default={schema.default}"
    if schema.items is not None:
        text += f"[{shape(schema.items)}]"
    if schema.keys is not None and schema.values is not None:
        text += f"[{shape(schema.keys)} -> {shape(schema.values)}]"
    if schema.type == "struct":
        text += f"{{{''.join(f'{f.name}: {shape(f.schema)}; ' for f in schema.fields)}}}"
    return text


@pytest.mark.parametrize("case", cases("write"))
def test_values_have_the_schema_and_the_json_that_java_gives_them(case: Any, enveloped: JsonConverter) -> None:
    schema, value = enveloped.to_connect("t", json.dumps(case["envelope"]).encode())
    assert schema is not None
    assert json_schema_text(schema, settings(case)) == case["text"]
    writer = JsonWriter(schema, settings(case), None)
    message = writer.write(value)
    assert message is not None
    assert json.loads(message, parse_float=Decimal) == json.loads(case["json"], parse_float=Decimal)
    assert writer.write_all([value, value]) == [message, message]


@pytest.mark.parametrize("case", cases("write"))
def test_what_was_written_is_read(case: Any, enveloped: JsonConverter) -> None:
    schema, value = enveloped.to_connect("t", json.dumps(case["envelope"]).encode())
    assert schema is not None
    data = JsonWriter(schema, settings(case), None).write(value)
    assert data is not None
    reader = JsonReader(parse_json_schema(case["text"]), settings(case), None, None)
    read_schema, read = reader.read(data)
    assert list(reader.read_all([data, data])[1]) == [read, read]
    assert JsonWriter(schema, settings(case), None).write(read) == data
    assert read_schema is not None
    assert [f.name for f in read_schema.fields] == [f.name for f in schema.fields]


@pytest.mark.parametrize("case", cases("read"))
def test_messages_have_the_schema_and_the_value_that_java_reads(case: Any, enveloped: JsonConverter) -> None:
    references = [Reference(name, text) for name, text in case.get("references", {}).items()]
    reader = JsonReader(parse_json_schema(case["schema"], references), settings(case), case.get("version"), None)
    assert shape(reader.schema) == case["connect"]
    if "value" in case:
        written = enveloped.from_connect("t", *reader.read(case["value"].encode()))
        assert written is not None
        assert json.loads(written)["payload"] == case["result"]
