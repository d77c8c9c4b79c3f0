"""One type's value as another type's: the table of Cast, for one value and for a column of them."""

import base64
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any, Final

import msgspec

from penstock import DataError, Float32, Instant, Schema, Type
from penstock.schema import DATE_NAME, TIME_NAME, TIMESTAMP_NAME
from penstock_plugins.connect_values import BOUNDS, CLASSES, java_class, type_of
from penstock_plugins.java_calendar import DAY
from penstock_plugins.java_float import double_text, float_text, plain_ranges
from penstock_plugins.java_numbers import (
    double,
    doubles,
    float32,
    floats32,
    integer,
    integers,
    narrowed,
    single,
    singles,
    truncated,
)
from penstock_plugins.java_text import decimal_text
from penstock_plugins.json_nodes import float32_of, float64_of, low_bits
from penstock_plugins.literal_writer import shown

__all__ = ["CASTABLE", "cast", "cast_column"]

CASTABLE: Final = (*BOUNDS, Type.FLOAT32, Type.FLOAT64, Type.BOOLEAN, Type.STRING)
"""The types that values can be cast to."""

_READABLE: Final = frozenset((*CASTABLE, Type.BYTES))
_NULL: Final = type(None)
_MOMENTS: Final = (DATE_NAME, TIME_NAME, TIMESTAMP_NAME)
_INT32: Final = BOUNDS[Type.INT32]
_INT64: Final = BOUNDS[Type.INT64]
_Quick = Callable[[Type, list[Any]], list[Any]]


def cast(schema: Schema | None, target: Type, value: Any) -> Any:
    """A value as the target type has it: plain under a schema, of its width's class without one. Null stays null.

    Raises:
        DataError: the value's type cannot be cast, or its text is no number in range.
        TypeError: the schema names a date or time and the value is none (ClassCastException).
    """
    if value is None:
        return None
    _readable(schema, value)
    if schema is not None and schema.name in _MOMENTS and target is not Type.STRING:
        value = _encoded(schema.name, value)
    elif schema is not None and schema.type is Type.FLOAT32 and type(value) is float:
        value = Float32(float32(value))
    try:
        made = _made(target, value)
    except ValueError as e:
        # Kafka Connect shows the value here. It may be a secret, so this does not.
        raise DataError(
            f"A text cannot be cast to {target}: it is no {target} as Java writes it, or out of range"
        ) from e
    return made if schema is not None else _boxed(target)(made)


def _readable(schema: Schema | None, value: Any) -> None:
    kind = schema.type if schema is not None else type_of(value)
    if kind is None or (schema is None and type(value) is int and narrowed(value, Type.INT64) != value):
        raise DataError(
            f"Cast transformation was passed a value of type {java_class(schema, value)}"
            " which is not supported by Connect's data API"
        )
    if kind not in _READABLE:
        raise DataError(f"Cast transformation does not support casting from {kind.upper()}; cast its parts before")


