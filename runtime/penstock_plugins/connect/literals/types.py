"""The types of literals: numbers and moments from their texts, and the one schema for the members of a list or map."""

import re
from typing import Any, Final

from penstock import Float32, Instant, Int8, Int16, Int32, Int64, Schema, Type
from penstock.schema import DATE, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, TIME, TIMESTAMP, decimal
from penstock_java.calendar import DAY, millis_of
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
    """A list or map that is none; the whole text is then a string."""


class CommonSchema:
    """The schema that all values of a list can have (`commonSchemaFor`)."""

    def __init__(self) -> None:
        self.schema: Schema | None = None
        self.compatible = True

    def add(self, item: SchemaAndValue | None) -> None:
        """Another member."""
        if item is None or item[0] is None:
            return
        new = item[0]
        old = self.schema
        if old is None or old.type is new.type:
            self.schema = new
        elif old.type in _NUMBERS and new.type in _NUMBERS:
            self.schema = max(old, new, key=lambda s: _NUMBERS.index(s.type))
        else:
            self.schema = None
            self.compatible = False


def align(schema: Schema | None, item: SchemaAndValue | None) -> Any:
    """A member's value as the common schema has it.

    Raises:
        NotALiteralError: it has no such form; null has none.
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
        return _to_instant(schema, int(value))
    if schema.type in BOUNDS:
        return {s.type: c for s, c in _WIDTHS}[schema.type](value)
    return Float32(float_value(int(value))) if schema.type is Type.FLOAT32 else float(value)


def _to_instant(schema: Schema, number: int) -> Instant:
    return Instant(number * DAY if schema == DATE else number)


def parse_instant(text: str) -> SchemaAndValue | None:
    """A date, time or timestamp by its length; fields out of range roll over."""
    text = text.replace("\\:", ":")
    if len(text) == 10 and (found := _DATE.match(text)):
        year, month, day = map(int, found.groups())
        return DATE, Instant(millis_of(year, month, day))
    if len(text) == 13 and (found := _TIME.match(text)):
        hour, minute, second, milli = map(int, found.groups())
        return TIME, Instant(millis_of(1970, 1, 1, hour, minute, second, milli))
    if len(text) == 24 and (found := _TIMESTAMP.match(text)):
        year, month, day, hour, minute, second, milli = map(int, found.groups())
        return TIMESTAMP, Instant(millis_of(year, month, day, hour, minute, second, milli))
    return None


def parse_number(token: str) -> SchemaAndValue | None:
    """The smallest integer type that holds it, else float32 and float64 when finite, else Decimal."""
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
        near = float_value(number)
        if abs(near) != float("inf"):
            return FLOAT32, Float32(near)
        near = double_value(number)
        if abs(near) != float("inf"):
            return FLOAT64, near
    return decimal(-exponent), number
