"""Configurations of Confluent's ProtobufConverter, as they are."""

import pytest

from penstock import DataError
from penstock.testing import parsed
from penstock_registry.protobuf.converter import ProtobufConverter
from penstock_registry.protobuf.settings import ProtobufSettings
from penstock_runtime.plugins.discovery import PluginRef, Plugins


@pytest.mark.parametrize("name", ["ProtobufConverter", "io.confluent.connect.protobuf.ProtobufConverter"])
def test_the_names_of_kafka_connect_find_the_converter(name: str) -> None:
    refs = [ref for ref in Plugins.installed().every() if isinstance(ref, PluginRef)]
    assert [ref.cls for ref in refs if name in (ref.alias, *ref.cls.java_names)] == [ProtobufConverter]


def test_each_property_of_confluents_converter_has_its_setting() -> None:
    names = (
        "enhanced.protobuf.schema.support", "scrub.invalid.names", "int.for.enums", "optional.for.nullables",
        "optional.for.proto2", "wrapper.for.nullables", "wrapper.for.raw.primitives", "generate.struct.for.nulls",
        "generate.index.for.unions", "flatten.unions", "ignore.default.for.nullables",
    )  # fmt: skip
    url = {"schema.registry.url": "http://127.0.0.1:1"}
    plain = parsed(ProtobufConverter, url).settings
    assert plain == ProtobufSettings()
    for name in names:
        opposite = (
            "false"
            if name in ("optional.for.proto2", "wrapper.for.raw.primitives", "generate.index.for.unions")
            else "true"
        )
        assert parsed(ProtobufConverter, {**url, name: opposite}).settings != plain


def test_nothing_is_asked_of_the_registry_before_the_first_record() -> None:
    converter = ProtobufConverter()
    converter.configure(parsed(ProtobufConverter, {"schema.registry.url": "http://127.0.0.1:1"}), is_key=False)
    assert converter.from_connect("t", None, None) is None
    with pytest.raises(DataError, match="without a schema"):
        converter.from_connect("t", None, 1)
    converter.close()
