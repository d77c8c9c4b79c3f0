"""What a value would be in Java, and whether it may stand under a schema: `ConnectSchema.validateValue` for Python data.

A plain `int` or `float` takes the width of the schema above it; a value of one of the classes of `penstock.values` is the
boxed type that its name says, and stands under no other width.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from penstock import DataError, Fields, Float32, Instant, Int8, Int16, Int32, Int64, Same, Schema, Type
from penstock.schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME

__all__ = [
    "BOUNDS",
    "CLASSES",
    "LOGICAL",
    "all_valid",
    "is_of_type",
    "java_class",
    "null_error",
    "type_of",
    "validate_value",
]

BOUNDS: Final[Mapping[Type, tuple[int, int]]] = {
    Type.INT8: (-(2**7), 2**7 - 1),
    Type.INT16: (-(2**15), 2**15 - 1),
    Type.INT32: (-(2**31), 2**31 - 1),
    Type.INT64: (-(2**63), 2**63 - 1),
}
"""The least and the greatest number of each integer type."""

CLASSES: Final[Mapping[Type, type]] = {Type.INT8: Int8, Type.INT16: Int16, Type.INT32: Int32, Type.INT64: Int64}
"""The class that names an integer's width."""

LOGICAL: Final[Mapping[str, type]] = {
    DECIMAL_NAME: Decimal,
    DATE_NAME: Instant,
    TIME_NAME: Instant,
    TIMESTAMP_NAME: Instant,
}
"""Schema names that decide about the value's class, whatever the schema's type is."""

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
}

_BOXED: Final[Mapping[Type, str]] = {
    Type.INT8: "java.lang.Byte",
    Type.INT16: "java.lang.Short",
    Type.INT32: "java.lang.Integer",
    Type.INT64: "java.lang.Long",
}


def java_class(schema: Schema | None, value: object) -> str:
    """The class that this value has in Kafka Connect, as its messages name it (without the word `class`)."""
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
    """The schema type of a value without a schema; None when Connect knows none for its class."""
    found = _TYPES.get(type(value))
    if found is None and isinstance(value, str):
        return Type.STRING
    return found


def is_of_type(kind: Type, value: object) -> bool:
    """Whether the value is of the class that this schema type asks for; what is inside it is not looked at."""
    bounds = BOUNDS.get(kind)
    if bounds is not None:
        if type(value) is int:
            return bounds[0] <= value <= bounds[1]
        return type(value) is CLASSES[kind]
    if type(value) is _PLAIN[kind]:
        return True
    if kind is Type.FLOAT32:
        return type(value) is Float32
    return kind is Type.STRING and isinstance(value, str)


def all_valid(schema: Schema, values: Sequence[Any]) -> bool:
    """Whether C-speed means show that every one of these values may stand under the schema; False is no answer."""
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
    """The error of a null under a required schema."""
    return DataError(f'Invalid value: null used for required field: "{name}", schema type: {schema.type.upper()}')


def validate_value(name: str, schema: Schema, value: object) -> None:
    """Look whether a field may hold a value, as `Struct.put` does.

    Raises:
        DataError: it may not; with Kafka Connect's message.
    """
    if value is None:
        if not schema.optional:
            raise null_error(name, schema)
        return
    wanted = LOGICAL.get(schema.name) if schema.name is not None else None
    if not (type(value) is wanted if wanted is not None else is_of_type(schema.type, value)):
        shown = f'"{schema.name}" with type ' if schema.name is not None else "with type "
        raise DataError(
            f"Invalid Java object for schema {shown}{schema.type.upper()}: class {java_class(None, value)}"
            f' for field: "{name}"'
        )
    if wanted is not None:
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
