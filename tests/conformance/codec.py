"""The cases' typed JSON to Penstock's data and back.

Schemas become `Schema`, records `Record`. On the way back everything takes one form, so that results are compared as
plain JSON: the same as `oracle/Codec.java` writes.
"""

import base64
import json
import math
import struct
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from penstock import Field, Float32, Header, Instant, Int8, Int16, Int32, Int64, Original, Record, Schema, Type
from penstock.schema import DATE_NAME, TIME_NAME

Json = Any

WIDTHS = {
    "$int8": (Type.INT8, Int8),
    "$int16": (Type.INT16, Int16),
    "$int32": (Type.INT32, Int32),
    "$int64": (Type.INT64, Int64),
}


def schema(node: Json) -> Schema | None:
    """A Schema of the cases."""
    if node is None:
        return None
    plain = Schema(
        Type(node["type"]),
        optional=node.get("optional", False),
        name=node.get("name"),
        version=node.get("version"),
        doc=node.get("doc"),
        parameters=node.get("parameters"),
        items=schema(node.get("items")),
        keys=schema(node.get("keys")),
        values=schema(node.get("values")),
        fields=tuple(Field(f["name"], _required(f["schema"])) for f in node.get("fields", ())),
    )
    if node.get("default") is None:
        return plain
    attributes = {name: getattr(plain, name) for name in plain.__dataclass_fields__}
    return Schema(**attributes | {"default": value(plain, node["default"])})


def _required(node: Json) -> Schema:
    found = schema(node)
    assert found is not None
    return found


def value(under: Schema | None, node: Json) -> Any:
    """A V of the cases, under a schema or none."""
    if node is None or isinstance(node, (bool, str)):
        return node
    if isinstance(node, list):
        return [value(under.items if under else None, n) for n in node]
    if len(node) == 1:
        ((tag, inner),) = node.items()
        if tag.startswith("$"):
            return _tagged(under, tag, inner)
    return {name: value(under.values if under else None, n) for name, n in node.items()}


def _tagged(under: Schema | None, tag: str, node: Json) -> Any:
    if tag in WIDTHS:
        kind, boxed = WIDTHS[tag]
        agrees = under.type is kind and under.name is None if under is not None else kind is Type.INT64
        return node if agrees else boxed(node)
    match tag:
        case "$float64":
            return float(node)
        case "$float32":
            number = _float32(float(node))
            return number if under is not None and under.type is Type.FLOAT32 else Float32(number)
        case "$bytes":
            return base64.b64decode(node)
        case "$decimal":
            return Decimal(node)
        case "$date" | "$time" | "$timestamp":
            return Instant(node)
        case "$map":
            keys, values = (under.keys, under.values) if under is not None else (None, None)
            return {value(keys, k): value(values, v) for k, v in node}
        case "$struct":
            assert under is not None
            return {f.name: value(f.schema, node.get(f.name)) for f in under.fields}
        case _:
            raise AssertionError(tag)


