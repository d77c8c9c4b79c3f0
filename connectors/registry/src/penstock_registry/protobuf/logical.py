"""Connect's logical types, which Protobuf stores as messages."""

from collections.abc import Callable, Mapping
from datetime import date
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, ROUND_HALF_UP, Context, Decimal
from typing import Any, Final

from penstock import DataError, Instant
from penstock.schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME
from penstock_registry.protobuf import names

__all__ = ["MESSAGES", "from_message", "to_message"]

MESSAGES: Final[Mapping[str, str]] = {
    DECIMAL_NAME: names.DECIMAL,
    DATE_NAME: names.DATE,
    TIME_NAME: names.TIME,
    TIMESTAMP_NAME: names.TIMESTAMP,
}
"""Message of each logical type, by its name in Connect."""

_DAY: Final = 86_400_000
"""Milliseconds per day."""
_EPOCH: Final = date(1970, 1, 1).toordinal()
_FIRST_SECOND: Final = -62_135_596_800
_LAST_SECOND: Final = 253_402_300_799
_NANOS: Final = 1_000_000
"""Nanoseconds per millisecond."""
_CANNOT: Final = "cannot read a message as Protobuf"


def _exact(precision: int) -> Context:
    return Context(prec=precision, Emin=MIN_EMIN, Emax=MAX_EMAX, rounding=ROUND_HALF_UP)


_EXACT: Final = _exact(MAX_PREC)


def to_message(name: str) -> Callable[[Any], dict[str, Any]] | None:
    """Return the function that converts values of a logical type to the fields of its message; None for any other name."""
    return _WRITERS.get(name)


def from_message(name: str) -> Callable[[Any], Any] | None:
    """Return the function that converts messages to values of a logical type; None for any other name."""
    return _READERS.get(name)


def _decimal(value: Any) -> dict[str, Any]:
    if not isinstance(value, Decimal) or not value.is_finite():
        raise DataError(f"a Decimal is expected, not {_kind(value)}")
    _, digits, exponent = value.as_tuple()
    number = int(value.scaleb(-int(exponent), _EXACT))
    bits = (number if number >= 0 else ~number).bit_length()
    return {
        "value": number.to_bytes(bits // 8 + 1, "big", signed=True),
        "precision": len(digits) if number else 1,
        "scale": -int(exponent),
    }


def _from_decimal(message: Any) -> Decimal:
    number = Decimal(int.from_bytes(message.value, "big", signed=True)).scaleb(-message.scale, _EXACT)
    return _exact(message.precision).plus(number) if message.precision else number


def _instant(value: Any, kind: str) -> int:
    if not isinstance(value, Instant):
        raise DataError(f"an Instant is expected for a {kind}, not {_kind(value)}")
    return int(value)


def _date(value: Any) -> dict[str, Any]:
    days, rest = divmod(_instant(value, "Date"), _DAY)
    if rest:
        raise DataError("a Date is expected, not an Instant with a time of day")
    try:
        day = date.fromordinal(_EPOCH + days)
    except (ValueError, OverflowError):
        raise DataError("the Date is outside the years 1 to 9999") from None
    return {"year": day.year, "month": day.month, "day": day.day}


def _from_date(message: Any) -> Instant:
    try:
        day = date(message.year, message.month, message.day)
    except ValueError:
        raise DataError(
            f"{_CANNOT}: a {names.DATE} is not a complete, valid date (year, month, day); correct its writer"
        ) from None
    return Instant((day.toordinal() - _EPOCH) * _DAY)


def _time(value: Any) -> dict[str, Any]:
    millis = _instant(value, "Time")
    if not 0 <= millis < _DAY:
        raise DataError("a Time is expected, not an Instant beyond the first day")
    seconds, rest = divmod(millis, 1000)
    minutes, second = divmod(seconds, 60)
    return {"hours": minutes // 60, "minutes": minutes % 60, "seconds": second, "nanos": rest * _NANOS}


def _from_time(message: Any) -> Instant:
    hours, minutes, seconds, nanos = message.hours, message.minutes, message.seconds, message.nanos
    if not (0 <= hours < 24 and 0 <= minutes < 60 and 0 <= seconds < 60 and 0 <= nanos < 1000 * _NANOS):
        raise DataError(f"{_CANNOT}: a {names.TIME} is not a valid time of day; correct its writer")
    return Instant(((hours * 60 + minutes) * 60 + seconds) * 1000 + nanos // _NANOS)


def _timestamp(value: Any) -> dict[str, Any]:
    seconds, rest = divmod(_instant(value, "Timestamp"), 1000)
    if not _FIRST_SECOND <= seconds <= _LAST_SECOND:
        raise DataError("the Timestamp is outside the years 1 to 9999")
    return {"seconds": seconds, "nanos": rest * _NANOS}


def _from_timestamp(message: Any) -> Instant:
    seconds, nanos = message.seconds, message.nanos
    if not (_FIRST_SECOND <= seconds <= _LAST_SECOND and 0 <= nanos < 1000 * _NANOS):
        raise DataError(f"{_CANNOT}: a {names.TIMESTAMP} is outside the years 1 to 9999; correct its writer")
    return Instant(seconds * 1000 + nanos // _NANOS)


def _kind(value: Any) -> str:
    return type(value).__name__


_WRITERS: Final[Mapping[str, Callable[[Any], dict[str, Any]]]] = {
    DECIMAL_NAME: _decimal,
    DATE_NAME: _date,
    TIME_NAME: _time,
    TIMESTAMP_NAME: _timestamp,
}
_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    DECIMAL_NAME: _from_decimal,
    DATE_NAME: _from_date,
    TIME_NAME: _from_time,
    TIMESTAMP_NAME: _from_timestamp,
}
