"""Connect's logical types, which are stored as bytes or integers."""

from collections.abc import Callable, Mapping
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from typing import Any, Final

from penstock import DataError, Instant, Schema
from penstock.schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME

__all__ = ["from_stored", "scale_of", "to_stored"]

_DAY: Final = 86_400_000
"""Milliseconds per day."""

_EXACT: Final = Context(prec=MAX_PREC, Emin=MIN_EMIN, Emax=MAX_EMAX)
"""Context without rounding, since Connect's decimals may have any number of digits."""


def scale_of(schema: Schema) -> int:
    """Return the scale of a Decimal."""
    try:
        return int((schema.parameters or {})["scale"])
    except (KeyError, ValueError):
        raise DataError(
            "cannot convert a Decimal: the parameter 'scale' of its schema is missing or not a number"
        ) from None


def to_stored(schema: Schema) -> Callable[[Any], Any] | None:
    """Return the function that converts values of a logical type to their stored form; None for any other schema."""
    if schema.name == DECIMAL_NAME:
        return _unscaled(scale_of(schema))
    return _WRITERS.get(schema.name or "")


def from_stored(schema: Schema) -> Callable[[Any], Any] | None:
    """Return the function that converts the stored form to values of a logical type; None for any other schema."""
    if schema.name == DECIMAL_NAME:
        scale = scale_of(schema)
        return lambda data: Decimal(int.from_bytes(data, "big", signed=True)).scaleb(-scale, _EXACT)
    return _READERS.get(schema.name or "")


def _unscaled(scale: int) -> Callable[[Any], bytes]:
    """Return the function that writes the digits of a number like Java's `BigInteger.toByteArray`."""

    def write(value: Any) -> bytes:
        if not isinstance(value, Decimal) or not value.is_finite():
            raise DataError(f"a Decimal is expected, not {_kind(value)}")
        exponent = value.as_tuple().exponent
        if exponent != -scale:
            raise DataError(f"a Decimal with scale {scale} is expected, not with scale {-int(exponent)}")
        number = int(value.scaleb(scale, _EXACT))
        bits = (number if number >= 0 else ~number).bit_length()
        return number.to_bytes(bits // 8 + 1, "big", signed=True)

    return write


def _instant(value: Any, kind: str) -> int:
    if not isinstance(value, Instant):
        raise DataError(f"an Instant is expected for a {kind}, not {_kind(value)}")
    return int(value)


def _days(value: Any) -> int:
    days, rest = divmod(_instant(value, "Date"), _DAY)
    if rest:
        raise DataError("a Date is expected, not an Instant with a time of day")
    return days


def _millis_of_day(value: Any) -> int:
    millis = _instant(value, "Time")
    if not 0 <= millis < _DAY:
        raise DataError("a Time is expected, not an Instant beyond the first day")
    return millis


def _millis(value: Any) -> int:
    return _instant(value, "Timestamp")


def _kind(value: Any) -> str:
    return type(value).__name__


_WRITERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    DATE_NAME: _days,
    TIME_NAME: _millis_of_day,
    TIMESTAMP_NAME: _millis,
}
_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    DATE_NAME: lambda days: Instant(days * _DAY),
    TIME_NAME: Instant,
    TIMESTAMP_NAME: Instant,
}
