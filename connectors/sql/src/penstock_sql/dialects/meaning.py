"""What follows from an error of a database. Pure."""

import re
from collections.abc import Sequence
from enum import Enum, auto
from typing import Any, Final

__all__ = ["QUOTED", "Meaning", "has_value"]

QUOTED: Final = re.compile(r"([\"']).*\1", re.DOTALL)
"""Where a value is wrong, the part of a message in quotation marks is the value."""


class Meaning(Enum):
    """What follows from an error.

    DATA: a row is refused, and others may be taken. SCHEMA: a table or column is not as it was thought to be. PASSING: the
    same may succeed later. ACCESS: who or where is wrong. FINAL: anything else.
    """

    DATA = auto()
    SCHEMA = auto()
    PASSING = auto()
    ACCESS = auto()
    FINAL = auto()


_TELLING: Final = 4
"""Letters of a value that is looked for in the words of an error; shorter ones are in words of the database's own, too."""


def has_value(text: str, row: Sequence[Any]) -> bool:
    """Return whether a text that a trigger may have written holds a value of the row, besides quoted names."""
    unmarked = re.sub(r"'[^']*'|`[^`]*`", "", text)
    most = len(unmarked)  # the pattern of a value of megabytes takes minutes
    values = [re.escape(value) for value in row if isinstance(value, str) and _TELLING <= len(value) <= most]
    return bool(values) and re.search(rf"(?<!\w)(?:{'|'.join(values)})(?!\w)", unmarked) is not None
