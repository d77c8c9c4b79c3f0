"""Classes of database errors. Pure.

`errors.py` of each dialect assigns them; `failures.py` decides which errors are retried.
"""

import re
from collections.abc import Sequence
from enum import Enum, auto
from typing import Any, Final

__all__ = ["QUOTED", "Meaning", "has_value"]

QUOTED: Final = re.compile(r"([\"']).*\1", re.DOTALL)
"""Quoted part of a message; in errors about an invalid value, it is the value."""


class Meaning(Enum):
    """Class of an error.

    DATA: a row is refused; others may be accepted. SCHEMA: a table or column is not as expected. PASSING: the error is
    transient. ACCESS: the address, the credentials or the rights are wrong. FINAL: any other error.
    """

    DATA = auto()
    SCHEMA = auto()
    PASSING = auto()
    ACCESS = auto()
    FINAL = auto()


_TELLING: Final = 4
"""Minimum length of a value to search for in an error message; shorter values also occur in the database's own words."""


def has_value(text: str, row: Sequence[Any]) -> bool:
    """Return whether a message, which a trigger may have written, contains a value of the row outside of quoted names."""
    unmarked = re.sub(r"'[^']*'|`[^`]*`", "", text)
    most = len(unmarked)  # compiling a pattern from a value of megabytes takes minutes
    values = [re.escape(value) for value in row if isinstance(value, str) and _TELLING <= len(value) <= most]
    return bool(values) and re.search(rf"(?<!\w)(?:{'|'.join(values)})(?!\w)", unmarked) is not None
