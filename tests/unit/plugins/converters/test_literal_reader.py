"""Literals: the short way for texts of one token finds what the parser finds."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.words import words

from penstock import Header, Type
from penstock.schema import STRING
from penstock_plugins.connect.literals.reader import _Parser, parse_literal
from penstock_plugins.connect.text import utf8_text
from penstock_plugins.converters.simple_header import SimpleHeaderConverter

_WORDS = words(r'null true False 1 - + . e3 2024-02-29 T Z abc \ 99999999999999999999 NaN é , [ " :')
_PIECES = st.sampled_from([*_WORDS, " ", "\x01", "\u00a0", "\u0663"])
_BYTES = st.sampled_from([b"\xff", b"\n", b"\0", b"t", b"nulls"])


@settings(max_examples=1000, deadline=None)
@given(st.lists(_PIECES, min_size=1, max_size=4).map("".join))
@example("\x01")
@example("\u2003")
def test_one_token_is_read_as_the_parser_reads_it(text: str) -> None:
    assert repr(parse_literal(text)) == repr(_Parser(text).parse(inside=False) or (None, None))


@pytest.mark.parametrize("text", ["4bf92f3577b34da6a3ce929d0e0e4736", "customer-7", "-", "yes"])
def test_names_and_ids_are_strings(text: str) -> None:
    assert parse_literal(text) == (STRING, text)


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
    schema, value = parse_literal(utf8_text(data)) if data else (STRING, "")
    found = SimpleHeaderConverter().to_connect("t", "name", data)
    assert type(found) is Header
    assert repr(found) == repr(Header("name", value, schema))


_ANY = st.lists(
    st.sampled_from(["[", "]", "{", "}", ":", ",", '"', "\\", "1", "-", "e9", "a", " ", "true", "null", "2024-02-30"])
)


@settings(max_examples=500, deadline=None)
@given(st.one_of(st.binary(max_size=40), _ANY.map("".join).map(str.encode)))
@example(b"9" * 5_000)
@example(b"1e999999999")
@example(b"1e-99999999999999999999")
@example(b'{"a":' * 5_000)
def test_no_bytes_of_a_header_cannot_be_read(data: bytes) -> None:
    assert SimpleHeaderConverter().to_connect("t", "h", data).name == "h"


@pytest.mark.parametrize("deep", [200, 201, 50_000])
def test_a_literal_that_is_too_deep_for_any_stack_is_a_string(deep: int) -> None:
    text = "[" * (deep + 1) + "]" * (deep + 1)
    schema, value = parse_literal(text)
    assert schema is not None
    assert (schema.type is Type.ARRAY) is (deep == 200)
    assert deep == 200 or value == text
