"""Where to get well-known Java plugins, for messages about a class that is not here. Pure."""

from typing import Final

__all__ = ["how_to_get", "is_known"]

_ORIGINS: Final = (
    (
        "io.debezium.",
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


def how_to_get(class_name: str) -> str:
    """Return a sentence that says where a Java class comes from and how to give it; empty for a name of no Java class."""
    if "." not in class_name or ":" in class_name or not class_name.rpartition(".")[2][:1].isupper():
        return ""
    origin = next((text for prefix, text in _ORIGINS if class_name.startswith(prefix)), "its plugin's archive or jars")
    start = "Get" if is_known(class_name) else "If it is a Java class, get"
    return f" {start} {origin}, and name the archive or its folder by --plugin-path."
