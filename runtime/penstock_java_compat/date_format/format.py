"""`SimpleDateFormat`: print and parse with one pattern, in its current time zone."""

import time
from collections.abc import Sequence
from typing import Final

from penstock_java_compat.calendar import civil, millis_of
from penstock_java_compat.date_format.parsing import Parser
from penstock_java_compat.date_format.pattern import Field, compile_pattern
from penstock_java_compat.date_format.printing import Printer
from penstock_java_compat.date_format.standard_texts import StandardTexts
from penstock_java_compat.date_format.zones import UTC, Zone

__all__ = ["SimpleDateFormat"]

_YEARS_BACK: Final = 80


class SimpleDateFormat:
    """Java 17's `java.text.SimpleDateFormat`, locale en_US, zone UTC, lenient.

    As in Java, the object is stateful: after text with a time zone (fields `z` and `Z`), later text is read and printed in
    that zone, until text has another one.

    Args:
        pattern: see `pattern`.
        now: milliseconds; two-digit years range from 80 years before to 20 years after it. None for the current time.

    Raises:
        PatternError: the pattern is invalid.
    """

    def __init__(self, pattern: str, now: int | None = None) -> None:
        pieces = compile_pattern(pattern)
        self.zone: Zone = UTC
        """Zone of the next text. Restore it before parsing the same text again after an error."""
        self.reads_zone_names: Final = any(isinstance(p, Field) and p.letter in "zZ" for p in pieces)
        """Whether the pattern has fields that accept names of zones."""
        self._printer = Printer(pieces)
        self._parser = Parser(pieces, _window(time.time_ns() // 1_000_000 if now is None else now))
        self._standard = StandardTexts.of(pieces)

    def format(self, millis: int) -> str:
        """Return the text of an instant."""
        return self._printer.text(millis, self.zone)

    def format_all(self, millis: Sequence[int]) -> list[str]:
        """Return the texts of many instants."""
        if self.zone is UTC:
            return self._printer.texts(millis)
        return [self._printer.text(m, self.zone) for m in millis]

    def parse(self, text: str) -> int:
        """Return the instant, in milliseconds, with which the text begins.

        Raises:
            TextError: the text does not match the pattern.
        """
        if self._standard is not None and self.zone is UTC:
            millis = self._standard.millis(text)
            if millis is not None:
                return millis
        return self._parser.parse(text, self.zone, self._keep)

    def parse_all(self, texts: Sequence[str]) -> list[int]:
        """Return the result of `parse` for many texts, in order."""
        if self._standard is not None and self.zone is UTC:
            millis = self._standard.all_millis(texts)
            if millis is not None:
                return millis
        return list(map(self.parse, texts))

    def _keep(self, zone: Zone) -> None:
        self.zone = zone


def _window(now: int) -> int:
    """Return the instant 80 years before; February 28 if that year has no 29th."""
    year, month, day, *clock = civil(now)
    start = millis_of(year - _YEARS_BACK, month, day, *clock)
    return start if civil(start).month == month else millis_of(year - _YEARS_BACK, month, day - 1, *clock)
