"""Where to get well-known Java plugins, for messages about a class that is not here. Pure."""

from typing import Final

__all__ = ["how_to_get", "is_known", "maven_file", "origin"]

_DEBEZIUM: Final = "io.debezium."
_DEBEZIUM_CONNECTORS: Final = {"postgresql": "postgres", "db2as400": "ibmi"}
"""Artifacts that are not called as the package is."""
_MAVEN_CENTRAL: Final = "https://repo1.maven.org/maven2"

_ORIGINS: Final = (
    (
        _DEBEZIUM,
        "Debezium's archive from Maven Central (io.debezium:debezium-connector-<database>, classifier plugin, tar.gz)",
    ),
    (
        "com.mongodb.kafka.",
        "MongoDB's connector from Maven Central (org.mongodb.kafka:mongo-kafka-connect, classifier all)",
    ),
    (
        "org.apache.kafka.connect.mirror.",
        "Apache Kafka's download (libs/connect-mirror-*.jar and connect-mirror-client-*.jar)",
    ),
    ("org.apache.kafka.connect.file.", "Apache Kafka's download (libs/connect-file-*.jar)"),
    (
        "org.apache.iceberg.",
        "Apache Iceberg's Kafka Connect runtime (iceberg-kafka-connect-runtime-*.zip, built from its source)",
    ),
    ("io.confluent.", "its archive from Confluent Hub (.zip)"),
    ("io.aiven.", "its archive from the releases of the project on GitHub (Aiven-Open)"),
    ("org.apache.camel.kafkaconnector.", "its archive from Apache Camel (camel-<name>-kafka-connector, .tar.gz)"),
    ("io.lenses.", "its archive from the releases of lenses.io's stream-reactor on GitHub (.zip)"),
    ("com.datamountaineer.", "its archive from the releases of lenses.io's stream-reactor on GitHub (.zip)"),
    ("com.snowflake.", "Snowflake's connector from Maven Central (com.snowflake:snowflake-kafka-connector)"),
    ("com.clickhouse.", "its archive from the releases of clickhouse-kafka-connect on GitHub (.zip)"),
)


def is_known(class_name: str) -> bool:
    """Whether a name is that of a class of a well-known Java plugin."""
    return any(class_name.startswith(prefix) for prefix, _ in _ORIGINS)


def origin(class_name: str) -> str:
    """Return where the plugin of a class comes from; empty if it is not well known."""
    return next((text for prefix, text in _ORIGINS if class_name.startswith(prefix)), "")


def maven_file(class_name: str, version: str) -> str:
    """Return the URL of the archive in Maven Central that holds a class in a version; empty if it is not known."""
    package, dot, _ = class_name.removeprefix(f"{_DEBEZIUM}connector.").partition(".")
    if class_name.startswith(f"{_DEBEZIUM}connector.") and dot:
        database = _DEBEZIUM_CONNECTORS.get(package, package)
        return _in_maven_central("io/debezium", f"debezium-connector-{database}", version, "plugin.tar.gz")
    if class_name.startswith("com.mongodb.kafka."):
        return _in_maven_central("org/mongodb/kafka", "mongo-kafka-connect", version, "all.jar")
    return ""


def _in_maven_central(group: str, name: str, version: str, ending: str) -> str:
    return f"{_MAVEN_CENTRAL}/{group}/{name}/{version}/{name}-{version}-{ending}"


def how_to_get(class_name: str) -> str:
    """Return a sentence that says where a Java class comes from and how to give it; empty for a name of no Java class."""
    if "." not in class_name or ":" in class_name or not class_name.rpartition(".")[2][:1].isupper():
        return ""
    start = "Get" if is_known(class_name) else "If it is a Java class, get"
    source = origin(class_name) or "its plugin's archive or jars"
    return f" {start} {source}, and name the archive or its folder by --plugin-path."
