"""Checks on the text of `query` that need no database. Pure."""

import re
from typing import Final

__all__ = ["bare", "limit_of"]

_NOT_CODE: Final = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|(?P<mark>\$\w*\$).*?(?P=mark)|--[^\n]*|/\*.*?\*/", re.DOTALL
)
_INNERMOST: Final = re.compile(r"\([^()]*\)")
_NUMBER: Final = r"\s*(?:[\d+\-(\[.'@:$]|CASE\b|\w+\s*\[)"
"""How a number begins: a digit, a text, a variable, a function, an expression."""
_BOUND: Final = re.compile(
    rf"(?<![.\w])(?:(LIMIT|OFFSET)\b(?!\s*(?:ALL|NULL|ROWS)\b){_NUMBER}|(FETCH)\s+(?:FIRST|NEXT)\b)", re.IGNORECASE
)


def bare(query: str) -> str:
    """Return the query with empty texts, and without quoted names and comments."""
    return _NOT_CODE.sub(lambda found: " '' " if found[0][0] in "'$" else " ", query)


def limit_of(query: str) -> str | None:
    """The word by which a query bounds its whole result (LIMIT, OFFSET or FETCH), not that of a subquery."""
    text = bare(query).strip()
    while text.startswith("(") and text.endswith(")") and _is_one(text):
        text = text[1:-1].strip()
    while (outer := _INNERMOST.sub("[]", text)) != text:
        text = outer
    found = _BOUND.search(text)
    return None if found is None else (found[1] or found[2]).upper()


def _is_one(text: str) -> bool:
    """Whether the first parenthesis closes at the end."""
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return at == len(text) - 1
    return False
