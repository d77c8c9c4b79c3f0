"""What a message says of a Java class that is not here: its project, a misspelling, and never another plugin."""

import pytest

from penstock import Connector, Converter, Plugin, Transform
from penstock.errors import ConfigError
from penstock_runtime.plugins.discovery import Plugins
from penstock_runtime.plugins.java_projects import PROJECTS, class_names, project_of


def told(kind: type[Plugin], name: str) -> str:
    with pytest.raises(ConfigError) as refused:
        Plugins.installed().find(kind, name)
    return str(refused.value)


def test_forty_classes_are_known_each_of_one_project() -> None:
    names = list(class_names())
    assert len(set(names)) == len(names) >= 40
    for project in PROJECTS:
        assert all(project_of(f"{project.package}{name}") is not None for name in project.classes)


@pytest.mark.parametrize(
    ("kind", "name", "text"),
    [
        (
            Connector,
            "io.debezium.connector.sqlserver.SqlServerConnector",
            "It is part of Debezium for SQL Server: get io.debezium:debezium-connector-sqlserver from Maven Central",
        ),
        (
            Converter,
            "com.amazonaws.services.schemaregistry.kafkaconnect.AWSKafkaAvroConverter",
            "get software.amazon.glue:schema-registry-kafkaconnect-converter from",
        ),
        (Transform, "io.debezium.transforms.outbox.EventRouter", "the archive of any of Debezium's connectors"),
        (
            Connector,
            "com.acme.AuditSink",
            "Get its plugin's archive or jars; pass the archive or its folder with --plugin-path",
        ),
    ],
)
def test_a_class_that_is_not_here_is_named_with_its_project_and_how_to_give_it(
    kind: type[Plugin], name: str, text: str
) -> None:
    message = told(kind, name)
    assert text in message
    assert "`penstock plugin build`" in message
    assert "Python" not in message
    assert "Did you mean" not in message


@pytest.mark.parametrize(
    ("kind", "name", "meant"),
    [
        (
            Transform,
            "org.apache.kafka.connect.transforms.RegexRoutr",
            "org.apache.kafka.connect.transforms.RegexRouter",
        ),
        (
            Transform,
            "org.apache.kafka.connect.transform.InsertField$Value",
            "org.apache.kafka.connect.transforms.InsertField",
        ),
        (
            Connector,
            "io.debezium.connector.postgresql.PostgresConnectr",
            "io.debezium.connector.postgresql.PostgresConnector",
        ),
        (Connector, "io.confluent.connect.s3.S3SinkConector", "io.confluent.connect.s3.S3SinkConnector"),
    ],
)
def test_a_misspelt_class_is_corrected_by_its_full_name(kind: type[Plugin], name: str, meant: str) -> None:
    assert f"Did you mean {meant}?" in told(kind, name)


def test_a_class_of_the_same_name_that_does_another_thing_is_never_suggested() -> None:
    """Penstock's Filter without a predicate drops every record."""
    message = told(Transform, "io.debezium.transforms.Filter")
    assert "Debezium's scripting" in message
    assert "Did you mean" not in message
    assert "Did you mean" not in told(Transform, "com.acme.transforms.Filter$Value")


def test_penstocks_own_data_generator_is_named_for_confluents() -> None:
    assert "Penstock's built-in Datagen" in told(Connector, "io.confluent.kafka.connect.datagen.DatagenConnector")


@pytest.mark.parametrize(
    ("old", "new", "archive"),
    [
        ("io.debezium.transforms.UnwrapFromEnvelope", "io.debezium.transforms.ExtractNewRecordState", False),
        (
            "io.debezium.connector.mongodb.transforms.UnwrapFromMongoDbEnvelope",
            "io.debezium.connector.mongodb.transforms.ExtractNewDocumentState",
            True,
        ),
    ],
)
def test_a_class_that_debezium_removed_is_named_with_its_new_name(old: str, new: str, archive: bool) -> None:
    message = told(Transform, old)
    assert f"Debezium renamed it in 0.10 and removed it in 1.2: write {new}, and compare its properties" in message
    assert message.count("`penstock plugin build`") == archive
    assert ("from Maven Central" in message) is archive
