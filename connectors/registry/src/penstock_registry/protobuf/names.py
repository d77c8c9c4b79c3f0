"""Names of parameters of Connect's schemas, of types in Protobuf, and of messages and fields."""

import re
from typing import Final
from urllib.parse import quote_plus

from penstock import DataError, Schema, Type

__all__ = [
    "CONNECT_PRECISION",
    "CONNECT_TYPE",
    "DATE",
    "DECIMAL",
    "DEFAULT_NAME",
    "ENUM",
    "PRECISION",
    "SCALE",
    "TAG",
    "TIME",
    "TIMESTAMP",
    "TYPE",
    "UNION",
    "WRAPPER",
    "WRAPPERS",
    "checked",
    "enum_of",
    "is_union",
    "map_entry",
    "map_field",
]

_NAMESPACE: Final = "io.confluent.connect.protobuf"
ENUM: Final = f"{_NAMESPACE}.Enum"
UNION: Final = f"{_NAMESPACE}.Union"
TAG: Final = f"{_NAMESPACE}.Tag"
TYPE: Final = f"{_NAMESPACE}.Type"
WRAPPER: Final = f"{_NAMESPACE}.Wrapper"
"""Parameter of a field of a oneof that is a wrapper message."""
DEFAULT_NAME: Final = "ConnectDefault"
CONNECT_TYPE: Final = "connect.type"
CONNECT_PRECISION: Final = "connect.decimal.precision"
PRECISION: Final = "precision"
SCALE: Final = "scale"

DECIMAL: Final = "confluent.type.Decimal"
DATE: Final = "google.type.Date"
TIME: Final = "google.type.TimeOfDay"
TIMESTAMP: Final = "google.protobuf.Timestamp"

WRAPPERS: Final = {
    "double": "google.protobuf.DoubleValue",
    "float": "google.protobuf.FloatValue",
    "int64": "google.protobuf.Int64Value",
    "uint64": "google.protobuf.UInt64Value",
    "int32": "google.protobuf.Int32Value",
    "uint32": "google.protobuf.UInt32Value",
    "bool": "google.protobuf.BoolValue",
    "string": "google.protobuf.StringValue",
    "bytes": "google.protobuf.BytesValue",
}
"""Wrapper messages by the type of their value, in the order of google/protobuf/wrappers.proto."""

_ENTRY: Final = "Entry"
_VALID: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_UNCHANGED: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def checked(name: str, *, scrub: bool) -> str:
    """Return the name of a message or field, made valid if `scrub`.

    Raises:
        DataError: it is not valid.
    """
    if scrub:
        return _scrubbed(name)
    if not _VALID.fullmatch(name):
        raise DataError(
            f"the name '{name}' is not valid in Protobuf: it may contain only ASCII letters, digits and underscores; rename "
            "it, or set scrub.invalid.names=true"
        )
    return name


def _scrubbed(name: str) -> str:
    """Return a valid name: other characters are percent-encoded, and then all invalid ones become underscores."""
    if not name or _UNCHANGED.fullmatch(name):
        return name
    encoded = quote_plus(name, safe="*").replace("~", "%7E")
    if encoded[0].isdigit() or encoded[0] == "_":
        encoded = "x" + encoded
    return re.sub(r"[^A-Za-z0-9_]", "_", encoded)


def map_entry(name: str) -> str:
    """Return the name of the message for the entries of a map."""
    if "_" in name:
        name = "".join(word.capitalize() for word in name.split("_"))
    return name + _ENTRY


def map_field(name: str) -> str:
    """Return the name of a map whose entries are messages with this name."""
    space, dot, last = name.rpartition(".")
    if last.endswith(_ENTRY):
        last = re.sub(r"(?<!^)(?=[A-Z])", "_", last.removesuffix(_ENTRY)).lower()
    return space + dot + last


def is_union(schema: Schema) -> bool:
    """Return whether a struct represents a oneof, with one field for each of its fields."""
    return schema.type is Type.STRUCT and (schema.name or "").startswith(UNION)


def enum_of(schema: Schema) -> str | None:
    """Return the name of the enum that a schema has in Protobuf; None if it is not an enum."""
    if schema.type not in (Type.STRING, Type.INT32):
        return None
    return (schema.parameters or {}).get(ENUM)
