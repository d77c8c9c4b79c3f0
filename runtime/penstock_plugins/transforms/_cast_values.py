"""Cast of single values, as in Kafka Connect's Cast."""

import base64
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from penstock import DataError, Float32, Instant, Schema, Type
from penstock.schema import DATE_NAME, TIME_NAME, TIMESTAMP_NAME
from penstock_java_compat.calendar import DAY
from penstock_java_compat.floats import double_text, float_text
from penstock_plugins.connect.literals.writer import write_literal
from penstock_plugins.connect.logical import encode_instant
from penstock_plugins.connect.number_casts import double_value, float_value, low_bits, narrow, to_float32, truncate
from penstock_plugins.connect.numbers import parse_double, parse_float, parse_integer
from penstock_plugins.connect.text import decimal_text
from penstock_plugins.connect.values import BOUNDS, CLASSES, java_class, type_of

__all__ = ["CASTABLE", "DATE_TIME_NAMES", "cast", "instant_text", "logical_number", "width_class"]

CASTABLE: Final = (*BOUNDS, Type.FLOAT32, Type.FLOAT64, Type.BOOLEAN, Type.STRING)
"""Types that values can be cast to."""

DATE_TIME_NAMES: Final = (DATE_NAME, TIME_NAME, TIMESTAMP_NAME)
"""Names of the schemas whose values are instants; a cast to a number or boolean takes the number that encodes them."""

_CASTABLE_FROM: Final = frozenset((*CASTABLE, Type.BYTES))


def cast(schema: Schema | None, target: Type, value: Any) -> Any:
    """Return the value, cast to the target type. Null stays null.

    With a schema an integer is a plain `int`, without one it has the class of its width (`Int8` and so on).

    Raises:
        DataError: the value's type cannot be cast, or it is a string that is not a number of the target type.
        TypeError: the schema names a date or time but the value is not one (ClassCastException in Java).
    """
    if value is None:
        return None
    _require_castable(schema, value)
    if schema is not None and schema.name in DATE_TIME_NAMES and target is not Type.STRING:
        value = logical_number(schema.name, value)
    elif schema is not None and schema.type is Type.FLOAT32 and type(value) is float:
        value = Float32(to_float32(value))
    try:
        casted = _cast_present(target, value)
    except ValueError as e:
        # Kafka Connect's message contains the value. This one does not, because it may be a secret.
        raise DataError(
            f"cannot cast a string to {target}: it is not a {target} as Java writes it, or out of range"
        ) from e
    width = width_class(target) if schema is None else None
    return casted if width is None else width(casted)


def _require_castable(schema: Schema | None, value: Any) -> None:
    kind = schema.type if schema is not None else type_of(value)
    if kind is None or (schema is None and type(value) is int and narrow(value, Type.INT64) != value):
        raise DataError(
            f"Cast transformation was passed a value of type {java_class(schema, value)}"
            " which is not supported by Connect's data API"
        )
    if kind not in _CASTABLE_FROM:
        raise DataError(
            f"Cast transformation does not support casting from {kind.upper()}; "
            "in 'spec', name only fields of primitive types"
        )


def logical_number(name: str, value: Any) -> int:
    """Return the number that encodes an instant, as `Date.fromLogical`, `Time.fromLogical` and `Timestamp.fromLogical` do.

    Raises:
        DataError: a date has a time of day, or a time has a date.
        TypeError: the value is not an instant (ClassCastException in Java).
    """
    if type(value) is not Instant:
        raise TypeError(f"cannot encode a {java_class(None, value)} as {name}: it must be an Instant")
    return encode_instant(name, value)


def width_class(target: Type) -> Callable[[Any], Any] | None:
    """Return the class that marks the width of a number without a schema; None if Python's class suffices."""
    if target is Type.FLOAT32:
        return Float32
    return None if target is Type.INT64 else CLASSES.get(target)


def _cast_present(target: Type, value: Any) -> Any:
    if target is Type.STRING:
        return _text(value)
    if isinstance(value, str):
        return _parse(target, value)
    if isinstance(value, Instant) or not isinstance(value, (int, float, Decimal)):
        raise DataError(f"Unexpected type in Cast transformation: class {java_class(None, value)}")
    if target is Type.BOOLEAN:
        return _as_integer(Type.INT64, value) != 0
    if target in BOUNDS:
        return _as_integer(target, value)
    if isinstance(value, Decimal):
        return float_value(value) if target is Type.FLOAT32 else double_value(value)
    return to_float32(value) if target is Type.FLOAT32 else float(value)


def _as_integer(target: Type, value: int | float | Decimal) -> int:
    if isinstance(value, Decimal):
        return low_bits(value, target)
    return truncate(value, target) if isinstance(value, float) else narrow(int(value), target)


def _parse(target: Type, text: str) -> Any:
    if target in BOUNDS:
        return parse_integer(text, target)
    if target is Type.BOOLEAN:
        return text.lower() == "true"
    return parse_float(text) if target is Type.FLOAT32 else parse_double(text)


def _text(value: Any) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case Instant():
            return instant_text(value)
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


def instant_text(value: int) -> str:
    """Return the text of an instant as header converters write it: a time, a date or both. Dates are cached."""
    days, millis = divmod(value, DAY)
    if days < 1 or not millis:
        return write_literal(None, Instant(value))
    seconds, millis = divmod(millis, 1000)
    return f"{_day_text(days)}T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{millis:03}Z"


@lru_cache(1024)
def _day_text(days: int) -> str:
    return write_literal(None, Instant(days * DAY))
