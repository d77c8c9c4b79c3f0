"""Configurations of Confluent's converters, as they are."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from penstock import ConfigError, Converter
from penstock.testing import parsed
from penstock_registry.avro.converter import AvroConverter
from penstock_registry.json_schema.converter import JsonSchemaConverter
from penstock_runtime.plugins.discovery import PluginRef, Plugins

URL = {"schema.registry.url": "http://registry:8081"}


@pytest.mark.parametrize(
    ("name", "converter"),
    [
        ("AvroConverter", AvroConverter),
        ("io.confluent.connect.avro.AvroConverter", AvroConverter),
        ("JsonSchemaConverter", JsonSchemaConverter),
        ("io.confluent.connect.json.JsonSchemaConverter", JsonSchemaConverter),
    ],
)
def test_the_names_of_kafka_connect_find_the_converter(name: str, converter: type[Converter]) -> None:
    refs = [ref for ref in Plugins.installed().every() if isinstance(ref, PluginRef)]
    assert [ref.cls for ref in refs if name in (ref.alias, *ref.cls.java_names)] == [converter]


def test_a_format_of_decimals_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"decimal\.format: .*BASE64, NUMERIC"):
        parsed(JsonSchemaConverter, {**URL, "decimal.format": "text"})
    assert parsed(JsonSchemaConverter, {**URL, "decimal.format": "numeric"}).settings.numeric


@pytest.mark.parametrize(
    ("properties", "problem"),
    [
        ({}, "schema.registry.url"),
        ({"schema.registry.url": "registry:8081"}, "must begin with http"),
        ({**URL, "value.subject.name.strategy": "com.example.Mine"}, "other strategies in Java are not supported"),
        ({**URL, "basic.auth.credentials.source": "USER_INFO"}, "basic.auth.user.info: USER_INFO requires"),
        ({**URL, "basic.auth.credentials.source": "SASL_INHERIT"}, "set USER_INFO"),
        ({**URL, "bearer.auth.credentials.source": "STATIC_TOKEN"}, "bearer.auth.token: STATIC_TOKEN requires"),
        ({**URL, "bearer.auth.credentials.source": "CUSTOM"}, "String must be one of: STATIC_TOKEN, OAUTHBEARER"),
        ({**URL, "value.schema.id.serializer": "com.example.Mine"}, "other serializers in Java are not supported"),
        ({**URL, "value.schema.id.deserializer": "ConfigSchemaIdDeserializer"}, "nor is one id for all messages"),
        ({**URL, "use.latest.with.metadata": "x"}, "expected name=value"),
    ],
)
def test_a_wrong_configuration_is_refused_in_words(properties: Mapping[str, str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem.replace(".", r"\.")):
        parsed(AvroConverter, properties)


def test_a_keystore_of_java_is_refused_with_the_remedy(tmp_path: Path) -> None:
    store = tmp_path / "trust.jks"
    store.write_bytes(b"\xfe\xed\xfe\xed")
    with pytest.raises(ConfigError, match=r"is not a PEM file: convert it \(keytool"):
        parsed(AvroConverter, {**URL, "schema.registry.ssl.truststore.location": str(store)})


def test_nothing_is_asked_of_the_registry_before_the_first_record() -> None:
    converter = AvroConverter()
    converter.configure(parsed(AvroConverter, {"schema.registry.url": "http://127.0.0.1:1"}), is_key=False)
    assert converter.from_connect("t", None, None) is None
    converter.close()
