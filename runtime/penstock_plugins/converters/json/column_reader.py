"""Conversion of rows that msgspec read to Connect's values under a schema, column by column."""

from collections.abc import Sequence
from typing import Any, Final

from penstock import DataError, Fields, Instant, Same, Schema, Type
from penstock.schema import TIMESTAMP_NAME
from penstock_plugins.connect.values import BOUNDS, LOGICAL, validate_value
from penstock_plugins.converters.json.nodes import NodeReader

__all__ = ["reads_columns", "to_connect"]

_NULL: Final = type(None)
_ROWS: Final = {dict}
_SAME_TYPES: Final = {str, int, bool, _NULL}
"""Types that msgspec and Jackson read alike. A float is not among them: Jackson reads its text as a decimal."""

_CLASSES: Final = {Type.STRING: str, Type.BOOLEAN: bool, Type.FLOAT64: float, **dict.fromkeys(BOUNDS, int)}
_NESTED: Final = (Type.ARRAY, Type.MAP)


def reads_columns(schema: Schema) -> bool:
    """Return whether `to_connect` supports the schema: structs without arrays and maps."""
    return (
        schema.type is Type.STRUCT
        and schema.name not in LOGICAL
        and all(f.schema.type is not Type.STRUCT or reads_columns(f.schema) for f in schema.fields)
        and not any(f.schema.type in _NESTED for f in schema.fields)
    )


def to_connect(schema: Schema, fields: Fields, nodes: NodeReader) -> Fields | None:
    """Return the rows as structs of the schema; None if a value may not fit, so that the exact reader must decide.

    Args:
        schema: schema of the structs; `reads_columns` is true for it.
        fields: rows whose numbers fit 64 bits.
        nodes: reads the values that Connect represents differently from JSON.
    """
    if tuple(fields.columns) != tuple(f.name for f in schema.fields):
        return None
    converted: dict[str, list[Any]] = {}
    for field in schema.fields:
        column = fields.columns[field.name]
        if isinstance(column, Same):
            return None
        types = fields.types(field.name)
        if field.schema.type is Type.STRUCT:
            new_column = _inner_rows(field.schema, column, types, nodes)
        elif _is_unchanged(field.schema, column, types):
            continue
        elif types <= _SAME_TYPES:
            new_column = _convert(field.name, field.schema, column, nodes)
        else:
            return None
        if new_column is None:
            return None
        if new_column is not column:
            converted[field.name] = new_column
    return fields.having({**fields.columns, **converted}) if converted else fields


def _inner_rows(schema: Schema, column: list[Any], types: frozenset[type], nodes: NodeReader) -> list[Any] | None:
    inner = Fields.of(column) if types == _ROWS else None
    converted = None if inner is None else to_connect(schema, inner, nodes)
    if converted is None:
        return None
    return column if converted is inner else converted.rows()


def _is_unchanged(schema: Schema, column: Sequence[Any], types: frozenset[type]) -> bool:
    """Return whether the values are the same in Connect as in JSON, and valid."""
    if schema.name in LOGICAL:
        return False
    if _NULL in types:
        if not schema.optional or schema.default is not None:
            return False
        types -= {_NULL}
    if not types <= {_CLASSES.get(schema.type)}:
        return False
    if not types or schema.type not in BOUNDS or schema.type is Type.INT64:
        return True
    low, high = BOUNDS[schema.type]
    numbers = column if len(types) == 1 and None not in column else [v for v in column if v is not None]
    return bool(low <= min(numbers) and max(numbers) <= high)


def _convert(name: str, schema: Schema, column: list[Any], nodes: NodeReader) -> list[Any] | None:
    if schema.name == TIMESTAMP_NAME and schema.type is Type.INT64 and set(map(type, column)) == {int}:
        return list(map(Instant, column))
    read = nodes.value
    try:
        values = [read(schema, value) for value in column]
        for value in values:
            validate_value(name, schema, value)
    except DataError:
        return None  # the exact reader raises it for the record in question
    return values
