"""Schemas of Connect's data model.

A schema is immutable, and shared by all records with the same structure. It is hashable, so that work can be cached per
schema.

Values with a schema are plain Python data:

| type | Python |
|---|---|
| int8 .. int64 | `int` |
| float32, float64 | `float` |
| boolean, string, bytes | `bool`, `str`, `bytes` |
| array, map | `list`, `dict` |
| struct | `dict` with the field names as keys, in field order |
| Decimal | `decimal.Decimal` |
| Date, Time, Timestamp | `penstock.values.Instant`, milliseconds since 1970-01-01T00:00Z |

None is the null value of every optional type. Values without a schema use the same Python types; an `int` is then an int64
and a `float` a float64, and the classes of `penstock.values` provide the other widths.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, Final

from penstock.errors import SchemaBuilderError

__all__ = [
    "BOOLEAN",
    "BYTES",
    "DATE",
    "DATE_NAME",
    "DECIMAL_NAME",
    "FLOAT32",
    "FLOAT64",
    "INT8",
    "INT16",
    "INT32",
    "INT64",
    "OPTIONAL_BYTES",
    "OPTIONAL_STRING",
    "STRING",
    "TIME",
    "TIMESTAMP",
    "TIMESTAMP_NAME",
    "TIME_NAME",
    "Field",
    "Schema",
    "Type",
    "array_of",
    "decimal",
    "map_of",
    "struct",
]


class Type(StrEnum):
    """Types of Connect's data model, with their serialized names."""

    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    BOOLEAN = "boolean"
    STRING = "string"
    BYTES = "bytes"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"


@dataclass(frozen=True, slots=True)
class Field:
    """Field of a struct; its index is its position in `Schema.fields`."""

    name: str
    schema: "Schema"


@dataclass(frozen=True, repr=False)
class Schema:
    """Schema of a value. Equal schemas are interchangeable. `default` is None if there is no default.

    Its `repr` is a Python expression with the names of this module: `struct({'id': INT64, 'name': OPTIONAL_STRING})`.

    Raises:
        SchemaBuilderError: two fields have the same name, or a name is empty.
    """

    type: Type
    optional: bool = False
    name: str | None = None
    version: int | None = None
    doc: str | None = None
    parameters: Mapping[str, str] | None = field(default=None, hash=False)
    default: Any = field(default=None, hash=False)
    items: "Schema | None" = None
    """The schema of an array's elements."""
    keys: "Schema | None" = None
    values: "Schema | None" = None
    fields: tuple[Field, ...] = ()

    def __post_init__(self) -> None:
        names = {f.name for f in self.fields}
        if "" in names:
            raise SchemaBuilderError("fieldName cannot be null: a field of a struct must have a non-empty name.")
        if len(names) != len(self.fields):
            seen: set[str] = set()
            twice = next(f.name for f in self.fields if f.name in seen or seen.add(f.name))  # type: ignore[func-returns-value]
            raise SchemaBuilderError(f"Cannot create field because of field name duplication {twice}")

    def __repr__(self) -> str:
        constant = _CONSTANTS.get(self)
        if constant is not None and self.parameters is None and self.default is None:
            return constant
        called = self._called()
        if called is not None:
            function, arguments, shown = called
            if replace(self, optional=False) == shown:
                return f"{function}({', '.join([*arguments, *(['optional=True'] if self.optional else [])])})"
        given = ((f.name, getattr(self, f.name), f.default) for f in fields(self) if f.name != "type")
        words = [f"{name}={value!r}" for name, value, default in given if value != default]
        return f"Schema({', '.join([f'Type.{self.type.name}', *words])})"

    def _called(self) -> "tuple[str, list[str], Schema] | None":
        """Return the function of this module that creates the required schema, its arguments, and its result."""
        match self:
            case Schema(name="org.apache.kafka.connect.data.Decimal", parameters={"scale": str(scale)}) if (
                scale.isdigit()
            ):
                return "decimal", [scale], decimal(int(scale))
            case Schema(type=Type.ARRAY, items=Schema() as items):
                return "array_of", [repr(items)], array_of(items)
            case Schema(type=Type.MAP, keys=Schema() as keys, values=Schema() as values):
                return "map_of", [repr(keys), repr(values)], map_of(keys, values)
            case Schema(type=Type.STRUCT):
                shape = {f.name: f.schema for f in self.fields}
                words = [f"{n}={v!r}" for n, v in (("name", self.name), ("version", self.version)) if v is not None]
                return "struct", [repr(shape), *words], struct(shape, name=self.name, version=self.version)
            case _:
                return None

    def field(self, name: str) -> Field | None:
        """Return the field with that name, or None."""
        return next((f for f in self.fields if f.name == name), None)

    def as_optional(self) -> "Schema":
        """Return the same schema, with null allowed."""
        return self if self.optional else replace(self, optional=True)


INT8 = Schema(Type.INT8)
INT16 = Schema(Type.INT16)
INT32 = Schema(Type.INT32)
INT64 = Schema(Type.INT64)
FLOAT32 = Schema(Type.FLOAT32)
FLOAT64 = Schema(Type.FLOAT64)
BOOLEAN = Schema(Type.BOOLEAN)
STRING = Schema(Type.STRING)
BYTES = Schema(Type.BYTES)
"""Schemas of Connect's primitive types: required, and without a name."""

OPTIONAL_STRING = Schema(Type.STRING, optional=True)
OPTIONAL_BYTES = Schema(Type.BYTES, optional=True)
"""Optional schemas of strings and bytes. For other types, use `Schema.as_optional`."""

DECIMAL_NAME = "org.apache.kafka.connect.data.Decimal"
DATE_NAME = "org.apache.kafka.connect.data.Date"
TIME_NAME = "org.apache.kafka.connect.data.Time"
TIMESTAMP_NAME = "org.apache.kafka.connect.data.Timestamp"
"""Names of Kafka Connect's logical types (`Schema.name`)."""

DATE = Schema(Type.INT32, name=DATE_NAME, version=1)
TIME = Schema(Type.INT32, name=TIME_NAME, version=1)
TIMESTAMP = Schema(Type.INT64, name=TIMESTAMP_NAME, version=1)
"""Required logical types with `Instant` values. See also `decimal`."""


def decimal(scale: int, *, optional: bool = False) -> Schema:
    """Return the logical type Decimal with `scale` decimal places."""
    return Schema(Type.BYTES, optional=optional, name=DECIMAL_NAME, version=1, parameters={"scale": str(scale)})


def array_of(items: Schema, *, optional: bool = False) -> Schema:
    """Return an array schema with elements of this schema."""
    return Schema(Type.ARRAY, optional=optional, items=items)


def map_of(keys: Schema, values: Schema, *, optional: bool = False) -> Schema:
    """Return a map schema with keys and values of these schemas."""
    return Schema(Type.MAP, optional=optional, keys=keys, values=values)


def struct(
    fields: Mapping[str, Schema], *, name: str | None = None, version: int | None = None, optional: bool = False
) -> Schema:
    """Return a struct schema with these fields, in this order.

    Raises:
        SchemaBuilderError: a field name is empty.
    """
    return Schema(
        Type.STRUCT,
        optional=optional,
        name=name,
        version=version,
        fields=tuple(Field(n, s) for n, s in fields.items()),
    )


_CONSTANTS: Final[Mapping[Schema, str]] = {
    schema: name for name, schema in list(globals().items()) if name.isupper() and isinstance(schema, Schema)
}
"""Constants of this module by schema, used by `repr`. The hash of a schema excludes parameters and default."""
