"""Java's dates, UTC: Julian before 15 October 1582, Gregorian from then on, any year that 64 bits of millis reach."""

from typing import Final, NamedTuple

__all__ = ["DAY", "CivilTime", "civil", "date_text", "millis_of"]

DAY: Final = 86_400_000
_CUTOVER: Final = -141_427  # days from 1970-01-01 to 1582-10-15
_WEEKDAYS: Final = ("Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class CivilTime(NamedTuple):
    """A moment in the calendar; years before 1 go on as 0, -1, ..."""

    year: int
    month: int
    day: int
    hour: int
    minute: int
    second: int
    milli: int

    @property
    def year_of_era(self) -> int:
        """The year as `yyyy` prints it: 1 BC is 1."""
        return self.year if self.year > 0 else 1 - self.year


def civil(millis: int) -> CivilTime:
    """The calendar's fields of a moment."""
    days, rest = divmod(millis, DAY)
    year, month, day = _from_days(days)
    return CivilTime(year, month, day, rest // 3_600_000, rest // 60_000 % 60, rest // 1000 % 60, rest % 1000)


def millis_of(year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0, milli: int = 0) -> int:
    """The moment of these fields, leniently: whatever is out of range rolls over, as in `GregorianCalendar`."""
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    days = _to_days(year, month, 1, gregorian=True) + day - 1
    if days < _CUTOVER:
        days = _to_days(year, month, 1, gregorian=False) + day - 1
    return days * DAY + hour * 3_600_000 + minute * 60_000 + second * 1000 + milli


def date_text(millis: int) -> str:
    """`java.util.Date.toString`."""
    t = civil(millis)
    weekday = _WEEKDAYS[millis // DAY % 7]
    clock = f"{t.hour:02}:{t.minute:02}:{t.second:02}"
    return f"{weekday} {_MONTHS[t.month - 1]} {t.day:02} {clock} UTC {t.year_of_era}"


def _to_days(year: int, month: int, day: int, *, gregorian: bool) -> int:
    shifted = year - (month <= 2)
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    days = 365 * shifted + shifted // 4 + of_year
    return days - shifted // 100 + shifted // 400 - 719_468 if gregorian else days - 719_470


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
