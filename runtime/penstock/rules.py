"""Rules for single properties, with Kafka Connect's messages: what `prop` and its limits cannot say."""

from dataclasses import dataclass
from typing import Final

from pydantic import AfterValidator

from penstock_java.property_text import trimmed

__all__ = ["Rule", "at_least", "java_regex", "long", "not_blank", "short", "words"]


@dataclass(frozen=True)
class Rule(AfterValidator):
    """A validator that says what it takes, for the documentation (`Property.valid`)."""

    valid: str = ""


def words(*allowed: str, any_case: bool = False) -> Rule:
    """One of these words, which are lower case; with `any_case` in any case, read as lower case."""
    shown = ", ".join(w.upper() for w in allowed) if any_case else ", ".join(allowed)

    def check(text: str | None) -> str | None:
        found = text.lower() if any_case and text is not None else text
        if found is not None and found not in allowed:
            how = " (case insensitive)" if any_case else ""
            raise ValueError(f"String must be one of{how}: {shown}")
        return found

    return Rule(check, shown + (" in any case" if any_case else ""))


def at_least(least: int) -> Rule:
    """A number that is not below `least`."""

    def check(number: int | None) -> int | None:
        if number is not None and number < least:
            raise ValueError(f"Value must be at least {least}")
        return number

    return Rule(check, f"at least {least}")


def _short(number: int) -> int:
    if not -(2**15) <= number < 2**15:
        raise ValueError("Not a number of type SHORT")
    return number


def _not_blank(text: str | None) -> str | None:
    if text is not None and not trimmed(text):
        raise ValueError("String must be non-empty")
    return text


def _java_regex(text: str) -> str:
    from penstock_java.regex import compile_java

    compile_java(text)
    return text


def _long(number: int | None) -> int | None:
    if number is not None and not -(2**63) <= number < 2**63:
        raise ValueError("Not a number of type LONG")
    return number


long: Final = Rule(_long)
"""Connect's LONG."""

short: Final = Rule(_short)
"""Connect's SHORT."""

not_blank: Final = Rule(_not_blank, "not empty")
"""More than blanks."""

java_regex: Final = Rule(_java_regex, "a Java regular expression")
"""A Java regular expression."""
