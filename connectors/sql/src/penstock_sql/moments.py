"""Timestamps and dates in PostgreSQL's ISO format, including those that Python's `datetime` cannot represent. Pure.

`datetime` has no infinity, and covers the years 1 to 9999 only. The calendar repeats itself every 400 years, so a year
outside is computed as the equivalent year between 2400 and 2799.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Final

from penstock import DataError, Instant
from penstock_sql.far_moments import as_text

__all__ = ["clock", "day", "day_text", "local_moment", "moment", "moment_text"]

_INFINITE: Final = {"infinity": Instant(9_223_372_036_825_200_000), "-infinity": Instant(-9_223_372_036_832_400_000)}
"""Infinite timestamps, as PostgreSQL's JDBC driver represents them."""
_DAY_MS: Final = 86_400_000
_INFINITE_DAYS: Final = {
    "infinity": Instant((2**31 - 1) * _DAY_MS),
    "-infinity": Instant(-(2**31) * _DAY_MS),
}
"""The last and the first day of a Date, which is 32 bits of whole days. PostgreSQL's own range of dates is smaller."""
_INFINITE_TEXTS: Final[Mapping[int, str]] = {
    millis: text for of in (_INFINITE, _INFINITE_DAYS) for text, millis in of.items()
}

_MOMENT_0: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LOCAL_0: Final = datetime(1970, 1, 1)  # noqa: DTZ001 (of moments without a zone)
_DAY_0: Final = date(1970, 1, 1).toordinal()
_MILLI: Final = timedelta(milliseconds=1)
_read_moment = datetime.fromisoformat
_read_day = date.fromisoformat
_read_time = time.fromisoformat
_CYCLE: Final = 400
_CYCLE_MS: Final = 146_097 * _DAY_MS
_LIKE: Final = 2400
_FORM: Final = re.compile(
    r"(?P<year>\d{4,})-(?P<month>\d\d)-(?P<day>\d\d)"
    r"(?: (?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?:\.(?P<fraction>\d{1,6}))?"
    r"(?:(?P<sign>[+-])(?P<hours>\d\d)(?::(?P<minutes>\d\d))?(?::(?P<seconds>\d\d))?)?)?"
    r"(?P<bc> BC)?",
    re.ASCII,
)


def moment(text: str) -> Instant:
    """Parse a `timestamptz`.

    Raises:
        DataError: the text is not in PostgreSQL's ISO format.
    """
    try:
        return Instant((_read_moment(text) - _MOMENT_0) // _MILLI)
    except ValueError:
        return _INFINITE.get(text) or _outside(text, UTC)


def local_moment(zone: tzinfo) -> Callable[[str], Instant]:
    """Return a parser of `timestamp` values in the local time of a zone. It raises as `moment`."""

    def read_utc(text: str) -> Instant:
        try:
            return Instant((_read_moment(text) - _LOCAL_0) // _MILLI)
        except ValueError:
            return _INFINITE.get(text) or _outside(text, UTC)

    def read(text: str) -> Instant:
        try:
            return Instant((_read_moment(text).replace(tzinfo=zone) - _MOMENT_0) // _MILLI)
        except ValueError:
            return _INFINITE.get(text) or _outside(text, zone)

    return read_utc if str(zone) == "UTC" else read


def day(text: str) -> Instant:
    """Parse a `date`. Raises as `moment`."""
    try:
        return Instant((_read_day(text).toordinal() - _DAY_0) * _DAY_MS)
    except ValueError:
        return _INFINITE_DAYS.get(text) or _outside(text, UTC)


_END_OF_DAY: Final = re.compile(r"24:00:00(?:\.0+)?")


def clock(text: str) -> Instant | None:
    """Parse a `time` from 00:00:00 to 24:00:00, the range of Kafka Connect's Time; return None for any other text."""
    try:
        found = _read_time(text)
    except ValueError:
        return Instant(_DAY_MS) if _END_OF_DAY.fullmatch(text) else None
    return Instant(((found.hour * 60 + found.minute) * 60 + found.second) * 1000 + found.microsecond // 1000)


def _outside(text: str, zone: tzinfo) -> Instant:
    found = _FORM.fullmatch(text)
    if found is None:
        raise DataError("cannot parse a date or timestamp: unknown format; read the column as text with a query")
    month, day_, hour, minute, second = (int(found[n] or 0) for n in ("month", "day", "hour", "minute", "second"))
    year = 1 - int(found["year"]) if found["bc"] else int(found["year"])
    like = _LIKE + year % _CYCLE
    at = datetime(like, month, day_, hour, minute, second, int((found["fraction"] or "").ljust(6, "0")))  # noqa: DTZ001
    offset = _written_offset(found) if found["sign"] else _offset(at, year, zone)
    return Instant((at - _LOCAL_0 - offset) // _MILLI + (year - like) // _CYCLE * _CYCLE_MS)


def _written_offset(found: re.Match[str]) -> timedelta:
    offset = timedelta(**{name: int(found[name] or 0) for name in ("hours", "minutes", "seconds")})
    return -offset if found["sign"] == "-" else offset


def _offset(like: datetime, year: int, zone: tzinfo) -> timedelta:
    """Return the UTC offset of a zone; for years up to 1, its offset at the start of the year 1."""
    at = datetime(1, 1, 2) if year <= 1 else like  # noqa: DTZ001
    return at.replace(tzinfo=zone).utcoffset() or timedelta(0)


def moment_text(millis: int, zone: tzinfo | None = None) -> str:
    """Format an instant for PostgreSQL, in any year.

    Args:
        millis: milliseconds since 1970.
        zone: format the local time of this zone, without the zone; None to format UTC, with its offset.
    """
    if millis in _INFINITE_TEXTS:
        return _INFINITE_TEXTS[millis]
    return as_text(millis * 1000, zone, suffix="+00" if zone is None else "")


def day_text(millis: int) -> str:
    """Format the day of an instant for PostgreSQL, in any year."""
    if millis in _INFINITE_TEXTS:
        return _INFINITE_TEXTS[millis]
    day_, _, rest = as_text(millis * 1000).partition(" ")
    return f"{day_}{' BC' if rest.endswith('BC') else ''}"
