"""Conversion of schemas to JSON and back: `JsonConverter.asJsonSchema` and `asConnectSchema`."""

from typing import Any, Final

from penstock import DataError, Field, Schema, SchemaBuilderError, Type
from penstock_plugins.connect.number_casts import low_bits
from penstock_plugins.connect.values import validate_value
from penstock_plugins.converters.json.nodes import NodeReader
from penstock_plugins.converters.json.writer import JsonWriter, quote

__all__ = ["read_schema", "schema_json"]

_NAMES: Final = {Type.FLOAT32: "float", Type.FLOAT64: "double"}
_TYPES: Final = {_NAMES.get(t, t.value): t for t in Type}


def schema_json(schema: Schema | None, writer: JsonWriter) -> str:
    """Return the JSON of a schema; defaults are written as values are.

    Raises:
        DataError: a default does not fit its schema.
    """
    return "null" if schema is None else "{" + ",".join(_members(schema, writer)) + "}"


def _members(schema: Schema, writer: JsonWriter) -> list[str]:
    members = [f'"type":"{_NAMES.get(schema.type, schema.type.value)}"']
    if schema.type is Type.ARRAY:
        members.append(f'"items":{schema_json(schema.items, writer)}')
    elif schema.type is Type.MAP:
        members.append(f'"keys":{schema_json(schema.keys, writer)}')
        members.append(f'"values":{schema_json(schema.values, writer)}')
    elif schema.type is Type.STRUCT:
        fields = [
            "{" + ",".join([*_members(f.schema, writer), f'"field":{quote(f.name)}']) + "}" for f in schema.fields
        ]
        members.append(f'"fields":[{",".join(fields)}]')
    members.append(f'"optional":{"true" if schema.optional else "false"}')
    if schema.name is not None:
        members.append(f'"name":{quote(schema.name)}')
    if schema.version is not None:
        members.append(f'"version":{schema.version}')
    if schema.doc is not None:
        members.append(f'"doc":{quote(schema.doc)}')
    if schema.parameters is not None:
        entries = ",".join(f"{quote(k)}:{quote(v)}" for k, v in schema.parameters.items())
        members.append(f'"parameters":{{{entries}}}')
    if schema.default is not None:
        members.append(f'"default":{writer.default(schema)}')
    return members


def read_schema(node: Any, values: NodeReader) -> Schema | None:
    """Return the schema of a JSON node. `values` reads its default.

    Raises:
        DataError: the node is not a schema; with Kafka Connect's message.
    """
    if node is None:
        return None
    get = node.get if isinstance(node, dict) else lambda _: None
    name = get("type")
    if not isinstance(name, str):
        raise DataError("Schema must contain 'type' field")
    kind = _TYPES.get(name)
    if kind is None:
        raise DataError(f"Unknown schema type: {name}")
    parts: dict[str, Any] = {}
    if kind is Type.ARRAY:
        parts["items"] = read_schema(get("items"), values)
        if parts["items"] is None:
            raise DataError("Array schema did not specify the element type")
    elif kind is Type.MAP:
        parts.update(_map_parts(node, values))
    elif kind is Type.STRUCT:
        parts["fields"] = _fields(get("fields"), values)
    version = get("version")
    schema = Schema(
        kind,
        optional=get("optional") is True,
        name=get("name") if isinstance(get("name"), str) else None,
        version=low_bits(version, Type.INT32) if type(version) is int else None,
        doc=get("doc") if isinstance(get("doc"), str) else None,
        parameters=_parameters(get("parameters")),
        **parts,
    )
    if isinstance(node, dict) and "default" in node:
        return _with_default(schema, node["default"], values)
    return schema


def _map_parts(node: Any, values: NodeReader) -> dict[str, Schema]:
    for part in ("keys", "values"):
        if part not in node:
            raise DataError(f"Map schema did not specify the {part.removesuffix('s')} type")
    parts = {part: read_schema(node[part], values) for part in ("keys", "values")}
    present = {part: schema for part, schema in parts.items() if schema is not None}
    for part in parts:
        if part not in present:
            raise SchemaBuilderError(f"{part.removesuffix('s')}Schema cannot be null.")
    return present


def _fields(node: Any, values: NodeReader) -> tuple[Field, ...]:
    if not isinstance(node, list):
        raise DataError('Struct schema\'s "fields" argument is not an array.')
    fields: list[Field] = []
    for item in node:
        name = item.get("field") if isinstance(item, dict) else None
        if not isinstance(name, str):
            raise DataError("Struct schema's field name not specified properly")
        schema = read_schema(item, values)
        assert schema is not None
        if not name:
            raise SchemaBuilderError("fieldName cannot be null.")
        if any(f.name == name for f in fields):
            raise SchemaBuilderError(f"Cannot create field because of field name duplication {name}")
        fields.append(Field(name, schema))
    return tuple(fields)


def _with_default(schema: Schema, node: Any, values: NodeReader) -> Schema:
    default = values.value(schema, node)
    if schema.type is Type.STRUCT and default is not None:
        # Kafka Connect compares the struct's schema with its unfinished builder here, and they are never equal.
        raise SchemaBuilderError("Invalid default value")
    try:
        validate_value("null", schema, default)
    except DataError as e:
        raise SchemaBuilderError("Invalid default value") from e
    return Schema(**{f: getattr(schema, f) for f in schema.__dataclass_fields__} | {"default": default})


def _parameters(node: Any) -> dict[str, str] | None:
    if not isinstance(node, dict):
        return None
    if not all(isinstance(v, str) for v in node.values()):
        raise DataError("Schema parameters must have string values.")
    return node or None
