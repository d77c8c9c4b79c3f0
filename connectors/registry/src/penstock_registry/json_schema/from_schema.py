"""JSON Schemas for Connect's schemas, as Confluent's JsonSchemaData makes them."""

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from penstock import Schema, Type
from penstock.schema import DECIMAL_NAME
from penstock_registry.json_schema import names
from penstock_registry.json_schema.encoder import encoder
from penstock_registry.json_schema.java_text import default_number, hash_order, java_json, sized_order
from penstock_registry.json_schema.misfit import Misfit
from penstock_registry.json_schema.settings import JsonSettings

__all__ = ["json_schema_text"]

_NUMBERS: Final = {
    Type.INT8: "integer",
    Type.INT16: "integer",
    Type.INT32: "integer",
    Type.INT64: "integer",
    Type.FLOAT32: "number",
    Type.FLOAT64: "number",
}
_NULL: Final = {"type": "null"}


def json_schema_text(schema: Schema, settings: JsonSettings) -> str:
    """Return the JSON Schema as text, in the order of Confluent's converter.

    Raises:
        DataError: the default of a field does not fit its schema.
    """
    return java_json(_Builder(settings).build(schema))


class _Builder:
    def __init__(self, settings: JsonSettings) -> None:
        self._settings = settings

    def build(self, schema: Schema, index: int | None = None, *, as_branch: bool = False) -> dict[str, Any]:
        """Return a schema as JSON. A branch of a union is never optional."""
        place = {} if index is None else {names.CONNECT_INDEX: index}
        if names.is_union(schema):
            branches = [self.build(f.schema, number, as_branch=True) for number, f in enumerate(schema.fields)]
            return {**place, "oneOf": [_NULL, *branches] if schema.optional and not as_branch else branches}
        if schema.optional and not as_branch:
            return {**place, "oneOf": [_NULL, self.build(replace(schema, optional=False))]}
        head, kind, tail = self._shape(schema)
        return {**head, **self._common(schema), **place, **self._connect(schema, kind), **tail}

    def _shape(self, schema: Schema) -> tuple[dict[str, Any], str | None, dict[str, Any]]:
        """Return the properties before the common ones, `connect.type`, and the properties after them."""
        match schema.type:
            case Type.BOOLEAN:
                return {}, None, {"type": "boolean"}
            case Type.STRING if names.is_enum(schema):
                return {"enum": self._symbols(schema)}, None, {}
            case Type.STRING:
                return {"type": "string"}, None, {}
            case Type.BYTES:
                numeric = self._settings.numeric and schema.name == DECIMAL_NAME
                return {"type": "number" if numeric else "string"}, "bytes", {}
            case Type.ARRAY if schema.items is not None:
                return {"type": "array"}, None, {"items": self.build(schema.items)}
            case Type.MAP if schema.keys is not None and schema.values is not None:
                if names.is_object_map(schema):
                    return {"type": "object"}, "map", {"additionalProperties": self.build(schema.values)}
                entry = {names.KEY: self.build(schema.keys, 0), names.VALUE: self.build(schema.values, 1)}
                return {"type": "array"}, "map", {"items": {"type": "object", "properties": _hashed(entry)}}
            case Type.STRUCT:
                fields = {f.name: self.build(f.schema, index) for index, f in enumerate(schema.fields)}
                closed = {} if self._settings.additional else {"additionalProperties": False}
                return {"type": "object", **closed}, None, {"properties": _hashed(fields)} if fields else {}
            case _:
                return {"type": _NUMBERS[schema.type]}, str(schema.type), {}

    def _symbols(self, schema: Schema) -> list[str | None]:
        start = f"{names.enum_parameter(self._settings)}."
        found = [name.removeprefix(start) for name in schema.parameters or {} if name.startswith(start)]
        return hash_order(None if symbol == names.NULL_SYMBOL else symbol for symbol in found)

    def _common(self, schema: Schema) -> dict[str, Any]:
        found = {"title": schema.name, "description": schema.doc}
        common: dict[str, Any] = {name: value for name, value in found.items() if value is not None}
        if schema.default is not None:
            common["default"] = self._default(schema)
        return common

    def _default(self, schema: Schema) -> Any:
        try:
            text = encoder(schema, self._settings)(schema.default)
        except Misfit as e:
            raise e.as_error(f"cannot write a schema as JSON Schema: the default value of type {schema.type}") from None
        return _tree(json.loads(text, parse_float=Decimal), schema)

    def _connect(self, schema: Schema, kind: str | None) -> dict[str, Any]:
        found: dict[str, Any] = {names.CONNECT_VERSION: schema.version, names.CONNECT_TYPE: kind}
        parameters = {n: v for n, v in (schema.parameters or {}).items() if not n.startswith(names.NAMESPACE)}
        if parameters:
            found[names.CONNECT_PARAMETERS] = {n: parameters[n] for n in sized_order(map(str, hash_order(parameters)))}
        return {name: value for name, value in found.items() if value is not None}


def _hashed(properties: dict[str, Any]) -> dict[str, Any]:
    return {str(name): properties[str(name)] for name in hash_order(properties)}


def _tree(value: Any, schema: Schema | None) -> Any:
    """Return a default in the form of Java's schema text."""
    match value:
        case Decimal():
            return default_number(value, is_float=schema is None or schema.type is not Type.BYTES)
        case list():
            return [_tree(each, None if schema is None else schema.items) for each in value]
        case dict():
            inner = {f.name: f.schema for f in schema.fields} if schema is not None else {}
            values = schema.values if schema is not None else None
            return {name: _tree(each, inner.get(name, values)) for name, each in _hashed(value).items()}
        case _:
            return value