def _float32(number: float) -> float:
    try:
        return float(struct.unpack(">f", struct.pack(">f", number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)


def record(node: Json, *, sink: bool) -> Record:
    """A record of the cases; sink records have an offset and partition, 0 when not given."""
    key, data = node["key"], node["value"]
    key_schema, value_schema = schema(key["schema"]), schema(data["schema"])
    partition, offset = node["partition"], None
    if sink:
        partition, offset = partition or 0, node.get("offset") or 0
    return Record(
        topic=node["topic"],
        partition=partition,
        key=value(key_schema, key["value"]),
        key_schema=key_schema,
        value=value(value_schema, data["value"]),
        value_schema=value_schema,
        headers=tuple(header(h) for h in node["headers"]),
        timestamp=node["timestamp"],
        offset=offset,
        original=Original(node["topic"], partition, offset) if offset is not None and node["topic"] else None,
    )


def header(node: Json) -> Header:
    """A header of the cases."""
    shape = schema(node["schema"])
    return Header(node["name"], value(shape, node["value"]), shape)


# And back


def schema_json(given: Schema | None) -> Json:
    """As `Codec.schema` writes it."""
    if given is None:
        return None
    node: dict[str, Json] = {"type": given.type.value}
    if given.optional:
        node["optional"] = True
    for name in ("name", "version", "doc"):
        if getattr(given, name) is not None:
            node[name] = getattr(given, name)
    if given.parameters is not None:
        node["parameters"] = dict(given.parameters)
    if given.default is not None:
        node["default"] = value_json(given, given.default)
    if given.type is Type.ARRAY:
        node["items"] = schema_json(given.items)
    elif given.type is Type.MAP:
        node["keys"], node["values"] = schema_json(given.keys), schema_json(given.values)
    elif given.type is Type.STRUCT:
        node["fields"] = [{"name": f.name, "schema": schema_json(f.schema)} for f in given.fields]
    return node


def value_json(under: Schema | None, given: Any) -> Json:
    """As `Codec.value` writes it, but for the order of a map's entries."""
    match given:
        case None | bool() | str():
            return given
        case Instant():
            name = under.name if under is not None else None
            return {{DATE_NAME: "$date", TIME_NAME: "$time"}.get(str(name), "$timestamp"): int(given)}
        case int():
            return {_width(under, given): int(given)}
        case float():
            is_float = isinstance(given, Float32) or (under is not None and under.type is Type.FLOAT32)
            return {"$float32" if is_float else "$float64": _number(_float32(given) if is_float else given)}
        case bytes():
            return {"$bytes": base64.b64encode(given).decode()}
        case Decimal():
            return {"$decimal": str(given)}
        case list():
            return [value_json(under.items if under else None, v) for v in given]
        case dict() if under is not None and under.type is Type.STRUCT:
            assert given.keys() <= {f.name for f in under.fields}, "a field that the schema does not have"
            return {"$struct": {f.name: value_json(f.schema, given.get(f.name)) for f in under.fields}}
        case dict():
            return _map_json(under, given)
        case _:
            raise AssertionError(type(given))


def _width(under: Schema | None, given: int) -> str:
    for tag, (kind, boxed) in WIDTHS.items():
        if type(given) is boxed or (type(given) is int and under is not None and under.type is kind):
            return tag
    assert type(given) is int
    return "$int64"


def _number(number: float) -> Json:
    return number if math.isfinite(number) else "NaN" if math.isnan(number) else f"{'-' * (number < 0)}Infinity"


def _map_json(under: Schema | None, given: Mapping[Any, Any]) -> Json:
    keys, values = (under.keys, under.values) if under is not None else (None, None)
    if all(isinstance(k, str) and not k.startswith("$") for k in given):
        return {k: value_json(values, v) for k, v in given.items()}
    pairs = [[value_json(keys, k), value_json(values, v)] for k, v in given.items()]
    return {"$map": sorted(pairs, key=json.dumps)}


def record_json(given: Record) -> Json:
    """As `Codec.record` writes it."""
    return {
        "topic": given.topic,
        "partition": given.partition,
        "key": {"schema": schema_json(given.key_schema), "value": value_json(given.key_schema, given.key)},
        "value": {"schema": schema_json(given.value_schema), "value": value_json(given.value_schema, given.value)},
        "headers": [
            {"name": h.name, "schema": schema_json(h.schema), "value": value_json(h.schema, h.value)}
            for h in given.headers
        ],
        "timestamp": given.timestamp,
    }


def normal(node: Json) -> Json:
    """Expected JSON in the one form that is compared: pairs of a map sorted, floats as they are in their width."""
    if isinstance(node, list):
        return [normal(n) for n in node]
    if not isinstance(node, dict):
        return node
    if node.keys() == {"$map"}:
        return {"$map": sorted(([normal(k), normal(v)] for k, v in node["$map"]), key=json.dumps)}
    if node.keys() == {"$float32"}:
        return {"$float32": _number(_float32(float(node["$float32"])))}
    if node.keys() == {"$float64"}:
        return {"$float64": _number(float(node["$float64"]))}
    if node.keys() == {"$decimal"}:
        return {"$decimal": str(Decimal(node["$decimal"]))}
    return {k: normal(v) for k, v in node.items()}
