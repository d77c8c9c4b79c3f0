"""Column types for schemas, and conversion of values for existing columns.

Values become Python objects, which the driver writes as text, and the database parses the text by the type of the column.
Any text that PostgreSQL accepts as a `uuid`, an `inet` or an enumeration can therefore be written to such a column.
"""

import base64
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final
from zoneinfo import ZoneInfo

from sqlalchemy import types as sql

from penstock import DataError, Instant, Schema, Type
from penstock.schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME
from penstock_sql.dialects.kinds import Array, Bits, ColumnKind, Kind
from penstock_sql.dialects.postgresql.texts import array_text, hstore_text
from penstock_sql.far_moments import OUTSIDE, as_text, is_within, iso_moment, written
from penstock_sql.moments import day_text, moment_text
from penstock_sql.sink.bits import bits_number, bits_text, debezium_bits, debezium_bits_text
from penstock_sql.sink.debezium import types as debezium_types
from penstock_sql.sink.exact import Beyond

__all__ = ["Reading", "column_type", "reading"]

Reading = Callable[[Any], Any]
"""Converts a value, never None, for a column. Raises DataError."""


_NUMBERS: Final[Mapping[Type, Any]] = {
    Type.INT8: sql.SmallInteger(),
    Type.INT16: sql.SmallInteger(),
    Type.INT32: sql.Integer(),
    Type.INT64: sql.BigInteger(),
    Type.FLOAT32: sql.REAL(),
    Type.FLOAT64: sql.Double(),
    Type.BOOLEAN: sql.Boolean(),
    Type.STRING: sql.Text(),
    Type.BYTES: sql.LargeBinary(),
}
_JSON: Final = sql.JSON()
_NAMED: Final[Mapping[str, Any]] = {
    DECIMAL_NAME: sql.Numeric(),
    DATE_NAME: sql.Date(),
    TIME_NAME: sql.Time(),
    TIMESTAMP_NAME: sql.DateTime(timezone=True),
    **debezium_types.COLUMNS,
}


def column_type(schema: Schema) -> Any:
    """Return SQLAlchemy's generic type for a new column, from which the dialect derives its own type."""
    named = _NAMED.get(schema.name or "")
    if schema.name == DECIMAL_NAME:
        return sql.Numeric(scale=_scale(schema))
    if named is not None:
        return named
    if schema.type is Type.ARRAY and schema.items is not None and schema.items.type in _NUMBERS:
        return sql.ARRAY(column_type(schema.items))
    return _NUMBERS.get(schema.type, _JSON)


def _scale(schema: Schema) -> int:
    return int((schema.parameters or {}).get("scale", 0))


_MOMENT_0: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _at(value: int) -> datetime:
    return _MOMENT_0 + timedelta(milliseconds=value)