def _encoded(name: str, value: Any) -> int:
    """`Date.fromLogical` and its like: the number that stands for a moment."""
    if type(value) is not Instant:
        raise TypeError(f"{java_class(None, value)} under a schema named {name}: it must be an Instant")
    if name == DATE_NAME:
        if value % DAY:
            raise DataError("Kafka Connect Date type should not have any time fields set to non-zero values.")
        return narrowed(value // DAY, Type.INT32)
    if name == TIME_NAME and not 0 <= value <= DAY:
        raise DataError("Kafka Connect Time type should not have any date fields set to non-zero values.")
    return int(value)


def _boxed(target: Type) -> Callable[[Any], Any]:
    """The class that tells the type of a value without a schema."""
    if target is Type.FLOAT32:
        return Float32
    return _plain if target is Type.INT64 else CLASSES.get(target, _plain)


def _plain(value: Any) -> Any:
    return value


def _made(target: Type, value: Any) -> Any:
    if target is Type.STRING:
        return _text(value)
    if isinstance(value, str):
        return _parsed(target, value)
    if isinstance(value, Instant) or not isinstance(value, (int, float, Decimal)):
        raise DataError(f"Unexpected type in Cast transformation: class {java_class(None, value)}")
    if target is Type.BOOLEAN:
        return _as_integer(Type.INT64, value) != 0
    if target in BOUNDS:
        return _as_integer(target, value)
    if isinstance(value, Decimal):
        return float32_of(value) if target is Type.FLOAT32 else float64_of(value)
    return float32(value) if target is Type.FLOAT32 else float(value)


def _as_integer(target: Type, value: int | float | Decimal) -> int:
    if isinstance(value, Decimal):
        return low_bits(value, target)
    return truncated(value, target) if isinstance(value, float) else narrowed(int(value), target)


def _parsed(target: Type, text: str) -> Any:
    if target in BOUNDS:
        return integer(text, target)
    if target is Type.BOOLEAN:
        return text.lower() == "true"
    return single(text) if target is Type.FLOAT32 else double(text)


def _text(value: Any) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case Instant():
            return _moment_text(value)
        case int():
            return str(int(value))
        case Float32():
            return float_text(value)
        case float():
            return double_text(value)
        case Decimal():
            return decimal_text(value)
        case bytes():
            return base64.b64encode(value).decode()
        case _:
            raise DataError(f"Unexpected type in Cast transformation: {java_class(None, value)}")


def _moment_text(value: int) -> str:
    days, millis = divmod(value, DAY)
    if days < 1 or not millis:
        return shown(None, Instant(value))
    seconds, millis = divmod(millis, 1000)
    return f"{_day_text(days)}T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{millis:03}Z"


@lru_cache(1024)
def _day_text(days: int) -> str:
    return shown(None, Instant(days * DAY))


def cast_column(schema: Schema | None, target: Type, column: list[Any], kinds: frozenset[type]) -> list[Any]:
    """`cast` of every value of a column; `kinds` are the types of its values.

    Raises:
        Exception: one of the values fails, or may fail.
    """
    if _NULL in kinds:
        there = [v for v in column if v is not None]
        made = iter(cast_column(schema, target, there, kinds - {_NULL}) if there else ())
        return [None if v is None else next(made) for v in column]
    quick = _quick(schema, column, kinds)
    if quick is None:
        return [cast(schema, target, v) for v in column]
    found = quick(target, column)
    boxed = _boxed(target) if schema is None else _plain
    return found if boxed is _plain else list(map(boxed, found))


def _quick(schema: Schema | None, column: Sequence[Any], kinds: frozenset[type]) -> _Quick | None:
    """The short way for plain values of one type, which the schema says or which is clear without one."""
    if len(kinds) != 1 or not column:
        return None
    (kind,) = kinds
    if schema is None:
        if kind is int and (min(column) < _INT64[0] or max(column) > _INT64[1]):
            return None
        return _QUICK.get(kind)
    if schema.name in _MOMENTS:
        return partial(_moments, schema.name) if kind is Instant else None
    if kind is float and schema.type is Type.FLOAT32:
        return _singles
    wanted = {int: schema.type in BOUNDS, float: schema.type is Type.FLOAT64, bool: schema.type is Type.BOOLEAN,
              str: schema.type is Type.STRING}  # fmt: skip
    return _QUICK[kind] if wanted.get(kind) else None


def _integers(target: Type, column: list[Any]) -> list[Any]:
    if target in BOUNDS:
        low, high = BOUNDS[target]
        if min(column) >= low and max(column) <= high:
            return column
        return [narrowed(v, target) for v in column]
    if target is Type.FLOAT32:
        return floats32(column)
    return list(map({Type.FLOAT64: float, Type.BOOLEAN: bool, Type.STRING: str}[target], column))


def _floats(target: Type, column: list[Any]) -> list[Any]:
    if target is Type.FLOAT64:
        return column
    if target is Type.FLOAT32:
        return floats32(column)
    if target is Type.BOOLEAN:
        return [v >= 1 or v <= -1 for v in column]
    if target is Type.STRING:
        if plain_ranges(column):
            return msgspec.json.encode(column)[1:-1].decode().split(",")
        return list(map(double_text, column))
    if _INT32[0] <= min(column) and max(column) <= _INT32[1] and not any(map(math.isnan, column)):
        return _integers(target, list(map(int, column)))
    return [truncated(v, target) for v in column]


def _singles(target: Type, column: list[Any]) -> list[Any]:
    """Floats of 32 bits; what a plain float has beyond those is not there in Java."""
    near = floats32(column)
    if target is Type.STRING:
        return list(map(float_text, near))
    return near if target is Type.FLOAT32 else _floats(target, near)


def _moments(name: str, target: Type, column: list[Any]) -> list[Any]:
    if target is Type.STRING:
        return list(map(_moment_text, column))
    return _integers(target, list(map(int, column)) if name == TIMESTAMP_NAME else [_encoded(name, v) for v in column])


def _booleans(target: Type, column: list[Any]) -> list[Any]:
    if target is Type.BOOLEAN:
        return column
    if target is Type.STRING:
        return ["true" if v else "false" for v in column]
    return list(map(int if target in BOUNDS else float, column))


def _texts(target: Type, column: list[Any]) -> list[Any]:
    if target is Type.STRING:
        return column
    if target is Type.BOOLEAN:
        return [v == "true" or v.lower() == "true" for v in column]
    if target in BOUNDS:
        return integers(column, target)
    return singles(column) if target is Type.FLOAT32 else doubles(column)


_QUICK: Final[Mapping[type, _Quick]] = {int: _integers, float: _floats, bool: _booleans, str: _texts}
