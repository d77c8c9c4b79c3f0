"""Texts that plugins read something into: names, numbers, literals."""

from typing import Final

from hypothesis import strategies as st
from tests.words import words

__all__ = ["BOOLEANS", "FIELD_NAMES", "HEADER_NAMES", "LITERALS", "NUMBERS", "PLAIN", "TOPICS", "padded"]

FIELD_NAMES: Final = st.sampled_from(
    ["a", "b", "c", "a", "b", "id", "name", "a.b", "b.c", "A", "", "ä", "a b", "`a`", "a`b", "a:b", "$a", "."]
)
HEADER_NAMES: Final = st.sampled_from(["h", "x", "h", "H", "trace.id", "", "ä", "a b"])
TOPICS: Final = st.one_of(
    st.sampled_from(["orders", "t", "foo.bar", "a-b-c", "foobar", "aaa", "o2024", "", "ä-x", "${topic}", "$1"]),
    st.text("aor-._1", max_size=6),
)
BOOLEANS: Final = st.sampled_from(["true", "false", "false", "TRUE", " False "])

_NUMBER: Final = r"[+-]?[0-9]{1,21}(\.[0-9]{0,20})?([eE][+-]?[0-9]{1,3})?[fFdD]?"
_NUMBERS: Final = [
    *words("0 1 -1 +5 007 -0"),
    *(" 1", "1 ", "\t2\n"),
    *words("1.5 -1.5 0.5 1e3 5.00 1E-9 0x1p3 0x1F 1.5f 2.5D 1L NaN nan Infinity -Infinity +Infinity inf"),
    *("\u0661\u0662", "\uff11"),
    *words("127 128 -128 -129 255 300 32767 32768 -32769 2147483647 2147483648 -2147483649"),
    *words("9223372036854775807 9223372036854775808 -9223372036854775808 -9223372036854775809"),
    *words("1e38 3.5e38 1e39 1e308 1e309 1e400 1e-45 1e-46 1e-400 0.1 16777217 123456789.123"),
    "",
    *words("- + . .5 5. 1e e1 1_000 1,000 --1"),
    "1 2",
    *words("1e99999 0.000 1.0E7 9999999 0.001 0.00099"),
]
NUMBERS: Final = st.one_of(
    st.sampled_from(_NUMBERS),
    st.from_regex(_NUMBER, fullmatch=True),
    st.integers(-(2**65), 2**65).map(str),
)

_ODD: Final = ["\\", "\n", "\t", "a,b", "\x00", "\x7f", "\u2028", "</a>", "é" * 3]
PLAIN: Final = st.one_of(
    st.sampled_from(["", " ", *words('x true True null 1 ä \U0001f600 "'), *_ODD]),
    st.text("ab1 -:.,", max_size=8),
    st.text(st.characters(codec="utf-8"), max_size=5),
)

_DATES: Final = words("""
    2019-08-23 2019-13-45 0001-01-01 1582-10-10 2019-8-23 14:34:54.346Z 25:61:61.999Z 14:34:54.346+0000
    2019-08-23T14:34:54.346Z 2019-08-23T14:34:54.346 2019-08-23T14:34:54Z 2019-08-23T14:34:54.346A
    9999-12-31T23:59:59.999Z
""")
_WORDS: Final = words(r"""true false null True NULL abc "abc" "a\"b" "\u0041" "" " 'a'""")
_ATOMS: Final = st.one_of(NUMBERS, st.sampled_from([*_WORDS, *_DATES, "2019-08-23 14:34:54.346Z"]))
_SEPARATORS: Final = st.sampled_from([",", ", ", " ,", ",,", ""])


@st.composite
def _nested(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    """An array or a map, closed or not."""
    if draw(st.booleans()):
        parts, opening, closing = draw(st.lists(inner, max_size=4)), "[", "]"
    else:
        pairs = draw(st.lists(st.tuples(inner, st.sampled_from([":", ": ", " : ", ""]), inner), max_size=3))
        parts, opening, closing = ["".join(p) for p in pairs], "{", "}"
    usual = draw(st.integers(0, 9)) < 8
    text = (", " if usual else draw(_SEPARATORS)).join(parts)
    return opening + text + (closing if usual else draw(st.sampled_from(["", "]", "}", closing + " ", closing + "x"])))


LITERALS: Final = st.one_of(
    _ATOMS,
    _ATOMS,
    _nested(_ATOMS),
    _nested(st.one_of(_ATOMS, _nested(_ATOMS))),
    PLAIN,
    st.tuples(_ATOMS, st.sampled_from([" ", ":", ",", "]", "\\", '"', "[", "x"]), _ATOMS).map("".join),
)
"""What `Values.parseString` reads: InsertHeader's literal, the headers of SimpleHeaderConverter."""


def padded(texts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """The same, sometimes with blanks around."""
    return st.tuples(texts, st.integers(0, 11)).map(lambda drawn: f" {drawn[0]}\t" if drawn[1] == 0 else drawn[0])
