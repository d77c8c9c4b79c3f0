"""Values and schemas of records, as text and as JSON."""

import base64
import json
import math
from collections.abc import Mapping
from datetime import UTC
from decimal import Decimal
from typing import Any, Final

from penstock import Float32, Header, Instant, Int8, Int16, Int32, Record, Schema, Type
from penstock._schema_json import schema_to_json
from penstock.schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME

__all__ = ["plain", "plain_record", "schema_text", "type_text", "value_text"]

_LOGICAL: Final = {n: n.rpartition(".")[2] for n in (DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME)}
_TYPES: Final[Mapping[type[Any], str]] = {
    Int8: "int8",
    Int16: "int16",
    Int32: "int32",
    Float32: "float32",
    Instant: "Timestamp",
    bytes: "bytes",
    Decimal: "Decimal",
}
"""Types that JSON does not distinguish, for values without a schema."""


def plain(schema: Schema | None, value: Any) -> Any:
    """Return a value as JSON: instants and decimals as strings, bytes as Base64, maps with non-string keys as pairs."""
    match value:
        case None | bool() | str():
            return value
        case Instant():
            return _instant(schema, value)
        case int():
            return int(value)
        case float():
            return float(value) if math.isfinite(value) else json.dumps(float(value))
        case bytes() | bytearray():
            return base64.b64encode(value).decode()
        case Decimal():
            return str(value)
        case list() | tuple():
            return [plain(schema.items if schema else None, v) for v in value]
        case dict():
            return _dict(schema, value)
        case _:
            return str(value)


def _dict(schema: Schema | None, value: dict[Any, Any]) -> Any:
    if schema is not None and schema.type is Type.STRUCT:
        shapes = {f.name: f.schema for f in schema.fields}
        return {name: plain(shapes.get(name), v) for name, v in value.items()}
    keys, values = (schema.keys, schema.values) if schema is not None else (None, None)
    if all(isinstance(k, str) for k in value):
        return {k: plain(values, v) for k, v in value.items()}
    return [[plain(keys, k), plain(values, v)] for k, v in value.items()]


def _instant(schema: Schema | None, value: Instant) -> Any:
    try:
        moment = value.datetime().astimezone(UTC)
    except OverflowError:
        return int(value)
    name = schema.name if schema is not None else None
    text = moment.replace(tzinfo=None).isoformat(timespec="milliseconds")
    if name == DATE_NAME and value % 86_400_000 == 0:
        return text[:10]
    return text[11:] if name == TIME_NAME and 0 <= value < 86_400_000 else text + "Z"


def value_text(schema: Schema | None, value: Any) -> str:
    """Return a value in one line, with its type if neither JSON nor a schema shows it."""
    text = json.dumps(plain(schema, value), ensure_ascii=False, separators=(", ", ": "))
    kind = _TYPES.get(type(value)) if schema is None else None
    return f"{text} ({kind})" if kind else text


def type_text(schema: Schema | None) -> str:
    """Return a short form of a schema: `struct{id: int64, at: Timestamp?}`; `?` means optional."""
    if schema is None:
        return "none"
    match schema.type:
        case _ if schema.name in _LOGICAL:
            text = _LOGICAL[schema.name]
            if schema.name == DECIMAL_NAME:
                text += f"({(schema.parameters or {}).get('scale', '?')})"
        case Type.STRUCT:
            text = "struct{" + ", ".join(f"{f.name}: {type_text(f.schema)}" for f in schema.fields) + "}"
        case Type.ARRAY:
            text = f"array<{type_text(schema.items)}>"
        case Type.MAP:
            text = f"map<{type_text(schema.keys)}, {type_text(schema.values)}>"
        case _:
            text = schema.type.value
    return text + ("?" if schema.optional else "") + attributes(schema)


def attributes(schema: Schema) -> str:
    """Return name, version and default of a schema, if it has any."""
    found = []
    if schema.name is not None and schema.name not in _LOGICAL:
        found.append(f"name {schema.name}")
    if schema.version is not None and schema.name not in _LOGICAL:
        found.append(f"version {schema.version}")
    if schema.default is not None:
        found.append(f"default {value_text(schema, schema.default)}")
    return f" ({', '.join(found)})" if found else ""


def schema_text(schema: Schema | None) -> Any:
    """Return a schema as JSON data, complete except for defaults that JSON cannot represent."""
    return None if schema is None else json.loads(schema_to_json(schema))


def plain_record(record: Record) -> dict[str, Any]:
    """Return a record as JSON data, for scripts."""
    return {
        "topic": record.topic,
        "partition": record.partition,
        "timestamp": record.timestamp,
        "key": plain(record.key_schema, record.key),
        "keySchema": schema_text(record.key_schema),
        "value": plain(record.value_schema, record.value),
        "valueSchema": schema_text(record.value_schema),
        "headers": [_header(h) for h in record.headers],
    }


def _header(header: Header) -> dict[str, Any]:
    return {"name": header.name, "value": plain(header.schema, header.value), "schema": schema_text(header.schema)}
