"""Names of Connect's properties in Avro schemas, and of types and fields."""

import re
from typing import Final
from urllib.parse import quote_plus

from penstock import Schema, Type
from penstock_registry.avro.types import AvroType

__all__ = [
    "ANYTHING",
    "CONNECT_DEFAULT",
    "CONNECT_DOC",
    "CONNECT_INTERNAL_TYPE",
    "CONNECT_NAME",
    "CONNECT_PARAMETERS",
    "CONNECT_TYPE",
    "CONNECT_VERSION",
    "DEFAULT_NAME",
    "ENUM",
    "ENUM_DEFAULT",
    "ENUM_DOC",
    "FIELD_DEFAULT",
    "FIELD_DOC",
    "FIXED_SIZE",
    "MAP_ENTRY",
    "NAMESPACE",
    "PRECISION",
    "RECORD_DOC",
    "UNION",
    "is_map_entry",
    "is_union",
    "member_name",
    "scrubbed",
    "split",
]

NAMESPACE: Final = "io.confluent.connect.avro"
DEFAULT_NAME: Final = "ConnectDefault"
MAP_ENTRY: Final = "MapEntry"
ANYTHING: Final = f"{NAMESPACE}.Anything"
UNION: Final = f"{NAMESPACE}.Union"
ENUM: Final = f"{NAMESPACE}.Enum"
RECORD_DOC: Final = f"{NAMESPACE}.record.doc"
FIELD_DOC: Final = f"{NAMESPACE}.field.doc."
ENUM_DOC: Final = f"{NAMESPACE}.enum.doc."
ENUM_DEFAULT: Final = f"{NAMESPACE}.enum.default."
FIELD_DEFAULT: Final = f"{NAMESPACE}.field.default"
"""Parameter of a schema whose default comes from the field in Avro, not from `connect.default`."""
CONNECT_NAME: Final = "connect.name"
CONNECT_DOC: Final = "connect.doc"
CONNECT_VERSION: Final = "connect.version"
CONNECT_DEFAULT: Final = "connect.default"
CONNECT_PARAMETERS: Final = "connect.parameters"
CONNECT_TYPE: Final = "connect.type"
CONNECT_INTERNAL_TYPE: Final = "connect.internal.type"
PRECISION: Final = "connect.decimal.precision"
FIXED_SIZE: Final = "connect.fixed.size"

_VALID: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_AVRO_NAMES: Final = {
    Type.INT32: "int",
    Type.INT64: "long",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
    Type.BOOLEAN: "boolean",
    Type.STRING: "string",
    Type.BYTES: "bytes",
    Type.ARRAY: "array",
    Type.MAP: "map",
}


def scrubbed(name: str) -> str:
    """Return a valid name: other characters are percent-encoded, and then all invalid ones become underscores."""
    if not name or _VALID.fullmatch(name):
        return name
    encoded = quote_plus(name, safe="*").replace("~", "%7E")
    if encoded[0].isdigit():
        encoded = "x" + encoded
    return re.sub(r"[^A-Za-z0-9_]", "_", encoded)


def split(full: str, *, scrub: bool) -> tuple[str | None, str]:
    """Return the namespace, if any, and the simple name."""
    space, dot, name = full.rpartition(".")
    if not scrub:
        return (space if dot else None), name
    return (".".join(map(scrubbed, space.split("."))) if dot else None), scrubbed(name)


def is_union(schema: Schema) -> bool:
    """Return whether a struct represents an Avro union, with one field for each branch."""
    return schema.type is Type.STRUCT and schema.name == UNION


def is_map_entry(of: AvroType) -> bool:
    """Return whether a record is an entry of a map whose keys are not strings."""
    return of.kind == "record" and (
        of.name == f"{NAMESPACE}.{MAP_ENTRY}" or of.properties.get(CONNECT_INTERNAL_TYPE) == MAP_ENTRY
    )


def member_name(of: AvroType | Schema, *, full: bool) -> str:
    """Return the name of the field that holds a branch of a union.

    Args:
        of: the branch, as an Avro type or a Connect schema.
        full: whether named types have their full names (`enhanced.avro.schema.support`).
    """
    if isinstance(of, AvroType):
        name = of.name or of.kind
    elif of.type is Type.STRUCT or ENUM in (of.parameters or {}) or FIXED_SIZE in (of.parameters or {}):
        name = of.name or of.type.value
    else:
        name = _AVRO_NAMES.get(of.type, "int")
    return name if full else name.rpartition(".")[2]
