"""Converters in the place of header converters: found by every name of theirs, and converting headers as values."""

import pytest

from penstock import ConfigError, Converter, DataError, Header, HeaderConverter, Int16
from penstock.schema import INT16, OPTIONAL_STRING, STRING
from penstock_plugins.converters.simple_header import SimpleHeaderConverter
from penstock_runtime.plugins.discovery import Plugins

PLUGINS = Plugins.installed()
NAMES = {
    "JsonConverter": "org.apache.kafka.connect.json.JsonConverter",
    "StringConverter": "org.apache.kafka.connect.storage.StringConverter",
    **{
        f"{n}Converter": f"org.apache.kafka.connect.converters.{n}Converter"
        for n in ("Boolean", "ByteArray", "Double", "Float", "Integer", "Long", "Short")
    },
}


def headers(name: str, **texts: str) -> HeaderConverter:
    cls = PLUGINS.find(HeaderConverter, name).cls  # type: ignore[type-abstract]
    made = cls()
    made.configure(cls.Config.parse({n.replace("_", "."): t for n, t in texts.items()}))
    return made


@pytest.mark.parametrize("alias", NAMES)
def test_each_name_of_a_converter_works_in_all_three_places(alias: str) -> None:
    path = next(e.path for e in PLUGINS.entries if e.alias == alias)
    for name in (alias, alias.removesuffix("Converter"), NAMES[alias], path, path.replace(":", ".")):
        values, of_headers = PLUGINS.find(Converter, name), PLUGINS.find(HeaderConverter, name)  # type: ignore[type-abstract]
        assert (values.alias, of_headers.alias) == (alias, alias)
        assert values.cls.java_names == of_headers.cls.java_names == (NAMES[alias],)
        assert values.cls.Config is of_headers.cls.Config


def test_the_simple_header_converter_converts_only_headers() -> None:
    assert PLUGINS.find(HeaderConverter, "SimpleHeaderConverter").cls is SimpleHeaderConverter  # type: ignore[type-abstract]
    with pytest.raises(ConfigError, match="does not implement the Converter interface"):
        PLUGINS.find(Converter, "SimpleHeaderConverter")  # type: ignore[type-abstract]


def test_what_may_be_written_is_offered_by_the_names_that_users_know() -> None:
    with pytest.raises(ConfigError, match=r"Did you mean JsonConverter\? Installed: BooleanConverter, .*, Simple"):
        PLUGINS.find(HeaderConverter, "JsonConverte")  # type: ignore[type-abstract]


def test_a_header_has_the_bytes_of_a_value_and_keeps_its_name() -> None:
    plugin = headers("JsonConverter")
    data = b'{"schema":{"type":"string","optional":true},"payload":"v"}'
    assert plugin.from_connect("t", "h", OPTIONAL_STRING, "v") == data
    assert plugin.to_connect("t", "h", data) == Header("h", "v", OPTIONAL_STRING)
    assert plugin.to_connect("t", "h", None) == Header("h", None, None)
    assert headers("ShortConverter").to_connect("t", "h", b"\0\1") == Header("h", 1, INT16.as_optional())


def test_the_properties_are_those_of_the_converter() -> None:
    assert headers("JsonConverter", schemas_enable="false").from_connect("t", "h", None, {"a": 1}) == b'{"a":1}'
    plugin = headers("StringConverter", converter_encoding="UTF-16LE", value_serializer_encoding="latin1")
    assert plugin.from_connect("t", "h", STRING, "é") == b"\xe9"
    assert plugin.to_connect("t", "h", b"\xe9\0").value == "é"
    with pytest.raises(ConfigError, match="Unsupported encoding nope"):
        headers("StringConverter", converter_encoding="nope")


def test_what_the_converter_refuses_is_refused() -> None:
    with pytest.raises(DataError, match="Invalid schema type for ByteArrayConverter"):
        headers("ByteArrayConverter").from_connect("t", "h", STRING, "v")
    with pytest.raises(DataError, match="Failed to deserialize long"):
        headers("LongConverter").to_connect("t", "h", b"\0")
    assert headers("ShortConverter").from_connect("t", "h", None, Int16(1)) == b"\0\1"


def test_the_type_of_a_converter_is_one_of_three() -> None:
    with pytest.raises(ConfigError, match=r"converter\.type: String must be one of: key, value, header"):
        headers("LongConverter", converter_type="nope")
    assert headers("LongConverter", converter_type="key").to_connect("t", "h", None).value is None
