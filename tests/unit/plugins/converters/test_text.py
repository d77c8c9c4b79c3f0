"""String, byte and header converters: settings, and that batches are what their records are."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import ConfigError, Converter, DataError, Float32, Int8, Int16
from penstock.schema import INT32, OPTIONAL_BYTES, OPTIONAL_STRING, STRING
from penstock_plugins.converters.simple_header import SimpleHeaderConverter
from penstock_plugins.converters.text import ByteArrayConverter, StringConverter


def string_converter(is_key: bool = False, /, **texts: str) -> StringConverter:
    made = StringConverter()
    made.configure(StringConverter.Config.parse({n.replace("_", "."): t for n, t in texts.items()}), is_key=is_key)
    return made


HEADERS = SimpleHeaderConverter()


def test_the_encoding_of_kafkas_own_setting_goes_first() -> None:
    texts = {"converter_encoding": "UTF-16LE", "key_serializer_encoding": "ISO-8859-1"}
    assert string_converter(True, **texts).from_connect("t", STRING, "é") == b"\xe9"
    assert string_converter(**texts).from_connect("t", STRING, "é") == b"\xe9\x00"


def test_an_encoding_that_is_not_there_is_refused() -> None:
    with pytest.raises(ConfigError, match="Unsupported encoding nope"):
        string_converter(converter_encoding="nope")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "rot13", "idna", "", "UTF-7", "ms936"])
def test_a_name_that_only_python_knows_is_no_encoding(encoding: str) -> None:
    with pytest.raises(ConfigError, match="Unsupported encoding"):
        string_converter(converter_encoding=encoding)


@pytest.mark.parametrize(
    ("encoding", "data"),
    [
        ("UTF8", b"\xc3\xa9"),
        ("Cp1252", b"\xe9"),
        ("l9", b"\xe9"),
        ("x-MacRoman", b"\x8e"),
        ("IBM850", b"\x82"),
        ("unicodebigunmarked", b"\0\xe9"),
        ("sjis", b"?"),
    ],
)
def test_an_encoding_goes_by_all_of_its_names_in_java(encoding: str, data: bytes) -> None:
    assert string_converter(converter_encoding=encoding).from_connect("t", STRING, "é") == data


@pytest.mark.parametrize(
    ("encoding", "text", "data"),
    [("UTF-16", "a", b"\xfe\xff\0a"), ("UTF-16", "", b""), ("US-ASCII", "é", b"?"), ("UTF-8", "\ud800", b"?")],
)
def test_text_is_encoded_as_java_does(encoding: str, text: str, data: bytes) -> None:
    assert string_converter(converter_encoding=encoding).from_connect("t", STRING, text) == data


@pytest.mark.parametrize(
    ("encoding", "data", "text"),
    [
        ("UTF-16", b"\0a", "a"),
        ("UTF-16", b"\xff\xfea\0", "a"),
        ("UTF-16", b"\xd8\0\0a", "\ufffd"),
        ("UTF-8", b"\xff", "\ufffd"),
        ("UTF-16", b"\0a\0", "a\ufffd"),
    ],
)
def test_bytes_are_decoded_as_java_does(encoding: str, data: bytes, text: str) -> None:
    assert string_converter(converter_encoding=encoding).to_connect("t", data) == (OPTIONAL_STRING, text)


values = (
    st.none() | st.text(st.characters(exclude_categories=()), max_size=4) | st.integers(0, 9) | st.binary(max_size=2)
)


@given(st.lists(values, max_size=4), st.lists(st.none() | st.binary(max_size=4), max_size=4))
def test_a_batch_of_texts_is_converted_as_its_records_are(given_values: list[Any], data: list[bytes | None]) -> None:
    plugins: list[Converter] = [string_converter(), string_converter(converter_encoding="UTF-16"), ByteArrayConverter()]
    for plugin in plugins:
        try:
            each: object = [plugin.from_connect("t", None, v) for v in given_values]
        except DataError:
            with pytest.raises(DataError):
                plugin.from_connect_batch("t", None, given_values)
        else:
            assert plugin.from_connect_batch("t", None, given_values) == each
        schema, found = plugin.to_connect_batch("t", data)
        assert [(schema, v) for v in found] == [plugin.to_connect("t", d) for d in data]


def test_bytes_refuse_other_schemas_and_other_values() -> None:
    plugin = ByteArrayConverter()
    with pytest.raises(DataError, match="Invalid schema type for ByteArrayConverter: INT32"):
        plugin.from_connect("t", INT32, 1)
    with pytest.raises(DataError, match=r"not compatible with objects of type class java\.lang\.String"):
        plugin.from_connect("t", OPTIONAL_BYTES, "x")


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("7", Int8, 7),
        ("300", Int16, 300),
        ("0.1", Float32, 0.10000000149011612),
        ("true", bool, True),
        ("true}", str, "true}"),
        ("[1,2] x", list, [1, 2]),
        ('{"a":null}', dict, {"a": None}),
        ("[1,null]", str, "[1,null]"),
        ("1e99999999999999999999", str, "1e99999999999999999999"),
        (" x ", str, " x "),
    ],
)
def test_a_header_has_the_type_that_its_text_suggests(text: str, kind: type, value: object) -> None:
    found = HEADERS.to_connect("t", "h", text.encode())
    assert (type(found.value), found.value) == (kind, value)


@given(st.text(alphabet='01.e-+[]{}:,"\\ truefalsn\u00e9', max_size=12))
def test_reading_a_header_never_fails(text: str) -> None:
    found = HEADERS.to_connect("t", "h", text.encode())
    assert found.name == "h"
    assert found.value is None or HEADERS.from_connect("t", "h", found.schema, found.value) is not None
