"""Drop repeated log messages: a client that has lost its broker logs the same message twice a second."""

import logging
import re
import time
from collections.abc import Callable
from typing import Final

__all__ = ["RepetitionFilter", "without_numbers"]

_REMEMBERED: Final = 200
_NUMBER: Final = re.compile(r"[0-9]+(ms|s)?\b")


def without_numbers(text: str) -> str:
    """Replace the numbers in a text with 0: repeated messages of a client differ only in milliseconds."""
    return _NUMBER.sub("0", text)


class RepetitionFilter(logging.Filter):
    """Filter that passes each message once in `seconds`. Messages that differ only in numbers count as the same.

    Args:
        seconds: minimum seconds between two equal messages.
        clock: returns monotonic seconds.
        same: maps messages that count as the same to the same text.
    """

    def __init__(
        self,
        seconds: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
        *,
        same: Callable[[str], str] = without_numbers,
    ) -> None:
        super().__init__()
        self._seconds = seconds
        self._clock = clock
        self._same = same
        self._passed: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether no equal message has passed within the last `seconds`."""
        text = self._same(record.getMessage())
        now = self._clock()
        if now - self._passed.get(text, -self._seconds) < self._seconds:
            return False
        if len(self._passed) >= _REMEMBERED:
            self._passed.clear()
        self._passed[text] = now
        return True
