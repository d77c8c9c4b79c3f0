r"""Character sets of Java's patterns (`\w`, `\p{Alpha}`, `\p{InCyrillic}`) in the `regex` package's syntax.

Every function returns the text between the brackets of a set.
"""

import re
from functools import cache
from typing import Final, NamedTuple

import regex

__all__ = [
    "HORIZONTAL",
    "VERTICAL",
    "PatternError",
    "PropertyFlags",
    "fold_ascii",
    "literal",
    "property_set",
    "shorthand",
]

HORIZONTAL: Final = r" \t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000"
VERTICAL: Final = r"\n\x0b\f\r\x85\u2028\u2029"

_NAME: Final = re.compile(r"[A-Za-z0-9_ =-]+")

_ASCII: Final = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": r"\x00-\x7f",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": r"!-/:-@\[-`\{-\~",
    "Graph": r"!-\~",
    "Print": r"\x20-\~",
    "Blank": r"\x20\t",
    "Cntrl": r"\x00-\x1f\x7f",
    "XDigit": "0-9a-fA-F",
    "Space": r"\x20\t\n\x0b\f\r",
}

_UNICODE: Final = {
    "ALPHABETIC": r"\p{Alphabetic}",
    "LETTER": r"\p{L}",
    "IDEOGRAPHIC": r"\p{Ideographic}",
    "LOWERCASE": r"\p{Lowercase}",
    "UPPERCASE": r"\p{Uppercase}",
    "TITLECASE": r"\p{Lt}",
    "WHITE_SPACE": r"\p{White_Space}",
    "CONTROL": r"\p{Cc}",
    "PUNCTUATION": r"\p{P}",
    "HEX_DIGIT": r"\p{Nd}0-9a-fA-F\uff10-\uff19\uff21-\uff26\uff41-\uff46",
    "ASSIGNED": r"\P{Cn}",
    "NONCHARACTER_CODE_POINT": r"\p{Noncharacter_Code_Point}",
    "DIGIT": r"\p{Nd}",
    "ALNUM": r"\p{Alphabetic}\p{Nd}",
    "BLANK": r"\p{Zs}\t",
    "GRAPH": r"[^\p{White_Space}\p{Cc}\p{Cs}\p{Cn}]",
    "PRINT": r"[^\p{White_Space}\p{Cc}\p{Cs}\p{Cn}]\p{Zs}",
    "WORD": r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d",
    "JOIN_CONTROL": r"\u200c\u200d",
}
_SAME: Final = {
    "WHITESPACE": "WHITE_SPACE",
    "HEXDIGIT": "HEX_DIGIT",
    "JOINCONTROL": "JOIN_CONTROL",
    "NONCHARACTERCODEPOINT": "NONCHARACTER_CODE_POINT",
}
_POSIX_UNICODE: Final = {
    "ALPHA": "ALPHABETIC",
    "LOWER": "LOWERCASE",
    "UPPER": "UPPERCASE",
    "SPACE": "WHITE_SPACE",
    "PUNCT": "PUNCTUATION",
    "XDIGIT": "HEX_DIGIT",
    "ALNUM": "ALNUM",
    "CNTRL": "CONTROL",
    "DIGIT": "DIGIT",
    "BLANK": "BLANK",
    "GRAPH": "GRAPH",
    "PRINT": "PRINT",
}

_CATEGORIES: Final = frozenset(
    {
        *("Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Me", "Mc", "Nd", "Nl", "No", "Zs", "Zl", "Zp", "Cc", "Cf", "Co"),
        *("Cs", "Pd", "Ps", "Pe", "Pc", "Po", "Sm", "Sc", "Sk", "So", "Pi", "Pf", "L", "M", "N", "Z", "C", "P", "S"),
    }
)
_UNIONS: Final = {
    "LC": r"\p{Lu}\p{Ll}\p{Lt}",
    "LD": r"\p{L}\p{Nd}",
    "L1": r"\x00-\xff",
    "all": r"\x00-\U0010ffff",
}

