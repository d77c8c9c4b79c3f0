"""Rules for single properties, with Kafka Connect's messages: what `prop` and its limits cannot say."""

from typing import Final

from pydantic import AfterValidator

__all__ = ["at_least", "java_regex", "long", "not_blank", "short", "words"]


def words(*allowed: str, any_case: bool = False) -> AfterValidator:
    """One of these words, which are lower case; with `any_case` in any case, read as lower case."""

    def check(text: str | None) -> str | None:
        found = text.lower() if any_case and text is not None else text
        if found is not None and found not in allowed:
            how = " (case insensitive)" if any_case else ""
            shown = ", ".join(w.upper() for w in allowed) if any_case else ", ".join(allowed)
            raise ValueError(f"String must be one of{how}: {shown}")
        return found

    return AfterValidator(check)


def at_least(least: int) -> AfterValidator:
    """A number that is not below `least`."""

    def check(number: int | None) -> int | None:
        if number is not None and number < least:
            raise ValueError(f"Value must be at least {least}")
        return number

    return AfterValidator(check)


def _short(number: int) -> int:
    if not -(2**15) <= number < 2**15:
        raise ValueError("Not a number of type SHORT")
    return number


def _not_blank(text: str | None) -> str | None:
    if text is not None and not text.strip():
        raise ValueError("String must be non-empty")
    return text


def _java_regex(text: str) -> str:
    from penstock.java_regex import compile_java

    compile_java(text)
    return text


def _long(number: int) -> int:
    if not -(2**63) <= number < 2**63:
        raise ValueError("Not a number of type LONG")
    return number


long: Final = AfterValidator(_long)
"""Connect's LONG."""

short: Final = AfterValidator(_short)
"""Connect's SHORT."""

not_blank: Final = AfterValidator(_not_blank)
"""More than blanks."""

java_regex: Final = AfterValidator(_java_regex)
"""A Java regular expression."""
