"""Moments of any year, in microseconds: of texts as ISO 8601 and Java write them, and as texts that databases read. Pure.

Python's `datetime` ends at the years 1 and 9999, also on the way from one zone to another. The calendar repeats itself every
400 years, so a year outside is reckoned as the one like it between 2400 and 2799.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, NamedTuple

from penstock import DataError

__all__ = ["OUTSIDE", "Written", "as_text", "is_within", "iso_moment", "written"]

OUTSIDE: Final = (
    "it lies outside the years 1 to 9999, which only columns of time of PostgreSQL have; let a transform change it"
)
"""Why a record is handed back by a database that has no other years."""
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
"""PostgreSQL's driver for Java has infinity as milliseconds, which Debezium takes for microseconds as well."""
_LONG_FRACTION: Final = re.compile(r"[.,](\d{7,})")
_FORM: Final = re.compile(
    r"(?P<year>[+-]?\d{4,9})-(?P<month>\d\d)-(?P<day>\d\d)"
    r"(?:[Tt ](?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?)?"
    r"(?P<zone>[Zz]|(?P<sign>[+-])(?P<hours>\d\d)(?::?(?P<minutes>\d\d)(?::?(?P<seconds>\d\d))?)?)?)?",
    re.ASCII,
)


class Written(NamedTuple):
    """A moment of a text.

    Attributes:
        local: microseconds since 1970 by the clocks of its zone.
        offset: those by which its zone is ahead of UTC; None: the text has no zone.
    """

    local: int
    offset: int | None

    def utc(self, zone: tzinfo) -> int:
        """Microseconds since 1970.

        Args:
            zone: of a text without one.
        """
        if self.offset is not None:
            return self.local - self.offset
        cycles, at = _like(self.local)
        return self.local - _offset(at.replace(tzinfo=None), at.year + cycles * _CYCLE, zone) // _MICRO


def iso_moment(text: str, *, rounds: bool) -> datetime:
    """Return the moment of a text as ISO 8601 has it.

    Args:
        text: with or without a zone.
        rounds: whether the seventh digit of a second counts, or is cut.

    Raises:
        ValueError: it is of another form, or `datetime` does not have it.
        OverflowError: rounded, it lies behind the year 9999.
    """
    moment = datetime.fromisoformat(text)
    fraction = _LONG_FRACTION.search(text) if rounds else None
    if fraction is None:
        return moment
    return moment.replace(microsecond=0) + _MICRO * _micros(fraction[1], rounds=True)


def _micros(fraction: str, *, rounds: bool) -> int:
    """Return the microseconds of the digits of a second; rounded as PostgreSQL does."""
    return round(float(f".{fraction}") * 1_000_000) if rounds else int(fraction.ljust(6, "0")[:6])


def written(text: str, *, rounds: bool) -> Written | None:
    """Return the moment that a text writes; None where it is of another form, which the database may know.

    Args:
        text: as ISO 8601 and Java write it.
        rounds: as for `iso_moment`.

    Raises:
        DataError: its clock shows what no clock does. Some databases take 25:00 for the next day.
    """
    found = _FORM.fullmatch(text.strip())
    if found is None:
        return None
    numbers = {
        n: int(found[n] or 0) for n in ("month", "day", "hour", "minute", "second", "hours", "minutes", "seconds")
    }
    if not _is_clock(numbers, found["fraction"]):
        raise DataError("its time of the day, or its offset, does not exist")
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
    """Return whether the numbers of a clock exist: up to 24:00:00, with leap seconds, 15:59:59 from UTC at most."""
    hour, minute, second = (numbers[unit] for unit in ("hour", "minute", "second"))
    is_end = hour == 24 and not minute and not second and not int(fraction or 0)
    is_offset = numbers["hours"] < 16 and numbers["minutes"] < 60 and numbers["seconds"] < 60
    return is_offset and (is_end or (hour < 24 and minute < 60 and second <= 60))


def is_within(text: str) -> bool:
    """Whether a text of `as_text` lies in the years 1 to 9999."""
    return text[:4].isdecimal() and text[4] == "-" and not text.endswith("BC")


def as_text(micros: int, zone: tzinfo | None = None, *, suffix: str = "") -> str:
    """A moment as PostgreSQL reads it, whatever the year; within the years 1 to 9999 every database reads it.

    Args:
        micros: since 1970.
        zone: whose clocks show it; None: those of UTC.
        suffix: behind the clock, such as `+00`.
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
    """How many times 400 years behind a moment like this one, between 2400 and 2799."""
    cycles, rest = divmod(micros - _LIKE_MICROS, _CYCLE_MICROS)
    return cycles, _LIKE_0 + timedelta(microseconds=rest)


def _offset(like: datetime, year: int, zone: tzinfo) -> timedelta:
    """Before there were zones, that of the first year."""
    at = datetime(1, 1, 2) if year <= 1 else like  # noqa: DTZ001
    return at.replace(tzinfo=zone).utcoffset() or timedelta(0)
