"""A class is found by the path that an earlier version wrote into plans, and by the one that users wrote into manifests."""

import pytest

from penstock import Transform
from penstock_runtime.plugins.discovery import Plugins
from penstock_runtime.plugins.earlier_paths import current_path
from penstock_runtime.plugins.plugin_ref import load

VERSION_0_1_0 = {
    "BooleanConverter": "penstock_plugins.number_converters:BooleanConverter",
    "BooleanHeaders": "penstock_plugins.converted_headers:BooleanHeaders",
    "ByteArrayConverter": "penstock_plugins.text_converters:ByteArrayConverter",
    "ByteArrayHeaders": "penstock_plugins.converted_headers:ByteArrayHeaders",
    "Cast": "penstock_plugins.cast:Cast",
    "Datagen": "penstock_plugins.datagen:Datagen",
    "DoubleConverter": "penstock_plugins.number_converters:DoubleConverter",
    "DoubleHeaders": "penstock_plugins.converted_headers:DoubleHeaders",
    "DropHeaders": "penstock_plugins.drop_headers:DropHeaders",
    "ExtractField": "penstock_plugins.extract_field:ExtractField",
    "FileStreamSink": "penstock_plugins.file_sink:FileStreamSink",
    "FileStreamSource": "penstock_plugins.file_source:FileStreamSource",
    "Filter": "penstock_plugins.filter:Filter",
    "Flatten": "penstock_plugins.flatten:Flatten",
    "FloatConverter": "penstock_plugins.number_converters:FloatConverter",
    "FloatHeaders": "penstock_plugins.converted_headers:FloatHeaders",
    "HasHeaderKey": "penstock_plugins.predicates:HasHeaderKey",
    "HeaderFrom": "penstock_plugins.header_from:HeaderFrom",
    "HoistField": "penstock_plugins.hoist_field:HoistField",
    "InsertField": "penstock_plugins.insert_field:InsertField",
    "InsertHeader": "penstock_plugins.insert_header:InsertHeader",
    "IntegerConverter": "penstock_plugins.number_converters:IntegerConverter",
    "IntegerHeaders": "penstock_plugins.converted_headers:IntegerHeaders",
    "JsonConverter": "penstock_plugins.json_converter:JsonConverter",
    "JsonHeaders": "penstock_plugins.converted_headers:JsonHeaders",
    "LongConverter": "penstock_plugins.number_converters:LongConverter",
    "LongHeaders": "penstock_plugins.converted_headers:LongHeaders",
    "MaskField": "penstock_plugins.mask_field:MaskField",
    "RecordIsTombstone": "penstock_plugins.predicates:RecordIsTombstone",
    "RegexRouter": "penstock_plugins.regex_router:RegexRouter",
    "ReplaceField": "penstock_plugins.replace_field:ReplaceField",
    "SetSchemaMetadata": "penstock_plugins.set_schema_metadata:SetSchemaMetadata",
    "ShortConverter": "penstock_plugins.number_converters:ShortConverter",
    "ShortHeaders": "penstock_plugins.converted_headers:ShortHeaders",
    "SimpleHeaderConverter": "penstock_plugins.header_converter:SimpleHeaderConverter",
    "SparkDataSource": "penstock_plugins.spark_source:SparkDataSource",
    "SparkSink": "penstock_plugins.spark_sink:SparkSink",
    "StringConverter": "penstock_plugins.text_converters:StringConverter",
    "StringHeaders": "penstock_plugins.converted_headers:StringHeaders",
    "TimestampConverter": "penstock_plugins.timestamp_converter:TimestampConverter",
    "TimestampRouter": "penstock_plugins.timestamp_router:TimestampRouter",
    "TopicNameMatches": "penstock_plugins.predicates:TopicNameMatches",
    "ValueToKey": "penstock_plugins.value_to_key:ValueToKey",
}
"""The entry points of version 0.1.0."""


PATHS = {e.alias: e.path for e in Plugins.installed().entries}


@pytest.mark.parametrize(("alias", "path"), VERSION_0_1_0.items())
def test_a_path_of_an_earlier_plan_loads_the_plugin(alias: str, path: str) -> None:
    assert load(path) is load(PATHS[alias])


@pytest.mark.parametrize(("alias", "path"), VERSION_0_1_0.items())
def test_a_path_of_an_earlier_version_becomes_the_present_one(alias: str, path: str) -> None:
    assert current_path(path) == PATHS[alias]
    assert current_path(path.replace(":", ".")) == PATHS[alias].replace(":", ".")


def test_a_path_of_an_earlier_manifest_finds_the_plugin_and_its_variant() -> None:
    found = Plugins.installed().find(Transform, "penstock_plugins.hoist_field.HoistField$Value")  # type: ignore[type-abstract]
    assert (found.alias, found.variant) == ("HoistField", "Value")


@pytest.mark.parametrize(
    "name", ["HoistField", "org.apache.kafka.connect.transforms.HoistField", "acme.cast:Cast", "penstock_plugins."]
)
def test_any_other_name_stays_as_it_is(name: str) -> None:
    assert current_path(name) == name
