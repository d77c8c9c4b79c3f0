"""Texts of properties as Java reads them: which characters are blanks, and how lists are split."""

import re
from typing import Final

__all__ = ["BLANKS", "items", "trimmed"]

BLANKS: Final = "".join(map(chr, range(33)))
"""The characters that `String.trim` removes: control characters and the space, and no other blanks of Unicode."""
_COMMA: Final = re.compile(r"\s*,\s*", re.ASCII)


def trimmed(text: str) -> str:
    """The text as `String.trim` returns it."""
    return text.strip(BLANKS)


def items(text: str) -> list[str]:
    """The trimmed items of a list, as `ConfigDef.parseType` splits it. The empty text is the empty list."""
    text = trimmed(text)
    return _COMMA.split(text) if text else []
