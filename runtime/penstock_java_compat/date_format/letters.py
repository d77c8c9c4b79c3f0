"""Compare letters ignoring case, as Java's `String.regionMatches` does."""

__all__ = ["folded"]


def folded(text: str) -> str:
    """Return the text with each character converted to upper and then to lower case; the length stays the same."""
    return text.lower() if text.isascii() else "".join(map(_fold, text))


def _fold(c: str) -> str:
    if c == "İ":  # Java's mapping of single characters drops the dot
        return "i"
    upper = c.upper()
    lower = (upper if len(upper) == 1 else c).lower()
    return lower if len(lower) == 1 else c
