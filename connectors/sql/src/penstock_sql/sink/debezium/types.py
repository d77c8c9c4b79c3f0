"""Types that Debezium's sources add to Kafka Connect's: their columns, and conversion of their values. Pure.

Timestamps without a zone count microseconds since 1970 as if they were in UTC, and are converted to timestamps without a
zone. A `timestamp` column stores them unchanged; a `timestamptz` column treats them as UTC.
"""

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from sqlalchemy import types as sql

from penstock import DataError
from penstock_sql.far_moments import OUTSIDE, as_text
from penstock_sql.moments import day_text

__all__ = ["BITS", "COLUMNS", "DECIMAL", "READINGS", "TIMES"]

_DAY_0: Final = date(1970, 1, 1)
_MOMENT_0: Final = datetime(1970, 1, 1)  # noqa: DTZ001 (of moments without a zone)
_TIME: Final = "io.debezium.time."
_DATA: Final = "io.debezium.data."
_UNITS: Final = ("", "Micro", "Nano")

DECIMAL: Final = f"{_DATA}VariableScaleDecimal"
"""Type of NUMERIC without a precision: a struct of the scale and the digits."""
BITS: Final = f"{_DATA}Bits"
"""Type of BIT with more than one bit: bytes in little-endian order, with the schema parameter `length`."""
COLUMNS: Final[Mapping[str, Any]] = {
    f"{_TIME}Date": sql.Date(),
    **{f"{_TIME}{u}Time": sql.Time() for u in _UNITS},
    **{f"{_TIME}{u}Timestamp": sql.DateTime() for u in _UNITS},
    f"{_TIME}ZonedTimestamp": sql.DateTime(timezone=True),
    f"{_DATA}Json": sql.JSON(),
    f"{_DATA}Uuid": sql.Uuid(),
    DECIMAL: sql.Numeric(),
}


_Reading = Callable[[Any], Any]
_Micros = Callable[[int, bool], int]
"""Returns the microseconds of a value, rounded or truncated."""
_DAY: Final = 86_400_000_000


def _moment(in_microseconds: _Micros) -> Callable[[bool, bool], _Reading]:
    def of(unbounded: bool, rounds: bool) -> _Reading:
        def read(value: Any) -> Any:
            micros = in_microseconds(value, rounds)
            try:
                return _MOMENT_0 + timedelta(microseconds=micros)
            except OverflowError:
                return _outside(as_text(micros, suffix="+00"), unbounded=unbounded)

        return read

    return of


def _time(in_microseconds: _Micros) -> Callable[[bool, bool], _Reading]:
    def of(_: bool, rounds: bool) -> _Reading:
        def read(value: Any) -> Any:
            micros = in_microseconds(value, rounds)
            return (_MOMENT_0 + timedelta(microseconds=micros)).time() if 0 <= micros < _DAY else _long_time(micros)

        return read

    return of


def _long_time(micros: int) -> str:
    """Format a time that is negative, or 24 hours or longer: MariaDB's TIME can be both, and PostgreSQL has 24:00:00."""
    seconds, rest = divmod(abs(micros), 1_000_000)
    sign, fraction = "-" if micros < 0 else "", f".{rest:06}" if rest else ""
    return f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{fraction}"


def _date(unbounded: bool, _: bool) -> _Reading:
    def read(value: Any) -> Any:
        try:
            return _DAY_0 + timedelta(days=value)
        except OverflowError:
            return _outside(day_text(value * 86_400_000), unbounded=unbounded)

    return read


def _outside(text: str, *, unbounded: bool) -> str:
    if not unbounded:
        raise DataError(OUTSIDE)
    return text


def _decimal(value: Any) -> Any:
    unscaled = int.from_bytes(value["value"], signed=True)
    sign, digits, _ = Decimal(unscaled).as_tuple()  # `str` of an integer is limited to 4,300 digits
    return Decimal((sign, digits, -value["scale"]))


_MICROSECONDS: Final[Mapping[str, _Micros]] = {
    "": lambda value, _: value * 1000,
    "Micro": lambda value, _: value,
    "Nano": lambda value, rounds: (value + 500 * rounds) // 1000,
}
READINGS: Final[Mapping[str, Callable[[bool, bool], _Reading]]] = {
    f"{_TIME}Date": _date,
    **{f"{_TIME}{unit}Time": _time(of) for unit, of in _MICROSECONDS.items()},
    **{f"{_TIME}{unit}Timestamp": _moment(of) for unit, of in _MICROSECONDS.items()},
    DECIMAL: lambda *_: _decimal,
}
"""Conversions of values, never None. The arguments: whether the database supports years outside of 1 to 9999, and whether it
rounds to microseconds. Values of other types of Debezium are texts, which the database parses."""
TIMES: Final = frozenset(f"{_TIME}{unit}Time" for unit in _MICROSECONDS)
"""Types of time of day, without a date."""
