"""Limit the memory for compiling a pattern, before it is compiled.

Counted repeats are expanded when a pattern is compiled: `(?:a{900}){900}` takes 230 MB. Check untrusted patterns here before
compiling them.
"""

import re
from typing import Final

__all__ = ["MOST_COST", "MOST_DEPTH", "too_costly"]

MOST_COST: Final = 10_000
"""Maximum characters of a pattern with all counted repeats expanded."""
MOST_DEPTH: Final = 50
"""Maximum depth of nested groups and classes."""
_PART: Final = re.compile(r"\\Q.*?(?:\\E|\Z)|\\.|\{(\d*)(?:,(\d*))?\}|.", re.DOTALL)
_DIGITS: Final = 9


def too_costly(pattern: str, most: int = MOST_COST) -> str | None:
    """Return why a pattern must not be compiled; None if it may be. The pattern need not be valid.

    Args:
        pattern: in Java's syntax.
        most: maximum characters with all counted repeats expanded.
    """
    open_groups: list[list[int]] = [[0, 0]]  # for each: its cost so far, and the cost of its last part
    for part in _PART.finditer(pattern):
        text = part[0]
        group = open_groups[-1]
        if text in ("(", "["):
            open_groups.append([0, 0])
            if len(open_groups) > MOST_DEPTH:
                return f"nests groups or classes more than {MOST_DEPTH} levels deep"
            continue
        if text in (")", "]") and len(open_groups) > 1:
            inner = open_groups.pop()[0] + 1
            open_groups[-1] = [open_groups[-1][0] + inner, inner]
        elif (part[1] is not None or part[2] is not None) and (part[1] or part[2]):
            numbers = [n for n in (part[1], part[2]) if n]
            count = 10**_DIGITS if any(len(n) > _DIGITS for n in numbers) else max(map(int, numbers))
            more = group[1] * max(count - 1, 0)
            group[0], group[1] = group[0] + more, group[1] + more
        else:
            group[0], group[1] = group[0] + len(text), len(text)
        if sum(g[0] for g in open_groups) > most:
            return f"has more than {most:,} characters when its counted repeats ({{n}}) are expanded"
    return None
