"""A short cut for texts in which every number has its full width: 2024-02-29 14:34:56, 20240229, 29/02/2024 14:34.

Most texts are like that, and most share their date or their minute with others. A text is cut at fixed places; what each
part adds to the moment is remembered, so that a text costs a look-up for each part. A part is remembered only when it has
exactly the form that the pattern describes, from the year 1583 on: then the parts add up to what `Parser` finds.
"""

import re
from collections.abc import Sequence
from functools import partial, reduce
from operator import add
from typing import Final, Self

from penstock_plugins.java_calendar import millis_of
from penstock_plugins.simple_date_format.pattern import Field, Piece

__all__ = ["StandardTexts"]

_MOST: Final = 20_000
# Fields by their width, the part that they belong to, and what they look like.
_FIELDS: Final = {
    Field("y", 4): (0, "(?P<y>[0-9]{4})"),
    Field("M", 2): (0, "(?P<M>[0-9]{2})"),
    Field("d", 2): (0, "(?P<d>[0-9]{2})"),
    Field("H", 2): (1, "(?P<H>[0-9]{2})"),
    Field("m", 2): (1, "(?P<m>[0-9]{2})"),
    Field("s", 2): (2, "(?P<s>[0-9]{2})"),
    Field("S", 3): (3, "(?P<S>[0-9]{3})"),
    Field("X", 1): (4, "(?:Z|(?P<sign>[+-])(?P<hours>[01][0-9]|2[0-3]))"),
    Field("X", 2): (4, "(?:Z|(?P<sign>[+-])(?P<hours>[01][0-9]|2[0-3])(?P<minutes>[0-5][0-9]))"),
    Field("X", 3): (4, "(?:Z|(?P<sign>[+-])(?P<hours>[01][0-9]|2[0-3]):(?P<minutes>[0-5][0-9]))"),
}
_NUMBER_GOES_ON: Final = re.compile(r"[\dE]")  # text that a number before it would take in
_UNITS: Final = (("H", 3_600_000), ("m", 60_000), ("s", 1000), ("S", 1))


class _Part(dict[str, int]):
    """What the texts of one part add to a moment."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self._form = re.compile(form)

    def __missing__(self, text: str) -> int:
        found = self._form.fullmatch(text)
        if found is None:
            raise KeyError
        numbers = found.groupdict(default="")
        millis = 0
        if "y" in numbers:
            year = int(numbers["y"])
            if year < 1583 or numbers["M"] == "00" or numbers["d"] == "00":
                raise KeyError
            millis = millis_of(year, int(numbers["M"]), int(numbers["d"]))
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
    """What the texts of the first two parts, date and minute, add together."""

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
    """Reads such texts of one pattern.

    Args:
        parts: how many characters each part has, and its form; the last one goes to the end of the text.
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
        """The short cut for a pattern; None where it has other fields, or in another order."""
        parts: list[tuple[int, str]] = [(0, "")]
        reached, seen = 0, set()
        for piece in pieces:
            if isinstance(piece, str):
                if _NUMBER_GOES_ON.search(piece):
                    return None
                parts[-1] = (parts[-1][0] + len(piece), parts[-1][1] + re.escape(piece))
                continue
            part, form = _FIELDS.get(piece, (-1, ""))
            if part < reached or piece.letter in seen or (reached == 4 and part == 4):
                return None
            seen.add(piece.letter)
            if part > reached and part != 4:
                parts.append((0, ""))
            reached = part
            parts[-1] = (parts[-1][0] + piece.width, parts[-1][1] + form)
        return cls(parts) if {"y", "M", "d"} <= seen else None

    def millis(self, text: str) -> int | None:
        """The moment; None where the text is not of this kind."""
        try:
            return sum([part[text[where]] for where, part in self._parts])
        except KeyError:
            return None

    def all_millis(self, texts: Sequence[str]) -> list[int] | None:
        """The moments; None where one text is not of this kind."""
        try:
            columns = [map(part.__getitem__, [t[where] for t in texts]) for where, part in self._parts]
            return list(reduce(partial(map, add), columns))
        except KeyError:
            return None
