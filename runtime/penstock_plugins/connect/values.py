"""Java class of a Python value, and its validation under a schema: `ConnectSchema.validateValue`.

A plain `int` or `float` has the width of its schema. An instance of a class of `penstock.values` (`Int8` and so on)
is the boxed type of that name, and valid only under that width.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, TypeVar

from penstock import DataError, Fields, Float32, Float64, Instant, Int8, Int16, Int32, Int64, Same, Schema, Type
from penstock.schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME

__all__ = [
    "BOUNDS",
    "CLASSES",
    "LOGICAL",
    "all_valid",
    "common_schema",
    "is_of_type",
    "java_class",
    "map_present",
    "null_error",
    "type_of",
    "validate_value",
]

T = TypeVar("T")

BOUNDS: Final[Mapping[Type, tuple[int, int]]] = {
    Type.INT8: (-(2**7), 2**7 - 1),
    Type.INT16: (-(2**15), 2**15 - 1),
    Type.INT32: (-(2**31), 2**31 - 1),
    Type.INT64: (-(2**63), 2**63 - 1),
}
"""Minimum and maximum of each integer type."""

CLASSES: Final[Mapping[Type, type]] = {Type.INT8: Int8, Type.INT16: Int16, Type.INT32: Int32, Type.INT64: Int64}
"""Class that marks an integer of that width."""

LOGICAL: Final[Mapping[str, type]] = {
    DECIMAL_NAME: Decimal,
    DATE_NAME: Instant,
    TIME_NAME: Instant,
    TIMESTAMP_NAME: Instant,
}
"""Logical types: schema names that determine the class of a value, for schemas of any type."""

_PLAIN: Final[Mapping[Type, type]] = {
    Type.FLOAT32: float,
    Type.FLOAT64: float,
    Type.BOOLEAN: bool,
    Type.STRING: str,
    Type.BYTES: bytes,
    Type.ARRAY: list,
    Type.MAP: dict,
    Type.STRUCT: dict,
}

_FLOATS: Final[Mapping[Type, type]] = {Type.FLOAT32: Float32, Type.FLOAT64: Float64}
"""Class that marks a float of that width."""

_JAVA: Final[Mapping[type, str]] = {
    bool: "java.lang.Boolean",
    str: "java.lang.String",
    bytes: "[B",
    list: "java.util.ArrayList",
    dict: "java.util.HashMap",
    Int8: "java.lang.Byte",
    Int16: "java.lang.Short",
    Int32: "java.lang.Integer",
    Int64: "java.lang.Long",
    float: "java.lang.Double",
    Float32: "java.lang.Float",
    Float64: "java.lang.Double",
    Decimal: "java.math.BigDecimal",
    Instant: "java.util.Date",
}

_TYPES: Final[Mapping[type, Type]] = {
    bool: Type.BOOLEAN,
    str: Type.STRING,
    bytes: Type.BYTES,
    list: Type.ARRAY,
    dict: Type.MAP,
    Int8: Type.INT8,
    Int16: Type.INT16,
    Int32: Type.INT32,
    Int64: Type.INT64,
    int: Type.INT64,
    float: Type.FLOAT64,
    Float32: Type.FLOAT32,
    Float64: Type.FLOAT64,
}

_BOXED: Final[Mapping[Type, str]] = {
    Type.INT8: "java.lang.Byte",
    Type.INT16: "java.lang.Short",
    Type.INT32: "java.lang.Integer",
    Type.INT64: "java.lang.Long",
}


def java_class(schema: Schema | None, value: object) -> str:
    """Return the name of the value's class in Kafka Connect, as in its error messages."""
    if type(value) is int:
        if schema is not None and schema.type in BOUNDS and is_of_type(schema.type, value):
            return _BOXED[schema.type]
        return "java.lang.Long" if is_of_type(Type.INT64, value) else "java.math.BigInteger"
    if type(value) is dict and schema is not None and schema.type is Type.STRUCT:
        return "org.apache.kafka.connect.data.Struct"
    if type(value) is float and schema is not None and schema.type is Type.FLOAT32:
        return "java.lang.Float"
    return _JAVA.get(type(value), f"{type(value).__module__}.{type(value).__qualname__}")


