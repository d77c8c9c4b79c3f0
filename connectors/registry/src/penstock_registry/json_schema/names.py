"""Names of Connect's properties in JSON Schemas, and Connect's names for features that only JSON Schema has."""

from typing import Final

from penstock import Schema, Type
from penstock_registry.json_schema.settings import JsonSettings

__all__ = [
    "CONNECT_INDEX",
    "CONNECT_PARAMETERS",
    "CONNECT_TYPE",
    "CONNECT_VERSION",
    "KEY",
    "NAMESPACE",
    "NULL_SYMBOL",
    "VALUE",
    "enum_parameter",
    "is_enum",
    "is_object_map",
    "is_union",
    "member_name",
    "union_name",
    "union_parameter",
]

CONNECT_TYPE: Final = "connect.type"
CONNECT_VERSION: Final = "connect.version"
CONNECT_PARAMETERS: Final = "connect.parameters"
CONNECT_INDEX: Final = "connect.index"

NAMESPACE: Final = "io.confluent.connect.json"
KEY: Final = "key"
VALUE: Final = "value"
NULL_SYMBOL: Final = "<NULL>"
"""Symbol of an enum for null."""

_ENUM: Final = f"{NAMESPACE}.Enum"
_ONE_OF: Final = f"{NAMESPACE}.OneOf"
_GENERAL_ENUM: Final = "org.apache.kafka.connect.data.Enum"
_GENERAL_UNION: Final = "org.apache.kafka.connect.data.Union"


def enum_parameter(settings: JsonSettings) -> str:
    """Return the parameter that marks an enum; the parameters of its symbols begin with it, too."""
    return _GENERAL_ENUM if settings.generalized else _ENUM


def is_enum(schema: Schema) -> bool:
    """Return whether a string is an enum."""
    return schema.type is Type.STRING and bool({_ENUM, _GENERAL_ENUM} & (schema.parameters or {}).keys())


def is_union(schema: Schema) -> bool:
    """Return whether a struct represents a union: it has one field for each schema, and one of them is set."""
    return schema.type is Type.STRUCT and (schema.name == _ONE_OF or _GENERAL_UNION in (schema.parameters or {}))


def union_name(number: int, settings: JsonSettings) -> str:
    """Return the name of a struct for a union. `number` is the number of unions before it in the schema."""
    return f"connect_union_{number}" if settings.generalized else _ONE_OF


def union_parameter(name: str, settings: JsonSettings) -> dict[str, str]:
    """Return the parameters of a struct for a union."""
    return {_GENERAL_UNION: name} if settings.generalized else {}


def member_name(index: int, settings: JsonSettings) -> str:
    """Return the name of the field for a schema of a union."""
    return f"connect_union_field_{index}" if settings.generalized else f"{_ONE_OF}.field.{index}"


def is_object_map(schema: Schema) -> bool:
    """Return whether a map is an object in JSON; otherwise it is an array of entries."""
    keys = schema.keys
    return keys is not None and keys.type is Type.STRING and not keys.optional
