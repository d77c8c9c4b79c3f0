"""Print instants as text.

A pattern is cut into spans, each of which depends only on the day, the minute of the day, the second or the millisecond. The
texts of each span are cached, so that printing an instant is one look-up per span and a join. Adjacent spans that depend on
day and minute share one look-up.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce
from operator import add
from typing import Any, Final

from penstock_java_compat.calendar import DAY, MONTHS, WEEKDAYS, CivilDay, civil_day
from penstock_java_compat.date_format.pattern import Field, Piece
from penstock_java_compat.date_format.zones import UTC, Zone

__all__ = ["Printer"]

_MOST_DIGITS: Final = 309  # Java's DecimalFormat pads to this
_MOST: Final = 20_000


def _number(number: int, count: int) -> str:
    digits = str(abs(number)).zfill(min(count, _MOST_DIGITS))
    return f"-{digits}" if number < 0 else digits


def _year(year: int, count: int) -> str:
    return _number(year, count) if count != 2 else f"{'-' if year < 0 else ''}{abs(year) % 100:02}"


def _month(day: CivilDay, count: int) -> str:
    if count < 3:
        return _number(day.month, count)
    name = MONTHS[day.month - 1]
    return name[:3] if count == 3 else name


_OF_DAY: Final[dict[str, Callable[[CivilDay, int], str]]] = {
    "G": lambda d, n: "AD" if d.year > 0 else "BC",
    "y": lambda d, n: _year(d.year_of_era, n),
    "Y": lambda d, n: _year(d.week_year, n),
    "M": _month,
    "L": _month,
    "w": lambda d, n: _number(d.week, n),
    "W": lambda d, n: _number(d.week_of_month, n),
    "D": lambda d, n: _number(d.day_of_year, n),
    "d": lambda d, n: _number(d.day, n),
    "F": lambda d, n: _number(d.weekday_in_month, n),
    "E": lambda d, n: WEEKDAYS[d.weekday] if n > 3 else WEEKDAYS[d.weekday][:3],
    "u": lambda d, n: _number(d.weekday or 7, n),
}
_OF_MINUTE: Final[dict[str, Callable[[int, int], str]]] = {
    "a": lambda m, n: "PM" if m >= 720 else "AM",
    "H": lambda m, n: _number(m // 60, n),
    "k": lambda m, n: _number(m // 60 or 24, n),
    "K": lambda m, n: _number(m // 60 % 12, n),
    "h": lambda m, n: _number(m // 60 % 12 or 12, n),
    "m": lambda m, n: _number(m % 60, n),
}


def _zone_text(letter: str, count: int, zone: Zone, offset: int, *, summer: bool) -> str:
    if letter == "z":
        return zone.name(summer=summer, long=count >= 4)
    minutes = abs(offset) // 60_000
    hours, minutes = divmod(minutes, 60)
    if letter == "Z":
        # Fractions of a minute are dropped before the sign is chosen: -00:00:30 is +0000.
        return f"{'-' if offset <= -60_000 else '+'}{hours:02}{minutes:02}"
    if offset == 0:
        return "Z"
    sign = "-" if offset <= -60_000 else "+"
    return f"{sign}{hours:02}" + ("" if count == 1 else f"{':' if count == 3 else ''}{minutes:02}")


class _Texts(dict[int, str]):
    """Texts of a span by day, minute, second or millisecond, created on first access."""

    def __init__(self, pieces: Sequence[Piece], kind: str) -> None:
        super().__init__()
        self.kind = kind
        self._pieces = pieces

    def __missing__(self, key: int) -> str:
        if len(self) >= _MOST:
            self.clear()
        subject: Any = civil_day(key) if self.kind == "day" else key
        text = "".join(p if isinstance(p, str) else _of(p, subject) for p in self._pieces)
        self[key] = text
        return text


class _Minutes(dict[int, str]):
    """Texts of two adjacent spans that depend on day and minute of the day, by minutes since 1970."""

    kind = "whole minute"

    def __init__(self, first: _Texts, second: _Texts) -> None:
        super().__init__()
        self._parts = [(part, part.kind == "day") for part in (first, second)]

    def __missing__(self, key: int) -> str:
        if len(self) >= _MOST:
            self.clear()
        text = "".join([part[key // 1440 if by_day else key % 1440] for part, by_day in self._parts])
        self[key] = text
        return text


def _of(field: Field, subject: Any) -> str:
    letter, count = field
    by_day = _OF_DAY.get(letter)
    if by_day is not None:
        return by_day(subject, count)
    by_minute = _OF_MINUTE.get(letter)
    return _number(subject, count) if by_minute is None else by_minute(subject, count)


def _kind(letter: str) -> str:
    if letter in _OF_DAY:
        return "day"
    return "minute" if letter in _OF_MINUTE else {"s": "second", "S": "milli"}[letter]


_Spans = list[_Texts | _Minutes]


def _spans(pieces: Iterable[Piece]) -> _Spans:
    """Group adjacent pieces of the same kind; literal text belongs to the piece before it, or to the first."""
    spans: list[tuple[str, list[Piece]]] = []
    for piece in pieces:
        kind = "" if isinstance(piece, str) else _kind(piece.letter)
        if spans and (not kind or not spans[-1][0] or spans[-1][0] == kind):
            spans[-1] = (spans[-1][0] or kind, [*spans[-1][1], piece])
        else:
            spans.append((kind, [piece]))
    made: _Spans = []
    for kind, found in spans:
        texts = _Texts(found, kind or "day")
        last = made[-1] if made else None
        if isinstance(last, _Texts) and {last.kind, kind} == {"day", "minute"}:
            made[-1] = _Minutes(last, texts)
        else:
            made.append(texts)
    return made


_KEYS: Final[dict[str, Callable[[int], int]]] = {
    "day": lambda m: m // DAY,
    "whole minute": lambda m: m // 60_000,
    "minute": lambda m: m // 60_000 % 1440,
    "second": lambda m: m // 1000 % 60,
    "milli": lambda m: m % 1000,
}


class Printer:
    """Printer of instants with one pattern."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._pieces = pieces
        self._by_zone: dict[tuple[Zone, int, bool], _Spans] = {}
        self._utc = self._in_zone(UTC, 0, summer=False)

    def text(self, millis: int, zone: Zone) -> str:
        """Return the text of one instant in that zone."""
        spans = self._utc
        if zone is not UTC:
            offset, summer = zone.offset_at(millis)
            key = (zone, offset, summer != 0)
            spans = self._by_zone.get(key) or self._by_zone.setdefault(key, self._in_zone(zone, offset, summer=key[2]))
            millis += offset
        return "".join([span[_KEYS[span.kind](millis)] for span in spans])

    def texts(self, millis: Sequence[int]) -> list[str]:
        """Return the texts of many instants in UTC."""
        columns = [map(span.__getitem__, _keys(span.kind, millis)) for span in self._utc]
        if not columns:
            return [""] * len(millis)
        if len(columns) <= 3:
            return list(reduce(partial(map, add), columns))
        return list(map("".join, zip(*columns, strict=True)))

    def _in_zone(self, zone: Zone, offset: int, *, summer: bool) -> _Spans:
        return _spans(
            _zone_text(*p, zone, offset, summer=summer) if isinstance(p, Field) and p.letter in "zZX" else p
            for p in self._pieces
        )


def _keys(kind: str, millis: Sequence[int]) -> list[int]:
    # Inlined: a function call for each instant would cost more than the division.
    if kind == "day":
        return [m // DAY for m in millis]
    if kind == "whole minute":
        return [m // 60_000 for m in millis]
    if kind == "minute":
        return [m // 60_000 % 1440 for m in millis]
    if kind == "second":
        return [m // 1000 % 60 for m in millis]
    return [m % 1000 for m in millis]