_IGNORABLE: Final = r"\x00-\x08\x0e-\x1b\x7f-\x9f\p{Cf}"
_JAVA: Final = {
    "LowerCase": r"\p{Lowercase}",
    "UpperCase": r"\p{Uppercase}",
    "Alphabetic": r"\p{Alphabetic}",
    "Ideographic": r"\p{Ideographic}",
    "TitleCase": r"\p{Lt}",
    "Digit": r"\p{Nd}",
    "Defined": r"\P{Cn}",
    "Letter": r"\p{L}",
    "LetterOrDigit": r"\p{L}\p{Nd}",
    "JavaIdentifierStart": r"\p{L}\p{Nl}\p{Sc}\p{Pc}",
    "JavaIdentifierPart": rf"\p{{L}}\p{{Nl}}\p{{Sc}}\p{{Pc}}\p{{Nd}}\p{{Mn}}\p{{Mc}}{_IGNORABLE}",
    "UnicodeIdentifierStart": r"\p{L}\p{Nl}\p{Other_ID_Start}",
    "UnicodeIdentifierPart": rf"\p{{L}}\p{{Nl}}\p{{Pc}}\p{{Nd}}\p{{Mn}}\p{{Mc}}\p{{Other_ID_Start}}{_IGNORABLE}",
    "IdentifierIgnorable": _IGNORABLE,
    "SpaceChar": r"\p{Z}",
    "Whitespace": r"[\p{Z}--[\xa0\u2007\u202f]]\t\n\x0b\f\r\x1c-\x1f",
    "ISOControl": r"\x00-\x1f\x7f-\x9f",
    "Mirrored": r"\p{Bidi_Mirrored}",
}
_EITHER_CASE: Final = {
    **dict.fromkeys(("Lower", "Upper"), "a-zA-Z"),
    **dict.fromkeys(("Lu", "Ll", "Lt"), r"\p{Lu}\p{Ll}\p{Lt}"),
    **dict.fromkeys(("javaLowerCase", "javaUpperCase", "javaTitleCase"), r"\p{Lowercase}\p{Uppercase}\p{Lt}"),
    **dict.fromkeys(("LOWERCASE", "UPPERCASE", "TITLECASE"), r"\p{Lowercase}\p{Uppercase}\p{Lt}"),
}


class PatternError(ValueError):
    """Raised when Java rejects the pattern (`PatternSyntaxException`), or it cannot be translated."""


class PropertyFlags(NamedTuple):
    """Flags of a pattern that change the meaning of a set: i, u and U."""

    ignore_case: bool
    unicode_case: bool
    unicode_classes: bool


def literal(char: str) -> str:
    """Return one character, escaped for use inside or outside of a set."""
    return char if char.isascii() and char.isalnum() else f"\\U{ord(char):08x}"


def fold_ascii(low: str, high: str) -> str:
    """Return a range, plus the ASCII letters in it in their other case."""
    text = literal(low) if low == high else f"{literal(low)}-{literal(high)}"
    letters = [chr(c) for c in range(ord(low), min(ord(high), 127) + 1) if chr(c).isalpha() and c < 128]
    return text + "".join(c.swapcase() for c in letters if not low <= c.swapcase() <= high)


def shorthand(char: str, flags: PropertyFlags) -> str:
    r"""Return the set of `\d`, `\w`, `\s` or one of their opposites."""
    if flags.unicode_classes:
        found = _UNICODE[{"d": "DIGIT", "w": "WORD", "s": "WHITE_SPACE"}[char.lower()]]
    else:
        found = {"d": "0-9", "w": "a-zA-Z0-9_", "s": _ASCII["Space"]}[char.lower()]
    return f"[^{found}]" if char.isupper() else found


def property_set(name: str, flags: PropertyFlags) -> str | None:
    r"""Return the set of `\p{name}`; None if Java has no such property."""
    if not _NAME.fullmatch(name):
        return None
    key, equals, value = name.partition("=")
    if equals:
        return _keyed(key, value, flags)
    if name.startswith("In"):
        return _known(f"\\p{{Block={name[2:]}}}")
    if name.startswith("Is"):
        rest = name[2:]
        upper = _SAME.get(rest.upper(), rest.upper())
        if upper in _UNICODE:
            return _EITHER_CASE.get(upper, _UNICODE[upper]) if flags.ignore_case else _UNICODE[upper]
        return _named(rest, flags) or _known(f"\\p{{Script={rest}}}")
    if flags.unicode_classes and name.upper() in _POSIX_UNICODE:
        upper = _POSIX_UNICODE[name.upper()]
        return _EITHER_CASE.get(upper, _UNICODE[upper]) if flags.ignore_case else _UNICODE[upper]
    return _named(name, flags)


def _keyed(key: str, value: str, flags: PropertyFlags) -> str | None:
    match key.lower():
        case "sc" | "script":
            return _known(f"\\p{{Script={value}}}")
        case "blk" | "block":
            return _known(f"\\p{{Block={value}}}")
        case "gc" | "general_category":
            return _named(value, flags)
        case _:
            return None


def _named(name: str, flags: PropertyFlags) -> str | None:
    if flags.ignore_case and name in _EITHER_CASE and not name.isupper():
        return _EITHER_CASE[name]
    if name in _CATEGORIES:
        return f"\\p{{{name}}}"
    if name in _UNIONS:
        return _UNIONS[name]
    if name.startswith("java"):
        return _JAVA.get(name[4:])
    return _ASCII.get(name)


@cache
def _known(text: str) -> str | None:
    try:
        regex.compile(text)
    except regex.error:
        return None
    return text
