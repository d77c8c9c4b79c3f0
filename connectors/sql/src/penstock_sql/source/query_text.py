"""Checks of the text of `query` without a database. Pure."""

import re
from typing import Final

from penstock_sql.dialects.base import Dialect

__all__ = ["bare", "limit_of"]

_INNERMOST: Final = re.compile(r"\([^()]*\)")
_NUMBER: Final = r"\s*(?:[\d+\-(\[.'@:$]|CASE\b|\w+\s*\[)"
"""Start of a numeric expression: a sign, digit, string, variable, parenthesis, function call or CASE."""
_BOUND: Final = re.compile(
    rf"(?<![.\w])(?:(LIMIT|OFFSET)\b(?!\s*(?:ALL|NULL|ROWS)\b){_NUMBER}|(FETCH)\s+(?:FIRST|NEXT)\b)", re.IGNORECASE
)
_OPEN: Final = "/*"
_COMMENT_MARK: Final = re.compile(r"/\*|\*/")


def bare(query: str, dialect: Dialect) -> str:
    """Return the query with empty string literals, and without quoted names and comments."""
    pieces, at = list[str](), 0
    while (found := dialect.not_code.search(query, at)) is not None:
        pieces += [query[at : found.start()], " '' " if found["text"] is not None else " "]
        at = _end_of_comment(query, found.end()) if found[0] == _OPEN else found.end()
    return "".join([*pieces, query[at:]])


def _end_of_comment(query: str, at: int) -> int:
    """Return where a comment ends, including nested comments."""
    depth = 1
    while depth and (mark := _COMMENT_MARK.search(query, at)) is not None:
        depth += 1 if mark[0] == _OPEN else -1
        at = mark.end()
    return len(query) if depth else at


def limit_of(query: str, dialect: Dialect) -> str | None:
    """Return the keyword that limits the result of the whole query (LIMIT, OFFSET or FETCH), not of a subquery, or None."""
    text = bare(query, dialect).strip()
    while text.startswith("(") and text.endswith(")") and _is_one(text):
        text = text[1:-1].strip()
    while (outer := _INNERMOST.sub("[]", text)) != text:
        text = outer
    found = _BOUND.search(text)
    return None if found is None else (found[1] or found[2]).upper()


def _is_one(text: str) -> bool:
    """Return whether the first parenthesis closes at the end of the text."""
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return at == len(text) - 1
    return False
