"""Formats as `SimpleDateFormat` takes them, and texts that nearly fit them."""

import re
from typing import Final

from hypothesis import strategies as st
from tests.words import words

__all__ = ["FORMATS", "MILLIS", "texts_for"]

_USUAL: Final = st.sampled_from(
    [
        text.replace("_", " ")
        for text in words("""
        yyyy-MM-dd yyyy-MM-dd'T'HH:mm:ss.SSS'Z' yyyy-MM-dd_HH:mm:ss yyyyMMdd yyyyMMddHHmmss dd/MM/yy d_MMM_yyyy
        EEE,_d_MMM_yyyy_HH:mm:ss_Z yyyy-MM-dd'T'HH:mm:ssXXX HH:mm:ss.SSS h:mm_a MMMM_d,_yyyy_G yyyy-DDD
        YYYY-'W'ww-u s.SSS yyyy-MM-dd_HH:mm:ss_z kk:mm K_a
        """)
    ]
)
_FIELDS: Final = words("""
    yyyy yy y yyy yyyyyy YYYY YY MM M MMM MMMM L LLL LLLL dd d ddd HH H hh h kk k KK K mm m ss s SSS S SS SSSSSS
    a aa E EEEE u uu D DDD w ww W F z zzzz Z X XX XXX G
""")
_BETWEEN: Final = ["-", "/", ":", " ", ".", ", ", "'T'", "''", "'o''clock'", "", "", "ä", "  "]
_WRONG: Final = ["XXXX", "b", "'open", "n", "yyyy-MM-dd'T", "e", "%", "{0}", "Q", "c", "V"]


@st.composite
def _composed(draw: st.DrawFn) -> str:
    parts = []
    for _ in range(draw(st.integers(1, 4))):
        parts += [draw(st.sampled_from(_FIELDS)), draw(st.sampled_from(_BETWEEN))]
    if draw(st.integers(0, 19)) == 0:
        parts.append(draw(st.sampled_from(_WRONG)))
    return "".join(parts)


FORMATS: Final = st.one_of(_USUAL, _composed())

_SECOND, _DAY = 1000, 86_400_000
_NEAR: Final = [0, 1, -1, 7, 999, _DAY - 1, _DAY, _DAY + 1, -_DAY]
_MOMENTS: Final = words("""
    1463716800123 1451606399999 951782400000 -12219292800000 -12219292800001 -62135596800000 -62135596800001
    253402300800000 4102444800000
""")
_FAR: Final = [1 << 31, -(1 << 31), 10**15, -(10**15), 10**17]
MILLIS: Final = st.one_of(
    st.sampled_from([*_NEAR, *map(int, _MOMENTS), *_FAR]),
    st.integers(-2_000_000_000, 4_000_000_000).map(lambda s: s * _SECOND),
    st.integers(-5_000_000_000_000, 5_000_000_000_000),
    st.integers(-20_000, 40_000).map(lambda d: d * _DAY),
)

_YEARS: Final = st.sampled_from(
    ["2016", "16", "1", "1999", "99", "70", "0", "1582", "1500", "02016", "10000", "-5", "2024", "69"]
)
_SMALL: Final = st.one_of(
    st.integers(0, 60).map(str), st.integers(0, 31).map(lambda n: f"{n:02}"), st.sampled_from(["-1", "100"])
)
_TEXTS: Final[dict[str, st.SearchStrategy[str]]] = {
    "y": _YEARS,
    "Y": _YEARS,
    "S": st.sampled_from(["0", "1", "5", "50", "123", "1234", "007", "999999"]),
    "a": st.sampled_from(["AM", "PM", "am", "Pm", "A", "M"]),
    "E": st.sampled_from(["Mon", "Monday", "fri", "FRIDAY", "Su", "Xyz"]),
    "G": st.sampled_from(["AD", "BC", "ad", "B"]),
    "z": st.sampled_from(
        ["UTC", "GMT", "PST", "EST", "CET", "GMT+01:00", "-0330", "Z", "+02:00", "Pacific Standard Time", "GMT-5"]
    ),
    "Z": st.sampled_from(["+0000", "-0330", "+02:00", "Z", "GMT+01:00", "PST", "+9", "+0160", "-2400"]),
    "X": st.sampled_from(["Z", "+02", "-0330", "+05:30", "z", "+", "+2", "GMT", "+02:0", "-00:00"]),
}
_MONTHS: Final = st.sampled_from(["Jan", "January", "may", "MAY", "Dec", "Sept", "sep", "Ju", "5"])


@st.composite
def texts_for(draw: st.DrawFn, pattern: str) -> str:
    """A text that the pattern reads, more or less."""
    parts = []
    for token in re.findall(r"([A-Za-z])(\1*)|'([^']*)'|(.)", pattern):
        letter, more, quoted, other = token
        if not letter:
            parts.append(quoted or other)
        elif letter in "ML" and len(more) >= 2:
            parts.append(draw(_MONTHS))
        else:
            parts.append(draw(_TEXTS.get(letter, _SMALL)))
    text = "".join(parts)
    match draw(st.integers(0, 19)):
        case 0:
            return text + draw(st.sampled_from([" ", "x", "1", "Z"]))
        case 1:
            return " " + text
        case 2:
            return text[: len(text) // 2]
        case 3:
            return text.lower()
        case 4:
            return text.replace("-", "/")
        case _:
            return text
