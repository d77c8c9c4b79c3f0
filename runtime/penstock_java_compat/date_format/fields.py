"""Fields read from text, and their instant: Java's `CalendarBuilder` and a lenient `GregorianCalendar`."""

from enum import IntEnum, auto
from typing import Final

from penstock_java_compat.calendar import DAY, calendar_days, civil_day, first_of_month, int32, int64, weekday
from penstock_java_compat.date_format.zones import UTC, Zone

__all__ = ["Name", "ReadFields"]


class Name(IntEnum):
    """Calendar fields that text can set."""

    ERA = auto()
    YEAR = auto()
    WEEK_YEAR = auto()
    MONTH = auto()
    DAY = auto()
    DAY_OF_YEAR = auto()
    WEEKDAY = auto()
    WEEKDAY_IN_MONTH = auto()
    WEEK = auto()
    WEEK_OF_MONTH = auto()
    HOUR_OF_DAY = auto()
    HALF_DAY = auto()
    HOUR = auto()
    MINUTE = auto()
    SECOND = auto()
    MILLI = auto()
    OFFSET = auto()
    SUMMER = auto()


_YEARS: Final = (Name.YEAR, Name.WEEK_YEAR)
_OTHER_DAYS: Final = frozenset({Name.DAY_OF_YEAR, Name.WEEKDAY_IN_MONTH, Name.WEEK, Name.WEEK_OF_MONTH})
_OF_DAY: Final = (Name.MINUTE, 60_000), (Name.SECOND, 1000), (Name.MILLI, 1)


