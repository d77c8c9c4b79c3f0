"""Texts of properties as Java reads them: what it takes for blanks, and how it splits lists."""

import re
from typing import Final

__all__ = ["BLANKS", "items", "trimmed"]

BLANKS: Final = "".join(map(chr, range(33)))
"""What `String.trim` takes away: control characters and the space, and no other blanks of Unicode."""
_COMMA: Final = re.compile(r"\s*,\s*", re.ASCII)


def trimmed(text: str) -> str:
    """As `String.trim`."""
    return text.strip(BLANKS)


def items(text: str) -> list[str]:
    """The items of a list, as `ConfigDef.parseType` splits it: trimmed; the empty text is the empty list."""
    text = trimmed(text)
    return _COMMA.split(text) if text else []
