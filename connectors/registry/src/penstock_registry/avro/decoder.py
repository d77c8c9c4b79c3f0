"""Conversion of values that fastavro reads with a physical schema to Connect's values."""

from collections.abc import Callable, Sequence
from typing import Any

from penstock import DataError, Float32, Int32, Schema, Type
from penstock_registry.avro.physical import branch_field
from penstock_registry.avro.types import AvroType
from penstock_registry.logical import from_stored

__all__ = ["Decode", "decode_anything", "decoder"]

Decode = Callable[[Any], Any]
"""Function that converts a value; containers are modified in place."""


def decoder(of: AvroType, schema: Schema) -> Decode | None:
    """Return the function that converts values other than None; None if they need no conversion."""
    if (branch := of.optional_branch) is not None:
        return decoder(branch, schema)
    match of.kind:
        case "union":
            return _union(of, schema)
        case "record":
            return _record(of, schema)
        case "array" if schema.type is Type.MAP and schema.keys is not None and schema.values is not None:
            return _entries(of.element, schema.keys, schema.values)
        case "array" if schema.items is not None:
            return _list(_optional(decoder(of.element, schema.items)))
        case "map" if schema.values is not None:
            return _map(_optional(decoder(of.element, schema.values)))
        case _:
            return from_stored(schema)


def _optional(decode: Decode | None) -> Decode | None:
    if decode is None:
        return None
    return lambda value: None if value is None else decode(value)


def _list(decode: Decode | None) -> Decode | None:
    return None if decode is None else lambda values: [decode(value) for value in values]


def _map(decode: Decode | None) -> Decode | None:
    return None if decode is None else lambda values: {key: decode(value) for key, value in values.items()}


def _record(of: AvroType, schema: Schema) -> Decode | None:
    found = [(f.name, decoder(each.type, f.schema)) for each, f in zip(of.fields, schema.fields, strict=True)]
    changed = [(name, decode) for name, decode in found if decode is not None]
    if not changed:
        return None

    def decode_record(record: dict[str, Any]) -> dict[str, Any]:
        for name, decode in changed:
            value = record[name]
            if value is not None:
                record[name] = decode(value)
        return record

    return decode_record


def _union(of: AvroType, schema: Schema) -> Decode:
    branches = [(i, branch) for i, branch in enumerate(of.branches) if branch.kind != "null"]
    members = {
        branch_field(i): (f.name, decoder(branch, f.schema))
        for (i, branch), f in zip(branches, schema.fields, strict=True)
    }
    empty = dict.fromkeys((f.name for f in schema.fields), None)

    def decode_union(wrapped: dict[str, Any]) -> dict[str, Any]:
        ((branch, value),) = wrapped.items()
        name, decode = members[branch]
        return {**empty, name: value if decode is None else decode(value)}

    return decode_union


def _entries(entry: AvroType, keys: Schema, values: Schema) -> Decode:
    types = {f.name: f.type for f in entry.fields}
    decode_key = _optional(decoder(types["key"], keys)) or _same
    decode_value = _optional(decoder(types["value"], values)) or _same

    def decode_entries(entries: Sequence[dict[str, Any]]) -> dict[Any, Any]:
        try:
            return {decode_key(each["key"]): decode_value(each["value"]) for each in entries}
        except TypeError:
            raise DataError("cannot read a map: its keys are arrays, maps or structs") from None

    return decode_entries


def _same(value: Any) -> Any:
    return value


def decode_anything(value: dict[str, Any]) -> Any:
    """Return a value without a schema from the record that holds it: the only field that is set; None: no field is set."""
    for kind, content in value.items():
        if content is None:
            continue
        match kind:
            case "int":
                return Int32(content)
            case "float":
                return Float32(content)
            case "array":
                return [decode_anything(each) for each in content]
            case "map":
                try:
                    return {decode_anything(each["key"]): decode_anything(each["value"]) for each in content}
                except TypeError:
                    raise DataError("cannot read a map: its keys are arrays or maps") from None
            case _:
                return content
    return None
