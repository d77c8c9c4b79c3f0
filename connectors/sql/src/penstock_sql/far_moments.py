"""Timestamps of any year, in microseconds: parsed from ISO 8601 and Java's format, and formatted for databases. Pure.

Python's `datetime` covers the years 1 to 9999 only, also in conversions between zones. The calendar repeats itself every
400 years, so a year outside is computed as the equivalent year between 2400 and 2799.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, NamedTuple

from penstock import DataError

__all__ = ["OUTSIDE", "Written", "as_text", "is_within", "iso_moment", "written"]

OUTSIDE: Final = (
    "cannot write a date or timestamp outside the years 1 to 9999: only PostgreSQL supports it; change it with a "
    "transform"
)
"""Message about a value that the database does not support."""
_CYCLE: Final = 400
_CYCLE_MICROS: Final = 146_097 * 86_400_000_000
_LIKE: Final = 2400
_LIKE_0: Final = datetime(_LIKE, 1, 1, tzinfo=UTC)
_MICRO: Final = timedelta(microseconds=1)
_MOMENT_0: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LIKE_MICROS: Final = (_LIKE_0 - _MOMENT_0) // _MICRO
_POSITIVE: Final = 9_223_372_036_825_200_000
_NEGATIVE: Final = -9_223_372_036_832_400_000
_INFINITE: Final = {
    _POSITIVE: "infinity",
    _POSITIVE * 1000: "infinity",
    _NEGATIVE: "-infinity",
    _NEGATIVE * 1000: "-infinity",
}
"""PostgreSQL's JDBC driver represents infinity as these milliseconds, which Debezium also uses as microseconds."""
_LONG_FRACTION: Final = re.compile(r"[.,](\d{7,})")
_FORM: Final = re.compile(
    r"(?P<year>[+-]?\d{4,9})-(?P<month>\d\d)-(?P<day>\d\d)"
    r"(?:[Tt ](?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?)?"
    r"(?P<zone>[Zz]|(?P<sign>[+-])(?P<hours>\d\d)(?::?(?P<minutes>\d\d)(?::?(?P<seconds>\d\d))?)?)?)?",
    re.ASCII,
)


class Written(NamedTuple):
    """Timestamp parsed from a string.

    Attributes:
        local: microseconds since 1970 in the local time of its zone.
        offset: microseconds that its zone is ahead of UTC; None if the text has no zone.
    """

    local: int
    offset: int | None

    def utc(self, zone: tzinfo) -> int:
        """Return the microseconds since 1970 in UTC.

        Args:
            zone: the zone of a text without one.
        """
        if self.offset is not None:
            return self.local - self.offset
        cycles, at = _like(self.local)
        return self.local - _offset(at.replace(tzinfo=None), at.year + cycles * _CYCLE, zone) // _MICRO


def iso_moment(text: str, *, rounds: bool) -> datetime:
    """Parse an ISO 8601 timestamp.

    Args:
        text: with or without a zone.
        rounds: round to microseconds; otherwise truncate.

    Raises:
        ValueError: the text has another format, or `datetime` cannot represent it.
        OverflowError: rounded, it is after the year 9999.
    """
    moment = datetime.fromisoformat(text)
    fraction = _LONG_FRACTION.search(text) if rounds else None
    if fraction is None:
        return moment
    return moment.replace(microsecond=0) + _MICRO * _micros(fraction[1], rounds=True)


def _micros(fraction: str, *, rounds: bool) -> int:
    """Return the microseconds of the fraction of a second, rounded as PostgreSQL rounds, or truncated."""
    return round(float(f".{fraction}") * 1_000_000) if rounds else int(fraction.ljust(6, "0")[:6])


def written(text: str, *, rounds: bool) -> Written | None:
    """Parse a timestamp; return None if the text has another format, which the database may still support.

    Args:
        text: in the format of ISO 8601 or Java.
        rounds: as for `iso_moment`.

    Raises:
        DataError: the time of day or the offset does not exist. Some databases would read 25:00 as the next day.
    """
    found = _FORM.fullmatch(text.strip())
    if found is None:
        return None
    numbers = {
        n: int(found[n] or 0) for n in ("month", "day", "hour", "minute", "second", "hours", "minutes", "seconds")
    }
    if not _is_clock(numbers, found["fraction"]):
        raise DataError("cannot parse a timestamp: its time of day or its offset does not exist; correct the value")
    year = int(found["year"])
    like = _LIKE + year % _CYCLE
    try:
        at = datetime(like, numbers["month"], numbers["day"], tzinfo=UTC)
    except ValueError:
        return None
    clock = {f"{unit}s": numbers[unit] for unit in ("hour", "minute", "second")}
    fraction = _micros(found["fraction"] or "0", rounds=rounds)
    local = (at + timedelta(**clock, microseconds=fraction) - _MOMENT_0) // _MICRO
    local += (year - like) // _CYCLE * _CYCLE_MICROS
    if found["zone"] is None:
        return Written(local, None)
    offset = timedelta(**{unit: numbers[unit] for unit in ("hours", "minutes", "seconds")}) // _MICRO
    return Written(local, -offset if found["sign"] == "-" else offset)


def _is_clock(numbers: Mapping[str, int], fraction: str | None) -> bool:
    """Return whether a time of day exists (up to 24:00:00, with leap seconds), and its offset is at most 15:59:59."""
    hour, minute, second = (numbers[unit] for unit in ("hour", "minute", "second"))
    is_end = hour == 24 and not minute and not second and not int(fraction or 0)
    is_offset = numbers["hours"] < 16 and numbers["minutes"] < 60 and numbers["seconds"] < 60
    return is_offset and (is_end or (hour < 24 and minute < 60 and second <= 60))


def is_within(text: str) -> bool:
    """Return whether a timestamp that `as_text` has formatted is in the years 1 to 9999."""
    return text[:4].isdecimal() and text[4] == "-" and not text.endswith("BC")


def as_text(micros: int, zone: tzinfo | None = None, *, suffix: str = "") -> str:
    """Format a timestamp for PostgreSQL, in any year; within the years 1 to 9999 every database can read it.

    Args:
        micros: microseconds since 1970.
        zone: the zone of the local time; None for UTC.
        suffix: appended to the time of day, such as `+00`.
    """
    if micros in _INFINITE:
        return _INFINITE[micros]
    cycles, at = _like(micros)
    if zone is not None:
        year = at.year + cycles * _CYCLE
        at += (
            _offset(at.replace(tzinfo=None), year, zone) if year <= 1 else at.astimezone(zone).utcoffset() or _MICRO * 0
        )
    year = at.year + cycles * _CYCLE
    clock = at.time().isoformat("microseconds" if micros % 1000 else "milliseconds")
    return f"{year if year > 0 else 1 - year:04}-{at:%m-%d} {clock}{suffix}{'' if year > 0 else ' BC'}"


def _like(micros: int) -> tuple[int, datetime]:
    """Return the equivalent time between 2400 and 2799, and the number of 400-year periods to add to it."""
    cycles, rest = divmod(micros - _LIKE_MICROS, _CYCLE_MICROS)
    return cycles, _LIKE_0 + timedelta(microseconds=rest)


def _offset(like: datetime, year: int, zone: tzinfo) -> timedelta:
    """Return the UTC offset of a zone; for years up to 1, its offset at the start of the year 1."""
    at = datetime(1, 1, 2) if year <= 1 else like  # noqa: DTZ001
    return at.replace(tzinfo=zone).utcoffset() or timedelta(0)
