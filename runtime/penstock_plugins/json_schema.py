"""Connect's schemas as JsonConverter writes them into the envelope."""

from typing import Final

from penstock import Schema, Type
from penstock_plugins.json_writer import JsonWriter, quoted

__all__ = ["NAMES", "schema_json"]

NAMES: Final = {Type.FLOAT32: "float", Type.FLOAT64: "double"}
"""Types whose names on the wire are not their own."""


def schema_json(schema: Schema | None, writer: JsonWriter) -> str:
    """The JSON of a schema; defaults are written as values are.

    Raises:
        DataError: a default does not fit its schema.
    """
    return "null" if schema is None else "{" + ",".join(_members(schema, writer)) + "}"


def _members(schema: Schema, writer: JsonWriter) -> list[str]:
    members = [f'"type":"{NAMES.get(schema.type, schema.type.value)}"']
    if schema.type is Type.ARRAY:
        members.append(f'"items":{schema_json(schema.items, writer)}')
    elif schema.type is Type.MAP:
        members.append(f'"keys":{schema_json(schema.keys, writer)}')
        members.append(f'"values":{schema_json(schema.values, writer)}')
    elif schema.type is Type.STRUCT:
        fields = [
            "{" + ",".join([*_members(f.schema, writer), f'"field":{quoted(f.name)}']) + "}" for f in schema.fields
        ]
        members.append(f'"fields":[{",".join(fields)}]')
    members.append(f'"optional":{"true" if schema.optional else "false"}')
    if schema.name is not None:
        members.append(f'"name":{quoted(schema.name)}')
    if schema.version is not None:
        members.append(f'"version":{schema.version}')
    if schema.doc is not None:
        members.append(f'"doc":{quoted(schema.doc)}')
    if schema.parameters is not None:
        entries = ",".join(f"{quoted(k)}:{quoted(v)}" for k, v in schema.parameters.items())
        members.append(f'"parameters":{{{entries}}}')
    if schema.default is not None:
        members.append(f'"default":{writer.write(schema, schema.default)}')
    return members
