"""Java's regular expressions, which are what Kafka Connect's users write.

The `regex` package stands in for java.util.regex. What it cannot take is refused when the configuration is read; what
Java refuses and it would take is refused too where the two would mean different things.
"""

from functools import lru_cache
from typing import Any, Final, Protocol

__all__ = ["JavaPattern", "java_pattern"]

_NOT_JAVA: Final = ("(?P<", "(?P=", "(?P>", "(?#", "(?R)", "(?(")


class JavaPattern(Protocol):
    """A compiled pattern."""

    def fullmatch(self, string: str) -> Any:
        """A match of the whole text, or None. Kafka Connect matches topics and groups so."""


@lru_cache(maxsize=256)
def java_pattern(text: str) -> JavaPattern:
    """The compiled pattern.

    Raises:
        ValueError: not a Java regular expression, or one that cannot be had here; says why.
    """
    import regex

    for construct in _NOT_JAVA:
        if construct in text:
            raise ValueError(f"Invalid regex: Java has no {construct}...)")
    try:
        # Java: \d, \w and \s are ASCII, character classes nest and intersect.
        compiled: JavaPattern = regex.compile(text, regex.VERSION1 | regex.ASCII)
    except regex.error as e:
        raise ValueError(f"Invalid regex: {e}") from None
    return compiled
