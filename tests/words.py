"""Tables of texts, several on a line."""

__all__ = ["words"]


def words(text: str) -> list[str]:
    """Those of a table that blanks and line ends separate."""
    return text.split()