class ReadFields:
    """Fields in the order in which they were set. Of conflicting fields, the latest one applies."""

    def __init__(self) -> None:
        self._values: dict[Name, int] = {}

    def set(self, name: Name, value: int) -> None:
        """Set a field and make it the latest."""
        self._values.pop(name, None)
        self._values[name] = value

    def clear(self, name: Name) -> None:
        """Remove a field."""
        self._values.pop(name, None)

    def a_century_later(self) -> None:
        """Add a hundred years."""
        for name in (Name.YEAR, Name.WEEK_YEAR):
            if name in self._values:
                self._values[name] = int32(self._values[name] + 100)

    def millis(self, zone: Zone) -> int:
        """Return the instant. Numbers out of range roll over, and those beyond 64 bits wrap."""
        values = self._values
        wall = _wall(values)
        if Name.WEEK_YEAR in values and [n for n in values if n in _YEARS][-1] is Name.WEEK_YEAR:
            # First, only the other fields determine the era of the year; then the day is treated as set after them.
            day = civil_day(_by_week_year(values, before_christ=civil_day(wall // DAY).year < 1))
            others = {n: v for n, v in values.items() if n not in (Name.ERA, Name.YEAR, Name.MONTH, Name.DAY)}
            wall = _wall(others | {Name.YEAR: day.year, Name.MONTH: day.month - 1, Name.DAY: day.day})
        if zone is UTC and Name.SUMMER not in values:
            return wall
        if Name.OFFSET in values:
            return int64(wall - values[Name.OFFSET] - values[Name.SUMMER])
        offset, summer = zone.offset_by_wall(wall)
        return int64(wall - offset + summer - values.get(Name.SUMMER, summer))


def _wall(values: dict[Name, int]) -> int:
    """Return the local date and time in milliseconds, as if they were in UTC."""
    year = values.get(Name.YEAR, 1970)
    if values.get(Name.ERA) == 0:
        year = int32(1 - year)
    stamps = {name: i for i, name in enumerate(values, 1)}
    of_day = _hours(values, stamps) * 3_600_000
    for name, unit in _OF_DAY:
        of_day += values.get(name, 0) * unit
    carried, rest = divmod(of_day, DAY)
    day_field = _day_field(stamps)
    days = calendar_days(
        year,
        lambda gregorian: carried + _days(values, day_field, year, gregorian=gregorian),
        of_year=day_field in (Name.DAY_OF_YEAR, Name.WEEK),
    )
    return int64(days * DAY + rest)


def _hours(values: dict[Name, int], stamps: dict[Name, int]) -> int:
    of_day, hour, half = (stamps.get(n, 0) for n in (Name.HOUR_OF_DAY, Name.HOUR, Name.HALF_DAY))
    both = max(hour, half) if hour and half else 0
    if max(of_day, both) == of_day > 0:
        return values[Name.HOUR_OF_DAY]
    return values.get(Name.HOUR, 0) + 12 * values.get(Name.HALF_DAY, 0)


def _day_field(stamps: dict[Name, int]) -> Name:
    """Return the field that determines the day: DAY, DAY_OF_YEAR, WEEK_OF_MONTH, WEEKDAY_IN_MONTH or WEEK.

    The last three are complete with WEEKDAY, and as late as the later of the two fields. The latest complete field applies;
    of several that are as late as WEEKDAY, that which was set last. If none is complete, the latest of the last three
    applies, with WEEKDAY as WEEKDAY_IN_MONTH. If none is set, DAY applies.
    """
    if Name.DAY in stamps and _OTHER_DAYS.isdisjoint(stamps):
        return Name.DAY

    def with_weekday(name: Name) -> int:
        return max(stamp(name), stamp(Name.WEEKDAY)) if stamp(name) and stamp(Name.WEEKDAY) else 0

    def stamp(name: Name) -> int:
        return stamps.get(name, 0)

    day, of_year = stamp(Name.DAY), stamp(Name.DAY_OF_YEAR)
    of_month, in_month, week = map(with_weekday, (Name.WEEK_OF_MONTH, Name.WEEKDAY_IN_MONTH, Name.WEEK))
    latest = max(day, of_month, in_month, of_year, week)
    if not latest:
        of_month, week = stamp(Name.WEEK_OF_MONTH), stamp(Name.WEEK)
        in_month = max(stamp(Name.WEEKDAY_IN_MONTH), stamp(Name.WEEKDAY))
        latest = max(of_month, in_month, week)
    if latest == day:  # also if none is set
        return Name.DAY
    if (latest == of_month and stamp(Name.WEEK_OF_MONTH) >= stamp(Name.WEEK)) or (
        latest == in_month and stamp(Name.WEEKDAY_IN_MONTH) >= stamp(Name.WEEK)
    ):
        if of_month == in_month:
            later = stamp(Name.WEEK_OF_MONTH) >= stamp(Name.WEEKDAY_IN_MONTH)
            return Name.WEEK_OF_MONTH if later else Name.WEEKDAY_IN_MONTH
        return Name.WEEK_OF_MONTH if latest == of_month else Name.WEEKDAY_IN_MONTH
    return Name.DAY_OF_YEAR if latest == of_year else Name.WEEK


def _days(values: dict[Name, int], day_field: Name, year: int, *, gregorian: bool) -> int:
    """Return the day of the fields in one calendar, in days since 1970-01-01."""
    if day_field is Name.DAY_OF_YEAR:
        return first_of_month(year, 1, gregorian=gregorian) + values[Name.DAY_OF_YEAR] - 1
    wanted = values.get(Name.WEEKDAY, 1)
    if day_field is Name.WEEK:
        first = first_of_month(year, 1, gregorian=gregorian)
        return _weekday_until(first + 6, 1) - _early(first) + _ahead(wanted) + 7 * (values[Name.WEEK] - 1)
    month = values.get(Name.MONTH, 0) + 1
    first = first_of_month(year, month, gregorian=gregorian)
    if day_field is Name.DAY:
        return first + values.get(Name.DAY, 1) - 1
    if day_field is Name.WEEK_OF_MONTH:
        sunday = _weekday_until(first + 6, 1) - _early(first)
        return sunday + _ahead(wanted) + int32(7 * int32(values[Name.WEEK_OF_MONTH] - 1))
    number = values.get(Name.WEEKDAY_IN_MONTH, 1)
    if number >= 0:
        return _weekday_until(first + int32(7 * number) - 1, wanted)
    length = _length(int32(year + (month - 1) // 12), (month - 1) % 12)
    return _weekday_until(first + int32(length + int32(7 * int32(number + 1))) - 1, wanted)


def _early(first: int) -> int:
    """Return 7 if the week of a first day begins before that day, else 0."""
    return 7 if weekday(first) else 0


def _ahead(wanted: int) -> int:
    """Return the days from Sunday to a weekday (1 for Sunday). Any number is valid: for Java, 7 and 14 are the same."""
    return int32(wanted - 1) % 7


def _weekday_until(days: int, wanted: int) -> int:
    """Return the last such weekday (1 for Sunday) up to and including a day."""
    return days - (weekday(days) - int32(wanted - 1)) % 7


def _length(year: int, month: int) -> int:
    if month != 1:
        return (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month]
    return 29 if year % 4 == 0 and (year < 1582 or year % 100 != 0 or year % 400 == 0) else 28


def _by_week_year(values: dict[Name, int], *, before_christ: bool) -> int:
    """Return the day of a week date, in days since 1970-01-01."""
    week, day = values.get(Name.WEEK, 1), values.get(Name.WEEKDAY, 1)
    if not 1 <= day <= 7:  # a value of `u` (1 for Monday) outside of 1 to 7
        week, day = week + (day - 1) // 7, (day - 1) % 7 + 1
        day = 1 if day == 7 else day + 1
    year = values[Name.WEEK_YEAR]
    if before_christ:
        year = int32(1 - year)

    def count(gregorian: bool) -> int:
        first = first_of_month(year, 1, gregorian=gregorian)
        return _weekday_until(first + 6, 1) - _early(first)

    start = int64(calendar_days(year, count, of_year=True) * DAY)
    return int64(start + int32(day - 1 + 7 * (int32(week) - 1)) * DAY) // DAY
