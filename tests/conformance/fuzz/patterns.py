"""Java's regular expressions, as routers and predicates take them, and replacements for them."""

from typing import Final

from hypothesis import strategies as st
from tests.words import words

__all__ = ["PATTERNS", "REPLACEMENTS"]

_ATOMS: Final = st.sampled_from(
    words(r"""
    a o r - . . \. [a-z] [^-] [a-z&&[^o]] \w \d \W \s \p{L} \p{Lower} (a|or) (?<n>o+) (.*) (.+?) (.+) (?:foo|bar) ()
    (-.*)? ^ $ \b (?=o) (?!x) (?<=a) (?i) (?i:A) \Qa.\E (?>o*) \x61 \u0061 ä foo orders [-a] []a]
    \h \R \z \Z \A \1 \k<n>
    """)
)
_WRONG: Final = st.sampled_from(
    ["(", "[", "*", ")", "\\", "{", "(?<1>a)", "[z-a]", "a{2,1}", "(?<n>a)(?<n>b)", "\\k<q>", "(?<=a*)", "\\y"]
)
_TIMES: Final = st.sampled_from(["", "", "", "", "*", "+", "?", "*?", "+?", "++", "*+", "{2}", "{1,2}", "{0,}"])


@st.composite
def _composed(draw: st.DrawFn) -> str:
    parts = [draw(_ATOMS) + draw(_TIMES) for _ in range(draw(st.integers(1, 4)))]
    if draw(st.integers(0, 4)) == 0:
        parts.insert(draw(st.integers(0, len(parts))), "|")
    if draw(st.integers(0, 14)) == 0:
        parts.append(draw(_WRONG))
    return "".join(parts)


PATTERNS: Final = st.one_of(
    st.sampled_from([".*", "(.*)", "(.*)-(.*)", "foo|foobar", "(a*?)", "", "orders"]), _composed()
)
_PARTS: Final = [*words(r"x - $1 $0 $2 $12 ${n} ${q} \$ \\ $ \ ${ $x ä \n"), " "]
REPLACEMENTS: Final = st.lists(st.sampled_from(_PARTS), max_size=3).map("".join)
