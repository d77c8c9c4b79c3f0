"""Fast path for text in which every field has its full width: 2024-02-29 14:34:56, 20240229, 29 Feb 2024 02:34 PM.

Most texts are like that, and most share their date or their minute with others. A text is cut at fixed positions, and the
milliseconds of each part are cached, so that a text costs one look-up per part. A part is cached only if it has exactly the
form that the pattern describes, from the year 1583 on: then the sum of the parts equals the result of `Parser` in UTC.
"""

import re
from collections.abc import Sequence
from functools import partial, reduce
from operator import add
from typing import Final, Self

from penstock_java_compat.calendar import MONTHS, WEEKDAYS, millis_of
from penstock_java_compat.date_format.pattern import Field, Piece

__all__ = ["StandardTexts"]

_MOST: Final = 20_000
_MONTHS: Final = tuple(m[:3] for m in MONTHS)
_OFFSET: Final = "(?P<sign>[+-])(?P<hours>[01][0-9]|2[0-3])"
_NAMED: Final = f"(?:UTC|GMT|{_OFFSET}(?P<minutes>[0-5][0-9]))"
# For each field: its part (4 for any part), its length and its form.
_FIELDS: Final = {
    Field("y", 4): (0, 4, "(?P<y>[0-9]{4})"),
    Field("M", 2): (0, 2, "(?P<M>[0-9]{2})"),
    Field("M", 3): (0, 3, f"(?P<MMM>{'|'.join(_MONTHS)})"),
    Field("d", 2): (0, 2, "(?P<d>[0-9]{2})"),
    **{Field("E", n): (0, 3, f"(?:{'|'.join(d[:3] for d in WEEKDAYS)})") for n in (1, 2, 3)},
    Field("H", 2): (1, 2, "(?P<H>[0-9]{2})"),
    Field("h", 2): (1, 2, "(?P<h>[0-9]{2})"),
    Field("m", 2): (1, 2, "(?P<m>[0-9]{2})"),
    Field("s", 2): (2, 2, "(?P<s>[0-9]{2})"),
    Field("S", 3): (3, 3, "(?P<S>[0-9]{3})"),
    Field("a", 1): (4, 2, "(?:AM|(?P<PM>PM))"),
    Field("X", 1): (4, 0, f"(?:Z|{_OFFSET})"),
    Field("X", 2): (4, 0, f"(?:Z|{_OFFSET}(?P<minutes>[0-5][0-9]))"),
    Field("X", 3): (4, 0, f"(?:Z|{_OFFSET}:(?P<minutes>[0-5][0-9]))"),
    **{Field(letter, n): (4, 0, _NAMED) for letter in "zZ" for n in (1, 2, 3)},
}
_SAME: Final = {"h": "H", "z": "X", "Z": "X"}  # letters that exclude each other in a pattern
_CONTINUES_NUMBER: Final = re.compile(r"[\dE]")  # text that would continue a number before it
_UNITS: Final = (("H", 3_600_000), ("m", 60_000), ("s", 1000), ("S", 1))


class _Part(dict[str, int]):
    """Milliseconds of the texts of one part."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self._form = re.compile(form)

    def __missing__(self, text: str) -> int:
        found = self._form.fullmatch(text)
        if found is None:
            raise KeyError
        numbers = {name: shown for name, shown in found.groupdict().items() if shown is not None}
        millis = 0
        if "y" in numbers:
            year, day = int(numbers["y"]), int(numbers["d"])
            month = int(numbers["M"]) if "M" in numbers else _MONTHS.index(numbers["MMM"]) + 1
            if year < 1583 or month == 0 or day == 0:
                raise KeyError
            millis = millis_of(year, month, day)
        if "h" in numbers:
            hour = int(numbers["h"])
            millis += 0 if hour == 12 else hour * 3_600_000
        if "PM" in numbers:
            millis += 43_200_000
        for letter, unit in _UNITS:
            millis += int(numbers.get(letter, 0)) * unit
        if numbers.get("sign"):
            offset = int(numbers["hours"]) * 60 + int(numbers.get("minutes", 0))
            millis += offset * (60_000 if numbers["sign"] == "-" else -60_000)
        if len(self) >= _MOST:
            self.clear()
        self[text] = millis
        return millis


class _Minutes(dict[str, int]):
    """Milliseconds of the texts of the first two parts, date and minute, together."""

    def __init__(self, first: _Part, second: _Part, cut: int) -> None:
        super().__init__()
        self._first, self._second, self._cut = first, second, cut

    def __missing__(self, text: str) -> int:
        millis = self._first[text[: self._cut]] + self._second[text[self._cut :]]
        if len(self) >= _MOST:
            self.clear()
        self[text] = millis
        return millis


class StandardTexts:
    """Parser of full-width text for one pattern.

    Args:
        parts: length of each part in characters, and its form; the last part extends to the end of the text.
    """

    def __init__(self, parts: Sequence[tuple[int, str]]) -> None:
        self._parts: list[tuple[slice, _Part | _Minutes]] = []
        start = 0
        for i, (width, form) in enumerate(parts, 1):
            self._parts.append((slice(start, start + width if i < len(parts) else None), _Part(form)))
            start += width
        if len(parts) > 1:
            (where, date), (until, minute), *others = self._parts
            if isinstance(date, _Part) and isinstance(minute, _Part):
                self._parts = [(slice(0, until.stop), _Minutes(date, minute, where.stop)), *others]

    @classmethod
    def of(cls, pieces: Sequence[Piece]) -> Self | None:
        """Return the fast path for a pattern; None if the pattern has other fields, or a different order."""
        parts: list[tuple[int, str]] = [(0, "")]
        reached, seen = 0, set[str]()
        before: Piece = ""
        for piece in pieces:
            if isinstance(piece, str):
                after_word = isinstance(before, Field) and (before.letter in "EaXzZ" or before == Field("M", 3))
                if _CONTINUES_NUMBER.search(piece) or (after_word and (piece[0].isalpha() or piece[0] in "+-")):
                    return None
                part, width, form = reached, len(piece), re.escape(piece)
            else:
                part, width, form = _FIELDS.get(piece, (-1, 0, ""))
                letter = _SAME.get(piece.letter, piece.letter)
                if part < reached or letter in seen or (letter == "a" and "h" not in seen):
                    return None
                seen |= {letter, piece.letter}
                if reached < part < 4:
                    parts.append((0, ""))
            reached, before = part, piece
            parts[-1] = (parts[-1][0] + width, parts[-1][1] + form)
        return cls(parts) if {"y", "M", "d"} <= seen else None

    def millis(self, text: str) -> int | None:
        """Return the instant; None if the fast path cannot parse the text."""
        try:
            return sum([part[text[where]] for where, part in self._parts])
        except KeyError:
            return None

    def all_millis(self, texts: Sequence[str]) -> list[int] | None:
        """Return the instants; None if the fast path cannot parse one of the texts."""
        try:
            columns = [map(part.__getitem__, [t[where] for t in texts]) for where, part in self._parts]
            return list(reduce(partial(map, add), columns))
        except KeyError:
            return None
