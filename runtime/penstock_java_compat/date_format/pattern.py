"""Parse patterns of `SimpleDateFormat` into fields and the text between them."""

from typing import Final, NamedTuple

__all__ = ["Field", "PatternError", "Piece", "compile_pattern"]

_LETTERS: Final = frozenset("GyMdkHmsSEDFwWahKzZYuXL")


class PatternError(ValueError):
    """Raised when the pattern is invalid (Java: `IllegalArgumentException`)."""


class Field(NamedTuple):
    """Pattern letter, and how often it is repeated."""

    letter: str
    width: int


Piece = Field | str
"""Field, or literal text."""


def compile_pattern(pattern: str) -> tuple[Piece, ...]:
    """Return the pieces of a pattern.

    Raises:
        PatternError: there is an unknown letter outside quotes, an unclosed quote, or more than three X.
    """
    pieces: list[Piece] = []
    quoted = open_run = False
    at = 0
    while at < len(pattern):
        c = pattern[at]
        at += 1
        if c == "'":
            open_run = False
            if pattern.startswith("'", at):
                at += 1
                _text(pieces, c)
            else:
                quoted = not quoted
        elif quoted or not (c.isascii() and c.isalpha()):
            open_run = False
            _text(pieces, c)
        elif c not in _LETTERS:
            raise PatternError(
                f"Illegal pattern character '{c}': date patterns use the letters {' '.join(sorted(_LETTERS))}; "
                "put other letters in single quotes, as in yyyy-MM-dd'T'HH:mm"
            )
        else:
            last = pieces[-1] if open_run else None
            if isinstance(last, Field) and last.letter == c:
                pieces[-1] = Field(c, last.width + 1)
            else:
                pieces.append(Field(c, 1))
            open_run = True
    if quoted:
        raise PatternError("Unterminated quote: quoted text must end with a single quote; '' is a literal quote")
    if any(isinstance(p, Field) and p.letter == "X" and p.width > 3 for p in pieces):
        raise PatternError("invalid ISO 8601 format: only X, XX and XXX are supported")
    return tuple(pieces)


def _text(pieces: list[Piece], c: str) -> None:
    last = pieces[-1] if pieces else None
    if isinstance(last, str):
        pieces[-1] = last + c
    else:
        pieces.append(c)
