"""Each text property of the built-in plugins is either shown without authentication, or hidden."""

from collections.abc import Iterator
from typing import Final

import pytest

from penstock_model.connect.built_in_definitions import built_in_definitions
from penstock_model.connect.redaction import HIDDEN
from penstock_model.contracts.definitions import ClassDefinition
from penstock_model.resources.plugin_offers import offered
from penstock_model.validation.connector import PluginKnowledge
from penstock_web.shown_config import _shown, shown_config

from .resources import Resources
from .shop import connector

RELEASE: Final = "0.1.0"
KNOWLEDGE: Final = PluginKnowledge(offered([]), lambda name: None, RELEASE)
SHOWN: Final = {
    "Cast.spec",
    "Datagen.key.field",
    "Datagen.task.partitions",
    "Datagen.topic",
    "DropHeaders.headers",
    "ExtractField.field",
    "ExtractNewRecordState.add.fields",
    "ExtractNewRecordState.add.fields.prefix",
    "ExtractNewRecordState.add.headers",
    "ExtractNewRecordState.add.headers.prefix",
    "ExtractNewRecordState.drop.fields.header.name",
    "ExtractNewRecordState.route.by.field",
    "FileStreamSink.file",
    "FileStreamSource.file",
    "FileStreamSource.topic",
    "Flatten.delimiter",
    "HeaderFrom.fields",
    "HeaderFrom.headers",
    "HoistField.field",
    "InsertField.offset.field",
    "InsertField.partition.field",
    "InsertField.static.field",
    "InsertField.timestamp.field",
    "InsertField.topic.field",
    "InsertHeader.header",
    "MaskField.fields",
    "MaskField.replacement",
    "RegexRouter.regex",
    "RegexRouter.replacement",
    "ReplaceField.exclude",
    "ReplaceField.include",
    "ReplaceField.renames",
    "SetSchemaMetadata.schema.name",
    "SparkDataSource.data.schema",
    "SparkDataSource.data.source",
    "SparkDataSource.topic",
    "SparkSink.format",
    "SparkSink.partition.by",
    "SparkSink.path",
    "TimestampConverter.field",
    "TimestampConverter.format",
    "TimestampRouter.timestamp.format",
    "TimestampRouter.topic.format",
    "ValueToKey.fields",
}
"""Names of fields and topics, formats, patterns, and places of data. A new text is shown only if it is added here."""


def texts() -> Iterator[tuple[ClassDefinition, str]]:
    """Return each property that takes any text, of connectors and transforms."""
    for definition in built_in_definitions(RELEASE).classes:
        if definition.type in ("source", "sink", "transform"):
            for key in definition.config:
                if key.type in ("STRING", "LIST", "PASSWORD") and key.values is None:
                    yield definition, key.name


def shown(definition: ClassDefinition, name: str, value: str) -> str:
    """Show a property of a connector, or of a transform of one."""
    class_name = definition.class_name
    if definition.type == "transform":
        variant = f"${definition.variants[0]}" if definition.variants else ""
        config = {"transforms": "t", "transforms.t.type": f"{class_name}{variant}", f"transforms.t.{name}": value}
        found = connector("x", class_name="FileStreamSource", config=config)
        return shown_config(found, KNOWLEDGE, Resources().worker())[f"transforms.t.{name}"]
    found = connector("x", class_name=class_name, config={name: value})
    return shown_config(found, KNOWLEDGE, Resources().worker())[name]


def test_each_text_of_a_built_in_plugin_is_hidden_unless_it_is_harmless() -> None:
    found = {f"{d.class_name.rpartition('.')[2]}.{name}": shown(d, name, "hunter2") for d, name in texts()}
    assert {name for name, value in found.items() if value == "hunter2"} == SHOWN
    assert {found["InsertField.static.value"], found["InsertHeader.value.literal"]} == {HIDDEN}


@pytest.mark.parametrize("wanted", ["static.value", "value.literal"])
def test_a_reference_to_a_secret_is_shown_where_a_text_is_not(wanted: str) -> None:
    definition = next(d for d, name in texts() if name == wanted)
    assert shown(definition, wanted, "${secret:db:key}") == "${secret:db:key}"


@pytest.mark.parametrize("name", ["encryption.key.bytes", "token.bytes", "client.secret.format", "secret.name"])
def test_a_word_for_secrets_hides_a_text_whatever_follows_it(name: str) -> None:
    known = {name: "STRING"}
    assert _shown(name, "hunter2", known) == HIDDEN
    assert _shown("file", "hunter2", {"file": "STRING"}) == "hunter2"


def test_a_value_that_would_take_long_to_search_is_hidden() -> None:
    assert _shown("file", "a" * 65_536, {"file": "STRING"}) != HIDDEN
    assert _shown("file", "a" * 65_537, {"file": "STRING"}) == HIDDEN