@dataclass(frozen=True, slots=True)
class _Times:
    """Conversion of timestamps, dates and times for columns of such types.

    Attributes:
        zone: the zone in which timestamps without a zone are read and written.
        unbounded: whether the database supports infinity, and years before 1 and after 9999, which it parses from text.
        rounds: whether the database rounds to microseconds; otherwise it truncates.
    """

    zone: ZoneInfo
    unbounded: bool
    rounds: bool

    def moment(self, value: int) -> Any:
        try:
            return _at(value).astimezone(self.zone).replace(tzinfo=None)
        except OverflowError:
            return self._outside(moment_text(value, self.zone))

    def instant(self, value: int) -> Any:
        try:
            return _at(value)
        except OverflowError:
            return self._outside(moment_text(value))

    def day(self, value: int) -> Any:
        """Convert a Date, given as the milliseconds of its midnight in UTC."""
        try:
            return _at(value).date()
        except OverflowError:
            return self._outside(day_text(value))

    def local_day(self, value: int) -> Any:
        """Convert a timestamp to its date in the zone."""
        moment = self.moment(value)
        return moment.date() if isinstance(moment, datetime) else _day_of(moment)

    def in_column(self, kind: ColumnKind, value: Any) -> Any:
        """Convert a date, a time or a timestamp without a zone for a column of a date, time or timestamp type.

        A date becomes its midnight in the zone, as a `timestamptz` column parses it.

        Raises:
            DataError: the column needs a part that the value does not have.
        """
        match value:
            case date() | datetime() if kind is Kind.TIME:
                raise DataError("cannot write a date into a time column; extract the time with a transform")
            case datetime():
                return (
                    value.replace(tzinfo=UTC) if kind is Kind.INSTANT else value.date() if kind is Kind.DATE else value
                )
            case date() if kind in (Kind.INSTANT, Kind.LOCAL_TIMESTAMP):
                return datetime.combine(value, time())
            case date() if kind is Kind.UTC_TIMESTAMP:
                return _in_utc(datetime.combine(value, time(), self.zone))
            case _:
                return value

    def local_text(self, text: str) -> str:
        """Convert a text that `datetime` cannot parse, or cannot convert to another zone, for a column without a zone."""
        found = written(text, rounds=self.rounds)
        if found is None:
            return self._as_it_is(text)
        if found.offset is None:
            return self._far(found.local)
        return self._far(found.utc(self.zone), self.zone)

    def utc_text(self, text: str) -> str:
        """Convert a text, as in `local_text`, for a column in UTC."""
        found = written(text, rounds=self.rounds)
        return self._as_it_is(text) if found is None else self._far(found.utc(self.zone))

    def instant_text(self, text: str) -> str:
        """Convert a text, as in `local_text`, for a column with a zone."""
        found = written(text, rounds=self.rounds)
        if found is None:
            return self._as_it_is(text)
        if found.offset is None:
            return self._far(found.local)
        return self._far(found.utc(self.zone), suffix="+00")

    def date_text(self, text: str) -> str:
        """Convert a text, as in `local_text`, for a date column: to its date in the zone."""
        found = written(text, rounds=self.rounds)
        if found is None:
            return self._as_it_is(text)
        if found.offset is None:
            return _day_of(self._far(found.local))
        return _day_of(self._far(found.utc(self.zone), self.zone))

    def _as_it_is(self, text: str) -> str:
        """Return a text unchanged, since the database may be able to parse it.

        Raises:
            DataError: the text is infinity, which the database does not support.
        """
        if not self.unbounded and text.strip().lstrip("+-").lower() in ("inf", "infinity"):
            raise DataError(OUTSIDE)
        return text

    def _far(self, micros: int, zone: ZoneInfo | None = None, *, suffix: str = "") -> str:
        text = as_text(micros, zone, suffix=suffix)
        return text if is_within(text) else self._outside(text)

    def _outside(self, text: str) -> str:
        if not self.unbounded:
            raise DataError(OUTSIDE)
        return text


def _day_of(text: str) -> str:
    """Return the date of a timestamp that `datetime` does not support, both in PostgreSQL's format."""
    day, _, clock = text.partition(" ")
    return f"{day} BC" if clock.endswith(" BC") else day


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC).replace(tzinfo=None)
    except OverflowError:
        raise DataError(OUTSIDE) from None


_AS_THEY_ARE: Final = frozenset({Kind.JSON, Kind.BYTES, Kind.NUMBER, Kind.WHOLE})
"""Kinds of columns for which the name of the schema is not relevant."""
_OF_DAYS: Final = frozenset({DATE_NAME, TIME_NAME})
_DATED: Final = frozenset({Kind.INSTANT, Kind.LOCAL_TIMESTAMP, Kind.UTC_TIMESTAMP, Kind.DATE})
_TIMED: Final = _DATED | {Kind.TIME}
_NO_DATE: Final = "cannot write a time of day into a date or timestamp column: it has no date; use a time column"


