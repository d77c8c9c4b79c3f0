"""Paths to nested fields in the syntax of KIP-821: `order.address.street`, and `order.`first.name``.

A dot separates steps. A step whose name contains a dot is written in backticks. The closing backtick is the one before a
dot or at the end of the path; any other backtick is part of the name. A backtick of the name that precedes a dot is escaped
with a backslash.
"""

import re
from typing import Final

__all__ = ["read_path"]

_QUOTED: Final = re.compile(
    r"""`
    ((?: [^`]
       | ` (?! \. | \Z)         # not before a dot or the end: part of the name
       | (?<=\\) ` (?= \.)      # before a dot, but escaped: part of the name
     )*)
    (?<!\\) ` (?: \. | \Z)
    """,
    re.VERBOSE,
)
_BARE: Final = re.compile(r"([^.]*)(?:\.|\Z)")
_ESCAPED: Final = re.compile(r"\\`(?=\.)")


def read_path(path: str) -> tuple[str, ...]:
    """Return the steps of a path; none for the empty path. Adjacent dots, or one at the start or end, mean an empty name.

    Raises:
        ValueError: a backtick that opens a step is not closed.
    """
    steps = []
    start = 0
    while start < len(path):
        quoted = path[start] == "`"
        match = (_QUOTED if quoted else _BARE).match(path, start)
        if match is None:
            raise ValueError(
                f"Incomplete backtick pair in path: [{path}]. Close the backtick at index {start} before a dot or at the "
                "end, or put a step that starts with a backtick in backticks itself."
            )
        steps.append(_ESCAPED.sub("`", match[1]) if quoted else match[1])
        start = match.end()
    if path.endswith("."):
        steps.append("")
    return tuple(steps)
