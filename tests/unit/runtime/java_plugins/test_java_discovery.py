"""Names of Java classes, among the plugins of the environment."""

from typing import Any

import pytest

from penstock import ConfigError, Connector, Converter, Schema, SinkConnector, Transform
from penstock_model.connect.versions import VersionRange
from penstock_plugins.connectors.file.source import FileStreamSource as Copy
from penstock_plugins.converters.text import StringConverter
from penstock_runtime.java_plugins.catalog import JavaPlugin
from penstock_runtime.plugins.discovery import Plugins
from penstock_runtime.plugins.plugin_ref import load

CLASS = "io.debezium.connector.postgresql.PostgresConnector"
AVRO = "io.confluent.connect.avro.AvroConverter"


def plugins() -> Plugins:
    return Plugins(
        (),
        java=[
            JavaPlugin("source", CLASS, "3.10.0.Final", "/plugins/new"),
            JavaPlugin("source", CLASS, "3.6.1.Final", "/plugins/old"),
            JavaPlugin("transform", "io.debezium.transforms.outbox.EventRouter", "3.6.1.Final", "/plugins/old"),
            JavaPlugin("sink", "org.example.TableSinkConnector", "1.0", "/plugins/sink"),
        ],
    )


@pytest.mark.parametrize("name", [CLASS, "PostgresConnector", "Postgres"])
def test_a_java_connector_goes_by_its_class_and_its_short_names(name: str) -> None:
    ref = plugins().find(Connector, name)  # type: ignore[type-abstract]
    assert ref.reference == f"java:source:/plugins/new#{CLASS}"
    assert (ref.cls.__name__, ref.version) == ("PostgresConnector", "3.10.0.Final")


def test_the_latest_version_is_taken_unless_another_one_is_asked_for() -> None:
    ref = plugins().find(Connector, CLASS, version=VersionRange.requested("[3.6,3.7)"))  # type: ignore[type-abstract]
    assert (ref.version, ref.reference) == ("3.6.1.Final", f"java:source:/plugins/old#{CLASS}")
    assert ref.versions == ("3.6.1.Final", "3.10.0.Final")


class Registered(Converter):
    """Converter in Python with the name of one in Java."""

    java_names = (AVRO,)

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        return None

    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        return None, None


@pytest.mark.parametrize(
    ("version", "found"),
    [(None, "0.1.0"), ("0.1.0", "0.1.0"), ("[7,8)", "7.9.0"), ("undefined", "undefined"), ("[9,)", "0.1.0")],
)
@pytest.mark.parametrize("name", [AVRO, "AvroConverter"])
def test_a_version_chooses_between_java_and_python(name: str, version: str | None, found: str) -> None:
    own = Plugins.of({"AvroConverter": Registered}, version="0.1.0", distribution="penstock-registry").entries
    java = [JavaPlugin("converter", AVRO, each, f"/plugins/{each}") for each in ("undefined", "7.8.0", "7.9.0")]
    ref = Plugins(own, java=java).find(Converter, name, version=VersionRange.requested(version))  # type: ignore[type-abstract]
    assert (ref.version, ref.cls is Registered) == (found, found == "0.1.0")
    if version == "[9,)":
        assert ref.versions == ("0.1.0", "undefined", "7.8.0", "7.9.0"), "for the message that refuses it"


def test_no_version_of_java_runs_in_place_of_a_built_in_converter() -> None:
    own = Plugins.of({"AvroConverter": Registered}, version="1.0.0", distribution="penstock").entries
    java = [JavaPlugin("converter", AVRO, "7.9.0", "/plugins")]
    assert Plugins(own, java=java).find(Converter, AVRO, version=VersionRange.requested("7.9.0")).cls is Registered  # type: ignore[type-abstract]


def test_a_version_chooses_a_connector_in_python_too() -> None:
    own = Plugins.of({"Postgres": Copy}, version="0.1.0", distribution="acme").entries
    there = Plugins(own, java=plugins().java)
    assert there.find(Connector, "Postgres").version == "3.10.0.Final"  # type: ignore[type-abstract]
    ref = there.find(Connector, "Postgres", version=VersionRange.requested("0.1.0"))  # type: ignore[type-abstract]
    assert ref.cls is Copy


def test_a_class_that_is_named_by_its_module_is_the_only_one_of_its_name() -> None:
    name = f"{StringConverter.__module__}:StringConverter"
    ref = Plugins(()).find(Converter, name, version=VersionRange.requested("[99,)"))  # type: ignore[type-abstract]
    assert ref.cls is StringConverter, "the caller refuses its version"


def test_a_reference_leads_another_process_to_the_same_class() -> None:
    ref = plugins().find(Connector, CLASS)  # type: ignore[type-abstract]
    assert load(ref.reference) is ref.cls


@pytest.mark.parametrize(
    "reference", ["java:", "java:source:/plugins/new", "java:sink:#Class", "java:/plugins/new#Class"]
)
def test_a_reference_that_is_incomplete_is_refused(reference: str) -> None:
    with pytest.raises(ConfigError, match="write java:<kind>:<location>#<class>"):
        load(reference)


@pytest.mark.parametrize("name", ["org.example.TableSinkConnector", "TableSinkConnector", "TableSink"])
def test_a_java_sink_is_found_as_a_sink(name: str) -> None:
    ref = plugins().find(Connector, name)  # type: ignore[type-abstract]
    assert issubclass(ref.cls, SinkConnector)
    assert ref.reference == "java:sink:/plugins/sink#org.example.TableSinkConnector"


def test_a_nested_class_is_a_plugin_of_its_own() -> None:
    of = [JavaPlugin("transform", name, "1.0", "/plugins/n") for name in ("a.N", "a.N$Value")]
    for name in ("a.N", "a.N$Value", "N", "N$Value"):
        cls: Any = Plugins((), java=of).find(Transform, name).cls  # type: ignore[type-abstract]
        assert cls.class_name == (name if name.startswith("a.") else f"a.{name}")
    with pytest.raises(ConfigError, match=r"Class N\$Key could not be found"):
        Plugins((), java=of).find(Transform, "N$Key")  # type: ignore[type-abstract]


def test_a_class_of_a_known_plugin_that_is_not_here_says_where_to_get_it() -> None:
    with pytest.raises(ConfigError) as caught:
        plugins().find(Connector, "io.debezium.connector.mysql.MySqlConnector")  # type: ignore[type-abstract]
    assert (
        "Class io.debezium.connector.mysql.MySqlConnector could not be found. It is part of Debezium for MySQL: get "
        "io.debezium:debezium-connector-mysql from Maven Central" in str(caught.value)
    )
    assert "pass the archive or its folder with --plugin-path" in str(caught.value)
