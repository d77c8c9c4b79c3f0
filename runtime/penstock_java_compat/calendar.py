"""Java's dates in UTC: Julian before 15 October 1582, Gregorian from then on, for 64-bit milliseconds."""

from collections.abc import Callable
from typing import Final, NamedTuple

__all__ = [
    "DAY",
    "MONTHS",
    "WEEKDAYS",
    "CivilDay",
    "CivilTime",
    "calendar_days",
    "civil",
    "civil_day",
    "date_text",
    "first_of_month",
    "int32",
    "int64",
    "millis_of",
    "weekday",
]

DAY: Final = 86_400_000
_CUTOVER: Final = -141_427  # days from 1970-01-01 to 1582-10-15
WEEKDAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


class CivilTime(NamedTuple):
    """Instant as calendar fields; years before 1 continue as 0, -1, ..."""

    year: int
    month: int
    day: int
    hour: int
    minute: int
    second: int
    milli: int

    @property
    def year_of_era(self) -> int:
        """Year as `yyyy` prints it: 1 BC is 1."""
        return self.year if self.year > 0 else 1 - self.year


class CivilDay(NamedTuple):
    """Day as calendar fields, with US weeks: they begin on Sunday, and the first contains January 1."""

    year: int
    month: int
    day: int
    day_of_year: int
    weekday: int
    week_year: int
    week: int
    week_of_month: int
    weekday_in_month: int

    @property
    def year_of_era(self) -> int:
        """Year as `yyyy` prints it: 1 BC is 1."""
        return self.year if self.year > 0 else 1 - self.year


def int32(number: int) -> int:
    """Return the low 32 bits as a signed number, as Java's `int` does."""
    return (number + 2**31) % 2**32 - 2**31


def int64(number: int) -> int:
    """Return the low 64 bits as a signed number, as Java's `long` does."""
    return (number + 2**63) % 2**64 - 2**63


def civil(millis: int) -> CivilTime:
    """Return the calendar fields of an instant."""
    days, rest = divmod(millis, DAY)
    year, month, day = _from_days(days)
    return CivilTime(year, month, day, rest // 3_600_000, rest // 60_000 % 60, rest // 1000 % 60, rest % 1000)


def civil_day(days: int) -> CivilDay:
    """Return the calendar fields of a day since 1970-01-01.

    In 1582, only existing days are counted: October 15 is day 278 of the year and day 5 of its month.
    """
    year, month, day = _from_days(days)
    new_year = _first_of(year, 1)
    of_year = days - new_year
    of_month = days - _first_of(year, month)
    week_year, week = year, (of_year + weekday(new_year)) // 7 + 1
    if month == 12:
        following = _first_of(year + 1, 1)
        if days >= following - weekday(following):
            week = 1
        # Before Christ, Java uses the weekday of the wrong New Year, because it increments the year of the era.
        if days >= following - weekday(following if year > 0 else _first_of(-year, 1)):
            week_year = year + 1
    return CivilDay(
        year=year,
        month=month,
        day=day,
        day_of_year=of_year + 1,
        weekday=weekday(days),
        week_year=week_year,
        week=week,
        week_of_month=(of_month + weekday(days - of_month)) // 7 + 1,
        weekday_in_month=of_month // 7 + 1,
    )


def weekday(days: int) -> int:
    """Return the day of the week, 0 for Sunday."""
    return (days + 4) % 7


def millis_of(year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0, milli: int = 0) -> int:
    """Return the instant of these fields. Fields out of range roll over, as in a lenient `GregorianCalendar`."""
    carried, rest = divmod(hour * 3_600_000 + minute * 60_000 + second * 1000 + milli, DAY)

    def count(gregorian: bool) -> int:
        return first_of_month(year, month, gregorian=gregorian) + day - 1 + carried

    return calendar_days(year, count) * DAY + rest


def calendar_days(year: int, count: Callable[[bool], int], *, of_year: bool = False) -> int:
    """Return a day, counted in the calendar that Java uses for it.

    Args:
        year: year before any field rolls over.
        count: function that returns the day in one calendar; its argument is True for the Gregorian calendar.
        of_year: whether days or weeks are counted from New Year, which was Julian in 1582.
    """
    if year > 1582 or (year == 1582 and not of_year):
        days = count(True)
        if days >= _CUTOVER:
            return days
    return count(False)


def date_text(millis: int) -> str:
    """Return the result of `java.util.Date.toString`."""
    t = civil(millis)
    clock = f"{t.hour:02}:{t.minute:02}:{t.second:02}"
    return f"{WEEKDAYS[weekday(millis // DAY)][:3]} {MONTHS[t.month - 1][:3]} {t.day:02} {clock} UTC {t.year_of_era}"


def first_of_month(year: int, month: int, *, gregorian: bool) -> int:
    """Return the first day of a month in one of the two calendars, in days since 1970-01-01; months may roll over."""
    year, month = int32(year + (month - 1) // 12), (month - 1) % 12 + 1
    shifted = year - (month <= 2)
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5
    days = 365 * shifted + shifted // 4 + of_year
    return days - shifted // 100 + shifted // 400 - 719_468 if gregorian else days - 719_470


def _first_of(year: int, month: int) -> int:
    return calendar_days(year, lambda gregorian: first_of_month(year, month, gregorian=gregorian))


def _from_days(days: int) -> tuple[int, int, int]:
    if days >= _CUTOVER:
        shifted = days + 719_468
        era, of_era = divmod(shifted, 146_097)
        year_of_era = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
        year = year_of_era + era * 400
        of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    else:
        era, of_era = divmod(days + 719_470, 1461)
        year_of_era = (of_era - of_era // 1460) // 365
        year = year_of_era + era * 4
        of_year = of_era - 365 * year_of_era
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    return (year + (month >= 10), month + (3 if month < 10 else -9), day)