def type_of(value: object) -> Type | None:
    """Return the schema type of a value without a schema; None if Connect has none for its class."""
    kind = _TYPES.get(type(value))
    if kind is None and isinstance(value, str):
        return Type.STRING
    return kind


def is_of_type(kind: Type, value: object) -> bool:
    """Return whether the value is of the class that the schema type requires. Does not look inside containers."""
    bounds = BOUNDS.get(kind)
    if bounds is not None:
        if type(value) is int:
            return bounds[0] <= value <= bounds[1]
        return type(value) is CLASSES[kind]
    if type(value) is _PLAIN[kind]:
        return True
    if kind in _FLOATS:
        return type(value) is _FLOATS[kind]
    return kind is Type.STRING and isinstance(value, str)


def all_valid(schema: Schema, values: Sequence[Any]) -> bool:
    """Return whether a fast check shows that all values are valid under the schema. False may also mean unknown."""
    kind = schema.type
    if schema.name in LOGICAL or kind in (Type.ARRAY, Type.MAP):
        return False
    if kind is Type.STRUCT:
        fields = Fields.of(values)
        return (
            fields is not None
            and tuple(fields.columns) == tuple(f.name for f in schema.fields)
            and all(
                all_valid(field.schema, [column.value] if isinstance(column, Same) else column)
                for field, column in zip(schema.fields, fields.columns.values(), strict=True)
            )
        )
    types = set(map(type, values))
    if schema.optional:
        types.discard(type(None))
    if kind in BOUNDS:
        low, high = BOUNDS[kind]
        if not types <= {int}:
            return False
        numbers = [v for v in values if v is not None] if schema.optional else values
        return not numbers or (min(numbers) >= low and max(numbers) <= high)
    return types <= {_PLAIN[kind]}


def null_error(name: str, schema: Schema) -> DataError:
    """Return the error for a null in a required field."""
    return DataError(f'Invalid value: null used for required field: "{name}", schema type: {schema.type.upper()}')


def validate_value(name: str, schema: Schema, value: object) -> None:
    """Validate the value of a field, as `Struct.put` does.

    Raises:
        DataError: the value is invalid; with Kafka Connect's message.
    """
    if value is None:
        if not schema.optional:
            raise null_error(name, schema)
        return
    logical_class = LOGICAL.get(schema.name) if schema.name is not None else None
    if not (type(value) is logical_class if logical_class is not None else is_of_type(schema.type, value)):
        description = f'"{schema.name}" with type ' if schema.name is not None else "with type "
        raise DataError(
            f"Invalid Java object for schema {description}{schema.type.upper()}: class {java_class(None, value)}"
            f' for field: "{name}"'
        )
    if logical_class is not None:
        return
    if isinstance(value, list) and schema.items is not None:
        for item in value:
            validate_value(name, schema.items, item)
    elif isinstance(value, dict):
        _validate_entries(name, schema, value)


def _validate_entries(name: str, schema: Schema, value: Mapping[Any, Any]) -> None:
    if schema.type is Type.MAP:
        if schema.keys is not None and schema.values is not None:
            for key, item in value.items():
                validate_value(name, schema.keys, key)
                validate_value(name, schema.values, item)
        return
    for field in schema.fields:
        item = value.get(field.name)
        if item is not None or not (field.schema.optional or field.schema.default is not None):
            validate_value(field.name, field.schema, item)


def common_schema(schemas: list[Schema | None]) -> Schema | None | list[Schema | None]:
    """Return the schemas of a batch as `RecordBatch` holds them: one if all are the same object, otherwise the list.

    `penstock` has the same function, which is not public.
    """
    first = schemas[0] if schemas else None
    return first if all(s is first for s in schemas) else schemas


def map_present(convert: Callable[[list[Any]], Iterable[T]], values: Sequence[Any]) -> list[T | None]:
    """Convert the values that are not null, in one call; nulls stay null."""
    present = [v for v in values if v is not None]
    converted = iter(convert(present) if present else ())
    return [None if v is None else next(converted) for v in values]
