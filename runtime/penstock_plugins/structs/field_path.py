"""Paths to fields inside fields, as KIP-821 writes them: `order.address.street`, and `order.`first.name``.

A dot separates steps. A step that has a dot in its name stands in backticks; they end before a dot or at the end of the
path, so that any other backtick in them is part of the name. One that stands before a dot all the same takes a backslash.
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
    """The steps of a path; none for the empty path. A dot too many names a field with an empty name.

    Raises:
        ValueError: a backtick opens a step and none closes it.
    """
    steps = []
    at = 0
    while at < len(path):
        quoted = path[at] == "`"
        found = (_QUOTED if quoted else _BARE).match(path, at)
        if found is None:
            raise ValueError(
                f"Incomplete backtick pair in path: [{path}]. Close the backtick at position {at} before a dot or at the "
                "end, or put a step that starts with a backtick in backticks itself."
            )
        steps.append(_ESCAPED.sub("`", found[1]) if quoted else found[1])
        at = found.end()
    if path.endswith("."):
        steps.append("")
    return tuple(steps)
