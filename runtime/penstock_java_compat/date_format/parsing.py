"""Parse instants leniently, as `SimpleDateFormat.parse` does."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from penstock_java_compat.calendar import MONTHS, WEEKDAYS, civil, int32
from penstock_java_compat.date_format.fields import Name, ReadFields
from penstock_java_compat.date_format.letters import folded
from penstock_java_compat.date_format.numbers import integer_at
from penstock_java_compat.date_format.pattern import Field, Piece
from penstock_java_compat.date_format.zones import Zone, named_zone

__all__ = ["Parser", "TextError"]

_NUMBERS: Final[Mapping[str, Name]] = {
    "y": Name.YEAR,
    "Y": Name.WEEK_YEAR,
    "M": Name.MONTH,
    "L": Name.MONTH,
    "d": Name.DAY,
    "D": Name.DAY_OF_YEAR,
    "F": Name.WEEKDAY_IN_MONTH,
    "w": Name.WEEK,
    "W": Name.WEEK_OF_MONTH,
    "u": Name.WEEKDAY,
    "H": Name.HOUR_OF_DAY,
    "k": Name.HOUR_OF_DAY,
    "K": Name.HOUR,
    "h": Name.HOUR,
    "m": Name.MINUTE,
    "s": Name.SECOND,
    "S": Name.MILLI,
}


class _Words:
    """Names of the values of a field, in any case. If two match, the longer one wins."""

    def __init__(self, field: Name, *of_value: tuple[int, str]) -> None:
        self.field = field
        self._values = {folded(name): value for value, name in of_value}
        self._any = re.compile("|".join(sorted(self._values, key=len, reverse=True)))

    def at(self, folded_text: str, start: int) -> tuple[int, int] | None:
        """Return the value of the name at `start`, and the end of the name; None if there is none."""
        match = self._any.match(folded_text, start)
        return None if match is None else (self._values[match.group()], match.end())


_MONTH_NAMES: Final = _Words(Name.MONTH, *((i, n) for i, m in enumerate(MONTHS) for n in (m, m[:3])))
_WORDS: Final[Mapping[str, _Words]] = {
    "G": _Words(Name.ERA, (0, "BC"), (0, "Before Christ"), (1, "AD"), (1, "Anno Domini")),
    "M": _MONTH_NAMES,
    "L": _MONTH_NAMES,
    "E": _Words(Name.WEEKDAY, *((i, n) for i, d in enumerate(WEEKDAYS, 1) for n in (d, d[:3]))),
    "a": _Words(Name.HALF_DAY, (0, "AM"), (1, "PM")),
}


class TextError(ValueError):
    """Raised when the beginning of the text does not match the pattern (Java: `ParseException`)."""


def _is_number(piece: Piece) -> bool:
    return isinstance(piece, Field) and piece.letter in _NUMBERS and (piece.letter not in "ML" or piece.width <= 2)


class _Reading:
    """State of parsing one text."""

    def __init__(self, text: str, zone: Zone) -> None:
        self.text = text
        self.folded = folded(text)
        self.zone = zone
        self.fields = ReadFields()
        self.first_of_window = False
        """Whether the last two-digit year is the first year of the window."""


class Parser:
    """Parser for one pattern.

    Args:
        pieces: the pattern.
        window: first instant of the hundred years to which two-digit years belong.
    """

    def __init__(self, pieces: Sequence[Piece], window: int) -> None:
        after = (*pieces[1:], "")
        # A number directly followed by another number has at most as many characters as the pattern has letters.
        self._pieces = [(p, _is_number(p), _is_number(following)) for p, following in zip(pieces, after, strict=False)]
        self._window = window
        self._window_year = civil(window).year_of_era

    def parse(self, text: str, zone: Zone, keep: Callable[[Zone], None]) -> int:
        """Return the instant in milliseconds.

        Args:
            text: text, which may continue after the instant.
            zone: zone for text without a zone.
            keep: called with a zone that the text names, even if the rest of the text is invalid.

        Raises:
            TextError: the text does not match the pattern.
        """
        reading = _Reading(text, zone)
        at = 0
        for piece, number, limited in self._pieces:
            if isinstance(piece, str):
                if not text.startswith(piece, at):
                    raise TextError
                at += len(piece)
                continue
            start = at
            while text.startswith((" ", "\t"), at):
                at += 1
            if at >= len(text):
                raise TextError
            if number:
                at = self._number(reading, piece, at, start + piece.width if limited else len(text))
            else:
                before = reading.zone
                at = _other(reading, piece, start, at)
                if reading.zone is not before:
                    keep(reading.zone)
        if not at:
            raise TextError
        millis = reading.fields.millis(reading.zone)
        if reading.first_of_window and millis < self._window:
            reading.fields.a_century_later()
            millis = reading.fields.millis(reading.zone)
        return millis

    def _number(self, reading: _Reading, field: Field, at: int, end: int) -> int:
        text = reading.text
        found = integer_at(text, at, end) if end <= len(text) else None
        if found is None:
            raise TextError
        value, end = found
        letter, width = field
        if letter in "yY":
            if width <= 2 and end - at == 2 and text[at:end].isdecimal():
                in_century = self._window_year % 100
                reading.first_of_window = value == in_century
                value += self._window_year - in_century + (100 if value < in_century else 0)
        elif letter in "ML":
            value = int32(value - 1)
        elif letter in "kh":
            value = 0 if value == (24 if letter == "k" else 12) else value
        elif letter == "u" and 1 <= value <= 7:
            value = value % 7 + 1
        reading.fields.set(_NUMBERS[letter], value)
        return end


def _other(reading: _Reading, field: Field, start: int, at: int) -> int:
    """Read a field that is not a number, and return its end. `at` is the position after the blanks at `start`."""
    letter, width = field
    if letter in "zZ":
        return _zone(reading, start, at)
    if letter == "X":
        return _iso_zone(reading, at, width)
    words = _WORDS[letter]
    word = words.at(reading.folded, start)  # blanks before names are not skipped
    if word is None:
        raise TextError
    reading.fields.set(words.field, word[0])
    return word[1]


def _zone(reading: _Reading, start: int, at: int) -> int:
    """Read a zone for `z` and `Z`: +0100, GMT, GMT+1:00, or a name."""
    text = reading.text
    c = text[at]
    if c in "+-":
        return _offset(reading, at, digits=2, minutes=True, colon=False)
    if reading.folded.startswith("gmt", start):
        at = start + 3
        if text.startswith(("+", "-"), at):
            return _offset(reading, at, digits=1, minutes=True, colon=True)
        return _set_offset(reading, 0, at)
    found = named_zone(reading.folded, at, reading.zone)
    if found is None:
        raise TextError
    zone, name = found
    reading.zone = zone
    names = zone.names
    saving = zone.saving * 60_000 if name >= 2 else 0
    # The calendar determines the season if both have the same name, or if the zone no longer has summer time.
    if saving or (name < 2 and folded(names[name]) != folded(names[name + 2])):
        reading.fields.clear(Name.OFFSET)
        reading.fields.set(Name.SUMMER, saving)
    return at + len(names[name])


def _iso_zone(reading: _Reading, at: int, width: int) -> int:
    """Read a zone for `X`: Z, +01, +0100 or +01:00."""
    c = reading.text[at]
    if c == "Z":
        return _set_offset(reading, 0, at + 1)
    if c not in "+-":
        raise TextError
    return _offset(reading, at, digits=2, minutes=width > 1, colon=width == 3)


def _offset(reading: _Reading, at: int, *, digits: int, minutes: bool, colon: bool) -> int:
    """Read a sign, hours of at least `digits` digits, and minutes."""
    text = reading.text
    sign = -1 if text[at] == "-" else 1
    at += 1
    shown = 2 if _digits(text[at : at + 2], 2) else 1
    if shown < digits or not _digits(text[at : at + shown], shown):
        raise TextError
    hour, minute = int(text[at : at + shown]), 0
    at += shown
    if minutes:
        if colon:
            if not text.startswith(":", at):
                raise TextError
            at += 1
        if not _digits(text[at : at + 2], 2):
            raise TextError
        minute = int(text[at : at + 2])
        at += 2
    if hour > 23 or minute > 59:
        raise TextError
    return _set_offset(reading, sign * (hour * 60 + minute) * 60_000, at)


def _digits(text: str, count: int) -> bool:
    return len(text) == count and text.isascii() and text.isdecimal()


def _set_offset(reading: _Reading, offset: int, after: int) -> int:
    reading.fields.set(Name.OFFSET, offset)
    reading.fields.set(Name.SUMMER, 0)
    return after
