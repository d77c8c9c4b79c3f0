"""Parse property values like Java: trim blanks and split lists."""

import re
from typing import Final

__all__ = ["BLANKS", "items", "trimmed"]

BLANKS: Final = "".join(map(chr, range(33)))
"""Characters that `String.trim` removes: control characters and the space, but no other Unicode blanks."""
_COMMA: Final = re.compile(r"\s*,\s*", re.ASCII)


def trimmed(text: str) -> str:
    """Return the result of `String.trim`."""
    return text.strip(BLANKS)


def items(text: str) -> list[str]:
    """Return the trimmed items of a list, split as in `ConfigDef.parseType`. The empty string is the empty list."""
    text = trimmed(text)
    return _COMMA.split(text) if text else []