def reading(
    kind: ColumnKind, schema: Schema | None, zone: ZoneInfo, *, unbounded: bool, rounds: bool
) -> Reading | None:
    """Return the conversion of values of a schema for a column of a kind; None if they stay unchanged.

    Without a schema, numbers in timestamp, date and time columns have the units that JsonConverter writes without schemas:
    milliseconds, days, and milliseconds of the day. Texts in binary columns are base64.

    Args:
        kind: the kind of the column.
        schema: the schema of the values, if they have one.
        zone: the zone of timestamps without a zone.
        unbounded: the database supports timestamps outside of the years 1 to 9999.
        rounds: the database rounds to microseconds; otherwise it truncates.
    """
    if isinstance(kind, Array):
        items = reading(kind.items, None if schema is None else schema.items, zone, unbounded=unbounded, rounds=rounds)
        # A string is already an array in text format.
        return lambda value: value if isinstance(value, str) else array_text(value, items)
    times = _Times(zone, unbounded, rounds)
    if schema is not None and (named := _named(kind, schema, times)) is not None:
        return named
    if isinstance(kind, Bits):
        length = kind.length
        return lambda value: bits_text(value, length)
    plain = schema is not None and schema.name not in _NAMED
    match kind:
        case Kind.INSTANT:
            return _texts(times.instant_text, _numbers(times.instant))
        case Kind.LOCAL_TIMESTAMP:
            return _local(times)
        case Kind.UTC_TIMESTAMP:
            return _utc(times)
        case Kind.WHOLE:
            return None if plain and schema is not None and schema.type in _WHOLE_TYPES else _whole
        case Kind.DATE:
            return _dates(times)
        case Kind.TIME:
            return _numbers(_time)
        case Kind.BYTES:
            return None if schema is not None and schema.type is Type.BYTES else _bytes
        case Kind.JSON:
            return _json
        case Kind.HSTORE:
            return lambda value: hstore_text(value, _json)
        case Kind.BIT_NUMBER:
            return bits_number
        case Kind.TEXT:
            return None if plain and schema is not None and schema.type is Type.STRING else _text
        case Kind.BOOLEAN | Kind.NUMBER if plain:
            return None
        case _:
            return _other


def _named(kind: ColumnKind, schema: Schema, times: _Times) -> Reading | None:
    """Return the conversion for a named schema, or None if the name is not relevant for the kind of column."""
    name = schema.name or ""
    if name == debezium_types.BITS:
        return _of_bits(kind, schema)
    if name == debezium_types.DECIMAL:
        number = debezium_types.READINGS[name](times.unbounded, times.rounds)
        if kind is Kind.WHOLE:
            return lambda value: _whole(number(value))
        return None if kind in (Kind.JSON, Kind.BYTES) else number
    if kind in _AS_THEY_ARE:
        return None
    of_debezium = debezium_types.READINGS.get(name)
    read = None if of_debezium is None else of_debezium(times.unbounded or kind is Kind.TEXT, times.rounds)
    if read is None and name in _OF_DAYS and (kind in _TIMED or kind in (Kind.TEXT, Kind.OTHER)):
        bounds = replace(times, unbounded=True) if kind is Kind.TEXT else times
        read = bounds.day if name == DATE_NAME else _time
    if name == TIMESTAMP_NAME and kind in (Kind.DATE, Kind.TIME):
        read = times.local_day if kind is Kind.DATE else times.instant
    if read is None:
        return None
    found, as_text = read, kind is Kind.TEXT
    needs_date = kind in _DATED and (name == TIME_NAME or name in debezium_types.TIMES)

    def placed(value: Any) -> Any:
        if needs_date:
            raise DataError(_NO_DATE)
        made = times.in_column(kind, found(value))
        return made.isoformat() if as_text and isinstance(made, (date, time)) else made

    return placed


def _of_bits(kind: ColumnKind, schema: Schema) -> Reading | None:
    """Return the conversion of Debezium's Bits: to digits, to a number, or None to write the bytes unchanged."""
    if isinstance(kind, Bits) and kind.length is not None:
        length = kind.length
        return lambda value: bits_text(debezium_bits(value), length)
    if isinstance(kind, Bits) or kind in (Kind.TEXT, Kind.OTHER):
        return lambda value: debezium_bits_text(value, schema)
    return debezium_bits if kind in (Kind.BIT_NUMBER, Kind.NUMBER, Kind.WHOLE, Kind.BOOLEAN) else None


def _days(times: _Times) -> Reading:
    """Return the conversion to a date for a record without a schema.

    Numbers are days. An Instant at midnight in UTC is a Date from TimestampConverter; any other Instant is a timestamp.
    """

    def read(value: int) -> Any:
        if not isinstance(value, Instant):
            return times.day(value * _DAY_MS)
        return times.day(value) if value % _DAY_MS == 0 else times.local_day(value)

    return read


def _numbers(of: Reading) -> Reading:
    def read(value: Any) -> Any:
        return of(value) if isinstance(value, int) and not isinstance(value, bool) else _scalar(value)

    return read


def _texts(of: Callable[[str], str], others: Reading) -> Reading:
    def read(value: Any) -> Any:
        if not isinstance(value, str):
            return others(value)
        try:
            datetime.fromisoformat(value)
        except ValueError:
            return of(value)
        return value

    return read


