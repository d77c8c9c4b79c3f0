"""Numbers and instants from literals, and the common schema of the members of a list or map."""

import re
from typing import Any, Final

from penstock import Float32, Instant, Int8, Int16, Int32, Int64, Schema, Type
from penstock.schema import DATE, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, TIME, TIMESTAMP, decimal
from penstock_java_compat.calendar import DAY, millis_of
from penstock_plugins.connect.number_casts import double_value, float_value
from penstock_plugins.connect.numbers import parse_big_decimal
from penstock_plugins.connect.values import BOUNDS

__all__ = ["CommonSchema", "NotALiteralError", "SchemaAndValue", "align", "parse_instant", "parse_number"]

SchemaAndValue = tuple[Schema | None, Any]
_DATE: Final = re.compile(r"[ \t]*(-?\d+)-[ \t]*(-?\d+)-[ \t]*(-?\d+)")
_TIME: Final = re.compile(r"[ \t]*(-?\d+):[ \t]*(-?\d+):[ \t]*(-?\d+)\.[ \t]*(-?\d+)Z")
_TIMESTAMP: Final = re.compile(_DATE.pattern + "T" + _TIME.pattern)
_WIDTHS: Final = ((INT8, Int8), (INT16, Int16), (INT32, Int32), (INT64, Int64))
_NUMBERS: Final = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64)


class NotALiteralError(Exception):
    """Raised for text that is not a valid list or map; it is then read as a string."""


class CommonSchema:
    """Common schema of the values of a list (`Values.commonSchemaFor`)."""

    def __init__(self) -> None:
        self.schema: Schema | None = None
        self.compatible = True

    def add(self, item: SchemaAndValue | None) -> None:
        """Include the schema of another value."""
        if item is None or item[0] is None:
            return
        schema = item[0]
        common = self.schema
        if common is None or common.type is schema.type:
            self.schema = schema
        elif common.type in _NUMBERS and schema.type in _NUMBERS:
            self.schema = max(common, schema, key=lambda s: _NUMBERS.index(s.type))
        else:
            self.schema = None
            self.compatible = False


def align(schema: Schema | None, item: SchemaAndValue | None) -> Any:
    """Return a member's value, converted to the common schema.

    Raises:
        NotALiteralError: the value cannot be converted, or is null.
    """
    value = None if item is None else item[1]
    if schema is None:
        return value
    if value is None or item is None:
        raise NotALiteralError
    if item[0] == schema or schema.type in (Type.ARRAY, Type.MAP, Type.STRING, Type.BOOLEAN, Type.BYTES):
        return value
    if isinstance(value, Instant):
        if schema.name is None:
            raise NotALiteralError
        return value
    if schema.name is not None:
        return Instant(int(value) * DAY if schema == DATE else int(value))
    if schema.type in BOUNDS:
        return {s.type: c for s, c in _WIDTHS}[schema.type](value)
    return Float32(float_value(int(value))) if schema.type is Type.FLOAT32 else float(value)


def parse_instant(text: str) -> SchemaAndValue | None:
    """Return a date, time or timestamp, depending on the text's length; None for others. Fields out of range roll over."""
    text = text.replace("\\:", ":")
    if len(text) == 10 and (match := _DATE.match(text)):
        year, month, day = map(int, match.groups())
        return DATE, Instant(millis_of(year, month, day))
    if len(text) == 13 and (match := _TIME.match(text)):
        hour, minute, second, milli = map(int, match.groups())
        return TIME, Instant(millis_of(1970, 1, 1, hour, minute, second, milli))
    if len(text) == 24 and (match := _TIMESTAMP.match(text)):
        year, month, day, hour, minute, second, milli = map(int, match.groups())
        return TIMESTAMP, Instant(millis_of(year, month, day, hour, minute, second, milli))
    return None


def parse_number(token: str) -> SchemaAndValue | None:
    """Return the number in the smallest integer type that holds it, else as float32 or float64 if finite, or Decimal."""
    try:
        number = parse_big_decimal(token)
    except ValueError:
        return None
    exponent = int(number.as_tuple().exponent)
    if number.adjusted() < 20 and number == number.to_integral_value():
        whole = int(number)
        for schema, width in _WIDTHS:
            low, high = BOUNDS[schema.type]
            if low <= whole <= high:
                return schema, width(whole)
    if exponent != 0:
        nearest = float_value(number)
        if abs(nearest) != float("inf"):
            return FLOAT32, Float32(nearest)
        nearest = double_value(number)
        if abs(nearest) != float("inf"):
            return FLOAT64, nearest
    return decimal(-exponent), number
