"""Validation rules for single properties, with Kafka Connect's messages, beyond the limits that `prop` supports.

Use them as annotations of a field: `name: Annotated[str, not_blank] = prop("name", doc="...")`.
"""

from dataclasses import dataclass
from typing import Final

from pydantic import AfterValidator

from penstock_java_compat.property_text import trimmed

__all__ = ["Rule", "at_least", "java_regex", "long", "not_blank", "short", "words"]


@dataclass(frozen=True)
class Rule(AfterValidator):
    """Validator with a description of its accepted values, which `Property` has."""

    valid: str = ""
    values: tuple[str, ...] | None = None
    any_case: bool = False
    minimum: int | None = None


def words(*allowed: str, any_case: bool = False) -> Rule:
    """Return a rule that accepts one of these words.

    Args:
        allowed: the words, in lower case.
        any_case: whether to accept them in any case and convert them to lower case.
    """
    listed = ", ".join(w.upper() for w in allowed) if any_case else ", ".join(allowed)

    def check(text: str | None) -> str | None:
        word = text.lower() if any_case and text is not None else text
        if word is not None and word not in allowed:
            how = " (case insensitive)" if any_case else ""
            raise ValueError(f"String must be one of{how}: {listed}")
        return word

    return Rule(check, listed + (" in any case" if any_case else ""), values=allowed, any_case=any_case)


def at_least(least: int) -> Rule:
    """Return a rule that accepts numbers greater than or equal to `least`."""

    def check(number: int | None) -> int | None:
        if number is not None and number < least:
            raise ValueError(f"Value must be at least {least}")
        return number

    return Rule(check, f"at least {least}", minimum=least)


def _short(number: int) -> int:
    if not -(2**15) <= number < 2**15:
        raise ValueError("Not a number of type SHORT")
    return number


def _not_blank(text: str | None) -> str | None:
    if text is not None and not trimmed(text):
        raise ValueError("String must be non-empty")
    return text


def _java_regex(text: str) -> str:
    from penstock_java_compat.regex import compile_java

    compile_java(text)
    return text


def _long(number: int | None) -> int | None:
    if number is not None and not -(2**63) <= number < 2**63:
        raise ValueError("Not a number of type LONG")
    return number


long: Final = Rule(_long)
"""Accepts 64-bit integers, Kafka Connect's LONG."""

short: Final = Rule(_short)
"""Accepts 16-bit integers, Kafka Connect's SHORT."""

not_blank: Final = Rule(_not_blank, "not empty")
"""Accepts strings with at least one non-blank character."""

java_regex: Final = Rule(_java_regex, "a Java regular expression")
"""Accepts strings that are valid Java regular expressions."""