def _dates(times: _Times) -> Reading:
    numbers = _numbers(_days(times))

    def read(value: Any) -> Any:
        if not isinstance(value, str):
            return numbers(value)
        try:
            moment = iso_moment(value, rounds=times.rounds)
            return (moment if moment.tzinfo is None else moment.astimezone(times.zone)).date()
        except (ValueError, OverflowError):
            return times.date_text(value)

    return read


def _local(times: _Times) -> Reading:
    numbers = _numbers(times.moment)

    def read(value: Any) -> Any:
        if not isinstance(value, str):
            return numbers(value)
        try:
            moment = iso_moment(value, rounds=times.rounds)
            return value if moment.tzinfo is None else moment.astimezone(times.zone).replace(tzinfo=None)
        except (ValueError, OverflowError):
            return times.local_text(value)

    return read


def _utc(times: _Times) -> Reading:
    numbers = _numbers(replace(times, zone=ZoneInfo("UTC")).moment)

    def read(value: Any) -> Any:
        if not isinstance(value, str):
            return numbers(value)
        try:
            moment = iso_moment(value, rounds=times.rounds)
            zoned = moment.replace(tzinfo=times.zone) if moment.tzinfo is None else moment
            return zoned.astimezone(UTC).replace(tzinfo=None)
        except (ValueError, OverflowError):
            return times.utc_text(value)

    return read


_WHOLE_TYPES: Final = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.BOOLEAN)


_NUMBER: Final = re.compile(r"[ \t-\r]*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?[ \t-\r]*")
"""Number in the syntax of MariaDB, with ASCII whitespace around it."""
_MOST_DIGITS: Final = 20
"""Maximum number of digits in an integer column, that of BIGINT UNSIGNED."""


def _whole(value: Any) -> Any:
    if isinstance(value, int):
        return int(value)
    if isinstance(value, (float, Decimal, str)) and _NUMBER.fullmatch(str(value)):
        number = Decimal(str(value).strip())
        if number.adjusted() < _MOST_DIGITS and number == number.to_integral_value():
            return int(number)
    raise DataError(f"cannot write a value of type {_type(value)} into an integer column: it is not a whole number")


_DAY_MS: Final = 86_400_000


def _time(value: int) -> Any:
    if value == _DAY_MS:
        return "24:00:00"  # Python's time cannot represent it
    if not 0 <= value < _DAY_MS:
        raise DataError("cannot write a number into a time column: it is not a time of day in milliseconds")
    return _at(int(value)).time()


def _bytes(value: Any) -> Any:
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise DataError(f"cannot write a value of type {_type(value)} into a binary column")
    try:
        return base64.b64decode(value, validate=True)
    except ValueError:
        raise DataError("cannot write a string into a binary column: it is not Base64") from None


def _json(value: Any) -> Any:
    """Convert a value to JSON. A string is returned unchanged, since it already contains JSON."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, default=_in_json, ensure_ascii=False, allow_nan=False)
    except ValueError:
        raise DataError("cannot write infinity or NaN as JSON; change it with a transform") from None


def _in_json(value: Any) -> Any:
    if isinstance(value, Beyond):
        raise DataError("cannot write a number beyond the range of floats as JSON; change it with a transform")
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise DataError(f"cannot write a value of type {_type(value)} as JSON")


def _text(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Instant):
        return _iso(value)
    if isinstance(value, (dict, list)):
        return _json(value)
    if isinstance(value, bytes):
        raise DataError("cannot write bytes into a text column; use a binary column")
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return str(value)


def _iso(value: Instant) -> str:
    try:
        return _at(value).isoformat()
    except OverflowError:
        return moment_text(value)


def _other(value: Any) -> Any:
    """Convert a value for a column type that only the database can parse."""
    if isinstance(value, Instant):
        try:
            return _at(value)
        except OverflowError:
            raise DataError(OUTSIDE) from None
    return _json(value) if isinstance(value, (dict, list)) else value


def _scalar(value: Any) -> Any:
    if isinstance(value, (bool, float, dict, list, bytes)):
        raise DataError(f"cannot write a value of type {_type(value)} into a date or time column")
    return value


def _type(value: Any) -> str:
    return type(value).__name__
