"""Cast columns of values with the same results as `_cast_values.cast`, in a few passes over the column."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from penstock import Instant, Schema, Type
from penstock.schema import TIMESTAMP_NAME
from penstock_java_compat.floats import double_text, float_text, plain_ranges
from penstock_plugins.connect.number_casts import narrow, to_float32s, truncate
from penstock_plugins.connect.numbers import parse_doubles, parse_floats, parse_integers
from penstock_plugins.connect.values import BOUNDS, map_present
from penstock_plugins.transforms._cast_values import DATE_TIME_NAMES, cast, instant_text, logical_number, width_class

__all__ = ["cast_column"]

_NULL: Final = type(None)
_INT32: Final = BOUNDS[Type.INT32]
_INT64: Final = BOUNDS[Type.INT64]
_FastCast = Callable[[Type, list[Any]], list[Any]]


def cast_column(schema: Schema | None, target: Type, column: list[Any], kinds: frozenset[type]) -> list[Any]:
    """Cast every value of a column. `kinds` are the Python types of its values.

    Raises:
        Exception: a value is or may be impossible to cast; `cast` decides.
    """
    if _NULL in kinds:
        return map_present(lambda present: cast_column(schema, target, present, kinds - {_NULL}), column)
    fast_cast = _fast_cast(schema, column, kinds)
    if fast_cast is None:
        return [cast(schema, target, v) for v in column]
    result = fast_cast(target, column)
    width = width_class(target) if schema is None else None
    return result if width is None else list(map(width, result))


def _fast_cast(schema: Schema | None, column: Sequence[Any], kinds: frozenset[type]) -> _FastCast | None:
    """Return a fast cast for a column of plain values of one type; None if there is none."""
    if len(kinds) != 1 or not column:
        return None
    (kind,) = kinds
    if schema is None:
        if kind is int and (min(column) < _INT64[0] or max(column) > _INT64[1]):
            return None
        return _FAST_CASTS.get(kind)
    if schema.name in DATE_TIME_NAMES:
        return partial(_cast_instants, schema.name) if kind is Instant else None
    if kind is float and schema.type is Type.FLOAT32:
        return _cast_floats
    expected = {
        int: schema.type in BOUNDS,
        float: schema.type is Type.FLOAT64,
        bool: schema.type is Type.BOOLEAN,
        str: schema.type is Type.STRING,
    }
    return _FAST_CASTS[kind] if expected.get(kind) else None


def _cast_integers(target: Type, column: list[Any]) -> list[Any]:
    if target in BOUNDS:
        low, high = BOUNDS[target]
        if min(column) >= low and max(column) <= high:
            return column
        return [narrow(v, target) for v in column]
    if target is Type.FLOAT32:
        return to_float32s(column)
    return list(map({Type.FLOAT64: float, Type.BOOLEAN: bool, Type.STRING: str}[target], column))


def _cast_doubles(target: Type, column: list[Any]) -> list[Any]:
    if target is Type.FLOAT64:
        return column
    if target is Type.FLOAT32:
        return to_float32s(column)
    if target is Type.BOOLEAN:
        return [v >= 1 or v <= -1 for v in column]
    if target is Type.STRING:
        if plain_ranges(column):
            return msgspec.json.encode(column)[1:-1].decode().split(",")
        return list(map(double_text, column))
    if _INT32[0] <= min(column) and max(column) <= _INT32[1] and not any(map(math.isnan, column)):
        return _cast_integers(target, list(map(int, column)))
    return [truncate(v, target) for v in column]


def _cast_floats(target: Type, column: list[Any]) -> list[Any]:
    """Cast float32 values: a Python float has more digits than Java's float, so it is rounded first."""
    numbers = to_float32s(column)
    if target is Type.STRING:
        return list(map(float_text, numbers))
    return numbers if target is Type.FLOAT32 else _cast_doubles(target, numbers)


def _cast_instants(name: str, target: Type, column: list[Any]) -> list[Any]:
    if target is Type.STRING:
        return list(map(instant_text, column))
    return _cast_integers(
        target, list(map(int, column)) if name == TIMESTAMP_NAME else [logical_number(name, v) for v in column]
    )


def _cast_booleans(target: Type, column: list[Any]) -> list[Any]:
    if target is Type.BOOLEAN:
        return column
    if target is Type.STRING:
        return ["true" if v else "false" for v in column]
    return list(map(int if target in BOUNDS else float, column))


def _cast_strings(target: Type, column: list[Any]) -> list[Any]:
    if target is Type.STRING:
        return column
    if target is Type.BOOLEAN:
        return [v == "true" or v.lower() == "true" for v in column]
    if target in BOUNDS:
        return parse_integers(column, target)
    return parse_floats(column) if target is Type.FLOAT32 else parse_doubles(column)


_FAST_CASTS: Final[Mapping[type, _FastCast]] = {
    int: _cast_integers,
    float: _cast_doubles,
    bool: _cast_booleans,
    str: _cast_strings,
}
