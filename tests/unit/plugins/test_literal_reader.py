"""Literals: the short way for texts of one token finds what the parser finds."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock import Header
from penstock.schema import STRING
from penstock_plugins.header_converter import SimpleHeaderConverter
from penstock_plugins.java_text import utf8_text
from penstock_plugins.literal_reader import _Parser, parsed

_PIECES = st.sampled_from(
    ["null", "true", "False", "1", "-", "+", ".", "e3", "2024-02-29", "T", "Z", " ", "\x01", "\u00a0", "\u0663", "abc", "\\",
     "99999999999999999999", "NaN", "é", ",", "[", '"', ":"]
)  # fmt: skip
_BYTES = st.sampled_from([b"\xff", b"\n", b"\0", b"t", b"nulls"])


@settings(max_examples=1000, deadline=None)
@given(st.lists(_PIECES, min_size=1, max_size=4).map("".join))
@example("\x01")
@example("\u2003")
def test_one_token_is_read_as_the_parser_reads_it(text: str) -> None:
    assert repr(parsed(text)) == repr(_Parser(text).parse(inside=False) or (None, None))


@pytest.mark.parametrize("text", ["4bf92f3577b34da6a3ce929d0e0e4736", "customer-7", "-", "yes"])
def test_names_and_ids_are_strings(text: str) -> None:
    assert parsed(text) == (STRING, text)


@settings(max_examples=1000, deadline=None)
@given(
    st.lists(_PIECES.map(str.encode) | st.sampled_from([b"\xff", b"\n", b"\0", b"t", b"nulls"]), max_size=4).map(
        b"".join
    )
)
@example(b"null\n")
@example(b"true \0")
@example(b"a\nb")
def test_the_bytes_of_a_header_are_read_as_their_text_is(data: bytes) -> None:
    schema, value = parsed(utf8_text(data)) if data else (STRING, "")
    found = SimpleHeaderConverter().to_connect("t", "name", data)
    assert type(found) is Header
    assert repr(found) == repr(Header("name", value, schema))
